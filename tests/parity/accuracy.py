"""How far off PyTorch itself is: the measure by which values of little precision are compared.

In half precision a value depends on where PyTorch rounds on the way, and a long sum of complex numbers in single
precision on the order of its terms. What differs by more than the tolerances of `torch.testing` is therefore held
against the same computation in double precision: it may differ from PyTorch's by twice PyTorch's own error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support import array, tensors_in, torch

#: The dtypes that are compared in this way, and the one that an exact result is computed in.
WIDER = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.complex64: torch.complex128}


def widened(sample: Any, dtype: torch.dtype) -> Any:
    """The sample with all that has this dtype in double precision."""

    def widen(value: Any) -> Any:
        if isinstance(value, torch.dtype):
            return WIDER[dtype] if value is dtype else value
        if value.dtype not in (dtype, dtype.to_real()):
            return value
        wide = WIDER[dtype] if value.dtype is dtype else WIDER[dtype].to_real()
        return value.detach().to(wide).requires_grad_(value.requires_grad)

    return sample.transform(widen)


def own_error(value: Any, exact: Any) -> float:
    """The greatest distance of PyTorch's numbers from the exact ones, as the dtype can hold them; inf if a number is
    not finite that should be.
    """
    error, pairs = 0.0, (tensors_in(value), tensors_in(exact))
    if len(pairs[0]) != len(pairs[1]):
        return error
    for tensor, wide in zip(*pairs, strict=True):
        if tensor.shape == wide.shape and (tensor.is_floating_point() or tensor.is_complex()) and tensor.numel():
            right = array(wide.to(tensor.dtype)).astype(np.complex128)
            got = array(tensor).astype(np.complex128)
            with np.errstate(all="ignore"):
                distance = np.array(np.abs(got - right))
            distance[(got == right) | ~np.isfinite(right)] = 0
            error = max(error, float(np.nan_to_num(distance, nan=np.inf).max()))
    return error

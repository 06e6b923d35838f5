"""How far off PyTorch itself is: the measure by which values of little precision are compared.

In half precision a value depends on where PyTorch rounds on the way, and a sum of many numbers in single precision on
the order of its terms, which a BLAS chooses for the processor that it runs on. What differs by more than the tolerances
of `torch.testing` is therefore held against the same computation in double precision: it may differ from PyTorch's by
four times PyTorch's own error, and in single precision by four units in the last place of the greatest number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support import array, tensors_in, torch

#: The dtypes that are compared in this way, and the one that an exact result is computed in.
WIDER = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64,
         torch.complex64: torch.complex128}


def widened(sample: Any, dtype: torch.dtype) -> Any:
    """Return the sample with everything of this dtype in double precision."""

    def widen(value: Any) -> Any:
        if isinstance(value, torch.dtype):
            return WIDER[dtype] if value is dtype else value
        if value.dtype not in (dtype, dtype.to_real()):
            return value
        wide = WIDER[dtype] if value.dtype is dtype else WIDER[dtype].to_real()
        return value.detach().to(wide).requires_grad_(value.requires_grad)

    return sample.transform(widen)


def allowed_error(value: Any, exact: Any) -> float:
    """How far from PyTorch's numbers others may be: four times the greatest distance of PyTorch's from the exact ones,
    as the dtype can hold them; inf if a number is not finite that should be.
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
            error = max(error, 4 * float(np.nan_to_num(distance, nan=np.inf).max()))
            if tensor.dtype in (torch.float32, torch.complex64):
                greatest = np.abs(right[np.isfinite(right)]).max(initial=0)
                error = max(error, 4 * torch.finfo(tensor.dtype).eps * float(greatest))
    return error

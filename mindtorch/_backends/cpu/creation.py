"""Memory on the CPU, filled."""
from __future__ import annotations

from typing import Any

from ..._device import device as Device
from ..._dtype import bool_
from ..._errors import check_number
from ..._layout import Spec
from ..._tensor import Tensor, empty_tensor
from ..common.creation import creation_kernels


def fill(spec: Spec, value: Any, device: Device) -> Tensor:
    """A tensor filled with a number. Raises RuntimeError for a complex number in a real dtype."""
    dtype = spec.dtype
    if isinstance(value, complex) and not dtype.is_complex:
        check_number(dtype, value)
        value = bool(value) if dtype is bool_ else value.real
    out = empty_tensor(spec)
    out._array.fill(value)  # type: ignore[union-attr]
    return out


KERNELS = creation_kernels("cpu", fill)

"""Evenly spaced numbers, the identity matrix, and the indices of triangles."""
from __future__ import annotations

import warnings
from typing import Any

from .._base.call_site import outside
from .._dispatch.aten import copy_
from .._dispatch.factory import Factory
from .._dtype import FLOATING, get_default_dtype
from .._tensor import Tensor
from .functions import copied, factory, options_of


def _spaced(factory: Factory, out: Tensor, given: dict[str, Any]) -> Tensor:
    """Copy a sequence into ``out``, whose shape may be any that holds as many elements."""
    made = factory.op.call(*{**given, "device": out._device}.values())
    count = made.numel()
    if out.numel() == count:
        return copy_(out, made if out.shape == made.shape else made.view(out.shape))
    if out.numel() and factory.packet == "arange":
        warnings.warn(f"The number of elements in the out tensor of shape {list(out.shape)} is {out.numel()} which "
                      f"does not match the computed number of elements {count}. Note that this may occur as a result "
                      f"of rounding error. The out tensor will be resized to a tensor of shape ({count},).",
                      stacklevel=outside())
    return copied(factory, out, given)


arange = factory("arange", _spaced)
linspace = factory("linspace", _spaced)
logspace = factory("logspace", _spaced)
eye = factory("eye", copied)
tril_indices = factory("tril_indices")
triu_indices = factory("triu_indices")


@options_of(arange)
def range(start: Any = 0, end: Any = None, step: Any = 1, **options: Any) -> Tensor:
    """Return the values in [start, end] with the end, in floating point; ``arange`` is preferred (``torch.range``)."""
    options.setdefault("dtype", get_default_dtype())
    if options["dtype"].category < FLOATING:
        start, end, step = int(start), int(end), int(step)
    warnings.warn("torch.range is deprecated and will be removed in a future release because its behavior is "
                  "inconsistent with Python's range builtin. Instead, use torch.arange, which produces values in "
                  "[start, end).", stacklevel=3)
    count = int((end - start) / step) + 1
    return arange(start, start + count * step - step / 2, step, **options)

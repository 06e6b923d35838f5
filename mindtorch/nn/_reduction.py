"""Reductions of a loss's values: ``'none'``, ``'mean'`` or ``'sum'``, and the older flags."""
from __future__ import annotations

import warnings

_ENUM = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """Return the number by which the operators know a reduction; ValueError if there is no reduction of that name."""
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
        return 1
    if reduction not in _ENUM:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _ENUM[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """Return the reduction that deprecated flags mean; RuntimeError for several elements, such as targets."""
    average, reduces = (flag is None or bool(flag) for flag in (size_average, reduce))
    found = "none" if not reduces else "mean" if average else "sum"
    if emit_warning:
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{found}' "
                      "instead.", stacklevel=2)
    return found


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """Return the number of the reduction that the deprecated flags mean."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))

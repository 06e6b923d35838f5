"""Operators on lists of tensors: the method of the same name, of one after the other."""
from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from .._base.errors import check
from .._dispatch.aten import linalg_vector_norm as vector_norm, pow_Scalar as power_of_number
from .._dispatch.schemas import registry
from . import COMPOSITES

#: Operators whose methods have another name, and the keyword under which methods take a last argument.
METHODS = {"maximum": "clamp_min", "maximum_": "clamp_min_", "minimum": "clamp_max", "minimum_": "clamp_max_"}
KEYWORDS = {"add": "alpha", "sub": "alpha", "addcdiv": "value", "addcmul": "value"}


def check_lists(self: Any, *args: Any) -> None:
    """PyTorch's errors: lists must not be empty, and must be of one length."""
    check(self, "Tensor list must have at least one tensor.")
    for arg in args:
        if isinstance(arg, list):
            check(len(arg) == len(self),
                  f"Tensor lists must have the same number of tensors, got {len(self)} and {len(arg)}")
        elif isinstance(arg, tuple):
            check(len(arg) == len(self), "Tensor list must have same number of elements as scalar list.")


def each(name: str) -> Callable[..., Any]:
    """The kernel of ``_foreach_name`` in all its overloads; those in place return the list."""
    method, keyword = METHODS.get(name, name), KEYWORDS.get(name.removesuffix("_"))
    plain = 2 if name.startswith("addc") else 1  # arguments before the one that has a keyword

    def run(self: Any, *args: Any) -> Any:
        if len(args) == 3 and hasattr(args[2], "tolist"):
            args = (*args[:2], tuple(args[2].tolist()))
        check_lists(self, *args)
        columns = [arg if isinstance(arg, (list, tuple)) else repeat(arg, len(self)) for arg in args]
        rows = zip(*columns, strict=True) if columns else repeat((), len(self))
        found = tuple([getattr(x, method)(*row[:plain], **{keyword: row[plain]}) if keyword and len(row) > plain
                       else getattr(x, method)(*row) for x, row in zip(self, rows, strict=True)])
        return self if name.endswith("_") else found

    return run


def norms(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Any, ...]:
    check_lists(self)
    return tuple([vector_norm(x, ord, None, False, dtype) for x in self])


def powers(self: Any, exponent: Any) -> tuple[Any, ...]:
    """Powers of a number."""
    check_lists(exponent)
    return tuple([power_of_number(self, x) for x in exponent])


COMPOSITES.update({op.name: each(op.packet.removeprefix("_foreach_"))
                   for op in registry.operators.values() if op.family == "foreach"})
COMPOSITES.update({"_foreach_norm.Scalar": norms, "_foreach_pow.ScalarAndTensor": powers})

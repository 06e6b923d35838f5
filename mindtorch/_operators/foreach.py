"""Operators on lists of tensors, ``_foreach_add`` and its like, in the four kinds of arguments that they take.

Each does for every tensor of a list what the operator of its name does for one, so that their schemas are made from
those names."""
from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from .._base.errors import check
from .._dispatch.aten import linalg_vector_norm as vector_norm, pow_Scalar as power_of_number
from .._dispatch.schemas import registry
from . import operator, schemas

schemas("""
function, explicit:
    _foreach_{abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc}(Tensor[] self) -> Tensor[]  # What `{}` gives for each of the tensors `self`.
    _foreach_{abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc}_(Tensor(a!)[] self) -> ()  # What `{}` gives for each of the tensors `self`, written into them.
    _foreach_{add sub}.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]  # What `{}` gives for each of the tensors `self`.
    _foreach_{add sub}_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()  # What `{}` gives for each of the tensors `self`, written into them.
    _foreach_{mul div clamp_max clamp_min maximum minimum}.List(Tensor[] self, Tensor[] other) -> Tensor[]  # What `{}` gives for each of the tensors `self`.
    _foreach_{mul div clamp_max clamp_min maximum minimum}_.List(Tensor(a!)[] self, Tensor[] other) -> ()  # What `{}` gives for each of the tensors `self`, written into them.
    _foreach_{pow}.List(Tensor[] self, Tensor[] exponent) -> Tensor[]  # What `{}` gives for each of the tensors `self`.
    _foreach_{pow}_.List(Tensor(a!)[] self, Tensor[] exponent) -> ()  # What `{}` gives for each of the tensors `self`, written into them.
    _foreach_{add}.Tensor(Tensor[] self, Tensor other, *, Scalar alpha=1) -> Tensor[]  # What `{}` gives for each of the tensors `self`.
    _foreach_{add}_.Tensor(Tensor(a!)[] self, Tensor other, *, Scalar alpha=1) -> ()  # What `{}` gives for each of the tensors `self`, written into them.
    _foreach_{mul div}.Tensor(Tensor[] self, Tensor other) -> Tensor[]  # What `{}` gives for each of the tensors `self`.
    _foreach_{mul div}_.Tensor(Tensor(a!)[] self, Tensor other) -> ()  # What `{}` gives for each of the tensors `self`, written into them.
    _foreach_{add sub mul div clamp_max clamp_min maximum minimum}.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]  # What `{}` gives for each of the tensors `self`.
    _foreach_{add sub mul div clamp_max clamp_min maximum minimum}_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()  # What `{}` gives for each of the tensors `self`, written into them.
    _foreach_{pow}.Scalar(Tensor[] self, Scalar exponent) -> Tensor[]  # What `{}` gives for each of the tensors `self`.
    _foreach_{pow}_.Scalar(Tensor(a!)[] self, Scalar exponent) -> ()  # What `{}` gives for each of the tensors `self`, written into them.
    _foreach_{add sub mul div clamp_max clamp_min maximum minimum}.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]  # What `{}` gives for each of the tensors `self`.
    _foreach_{add sub mul div clamp_max clamp_min maximum minimum}_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()  # What `{}` gives for each of the tensors `self`, written into them.
    _foreach_{pow}.ScalarList(Tensor[] self, Scalar[] exponent) -> Tensor[]  # What `{}` gives for each of the tensors `self`.
    _foreach_{pow}_.ScalarList(Tensor(a!)[] self, Scalar[] exponent) -> ()  # What `{}` gives for each of the tensors `self`, written into them.
    _foreach_{addcdiv addcmul}.Tensor(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor scalars) -> Tensor[]  # What `{}` gives for each of the tensors `self`.
    _foreach_{addcdiv addcmul}_.Tensor(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor scalars) -> ()  # What `{}` gives for each of the tensors `self`, written into them.
    _foreach_{addcdiv addcmul}.Scalar(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) -> Tensor[]  # What `{}` gives for each of the tensors `self`.
    _foreach_{addcdiv addcmul}_.Scalar(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) -> ()  # What `{}` gives for each of the tensors `self`, written into them.
    _foreach_{addcdiv addcmul}.ScalarList(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars) -> Tensor[]  # What `{}` gives for each of the tensors `self`.
    _foreach_{addcdiv addcmul}_.ScalarList(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars) -> ()  # What `{}` gives for each of the tensors `self`, written into them.
    _foreach_{lerp}.List(Tensor[] self, Tensor[] tensors1, Tensor[] weights) -> Tensor[]  # What `{}` gives for each of the tensors `self`.
    _foreach_{lerp}_.List(Tensor(a!)[] self, Tensor[] tensors1, Tensor[] weights) -> ()  # What `{}` gives for each of the tensors `self`, written into them.
    _foreach_{lerp}.Scalar(Tensor[] self, Tensor[] tensors1, Scalar weight) -> Tensor[]  # What `{}` gives for each of the tensors `self`.
    _foreach_{lerp}_.Scalar(Tensor(a!)[] self, Tensor[] tensors1, Scalar weight) -> ()  # What `{}` gives for each of the tensors `self`, written into them.
    _foreach_{lerp}.ScalarList(Tensor[] self, Tensor[] tensors1, Scalar[] weight) -> Tensor[]  # What `{}` gives for each of the tensors `self`.
    _foreach_{lerp}_.ScalarList(Tensor(a!)[] self, Tensor[] tensors1, Scalar[] weight) -> ()  # What `{}` gives for each of the tensors `self`, written into them.
    _foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]
    _foreach_max(Tensor[] self) -> Tensor[]  # The largest element of each of the tensors `self`.
    _foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]  # The norm of each of the tensors `self`, taken as a vector.
    _foreach_zero_(Tensor(a!)[] self) -> ()  # Fills each of the tensors `self` with zeros.
    _foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()  # Copies each of the tensors `src` into the one of `self` at its place.
""")  # noqa: E501

#: Operators whose methods have another name, and the keyword under which methods take a last argument.
METHODS = {"maximum": "clamp_min", "maximum_": "clamp_min_", "minimum": "clamp_max", "minimum_": "clamp_max_"}
KEYWORDS = {"add": "alpha", "sub": "alpha", "addcdiv": "value", "addcmul": "value"}


def each(name: str) -> Callable[..., Any]:
    """Return the composite of all overloads of ``_foreach_name``; the in-place ones return the list."""
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


def check_lists(self: Any, *args: Any) -> None:
    """PyTorch's errors: lists must not be empty, and must be of one length."""
    check(self, "Tensor list must have at least one tensor.")
    for arg in args:
        if isinstance(arg, list):
            check(len(arg) == len(self),
                  f"Tensor lists must have the same number of tensors, got {len(self)} and {len(arg)}")
        elif isinstance(arg, tuple):
            check(len(arg) == len(self), "Tensor list must have same number of elements as scalar list.")


def norms(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Any, ...]:
    check_lists(self)
    return tuple([vector_norm(x, ord, None, False, dtype) for x in self])


def powers(self: Any, exponent: Any) -> tuple[Any, ...]:
    """Return powers of a number."""
    check_lists(exponent)
    return tuple([power_of_number(self, x) for x in exponent])


for op in registry.operators.values():
    if op.family == "foreach":
        operator(op.name, composite=each(op.packet.removeprefix("_foreach_")))
operator("_foreach_norm.Scalar", composite=norms)
operator("_foreach_pow.ScalarAndTensor", composite=powers)
operator("_foreach_add_.Scalar", lambda self, scalar: None)

"""Operators on lists of tensors, ``_foreach_add`` and its like, in the four kinds of arguments that they take.

Each does for every tensor of a list what the operator of its name does for one, so that their schemas are made from
those names.
"""
from __future__ import annotations

UNARY = (
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma",
    "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt",
    "tan", "tanh", "trunc",
)
BINARY = ("add", "sub", "mul", "div", "clamp_max", "clamp_min", "maximum", "minimum", "pow")
TERNARY = ("addcdiv", "addcmul")
#: What follows ``self`` in the overloads of the binary operators, and which of them only some have.
SECOND = {"List": "Tensor[] other", "Tensor": "Tensor other", "Scalar": "Scalar scalar", "ScalarList": "Scalar[] scalars"}
BY_TENSOR = ("add", "mul", "div")
THIRD = {"Tensor": "Tensor scalars", "Scalar": "Scalar value=1", "ScalarList": "Scalar[] scalars"}
LERP = {"List": "Tensor[] weights", "Scalar": "Scalar weight", "ScalarList": "Scalar[] weight"}


def both(name: str, overload: str, arguments: str) -> list[str]:
    """The rows of the form with results and of the form in place."""
    rest = f", {arguments}" if arguments else ""
    suffix = f".{overload}" if overload else ""
    return [f"_foreach_{name}{suffix}(Tensor[] self{rest}) -> Tensor[]  # What `{name}` gives for each of the tensors `self`.",
            f"_foreach_{name}_{suffix}(Tensor(a!)[] self{rest}) -> ()  # What `{name}` gives for each of the tensors `self`, written into them."]


def second(name: str, overload: str) -> str:
    """The arguments after ``self`` of a binary operator's overload."""
    if name == "pow":
        return SECOND[overload].rpartition(" ")[0] + " exponent"
    scaled = overload in {"add": ("List", "Tensor"), "sub": ("List",)}.get(name, ())
    return SECOND[overload] + ", *, Scalar alpha=1" * scaled


ROWS = [
    *(row for name in UNARY for row in both(name, "", "")),
    *(row for name in BINARY for overload in SECOND if overload != "Tensor" or name in BY_TENSOR
      for row in both(name, overload, second(name, overload))),
    *(row for name in TERNARY for overload, third in THIRD.items()
      for row in both(name, overload, f"Tensor[] tensor1, Tensor[] tensor2, {third}")),
    *(row for overload, weight in LERP.items() for row in both("lerp", overload, f"Tensor[] tensors1, {weight}")),
    "_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]",
    "_foreach_max(Tensor[] self) -> Tensor[]  # The largest element of each of the tensors `self`.",
    "_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]  # The norm of each of the tensors `self`, taken as a vector.",
    "_foreach_zero_(Tensor(a!)[] self) -> ()  # Fills each of the tensors `self` with zeros.",
    "_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()  # Copies each of the tensors `src` into the one of `self` at its place.",
]
SCHEMAS = "function, explicit:\n" + "\n".join(f"    {row}" for row in ROWS)

"""Fused kernels of plain arithmetic as loops, compiled and kept on the disk as those of eager kernels.

On two threads and 4M elements of float32, a chain of six sums, products and relu took 2.2 ms in NumPy's blocks, 8 ms
with numexpr and 1.3 ms as a loop, which takes a second to compile and a hundredth of it to load. A chain with exp and
tanh took 3, 30 and (on one thread) 47 ms: NumPy vectorises these functions, loops and numexpr do not. So kernels with
such functions stay with NumPy. A loop rounds as NumPy does, operator by operator. Activations for which
NumPy needs many passes are computed as in the loops of eager kernels.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np

from .._dtype import bool_, float32
from .fusion import Group, pointwise_row
from .graph import Step, Value

#: The expression for one element, by the name of the ufunc or else of the operator; ``zero`` and ``one`` have the dtype
#: of the operands.
EXPRESSIONS = {
    "add": "{0} + {1}", "subtract": "{0} - {1}", "multiply": "{0} * {1}", "divide": "{0} / {1}",
    "negative": "-{0}", "absolute": "abs({0})", "sqrt": "numpy.sqrt({0})",
    "equal": "{0} == {1}", "not_equal": "{0} != {1}", "less": "{0} < {1}", "less_equal": "{0} <= {1}",
    "greater": "{0} > {1}", "greater_equal": "{0} >= {1}",
    "where.self": "{1} if {0} else {2}",
    "relu": "{zero} if {0} < {zero} else {0}",
    "threshold_backward": "{zero} if {1} <= {2} else {0}",
    "reciprocal": "{one} / {0}", "rsqrt": "{one} / numpy.sqrt({0})",
    "tanh_backward": "{0} * ({one} - {1} * {1})", "sigmoid_backward": "{0} * ({1} * ({one} - {1}))",
}
#: By exponent.
POWERS = {2: "{0} * {0}", 3: "{0} * {0} * {0}"}
#: Expressions of float32 alone, by the name of the operator; without an approximation where one can be asked for.
ACTIVATIONS = {
    "sigmoid": "activation.sigmoid_of({0})", "silu": "activation.silu_of({0})",
    "silu_backward": "activation.silu_backward_of({0}, {1})",
    "gelu": "activation.gelu_of({0})", "gelu_backward": "activation.gelu_backward_of({0}, {1})",
}


@dataclass
class Written:
    """A fused kernel: its text, and the shapes and dtypes of its scratch arrays. If it does nothing but call loops,
    also the text of these loops, the calls, and what is to be checked after them.
    """

    text: str
    scratch: list[tuple[tuple[int, ...], Any]] = field(default_factory=list)
    loops: list[str] = field(default_factory=list)
    calls: list[tuple[str, list[str]]] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)


@dataclass
class Loop:
    """The statements for one element, in loops over the first ``span`` dimensions of the last array."""

    body: list[str]
    span: int

    def lines(self, name: str, arrays: dict[str, str]) -> list[str]:
        """Return the lines of a function of these arrays, or of numbers for arrays without dimensions, given with their
        types.
        """
        last = [*arrays][-1]
        loops = [f"{'    ' * (d + 1)}for {i} in range({last}.shape[{d}]):"
                 for d, i in enumerate(INDICES[:self.span])]
        types = ", ".join(f'"{kind}"' for kind in arrays.values())
        return [f"@loop({types})", f"def {name}({', '.join(arrays)}):", *loops,
                *[f"{'    ' * (self.span + 1)}{line}" for line in self.body]]


def type_of(value: Value, flat: bool) -> str:
    """Return the type of an argument of a loop, as the compiler names it."""
    dtype, ndim = "bool_" if value.dtype is bool_ else value.dtype.name, 1 if flat else len(value.shape)
    return f"{dtype}[{':,' * (ndim - 1)}:{':1' * value.is_contiguous}]" if value.shape else dtype


#: The names of indices, from the first dimension on.
INDICES = "ijklmnop"


def loop_of(group: Group, results: list[Value], arrays: dict[Value, str], literal: Callable[[Any], str],
            flat: bool, known: dict[Value, str]) -> Loop | None:
    """Build the loops of a group over arrays, which broadcast, or have one dimension if they are ``flat``. Return None
    if a step is not plain arithmetic. ``known`` results are in arrays already and are not computed.
    """
    span = 1 if flat else len(group.shape)
    if span > len(INDICES):
        return None
    steps = [step for step in group.steps if step.outputs[0] not in known]
    taken, body = {*arrays.values(), *INDICES, "numpy", "activation"}, []
    names: dict[Value, str] = {}

    def element(value: Value, array: str) -> str:
        shape = group.shape if flat and value.shape else value.shape
        indices = INDICES[:1] if flat else [i if size != 1 else "0" for i, size in
                                            zip(INDICES[span - len(shape):span], shape, strict=True)]
        return f"{array}[{', '.join(indices)}]" if shape else array

    def local(value: Value) -> str:
        name = f"{value.name}_{INDICES[0]}"
        while name in taken:
            name += "_"
        taken.add(name)
        return name

    for value in dict.fromkeys(value for step in steps for value in step.inputs):
        if value in known:  # the array may be that of a result, which is written below
            names[value] = local(value)
            body.append(f"{names[value]} = {element(value, known[value])}")
        elif value in arrays and value not in results:
            names[value] = element(value, arrays[value])
    for step in steps:
        text = expression(step, names, literal)
        if text is None:
            return None
        out = step.outputs[0]
        names[out] = local(out)
        body.append(f"{names[out]} = {text}")
        if out in results:
            body.append(f"{element(out, arrays[out])} = {names[out]}")
    return Loop(body, span)


def expression(step: Step, names: dict[Value, str], literal: Callable[[Any], str]) -> str | None:
    """Return a step's expression for one element, with numbers in the dtype of the operands; None if it has no rule."""
    row, name = pointwise_row(step), step.op.name
    args = step.args[:row.nin] if isinstance(row, np.ufunc) else [arg for arg in step.args if arg != "none"]
    rule = EXPRESSIONS.get(row.__name__ if isinstance(row, np.ufunc) else name)
    if name == "pow.Tensor_Scalar":
        args, rule = args[:1], POWERS.get(args[1])
    if step.outputs[0].dtype is float32:
        rule = ACTIVATIONS.get(name, rule)
    if rule is None or not all(arg.__class__ is Value or arg.__class__ in (int, float) for arg in args):
        return None
    dtype = next(value.dtype for value in reversed(step.inputs) if value.dtype.name.startswith("float"))

    def number(value: Any) -> str:
        said = literal(value) if isfinite(value) else "numpy.nan" if value != value else (
            "numpy.inf" if value > 0 else "-numpy.inf")
        return f"numpy.{dtype.name}({said})"

    return rule.format(*[names[arg] if arg.__class__ is Value else number(arg) for arg in args], zero=number(0),
                       one=number(1))

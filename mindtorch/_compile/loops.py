"""Fused kernels of arithmetic alone as loops, which numba compiles where it is installed (``mindtorch[compile]``).

On two threads and 4M elements of float32 a chain of six sums, products and relu took 2.2 ms in NumPy's blocks, 8 by
numexpr and 1.3 by numba, which compiles the first kernel in 0.8 s and each other one in 0.1. One with exp and tanh took
3 ms, 30, and, on one thread, 47: NumPy computes these in the processor's vectors, numba and numexpr one by one. So
kernels with such functions stay NumPy's. A loop rounds as NumPy does, operator by operator.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from .fusion import Group, pointwise_row
from .graph import Step, Value

#: What is computed for one element, by the name of the ufunc, or else of the operator; ``zero`` and ``one`` are of the
#: dtype of the operands.
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


@dataclass
class Loop:
    """The statements for the element ``i`` of the last of the arrays."""

    body: list[str]

    def lines(self, name: str, arrays: list[str]) -> list[str]:
        """The function of these arrays, and of numbers for those without dimensions."""
        return ['@numba.njit(nogil=True, error_model="numpy")', f"def {name}({', '.join(arrays)}):",
                f"    for i in range(len({arrays[-1]})):", *[f"        {line}" for line in self.body]]


def loop_of(group: Group, results: list[Value], arrays: dict[Value, str], literal: Callable[[Any], str]) -> Loop | None:
    """A group's steps as a loop over arrays of one length; None if a step is no arithmetic."""
    names = {value: f"{array}[i]" if value.shape else array for value, array in arrays.items() if value not in results}
    taken, body = {*arrays.values(), "i", "numpy", "numba"}, []
    for step in group.steps:
        text = expression(step, names, literal)
        if text is None:
            return None
        out = step.outputs[0]
        name = f"{out.name}_i"
        while name in taken:
            name += "_"
        taken.add(name)
        names[out] = name
        body.append(f"{name} = {text}")
        if out in results:
            body.append(f"{arrays[out]}[i] = {name}")
    return Loop(body)


def expression(step: Step, names: dict[Value, str], literal: Callable[[Any], str]) -> str | None:
    """What a step computes for one element, numbers in the dtype of the operands; None if there is no rule."""
    row = pointwise_row(step)
    rule = EXPRESSIONS.get(row.__name__ if isinstance(row, np.ufunc) else step.op.name)
    args = step.args[:row.nin] if isinstance(row, np.ufunc) else step.args
    if rule is None or not all(arg.__class__ is Value or (arg.__class__ in (int, float) and isfinite(arg))
                               for arg in args):
        return None
    dtype = next(value.dtype for value in reversed(step.inputs) if value.dtype.name.startswith("float"))

    def number(value: Any) -> str:
        return f"numpy.{dtype.name}({literal(value)})"

    return rule.format(*[names[arg] if arg.__class__ is Value else number(arg) for arg in args], zero=number(0),
                       one=number(1))

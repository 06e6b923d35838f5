"""Graphs: the operators of one recorded call, in order, and the values between them (``torch.fx.Graph``)."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .._base.call_site import place_of
from .._base.layout import contiguous_strides
from .._dispatch.registry import Operator


@dataclass(eq=False, slots=True)
class Memory:
    """The memory of a value, and of all views of it; of ``nbytes`` if the graph itself allocates it."""

    nbytes: int | None = None


@dataclass(eq=False, slots=True)
class Value:
    """A tensor of the graph: its layout and its memory. Values with the same ``memory`` may share elements."""

    name: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    dtype: Any
    memory: Memory

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for length in self.shape:
            size *= length
        return size

    @property
    def is_contiguous(self) -> bool:
        """True if the strides are contiguous, as a new tensor's are."""
        return self.stride == contiguous_strides(self.shape)

    @property
    def kind(self) -> str:
        """The dtype and shape as printed: ``float32[32, 64]``."""
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"

    def __repr__(self) -> str:
        return self.name


@dataclass(eq=False, slots=True)
class Step:
    """One operator of the graph, which writes nothing: its arguments (values, numbers, lists of them) and the values
    that it makes.
    """

    op: Operator
    args: tuple[Any, ...]
    outputs: list[Value]
    site: tuple[str, int, str]
    makes_view: bool = False
    is_list: bool = False  #: whether the operator returns several tensors

    @property
    def inputs(self) -> list[Value]:
        """The values among the arguments."""
        return [*values_in(self.args)]

    @property
    def is_random(self) -> bool:
        """True if the operator draws random numbers."""
        return self.op.family == "random" or "Generator?" in self.op.text

    def __str__(self) -> str:
        made = ", ".join(f"{value.name}: {value.kind}" for value in self.outputs if value is not None)
        return f"{made or '_'} = aten::{self.op.name}({', '.join(map(shown, self.args))})"


@dataclass(eq=False)
class Graph:
    """Inputs, the steps in order, and outputs. ``constants`` are tensors made of Python values while tracing; the last
    thing a graph does is to copy values into inputs, its ``writes``.
    """

    inputs: list[Value]
    steps: list[Step]
    outputs: list[Value]
    constants: dict[Value, Any] = field(default_factory=dict)
    name: str = "forward"
    writes: list[tuple[Value, Value]] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{self.name}({', '.join(f'{v.name}: {v.kind}' for v in self.inputs)}):"]
        lines += [f"    {v.name}: {v.kind} = a constant" for v in self.constants]
        width = max([len(str(step)) for step in self.steps], default=0)
        lines += [f"    {step!s:<{min(width, 88)}}" + (f"  # {place_of(*step.site[:2])}" if step.site[0] else "")
                  for step in self.steps]
        lines += [f"    {target.name}.copy_({value.name})" for target, value in self.writes]
        return "\n".join([*lines, f"    return {', '.join(v.name for v in self.outputs) or 'nothing'}"])

    def users(self) -> dict[Value, list[Step]]:
        """Return the steps that take each value."""
        found: dict[Value, list[Step]] = {}
        for step in self.steps:
            for value in dict.fromkeys(step.inputs):
                found.setdefault(value, []).append(step)
        return found

    @property
    def results(self) -> list[Value]:
        """The values that are returned or written into inputs."""
        return [*self.outputs, *(value for _, value in self.writes)]


def values_in(args: Any) -> Iterator[Value]:
    """Yield the values in arguments, and in lists and tuples among them."""
    for arg in args:
        if arg.__class__ is Value:
            yield arg
        elif arg.__class__ is list or arg.__class__ is tuple:
            yield from values_in(arg)


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return an argument with ``change(leaf)`` in place of each leaf of its lists and tuples."""
    if value.__class__ is list or value.__class__ is tuple:
        return value.__class__([mapped(item, change) for item in value])
    return change(value)


def shown(value: Any) -> str:
    """Return an argument as it is printed."""
    if value.__class__ in (list, tuple):
        return f"[{', '.join(map(shown, value))}]"
    return str(value)

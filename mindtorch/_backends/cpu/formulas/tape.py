"""The tape of a plan: the steps of formulas, written as one function of arrays."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...._base.generated import define
from ...._base.layout import Layout
from ...._base.quiet import silent
from ...._device import CPU as HOST, device
from ...._dispatch.dispatcher import TENSOR_TYPES
from ...._dispatch.keys import CPU
from ...._dispatch.observers import parts_of, subscribed
from ...._dispatch.registry import Operator
from ...._dispatch.schemas import registry
from ...._tensor import Tensor
from ..rows import Rows
from .steps import Step, is_alike, is_right, same, shares, step_of

FEWEST = 3  #: operators of a plan: fewer cost less by themselves

Gradient = tuple[int, Layout | None, int]


class Replay(NamedTuple):
    """A plan: the function of arrays; for each gradient the number of a result, its layout and version, or the number
    of the value that it is, or None; and the registry's changes when it was made.
    """

    run: Rows
    gradients: tuple[Gradient | None, ...]
    changes: int


class Tape:
    """The lines of a plan's function, as the operators of formulas are looked up."""

    def __init__(self, stand_ins: Sequence[Any], values: Sequence[Any]) -> None:
        self.lines: list[str] = []
        self.space: dict[str, Any] = {}  #: the functions and settings that the lines name
        self.inputs: dict[str, Any] = {}
        self.known: dict[int, tuple[str, Any]] = {}  #: by a stand-in's id: name and tensor
        self.count = 0
        for stand_in, value in zip(stand_ins, values, strict=True):
            if value.__class__ in TENSOR_TYPES:
                if any(value is other for other in self.inputs.values()):
                    value = value._saved_alias()  # a later call may have two tensors
                self.inputs[name := f"x{len(self.inputs)}"] = value
                self.known[id(stand_in)] = name, value

    def actual(self, value: Any) -> Any:
        """Return an operator's argument with tensors instead of stand-ins."""
        if value.__class__ in TENSOR_TYPES:
            return self.known[id(value)][1]
        if value.__class__ is list or value.__class__ is tuple:
            return value.__class__([self.actual(item) for item in value])
        return HOST if value.__class__ is device and value.type == "meta" else value

    def spelled(self, value: Any) -> str:
        """Return the expression of a step's argument."""
        if value.__class__ in TENSOR_TYPES:
            return next(name for name, tensor in self.known.values() if tensor is value)
        if value.__class__ is list and value and value[0].__class__ in TENSOR_TYPES:
            return f"[{', '.join(map(self.spelled, value))}]"
        self.space[name := f"c{len(self.space)}"] = value
        return name

    def add(self, step: Step, made: Any) -> bool:
        """Add an operator, whose results have these stand-ins; return whether its function computes them."""
        if not (step.checked or step.run is same or is_right(step)):
            return False
        self.count += 1
        several = step.result.__class__ is not Tensor
        outputs, made = (step.result, made) if several else ((step.result,), (made,))
        targets = [f"v{self.count}_{i}" for i in range(len(outputs))]
        if step.run is same or step.writes:
            targets = [self.spelled(step.result)]
        if step.run is not same:
            self.space[function := f"f{self.count}"] = step.run
            call = f"{function}({', '.join(map(self.spelled, step.args))})"
            if step.writes:
                self.lines.append(f"if {call} is False: return None")
            else:
                self.lines.append(f"{', '.join(targets)}{',' * several} = {call}")
                if step.leaves and not several:
                    self.lines.append(f"if {targets[0]} is None: return None")
                # NumPy may return a number, which cannot be written
                self.lines += [f"{target} = asarray({target})" for target, tensor in zip(targets, outputs, strict=True)
                               if not tensor.ndim]
        for target, stand_in, tensor in zip(targets, made, outputs, strict=True):
            for other in [other for other, (_, held) in self.known.items() if held is tensor]:  # it was written
                self.known[other] = target, tensor
            self.known[id(stand_in)] = target, tensor
        return True

    def gradients(self, made: Sequence[Any], values: Sequence[Any],
                  expected: Sequence[Any]) -> list[Gradient | None] | None:
        """Add the line that returns the gradients, and describe them; return None unless each is new and contiguous.
        """
        order: list[str] = []
        gradients: list[Gradient | None] = []
        for stand_in, wanted in zip(made, expected, strict=True):
            name, tensor = ("", None) if stand_in is None else self.known[id(stand_in)]
            if tensor is None:
                gradients.append(None)
            elif name in self.inputs:
                gradients.append((next(i for i, value in enumerate(values) if value is tensor), None, 0))
            elif tensor._keys != CPU or not tensor._array.size or any(
                    shares(tensor, value) for value in self.inputs.values()):
                return None
            else:
                order += [name] * (name not in order)
                gradients.append((order.index(name), tensor._layout_of_plans(), wanted._version))
        self.lines.append(f"return {', '.join(order)},")
        return gradients


def replay_of(formulas: Callable[..., list[Any]], op: Operator, values: tuple[Any, ...],
              expected: list[Any]) -> Replay | None:
    """Return the plan of formulas whose gradients of some values are known; None if they do not allow one, or have too
    few operators.
    """
    with subscribed(lambda event: None):
        found = parts_of(formulas, values)
    if found is None:
        return None
    stand_ins, made, parts = found
    parts.sort(key=lambda part: part[0].sequence)
    tape, at = Tape(stand_ins, values), 0
    while at < len(parts):
        event, given, result = parts[at]
        at += 1
        step = step_of(registry[event.op], tape.actual(tuple(given)), [*tape.inputs.values()])
        if step is not None:
            if not tape.add(step, result):
                return None
            while at < len(parts) and parts[at][0].depth > event.depth:
                at += 1
        elif at == len(parts) or parts[at][0].depth <= event.depth:
            return None  # it calls no operators that could stand for it
    gradients = None if tape.count < FEWEST else tape.gradients(made, values, expected)
    if gradients is None:
        return None
    run = function_of(tuple(tape.inputs), tuple(tape.space), tuple(tape.lines), op.name)(*tape.space.values())
    results = silent().run(run, *[value._array for value in tape.inputs.values()])
    for part, wanted in zip(gradients, expected, strict=True):
        if part is None or part[1] is None:
            right = wanted is (part and values[part[0]])
        else:
            array = np.asarray(results[part[0]])
            right = (wanted is not None and wanted._keys == CPU and wanted._base is None and array.flags.writeable
                     and is_alike(array, wanted._array))
        if not right:
            return None
    return Replay(run, tuple(gradients), registry.changes)


@lru_cache(1 << 10)
def function_of(inputs: tuple[str, ...], names: tuple[str, ...], lines: tuple[str, ...],
                op: str) -> Callable[..., Rows]:
    """Return a function that makes the function of arrays, given the functions and settings that its lines name."""
    text = "\n".join([f"def make({', '.join(names)}):", f"    def run({', '.join(inputs)}):",
                      *[f"        {line}" for line in lines], "    return run\n"])
    made: Callable[..., Rows] = define("make", text, f"{__file__}: formulas of {op}, {hash(text) & 0xFFFFFF:x}",
                                       {"asarray": np.asarray})
    return made

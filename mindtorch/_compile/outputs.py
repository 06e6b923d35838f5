"""The result of a compiled function: results of the program, inputs, and views of both, made outside of it."""
from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Any

from .._dispatch.dispatcher import TENSOR_TYPES, flattened
from .._dispatch.local import local
from .._dtype import FLOATING
from .._tensor import Tensor
from .breaks import CannotCompile
from .graph import Step, Value
from .recording import FirstCall

#: Results without tensors in them, by the names of their classes.
CONSTANTS = frozenset({"NoneType", "bool", "int", "float", "complex", "str", "bytes", "DType", "Size", "device"})


@dataclass(eq=False)
class Output:
    """A tensor that is made for a call's result: an input, a result of the program, or a view of another ``Output``.
    Views are made outside of the program, as AOTAutograd does.
    """

    number: int  #: among the call's outputs
    source: int  #: the number of the input, of the program's result, or of the output that it is a view of
    kind: str  #: ``"input"``, ``"result"`` or ``"view"``
    step: Step | None = None  #: the view's operator
    item: int = 0  #: which of the operator's results the view is

    def tensor(self, inputs: list[Any], results: list[Any], made: list[Any]) -> Any:
        """Return the tensor, given the call's inputs, the results of the program and the outputs made so far."""
        if self.kind == "input":
            return inputs[self.source]
        if self.kind == "result":
            return results[self.source]
        assert self.step is not None
        return _view(self.step, self.item, made[self.source])


class Outputs:
    """Describes a function's result, with an ``Output`` in the place of each tensor, and finds the ``roots`` that the
    program has to compute.
    """

    def __init__(self, first: FirstCall, inputs: list[Value]) -> None:
        self.first = first
        self.roots: list[Value] = []
        self.found: dict[Value, Output] = {}  #: each after the one that it is a view of
        self.places = {value: number for number, value in enumerate(inputs)}
        self.tensors = {value: first.kept[key] for key, value in first.values.items()}
        self.makers: dict[Value, Step] = {}
        self.last_write: dict[object, int] = {}  #: by memory: the last step that writes into it
        self.numbers: dict[Step, int] = {}
        for number, step in enumerate(first.steps):
            self.numbers[step] = number
            self.last_write.update((value.memory, number) for value in step.written)
            if step.makes_view or not step.written:
                self.makers.update((value, step) for value in step.outputs if value is not None)

    def describe(self, value: Any) -> Any:
        """Describe a result.

        Raises:
            CannotCompile: if it holds something that a program cannot make again.
        """
        kind = value.__class__
        if kind in TENSOR_TYPES:
            return self._tensor(value)
        if isinstance(value, tuple) and kind.__name__ not in CONSTANTS and (
                kind is tuple or hasattr(value, "_fields") or kind.__module__.startswith(LIBRARY)):
            return made_of(kind, [self.describe(item) for item in value])
        if kind is list or (kind is deque and value.maxlen is None):
            return kind([self.describe(item) for item in value])
        if kind in (dict, OrderedDict):
            return kind((key, self.describe(item)) for key, item in value.items())
        if kind.__name__ in CONSTANTS:
            return value
        raise CannotCompile(f"the function returns a {kind.__name__}, not tensors and numbers")

    def _tensor(self, tensor: Any) -> Output:
        value = self.first.values.get(id(tensor))
        if value is None:
            raise CannotCompile("the function returns a tensor that no operator made")
        if value not in self.places and tensor.__dict__.keys() - Tensor.__annotations__.keys():
            raise CannotCompile("the function gives a tensor attributes of its own")
        return self._output(value)

    def _output(self, value: Value) -> Output:
        if value in self.found:
            return self.found[value]
        if value in self.places:
            return self._new(value, self.places[value], "input")
        step = self._remade(value)
        if step is not None:
            return self._of_view(value, step)
        if value.offset:
            raise CannotCompile("a tensor that is returned is a part of memory that the function does not return")
        self.roots.append(value)
        return self._new(value, len(self.roots) - 1, "result")

    def _of_view(self, value: Value, step: Step) -> Output:
        if any(leaf.__class__ is Value for leaf in flattened(step.args[1:])):
            raise CannotCompile("a view that is returned depends on another tensor")
        base = step.args[0]
        if step.is_list and self.tensors[base].requires_grad and self._is_written_after(step, value):
            raise CannotCompile("one of several views of a tensor that requires grad is written in place")
        follows = self.tensors[base].requires_grad and step.grad_enabled and step.op.name != "detach"
        if value.dtype.category >= FLOATING and self.tensors[value].requires_grad != follows:
            raise CannotCompile("a view that is returned requires grad where its base made it otherwise")
        return self._new(value, self._output(base).number, "view", step, step.outputs.index(value))

    def _new(self, value: Value, *facts: Any) -> Output:
        found = self.found[value] = Output(len(self.found), *facts)
        return found

    def _remade(self, value: Value) -> Step | None:
        """Return the step of a view that gives this value if it is made again after the program; None for a root.

        Autograd tracks writes into a view in its base, but not writes into results of ``detach`` and ``_unsafe_view``.
        """
        step = self.makers.get(value)
        if step is None or not step.makes_view:
            return None
        tensor = self.tensors[value]
        follows = tensor._is_view() or not tensor.requires_grad or not self._is_written_after(step, value)
        return step if follows else None

    def _is_written_after(self, step: Step, value: Value) -> bool:
        return self.last_write.get(value.memory, -1) > self.numbers[step]


def returned(described: Any, tensors: list[Any]) -> Any:
    """Build a call's result from its description and the tensors of its outputs."""
    kind = described.__class__
    if kind is Output:
        return tensors[described.number]
    if kind is list or kind is deque:
        return kind([returned(item, tensors) for item in described])
    if kind is dict or kind is OrderedDict:
        return kind((key, returned(item, tensors)) for key, item in described.items())
    if isinstance(described, tuple) and kind.__name__ not in CONSTANTS:
        return made_of(kind, [returned(item, tensors) for item in described])
    return described


LIBRARY = __name__.partition(".")[0] + "."


def made_of(kind: Any, items: list[Any]) -> Any:
    """Build a tuple, a named tuple or an operator's return type of its items."""
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def _view(step: Step, number: int, tensor: Any) -> Any:
    before = local.grad_enabled
    local.grad_enabled = step.grad_enabled
    try:
        result = step.op.call(tensor, *step.args[1:])
    finally:
        local.grad_enabled = before
    return result[number] if step.is_list else result

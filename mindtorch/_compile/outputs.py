"""The results of a compiled graph: results of the program, inputs, and views of both, made outside of it."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._dispatch.dispatcher import TENSOR_TYPES, flattened
from .._dispatch.local import local
from .._dtype import FLOATING
from .._tensor import Tensor
from .breaks import CannotCompile
from .graph import Step, Value
from .tracing import Tracing


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

    def tensor(self, inputs: Any, results: list[Any], made: list[Any]) -> Any:
        """Return the tensor, given the call's inputs, the results of the program and the outputs made so far."""
        if self.kind == "input":
            return inputs[self.source]
        if self.kind == "result":
            return results[self.source]
        assert self.step is not None
        return _view(self.step, self.item, made[self.source])


class Outputs:
    """Describes a graph's results by an ``Output`` each, and finds the ``roots`` that the program has to compute."""

    def __init__(self, tracing: Tracing, inputs: list[Value]) -> None:
        self.tracing = tracing
        self.roots: list[Value] = []
        self.made: list[Any] = []  #: the tensors of the roots
        self.found: dict[Value, Output] = {}  #: each after the one that it is a view of
        self.places = {value: number for number, value in enumerate(inputs)}
        self.tensors = {value: tracing.kept[key] for key, value in tracing.values.items()}
        self.makers: dict[Value, Step] = {}
        self.last_write: dict[object, int] = {}  #: by memory: the last step that writes into it
        self.numbers: dict[Step, int] = {}
        for number, step in enumerate(tracing.steps):
            self.numbers[step] = number
            self.last_write.update((value.memory, number) for value in step.written)
            if step.makes_view or not step.written:
                self.makers.update((value, step) for value in step.outputs if value is not None)

    def describe(self, result: Any) -> Any:
        """Describe a result: the number of its ``Output``, or a constant as a tuple of itself.

        Raises:
            CannotCompile: if a program cannot make it again.
        """
        if result.__class__ not in TENSOR_TYPES:
            return (result,)
        value = self.tracing.values.get(id(result))
        if value is None:
            value = self.tracing.known(result)
            self.tensors[value] = result
            self.makers[value] = self.tracing.steps[-1]
            self.numbers[self.tracing.steps[-1]] = len(self.tracing.steps) - 1
        if value not in self.places and result.__dict__.keys() - Tensor.__annotations__.keys():
            raise CannotCompile("the function gives a tensor attributes of its own")
        return self._output(value).number

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
        self.made.append(self.tensors[value])
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


def _view(step: Step, number: int, tensor: Any) -> Any:
    before = local.grad_enabled
    local.grad_enabled = step.grad_enabled
    try:
        result = step.op.call(tensor, *step.args[1:])
    finally:
        local.grad_enabled = before
    return result[number] if step.is_list else result

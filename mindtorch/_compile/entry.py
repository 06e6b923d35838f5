"""One call that was compiled: its programs, how they are made from what was recorded, and how they run on tensors."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._autograd.node import Node, new, next_sequence_nr
from .._autograd.saved import freed, save
from .._device import CPU
from .._dispatch import dispatcher
from .._dispatch.dispatcher import TENSOR_TYPES, flattened
from .._dispatch.keys import AUTOGRAD, OBSERVED
from .._dispatch.local import local
from .._tensor import Tensor, from_array
from .breaks import CannotCompile, GraphBreak
from .graph import Graph, Step, Value
from .guards import Guards
from .joint import Joint, trace
from .passes import optimise
from .program import Program, Writer
from .recording import FirstCall
from .running import tensor_of, with_layout

ndarray = np.ndarray
DOUBLE_BACKWARD = "torch.compile with aot_autograd does not currently support double backward"


class CompiledFunctionBackward(Node):
    """The node of a compiled call in the autograd graph: one for the whole program."""

    entry: Entry
    _saved: Any = ()
    _freed = False

    def apply(self, grads: list[Any]) -> list[Any]:
        """Run the backward program.

        Raises:
            RuntimeError: PyTorch's, for a derivative of the derivative, and if what was saved was freed or written.
        """
        if self._freed:
            raise freed(self)
        entry = self.entry
        if local.grad_enabled:
            raise RuntimeError(DOUBLE_BACKWARD)
        arrays = [item if item.__class__ is ndarray else item.unpack(self)._array for item in self._saved]
        for gradient, output in zip(grads, self._outputs, strict=True):
            if gradient is None:
                shape, dtype, _ = output  # type: ignore[misc]
                arrays.append(np.zeros(shape, dtype.np))
            elif gradient._array is None or gradient._keys & ~1:
                arrays.append(np.ascontiguousarray(gradient.contiguous().resolve_conj()._array))
            else:
                arrays.append(gradient._array)
        assert entry.backward is not None
        results: list[Any] = [None] * self._width
        made = entry.backward(arrays, bool(dispatcher.mode & OBSERVED))
        alone = len({*map(id, made)}) == len(made)
        for place, array, dtype in zip(entry.joint.wanted, made, entry.results, strict=True):
            if dtype is not None and alone and array.flags.c_contiguous:
                results[place] = from_array(array, dtype)
            else:
                results[place] = tensor_of(array if dtype is not None and alone else array.copy("K"))
        return results

    def release_variables(self) -> None:
        """Free what was saved for backward."""
        self._saved, self._freed = (), True


@dataclass
class Output:
    """A tensor that the function returns: a root (an input, or what the program makes), and the views that lead from
    there to it, which are made outside of the program, as AOTAutograd does.
    """

    root: int  #: which input, or which result of the program
    is_input: bool
    views: list[tuple[Step, int]]


class Entry:
    """What was compiled for calls that satisfy some guards, or why they run as they are written."""

    def __init__(self, function: Callable[..., Any], guards: Guards) -> None:
        self.function, self.guards = function, guards
        self.broken: GraphBreak | None = None
        self.recorded: Graph | None = None
        self.joint: Joint = Joint(Graph([], [], []))
        self.optimised: list[str] = []
        self.forward: Program | None = None
        self.backward: Program | None = None
        self.roots: list[Value] = []
        self.outputs: list[Output] = []
        self.structure: Any = None
        self.described: Any = None  #: what the node knows of the outputs
        self.written: list[int] = []  #: which inputs the program writes into
        self.results: list[Any] = []  #: of the backward program: the dtypes of those in memory of their own
        self.saved_inputs: dict[int, int] = {}
        self.saved_roots: dict[int, int] = {}
        self.links: tuple[tuple[int, Node, int], ...] | None = None
        self.leaves: list[tuple[Any, Any]] = []  #: the tensors to which they lead, and what refers to their nodes
        self.calls = 0
        self.seconds = 0.0  #: that compiling took

    # -- compiling -------------------------------------------------------------------------------------------------

    def compile(self, first: FirstCall, inputs: list[Any], result: Any) -> None:
        """Make the programs from what was recorded. Raises CannotCompile where that cannot be."""
        values = [first.values[id(tensor)] for tensor in inputs]
        makers = {value: step for step in first.steps if step.makes_view or not step.written
                  for value in step.outputs if value is not None}
        places = {value: number for number, value in enumerate(values)}
        self.structure = self._described(result, first, makers, places)
        written = {value.memory for step in first.steps for value in step.written}
        self.written = [number for number, value in enumerate(values) if value.memory in written]
        if self.written and len({id(value.memory) for value in values}) != len(values):
            raise CannotCompile("the function writes into memory that two of its tensors share")
        for number in self.written:
            if values[number].requires_grad or inputs[number].requires_grad:
                raise CannotCompile(f"{values[number].name}, which requires grad, is written in place")
        for value, tensor in first.constants.items():
            if value.memory in written or any(root.memory is value.memory for root in self.roots):
                raise CannotCompile(f"{value.name}, a tensor made of Python values, leaves the function or is written")
            first.constants[value] = tensor.detach().clone()
        self.recorded = Graph(values, first.steps, self.roots, first.constants, "recorded")
        self.joint = joint = trace(first, values, self.roots, local.grad_enabled)
        kept = len(self.roots)
        self.optimised += [f"forward: {said}" for said in optimise(joint.forward)]
        self.roots = joint.forward.outputs[:kept]
        placed = {value: number for number, value in enumerate(joint.forward.inputs)}
        for number, value in enumerate(joint.forward.outputs[kept:]):
            if value in placed:
                self.saved_inputs[number] = placed[value]
            elif value in self.roots:
                self.saved_roots[number] = self.roots.index(value)
        memories = [value.memory for value in (*self.roots, *joint.forward.inputs)]
        if len({*map(id, memories)}) != len(memories):
            raise CannotCompile("two results share memory in a way that no view says")
        like = Node()
        like._outputs = tuple([(self.roots[i].shape, self.roots[i].dtype, CPU) for i in joint.differentiable])
        self.described = like._several, like._out_shape, like._out_dtype
        self.forward = Writer(joint.forward).write()
        if joint.backward is not None:
            self.optimised += [f"backward: {said}" for said in optimise(joint.backward)]
            inside = {value.memory for step in joint.backward.steps for value in step.outputs if value is not None}
            inside -= {value.memory for value in joint.backward.inputs} | {v.memory for v in joint.backward.constants}
            taken: set[int] = set()
            for value in joint.backward.outputs:
                own = value.memory in inside and id(value.memory) not in taken
                taken.add(id(value.memory))
                self.results.append(value.dtype if own else None)
            self.backward = Writer(joint.backward).write()

    def _described(self, value: Any, first: FirstCall, makers: dict[Value, Step], places: dict[Value, int]) -> Any:
        """A result with an ``Output`` in the place of each tensor."""
        kind = value.__class__
        if kind in TENSOR_TYPES:
            found = first.values.get(id(value))
            if found is None:
                raise CannotCompile("the function returns a tensor that no operator made")
            if found not in places and value.__dict__.keys() - Tensor.__annotations__.keys():
                raise CannotCompile("the function gives a tensor attributes of its own")
            return self._output(found, makers, places)
        if kind in (list, tuple):
            return kind([self._described(item, first, makers, places) for item in value])
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return kind(*[self._described(item, first, makers, places) for item in value])
        if isinstance(value, tuple) and type(value).__module__.startswith(__name__.partition(".")[0]):
            return kind([self._described(item, first, makers, places) for item in value])  # a return type
        if kind is dict:
            return {key: self._described(item, first, makers, places) for key, item in value.items()}
        if value is None or kind in (bool, int, float, complex, str, bytes) or kind.__name__ in ("DType", "Size",
                                                                                                  "device"):
            return value
        raise CannotCompile(f"the function returns a {kind.__name__}, which is not made of tensors and numbers")

    def _output(self, value: Value, makers: dict[Value, Step], places: dict[Value, int]) -> Output:
        views: list[tuple[Step, int]] = []
        while value not in places:
            step = makers.get(value)
            if step is None or not step.makes_view:
                break
            if any(leaf.__class__ is Value for arg in step.args[1:] for leaf in flattened([arg])):
                raise CannotCompile("a view that is returned depends on another tensor")
            views.append((step, step.outputs.index(value)))
            value = step.args[0]
        views.reverse()
        if value in places:
            return Output(places[value], True, views)
        if value not in self.roots:
            self.roots.append(value)
        return Output(self.roots.index(value), False, views)

    # -- running ---------------------------------------------------------------------------------------------------

    def run(self, inputs: list[Any]) -> Any:
        """Run the forward program on tensors that satisfy the guards."""
        forward = self.forward
        assert forward is not None
        made = forward([tensor._array for tensor in inputs], bool(dispatcher.mode & OBSERVED))
        for number in self.written:
            inputs[number]._bump()
        roots = self.roots
        count = len(roots)
        results = [with_layout(array, root.dtype, root.stride) for array, root in zip(made, roots, strict=False)]
        joint = self.joint
        if joint.backward is not None:
            node = new(CompiledFunctionBackward)
            node._order = next_sequence_nr()
            node.entry = self
            node._width = len(inputs)
            node._links = self._links(inputs)
            node._several, node._out_shape, node._out_dtype = self.described
            kept: list[Any] = list(made[count:])
            for position, number in self.saved_inputs.items():
                kept[position] = save(inputs[number])
            for position, number in self.saved_roots.items():
                kept[position] = save(results[number]._saved_alias())
            node._saved = kept
            for number, i in enumerate(joint.differentiable):
                results[i]._grad_fn, results[i]._output_nr = node, number
                results[i]._keys |= AUTOGRAD
        return self._returned(self.structure, inputs, results)

    def _links(self, inputs: list[Any]) -> tuple[tuple[int, Node, int], ...]:
        """Where the gradients of the inputs go. The nodes of leaves that the function found, which most inputs are, are
        kept from call to call.
        """
        if self.links is not None:
            for leaf, accumulator in self.leaves:
                if leaf._accumulator is not accumulator or leaf._grad_fn is not None:
                    break
            else:
                return self.links
        wanted = self.joint.wanted
        links = tuple([(number, *inputs[number]._grad_edge()) for number in wanted])
        if min(wanted) >= len(self.guards.inputs) and all(inputs[number].is_leaf for number in wanted):
            self.links, self.leaves = links, [(inputs[number], inputs[number]._accumulator) for number in wanted]
        return links

    def _returned(self, described: Any, inputs: list[Any], results: list[Any]) -> Any:
        kind = described.__class__
        if kind is Output:
            tensor = (inputs if described.is_input else results)[described.root]
            for step, number in described.views:
                tensor = _view(step, number, tensor)
            return tensor
        if kind is list:
            return [self._returned(item, inputs, results) for item in described]
        if isinstance(described, tuple) and kind.__name__ != "Size":
            items = [self._returned(item, inputs, results) for item in described]
            return kind(*items) if hasattr(described, "_fields") else kind(items)
        if kind is dict:
            return {key: self._returned(item, inputs, results) for key, item in described.items()}
        return described


def _view(step: Step, number: int, tensor: Any) -> Any:
    before = local.grad_enabled
    local.grad_enabled = step.grad_enabled
    try:
        result = step.op.call(tensor, *step.args[1:])
    finally:
        local.grad_enabled = before
    return result[number] if step.is_list else result

"""One compiled call: its programs, built from the recorded graph, and how they run on tensors."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._autograd.engine import grad
from .._autograd.node import Node, new, next_sequence_nr
from .._autograd.saved import Saved, freed, save
from .._device import CPU
from .._dispatch import dispatcher
from .._dispatch.aten import alias
from .._dispatch.keys import AUTOGRAD, OBSERVED
from .._dispatch.local import local
from .._tensor import from_array
from .breaks import CannotCompile, GraphBreak
from .graph import Graph, Step, Value
from .guards import Guards
from .joint import Joint, repeat, trace
from .outputs import Output, Outputs, returned
from .passes import optimise
from .program import Program, Writer
from .recording import FirstCall, version_of
from .running import tensor_of, with_layout

ndarray = np.ndarray
DOUBLE_BACKWARD = "torch.compile with aot_autograd does not currently support double backward"


class CompiledFunctionBackward(Node):
    """The node of a compiled call in the autograd graph: one for the whole program."""

    entry: Entry
    _makes_gradients = True
    _inputs: tuple[Saved, ...] = ()
    _saved: Any = ()
    _freed = False

    def apply(self, grads: list[Any]) -> list[Any]:
        """Run the backward program.

        Raises:
            RuntimeError: PyTorch's, if a saved tensor was freed or written, and with ``create_graph`` if the program
                writes into its inputs or draws random numbers.
        """
        if self._freed:
            raise freed(self)
        entry = self.entry
        if local.grad_enabled:
            return self._with_graph(grads)
        arrays = [item if item.__class__ is ndarray else item.unpack(self)._array for item in self._saved]
        for gradient, output in zip(grads, self._outputs, strict=True):
            if gradient is None:
                shape, dtype, _ = output  # type: ignore[misc]
                arrays.append(np.zeros(shape, dtype.np))
            elif gradient._array is None or gradient._keys & ~1:
                arrays.append(gradient.contiguous().resolve_conj().resolve_neg()._array)
            else:
                arrays.append(gradient._array)
        assert entry.backward is not None
        results: list[Any] = [None] * self._width
        made = entry.backward(arrays, bool(dispatcher.mode & OBSERVED))
        alone = len({*map(id, made)}) == len(made)
        for place, array, dtype in zip(entry.joint.wanted, made, entry.results, strict=True):
            alone = alone and not any(array is given for given in arrays)
            if dtype is not None and alone and array.flags.c_contiguous:
                results[place] = from_array(array, dtype)
            else:
                results[place] = tensor_of(array if dtype is not None and alone else array.copy("K"))
        return results

    def _with_graph(self, grads: list[Any]) -> list[Any]:
        """Compute the gradients with a graph of their own: the recorded operators run again, as they were written."""
        joint, recorded = self.entry.joint, self.entry.recorded
        assert recorded is not None
        if not self.entry.is_repeatable:
            raise RuntimeError(DOUBLE_BACKWARD)
        inputs = [alias(saved.unpack(self)) for saved in self._inputs]  # so that none is made of another one
        twins = {**dict(zip(recorded.inputs, inputs, strict=True)), **recorded.constants}
        for step in recorded.steps:
            repeat(step, twins)
        given = [(twins[recorded.outputs[i]], gradient)
                 for i, gradient in zip(joint.differentiable, grads, strict=True) if gradient is not None]
        results: list[Any] = [None] * self._width
        if joint.wanted:
            outputs, gradients = zip(*given, strict=True)
            found = grad(outputs, [inputs[i] for i in joint.wanted], gradients, create_graph=True, allow_unused=True)
            for place, gradient in zip(joint.wanted, found, strict=True):
                results[place] = gradient
        return results

    def release_variables(self) -> None:
        """Free what was saved for backward."""
        self._inputs, self._saved, self._freed = (), (), True


def check_strides(steps: list[Step]) -> None:
    """Raise CannotCompile if a step lays out the whole memory of a tensor that is a part of it: arrays know no more."""
    for step in steps:
        if step.op.packet.startswith("as_strided"):
            source = step.args[0]
            size = source.size * source.dtype.itemsize
            if source.offset or not source.is_contiguous or source.memory.nbytes() != size:
                raise CannotCompile(f"aten::{step.op.name} reaches beyond {source.name}")


class Entry:
    """The programs for calls that satisfy some guards, or the reason that such calls run as they are written."""

    def __init__(self, function: Callable[..., Any], guards: Guards) -> None:
        self.function, self.guards = function, guards
        self.broken: GraphBreak | None = None
        self.recorded: Graph | None = None
        self.joint: Joint = Joint(Graph([], [], []))
        self.optimised: list[str] = []
        self.forward: Program | None = None
        self.backward: Program | None = None
        self.roots: list[Value] = []
        self.structure: Any = None  #: of the result, with an ``Output`` in the place of each tensor
        self.outputs: list[Output] = []
        self.described: Any = None  #: what the node stores of the outputs
        self.written: dict[int, int] = {}  #: which inputs the program writes into, and how often that counts
        self.results: list[Any] = []  #: of the backward program: the dtypes of results in memory of their own
        self.is_repeatable = False  #: whether the operators may run again on the inputs
        self.saved_inputs: dict[int, int] = {}
        self.saved_roots: dict[int, int] = {}
        self.links: tuple[tuple[int, Node, int], ...] | None = None
        self.leaves: list[tuple[Any, Any]] = []  #: their tensors, with references to their nodes
        self.calls = 0
        self.seconds = 0.0  #: spent compiling

    # -- compiling -------------------------------------------------------------------------------------------------

    def compile(self, first: FirstCall, inputs: list[Any], result: Any) -> None:
        """Write the programs of a recorded call. Raises CannotCompile if it cannot become a program."""
        values = [first.values[id(tensor)] for tensor in inputs]
        outputs = Outputs(first, values)
        self.structure, self.roots = outputs.describe(result), outputs.roots
        self.outputs = [*outputs.found.values()]
        self._find_writes(first, values, inputs)
        check_strides(first.steps)
        self.recorded = Graph(values, first.steps, self.roots, first.constants, "recorded")
        self.is_repeatable = not self.written and not any(step.is_random for step in first.steps)
        self.joint = joint = trace(first, values, self.roots, local.grad_enabled)
        self._write_forward(joint)
        if joint.backward is not None:
            check_strides(joint.backward.steps)
            self._write_backward(joint, joint.backward)

    def _find_writes(self, first: FirstCall, values: list[Value], inputs: list[Any]) -> None:
        """Count the writes into each input, and replace constants by copies that no call can change."""
        written = {value.memory for step in first.steps for value in step.written}
        self.written = {number: version_of(inputs[number]) - first.versions[id(inputs[number])]
                        for number, value in enumerate(values) if value.memory in written}
        if len({id(values[number].memory) for number in self.written}) != len(self.written):
            raise CannotCompile("the function writes into memory that two of its tensors share")
        for number in self.written:
            if values[number].requires_grad or inputs[number].requires_grad:
                raise CannotCompile(f"{values[number].name}, which requires grad, is written in place")
        for value, tensor in first.constants.items():
            if value.memory in written or any(root.memory is value.memory for root in self.roots):
                raise CannotCompile(f"{value.name}, a tensor made of Python values, leaves the function or is written")
            first.constants[value] = tensor.detach().clone()

    def _write_forward(self, joint: Joint) -> None:
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

    def _write_backward(self, joint: Joint, backward: Graph) -> None:
        self.optimised += [f"backward: {said}" for said in optimise(backward)]
        inside = {value.memory for step in backward.steps for value in step.outputs if value is not None}
        inside -= {value.memory for value in (*backward.inputs, *backward.constants)}
        taken: set[int] = set()
        for value in backward.outputs:
            own = value.memory in inside and id(value.memory) not in taken
            taken.add(id(value.memory))
            self.results.append(value.dtype if own else None)
        self.backward = Writer(backward).write()

    # -- running ---------------------------------------------------------------------------------------------------

    def run(self, inputs: list[Any]) -> Any:
        """Run the forward program on tensors that satisfy the guards."""
        forward = self.forward
        assert forward is not None
        made = forward([tensor._array for tensor in inputs], bool(dispatcher.mode & OBSERVED))
        for number, times in self.written.items():
            for _ in range(times):
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
            node._inputs = saved = tuple(map(save, inputs))
            for position, number in self.saved_inputs.items():
                kept[position] = saved[number]
            for position, number in self.saved_roots.items():
                kept[position] = save(results[number]._saved_alias())
            node._saved = kept
            for number, i in enumerate(joint.differentiable):
                results[i]._grad_fn, results[i]._output_nr = node, number
                results[i]._keys |= AUTOGRAD
        made_outputs: list[Any] = []
        for output in self.outputs:
            made_outputs.append(output.tensor(inputs, results, made_outputs))
        return returned(self.structure, made_outputs)

    def _links(self, inputs: list[Any]) -> tuple[tuple[int, Node, int], ...]:
        """Return the edges to the inputs. Those to leaves that the function itself holds, such as parameters, are kept
        from call to call.
        """
        if self.links is not None:
            for leaf, accumulator in self.leaves:
                if leaf._accumulator is not accumulator or leaf._grad_fn is not None:
                    break
            else:
                return self.links
        wanted = self.joint.wanted
        links = tuple([(number, *inputs[number]._grad_edge()) for number in wanted])
        if min(wanted, default=0) >= self.guards.count and all(inputs[number].is_leaf for number in wanted):
            self.links, self.leaves = links, [(inputs[number], inputs[number]._accumulator) for number in wanted]
        return links

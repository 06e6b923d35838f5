"""Compiled graphs: the programs of one captured graph, and how they run on tensors (Inductor's ``CompiledFxGraph``)."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from .._autograd.engine import grad
from .._autograd.node import Node, new, next_sequence_nr
from .._autograd.saved import Saved, freed, save, saved_as
from .._base.layout import Layout, contiguous_strides, intern_layout
from .._creation import zeros
from .._device import CPU
from .._dispatch import dispatcher
from .._dispatch.aten import alias
from .._dispatch.keys import AUTOGRAD, CPU as HOST, OBSERVED
from .._dispatch.local import local, shared
from .._functorch._aot_autograd.graph_capture import prepared
from .._tensor import Tensor, from_array
from ..fx import GraphModule
from .breaks import CannotCompile, GraphBreak
from .dims import has_dims, named_in, places_of
from .graph import Graph, Value
from .joint import Captured, Joint, check_input, joint_of, names_of, roots_of
from .logs import log
from .outputs import Output, outputs_of
from .passes import optimise
from .program import Program, Writer
from .running import tensor_of, with_layout

DOUBLE_BACKWARD = "torch.compile with aot_autograd does not currently support double backward"


class CompiledFunctionBackward(Node):
    """The node of a compiled call in the autograd graph: one for the whole program."""

    entry: CompiledGraph
    _makes_gradients = _gives_own = True
    _inputs: tuple[Any, ...] = ()
    _versions: tuple[int, ...] = ()  #: of the inputs
    _args: Any = ()  #: of the call, where sizes change
    _sizes: Any = ()  #: further inputs of the backward program
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
        arrays, inputs, versions = [*self._saved], self._inputs, self._versions
        for number, place in entry.saved_inputs:
            tensor = inputs[place]
            if arrays[number].__class__ is Saved:  # which hooks packed
                tensor = arrays[number].unpack(self)
            elif (cell := tensor._version_counter) is not None and (cell[0] != versions[place] or tensor._detached_at):
                tensor = saved_as(tensor, versions[place]).unpack(self)
            arrays[number] = tensor._array
        for number in entry.saved_roots:
            arrays[number] = arrays[number].unpack(self)._array
        missing: set[int] = set()
        for number, gradient in enumerate(grads):
            stride = entry.tangents[number]
            if gradient is not None and gradient._array is not None and not gradient._keys & ~1 and stride is None:
                arrays.append(gradient._array)
                continue
            if gradient is None:
                missing.add(number)
            shape, dtype = self._outputs[number][:2]  # type: ignore[index]
            arrays.append(array_of(gradient, shape, stride, dtype))
        arrays += self._sizes
        assert entry.backward is not None
        results: list[Any] = [None] * self._width
        made = entry.backward(arrays, bool(dispatcher.mode & OBSERVED))
        for array, (place, layout, alone) in zip(made, entry.results, strict=True):
            if layout is None:
                results[place] = tensor_of(array if alone else array.copy("K"))
            else:
                results[place] = gradient = new(Tensor)
                gradient._array, gradient._dtype, gradient._keys, gradient._layout = array, layout.dtype, HOST, layout
        if missing:
            for place, roots in zip(entry.joint.wanted, entry.joint.reached, strict=True):
                if roots <= missing:
                    results[place] = None
        return results

    def _with_graph(self, grads: list[Any]) -> list[Any]:
        """Compute the gradients with a graph of their own: the captured operators run again, as they were written."""
        entry, joint = self.entry, self.entry.joint
        if not entry.is_repeatable:
            raise RuntimeError(DOUBLE_BACKWARD)
        inputs = [alias(saved_as(tensor, version).unpack(self)) for tensor, version in zip(
            self._inputs, self._versions, strict=True)]  # so that none is made of another one
        results = entry.again(inputs, self._args)
        outputs, gradients = zip(*[(results[i], gradient) for i, gradient in zip(
            joint.differentiable, grads, strict=True) if gradient is not None], strict=True)
        found: list[Any] = [None] * self._width
        if joint.wanted:
            made = grad(outputs, [inputs[i] for i in joint.wanted], gradients, create_graph=True, allow_unused=True)
            for place, gradient in zip(joint.wanted, made, strict=True):
                found[place] = gradient
        return found

    def release_variables(self) -> None:
        """Free what was saved for backward."""
        self._inputs, self._versions, self._args, self._saved, self._freed = (), (), (), (), True


def described_by(results: list[tuple[Any, Any]]) -> Any:
    """Return what a node stores of its outputs' shapes and dtypes."""
    like = Node()
    like._outputs = tuple([(shape, dtype, CPU) for shape, dtype in results])
    return like._several, like._out_shape, like._out_dtype


def array_of(gradient: Any, shape: tuple[int, ...], stride: tuple[int, ...] | None, dtype: Any) -> np.ndarray:
    """Return a gradient's array in a layout, contiguous without ``stride``; or zeros for None."""
    stride = contiguous_strides(shape) if stride is None else stride
    if gradient is None:
        gradient = zeros(shape, dtype=dtype)
    gradient = gradient.resolve_conj().resolve_neg()
    if gradient._array is None or gradient._strides() != stride:
        gradient = gradient.new_empty_strided(shape, stride).copy_(gradient)
    array: np.ndarray = gradient._array
    return array


def check_strides(graph: Graph) -> None:
    """Raise CannotCompile if a step lays out the whole memory of a tensor that may be a part of it: arrays know no
    more.
    """
    for step in graph.steps:
        if step.op.packet.startswith("as_strided"):
            source = step.args[0]
            if source.offset or not source.is_contiguous or source.memory.nbytes != source.size * source.dtype.itemsize:
                raise CannotCompile(f"aten::{step.op.name} reaches beyond {source.name}")


class CompiledGraph:
    """The programs of a captured graph, for tensors like the examples, or the reason that its operators run one by one.
    If ``fakes`` are given in place of the examples, whose sizes are symbols, one program serves all sizes.

    The caller guards that the arguments of a call have the types, layouts, dtypes and keys of the examples, and that
    the modes of the thread are the same.
    """

    def __init__(self, module: GraphModule, examples: list[Any], fakes: list[Any] | None = None) -> None:
        self.module, self.is_sized = module, fakes is not None
        #: Where the tensors stand among the arguments, if there are numbers too, which are those of the examples.
        self.tensors = None if all(isinstance(one, Tensor) for one in examples) else [
            i for i, one in enumerate(examples) if isinstance(one, Tensor)]
        self.attributes = [getattr(module, str(node.target)) for node in module.graph.nodes if node.op == "get_attr"]
        self.captured = Captured(module, [*(fakes or examples), *self.attributes])
        self.broken: GraphBreak | None = None
        self.recorded: Graph | None = None
        self.joint = Joint(Graph([], [], []))
        self.optimised: list[str] = []
        self.forward: Program | None = None
        self.backward: Program | None = None
        self.roots: list[Value] = []
        self.layouts: list[tuple[Any, Any]] = []  #: of the roots: dtypes, and strides unless they are contiguous
        self.outputs: list[Output] = []
        self.order: list[int] | None = None  #: which roots the call returns, if it returns nothing else
        self.described: Any = None  #: what the node stores of the outputs, if their sizes do not change
        self.written: list[int] = []  #: which inputs the program writes into
        self.versions: dict[int, int] = {}  #: by how much the versions of inputs grow
        #: Of the results of the backward program: the input of which each is the gradient; the layout, if it is
        #: contiguous in memory of its own; and whether the memory is its own.
        self.results: list[tuple[int, Layout | None, bool]] = []
        self.is_repeatable = False  #: whether the operators may run again on the inputs
        #: Which saved values are inputs and roots, whose versions are checked: by position, and the number of each.
        self.saved_inputs: list[tuple[int, int]] = []
        self.saved_roots: dict[int, int] = {}
        self.tangents: list[Any] = []  #: the strides of the gradients that the backward program is given, as of roots
        self.sizes: list[tuple[int, int]] = []  #: that the backward program is given: by input and dimension
        self.calls = 0
        start = perf_counter()
        try:
            if local.autocast is not None or local.inference or shared.dual_levels:
                raise CannotCompile("autocast, inference mode or forward mode AD is on")
            self._compile([*examples, *self.attributes], [*(fakes or examples), *self.attributes])
        except (CannotCompile, RuntimeError, NotImplementedError, TypeError, ValueError, IndexError) as error:
            sites = [node.meta["site"] for node in module.graph.nodes if "site" in node.meta]
            self.broken = GraphBreak(str(error) or type(error).__name__, *(sites[0][:2] if sites else ()))
            self.forward = self.backward = None
        self.seconds = perf_counter() - start  #: spent compiling
        for program in (self.forward, self.backward):
            if program is not None:
                log("output_code", partial(getattr, program, "source"))

    # -- compiling -------------------------------------------------------------------------------------------------

    def _compile(self, examples: list[Any], traced: list[Any]) -> None:
        """Write the programs. Raises CannotCompile if the graph cannot become a program."""
        names = names_of(self.module, examples)
        for example, name in zip([one for one in examples if isinstance(one, Tensor)], names, strict=True):
            check_input(example, name)
        self.joint = joint = joint_of(self.captured, [one for one in traced if isinstance(one, Tensor)], names)
        meta = joint.meta
        assert meta is not None
        self.outputs = outputs_of(meta)
        made = {output.number: output.source for output in self.outputs
                if output.kind == "result" and output.views is None}
        if all(place in made for place in self.captured.places):
            self.order = [made[place] for place in self.captured.places]
        elif self.is_sized:
            raise CannotCompile("a view of an input or another result, or a number, is returned")
        self.written = meta.mutated_inp_runtime_indices
        self.versions = {i: info.writes for i, info in enumerate(meta.input_info) if info.writes}
        self.recorded = replace(joint.forward, steps=[replace(step) for step in joint.forward.steps])
        self.is_repeatable = not self.written and not any(step.is_random for step in joint.forward.steps)
        for graph in (joint.forward, joint.backward):
            if graph is not None:
                check_strides(graph)
        self._write_forward(joint)
        if joint.backward is not None:
            self._write_backward(joint.backward)

    def again(self, inputs: list[Any], args: Any = ()) -> list[Any]:
        """Run the captured operators on tensors, one by one, and return the roots; where sizes change, with the numbers
        among the arguments of a call.
        """
        assert self.joint.meta is not None
        numbers = [None if isinstance(one, Tensor) else one for one in (*args, *self.attributes)] if args else None
        made, _ = prepared(partial(self.captured, numbers=numbers), self.joint.meta, joint=False)(*inputs)
        return [made[number] for number in roots_of(self.joint.meta)]

    def _write_forward(self, joint: Joint) -> None:
        kept = joint.roots
        self.optimised += [f"forward: {said}" for said in optimise(joint.forward)]
        self.roots = joint.forward.outputs[:kept]
        self.layouts = [(root.dtype, None if root.is_contiguous else root.stride) for root in self.roots]
        if has_dims(tuple(stride for _, stride in self.layouts)):
            raise CannotCompile("strides of a result are sizes that change")
        placed = {value: number for number, value in enumerate(joint.forward.inputs)}
        for number, value in enumerate(joint.forward.outputs[kept:]):
            if value in placed:
                self.saved_inputs.append((number, placed[value]))
            elif value in self.roots:
                self.saved_roots[number] = self.roots.index(value)
        memories = [value.memory for value in (*self.roots, *joint.forward.inputs)]
        if len({*map(id, memories)}) != len(memories):
            raise CannotCompile("two results share memory in a way that no view says")
        described = [(self.roots[i].shape, self.roots[i].dtype) for i in joint.differentiable]
        self.described = None if has_dims([shape for shape, _ in described]) else described_by(described)
        self.forward = Writer(joint.forward).write()

    def _write_backward(self, backward: Graph) -> None:
        self.optimised += [f"backward: {said}" for said in optimise(backward)]
        inside = {value.memory for step in backward.steps for value in step.outputs if value is not None}
        inside -= {value.memory for value in (*backward.inputs, *backward.constants)}
        taken: set[int] = set()
        self.tangents = [None if tangent.is_contiguous else tangent.stride for tangent in self.joint.tangents]
        for place, value in zip(self.joint.wanted, backward.outputs, strict=True):
            own = value.memory in inside and id(value.memory) not in taken
            taken.add(id(value.memory))
            is_known = own and value.is_contiguous and not has_dims(value)
            self.results.append((place, intern_layout(value.shape, None, value.dtype) if is_known else None, own))
        known = {name: (self.joint.forward.inputs.index(value), d)
                 for name, (value, d) in places_of(self.joint.forward).items()}
        further = [name for name in known if name in named_in(backward) - places_of(backward).keys()]
        self.sizes = [known[name] for name in further]
        self.backward = Writer(backward, further).write()

    # -- running ---------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any) -> list[Any] | tuple[Any, ...]:
        """Run the graph on arguments that satisfy the guards."""
        forward = self.forward
        inputs = args if self.tensors is None else tuple([args[i] for i in self.tensors])
        if self.attributes:
            inputs = *inputs, *self.attributes
        if forward is None or (self.written and _overlapping(inputs, self.written)):
            found: tuple[Any, ...] = self.module.forward(*args)
            return found
        self.calls += 1
        made = forward([tensor._array for tensor in inputs], bool(dispatcher.mode & OBSERVED))
        if self.versions:
            for number, times in self.versions.items():
                for _ in range(times):
                    inputs[number]._bump()
        results = [from_array(array, dtype) if stride is None else with_layout(array, dtype, stride)
                   for array, (dtype, stride) in zip(made, self.layouts)]  # noqa: B905  what is saved follows
        if self.joint.backward is not None:
            self._attach(args, inputs, made, results)
        if self.order is not None:
            return [results[number] for number in self.order]
        outputs: list[Any] = [None] * len(self.outputs)
        for output in self.outputs:
            outputs[output.number] = output.tensor(inputs, results, outputs)
        return [outputs[place] if place.__class__ is int else place[0] for place in self.captured.places]

    def _attach(self, args: tuple[Any, ...], inputs: tuple[Any, ...], made: Any, results: list[Any]) -> None:
        """Give the results a node in the autograd graph, which runs the backward program."""
        joint = self.joint
        node = new(CompiledFunctionBackward)
        node._order = next_sequence_nr()
        node.entry = self
        node._width = len(inputs)
        node._links = tuple([(number, *edge) for number in joint.wanted
                             if (edge := inputs[number]._grad_edge()) is not None])
        node._inputs, node._versions = inputs, tuple([
            0 if (cell := tensor._version_counter) is None else cell[0] for tensor in inputs])
        node._several, node._out_shape, node._out_dtype = self.described or described_by(
            [(results[i]._array.shape, results[i]._dtype) for i in joint.differentiable])
        if self.is_sized:
            node._sizes = [inputs[i]._array.shape[d] for i, d in self.sizes]
            node._args = args
        kept: list[Any] = list(made[len(results):])
        for position, number in self.saved_inputs if local.saved_tensor_hooks else ():
            kept[position] = save(inputs[number])
        for position, number in self.saved_roots.items():
            kept[position] = save(results[number]._saved_alias())
        node._saved = kept
        for number, i in enumerate(joint.differentiable):
            results[i]._grad_fn, results[i]._output_nr = node, number
            results[i]._keys |= AUTOGRAD


def _overlapping(inputs: tuple[Any, ...], written: Iterable[int]) -> bool:
    """Return whether the program writes into memory that belongs to two inputs."""
    return any(np.may_share_memory(inputs[number]._array, other._array)
               for number in written for i, other in enumerate(inputs) if i != number)

"""Compiled graphs: the programs of one captured graph, and how they run on tensors (Inductor's ``CompiledFxGraph``)."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from .._autograd.accumulate import links_of
from .._autograd.engine import grad
from .._autograd.node import Node, new, next_sequence_nr
from .._autograd.saved import Saved, freed, save, saved_as
from .._base.layout import Layout, contiguous_strides, intern_layout, never_overlaps
from .._base.symbolic import SYMBOLIC
from .._device import CPU
from .._dispatch import dispatcher
from .._dispatch.aten import alias
from .._dispatch.keys import AUTOGRAD, CPU as HOST, OBSERVED
from .._dispatch.local import local, shared
from .._functorch._aot_autograd.graph_capture import prepared
from .._tensor import Tensor, from_array
from ..fx import GraphModule
from .absent import without
from .breaks import CannotCompile, GraphBreak
from .dims import evaluated, has_dims, named_in, places_of
from .graph import Graph, Value
from .joint import Captured, Joint, check_input, inputs_of, joint_of, names_of, roots_of
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
    _sizes: Any = ()  #: that change
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
        absent = tuple([number for number, gradient in enumerate(grads) if gradient is None])
        chosen = entry.gradients_without(absent) if absent else entry.gradients
        assert chosen is not None
        for number, place in chosen.saved_inputs:
            tensor, array = inputs[place], arrays[number]
            if array.__class__ is Saved:  # which hooks packed
                arrays[number] = array.unpack(self)._array
                continue
            if (cell := tensor._version_counter) is not None and (cell[0] != versions[place] or tensor._detached_at):
                tensor = saved_as(tensor, versions[place]).unpack(self)
            if tensor._array is not array:
                arrays[number] = self._as_it_was(tensor._array, number)
        for number in chosen.saved_roots:
            arrays[number] = arrays[number].unpack(self)._array
        for number, gradient in enumerate(grads):
            stride = entry.tangents[number]
            if gradient is not None and gradient._array is not None and not gradient._keys & ~1 and stride is None:
                arrays.append(gradient._array)
            elif gradient is None:
                arrays.append(None)  # which the program does not take
            else:
                arrays.append(array_of(gradient, self._outputs[number][0], stride))  # type: ignore[index]
        if chosen.taken is not None:
            arrays = [arrays[number] for number in chosen.taken]
        if chosen.sizes:
            arrays += [self._sizes[number] for number in chosen.sizes]
        results: list[Any] = [None] * self._width
        made = chosen.program(arrays, bool(dispatcher.mode & OBSERVED))
        for array, (place, layout, alone) in zip(made, chosen.results, strict=True):
            if layout is None:
                results[place] = tensor_of(array if alone else array.copy("K"))
            else:
                results[place] = gradient = new(Tensor)
                gradient._array, gradient._dtype, gradient._keys, gradient._layout = array, layout.dtype, HOST, layout
        return results

    def _as_it_was(self, array: np.ndarray, number: int) -> np.ndarray:
        """Return the array of a saved input in the layout of the forward pass: ``x.data`` was replaced since.

        Raises:
            RuntimeError: if its shape is another one.
        """
        assert self.entry.joint.backward is not None
        value, sizes = self.entry.joint.backward.inputs[number], dict(zip(self.entry.sizes, self._sizes, strict=False))
        shape, stride = evaluated(value.shape, sizes), evaluated(value.stride, sizes)
        if array.shape != shape:
            raise RuntimeError(f"{value.name} had the shape {[*shape]} in the forward pass of the compiled function, "
                               f"and has {[*array.shape]} now: its data was replaced")
        return array_of(tensor_of(array.astype(value.dtype.np, copy=False)), shape, stride)

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


def depends_on_data(value: Any) -> bool:
    """Return whether a number, or a size of a tensor, is known when the program runs alone."""
    if value.__class__ in (tuple, list):
        return any(map(depends_on_data, value))
    return any(one.__class__ in SYMBOLIC and not one.node.has_hint() for one in (value, *getattr(value, "shape", ())))


def described_by(results: list[tuple[Any, Any]]) -> Any:
    """Return the shapes and dtypes of outputs as a node stores them."""
    like = Node()
    like._outputs = tuple([(shape, dtype, CPU) for shape, dtype in results])
    return like._several, like._out_shape, like._out_dtype


def array_of(tensor: Any, shape: tuple[int, ...], stride: tuple[int, ...] | None) -> np.ndarray:
    """Return a tensor's array in a layout, contiguous without ``stride``."""
    stride = contiguous_strides(shape) if stride is None else stride
    tensor = tensor.resolve_conj().resolve_neg()
    if tensor._array is None or tensor._strides() != stride:
        tensor = tensor.new_empty_strided(shape, stride).copy_(tensor)
    array: np.ndarray = tensor._array
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


def copied(graph: Graph) -> Graph:
    """Return a graph whose steps the passes do not change."""
    return replace(graph, steps=[replace(step) for step in graph.steps], constants={**graph.constants})


@dataclass
class Gradients:
    """The program of a backward graph."""

    program: Program
    #: Of its results: the input of which each is the gradient; the layout, if it is contiguous in memory of its own;
    #: and whether the memory is its own.
    results: list[tuple[int, Layout | None, bool]]
    #: What it takes of the saved inputs and roots, whose versions are checked: by position, and the number of an input.
    saved_inputs: list[tuple[int, int]]
    saved_roots: list[int]
    taken: list[int] | None  #: what it takes of the saved values and the gradients; None for all
    sizes: list[int]  #: which of the sizes that change it is given


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
        self.attributes = [getattr(module, str(node.target)) for node in inputs_of(module) if node.op == "get_attr"]
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
        self.returns_roots = False  #: whether these are all of them, as they are made
        self.described: Any = None  #: what the node stores of the outputs, if their sizes do not change
        self.written: list[int] = []  #: which inputs the program writes into
        self.versions: dict[int, int] = {}  #: by how much the versions of inputs grow
        self.gradients: Gradients | None = None
        self._unoptimised: Graph | None = None  #: the backward graph
        self._without: dict[tuple[int, ...], Gradients] = {}  #: by which gradients are absent
        self.is_repeatable = False  #: whether the operators may run again on the inputs
        #: Which saved values are inputs and roots, whose versions are checked: by position, and the number of each.
        self.saved_inputs: list[tuple[int, int]] = []
        self.saved_roots: dict[int, int] = {}
        self.tangents: list[Any] = []  #: the strides of the gradients that the backward program is given, as of roots
        self.sizes: dict[str, tuple[int, int]] = {}  #: that change: an input and its dimension
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
        for node in self.module.graph.nodes:
            if depends_on_data(node.meta.get("example_value")):
                raise CannotCompile(f"{node.name} depends on data")
        names = names_of(self.module, examples)
        for example, name in zip([one for one in examples if isinstance(one, Tensor)], names, strict=True):
            check_input(example, name)
        self.joint = joint = joint_of(self.captured, [one for one in traced if isinstance(one, Tensor)], names)
        meta = joint.meta
        assert meta is not None
        for info, name, example in zip(meta.input_info, names, [one for one in examples if isinstance(one, Tensor)],
                                       strict=True):
            if info.mutates_data and not never_overlaps(tuple(example.shape), example._strides()):
                raise CannotCompile(f"{name}, whose elements may share memory, is written in place")
        self.outputs = outputs_of(meta)
        made = {output.number: output.source for output in self.outputs
                if output.kind == "result" and output.views is None}
        if all(place in made for place in self.captured.places):
            self.order = [made[place] for place in self.captured.places]
        elif self.is_sized:
            raise CannotCompile("a view of an input or another result, or a number, is returned")
        self.written = meta.mutated_inp_runtime_indices
        self.versions = {i: info.writes for i, info in enumerate(meta.input_info) if info.writes}
        self.recorded = copied(joint.forward)
        self.is_repeatable = not self.written and not any(step.is_random for step in joint.forward.steps)
        for graph in (joint.forward, joint.backward):
            if graph is not None:
                check_strides(graph)
        self._write_forward(joint)
        if joint.backward is not None:
            self._unoptimised = copied(joint.backward)
            self.optimised += [f"backward: {said}" for said in optimise(joint.backward)]
            self.tangents = [None if tangent.is_contiguous else tangent.stride for tangent in joint.tangents]
            self.gradients = self._gradients(joint.backward, joint.wanted)
            self.backward = self.gradients.program

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
        self.returns_roots = self.order == [*range(kept)]
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
        self.sizes = {name: (joint.forward.inputs.index(value), d)
                      for name, (value, d) in places_of(joint.forward).items()}
        self.forward = Writer(joint.forward).write()

    def _gradients(self, backward: Graph, wanted: Sequence[int], taken: list[int] | None = None) -> Gradients:
        """Write the program of an optimised backward graph, whose results are the gradients of the ``wanted`` inputs.
        """
        inside = {value.memory for step in backward.steps for value in step.outputs if value is not None}
        inside -= {value.memory for value in (*backward.inputs, *backward.constants)}
        seen: set[int] = set()
        results: list[tuple[int, Layout | None, bool]] = []
        for place, value in zip(wanted, backward.outputs, strict=True):
            own = value.memory in inside and id(value.memory) not in seen
            seen.add(id(value.memory))
            is_known = own and value.is_contiguous and not has_dims(value)
            results.append((place, intern_layout(value.shape, None, value.dtype) if is_known else None, own))
        names, needed = [*self.sizes], named_in(backward) - places_of(backward).keys()
        further = [name for name in names if name in needed]
        return Gradients(Writer(backward, further).write(), results,
                         [pair for pair in self.saved_inputs if taken is None or pair[0] in taken],
                         [number for number in self.saved_roots if taken is None or number in taken],
                         taken, [names.index(name) for name in further])

    def gradients_without(self, absent: tuple[int, ...]) -> Gradients:
        """Return the program for a call in which some results have no gradient, generated on first use."""
        found = self._without.get(absent)
        if found is None:
            joint = self.joint
            assert self._unoptimised is not None
            graph, left = without(self._unoptimised, joint.tangents, {joint.tangents[number] for number in absent})
            optimise(graph)
            used = {*graph.outputs, *[value for step in graph.steps for value in step.inputs]}
            taken = [number for number, value in enumerate(graph.inputs) if value in used]
            graph.inputs = [graph.inputs[number] for number in taken]
            found = self._without[absent] = self._gradients(graph, [joint.wanted[number] for number in left], taken)
        return found

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
            return results if self.returns_roots else [results[number] for number in self.order]
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
        links, ends = links_of(inputs, joint.wanted)
        node._links = tuple(links)
        if ends and not self.attributes:  # which may be inputs, too
            node._ends = True
        node._inputs, node._versions = inputs, tuple([
            0 if (cell := tensor._version_counter) is None else cell[0] for tensor in inputs])
        node._several, node._out_shape, node._out_dtype = self.described or described_by(
            [(results[i]._array.shape, results[i]._dtype) for i in joint.differentiable])
        if self.is_sized:
            node._sizes = [inputs[i]._array.shape[d] for i, d in self.sizes.values()]
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

"""Composites with several outputs, of many operators, recorded as one node.

Each output has a node that passes its gradient on to the composite's node, which computes the derivative at once. When
one of them unfolds, the composite runs again on the inputs, and the outputs' nodes become those of its outputs. A pass
that has counted the edges of the folded graph before goes on through it.
"""
from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from time import perf_counter_ns
from typing import Any, NamedTuple

from .._device import CPU as HOST
from .._dispatch import dispatcher
from .._dispatch.aten import zeros
from .._dispatch.dispatcher import switched
from .._dispatch.keys import AUTOGRAD, OBSERVED
from .._dispatch.local import UNTOUCHED, local
from .._dispatch.observers import tell_parts, untold
from .._dispatch.torch_function import ALL_OFF
from .accumulate import AccumulateGrad
from .engine import execute, grad as grad_of
from .folded import again
from .node import Edge, Node, Sent, new, sequence, unfolding
from .saved import freed
from .utils import ON_CPU, REDIRECTED


class Fold(NamedTuple):
    """A composite of tensors that returns a list of them, and the function that computes its derivative at once, given
    the outputs' gradients, the inputs, the tensors of its own that the forward pass has kept, and the positions of the
    wanted gradients.
    """

    composite: Callable[..., list[Any]]
    backward: Callable[[list[Any], list[Any], Sequence[Any], list[int]], list[Any]]
    most: int  #: as many nodes as the composite may have


class Given(NamedTuple):
    """An input, its version and its array, and a copy if no node of the composite saves it: then it may be written."""

    tensor: Any
    written: int
    array: Any
    copy: Any

    def is_unchanged(self) -> bool:
        cell = self.tensor._version_counter
        return (self.tensor._array is self.array and (cell is None or cell[0] == self.written)
                and not self.tensor._detached_at)


class FoldedOutput(Node):
    """The node of an output, which passes its gradient on. By a second link without one, the composite's node is always
    among those with several edges that a pass has counted.
    """

    _width = 1
    _holds = False
    function: FoldedSeveral
    number: int

    def name(self) -> str:
        self.unfold()
        return self.name()

    def apply(self, grads: list[Any]) -> list[Any]:
        return self.function.passed(self.number, grads[0])

    def unfold(self) -> bool:
        return self.function.unfold()


class FoldedSeveral(Node):
    """The node of a composite, below those of its outputs. ``saved`` holds the inputs and what was kept, or None."""

    _makes_gradients = _gives_own = True
    fold: Fold
    saved: tuple[list[Given | None], Sequence[Any]] | None
    shapes: list[Any]  #: the inputs', None for None
    dtype: Any
    outputs: list[Callable[[], Any]]  #: weak references to the outputs' nodes
    first: int  #: of the numbers of the nodes for which it stands, up to ``last``
    last: int
    is_unfolded = False

    def name(self) -> str:
        return "FoldedSeveral"

    def passed(self, number: int, gradient: Any) -> Sent:
        results = Sent((gradient, None))
        results.links = (0, self, number), (1, self, number)
        return results

    def apply(self, grads: list[Any]) -> list[Any]:
        saved, links = self.saved, self._links
        results: Sent | None = None
        if saved is not None and not local.grad_enabled and not dispatcher.mode & REDIRECTED and not any(
                [grad is not None and grad._keys & ~ON_CPU for grad in grads]):  # noqa: C419
            results = self.compute(grads, *saved)
        if results is None:
            results = self.one_by_one(grads)
        results.links = links
        return results

    def compute(self, grads: list[Any], given: list[Given | None], kept: Sequence[Any]) -> Sent | None:
        """Return the gradients of the inputs, or None if a tensor was written or detached since it was saved."""
        inputs: list[Any] = []
        for one in given:
            if one is not None and one.copy is None and not one.is_unchanged():
                return None
            inputs.append(None if one is None else one.tensor if one.copy is None else one.copy)
        wanted = [position for position, *_ in self._links]
        start = perf_counter_ns() if dispatcher.mode & OBSERVED else 0
        results = Sent(self.fold.backward(grads, inputs, kept, wanted))
        if start:
            tell_parts(partial(gradients, self.fold.composite, wanted), (grads, inputs), [results[i] for i in wanted],
                       start, perf_counter_ns() - start)
        return results

    def one_by_one(self, grads: list[Any]) -> Sent:
        """Return the gradients of the inputs by a pass through the nodes of the composite's operators."""
        self.unfold()
        roots = [(node(), 0) for node, grad in zip(self.outputs, grads, strict=True) if grad is not None]
        if self.saved is None:
            raise freed(roots[0][0] if roots else self)
        edges = [(node, number) for _, node, number in self._links]
        found = execute(roots, [grad for grad in grads if grad is not None], True, local.grad_enabled, edges, True)
        results = Sent([None] * self._width)
        for (position, *_), edge, gradient, before in zip(self._links, edges, found, range(len(edges)), strict=True):
            results[position] = None if edge in edges[:before] else gradient
        return results

    def release_variables(self) -> None:
        self.saved = None
        for node in self.inner([output() for output in self.outputs]) if self.is_unfolded else ():
            node.release_variables()

    def inner(self, nodes: Sequence[Any]) -> list[Any]:
        """Return these nodes and those below that belong to the composite."""
        found = dict.fromkeys([node for node in nodes if node is not None])
        stack = [*found]
        for node in stack:
            for _, target, _ in node._links:
                if self.first <= target._order <= self.last and target not in found:
                    found[target] = None
                    stack.append(target)
        return stack

    def unfold(self) -> bool:
        with unfolding:
            if self.is_unfolded:
                return False
            start = next(sequence)
            nodes = [output._grad_fn for output in self.again()]
            first, last, outputs = self.first, self.last, [output() for output in self.outputs]
            self.first, self.last = start, next(sequence)
            made, shift = self.inner(nodes), last - self.last
            self.first, self.last = first, last
            become = {node: output for node, output in zip(nodes, outputs, strict=True) if output is not None}
            for node in made:
                node._order += shift
                node._links = tuple([(i, become.get(target, target), number) for i, target, number in node._links])
                if self.saved is None:
                    node.release_variables()
            self.is_unfolded = True
            for node, output in become.items():
                number = output.number
                output.__dict__.update(node.__dict__)
                output.apply = partial(self.applied, number, weakref.ref(output))
                output.__class__ = node.__class__
        return True

    def applied(self, number: int, output: Callable[[], Any], grads: list[Any]) -> list[Any]:
        """Apply an output's node, which has unfolded: in a pass that has counted it before, as it was."""
        if (task := local.task) is not None and task.joins and self in task.joins:
            return self.passed(number, grads[0])
        node, self.saved = output(), None
        results: list[Any] = node.__class__.apply(node, grads)
        return results

    def again(self) -> list[Any]:
        """Run the composite on the inputs, at their places in the graph, or on zeros if they were freed."""
        edges = {position: edge for position, *edge in self._links}
        with unseen():
            if self.saved is None:
                return self.fold.composite(*[
                    None if shape is None else at(zeros(shape, self.dtype, None, HOST), edges.get(position))
                    for position, shape in enumerate(self.shapes)])
            inputs: list[Any] = []
            written: list[tuple[list[Any], int]] = []
            try:
                for position, one in enumerate(self.saved[0]):
                    inputs.append(None if one is None else before(one, edges.get(position), written))
                return self.fold.composite(*inputs)
            finally:
                for cell, version in written:
                    cell[0] = version


def before(one: Given, edge: Any, written: list[tuple[list[Any], int]]) -> Any:
    """Return an input as it was. One that was written since has its old version until its counter, which is added to
    those ``written``, is set again: the nodes that save it find it changed.
    """
    tensor, cell = one.tensor, one.tensor._version_counter
    if one.copy is not None and not one.is_unchanged():
        return at(one.copy._shallow_copy_and_detach(), edge)
    if tensor._array is not one.array:
        return at(again(tensor, one.array), edge)
    if cell is not None and cell[0] != one.written:
        written.append((cell, cell[0]))
        cell[0] = one.written
    if edge is None or tuple(edge) == tensor._grad_edge():
        return tensor
    alias = tensor._shallow_copy_and_detach()
    alias._detached_at = tensor._detached_at
    return at(alias, edge)


def unseen() -> AbstractContextManager[Any]:
    """Return a block that records operators without notifying anything."""
    return switched(**{**UNTOUCHED, "function_off": ALL_OFF, "parts": []})


def at(tensor: Any, edge: Any) -> Any:
    """Return a tensor that is new at a place in the graph."""
    if edge is not None:
        node, number = edge
        tensor._keys |= AUTOGRAD
        if node.__class__ is AccumulateGrad:
            tensor._accumulator = weakref.ref(node)
        else:
            tensor._grad_fn, tensor._output_nr = node, number
    return tensor


def recorded(composite: Callable[..., list[Any]], wanted: Sequence[int], *inputs: Any) -> list[Any]:
    """Run a composite on stand-ins, as if it was recorded, for observers."""
    with switched(grad_enabled=bool(wanted)):
        for position in wanted:
            inputs[position].requires_grad_()
        return composite(*inputs)


def gradients(composite: Callable[..., list[Any]], wanted: list[int], grads: list[Any],
              inputs: list[Any]) -> list[Any]:
    """Compute gradients by the operators of PyTorch's nodes, for observers."""
    with untold():
        outputs = recorded(composite, wanted, *inputs)
    roots, given = zip(*[pair for pair in zip(outputs, grads, strict=True) if pair[1] is not None], strict=True)
    return list(grad_of(roots, [inputs[position] for position in wanted], given))


def record(fold: Fold, inputs: Sequence[Any], edges: list[tuple[int, Edge]], saves: Sequence[bool],
           outputs: Sequence[Any], kept: Sequence[Any]) -> None:
    """Record a call. ``saves`` flags the inputs that the composite's nodes save."""
    node = new(FoldedSeveral)
    node.fold, node._width, node.dtype = fold, len(inputs), outputs[0]._dtype
    node._links = tuple([(position, *edge) for position, edge in edges])
    node.shapes = [None if tensor is None else tensor._array.shape for tensor in inputs]
    node.saved = [tensor if tensor is None else Given(
        tensor, 0 if (cell := tensor._version_counter) is None else cell[0], tensor._array,
        None if is_saved else tensor._contiguous_copy())
        for tensor, is_saved in zip(inputs, saves, strict=True)], kept
    node._outputs = tuple([(output._array.shape, output._dtype, HOST) for output in outputs])
    node._order = node.first = next(sequence)
    deque(islice(sequence, fold.most), 0)
    node.last, node.outputs = next(sequence), []
    for number, output in enumerate(outputs):
        above = new(FoldedOutput)
        above.function, above.number, above._order = node, number, node.last - number
        above._links = (0, node, number), (1, node, number)
        above._out_shape, above._out_dtype = output._array.shape, output._dtype
        node.outputs.append(weakref.ref(above))
        output._grad_fn = above
        output._keys |= AUTOGRAD

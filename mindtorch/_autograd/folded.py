"""Composites recorded as one node, which unfolds into its operators' nodes when it is inspected.

``linear`` calls two operators, ``t`` and ``addmm`` (or ``mm``), and PyTorch's graph has a node for each. A training
step does not inspect them, so both are recorded as one node, whose ``compute`` performs both backward steps. Reading
``grad_fn`` or ``next_functions``, registering a hook, asking for the gradients of some inputs only, recording the
backward pass: all these unfold the node. Then the composite's operators are recorded ``again`` on its inputs as they
were, and the node turns, in place, into the last operator's node. Observing does not unfold it: observers are told of
the operators that the node computes at once.

A kind of node says how its gradients are computed at once, and how its operators are called again. A composite with
several outputs has a node for each, which pass their gradients on to the composite's node. A pass that has counted the
edges of the folded graph before goes on through it after it has unfolded.
"""
from __future__ import annotations

import weakref
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, partial
from itertools import islice
from math import prod
from time import perf_counter_ns
from typing import Any, NamedTuple

from .._base.formats import contiguous_format
from .._base.layout import Ints, Layout, is_contiguous, view_strides
from .._device import CPU as HOST
from .._dispatch import dispatcher
from .._dispatch.aten import (
    _reshape_alias, _unsafe_view, bmm, clone, expand, new_empty_strided, reshape, sum_dim_IntList as sum_dims, t,
    transpose_int as transpose, view, zeros,
)
from .._dispatch.dispatcher import resolve, switched
from .._dispatch.keys import AUTOGRAD, CPU, NONCONTIGUOUS, OBSERVED, REDIRECTING
from .._dispatch.local import UNTOUCHED, local
from .._dispatch.observers import tell_parts, untold
from .._dispatch.registry import Operator
from .._dispatch.schemas import registry
from .._dtype import float32, float64, int64
from .accumulate import AccumulateGrad, grad_accumulator
from .anomaly import AnomalyMode
from .engine import execute, grad as grad_of
from .node import Edge, Node, Sent, new, next_sequence_nr, sequence, unfolding
from .recording import derivative_of
from .saved import freed
from .utils import ON_CPU, REDIRECTED, multiplied, reshaped

Kernel = Callable[..., Any]
#: An input that the composite's operators save, its version, and its array, None if its memory may be replaced.
Given = tuple[Any, int, Any]
PLAIN = {float32, float64}  #: the dtypes in which NumPy computes as PyTorch does
LINEAR, T, MM, ADDMM = registry["linear"], registry["t"], registry["mm"], registry["addmm"]
EXPAND, VIEW, RESHAPE_ALIAS = registry["expand"], registry["view"], registry["_reshape_alias"]
CLONE, UNSAFE_VIEW, BMM, MATMUL = registry["clone"], registry["_unsafe_view"], registry["bmm"], registry["matmul"]
LOG_SOFTMAX, NLL_LOSS = registry["_log_softmax"], registry["nll_loss_forward"]
LOG_SOFTMAX_BACKWARD, NLL_LOSS_BACKWARD = registry["_log_softmax_backward_data"], registry["nll_loss_backward"]


# -- what all kinds have in common -------------------------------------------------------------------------------------

class Folded(Node):
    """The node of a composite. ``saved`` holds the inputs that its operators save and what else was kept, or None once
    freed.
    """

    saved: tuple[Sequence[Given | None], Any] | None
    _makes_gradients = _gives_own = True
    shapes: Sequence[Ints | None]  #: the inputs', None for None
    is_unfolded = False

    @abstractmethod
    def compute(self, grads: Any, given: Any, kept: Any) -> Sent | None:
        """Return the gradients of the inputs, or None if a tensor was written or detached since it was saved."""

    @abstractmethod
    def again(self, *inputs: Any) -> list[Any]:
        """Call the composite's operators, which record their nodes, and return the outputs. They need no values, unless
        an operator saves them.
        """

    @abstractmethod
    def numbers(self) -> int:
        """Return how many sequence numbers its operators' nodes take, of which its own is the last."""

    def name(self) -> str:
        self.unfold()
        return self.name()

    def apply(self, grads: list[Any]) -> list[Any]:
        saved: Any  # a list if another thread has unfolded this node
        links, saved, grad = self._links, self.saved, grads[0]
        private = not local.grad_enabled and not dispatcher.mode & REDIRECTED
        if private and saved.__class__ is tuple and grad is not None and not grad._keys & ~ON_CPU and (
                (results := self.compute(grad, *saved)) is not None):
            results.links = links
            return results
        self.unfold()
        return self.apply(grads)

    def release_variables(self) -> None:
        self.saved = None

    def unfold(self) -> bool:
        with unfolding:
            if isinstance(self, Folded) and not self.is_unfolded:  # no other thread was faster
                start = next_sequence_nr()
                nodes = [output._grad_fn for output in self.outputs_again()]
                made = below(nodes, start, next_sequence_nr())
                number = self._order
                for node in sorted(made, key=Node._sequence_nr, reverse=True):
                    node._order, node._metadata = number, None  # anomaly mode has not seen the call
                    number -= node.numbers() if isinstance(node, Folded) else 1
                    if self.saved is None:
                        node.release_variables()
                self.become(nodes, made)
        return True

    def become(self, nodes: list[Node], made: list[Node]) -> None:
        """Take the place of the outputs' nodes."""
        turn_into(self, nodes[0])

    def outputs_again(self) -> list[Any]:
        """Call the operators on the inputs, at their places in the graph, or on zeros if they were freed."""
        edges = {position: (node, number) for position, node, number in self._links}
        given: Any = self.saved and self.saved[0]
        inputs: list[Any] = []
        written: list[tuple[list[Any], int]] = []
        with unseen():
            try:
                for i, shape in enumerate(self.shapes):
                    if shape is not None and given is not None:
                        inputs.append(before(given[i], edges.get(i), written))
                    else:
                        inputs.append(shape if shape is None else at(zeros_of(shape, self), edges.get(i)))
                return self.again(*inputs)
            finally:
                for cell, version in reversed(written):
                    cell[0] = version


def unseen() -> AbstractContextManager[None]:
    """Return a block that records operators without notifying anything."""
    other = {name: UNTOUCHED[name] for name, value in local.__dict__.items() if UNTOUCHED.get(name, value) is not value}
    if dispatcher.mode & OBSERVED:
        other["parts"] = []
    return switched(**other) if other else nullcontext()


def before(given: Given, edge: Edge | None, written: list[tuple[list[Any], int]]) -> Any:
    """Return an input as it was. One that was written since has its old version until its counter, which is added to
    those ``written``, is set again: the nodes that save it find it changed.
    """
    tensor, version, array = given
    if array is not None and tensor._array is not array:  # its memory was replaced since
        stride = tuple([step // array.itemsize for step in array.strides])
        made: Any = new_empty_strided(tensor, array.shape, stride)
        made._array[...] = array
        return at(made, edge)
    if (cell := tensor._version_counter) is not None and cell[0] != version:
        written.append((cell, cell[0]))
        cell[0] = version
    if edge == (tensor._grad_edge() if tensor._keys & AUTOGRAD else None):
        return tensor
    alias = tensor._shallow_copy_and_detach()
    alias._detached_at = tensor._detached_at
    return at(alias, edge)


def zeros_of(shape: Any, node: Node) -> Any:
    """Return zeros of the dtype of a node's gradient, in place of values that no operator reads."""
    return zeros(shape, node._outputs[0][1], None, HOST)  # type: ignore[index]


def at(tensor: Any, edge: Edge | None) -> Any:
    """Return a tensor that is new at a place in the graph."""
    if edge is not None:
        node, number = edge
        tensor._keys |= AUTOGRAD
        if node.__class__ is AccumulateGrad:
            tensor._accumulator = weakref.ref(node)
        else:
            tensor._grad_fn, tensor._output_nr = node, number
    return tensor


def known(op: Operator, result: Any) -> Kernel:
    """Return an operator that records its calls, and returns a result that need not be computed."""
    return derivative_of(op).recording(lambda *args: result)  # type: ignore[union-attr]


def below(nodes: Iterable[Any], first: int, last: int) -> list[Node]:
    """Return these nodes, but for None, and those below of which the sequence number is between two others."""
    found = dict.fromkeys([node for node in nodes if node is not None])
    stack = [*found]
    for node in stack:
        for _, target, _ in node._links:
            if first <= target._order <= last and target not in found:
                found[target] = None
                stack.append(target)
    return stack


def turn_into(node: Node, other: Node) -> None:
    """Turn a node into another one. Other threads may still read the attributes that it had."""
    node.__dict__.update({"_out_shape": None, **other.__dict__})
    node.__class__ = other.__class__


def kernel(op: Operator, mode: int = 0) -> Kernel:
    """Return an operator's CPU kernel for contiguous tensors, without autograd. The mode's observers are notified."""
    keys = CPU | mode & OBSERVED
    return op.table.get(keys) or resolve(op, keys)


def of_any_strides(op: Operator) -> Kernel:
    """Return an operator's CPU kernel for tensors of any strides, without autograd and observers."""
    keys = CPU | NONCONTIGUOUS
    return op.table.get(keys) or resolve(op, keys)


def below_observers(op: Operator, tensor: Any, *args: Any) -> Any:
    """Call an operator without notifying observers, who learn of it elsewhere."""
    return (op.table.get(tensor._keys) or resolve(op, tensor._keys))(tensor, *args)


def edges_of(inputs: Sequence[Any]) -> list[tuple[int, Edge]] | None:
    """Return the edges of the inputs that require grad, with their positions; None if a mode, anomaly detection or
    hooks of saved tensors must see each operator of the call.
    """
    if dispatcher.mode & REDIRECTING or AnomalyMode.enabled or local.saved_tensor_hooks:
        return None
    found: list[tuple[int, Edge]] = []
    for position, tensor in enumerate(inputs):
        if tensor is not None and tensor._keys & AUTOGRAD:
            if (edge := tensor._grad_edge()) is None:
                return None
            found.append((position, edge))
    return found


# -- linear ------------------------------------------------------------------------------------------------------------

class FoldedLinear(Folded):
    """``t`` of the weight, then ``addmm``, or ``mm`` without a bias: gradients go to the bias, if there is one, the
    input, if it requires grad, and the weight. Of an input of sequences, ``view`` makes rows before, or ``clone`` and
    ``_unsafe_view``; without a bias, ``_unsafe_view`` makes sequences of the result.
    """

    _width = 3
    copied = False  #: whether the strides of the input allow no view as rows
    reshapes = 0  #: how many operators besides ``t`` and the product are recorded

    def compute(self, grad: Any, given: Any, of_input: bool) -> Sent | None:
        bias, (input, input_written, array), (weight, written, matrix) = given
        cell, input_cell = weight._version_counter, input._version_counter
        if weight._array is not matrix or (cell is not None and cell[0] != written) or input._detached_at:
            return None
        if input_cell is not None and input_cell[0] != input_written:
            return None
        if array is not None:
            if input._array is not array:
                return None
            rows = rows_of(self.shapes[1])
            input = input._reshaped_alias(rows)
            grad = grad if bias is not None else reshaped(grad, (rows[0], len(matrix)))
        to_bias, to_input = None if bias is None else sum_dims(grad, (0,)), None
        if of_input:
            to_input = multiplied(grad, weight, False, False)
            to_input = to_input if array is None else reshaped(to_input, self.shapes[1])  # type: ignore[arg-type]
        return Sent((to_bias, to_input, multiplied(grad, input, True, False)))

    def again(self, bias: Any, input: Any, weight: Any) -> list[Any]:
        sizes: Any = self.shapes[1]
        rows = rows_of(sizes)
        product = known(MM if bias is None else ADDMM, zeros_of((rows[0], len(weight)), self))
        if bias is not None:
            return [product(bias, input if len(sizes) == 2 else view(input, rows), t(weight))]
        turned = t(weight)
        if len(sizes) == 2:
            return [product(input, turned)]
        input = _unsafe_view(clone(input), rows) if self.copied else view(input, rows)
        return [_unsafe_view(product(input, turned), self._out_shape)]

    def numbers(self) -> int:
        return 2 + self.reshapes


def rows_of(sizes: Any) -> tuple[int, int]:
    """Return the shape of the rows of sequences."""
    return prod(sizes[:-1]), sizes[-1]


@lru_cache(1 << 10)
def has_no_rows(layout: Layout) -> bool:
    """Return True if sequences of these strides have no view as rows."""
    return layout.stride is not None and view_strides(layout.shape, layout.stride, rows_of(layout.shape)) is None


def fits(weight: Any, bias: Any) -> Any:
    """Return True for a matrix, and a bias that fits it, if there is one, that are leaves and no views, and require
    grad.
    """
    if not weight._keys & AUTOGRAD or weight._grad_fn is not None or weight._base is not None:
        return False
    if bias is None:
        return weight._array.ndim == 2
    is_leaf = bias._keys & AUTOGRAD and bias._grad_fn is None and bias._base is None
    return is_leaf and bias._array.shape == weight._array.shape[:1]


def fold_linear(general: Kernel) -> Kernel:
    """Fold ``linear`` of a matrix if weight and bias are leaves that require grad, and no mode shows single calls."""
    compute = of_any_strides(LINEAR)

    def record(input: Any, weight: Any, bias: Any = None) -> Any:
        if not local.grad_enabled:
            return compute(input, weight, bias)
        array, matrix, sizes, copied = input._array, weight._array, None, False
        if (dispatcher.mode & REDIRECTING or AnomalyMode.enabled or local.saved_tensor_hooks or not fits(weight, bias)
                or array.ndim < 2 or input._dtype not in PLAIN):
            return general(input, weight, bias)
        if (input._keys | weight._keys) & NONCONTIGUOUS:
            copied = array.ndim > 2 and has_no_rows(input._layout or input._layout_of_plans())
            if bias is not None or weight._keys & NONCONTIGUOUS or not copied:
                return general(input, weight, bias)
        if array.ndim > 2:  # sequences, of which each row is an input
            sizes = array.shape
            if not (array.size and matrix.size and matrix.ndim == 2 and sizes[-1] == matrix.shape[1]
                    and input._dtype is weight._dtype
                    and (bias is None or bias._dtype is input._dtype)):
                return general(input, weight, bias)
        edge = input._grad_edge() if input._keys & AUTOGRAD else None
        if copied:
            input = input._contiguous_copy()
            array = input._array
        if sizes is None or bias is None:
            result = compute(input, weight, bias)
        else:
            result = of_any_strides(ADDMM)(bias, input._reshaped_alias(rows_of(sizes)), weight._transposed_alias())
        if result._grad_fn is not None:  # the kernel fell back to the composite
            return result
        node, to_weight = new(FoldedLinear), (2, grad_accumulator(weight), 0)
        links: tuple[Any, ...] = (to_weight,) if edge is None else ((1, *edge), to_weight)
        node._links = links if bias is None else ((0, grad_accumulator(bias), 0), *links)
        next_sequence_nr()  # that of ``t``
        node._order = next_sequence_nr()
        written = 0 if (cell := weight._version_counter) is None else cell[0]
        input_written = 0 if (cell := input._version_counter) is None else cell[0]
        if sizes is not None:
            node.copied, node.reshapes = copied, (bias is None) + (0 if edge is None else 1 + copied)
            for _ in range(node.reshapes):
                node._order = next_sequence_nr()
        node.shapes = None if bias is None else matrix.shape[:1], array.shape, matrix.shape
        of_bias = None if bias is None else (bias, 0, None)
        given = of_bias, (input, input_written, sizes and array), (weight, written, matrix)
        node.saved, node._out_shape, node._out_dtype = (given, edge is not None), result._array.shape, result._dtype
        result._grad_fn, result._keys = node, result._keys | AUTOGRAD
        if sizes is None or bias is None:
            return result
        return below_observers(VIEW, result, (*sizes[:-1], len(matrix)))

    return record


# -- cross entropy -----------------------------------------------------------------------------------------------------

class FoldedCrossEntropy(Folded):
    """``_log_softmax`` of the input, then ``nll_loss_forward``."""

    _width = 1

    settings: tuple[int, int]  #: reduction, and the index to ignore

    def compute(self, grad: Any, given: Any, total: Any) -> Sent | None:
        (logs, _, _), (target, written, _) = given
        cell = target._version_counter
        if (cell is not None and cell[0] != written) or grad._keys != CPU:
            return None
        inner = kernel(NLL_LOSS_BACKWARD, dispatcher.mode)(grad, logs, target, None, *self.settings, total)
        return Sent((kernel(LOG_SOFTMAX_BACKWARD, dispatcher.mode)(inner, logs, 1, logs._dtype),))

    def again(self, logs: Any, target: Any) -> list[Any]:
        result = zeros_of(self._out_shape, self), self.saved[1] if self.saved else zeros_of((), self)
        logs = known(LOG_SOFTMAX, logs._shallow_copy_and_detach())(logs, 1, False)
        return [known(NLL_LOSS, result)(logs, target, None, *self.settings)[0]]

    def numbers(self) -> int:
        return 2


def fold_cross_entropy(general: Kernel) -> Kernel:
    """Fold ``cross_entropy_loss`` of a matrix and class indices, without weights and smoothing."""

    def record(self: Any, target: Any, weight: Any = None, reduction: int = 1, ignore_index: int = -100,
               label_smoothing: float = 0.0) -> Any:
        rows = self._array
        if (weight is not None or label_smoothing or not local.grad_enabled or self._dtype not in PLAIN
                or target._dtype is not int64 or rows.ndim != 2 or target._array.shape != rows.shape[:1]
                or not (edges := edges_of((self,)))):
            return general(self, target, weight, reduction, ignore_index, label_smoothing)
        try:
            logs = kernel(LOG_SOFTMAX, dispatcher.mode)(self, 1, False)
            result, total = kernel(NLL_LOSS, dispatcher.mode)(logs, target, None, reduction, ignore_index)
        except Exception:  # the general function raises it again, in the operator's name
            return general(self, target, weight, reduction, ignore_index, label_smoothing)
        node = new(FoldedCrossEntropy)
        next_sequence_nr()  # the sequence number of ``_log_softmax``
        node._order = next_sequence_nr()
        node._links = (0, *edges[0][1]),
        cell = target._version_counter
        node.shapes, node.settings = (rows.shape, rows.shape[:1]), (reduction, ignore_index)
        node.saved = ((logs, 0, None), (target, 0 if cell is None else cell[0], None)), total
        node._out_shape, node._out_dtype = result._array.shape, result._dtype
        result._grad_fn = node
        result._keys |= AUTOGRAD
        return result

    return record


# -- matmul of batches -------------------------------------------------------------------------------------------------

#: By the operator that ``reshape`` calls last: all operators before the product.
STEPS = {VIEW: (EXPAND, VIEW), RESHAPE_ALIAS: (EXPAND, RESHAPE_ALIAS), UNSAFE_VIEW: (EXPAND, CLONE, UNSAFE_VIEW)}


def batch_of(shape: Ints) -> Ints:
    """Return the shape of a batch of matrices with one batch dimension."""
    return (prod(shape[:-2]), *shape[-2:])


@lru_cache(1 << 10)
def reshaping(layout: Layout) -> Operator:
    """Return the operator by which ``reshape`` makes one batch dimension of several."""
    shape, stride = layout.shape, layout.stride
    if stride is None or is_contiguous(shape, stride):
        return VIEW
    return UNSAFE_VIEW if view_strides(shape, stride, batch_of(shape)) is None else RESHAPE_ALIAS


def operands_gradients(grad: Any, left: Any, right: Any, of_left: bool, of_right: bool) -> Any:
    """Compute the gradients of the operands by the operators of PyTorch's nodes, for observers."""
    shapes = tuple(left.shape), tuple(right.shape)
    with untold():
        left, right = reshape(left, batch_of(shapes[0])), reshape(right, batch_of(shapes[1]))
    grad, result = reshape(grad, batch_of(tuple(grad.shape))), None
    to_left = bmm(grad, transpose(right, -2, -1)) if of_left else None
    if of_right:
        result = reshape(bmm(transpose(left, -2, -1), grad), shapes[1])
    return reshape(to_left, shapes[0]) if of_left else result


class FoldedMatmul(Folded):
    """The node of a product of batches of matrices, for which ``expand`` and ``reshape`` of each operand, ``bmm`` and
    ``_unsafe_view`` are called. ``reshape`` is a view, or a copy where the strides do not allow one: then the copy is
    saved. Gradients go to the operands that require grad.
    """

    _width = 2
    ways: tuple[Operator, Operator]  #: the operators that reshape the operands

    def compute(self, grad: Any, given: Any, of: tuple[bool, bool]) -> Sent | None:
        ((left, written, array), (right, right_written, right_array)), (of_left, of_right) = given, of
        cell, right_cell = left._version_counter, right._version_counter
        if (left._array is not array or (cell is not None and cell[0] != written) or left._detached_at
                or right._array is not right_array or (right_cell is not None and right_cell[0] != right_written)
                or right._detached_at):
            return None
        start = perf_counter_ns() if dispatcher.mode & OBSERVED else 0
        rows = grad._contiguous_copy() if grad._keys & NONCONTIGUOUS else grad
        results = Sent((rows._batched_product(right, False, True) if of_left else None,
                        left._batched_product(rows, True, False) if of_right else None))
        if start:
            tell_parts(operands_gradients, (grad, left, right, *of), results[0] if of_left else results[1], start,
                       perf_counter_ns() - start)
        return results

    def again(self, left: Any, right: Any) -> list[Any]:
        left, right = map(as_batch, (left, right), self.ways)
        product = known(BMM, zeros_of((*left.shape[:2], right.shape[2]), self))(left, right)
        return [_unsafe_view(product, self._out_shape)]

    def numbers(self) -> int:
        return 2 + sum([len(STEPS[self.ways[position]]) for position, *_ in self._links])


def as_batch(tensor: Any, way: Operator) -> Any:
    """Return an operand of ``matmul`` as ``bmm`` takes it."""
    shape: Any = tensor.shape
    tensor, rows = expand(tensor, shape), batch_of(shape)
    if way is UNSAFE_VIEW:
        return _unsafe_view(clone(tensor, contiguous_format), rows)
    return view(tensor, rows) if way is VIEW else _reshape_alias(
        tensor, rows, view_strides(shape, tensor._strides(), rows))


def fold_matmul(general: Kernel) -> Kernel:
    """Fold ``matmul`` of two batches of matrices of one size, unless a mode shows single calls."""
    compute = of_any_strides(MATMUL)

    def record(self: Any, other: Any) -> Any:
        if not local.grad_enabled:
            return compute(self, other)
        left, right, dtype = self._array.shape, other._array.shape, self._dtype
        if (len(left) < 3 or len(left) != len(right) or left[:-2] != right[:-2] or left[-1] != right[-2]
                or dtype not in PLAIN or other._dtype is not dtype or 0 in left or not right[-1]
                or not (edges := edges_of((self, other)))):
            return general(self, other)
        links = tuple([(position, *edge) for position, edge in edges])
        way = reshaping(self._layout or self._layout_of_plans())
        other_way = reshaping(other._layout or other._layout_of_plans())
        first = self._contiguous_copy() if way is UNSAFE_VIEW else self
        second = other._contiguous_copy() if other_way is UNSAFE_VIEW else other
        result = first._batched_product(second, False, False)
        node = new(FoldedMatmul)
        node.ways, node.shapes, node._links = (way, other_way), (left, right), links
        of = not links[0][0], links[-1][0] == 1
        for _ in range(node.numbers()):
            node._order = next_sequence_nr()
        cell, other_cell = first._version_counter, second._version_counter
        node.saved = ((first, 0 if cell is None else cell[0], first._array),
                      (second, 0 if other_cell is None else other_cell[0], second._array)), of
        node._out_shape, node._out_dtype = result._array.shape, dtype
        result._grad_fn = node
        result._keys |= AUTOGRAD
        return result

    return record


# -- composites with several outputs -----------------------------------------------------------------------------------

class Fold(NamedTuple):
    """A composite of tensors that returns a list of them, and the function that computes its derivative at once, given
    the outputs' gradients, the inputs, the tensors of its own that the forward pass has kept, and the positions of the
    wanted gradients.
    """

    composite: Callable[..., list[Any]]
    backward: Callable[[list[Any], list[Any], Sequence[Any], list[int]], list[Any]]
    most: int  #: as many nodes as the composite may have


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


class FoldedSeveral(Folded):
    """The node of a composite, below those of its outputs."""

    fold: Fold
    outputs: list[Callable[[], Any]]  #: weak references to the outputs' nodes

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

    def compute(self, grads: Any, given: Any, kept: Any) -> Sent | None:
        for one in given:
            if one is not None and not is_unchanged(*one):
                return None
        inputs = [None if one is None else one[0] for one in given]
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
        if self.is_unfolded:
            for node in below([output() for output in self.outputs], self._order - self.numbers(), self._order):
                node.release_variables()

    def unfold(self) -> bool:
        return not self.is_unfolded and super().unfold()

    def again(self, *inputs: Any) -> list[Any]:
        return self.fold.composite(*inputs)

    def numbers(self) -> int:
        return self.fold.most

    def become(self, nodes: list[Node], made: list[Node]) -> None:
        outputs = [output() for output in self.outputs]
        become = {node: output for node, output in zip(nodes, outputs, strict=True) if output is not None}
        for node in made:
            node._links = tuple([(i, become.get(target, target), number) for i, target, number in node._links])
        self.is_unfolded = True
        for node, output in become.items():
            number = output.number
            turn_into(output, node)
            output.apply = partial(self.applied, number, weakref.ref(output))

    def applied(self, number: int, output: Callable[[], Any], grads: list[Any]) -> list[Any]:
        """Apply an output's node, which has unfolded: in a pass that has counted it before, as it was."""
        if (task := local.task) is not None and task.joins and self in task.joins:
            return self.passed(number, grads[0])
        node, self.saved = output(), None
        results: list[Any] = node.__class__.apply(node, grads)
        return results


def is_unchanged(tensor: Any, version: int, array: Any) -> bool:
    """Return True unless a tensor was written or detached, or its memory was replaced."""
    cell = tensor._version_counter
    return tensor._array is array and (cell is None or cell[0] == version) and not tensor._detached_at


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


def record_several(fold: Fold, inputs: Sequence[Any], edges: list[tuple[int, Edge]], saves: Sequence[bool],
                   outputs: Sequence[Any], kept: Sequence[Any]) -> None:
    """Record a call. ``saves`` flags the inputs that the composite's nodes save."""
    node = new(FoldedSeveral)
    node.fold, node._width = fold, len(inputs)
    node._links = tuple([(position, *edge) for position, edge in edges])
    node.shapes = [None if tensor is None else tensor._array.shape for tensor in inputs]
    given = [tensor if tensor is None or is_saved else tensor._contiguous_copy()  # the others may be written
             for tensor, is_saved in zip(inputs, saves, strict=True)]
    node.saved = [None if tensor is None else (
        tensor, 0 if (cell := tensor._version_counter) is None else cell[0], tensor._array) for tensor in given], kept
    node._outputs = tuple([(output._array.shape, output._dtype, HOST) for output in outputs])
    deque(islice(sequence, fold.most), 0)
    node._order, node.outputs = next_sequence_nr(), []
    for number, output in enumerate(outputs):
        above = new(FoldedOutput)
        above.function, above.number, above._order = node, number, next_sequence_nr()
        above._links = (0, node, number), (1, node, number)
        above._out_shape, above._out_dtype = output._array.shape, output._dtype
        node.outputs.append(weakref.ref(above))
        output._grad_fn = above
        output._keys |= AUTOGRAD


# -- the table ---------------------------------------------------------------------------------------------------------

#: By composite: the wrapper that records it as one node, its operators, and whether inputs may have any strides.
FOLDS: dict[str, tuple[Callable[[Kernel], Kernel], tuple[Operator, ...], bool]] = {
    "linear": (fold_linear, (T, MM, ADDMM), True),
    "matmul": (fold_matmul, (EXPAND, VIEW, RESHAPE_ALIAS, CLONE, UNSAFE_VIEW, BMM), True),
    "cross_entropy_loss": (fold_cross_entropy, (LOG_SOFTMAX, NLL_LOSS, LOG_SOFTMAX_BACKWARD, NLL_LOSS_BACKWARD), False),
}


def fold(op: Operator, general: Kernel, keys: int) -> Kernel:
    """Return the function that records a composite on CPU tensors: as one node, unless a user has replaced a kernel or
    a derivative of its operators.
    """
    make, parts, of_any_strides = FOLDS[op.name]
    fits = of_any_strides or not keys & NONCONTIGUOUS
    return make(general) if fits and all(map(is_ours, parts)) else general


def is_ours(op: Operator) -> bool:
    """Return True if an operator's kernels and derivative all belong to this library."""
    if op.autograd is not None or any(kernel.registered for kernel in op.kernels.values()):
        return False
    found = derivative_of(op)
    formulas = () if found is None or found.row is None else found.row.formulas.values()
    return all(isinstance(formula, Operator) or (formula.__module__ or "").startswith(registry.derivatives.package)
               for formula in formulas)


registry.folds.update(dict.fromkeys(FOLDS, fold))

"""Composites recorded as one node, which unfolds into its operators' nodes when it is inspected.

``linear`` calls two operators, ``t`` and ``addmm`` (or ``mm``), and PyTorch's graph has a node for each. A training
step does not inspect them, so both are recorded as one node, whose ``compute`` performs both backward steps. Reading
``grad_fn`` or ``next_functions``, registering a hook, asking for the gradients of some inputs only, recording the
backward pass: all these unfold the node. ``unfold`` turns it, in place, into the last operator's node, with the other
operators' nodes behind it. Observing does not unfold it: observers are told of the operators that the node computes at
once.
"""
from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

from .._base.layout import Layout, contiguous_strides, view_strides
from .._device import CPU as HOST
from .._dispatch import dispatcher
from .._dispatch.aten import new_empty_strided, sum_dim_IntList as sum_dims
from .._dispatch.dispatcher import resolve, switched
from .._dispatch.keys import AUTOGRAD, CPU, NONCONTIGUOUS, OBSERVED, REDIRECTING
from .._dispatch.local import local
from .._dispatch.registry import Operator
from .._dispatch.schemas import registry
from .._dtype import float32, float64, int64
from .accumulate import grad_accumulator
from .anomaly import AnomalyMode
from .derivative import Derivative, OperatorNode
from .grad_mode import enable_grad
from .node import Edge, Node, Sent, new, next_sequence_nr, unfolding
from .recording import derivative_of
from .saved import saved_as
from .utils import ON_CPU, REDIRECTED, multiplied, reshaped

Kernel = Callable[..., Any]
PLAIN = {float32, float64}  #: the dtypes in which NumPy computes as PyTorch does
LINEAR, T, MM, ADDMM = registry["linear"], registry["t"], registry["mm"], registry["addmm"]
VIEW, CLONE, UNSAFE_VIEW = registry["view"], registry["clone"], registry["_unsafe_view"]
LOG_SOFTMAX, NLL_LOSS = registry["_log_softmax"], registry["nll_loss_forward"]
LOG_SOFTMAX_BACKWARD, NLL_LOSS_BACKWARD = registry["_log_softmax_backward_data"], registry["nll_loss_backward"]


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


class Folded(Node):
    """The node of a composite. ``saved`` holds values of the call, or None once freed."""

    saved: tuple[Any, ...] | None
    _makes_gradients = _gives_own = True
    shape: tuple[int, ...]  #: of the first saved tensor

    @abstractmethod
    def compute(self, grad: Any, *saved: Any) -> Sent | None:
        """Return the gradients of the inputs, or None if a tensor was written or detached since it was saved."""

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

    @abstractmethod
    def unfolded(self) -> OperatorNode:
        """Return the node of the last operator."""

    def unfold(self) -> bool:
        with unfolding:
            if isinstance(self, Folded):  # no other thread was faster
                with switched(saved_tensor_hooks=()):  # those of the block that looks are not the call's
                    node = self.unfolded()
                self.__dict__.update(node.__dict__)
                self.__class__ = node.__class__  # type: ignore[assignment]
        return True


def node_of(op: Operator, mask: int, edges: Sequence[Edge | None], order: int) -> OperatorNode:
    """Return a node of an operator, with nothing saved from the call yet."""
    found: Derivative = derivative_of(op)  # type: ignore[assignment]
    node = new(found.node_class)
    node._order, node.plan = order, found.plan(mask)
    node.saved = None if node.plan.keeps_tensors else node.plan.template.copy()
    node._links = tuple([(i, *edge) for i, edge in enumerate(edges) if edge is not None])
    return node


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


class FoldedLinear(Folded):
    """``t`` of the weight, then ``addmm``, or ``mm`` without a bias: gradients go to the bias, if there is one, the
    input, if it requires grad, and the weight. Of an input of sequences, ``view`` makes rows before, or ``clone`` and
    ``_unsafe_view``; without a bias, ``_unsafe_view`` makes sequences of the result.
    """

    _width = 3
    sizes: tuple[int, ...] | None = None  #: of an input of sequences
    copied = False  #: whether the strides of the input allow no view as rows

    def name(self) -> str:
        return ("AddmmBackward0" if self._links[0][0] == 0 else
                "MmBackward0" if self.sizes is None else "UnsafeViewBackward0")

    def compute(self, grad: Any, weight: Any, written: int, matrix: Any, input: Any, input_written: int, array: Any,
                bias: Any, of_input: bool) -> Sent | None:
        cell, input_cell, sizes = weight._version_counter, input._version_counter, self.sizes
        if (weight._array is not matrix or (cell is not None and cell[0] != written) or input._detached_at
                or (input_cell is not None and input_cell[0] != input_written)
                or (sizes is not None and input._array is not array)):
            return None
        if sizes is not None:
            rows = rows_of(sizes)
            input = input._reshaped_alias(rows)
            grad = grad if bias is not None else reshaped(grad, (rows[0], len(matrix)))
        to_bias, to_input = None if bias is None else sum_dims(grad, (0,)), None
        if of_input:
            to_input = multiplied(grad, weight, False, False)
            to_input = to_input if sizes is None else reshaped(to_input, sizes)
        return Sent((to_bias, to_input, multiplied(grad, input, True, False)))

    def unfolded(self) -> OperatorNode:
        saved, edges = self.saved, {position: (node, number) for position, node, number in self._links}
        rows, columns = self.shape
        with_bias, sizes, order = 0 in edges, self.sizes, self._order
        first, second = order - 2, order - 1  # ``view`` comes before ``t`` with a bias, and behind it without one
        if sizes is not None and not with_bias:
            order -= 1  # the last number is that of ``_unsafe_view``
            first, second = (order - 1, order - 2 - self.copied) if 1 in edges else (order - 2, order - 1)
        turned = node_of(T, 1, [edges[2]], second)
        turned._out_shape, turned._out_dtype = (columns, rows), self._out_dtype
        if self.copied and 1 in edges:
            copy = node_of(CLONE, 1, [edges[1]], first - 1)
            copy._out_shape, copy._out_dtype = sizes, self._out_dtype
            edges[1] = copy, 0
        rows_by = UNSAFE_VIEW if self.copied else VIEW
        if sizes is not None and 1 in edges:
            edges[1] = viewed(rows_by, edges[1], sizes, rows_of(sizes), self._out_dtype, first), 0
        factors = [edges.get(1), (turned, 0)]
        mask = 2 + (1 in edges)  # of the factors
        node = (node_of(ADDMM, 2 * mask + 1, [edges[0], *factors], order) if with_bias else
                node_of(MM, mask, factors, order))
        if saved is not None:
            weight, written, matrix, input, input_written, array, bias, _ = saved
            with enable_grad():
                source: Any = weight
                if weight._array is not matrix:  # its memory was replaced since
                    source, written = again(input, matrix), 0
                mat2 = kernel(T)(source)
                mat1 = input
                if sizes is not None:
                    if input._array is not array:
                        mat1, input_written = again(input, array), 0
                    mat1 = kernel(rows_by)(mat1, rows_of(sizes))
                    if 1 in edges:
                        mat1._grad_fn, mat1._attr_version = edges[1][0], input_written
                        mat1._keys |= AUTOGRAD
            mat2._grad_fn, mat2._attr_version = turned, written
            mat2._keys |= AUTOGRAD
            tensors = {"mat1" if with_bias else "self": saved_as(mat1, input_written),
                       "mat2": saved_as(mat2, written)}
            given = (bias, mat1, mat2) if with_bias else (mat1, mat2)
            node.saved = [tensors.get(name, value) for name, value in
                          zip(node.plan.names, node.plan.keep(*given), strict=True)]
        if sizes is None or with_bias:
            return node
        node._out_shape, node._out_dtype = (rows_of(sizes)[0], rows), self._out_dtype
        return viewed(UNSAFE_VIEW, (node, 0), node._out_shape, self._out_shape, self._out_dtype, self._order)


def rows_of(sizes: Sequence[int]) -> tuple[int, int]:
    """Return the shape of the rows of sequences."""
    return prod(sizes[:-1]), sizes[-1]


@lru_cache(1 << 10)
def has_no_rows(layout: Layout) -> bool:
    """Return True if sequences of these strides have no view as rows."""
    return layout.stride is not None and view_strides(layout.shape, layout.stride, rows_of(layout.shape)) is None


def viewed(op: Operator, edge: Edge, shape: Any, out_shape: Any, dtype: Any, order: int) -> OperatorNode:
    """Return the node of a view of another shape."""
    node = node_of(op, 1, [edge], order)
    node.saved, node._out_shape, node._out_dtype = [shape], out_shape, dtype
    return node


def again(tensor: Any, array: Any) -> Any:
    """Return a new tensor of a contiguous array that was a tensor's."""
    source: Any = new_empty_strided(tensor, array.shape, contiguous_strides(array.shape))
    source._array[...] = array
    return source


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
        if sizes is not None:
            node.sizes = sizes
            if edge is not None:
                node._order = next_sequence_nr()  # one number more, for ``view``
                if copied:
                    node.copied, node._order = True, next_sequence_nr()  # and for ``clone``
            if bias is None:
                node._order = next_sequence_nr()  # and for ``_unsafe_view``
        written = 0 if (cell := weight._version_counter) is None else cell[0]
        input_written = 0 if (cell := input._version_counter) is None else cell[0]
        node.saved = (weight, written, matrix, input, input_written, array, bias, edge is not None)
        node.shape, node._out_shape, node._out_dtype = matrix.shape, result._array.shape, result._dtype
        result._grad_fn, result._keys = node, result._keys | AUTOGRAD
        if sizes is None or bias is None:
            return result
        return below_observers(VIEW, result, (*sizes[:-1], len(matrix)))

    return record


class FoldedCrossEntropy(Folded):
    """``_log_softmax`` of the input, then ``nll_loss_forward``."""

    _width = 1

    def name(self) -> str:
        return "NllLossBackward0"

    def compute(self, grad: Any, logs: Any, target: Any, written: int, total: Any,
                *settings: int) -> Sent | None:
        cell = target._version_counter
        if (cell is not None and cell[0] != written) or grad._keys != CPU:
            return None
        inner = kernel(NLL_LOSS_BACKWARD, dispatcher.mode)(grad, logs, target, None, *settings, total)
        return Sent((kernel(LOG_SOFTMAX_BACKWARD, dispatcher.mode)(inner, logs, 1, logs._dtype),))

    def unfolded(self) -> OperatorNode:
        saved, (to_input,) = self.saved, self._links
        softmax = node_of(LOG_SOFTMAX, 1, [to_input[1:]], self._order - 1)
        softmax._out_shape, softmax._out_dtype = self.shape, self._out_dtype
        node = node_of(NLL_LOSS, 1, [(softmax, 0)], self._order)
        node._outputs = ((self._out_shape, self._out_dtype, HOST), ((), self._out_dtype, HOST))
        if saved is not None:
            logs, target, written, total, *settings = saved
            softmax.saved = softmax.plan.keep(logs, 1, False)
            softmax.derivative.finish(softmax, logs)
            node.saved = [saved_as(target, written) if name == "target" else value for name, value in
                          zip(node.plan.names, node.plan.keep(logs, target, None, *settings), strict=True)]
            node.save_outputs((None, total))
        return node


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
        node.shape = logs._array.shape
        node.saved = (logs, target, 0 if cell is None else cell[0], total, reduction, ignore_index)
        node._out_shape, node._out_dtype = result._array.shape, result._dtype
        result._grad_fn = node
        result._keys |= AUTOGRAD
        return result

    return record


#: By composite: the wrapper that records it as one node, its operators, and whether inputs may have any strides.
FOLDS: dict[str, tuple[Callable[[Kernel], Kernel], tuple[Operator, ...], bool]] = {
    "linear": (fold_linear, (T, MM, ADDMM), True),
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

"""``matmul`` of batches of matrices, recorded as one node.

It calls ``expand`` and ``reshape`` for each operand, ``bmm``, and ``_unsafe_view``; ``reshape`` is a view, or a copy
where the strides do not allow one.
"""
from __future__ import annotations

from functools import lru_cache
from math import prod
from time import perf_counter_ns
from typing import Any

from .._base.layout import Ints, Layout, is_contiguous, view_strides
from .._dispatch import dispatcher
from .._dispatch.aten import bmm, new_empty_strided, reshape, transpose_int as transpose
from .._dispatch.dispatcher import resolve
from .._dispatch.keys import AUTOGRAD, CPU, NONCONTIGUOUS, OBSERVED
from .._dispatch.local import local
from .._dispatch.observers import tell_parts, untold
from .._dispatch.registry import Operator
from .._dispatch.schemas import registry
from .derivative import OperatorNode
from .folded import FOLDS, PLAIN, Folded, Kernel, edges_of, fold, node_of, of_any_strides
from .grad_mode import enable_grad
from .node import Edge, Sent, new, next_sequence_nr
from .saved import saved_as

EXPAND, VIEW, RESHAPE_ALIAS = registry["expand"], registry["view"], registry["_reshape_alias"]
CLONE, UNSAFE_VIEW, BMM, MATMUL = registry["clone"], registry["_unsafe_view"], registry["bmm"], registry["matmul"]
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


def call(op: Operator, tensor: Any, *args: Any) -> Any:
    """Call an operator's CPU kernel, which neither records nor is observed."""
    keys = CPU | tensor._keys & NONCONTIGUOUS
    return (op.table.get(keys) or resolve(op, keys))(tensor, *args)


def gradients(grad: Any, left: Any, right: Any, of_left: bool, of_right: bool) -> Any:
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
    """The node of a product of batches of matrices; gradients go to the operands that require grad.

    ``saved`` holds each operand, or its copy, with its version and its array, and which operands require grad.
    """

    _width = 2
    shapes: tuple[Ints, Ints]  #: the operands'
    ways: tuple[Operator, Operator]  #: the operators that reshape the operands

    def name(self) -> str:
        return "UnsafeViewBackward0"

    def compute(self, grad: Any, left: Any, written: int, array: Any, right: Any, right_written: int,
                right_array: Any, of_left: bool, of_right: bool) -> Sent | None:
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
            tell_parts(gradients, (grad, left, right, of_left, of_right), results[0] if of_left else results[1],
                       start, perf_counter_ns() - start)
        return results

    def unfolded(self) -> OperatorNode:
        saved, dtype, edges = self.saved, self._out_dtype, {position: edge for position, *edge in self._links}
        number = self._order + 1 - numbers_of(self.ways, [position in edges for position in (0, 1)])
        factors: list[Edge | None] = []
        tensors: list[Any] = []
        for position, (shape, way) in enumerate(zip(self.shapes, self.ways, strict=True)):
            edge: Any = edges.get(position)
            if edge is not None:
                for op in STEPS[way]:
                    below = node_of(op, 1, [edge], number)
                    below.saved = [shape for _ in below.plan.names]
                    below._out_shape, below._out_dtype = batch_of(shape) if op is way else shape, dtype
                    edge, number = (below, 0), number + 1
            factors.append(edge)
            if saved is not None:
                tensor, written, array = saved[3 * position:3 * position + 3]
                factor = factor_of(tensor, array, shape, way)
                version = written if tensor._array is array else 0
                if edge is not None:
                    factor._grad_fn, factor._attr_version = edge[0], version
                    factor._keys |= AUTOGRAD
                tensors.append((factor, version))
        product = node_of(BMM, (0 in edges) + 2 * (1 in edges), factors, self._order - 1)
        product._out_shape, product._out_dtype = batch_of(self._out_shape or ()), dtype
        if saved is not None:
            by_name = {name: saved_as(*tensor) for name, tensor in zip(("self", "mat2"), tensors, strict=True)}
            product.saved = [by_name[name] for name in product.plan.names]
        node = node_of(UNSAFE_VIEW, 1, [(product, 0)], self._order)
        node.saved = [product._out_shape]
        return node


def factor_of(tensor: Any, array: Any, shape: Ints, way: Operator) -> Any:
    """Return an operand as ``bmm`` takes it. Its memory may have been replaced since."""
    with enable_grad():
        if tensor._array is not array:
            stride = tuple([step // array.itemsize for step in array.strides])
            tensor = new_empty_strided(tensor, shape, stride)
            tensor._array[...] = array
        if way is UNSAFE_VIEW:  # of the copy
            return call(way, tensor, batch_of(shape))
        given = call(EXPAND, tensor, shape)
        rows = batch_of(shape)
        return call(way, given, rows) if way is VIEW else call(
            way, given, rows, view_strides(shape, given._strides(), rows))


def numbers_of(ways: tuple[Operator, Operator], are_linked: Any) -> int:
    """Return the number of nodes that a node stands for."""
    return 2 + sum([len(STEPS[way]) for way, is_linked in zip(ways, are_linked, strict=True) if is_linked])


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
        of_left, of_right = not links[0][0], links[-1][0] == 1
        for _ in range(numbers_of(node.ways, (of_left, of_right))):
            node._order = next_sequence_nr()
        cell, other_cell = first._version_counter, second._version_counter
        node.saved = (first, 0 if cell is None else cell[0], first._array,
                      second, 0 if other_cell is None else other_cell[0], second._array, of_left, of_right)
        node._out_shape, node._out_dtype = result._array.shape, dtype
        result._grad_fn = node
        result._keys |= AUTOGRAD
        return result

    return record


FOLDS["matmul"] = fold_matmul, (EXPAND, VIEW, RESHAPE_ALIAS, CLONE, UNSAFE_VIEW, BMM), True
registry.folds["matmul"] = fold

"""``torch.einsum``: labels become dimensions, and sums of products batched products of matrices."""
from __future__ import annotations

import re
from collections import Counter
from math import prod
from typing import Any, NamedTuple

from .._base.about import about
from .._base.errors import check
from .._base.layout import Ints, remembered
from .._dispatch.aten import bmm
from .._dispatch.dispatcher import is_unseen
from . import operator, schemas

schemas("""
operator only:
    einsum(str equation, Tensor[] tensors) -> Tensor  # The sum of products of `tensors` that `equation` writes in Einstein's convention: a letter for each dimension, and a sum over those that the output lacks.
""")  # noqa: E501

ELLIPSIS = "."  #: stands for the dimensions of an ellipsis among labels
OUTPUT = "output"  #: which part of the equation stands behind the arrow


def einsum(equation: str, tensors: list[Any]) -> Any:
    """``torch.einsum(equation, *tensors)``, contracted from the left. Raises RuntimeError if they do not fit."""
    check(tensors, "einsum(): must provide at least one operand")
    shapes = tuple([tuple(x.shape) for x in tensors])
    reading = _read(equation, shapes)
    if reading.product is not None and is_unseen(*tensors):
        return reading.product.of(*tensors)
    return _contract([_aligned(x, labels, reading.order)
                      for x, labels in zip(tensors, reading.labels, strict=True)], reading.kept)


class Reading(NamedTuple):
    """The meaning of an equation for operands of some shapes."""

    labels: list[list[Any]]  #: of each operand, a label for each of its dimensions; those of an ellipsis are counted
    order: list[Any]  #: all labels: those of the output, and those that are summed over
    kept: int  #: how many of them are of the output
    product: Product | None  #: how it is computed where it is one product of matrices


@remembered
def _read(equation: str, shapes: tuple[Ints, ...]) -> Reading:
    inputs, output = _parse(equation, shapes)
    #: How many dimensions the ellipsis stands for in each operand.
    covered = [len(shape) - len(labels) + 1 if ELLIPSIS in labels else 0
               for labels, shape in zip(inputs, shapes, strict=True)]
    rank = max(covered)
    each = [[part for label in subscript for part in (
                [(ELLIPSIS, rank - n + d) for d in range(n)] if label == ELLIPSIS else [label])]
            for subscript, n in zip(inputs, covered, strict=True)]
    labels = _in_order(inputs, output)
    summed = sorted(label for label in _sizes(each, shapes) if isinstance(label, str) and label not in labels)
    order: list[Any] = []  # labels, and for an ellipsis its dimensions
    for label in labels + summed:
        order += [(ELLIPSIS, d) for d in range(rank)] if label == ELLIPSIS else [label]
    if ELLIPSIS not in labels:
        order += [(ELLIPSIS, d) for d in range(rank)]
    kept = sum(rank if label == ELLIPSIS else 1 for label in labels)
    return Reading(each, order, kept, _one_product(shapes, each, order, kept))


def _parse(equation: str, shapes: tuple[Ints, ...]) -> tuple[list[str], str | None]:
    """Return the labels of each operand and, after an arrow, of the output; an ellipsis becomes one character."""
    left, arrow, right = equation.partition("->")
    inputs, start = [], 0
    for i, part in enumerate(left.split(",")):
        inputs.append(_labels(part, start, f"operand {i}"))
        start += len(part) + 1
    check(len(inputs) >= len(shapes),
          "einsum(): more operands were provided than specified in the equation")
    check(len(inputs) <= len(shapes),
          "einsum(): fewer operands were provided than specified in the equation")
    for i, (subscript, shape) in enumerate(zip(inputs, shapes, strict=True)):
        count, what = len(_without_ellipsis(subscript)), "einsum(): the number of subscripts in the equation"
        if ELLIPSIS in subscript and count > len(shape):
            raise RuntimeError(f"{what} ({count}) is more than the number of dimensions ({len(shape)}) for operand {i}")
        if ELLIPSIS not in subscript and count != len(shape):
            raise RuntimeError(f"{what} ({count}) does not match the number of dimensions ({len(shape)}) for operand "
                               f"{i} and no ellipsis was given")
    if not arrow:
        return inputs, None
    output = _labels(right, start + 1, OUTPUT)
    for place, label in enumerate(output):
        if label in output[:place]:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
        if label != ELLIPSIS and not any(label in subscript for subscript in inputs):
            raise RuntimeError(f"einsum(): output subscript {label} does not appear in the equation for any input "
                               "operand")
    return inputs, output


def _labels(part: str, start: int, where: str) -> str:
    """Return the labels of the part of the equation that begins at ``start``; spaces count only within an ellipsis."""
    found = ""
    for token in re.finditer(r"\.\.\.|[^ ]", part):
        label = token[0]
        if "." in label:
            check(ELLIPSIS not in found, f"einsum(): found '.' for {where} " + (
                "but an ellipsis (...) was already found" if where == OUTPUT else
                "for which an ellipsis was already found"))
            check(label == "...", f"einsum(): found '.' for {where} that is not part of any ellipsis"
                                  + " (...)" * (where == OUTPUT))
            label = ELLIPSIS
        elif not (label.isascii() and label.isalpha()):
            raise RuntimeError(f"einsum(): invalid subscript given at index {start + token.start()} in the equation "
                               "string, subscripts must be in [a-zA-Z]")
        found += label
    return found


def _in_order(inputs: list[str], output: str | None) -> list[str]:
    """Return the output's labels: without an arrow, the ellipsis and the labels that appear once, sorted."""
    if output is not None:
        return list(output)
    counts = Counter("".join(inputs))
    once = sorted(label for label, n in counts.items() if n == 1 and label != ELLIPSIS)
    return [ELLIPSIS, *once] if ELLIPSIS in counts else once


def _sizes(each: list[list[Any]], shapes: tuple[Ints, ...]) -> dict[Any, int]:
    """Return the size of each label, and of each dimension of the ellipsis. Raises RuntimeError if operands differ."""
    sizes: dict[Any, int] = {}
    for i, (labels, shape) in enumerate(zip(each, shapes, strict=True)):
        seen: dict[Any, int] = {}
        for d, (label, size) in enumerate(zip(labels, shape, strict=True)):
            if seen.setdefault(label, size) != size:
                raise about(RuntimeError(f"einsum(): subscript {label} is repeated for operand {i} but the sizes don't "
                                         f"match, {size} != {seen[label]}"), "einsum", letter=label)
            have = sizes.get(label, 1)
            if have != 1 and size not in (1, have):
                if not isinstance(label, str):
                    raise RuntimeError(f"einsum(): dimension {d} covered by ellipsis in operand {i}has size {size} "
                                       f"which does not broadcast with previously seen ellipsis with size {have} for "
                                       "the respective dimension")
                raise about(RuntimeError(f"einsum(): subscript {label} has size {size} for operand {i} which does not "
                                         f"broadcast with previously seen size {have}"), "einsum", letter=label)
            sizes[label] = have if size == 1 else size
    return sizes


def _without_ellipsis(subscript: str) -> str:
    return subscript.replace(ELLIPSIS, "")


def _aligned(x: Any, labels: list[Any], order: list[Any]) -> Any:
    """Return an operand with a dimension for every label, in order; missing dimensions have size 1."""
    labels = labels.copy()
    dim = 0
    while dim < len(labels):  # take the diagonal of labels that appear twice
        first = labels.index(labels[dim])
        if first < dim:
            x = x.diagonal(0, first, dim).movedim(-1, first)
            del labels[dim]
        else:
            dim += 1
    for label in order:
        if label not in labels:
            labels.append(label)
            x = x.unsqueeze(-1)
    return x.permute(tuple(labels.index(label) for label in order))


def _contract(operands: list[Any], kept: int) -> Any:
    """Multiply all operands, which have the same dimensions, and sum those from ``kept`` on."""
    ndim = operands[0].ndim
    left, *rest = operands
    remaining = [sum(x.shape[d] != 1 for x in operands) for d in range(ndim)]
    for right in rest:
        both = [d for d in range(kept, ndim) if left.shape[d] != 1 != right.shape[d]]
        for d in both:
            remaining[d] -= 1
        last = [d for d in range(kept, ndim) if remaining[d] == 1 and (left.shape[d] != 1 or right.shape[d] != 1)]
        together = [d for d in last if d in both]
        only_left = [d for d in last if d not in both and left.shape[d] != 1]
        only_right = [d for d in last if d not in both and right.shape[d] != 1]
        for d in last:
            remaining[d] = 0
        left = left.sum(only_left, keepdim=True) if only_left else left
        right = right.sum(only_right, keepdim=True) if only_right else right
        left = _product(left, right, together)
    if ndim == kept:
        return left
    return left.view(tuple(left.shape[:kept])) if rest else left.sum(tuple(range(kept, ndim)))


def _product(left: Any, right: Any, summed: list[int]) -> Any:
    """Return the product of two operands, summed over dimensions that stay with size 1."""
    if not summed:
        return left * right
    roles = _roles(left.shape, right.shape, summed)
    batch, rows, columns = roles.batch, roles.rows, roles.columns
    if roles.swapped:
        left, right = right, left
    shapes = [[x.shape[d] for d in dims] for x, dims in ((left, batch), (left, rows), (left, summed), (right, columns))]
    b, n, k, m = map(prod, shapes)
    a = left.permute(tuple(batch + rows + summed + columns)).reshape((b, n, k))
    c = right.permute(tuple(batch + summed + columns + rows)).reshape((b, k, m))
    order = batch + rows + summed + columns
    shape = (*shapes[0], *shapes[1], *(1 for _ in summed), *shapes[3])
    return bmm(a, c).view(shape).permute(tuple(order.index(d) for d in range(left.ndim)))


class Roles(NamedTuple):
    """The parts of two operands' dimensions in a product of matrices, and whether the second operand comes first."""

    swapped: bool
    batch: list[int]
    rows: list[int]
    columns: list[int]


def _roles(left: Any, right: Any, summed: list[int]) -> Roles:
    """Return the roles of dimensions, from two shapes of equal length."""
    kept = [d for d in range(len(left)) if d not in summed]
    batch = [d for d in kept if left[d] != 1 and right[d] != 1]
    rows = [d for d in kept if left[d] != 1 and right[d] == 1]
    columns = [d for d in kept if left[d] == 1]
    if rows and columns and columns[-1] < rows[0]:  # so that the result comes out contiguous
        return Roles(True, batch, columns, rows)
    return Roles(False, batch, rows, columns)


class Matrices(NamedTuple):
    """How an operand becomes a batch of matrices: the order of its dimensions, None as they are, and the shape."""

    order: Ints | None
    shape: Ints

    def of(self, x: Any) -> Any:
        x = x if self.order is None else x.permute(self.order)
        return x if x.shape == self.shape else x.reshape(self.shape)


class Product(NamedTuple):
    """How two operands of plain labels are multiplied: as ``_product`` does, without views that change nothing."""

    swapped: bool
    left: Matrices
    right: Matrices
    shape: Ints  #: that of the product, by label
    order: Ints | None
    result: Ints

    def of(self, left: Any, right: Any) -> Any:
        if self.swapped:
            left, right = right, left
        out = bmm(self.left.of(left), self.right.of(right))
        if self.order is not None:
            out = out.view(self.shape).permute(self.order)
        return out.view(self.result)


def _one_product(shapes: tuple[Ints, ...], labels: list[list[Any]], order: list[Any], kept: int) -> Product | None:
    if len(shapes) != 2 or any(len({*names}) < len(names) for names in labels):
        return None
    left, right = [[dict(zip(names, shape, strict=True)).get(label, 1) for label in order]
                   for names, shape in zip(labels, shapes, strict=True)]
    summed = [d for d in range(kept, len(order)) if left[d] != 1 or right[d] != 1]
    if not summed or any(left[d] == 1 or right[d] == 1 for d in summed):
        return None
    roles = _roles(left, right, summed)
    batch, rows, columns = roles.batch, roles.rows, roles.columns
    if roles.swapped:
        left, right, labels = right, left, labels[::-1]
    b, n, k, m = [prod([x[d] for d in dims])
                  for x, dims in ((left, batch), (left, rows), (left, summed), (right, columns))]
    dims = batch + rows + summed + columns
    shape = [1 if d in summed else right[d] if d in columns else left[d] for d in dims]
    back = tuple([dims.index(d) for d in range(len(order))])
    return Product(roles.swapped,
                   Matrices(_permutation(labels[0], [order[d] for d in dims]), (b, n, k)),
                   Matrices(_permutation(labels[1], [order[d] for d in batch + summed + columns + rows]), (b, k, m)),
                   tuple(shape), None if _in_place(back) else back, tuple([shape[i] for i in back[:kept]]))


def _permutation(labels: list[Any], order: list[Any]) -> Ints | None:
    """Return the order of the dimensions with these labels, or None if they already lie in it."""
    found = tuple([labels.index(label) for label in order if label in labels])
    return None if _in_place(found) else found


def _in_place(order: Ints) -> bool:
    return order == tuple(range(len(order)))


operator("einsum", composite=einsum, autocast="npu lower")

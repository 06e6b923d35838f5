"""``torch.einsum``: labels become dimensions, and sums of products batched products of matrices."""
from __future__ import annotations

from collections import Counter
from math import prod
from typing import Any

from .._about import about
from .._dispatch.aten import bmm
from .._errors import check
from . import COMPOSITES

ELLIPSIS = "."  #: stands for the dimensions of an ellipsis among labels


def einsum(equation: str, tensors: list[Any]) -> Any:
    """``torch.einsum(equation, *tensors)``, contracted from the left. Raises RuntimeError if they do not fit."""
    check(tensors, "einsum(): must provide at least one operand")
    inputs, output = _parse(equation, tensors)
    #: How many dimensions the ellipsis stands for in each operand.
    covered = [x.ndim - len(labels) + 1 if ELLIPSIS in labels else 0 for labels, x in zip(inputs, tensors, strict=True)]
    rank = max(covered)
    labels = _in_order(inputs, output)
    sizes = _sizes(inputs, tensors, covered)
    summed = sorted(label for label in sizes if label not in labels)
    order: list[Any] = []  # labels, and for an ellipsis its dimensions
    for label in labels + summed:
        order += [(ELLIPSIS, d) for d in range(rank)] if label == ELLIPSIS else [label]
    if ELLIPSIS not in labels:
        order += [(ELLIPSIS, d) for d in range(rank)]
    kept = sum(rank if label == ELLIPSIS else 1 for label in labels)
    each = zip(tensors, inputs, covered, strict=True)
    return _contract([_aligned(x, subscript, order, rank, n) for x, subscript, n in each], kept)


# -- reading the equation ------------------------------------------------------------------------------------

def _parse(equation: str, tensors: list[Any]) -> tuple[list[str], str | None]:
    """The labels of each operand and, after an arrow, of the output; an ellipsis becomes one character."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    inputs = [_labels(part, equation) for part in left.split(",")]
    check(len(inputs) >= len(tensors),
          lambda: f"einsum(): more operands were provided than specified in the equation {equation!r}")
    check(len(inputs) <= len(tensors),
          lambda: f"einsum(): fewer operands were provided than specified in the equation {equation!r}")
    for i, (subscript, x) in enumerate(zip(inputs, tensors, strict=True)):
        count, what = len(_without_ellipsis(subscript)), "einsum(): the number of subscripts in the equation"
        if ELLIPSIS in subscript and count > x.ndim:
            raise RuntimeError(f"{what} ({count}) is more than the number of dimensions ({x.ndim}) for operand {i}")
        if ELLIPSIS not in subscript and count != x.ndim:
            raise RuntimeError(f"{what} ({count}) does not match the number of dimensions ({x.ndim}) for operand "
                               f"{i} and no ellipsis was given")
    if not arrow:
        return inputs, None
    output = _labels(right, equation)
    for label in output:
        if output.count(label) != 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
        if label != ELLIPSIS and not any(label in subscript for subscript in inputs):
            raise RuntimeError(f"einsum(): output subscript {label} does not appear in the equation for any input "
                               "operand")
    return inputs, output


def _labels(part: str, equation: str) -> str:
    found = part.replace("...", ELLIPSIS)
    check(found.count(ELLIPSIS) <= 1,
          lambda: f"einsum(): found '.' in {part!r} for which an ellipsis was already found")
    check("." not in part or "..." in part, lambda: f"einsum(): found '.' in {part!r} that is not part of any ellipsis")
    for label in found:
        if label != ELLIPSIS and not (label.isascii() and label.isalpha()):
            raise RuntimeError(f"einsum(): invalid subscript given in the equation string {equation!r}, subscripts "
                               f"must be in [a-zA-Z], but got {label!r}")
    return found


def _in_order(inputs: list[str], output: str | None) -> list[str]:
    """The output's labels; without an arrow the ellipsis and those that appear once, sorted."""
    if output is not None:
        return list(output)
    counts = Counter("".join(inputs))
    once = sorted(label for label, n in counts.items() if n == 1 and label != ELLIPSIS)
    return [ELLIPSIS, *once] if ELLIPSIS in counts else once


def _sizes(inputs: list[str], tensors: list[Any], covered: list[int]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for i, (subscript, x, n) in enumerate(zip(inputs, tensors, covered, strict=True)):
        start = subscript.find(ELLIPSIS) if ELLIPSIS in subscript else x.ndim
        shape = (*x.shape[:start], *x.shape[start + n:])
        for label, size in zip(_without_ellipsis(subscript), shape, strict=True):
            have = sizes.get(label, 1)
            if have != 1 and size not in (1, have):
                raise about(RuntimeError(f"einsum(): subscript {label} has size {size} for operand {i} which does not "
                                         f"broadcast with previously seen size {have}"), "einsum", letter=label)
            sizes[label] = have if size == 1 else size
    return sizes


def _without_ellipsis(subscript: str) -> str:
    return subscript.replace(ELLIPSIS, "")


def _aligned(x: Any, subscript: str, order: list[Any], rank: int, covered: int) -> Any:
    """An operand with a dimension for every label, in order; what it lacks has size 1."""
    labels: list[Any] = []
    for label in subscript:
        labels += [(ELLIPSIS, rank - covered + d) for d in range(covered)] if label == ELLIPSIS else [label]
    dim = 0
    while dim < len(labels):  # take the diagonal of labels that appear twice
        first = labels.index(labels[dim])
        if first < dim:
            if x.shape[first] != x.shape[dim]:
                raise RuntimeError(f"einsum(): subscript {labels[dim]} is repeated for an operand but the sizes don't "
                                   f"match, {x.shape[dim]} != {x.shape[first]}")
            x = x.diagonal(0, first, dim).movedim(-1, first)
            del labels[dim]
        else:
            dim += 1
    for label in order:
        if label not in labels:
            labels.append(label)
            x = x.unsqueeze(-1)
    return x.permute(tuple(labels.index(label) for label in order))


# -- contracting ---------------------------------------------------------------------------------------------

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
    """The product of two operands, summed over dimensions that stay with size 1."""
    if not summed:
        return left * right
    kept = [d for d in range(left.ndim) if d not in summed]
    batch = [d for d in kept if left.shape[d] != 1 and right.shape[d] != 1]
    rows = [d for d in kept if left.shape[d] != 1 and right.shape[d] == 1]
    columns = [d for d in kept if left.shape[d] == 1]
    if rows and columns and columns[-1] < rows[0]:  # so that the result comes out contiguous
        left, right, rows, columns = right, left, columns, rows
    shapes = [[x.shape[d] for d in dims] for x, dims in ((left, batch), (left, rows), (left, summed), (right, columns))]
    b, n, k, m = map(prod, shapes)
    a = left.permute(tuple(batch + rows + summed + columns)).reshape((b, n, k))
    c = right.permute(tuple(batch + summed + columns + rows)).reshape((b, k, m))
    order = batch + rows + summed + columns
    shape = (*shapes[0], *shapes[1], *(1 for _ in summed), *shapes[3])
    return bmm(a, c).view(shape).permute(tuple(order.index(d) for d in range(left.ndim)))


COMPOSITES.update({"einsum": einsum})

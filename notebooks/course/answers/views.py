"""Mistakes that readers of lesson 2 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from math import prod

from mindtorch.course.masters import Mistake, solution

can_view = solution("views.can_view")


def _follows(shape, stride, d):
    """Whether dimension d is followed in memory by the next one."""
    return stride[d] == shape[d + 1] * stride[d + 1]


def _one_run(shape, stride):
    return all(_follows(shape, stride, d) for d in range(len(shape) - 1))


def _contiguous(shape, stride):
    return not shape or (_one_run(shape, stride) and stride[-1] == 1)


def _squeezed(shape, stride):
    kept = [(n, s) for n, s in zip(shape, stride, strict=True) if n != 1]
    return [n for n, _ in kept], [s for _, s in kept]


def _sorted(shape, stride):
    pairs = sorted(zip(stride, shape, strict=True), reverse=True)
    return _contiguous([n for _, n in pairs], [s for s, _ in pairs])


def _same_count(shape, new):
    return prod(shape) == prod(new)


def _keeps_ones(shape, stride, new):
    """The right answer, but that dimensions of size 1 are taken for others."""
    runs = []
    for size, step in zip(shape, stride, strict=True):
        if runs and runs[-1][1] == size * step:
            runs[-1] = runs[-1][0] * size, step
        else:
            runs.append((size, step))
    sizes, ok = list(new), _same_count(shape, new)
    for total, _ in runs if ok else ():
        count = 1
        while count < total and sizes:
            count *= sizes.pop(0)
        ok = ok and count == total
    return ok


def _runs_without_order(shape, stride, new):
    """Whether each new size fits into some run, be it filled or not."""
    totals = []
    for size, step in zip(*_squeezed(shape, stride), strict=True):
        if totals and totals[-1][1] == size * step:
            totals[-1] = totals[-1][0] * size, step
        else:
            totals.append((size, step))
    return all(any(total % size == 0 for total, _ in totals) for size in new if size != 1)


MISTAKES = (
    Mistake("An equal number of elements is necessary for a view but not sufficient: each new dimension needs one "
            "stride.",
            lambda n, s, new: _same_count(n, new)),
    Mistake("A tensor need not be contiguous: dimensions that are kept or split may have any stride. Only those that "
            "are joined must follow each other in memory.",
            lambda n, s, new: _same_count(n, new) and _contiguous(n, s)),
    Mistake("A tensor need not be contiguous: dimensions that are kept or split may have any stride. Only those that "
            "are joined must follow each other in memory.",
            lambda n, s, new: _same_count(n, new) and _contiguous(*_squeezed(n, s))),
    Mistake("The last stride need not be 1: compare a dimension's stride with the next one's size times the next one's "
            "stride.", lambda n, s, new: can_view(n, s, new) and s[-1] in (0, 1, 4)),
    Mistake("The numbers of elements must be equal, too.",
            lambda n, s, new: can_view(n, s, new) if _same_count(n, new) else True),
    Mistake("It is not enough that memory has no gaps: the order in which the elements are read must stay, too.",
            lambda n, s, new: _same_count(n, new) and _sorted(n, s)),
    Mistake("A dimension may also be split: 4 elements in steps of one length are 2 times 2 in steps of two lengths.",
            lambda n, s, new: tuple(n) == tuple(new) or (_same_count(n, new) and _one_run(*_squeezed(n, s)))),
    Mistake("A dimension of size 1 is never walked along, so its stride means nothing, and it can come and go.",
            _keeps_ones),
    Mistake("It is the other way round: return True where a view is possible.",
            lambda n, s, new: not can_view(n, s, new)),
    Mistake("A stride of 0 is a stride like any other: several dimensions of stride 0 follow each other.",
            lambda n, s, new: can_view(n, s, new) and 0 not in s),
    Mistake("Two dimensions follow each other if stride[d] == shape[d + 1] * stride[d + 1]: use the size of the "
            "second, not of the first.",
            lambda n, s, new: _same_count(n, new) and all(s[d] == n[d] * s[d + 1] for d in range(len(n) - 1))),
    Mistake("Only dimensions that are joined have to follow each other: those that are kept or split may have any "
            "stride.", lambda n, s, new: _one_run(n, s)),
    Mistake("Descending strides do not show whether a step leads as far as the next dimension's end: compare stride[d] "
            "with shape[d + 1] * stride[d + 1].", lambda n, s, new: list(s) == sorted(s, reverse=True)),
    Mistake("Check all neighbouring dimensions, not only the first two.",
            lambda n, s, new: _same_count(n, new) and (len(n) < 2 or _follows(n, s, 0))),
    Mistake("Check all neighbouring dimensions, not only the last two.",
            lambda n, s, new: _same_count(n, new) and (len(n) < 2 or _follows(n, s, len(n) - 2))),
    Mistake("The new sizes fill one run after the other, in their order: it is not enough that each fits somewhere.",
            _runs_without_order),
    Mistake("A view is possible more often: try the transposed tensor in the shape that it has.",
            lambda n, s, new: False),
    Mistake("A view may fail: try to join the two dimensions of a transposed tensor.", lambda n, s, new: True),
)

MISTAKES_OF = {"can_view": MISTAKES}
HIDDEN = {"can_view": (((2, 2, 3), (6, 3, 1), (4, 3)), ((2, 2, 3), (1, 2, 4), (2, 6)),
                       ((2, 4, 5), (40, 5, 1), (2, 2, 10)), ((5,), (7,), (5, 1)), ((6, 4), (1, 6), (3, 2, 4)),
                       ((6, 4), (1, 6), (2, 3, 2, 2)))}

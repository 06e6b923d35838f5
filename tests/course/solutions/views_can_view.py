"""Solutions of 'views.can_view', right and wrong."""
from itertools import product
from math import prod

import numpy as np


def places(shape, stride):
    """The place of each element, in the tensor's order."""
    return [sum(i * s for i, s in zip(index, stride)) for index in product(*map(range, shape))]


def right_by_trying_every_element(shape, stride, new_shape):
    found = np.array(places(shape, stride))
    if found.size != np.prod(new_shape):
        return False
    found = found.reshape(new_shape)
    return all(len(set(np.diff(found, axis=d).ravel().tolist())) <= 1 for d in range(found.ndim))


def right_by_runs(shape, stride, new_shape):
    runs = []
    for n, s in zip(shape, stride):
        if n == 1:
            continue
        if runs and runs[-1][1] == n * s:
            runs[-1] = [runs[-1][0] * n, s]
        else:
            runs.append([n, s])
    left = [n for n, _ in runs]
    rest = [n for n in new_shape if n != 1]
    while left:
        if not rest:
            return False
        size = rest.pop(0)
        if left[0] % size:
            return False
        left[0] //= size
        if left[0] == 1:
            left.pop(0)
    return True


def contiguous(shape, stride):
    step = 1
    for n, s in zip(reversed(shape), reversed(stride)):
        if n != 1 and s != step:
            return False
        step *= n
    return True


def wrong_formula_with_own_size(shape, stride, new_shape):
    """Two dimensions follow each other if stride[d] == shape[d + 1] * stride[d + 1]: use the size of the second, not
    of the first."""
    runs = []
    for d, n in enumerate(shape):
        if runs and stride[d - 1] == shape[d - 1] * stride[d]:
            runs[-1] *= n
        else:
            runs.append(n)
    return fits(runs, new_shape)


def fits(runs, new_shape):
    left = [n for n in runs if n != 1]
    rest = [n for n in new_shape if n != 1]
    while left:
        if not rest:
            return False
        size = rest.pop(0)
        if left[0] % size:
            return False
        left[0] //= size
        if left[0] == 1:
            left.pop(0)
    return True


def wrong_ones_break_a_run(shape, stride, new_shape):
    """A dimension of size 1 is never walked along, so its stride means nothing, and it can come and"""
    runs = []
    for d, n in enumerate(shape):
        if runs and stride[d - 1] == n * stride[d]:
            runs[-1] *= n
        else:
            runs.append(n)
    return fits(runs, new_shape)


def wrong_any_divisor(shape, stride, new_shape):
    """The new sizes fill one run after the other, in their order"""
    runs = []
    for n, s in zip(shape, stride):
        if n == 1:
            continue
        if runs and runs[-1][1] == n * s:
            runs[-1] = [runs[-1][0] * n, s]
        else:
            runs.append([n, s])
    return all(any(n % size == 0 for n, _ in runs) for size in new_shape if size != 1)


def wrong_returns_the_strides(shape, stride, new_shape):
    """it returned (1,), where True or False is right"""
    if not right_by_runs(shape, stride, new_shape):
        return None
    step, found = 1, []
    for n in reversed(new_shape):
        found.insert(0, step)
        step *= n
    return found


def right_by_places(shape, stride, new_shape):
    if prod(shape) != prod(new_shape):
        return False
    places = [0]
    for size, step in zip(shape, stride):
        places = [place + i * step for place in places for i in range(size)]
    order, steps = prod(new_shape), []
    for size in new_shape:  # the only strides that there can be
        order //= size
        steps.append(places[order] - places[0] if size > 1 else 0)
    wanted = [0]
    for size, step in zip(new_shape, steps):
        wanted = [place + i * step for place in wanted for i in range(size)]
    return wanted == places


def right_from_the_right(shape, stride, new_shape):
    if prod(shape) != prod(new_shape):
        return False
    old = [(n, s) for n, s in zip(shape, stride) if n > 1]
    new = [n for n in new_shape if n > 1]
    while old:
        size, step = old.pop()
        while old and old[-1][1] == size * step:
            size *= old.pop()[0]
        while size > 1:
            last = new.pop()
            if size % last:
                return False
            size //= last
    return True


WRONG = [
    ("A dimension may also be split",
     lambda shape, stride, new_shape: contiguous(shape, stride) or tuple(shape) == tuple(new_shape)),
    ("An equal number of elements is necessary for a view but not sufficient: each new dimension needs one stride.",
     lambda shape, stride, new_shape: np.prod(shape, dtype=int) == np.prod(new_shape, dtype=int)),
    ("Only dimensions that are joined have to follow each other",
     lambda shape, stride, new_shape: all(stride[d] == shape[d + 1] * stride[d + 1] for d in range(len(shape) - 1))),
    ("Descending strides do not show whether a step leads as far as the next dimension's end: compare stride[d] with "
     "shape[d + 1] * stride[d + 1].",
     lambda shape, stride, new_shape: list(stride) == sorted(stride, reverse=True)),
    ("A tensor need not be contiguous",
     lambda shape, stride, new_shape: right_by_runs(shape, stride, new_shape) and (not stride or stride[-1] == 1)),
    ("A stride of 0 is a stride like any other: several dimensions of stride 0 follow each other.",
     lambda shape, stride, new_shape: 0 not in stride and right_by_runs(shape, stride, new_shape)),
]

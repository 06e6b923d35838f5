"""Solutions of 'views.can_view'. The hint has a wrong one's docstring, or the text in `WRONG`."""
from math import prod


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


def wrong_dense(shape, stride, new_shape):
    """the order in which the elements are read"""
    expected = 1
    for step, size in sorted(zip(stride, shape)):
        if step != expected:
            return False
        expected *= size
    return expected == prod(new_shape)


def wrong_first_pair(shape, stride, new_shape):
    """Check all neighbouring dimensions, not only the first two."""
    if prod(shape) != prod(new_shape):
        return False
    return len(shape) == 1 or stride[0] == shape[1] * stride[1]


WRONG = [
    ("The numbers of elements must be equal, too.",
     lambda shape, stride, new_shape: prod(shape) != prod(new_shape) or right_by_places(shape, stride, new_shape)),
    ("the other way round", lambda shape, stride, new_shape: not right_from_the_right(shape, stride, new_shape)),
    ("A view is possible more often", lambda shape, stride, new_shape: prod(shape) == 0),
    ("A view may fail", lambda shape, stride, new_shape: True),
]

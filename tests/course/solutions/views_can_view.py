"""Solutions of 'views.can_view'. A wrong one's docstring is what the hint has to say."""
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


def wrong_counts(shape, stride, new_shape):
    """An equal number of elements is necessary for a view but not sufficient: each new dimension needs one stride."""
    a = b = 1
    for n in shape:
        a *= n
    for n in new_shape:
        b *= n
    return a == b


def wrong_contiguous_only(shape, stride, new_shape):
    """A tensor need not be contiguous"""
    expected = 1
    for size, step in zip(reversed(shape), reversed(stride)):
        if size != 1 and step != expected:
            return False
        expected *= size
    return expected == prod(new_shape)


def wrong_contiguous_with_ones(shape, stride, new_shape):
    """A tensor need not be contiguous"""
    want = [prod(shape[d + 1:]) for d in range(len(shape))]
    return list(stride) == want and prod(shape) == prod(new_shape)


def wrong_without_count(shape, stride, new_shape):
    """The numbers of elements must be equal, too."""
    return prod(shape) != prod(new_shape) or right_by_places(shape, stride, new_shape)


def wrong_dense(shape, stride, new_shape):
    """the order in which the elements are read"""
    expected = 1
    for step, size in sorted(zip(stride, shape)):
        if step != expected:
            return False
        expected *= size
    return expected == prod(new_shape)


def wrong_no_split(shape, stride, new_shape):
    """A dimension may also be split"""
    if tuple(shape) == tuple(new_shape):
        return True
    old = [(n, s) for n, s in zip(shape, stride) if n > 1]
    return prod(shape) == prod(new_shape) and all(a[1] == b[0] * b[1] for a, b in zip(old, old[1:]))


def wrong_ones(shape, stride, new_shape):
    """A dimension of size 1 is never walked along"""
    if prod(shape) != prod(new_shape):
        return False
    groups = [[shape[0]]]
    for d in range(1, len(shape)):
        if stride[d - 1] == shape[d] * stride[d]:
            groups[-1].append(shape[d])
        else:
            groups.append([shape[d]])
    left = list(new_shape)
    for group in groups:
        total = prod(group)
        while total > 1 and left:
            if total % left[0]:
                return False
            total //= left.pop(0)
        if total != 1:
            return False
    return True


def wrong_way_round(shape, stride, new_shape):
    """the other way round"""
    return not right_from_the_right(shape, stride, new_shape)


def wrong_zero(shape, stride, new_shape):
    """A stride of 0 is a stride like any other: several dimensions of stride 0 follow each other."""
    return all(stride) and right_by_places(shape, stride, new_shape)


def wrong_own_size(shape, stride, new_shape):
    """Two dimensions follow each other if stride[d] == shape[d + 1] * stride[d + 1]: use the size of the second, not
    of the first."""
    for d in range(len(shape) - 1):
        if stride[d] != shape[d] * stride[d + 1]:
            return False
    return prod(shape) == prod(new_shape)


def wrong_first_pair(shape, stride, new_shape):
    """Check all neighbouring dimensions, not only the first two."""
    if prod(shape) != prod(new_shape):
        return False
    return len(shape) == 1 or stride[0] == shape[1] * stride[1]


def wrong_never(shape, stride, new_shape):
    """A view is possible more often"""
    return prod(shape) == 0


def wrong_always(shape, stride, new_shape):
    """A view may fail"""
    return True

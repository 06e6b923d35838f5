"""Solutions of 'strides.position', right and wrong."""
import numpy as np


def right_in_a_loop(index, shape, stride, offset):
    place = offset
    for d in range(len(shape)):
        i = index[d]
        while i < 0:
            i += shape[d]
        place += stride[d] * i
    return place


def right_by_looking_it_up(index, shape, stride, offset):
    places = np.full(shape, offset)
    for d, (size, step) in enumerate(zip(shape, stride)):
        places += (np.arange(size) * step).reshape([-1] + [1] * (len(shape) - d - 1))
    return places[tuple(index)].item()


def wrong_last_dimension_left_out(index, shape, stride, offset):
    """All dimensions count: add the contribution of every index."""
    place = offset
    for d in range(len(index) - 1):
        place += index[d] % shape[d] * stride[d]
    return place


def wrong_returns_in_the_loop(index, shape, stride, offset):
    """All dimensions count: add the contribution of every index."""
    place = offset
    for d in range(len(index)):
        place += index[d] % shape[d] * stride[d]
        return place
    return place


def wrong_negative_counts_from_the_storage(index, shape, stride, offset):
    """Each negative index counts from the end of its own dimension, not from the end of the memory: the place may be
    beyond the number of elements."""
    place = offset + sum(i * s for i, s in zip(index, stride))
    count = 1
    for n in shape:
        count *= n
    return place % count


def right_with_numpy(index, shape, stride, offset):
    if not index:
        return offset
    return offset + int(np.dot(np.mod(index, shape), stride))


def right_by_recursion(index, shape, stride, offset):
    if len(index) == 0:
        return offset
    *before, last = index
    return right_by_recursion(before, shape[:-1], stride[:-1], offset + range(shape[-1])[last] * stride[-1])


WRONG = [
    ("The offset is where reading begins: add it.",
     lambda index, shape, stride, offset:
        sum((i + n if i < 0 else i) * s for i, n, s in zip(index, shape, stride)) - offset),
    ("Add the offset as it is: it is a place already, and no stride applies to it.",
     lambda index, shape, stride, offset:
        offset * (stride[0] if stride else 1) + sum(i % n * s for i, n, s in zip(index, shape, stride))),
    ("The last element of a dimension is at size - 1, and the index -1 means that one: add the size, and nothing else.",
     lambda index, shape, stride, offset:
        offset + sum((i + n - 1 if i < 0 else i) * s for i, n, s in zip(index, shape, stride))),
    ("A negative index counts from the end of its dimension",
     lambda index, shape, stride, offset: offset + sum(abs(i) * s for i, s in zip(index, stride))),
    ("Is the return missing?",
     lambda index, shape, stride, offset: print(offset + sum(i % n * s for i, n, s in zip(index, shape, stride)))),
    ("Each index has its own stride: multiply first, and then add",
     lambda index, shape, stride, offset: offset + sum(i % n for i, n in zip(index, shape)) * sum(stride)),
    ("The strides are in the wrong order: the first stride belongs to the first index",
     lambda index, shape, stride, offset: offset + sum(i % n * s for i, n, s in zip(index, shape, reversed(stride)))),
]

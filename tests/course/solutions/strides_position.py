"""Solutions of 'strides.position'. The hint has a wrong one's docstring, or the text in `WRONG`."""
import numpy as np


def right_with_numpy(index, shape, stride, offset):
    if not index:
        return offset
    return offset + int(np.dot(np.mod(index, shape), stride))


def right_by_recursion(index, shape, stride, offset):
    if len(index) == 0:
        return offset
    *before, last = index
    return right_by_recursion(before, shape[:-1], stride[:-1], offset + range(shape[-1])[last] * stride[-1])


def wrong_no_offset(index, shape, stride, offset):
    """The offset is missing"""
    place = 0
    for d in range(len(index)):
        i = index[d] if index[d] >= 0 else index[d] + shape[d]
        place += i * stride[d]
    return place


def wrong_own_strides(index, shape, stride, offset):
    """use the strides that are given"""
    place = 0
    for i, size in zip(index, shape):
        place = place * size + i % size
    return place + offset


def wrong_sizes(index, shape, stride, offset):
    """An index is multiplied by the stride of its dimension, not by its size."""
    total = offset
    for i, size in zip(index, shape):
        total += (i + size if i < 0 else i) * size
    return total


def wrong_offset_in_loop(index, shape, stride, offset):
    """counts once, not once a dimension"""
    place = 0
    for i, n, s in zip(index, shape, stride):
        place += i % n * s + offset
    return place


def wrong_overwrites(index, shape, stride, offset):
    """All dimensions count"""
    place = offset
    for i, n, s in zip(index, shape, stride):
        place = offset + i % n * s
    return place


WRONG = [
    ("The offset is missing", lambda index, shape, stride, offset: sum(i * s for i, s in zip(index, stride))),
    ("-1 is the last one", lambda index, shape, stride, offset: offset + sum(i * s for i, s in zip(index, stride))),
    ("Indices begin at 0",
     lambda index, shape, stride, offset: offset + sum((i % n + 1) * s for i, n, s in zip(index, shape, stride))),
    ("not bytes",
     lambda index, shape, stride, offset: 4 * (offset + sum(i % n * s for i, n, s in zip(index, shape, stride)))),
    ("The strides alone do not determine where an element is: multiply each by its index.",
     lambda index, shape, stride, offset: offset + sum(stride)),
]

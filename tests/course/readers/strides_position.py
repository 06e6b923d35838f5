"""From the text of 'strides.position' alone. A wrong one's docstring is what the hint has to say."""
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


def wrong_offset_subtracted(index, shape, stride, offset):
    """The offset is where reading begins: add it."""
    return sum((i + n if i < 0 else i) * s for i, n, s in zip(index, shape, stride)) - offset


def wrong_offset_times_first_stride(index, shape, stride, offset):
    """Add the offset as it is: it is a place already, and no stride applies to it."""
    return offset * (stride[0] if stride else 1) + sum(i % n * s for i, n, s in zip(index, shape, stride))


def wrong_negative_one_off(index, shape, stride, offset):
    """The last element of a dimension is at size - 1, and the index -1 means that one: add the size, and nothing
    else."""
    return offset + sum((i + n - 1 if i < 0 else i) * s for i, n, s in zip(index, shape, stride))


def wrong_absolute_value(index, shape, stride, offset):
    """A negative index counts from the end of its dimension"""
    return offset + sum(abs(i) * s for i, s in zip(index, stride))


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


def wrong_prints(index, shape, stride, offset):
    """Is the return missing?"""
    print(offset + sum(i % n * s for i, n, s in zip(index, shape, stride)))


def wrong_indices_added_first(index, shape, stride, offset):
    """Each index has its own stride: multiply first, and then add"""
    return offset + sum(i % n for i, n in zip(index, shape)) * sum(stride)


def wrong_strides_reversed(index, shape, stride, offset):
    """The strides are in the wrong order: the first stride belongs to the first index"""
    return offset + sum(i % n * s for i, n, s in zip(index, shape, reversed(stride)))


def wrong_negative_counts_from_the_storage(index, shape, stride, offset):
    """Each negative index counts from the end of its own dimension, not from the end of the memory: the place may be
    beyond the number of elements."""
    place = offset + sum(i * s for i, s in zip(index, stride))
    count = 1
    for n in shape:
        count *= n
    return place % count

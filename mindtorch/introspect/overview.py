"""A large tensor in small: its values averaged over blocks, and its elements as the pixels of pictures."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._dtype import COMPLEX, DType
from .libraries import library_of
from .tensor import Statistics

ROWS, COLUMNS = 48, 64  #: blocks at most that a matrix is averaged over
SLIM = 4  #: how many times as long as the other a side may be for the blocks to be square
SAMPLES = 4  #: rows, and columns, of a block at most that are looked at
PIXELS = 4096  #: of all pictures of a tensor together
PICTURES = 12  #: of a batch at most
SIDE = 8  #: elements at least that a picture is high and wide
CHANNELS = (1, 3, 4)
FLOATS = ("float", "bfloat", "q")  #: how the names of dtypes begin that hold fractions, quantized ones among them
NEARLY_WHOLE = 1 << 20  #: bytes at most that are copied from a device for an overview


class Overview(NamedTuple):
    """The first matrix of a tensor (its last two dimensions), averaged over blocks of ``block`` elements.

    ``means`` is a float64 array of at most ``ROWS`` by ``COLUMNS``: of absolute values if the tensor is complex. They
    are means of at most ``SAMPLES`` by ``SAMPLES`` elements of each block; ``is_sampled`` if blocks have more. Where a
    block has a NaN, or an infinity, its mean is that.
    """

    means: np.ndarray
    block: tuple[int, int]
    is_sampled: bool


def tensor_overview(tensor: Any, is_finite: bool = False) -> Overview | None:
    """Average a tensor's first matrix by blocks; None without cheap values. ``is_finite`` skips the NaN scan."""
    values = _values(tensor)
    if values is None or not values.size:
        return None
    matrix = values[(0,) * (values.ndim - 2)] if values.ndim > 1 else values.reshape(1, -1)
    height, width = matrix.shape
    down, across = height / ROWS, width / COLUMNS
    if SLIM * height >= width and SLIM * width >= height:  # what is square looks square
        down = across = max(down, across)
    rows, columns = _sampled(height, math.ceil(height / down)), _sampled(width, math.ceil(width / across))
    few = matrix[np.ix_(rows.ravel(), columns.ravel())]
    few = np.abs(few) if np.iscomplexobj(few) else few
    with np.errstate(all="ignore"):
        means = few.astype(np.float64).reshape(*rows.shape, *columns.shape).mean((1, 3))
        if matrix.dtype.kind not in "biu" and not is_finite and not (finite := np.isfinite(matrix)).all():
            bad = np.nonzero(~finite)
            block = tuple(at * n // size for at, n, size in zip(bad, means.shape, matrix.shape, strict=True))
            means[block] += np.abs(matrix[bad]) if np.iscomplexobj(matrix) else matrix[bad].astype(np.float64)
    sizes = math.ceil(height / len(rows)), math.ceil(width / len(columns))
    return Overview(means, sizes, few.size < matrix.size)


def _sampled(size: int, parts: int) -> np.ndarray:
    """Return the sampled indices of a dimension, [parts, samples of each], or all where they are few."""
    if size <= parts:
        return np.arange(size)[:, None]
    count = min(SAMPLES, size // parts)
    return ((np.arange(parts * count) + 0.5) * (size / (parts * count))).astype(np.intp).reshape(parts, count)


def _values(tensor: Any) -> np.ndarray | None:
    """Return the values, unless they are pending or costly to copy from a device."""
    library = library_of(tensor)
    look = library.layout(tensor)
    if not library.is_near(tensor) and math.prod(look.shape) * look.dtype.itemsize > NEARLY_WHOLE:
        return None
    return library.values(tensor)


def picture_layout(shape: Sequence[int]) -> str:
    """Return how a tensor of this shape can be seen as pictures: ``HW``, ``CHW``, ``HWC``, ``NCHW`` or ``NHWC``; '' if
    not.
    """
    for layout in ("HW", "CHW", "HWC", "NCHW", "NHWC"):
        sizes = dict(zip(layout, shape, strict=False))
        fits = len(layout) == len(shape) and min(sizes["H"], sizes["W"]) >= SIDE
        if fits and sizes.get("C", 1) in CHANNELS and sizes.get("N", 1):
            return layout
    return ""


def pictures(tensor: Any, statistics: Statistics) -> list[np.ndarray]:
    """See a tensor as pictures: uint8 arrays [height, width, channels], of every so manyeth pixel where it has many.

    Bytes are brightness as they are, and floats in [0, 1] times 255; other numbers are stretched from the smallest,
    black, to the largest, white. The list is empty if the shape or the dtype is not that of pictures.
    """
    look = library_of(tensor).layout(tensor)
    layout, dtype = picture_layout(look.shape), look.dtype
    values = _values(tensor) if layout else None
    if values is None or dtype.category == COMPLEX or statistics.minimum is None:
        return []
    batch = values if layout[0] == "N" else values[None]
    batch = batch[..., None] if layout == "HW" else np.moveaxis(batch, 1, -1) if layout.endswith("CHW") else batch
    batch = batch[:PICTURES]
    step = math.ceil(math.sqrt(batch.shape[0] * batch.shape[1] * batch.shape[2] / PIXELS))
    return [_bytes(picture[::step, ::step], dtype, statistics) for picture in batch]


def _bytes(values: np.ndarray, dtype: DType, statistics: Statistics) -> np.ndarray:
    if dtype.name == "uint8":
        return values
    low, high = brightness(dtype.name, statistics)
    scaled = (values.astype(np.float64) - low) / ((high - low) or 1.0) * 255
    return np.nan_to_num(scaled, nan=0.0, posinf=255.0, neginf=0.0).clip(0, 255).astype(np.uint8)


def brightness(dtype: str, statistics: Statistics) -> tuple[float, float]:
    """Return the numbers drawn as black and white."""
    low, high = float(statistics.minimum), float(statistics.maximum)
    return (0.0, 1.0) if dtype == "bool" or (dtype.startswith(FLOATS) and 0 <= low <= high <= 1) else (low, high)

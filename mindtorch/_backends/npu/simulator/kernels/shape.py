"""Simulated kernels of shapes, indexing, gathering, scattering and embeddings."""
from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from ....cpu.precision import to_opmath
from .forms import CPU, Array, Kernel, inplace, named, onto_copy, scalar_of, store, whole


def split(self: Array, sizes: Any, dim: int, outs: list[Array]) -> None:
    for out, part in zip(outs, np.split(self, list(accumulate(sizes))[:-1], dim), strict=True):
        store(out, part)


def padded(x: Array, padding: Any, **how: Any) -> Array:
    """Pad an array by PyTorch's ``padding``: two numbers a dimension, the last first; negative ones crop."""
    low, high = [0] * x.ndim, [0] * x.ndim
    for i in range(len(padding) // 2):
        low[-1 - i], high[-1 - i] = padding[2 * i], padding[2 * i + 1]
    kept = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for a, b, n in zip(low, high, x.shape, strict=True))]
    return np.pad(kept, [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)], **how)


def pad_constant(self: Array, padding: Any, value: Any, out: Array) -> None:
    store(out, padded(self, padding, constant_values=scalar_of(value, self)))


def padding(name: str, how: str) -> dict[str, Kernel]:
    """Make the operators that pad 1 to 3 dimensions with elements; gradients return to their sources."""

    def backward(grad: Array, self: Array, padding: Any, out: Array) -> None:
        came_from = padded(np.arange(self.size).reshape(self.shape), padding, mode=how)
        wide = to_opmath(grad)
        total = np.zeros(self.size, wide.dtype)
        np.add.at(total, came_from.reshape(-1), wide.reshape(-1))
        store(out, total.reshape(self.shape))

    forward = whole(lambda self, padding: padded(self, padding, mode=how))
    return {f"{name}{dims}d{form}": kernel for dims in (1, 2, 3) for form, kernel in (("", forward),
                                                                                      ("Backward", backward))}


KERNELS: dict[str, Kernel] = {
    **named(inplace, "InplaceTril tril_   InplaceTriu triu_"),
    **named(whole, """
        Cat cat                     Stack stack                 Flip flip                   Tril tril
        Triu triu                   RepeatInterleaveTensor repeat_interleave.Tensor
    """),
    "aclnnSplitTensor": lambda self, size, dim, outs: split(self, [out.shape[dim] for out in outs], dim, outs),
    "aclnnSplitWithSize": split,
    "aclnnRepeat": whole(np.tile),
    "aclnnRepeatInterleave": whole(lambda self, repeats, output_size: np.repeat(self, repeats)),
    "aclnnRepeatInterleaveWithDim": whole(lambda self, repeats, dim, output_size: np.repeat(self, repeats, dim)),
    "aclnnRoll": whole(lambda x, shifts, dims: np.roll(x, shifts, dims or None)),
    "aclnnDiag": whole(np.diag),
    "aclnnDiagFlat": whole(np.diagflat),
    "aclnnConstantPadNd": pad_constant,
    **padding("aclnnReflectionPad", "reflect"),
    **padding("aclnnReplicationPad", "edge"),
}


#: Scatter's reductions.
REDUCTIONS = {0: None, 1: "add", 2: "multiply"}


def chosen(indices: list[Array | None]) -> list[Array | None]:
    """Return the indices, None for those without elements: CANN's callers write an omitted index so."""
    return [None if index is None or not index.size else index for index in indices]


def index(self: Array, indices: list[Any], out: Array) -> None:
    if out.size:
        store(out, CPU["index.Tensor"](self, chosen(indices)))


def index_put(self: Array, indices: list[Any], values: Array, accumulate: bool, unsafe: bool) -> None:
    CPU["index_put_"](self, chosen(indices), values, accumulate)


def index_fill(out: Array, dim: int, at: Any, value: Any) -> None:
    CPU["index_fill_.int_Scalar"](out, dim, np.array(at, np.int64), value)


def scatter(self: Array, dim: int, at: Array, source: Any, reduce: int) -> None:
    CPU["scatter_.src"](self, dim, at, source, REDUCTIONS[reduce])


def embedding(weight: Array, at: Array) -> Array:
    """Select rows. Raises IndexError if an index is not a row's."""
    return CPU["index_select"](weight, 0, at.reshape(-1)).reshape(*at.shape, *weight.shape[1:])


def embedding_backward(grad: Array, at: Array, rows: int, padding: int, scale: bool, out: Array) -> None:
    """Sum the gradients of each row. ``padding`` is unsigned: -1, for no padding row, is the largest number."""
    flat = at.reshape(-1)
    kept = flat != np.int64(padding - (1 << 64) if padding >= 1 << 63 else padding)
    wide = to_opmath(grad)
    each, flat = wide.reshape(len(kept), -1)[kept], flat[kept]
    if scale:
        each = each / np.bincount(flat, minlength=rows)[flat][:, None].astype(each.dtype)
    total = np.zeros((rows, each.shape[1]), each.dtype)
    np.add.at(total, flat, each)
    store(out, total)


def embedding_renorm(self: Array, at: Array, max_norm: float, norm_type: float) -> None:
    wide = to_opmath(self)
    CPU["embedding_renorm_"](wide, at, max_norm, norm_type)
    store(self, wide)


def one_hot(self: Array, classes: int, on: Array, off: Array, axis: int, out: Array) -> None:
    """Encode classes. A number that is not a class sets nothing."""
    target = np.moveaxis(out, axis, -1)
    target[...] = np.where(np.arange(classes) == self[..., None], on.reshape(-1)[0], off.reshape(-1)[0])


KERNELS |= {
    **named(whole, "IndexSelect index_select   Gather gather   Take take"),
    **named(onto_copy, "IndexAdd index_add_   ScatterAdd scatter_add_"),
    **named(inplace, "InplaceIndexCopy index_copy_   InplacePut put_   InplaceMaskedScatter masked_scatter_"),
    **dict.fromkeys(("aclnnScatter", "aclnnScatterValue"), onto_copy(scatter)),
    **dict.fromkeys(("aclnnInplaceScatter", "aclnnInplaceScatterValue"), inplace(scatter)),
    "aclnnIndex": index,
    "aclnnIndexPutImpl": index_put,
    "aclnnIndexFillTensor": onto_copy(index_fill),
    "aclnnInplaceIndexFillTensor": inplace(index_fill),
    "aclnnEmbedding": whole(embedding),
    "aclnnEmbeddingDenseBackward": embedding_backward,
    "aclnnEmbeddingRenorm": embedding_renorm,
    "aclnnOneHot": one_hot,
}

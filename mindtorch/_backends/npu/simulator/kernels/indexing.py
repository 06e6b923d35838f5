"""Simulated kernels of indexing, gathering, scattering and embeddings."""
from __future__ import annotations

from typing import Any

import numpy as np

from ....cpu.ops.reduction import to_opmath
from .forms import CPU, Array, Kernel, inplace, named, onto_copy, store, whole

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


KERNELS: dict[str, Kernel] = {
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

"""Simulated kernels of sorting, searching and counting, and of what chooses as many elements as the data says."""
from __future__ import annotations

from typing import Any

from .forms import CPU, Array, Kernel, counted, whole

#: UniqueConsecutive's ``dim`` for "none".
NO_DIM = 1000


def sort(self: Array, stable: bool, dim: int, descending: bool) -> Any:
    return CPU["sort"](self, dim, descending)


def searchsorted(sequence: Array, values: Any, out_int32: bool, right: bool, sorter: Array | None) -> Any:
    return CPU["searchsorted.Tensor"](sequence, values, out_int32, right, None, sorter)


def unique_consecutive(self: Array, inverse: bool, counts: bool, dim: int) -> Any:
    return CPU["unique_consecutive"](self, inverse, counts, None if dim == NO_DIM else dim)


KERNELS: dict[str, Kernel] = {
    "aclnnSort": whole(sort, 2),
    "aclnnArgsort": whole(lambda self, dim, descending: CPU["sort"](self, dim, descending)[1]),
    "aclnnTopk": whole("topk", 2),
    "aclnnKthvalue": whole("kthvalue", 2),
    "aclnnSearchSorted": whole(searchsorted),
    "aclnnSearchSorteds": whole(searchsorted),
    "aclnnUnique2": counted("_unique2", 3),
    "aclnnUniqueConsecutive": counted(unique_consecutive, 3),
    "aclnnIsInTensorScalar": whole("isin.Tensor_Tensor"),
    "aclnnIsInScalarTensor": whole("isin.Tensor_Tensor"),
    "aclnnHistc": whole("histc"),
    "aclnnNonzero": counted("nonzero"),
    "aclnnMaskedSelect": counted("masked_select"),
}

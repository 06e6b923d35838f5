"""Simulated kernels of sorting, searching, counting and selecting."""
from __future__ import annotations

from functools import partial
from typing import Any

from .forms import CPU, Array, Kernel, counted, named, whole

#: UniqueConsecutive's ``dim`` for "none".
NO_DIM = 1000


def sort(self: Array, stable: bool, dim: int, descending: bool) -> Any:
    return CPU["sort"](self, dim, descending)


def searchsorted(sequence: Array, values: Any, out_int32: bool, right: bool, sorter: Array | None) -> Any:
    return CPU["searchsorted.Tensor"](sequence, values, out_int32, right, None, sorter)


def unique_consecutive(self: Array, inverse: bool, counts: bool, dim: int) -> Any:
    return CPU["unique_consecutive"](self, inverse, counts, None if dim == NO_DIM else dim)


KERNELS: dict[str, Kernel] = {
    **named(whole, "IsInTensorScalar isin.Tensor_Tensor   IsInScalarTensor isin.Tensor_Tensor   Histc histc"),
    **named(partial(whole, outs=2), "Topk topk   Kthvalue kthvalue"),
    **named(counted, "Nonzero nonzero   MaskedSelect masked_select"),
    "aclnnSort": whole(sort, 2),
    "aclnnArgsort": whole(lambda self, dim, descending: CPU["sort"](self, dim, descending)[1]),
    **dict.fromkeys(("aclnnSearchSorted", "aclnnSearchSorteds"), whole(searchsorted)),
    "aclnnUnique2": counted("_unique2", 3),
    "aclnnUniqueConsecutive": counted(unique_consecutive, 3),
}

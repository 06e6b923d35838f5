"""Meta kernels of finding. Where the data says how many there are, the shape is left open."""
from __future__ import annotations

import warnings
from typing import Any

from ...._base.errors import NAMES, check, check_takes
from ...._base.layout import Ints, Spec, contiguous_strides, wrap_dim
from ...._dispatch.dispatcher import TENSOR_TYPES
from ...._dtype import BOOL, COMPLEX, FLOATING, INTEGER, bool_, int32, int64
from ...common.pointwise import result_type
from . import META_KERNELS

Specs = tuple[Spec, Spec, Spec]


def refuse(kernel: str, dtype: Any, *categories: int) -> None:
    """Refuse a dtype whose category is one of these."""
    check_takes(dtype.category not in categories, kernel, dtype)


def unique2(self: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> Specs:
    refuse("unique", self._dtype, COMPLEX)
    return (Spec(None, self._dtype), Spec(tuple(self.shape) if return_inverse else (0,), int64),
            Spec(None if return_counts else (0,), int64))


def unique_dim(self: Any, dim: int, *flags: bool) -> Specs:
    refuse("unique_dim", self._dtype, COMPLEX)
    check(self.ndim, lambda: f"Dimension specified as {dim} but tensor has no dimensions", IndexError)
    axis = wrap_dim(dim, self.ndim)
    check(self.numel() or (not self.shape[axis] and sum(n == 0 for n in self.shape) == 1),
          "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    return (Spec(None, self._dtype, lambda shape: strides_in_front(shape, axis)),
            Spec((self.shape[axis],), int64), Spec(None, int64))


def strides_in_front(shape: Ints, axis: int) -> Ints:
    """The strides of a tensor that is contiguous if one dimension is moved to the front; plain, if empty."""
    if not shape[axis]:
        return contiguous_strides(shape)
    first, *others = contiguous_strides((shape[axis], *shape[:axis], *shape[axis + 1:]))
    return (*others[:axis], first, *others[axis:])


def unique_consecutive(self: Any, return_inverse: bool = False, return_counts: bool = False,
                       dim: int | None = None) -> Specs:
    return unique2(self, True, return_inverse, return_counts) if dim is None else unique_dim(self, dim)


def searchsorted(sorted_sequence: Any, self: Any, out_int32: bool = False, right: bool = False,
                 side: str | None = None, sorter: Any = None) -> Spec:
    name, bounds = "torch.searchsorted(): ", tuple(sorted_sequence.shape)
    for tensor, what in ((self, "input value"), (sorted_sequence, "boundary"), (sorter, "sorter")):
        if tensor.__class__ in TENSOR_TYPES and not tensor.is_contiguous():
            warnings.warn(f"{name}{what} tensor is non-contiguous, this will lower the performance due to extra data "
                          "copy when converting non-contiguous tensor to contiguous, please use contiguous "
                          f"{what} tensor if possible.", stacklevel=5)
    shape = tuple(self.shape) if self.__class__ in TENSOR_TYPES else ()
    check(side in (None, "left", "right"), lambda: f"{name}side can only be 'left' or 'right' but got {side}")
    check(side != "left" or not right,
          lambda: f"{name}side and right can't be set to opposites, got side of left while right was True")
    check(bounds, f"{name}boundaries tensor should have positive dimension, but got 0 dimension")
    check(len(bounds) == 1 or shape, lambda: f"{name}input value can be a scalar only when boundaries tensor dimension "
          f"is 1, but got boundaries tensor dim({len(bounds)}) and input value's dim({len(shape)})")
    check(len(bounds) == 1 or bounds[:-1] == shape[:-1], lambda: f"{name}boundaries tensor should be 1 dimension or "
          "the first N-1 dimensions of boundaries tensor and input value tensor must match, but we got boundaries "
          f"tensor {list(bounds)} and input value tensor {list(shape)}")
    if sorter is not None:
        check(tuple(sorter.shape) == bounds, lambda: f"{name}boundary and sorter must have the same size, but got "
              f"boundary tensor {list(bounds)} and got sorter tensor {list(sorter.shape)}")
        check(sorter._dtype is int64,
              lambda: f"{name}sorter must be a tensor of long dtype but got dtype {NAMES[sorter._dtype.name]}")
    if 0 not in shape:
        refuse("searchsorted_out_cpu", result_type((sorted_sequence, self)), BOOL, COMPLEX)
    return Spec(shape, int32 if out_int32 else int64)


def bucketize(self: Any, boundaries: Any, out_int32: bool = False, right: bool = False) -> Spec:
    check(boundaries.ndim == 1, lambda: f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, self, out_int32, right)


def nonzero(self: Any) -> Spec:
    """One row per element, laid out column by column."""
    return Spec(None, int64, lambda shape: (1, shape[0]))


def nonzero_static(self: Any, size: int, fill_value: int = -1) -> Spec:
    check(size >= 0, "nonzero_static: 'size' must be an non-negative integer")
    return Spec((size, self.ndim), int64)


def isin(elements: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> Spec:
    for given in (elements, test_elements):
        dtype = result_type((given,))
        if dtype.category not in (INTEGER, FLOATING):
            raise RuntimeError(f"Unsupported input type encountered for isin(): {NAMES[dtype.name]}")
    return Spec(tuple(elements.shape) if elements.__class__ in TENSOR_TYPES else (), bool_)


META_KERNELS.add(unique_dim, unique_consecutive, nonzero)
META_KERNELS.update({
    "_unique2": unique2,
    "searchsorted.Tensor": searchsorted,
    "searchsorted.Scalar": searchsorted,
    "bucketize.Tensor": bucketize,
    "bucketize.Scalar": bucketize,
    "nonzero_static": nonzero_static,
    "isin.Tensor_Tensor": isin,
    "isin.Tensor_Scalar": isin,
    "isin.Scalar_Tensor": isin,
})

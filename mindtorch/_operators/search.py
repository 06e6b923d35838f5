"""Finding: unique elements, places in sorted sequences, where something is.

Overloads named ``python`` are what PyTorch's Python functions make of the operator beside them."""
from __future__ import annotations

import warnings
from math import prod
from typing import Any

from .._backends.common.pointwise import result_type
from .._base.errors import NAMES, check, check_takes
from .._base.layout import Ints, Spec, contiguous_strides, wrap_dim
from .._dispatch.aten import (
    _unique2 as unique2, nonzero as nonzero_indices, nonzero_out, searchsorted_Tensor as searchsorted,
    unbind_int as unbind, unique_consecutive as consecutive, unique_dim, unsqueeze,
)
from .._dispatch.dispatcher import TENSOR_TYPES
from .._dispatch.registry import Operator
from .._dtype import BOOL, COMPLEX, FLOATING, INTEGER, bool_, int32, int64
from .._tensor import Tensor
from .._transforms.batching.frames import Frame, filled, is_batched, lowered
from .._transforms.batching.rules import composed, unbatchable, with_defaults
from . import composites, operator, schemas
from .pointwise import not_implemented


def refuse(kernel: str, dtype: Any, *categories: int) -> None:
    """Refuse a dtype whose category is one of these."""
    check_takes(dtype.category not in categories, kernel, dtype)


schemas("""
function, method:
    unique(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor  # The different elements of `self`, or its different slices along `dim`, with the position of each element's value if `return_inverse` and how often each occurs if `return_counts`.
    unique_consecutive.python(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor  # `self` without those elements, or slices along `dim`, that equal the one before them.
function:
    _unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)  # The different elements of `self`, the position of each element's value among them, and how often each occurs.
operator only:
    unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)  # The different slices of `self` along `dim`, the position of each slice among them, and how often each occurs.
    unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)
""")  # noqa: E501

Specs = tuple[Spec, Spec, Spec]


def meta_unique2(self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> Specs:
    refuse("unique", self._dtype, COMPLEX)
    return (Spec(None, self._dtype), Spec(tuple(self.shape) if return_inverse else (0,), int64),
            Spec(None if return_counts else (0,), int64))


def meta_unique_dim(self: Tensor, dim: int, *flags: bool) -> Specs:
    refuse("unique_dim", self._dtype, COMPLEX)
    check(self.ndim, lambda: f"Dimension specified as {dim} but tensor has no dimensions", IndexError)
    axis = wrap_dim(dim, self.ndim)
    check(self.numel() or (not self.shape[axis] and sum(n == 0 for n in self.shape) == 1),
          "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    return (Spec(None, self._dtype, lambda shape: strides_in_front(shape, axis)),
            Spec((self.shape[axis],), int64), Spec(None, int64))


def strides_in_front(shape: Ints, axis: int) -> Ints:
    """Return the strides of a tensor that is contiguous if one dimension is moved to the front; plain, if empty."""
    if not shape[axis]:
        return contiguous_strides(shape)
    first, *others = contiguous_strides((shape[axis], *shape[:axis], *shape[axis + 1:]))
    return (*others[:axis], first, *others[axis:])


def meta_unique_consecutive(self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None =
                            None) -> Specs:
    return meta_unique2(self, True, return_inverse, return_counts) if dim is None else meta_unique_dim(self, dim)


def asked_for(results: tuple[Any, Any, Any], return_inverse: bool, return_counts: bool) -> Any:
    """Return the values, and the other results that were asked for."""
    values, inverse, counts = results
    extra = ((inverse,) if return_inverse else ()) + ((counts,) if return_counts else ())
    return (values, *extra) if extra else values


def unique(self: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
           dim: int | None = None) -> Any:
    """``torch.unique``: of the elements, or of the slices along ``dim``."""
    if dim is None:
        results = unique2(self, sorted, return_inverse, return_counts)
    else:
        results = unique_dim(self, dim, sorted, return_inverse, return_counts)
    return asked_for(results, return_inverse, return_counts)


def unique_consecutive(self: Tensor, return_inverse: bool = False, return_counts: bool = False,
                       dim: int | None = None) -> Any:
    """``torch.unique_consecutive``."""
    return asked_for(consecutive(self, return_inverse, return_counts, dim), return_inverse, return_counts)


composites(unique)
operator("unique_consecutive.python", composite=unique_consecutive)
operator("_unique2", meta_unique2, batching=unbatchable, self=not_implemented("_unique2"))
operator("unique_dim", meta_unique_dim, batching=unbatchable, self=not_implemented("unique_dim"))
operator("unique_consecutive", meta_unique_consecutive, batching=unbatchable,
         self=not_implemented("unique_consecutive"))

schemas("""
function, method:
    argwhere(Tensor self) -> Tensor  # The indices of the elements of `self` other than zero, a row for each.
function, method, explicit:
    allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool  # Whether all elements of `self` and `other` differ by no more than `atol` plus `rtol` times the absolute value of `other`.
    equal(Tensor self, Tensor other) -> bool  # Whether `self` and `other` have the same shape and the same elements.
""")  # noqa: E501


def allclose(self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """``torch.allclose``: whether all elements are close, as a bool."""
    return bool(self.isclose(other, rtol, atol, equal_nan).all())


def equal(self: Tensor, other: Tensor) -> bool:
    """``torch.equal``: whether shapes and all elements are equal, as a bool."""
    if self.shape != other.shape:
        return False
    same = (self == other).all()
    return bool(same._host("equal") if same.is_meta else same)  # of which PyTorch says that there is no kernel


operator("argwhere", composite=lambda self: nonzero_indices(self))
operator("allclose", composite=allclose, differentiable=False)
operator("equal", composite=equal, differentiable=False)

schemas("""
function, out, exact dtype:
    searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor  # The positions in `sorted_sequence` at which the elements of `self` would be inserted to keep its last dimension in order: before equal elements, or after them if `right`.
    searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor
    bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor  # The positions in the sorted vector `boundaries` at which the elements of `self` would be inserted: before equal elements, or after them if `right`.
    bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor
    isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor  # Whether each of `elements` is among `test_elements`, or is not if `invert`.
    isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor
    isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor
""")  # noqa: E501


def meta_searchsorted(sorted_sequence: Any, self: Any, out_int32: bool = False, right: bool = False, side: str | None =
                      None, sorter: Any = None) -> Spec:
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


def meta_bucketize(self: Any, boundaries: Tensor, out_int32: bool = False, right: bool = False) -> Spec:
    check(boundaries.ndim == 1, lambda: f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return meta_searchsorted(boundaries, self, out_int32, right)


def meta_isin(elements: Tensor, test_elements: Tensor, assume_unique: bool = False, invert: bool = False) -> Spec:
    for given in (elements, test_elements):
        dtype = result_type((given,))
        if dtype.category not in (INTEGER, FLOATING):
            raise RuntimeError(f"Unsupported input type encountered for isin(): {NAMES[dtype.name]}")
    return Spec(tuple(elements.shape) if elements.__class__ in TENSOR_TYPES else (), bool_)


def searchsorted_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """``searchsorted``: rows of values in rows that are sorted; one sorted row serves all values."""
    given = with_defaults(op, args)
    sequence, values = given[:2]
    sorter = op.schema.positions.get("sorter")
    if sequence.ndim == 1 and not (is_batched(sequence, frame) or (sorter and is_batched(given[sorter], frame))):
        return op.call(sequence, lowered(values, frame), *given[2:])
    rows = filled(values, frame)
    if sequence.ndim == 1:
        rows = rows.reshape((frame.size, prod(values.shape)))
    if sorter is not None and given[sorter] is not None:
        given[sorter] = filled(given[sorter], frame)
    return op.call(filled(sequence, frame).contiguous(), rows.contiguous(), *given[2:]).reshape(
        (frame.size, *values.shape))


operator("searchsorted.Tensor", meta_searchsorted, batching=searchsorted_batch_rule, differentiable=False)
operator("searchsorted.Scalar", meta_searchsorted, differentiable=False)
operator("bucketize.Tensor", meta_bucketize,
         batching=composed(lambda self, boundaries, out_int32=False, right=False: searchsorted(
                 boundaries, self, out_int32, right)), differentiable=False)
operator("bucketize.Scalar", meta_bucketize, differentiable=False)
operator("isin.Tensor_Tensor isin.Tensor_Scalar isin.Scalar_Tensor", meta_isin, differentiable=False)

schemas("""
function, method, out, exact dtype:
    nonzero(Tensor self) -> Tensor  # The indices of the elements of `self` other than zero, a row for each, or with `as_tuple` a vector for each dimension.
    nonzero.python(Tensor self, *, bool as_tuple) -> Tensor
    nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor  # The indices of the first `size` elements of `self` other than zero, a row for each, filled up with `fill_value`.
""")  # noqa: E501


def meta_nonzero(self: Tensor) -> Spec:
    """One row per element, laid out column by column."""
    return Spec(None, int64, lambda shape: (1, shape[0]))


def meta_nonzero_static(self: Tensor, size: int, fill_value: int = -1) -> Spec:
    check(size >= 0, "nonzero_static: 'size' must be an non-negative integer")
    return Spec((size, self.ndim), int64)


def nonzero(self: Any, as_tuple: bool) -> Any:
    """``torch.nonzero`` with ``as_tuple``: one index tensor per dimension."""
    if not as_tuple:
        return nonzero_indices(self)
    return unbind(nonzero_indices(self if self.ndim else unsqueeze(self, 0)), 1)


operator("nonzero", meta_nonzero, batching=unbatchable, differentiable=False)
operator("nonzero.python", composite=nonzero)
operator("nonzero.python_out", composite=lambda self, as_tuple, out: nonzero_out(self, out))
operator("nonzero_static", meta_nonzero_static, differentiable=False)

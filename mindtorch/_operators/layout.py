"""A tensor's layout as operators: sizes, strides and offset as numbers that a trace may keep symbolic."""
from __future__ import annotations

from math import prod
from typing import Any

from .._base.layout import is_contiguous, is_non_overlapping_and_dense
from .._base.symbolic import SYMBOLIC
from . import operator, schemas

schemas("""
operator only:
    sym_size.int(Tensor self, int dim) -> SymInt  # The size of the dimension `dim` of `self`.
    sym_stride.int(Tensor self, int dim) -> SymInt  # The stride of the dimension `dim` of `self`.
    sym_numel(Tensor self) -> SymInt  # The number of elements of `self`.
    sym_storage_offset(Tensor self) -> SymInt  # The place of the first element of `self` in its storage.
    is_non_overlapping_and_dense(Tensor self) -> bool  # Whether the elements of `self` lie side by side in memory.
    is_contiguous(Tensor self) -> bool  # Whether the elements of `self` lie side by side in row-major order.
operator only, explicit:
    _assert_scalar(Scalar self, str assert_msg) -> ()  # Nothing; an error with the message `assert_msg` if `self` is false or 0.
function, explicit:
    _assert_async(Tensor self) -> ()  # Nothing; an error if the one element of `self` is false or 0.
    _assert_async.msg(Tensor self, str assert_msg) -> ()
""")  # noqa: E501

operator("sym_size.int", composite=lambda self, dim: self.shape[dim])
operator("sym_stride.int", composite=lambda self, dim: self._strides()[dim])
operator("sym_numel", composite=lambda self: prod(self.shape))
operator("sym_storage_offset", composite=lambda self: self._offset)


def dense(self: Any) -> bool:
    return is_contiguous(self.shape, self._strides()) or is_non_overlapping_and_dense(self.shape, self._strides())


def assert_scalar(self: Any, assert_msg: str) -> None:
    """Raise RuntimeError with a message unless a number is true (``aten::_assert_scalar``). A symbol is one that a
    trace is about to check.
    """
    if self.__class__ not in SYMBOLIC and not self:
        raise RuntimeError(assert_msg)


def assert_element(self: Any, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Raise RuntimeError with a message unless a tensor's one element is true (``torch._assert_async``)."""
    if not self.is_meta and not self:
        raise RuntimeError(assert_msg)


operator("_assert_scalar", composite=assert_scalar)
operator("_assert_async _assert_async.msg", composite=assert_element, differentiable=False)
operator("is_non_overlapping_and_dense", composite=dense)
operator("is_contiguous", composite=lambda self: is_contiguous(self.shape, self._strides()))

"""Operators that the library itself is written in: memory, copies and a few more."""
from __future__ import annotations

from typing import Any

from .._base.formats import contiguous_format
from .._base.layout import Spec
from .._dispatch.aten import zeros_like
from .._tensor import Tensor
from .._transforms.batching.rules import as_it_is, elementwise
from . import operator, schemas


def like_input(grad_output: Tensor, self: Tensor, *rest: Any) -> Spec:
    """Describe a gradient: contiguous, of the input's shape."""
    return Spec(tuple(self.shape), self._dtype)


schemas("""
operator only:
    _to_copy(Tensor self, *, ScalarType? dtype=None, Device? device=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor  # A copy of `self` converted to `dtype` and moved to `device`.
    _pin_memory(Tensor self, Device? device=None) -> Tensor  # A copy of `self` in page-locked memory of the host.
    is_pinned(Tensor self, Device? device=None) -> bool  # True if `self` is in page-locked memory.
    _local_scalar_dense(Tensor self) -> Scalar  # The only element of `self` as a Python number.
    to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)  # `self`, or a copy of it, in another dtype or on another device.
    to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)
    to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)
    to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)
method:
    copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)  # Copies the elements of `src`, broadcast to its shape and converted to its dtype, into `self`.
function:
    _has_compatible_shallow_copy_type(Tensor self, Tensor from) -> bool  # True if `self` can take the memory of `from` as its own: if both have the same layout and are on devices of the same kind.
function, method:
    clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor  # A copy of `self` in memory of its own, with the strides that `memory_format` asks for.
""")  # noqa: E501

operator("_to_copy", batching=as_it_is,
         self=lambda grad, self_dtype, self_device:
             (grad.real if grad.is_complex() and not self_dtype.is_complex else grad).to(self_device, self_dtype))
operator("_pin_memory", composite=lambda self, device=None: self.pin_memory(device or "npu"))
operator("to.dtype", composite=lambda self, dtype, non_blocking=False, copy=False, memory_format=None:
         self.to(dtype, non_blocking, copy, memory_format=memory_format))
operator("to.device", composite=lambda self, device, dtype, non_blocking=False, copy=False, memory_format=None:
         self.to(device, dtype, non_blocking, copy, memory_format=memory_format))
operator("to.other", composite=lambda self, other, non_blocking=False, copy=False, memory_format=None:
         self.to(other, non_blocking, copy, memory_format=memory_format))
operator("to.dtype_layout", composite=lambda self, dtype=None, layout=None, device=None, pin_memory=None,
         non_blocking=False, copy=False, memory_format=None:
         self.to(device, dtype, non_blocking, copy, memory_format=memory_format))
operator("_has_compatible_shallow_copy_type", differentiable=False, composite=lambda self, from_:
         self.layout is from_.layout and self.device.type == from_.device.type)
operator("is_pinned", differentiable=False, composite=lambda self, device=None: self.is_pinned(device))
operator("_local_scalar_dense", differentiable=False)
operator("copy_", batching=elementwise, node="torch::autograd::CopyBackwards",
         self=lambda grad: zeros_like(grad, None, None, None, None, contiguous_format),
         src=lambda grad: grad)
operator("clone", batching=as_it_is, self=lambda grad: grad)

"""A tensor's values as Python's: numbers, lists, arrays, truth, and the parts along its first dimension."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._base.about import about
from .._base.call_site import warn_once
from .._dispatch import dispatcher
from .._dispatch.aten import _local_scalar_dense
from .._dispatch.keys import AUTOGRAD, CONJUGATE, CPU, NEGATIVE, NONCONTIGUOUS, PYTHON, REDIRECTING, THREAD_STATE
from .._dispatch.local import local
from .._dtype import FLOATING, WIDER
from . import Tensor, tensor_method

ON_CPU = CPU | AUTOGRAD | NONCONTIGUOUS  #: the keys of a tensor whose values are its array's


@tensor_method("item")
def item(self: Tensor) -> Any:
    """Return the only element as a Python number (``torch.Tensor.item``). Raises RuntimeError if the number of elements
    is not 1.
    """
    array = self._array
    if self._keys | AUTOGRAD | NONCONTIGUOUS == ON_CPU and not dispatcher.mode & REDIRECTING and array.size == 1:  # type: ignore[union-attr]
        return array.item() if self._dtype.name not in WIDER else self._item()  # type: ignore[union-attr]
    if self._keys & PYTHON or (dispatcher.mode & THREAD_STATE and local.dispatch_modes):
        return _local_scalar_dense(self)
    return self._item()


@tensor_method("tolist")
def tolist(self: Tensor) -> Any:
    """Return the elements as nested lists of Python numbers (``torch.Tensor.tolist``)."""
    array = self._host("tolist")
    return (array if (wider := WIDER.get(self._dtype.name)) is None else array.astype(wider)).tolist()


@tensor_method("numpy")
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """Return the elements as an array over the same memory, or by ``force`` as a copy (``torch.Tensor.numpy``). Raises
    RuntimeError if the tensor requires grad, derivatives are recorded and ``force`` is not set, and TypeError if the
    tensor is not on the CPU and ``force`` is not set.
    """
    if not force:
        if self._keys & AUTOGRAD and local.grad_enabled:
            raise about(RuntimeError("Can't call numpy() on Tensor that requires grad. Use "
                                     "tensor.detach().numpy() instead."), "numpy of a graph", self=self)
        for bit, resolve, name in ((CONJUGATE, "resolve_conj", "conjugate"), (NEGATIVE, "resolve_neg", "negative")):
            if self._keys & bit:
                raise RuntimeError(f"Can't call numpy() on Tensor that has {name} bit set. Use "
                                   f"tensor.{resolve}().numpy() instead.")
        if self._device.type != "cpu":
            raise about(TypeError(f"can't convert {self._device} device type tensor to numpy. Use Tensor.cpu() to "
                                  "copy the tensor to host memory first."),
                        "meta data" if self.is_meta else "numpy of a device", self=self)
    array = self._host("numpy")
    self.untyped_storage()._resizable = False
    return array.view()  # a caller may reshape, resize or protect it, which must not reach the tensor's own


@tensor_method("__array__")
def as_array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        return array.astype(dtype)
    return array.copy() if copy else array


@tensor_method("__bool__")
def truth(self: Tensor) -> bool:
    if self._keys & PYTHON or (dispatcher.mode & THREAD_STATE and local.dispatch_modes):
        return bool(_local_scalar_dense(self))
    array = self._host("bool")
    if array.size != 1:
        values = "more than one value" if array.size else "no values"
        raise about(RuntimeError(f"Boolean value of Tensor with {values} is ambiguous"), "truth of many", self=self)
    return bool(array.item())


def without_imaginary_part(number: Any, kind: str) -> Any:
    """Return a number, without its imaginary part if that is zero. Raises RuntimeError if it is not."""
    if isinstance(number, complex):
        if number.imag:
            raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
        return number.real
    return number


def number(self: Tensor) -> Any:
    """Return the only element, for Python's own conversions. Raises ValueError if there is not one."""
    if self.numel() != 1:
        raise about(ValueError("only one element tensors can be converted to Python scalars"), "number of many",
                    self=self)
    return self.item()


def scalar(self: Tensor) -> Any:
    """Return the only element as a floating point or complex number, whose gradient is lost."""
    if self._keys & AUTOGRAD and local.grad_enabled:
        warn_once("Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                  "Consider using tensor.detach() first.")
    return number(self)


@tensor_method("__int__")
def integer(self: Tensor) -> int:
    return int(without_imaginary_part(number(self), "int64_t"))


@tensor_method("__float__")
def floating_number(self: Tensor) -> float:
    return float(without_imaginary_part(scalar(self), "double"))


@tensor_method("__complex__")
def complex_number(self: Tensor) -> complex:
    return complex(scalar(self))


@tensor_method("__index__")
def index(self: Tensor) -> int:
    if self._dtype.category >= FLOATING or self.numel() != 1:
        raise about(TypeError("only integer tensors of a single element can be converted to an index"),
                    "number of many", self=self)
    return int(self.item())


@tensor_method("__len__")
def length(self: Tensor) -> int:
    if not self.ndim:
        raise about(TypeError("len() of a 0-d tensor"), "no dimensions", self=self)
    return self.shape[0]


@tensor_method("__iter__")
def iterator(self: Tensor) -> Iterator[Tensor]:
    if not self.dim():
        raise about(TypeError("iteration over a 0-d tensor"), "no dimensions", self=self)
    return iter(self.unbind(0))


@tensor_method("__reversed__")
def backwards(self: Tensor) -> Tensor:
    """Flip the first dimension (``torch.Tensor.__reversed__``)."""
    return self.flip(0) if self.ndim else self


@tensor_method("__contains__")
def contains(self: Tensor, element: Any) -> bool:
    if isinstance(element, (Tensor, bool, int, float, complex)):
        return bool((self == element).any())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

"""Questions that programs ask of objects: ``torch.is_tensor`` and its like, ``torch.typename``."""
from __future__ import annotations

from typing import Any

from .._base.formats import memory_format
from .._storage import TypedStorage, UntypedStorage
from .._tensor import Tensor, tensor_method


def is_tensor(obj: Any) -> bool:
    """Return True if an object is a tensor (``torch.is_tensor``)."""
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    """Return True if an object is a storage (``torch.is_storage``)."""
    return isinstance(obj, (TypedStorage, UntypedStorage))


def _asked(name: str, input: Tensor) -> Tensor:
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return input


def is_floating_point(input: Tensor) -> bool:
    """Return True if the dtype is a floating point one (``torch.is_floating_point``)."""
    return _asked("is_floating_point", input).is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Return True if the dtype is a complex one (``torch.is_complex``)."""
    return _asked("is_complex", input).is_complex()


def is_signed(input: Tensor) -> bool:
    """Return True if the dtype can hold negative numbers (``torch.is_signed``)."""
    return _asked("is_signed", input).is_signed()


def is_conj(input: Tensor) -> bool:
    """Return True if the elements are the conjugates of the memory's (``torch.is_conj``)."""
    return _asked("is_conj", input).is_conj()


def is_neg(input: Tensor) -> bool:
    """Return True if the elements are the negatives of the memory's (``torch.is_neg``)."""
    return _asked("is_neg", input).is_neg()


def is_inference(input: Tensor) -> bool:
    """Return True if the tensor was made in inference mode (``torch.is_inference``)."""
    return _asked("is_inference", input).is_inference()


@tensor_method("is_nonzero")
def is_nonzero(input: Tensor) -> bool:
    """Return True if the only element is not zero, else RuntimeError (``torch.is_nonzero``)."""
    return bool(_asked("is_nonzero", input))


@tensor_method("is_same_size")
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Return True if two tensors have the same shape (``torch.is_same_size``)."""
    return _asked("is_same_size", input).shape == other.shape


@tensor_method("dim_order")
def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """Return the dimensions from that with the largest stride to that with the smallest (``torch.Tensor.dim_order``).
    Raises RuntimeError where ``ambiguity_check`` asks for it, if the strides fit other orders as well, and not just one
    of the memory formats that it lists, and TypeError if it is neither a bool nor such a list.
    """
    if not isinstance(ambiguity_check, bool) and not (isinstance(ambiguity_check, list) and all(
            isinstance(item, memory_format) for item in ambiguity_check)):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    strides, shape = self._strides(), self.shape
    order = tuple(sorted(range(self.ndim), key=lambda d: (-strides[d], d)))
    formats = [] if isinstance(ambiguity_check, bool) else ambiguity_check
    if (ambiguity_check is not False and len({strides[d] for d in order if shape[d] != 1}) < self.ndim
            and [self.is_contiguous(memory_format=item) for item in formats].count(True) != 1):
        raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory "
                           "formats.")
    return order


def numel(input: Tensor) -> int:
    """Return the number of elements (``torch.numel``)."""
    return _asked("numel", input).numel()


def get_device(input: Tensor) -> int:
    """Return the index of the tensor's device, -1 for the CPU (``torch.get_device``)."""
    return _asked("get_device", input).get_device()


def typename(obj: Any) -> str:
    """Return a tensor's legacy type, or the full name of an object's type or of a function (``torch.typename``)."""
    if isinstance(obj, Tensor):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None)
    return named.__qualname__ if module in (None, "", "builtins") else f"{module}.{named.__qualname__}"


__all__ = [
    "get_device", "is_complex", "is_conj", "is_floating_point", "is_inference", "is_neg", "is_nonzero", "is_same_size",
    "is_signed", "is_storage", "is_tensor", "numel", "typename",
]

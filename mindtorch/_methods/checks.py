"""Checks that raise the error of one's choice: ``torch._check`` and its like."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .._base.symbolic import SymInt, promised
from .._dispatch.torch_function import overridable
from .._dtype import DTYPES
from .._tensor import Tensor

Message = Callable[[], Any] | None


@overridable
def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError unless ``condition`` is true; ``torch.fx`` records the call (``torch._assert``)."""
    assert condition, message


def _check_with(error_type: type[Exception], cond: bool, message: Message) -> None:
    """Raise an error of this type with ``message()`` unless ``cond`` is True, a bool (``torch._check_with``)."""
    if isinstance(cond, Tensor):
        raise TypeError("cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() "
                        "to assert that all elements are true.")
    cond = promised(cond)
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type("Expected cond to be True, but got False. (Could this error message be improved? If so, "
                         "please report an enhancement request to PyTorch.)")
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond: bool, message: Message = None) -> None:
    """Raise RuntimeError with the text of ``message()``, unless ``cond`` is True (``torch._check``)."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: bool, message: Message = None) -> None:
    """Raise IndexError with the text of ``message()``, unless ``cond`` is True (``torch._check_index``)."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool, message: Message = None) -> None:
    """Raise ValueError with the text of ``message()``, unless ``cond`` is True (``torch._check_value``)."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool, message: Message = None) -> None:
    """Raise TypeError with the text of ``message()``, unless ``cond`` is True (``torch._check_type``)."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool, message: Message = None) -> None:
    """Raise NotImplementedError(message()) unless ``cond`` (``torch._check_not_implemented``)."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """Raise RuntimeError unless ``i`` is a size, which is at least 0 and at most ``max`` (``torch._check_is_size``)."""
    warnings.warn("_check_is_size will be removed in a future PyTorch release along with guard_size_oblivious. Use "
                  "_check(i >= 0) instead.", FutureWarning, stacklevel=2)
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)
    if isinstance(i, SymInt):
        i.node.advise_is_size()


def _check_tensor_all_with(error_type: type[Exception], cond: Tensor, message: Message = None) -> None:
    """Raise this error unless a bool tensor is all True (``torch._check_tensor_all_with``)."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not DTYPES["bool"]:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all()), message)


def _check_tensor_all(cond: Tensor, message: Message = None) -> None:
    """Raise RuntimeError unless all elements of a tensor of bools are True (``torch._check_tensor_all``)."""
    _check_tensor_all_with(RuntimeError, cond, message)

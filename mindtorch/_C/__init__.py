"""``torch._C``: of PyTorch's C++ module, what programs that extend it use; and the probes of the NPU's libraries."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Any, ClassVar

from .._backends.npu.aclnn import is_available as _npu_aclnn_available, symbols_ok as _npu_aclnn_symbols_ok
from .._backends.random import Generator as Generator
from .._dispatch import dispatcher
from .._dispatch.dispatcher import switched
from .._dispatch.keys import CONJUGATE, INFERENCE, NEGATIVE, PYTHON
from .._dispatch.local import local
from .._dispatch.overloads import FunctionSchema as FunctionSchema
from .._dispatch.tags import Tag as Tag
from .._dispatch.torch_dispatch import disabled_torch_dispatch as _disabled_torch_dispatch_impl
from .._dispatch.torch_function import (
    ALL_OFF, DisableTorchFunction as DisableTorchFunction, DisableTorchFunctionSubclass as DisableTorchFunctionSubclass,
    disabled_torch_function as _disabled_torch_function_impl,
)
from .._tensor import Tensor as TensorBase
from . import _cpu as _cpu
from ._functions import _fft as _fft, _linalg as _linalg, _nn as _nn, _special as _special

_TensorMeta = type(TensorBase)

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "DispatchKey", "DispatchKeySet", "FunctionSchema",
           "Generator", "TensorBase"]
#: What PyTorch has here under the same names.
_ALSO = (_npu_aclnn_available, _npu_aclnn_symbols_ok, _disabled_torch_dispatch_impl, _disabled_torch_function_impl)


class ScriptMethod:
    """Stands for a compiled method of TorchScript, and has no instances (``torch._C.ScriptMethod``)."""


class Graph:
    """Stands for a graph of TorchScript, and has no instances (``torch._C.Graph``)."""


class Value:
    """Stands for a value in a graph of TorchScript, and has no instances (``torch._C.Value``)."""


class Node:
    """Stands for a node in a graph of TorchScript, and has no instances (``torch._C.Node``)."""


_has_cuda = _has_xpu = _has_mps = _has_mkldnn = False


def _log_api_usage_once(event: str) -> None:
    """Do nothing: no usage is logged."""


def _get_tracing_state() -> None:
    """Return None: no program is traced into TorchScript."""


def _are_functorch_transforms_active() -> bool:
    """Return True inside of ``vmap``, ``grad`` and their like."""
    return bool(local.frames or local.transforms)


def _is_alias_of(a: TensorBase, b: TensorBase) -> bool:
    """Return True if two tensors share a storage."""
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def _storage_id(tensor: TensorBase) -> int:
    """Return a number of the storage, the same for all tensors that share it."""
    return id(tensor.untyped_storage())


def _set_grad_enabled(enabled: bool) -> None:
    """Switch grad mode, as a node of a graph does (``torch._C._set_grad_enabled``)."""
    local.grad_enabled = enabled


def _get_privateuse1_backend_name() -> str:
    return "npu"


#: PyTorch's dispatch keys that say something here, in its order: what stands later is looked at first.
_KEYS = ("Undefined", "CPU", "Meta", "PrivateUse1", "BackendSelect", "Python", "Conjugate", "Negative",
         "ADInplaceOrView", "AutogradOther", "AutogradCPU", "AutogradMeta", "AutogradPrivateUse1", "AutocastCPU",
         "AutocastPrivateUse1", "FuncTorchBatched", "PythonTLSSnapshot", "CompositeImplicitAutograd",
         "CompositeExplicitAutograd", "Autograd", "AutocastCUDA", "AutocastXPU", "AutocastMPS", "CUDA", "XPU", "MPS",
         "AutogradCUDA", "AutogradXPU", "AutogradMPS", "SparseCPU", "QuantizedCPU", "Functionalize")
DispatchKey: Any = IntEnum("DispatchKey", {name: i for i, name in enumerate(_KEYS)})  # type: ignore[misc]


class DispatchKeySet:
    """A set of dispatch keys, as PyTorch reports it (``torch._C.DispatchKeySet``)."""

    def __init__(self, keys: Any = ()):
        self._keys = frozenset(keys if isinstance(keys, Iterable) else (keys,))

    def has(self, key: Any) -> bool:
        """Return True if a key is in the set."""
        return key in self._keys

    def add(self, key: Any) -> DispatchKeySet:
        """Return the set with another key."""
        return DispatchKeySet(self._keys | {key})

    def remove(self, key: Any) -> DispatchKeySet:
        """Return the set without a key."""
        return DispatchKeySet(self._keys - {key})

    def highestPriorityTypeId(self) -> Any:
        """Return the key whose kernel runs first."""
        return max(self._keys, default=DispatchKey(0))

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self._keys | other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self._keys & other._keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self._keys - other._keys)

    def __iter__(self) -> Iterator[Any]:
        return iter(sorted(self._keys))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(key.name for key in self)})"


_SUFFIX = {"cpu": "CPU", "meta": "Meta", "npu": "PrivateUse1"}


def _dispatch_keys(tensor: TensorBase) -> DispatchKeySet:
    """Return a tensor's dispatch keys as in PyTorch, which puts autograd and autocast into every set."""
    backend, has = _SUFFIX[tensor._device.type], tensor._keys
    names = [backend] if backend == "Meta" else [backend, f"Autocast{backend}"]
    if not has & INFERENCE:
        names += ["ADInplaceOrView", f"Autograd{backend}"]
    names += [key for key, bit in (("Conjugate", CONJUGATE), ("Negative", NEGATIVE)) if has & bit]
    if has & PYTHON:
        names += ["Python", "PythonTLSSnapshot"]
    return DispatchKeySet(DispatchKey[name] for name in names)


def _dispatch_isTensorSubclassLike(tensor: TensorBase) -> bool:
    """Return True if a ``__torch_dispatch__`` decides what operators do with a tensor."""
    return bool(tensor._keys & PYTHON) or bool(local.dispatch_modes)


def _dispatch_has_kernel(name: str) -> bool:
    """Return True if there is an operator of this name: ``aten::add.Tensor``."""
    return name.removeprefix("aten::") in dispatcher.registry.operators


def _dispatch_tls_is_dispatch_key_excluded(key: Any) -> bool:
    """Return True if calls do not look at a key in this thread."""
    return local.below_autograd and "Autograd" in DispatchKey(key).name


def _is_torch_function_enabled() -> bool:
    """Return True if classes are asked by their ``__torch_function__``."""
    return not local.function_off


def _is_torch_function_all_disabled() -> bool:
    """Return True if no class or mode is asked."""
    return local.function_off == ALL_OFF


def _is_torch_function_mode_enabled() -> bool:
    """Return True if a ``TorchFunctionMode`` is asked."""
    return bool(local.function_modes) and local.function_off != ALL_OFF


def _len_torch_function_stack() -> int:
    return len(local.function_modes)


def _get_function_stack_at(i: int) -> Any:
    return local.function_modes[i]


def _len_torch_dispatch_stack() -> int:
    return len(local.dispatch_modes)


def _get_dispatch_stack_at(i: int) -> Any:
    return local.dispatch_modes[i]


class _Guard:
    """A block, or the time until the guard is deleted, in which the thread's state is another."""

    _changes: ClassVar[dict[str, Any]]

    def __init__(self) -> None:
        self._block: Any = switched(**self._changes)
        self._block.__enter__()

    def __enter__(self) -> _Guard:
        return self

    def __exit__(self, *exc: Any) -> None:
        block, self._block = self._block, None
        if block is not None:
            block.__exit__(None, None, None)

    __del__ = __exit__


class _DisableTorchDispatch(_Guard):
    """``__torch_dispatch__`` is not asked."""

    _changes: ClassVar = {"dispatch_off": True}


class _EnableTorchFunction(_Guard):
    """``__torch_function__`` is asked though it was switched off."""

    _changes: ClassVar = {"function_off": 0}


class _RestorePythonTLSSnapshot(_Guard):
    """Calls record derivatives again though a ``__torch_dispatch__`` runs."""

    _changes: ClassVar = {"below_autograd": False}


class _AutoDispatchBelowAutograd(_Guard):
    """Calls record no derivatives."""

    _changes: ClassVar = {"below_autograd": True}

"""Autocast casts the floating point inputs of PyTorch's listed operators. Operators called inside one are not cast."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .._base.errors import check
from .._dtype import DType, float32, float64
from .dispatcher import TENSOR_TYPES, flattened, set_local
from .keys import AUTOGRAD
from .local import local
from .registry import Operator, registry

LOWER, FLOAT32, PROMOTE = "lower", "float32", "promote"


def policies(words: str) -> dict[str, str] | None:
    """Return an operator's policy by device: 'lower' precision, 'float32', or 'promote' for inputs of both.

    A policy holds for both devices, or for one if a device precedes it, as in 'npu float32'. The policies are those of
    ATen's ``autocast_mode.cpp``.
    """
    if not words:
        return None
    if " " not in words:
        return {"cpu": words, "npu": words}
    return {pair.split()[0]: pair.split()[1] for pair in words.split(", ")}


#: Parameters in the lower precision, so that each is cast once a block. The cache key is the id and whether the cast is
#: recorded; the weak reference shows whether the id still belongs to the parameter.
_cache: dict[tuple[int, bool], tuple[weakref.ref[Any], Any]] = {}
cache_enabled = True


def clear_cache() -> None:
    """Clear the cache of cast parameters."""
    _cache.clear()


def switch(device: str, dtype: DType | None) -> None:
    """Cast to ``dtype`` on a device in this thread from now on; None switches casting off."""
    active = {kind: found for kind, found in (local.autocast or {}).items() if kind != device}
    set_local("autocast", {**active, device: dtype} if dtype is not None else active or None)


def casting(op: Operator) -> Callable[..., Any] | None:
    """Return the operator with its inputs cast, or None without a policy for the devices on which this thread casts."""
    found = None if op.is_inplace or op.is_out else registry.autocast.get(op.name)
    if found is None or found.keys().isdisjoint(local.autocast):
        return None

    promotes = PROMOTE in found.values()
    own = next((kernel for kind, kernel in found.items() if kind in local.autocast and callable(kernel)), None)

    def call(*args: Any) -> Any:
        active, local.autocast = local.autocast, None
        try:
            if own is not None:  # `torch.library.impl(..., "AutocastCPU")`: the user's function casts and calls
                return own(*args)
            policies = _promoted(args, found, active) if promotes else found
            return op.call(*[_cast(value, policies, active) for value in args])
        finally:
            local.autocast = active

    return call


def _promoted(args: Any, policies: dict[str, Any], active: dict[str, DType]) -> dict[str, Any]:
    """Return the policies with the dtype that operands are promoted to, which is float32 if one of them has it; another
    half dtype may only come after float32.
    """
    found = {device: active.get(device) if policy == PROMOTE else policy for device, policy in policies.items()}
    for value in flattened(args):
        if value.__class__ in TENSOR_TYPES and policies.get(device := value._device.type) == PROMOTE and (
                device in active and value._dtype.is_floating_point):
            if value._dtype is float32:
                found[device] = float32
                break
            check(value._dtype in (active[device], float64),
                  "Unexpected floating ScalarType in at::autocast::prioritize")
    return found


def _cast(value: Any, policies: dict[str, Any], active: dict[str, DType]) -> Any:
    """Return a tensor, or a list's tensors, in the dtype that the operator computes in on its device."""
    if value.__class__ not in TENSOR_TYPES:
        if (kind := value.__class__) is list or kind is tuple:
            return kind([_cast(item, policies, active) for item in value])
        return value
    lower = active.get(value._device.type)
    policy = None if lower is None else policies.get(value._device.type)
    if policy is None or not value._dtype.is_floating_point or value._dtype is float64:
        return value
    dtype: Any = lower if policy == LOWER else float32 if policy == FLOAT32 else policy
    if value._dtype is dtype:
        return value
    if not (policy == LOWER and cache_enabled and value._keys & AUTOGRAD and value._dtype is float32
            and value._base is None and value._grad_fn is None):
        return registry["_to_copy"].call(value, dtype)
    key = (id(value), local.grad_enabled)
    found = _cache.get(key)
    if found is None or found[0]() is not value or found[1]._dtype is not dtype:
        found = _cache[key] = weakref.ref(value), registry["_to_copy"].call(value, dtype)
    return found[1]

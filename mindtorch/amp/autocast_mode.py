"""``torch.autocast``: a block in which operators choose their precision by PyTorch's lists."""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from .._autograd.grad_mode import _Mode
from .._base.about import check_flags, wrong_argument
from .._base.interrupts import Undo, leaving, uninterrupted
from .._device import device as Device
from .._dispatch import autocast as casting
from .._dispatch.local import local
from .._dtype import DType, bfloat16, float16, float64
from .._tensor import Tensor

#: The dtypes to which autocast casts, by device type.
_dtypes: dict[str, DType] = {"cpu": bfloat16, "npu": float16, "cuda": float16, "xpu": float16, "mps": float16,
                             "hpu": bfloat16, "mtia": float16, "xla": bfloat16, "maia": float16}
_nesting = 0


def _kind(function: str, device_type: Any) -> str:
    """Return a device type. Raises TypeError if it is no text, and RuntimeError if there is none of that name."""
    if not isinstance(device_type, str):
        raise wrong_argument(function, "device_type", "str", device_type, 1)
    return device_type if device_type in _dtypes else Device(device_type).type


def is_autocast_available(device_type: str) -> bool:
    """Return True if there is autocast for a device type (``torch.amp.is_autocast_available``)."""
    return _kind("_is_autocast_available", device_type) in _dtypes


def get_autocast_dtype(device_type: str) -> DType:
    """Return the dtype that autocast casts to by default (``torch.get_autocast_dtype``). Raises RuntimeError if there
    is no autocast for the device type.
    """
    if (kind := _kind("get_autocast_dtype", device_type)) not in _dtypes:
        raise RuntimeError(f"unsupported autocast device_type '{device_type}'")
    return (local.autocast or {}).get(kind) or _dtypes[kind]


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Set the dtype that autocast casts to by default (``torch.set_autocast_dtype``)."""
    kind = _kind("set_autocast_dtype", device_type)
    if not isinstance(dtype, DType):
        raise wrong_argument("set_autocast_dtype", "dtype", "torch.dtype", dtype, 2)
    _dtypes[kind] = dtype
    if is_autocast_enabled(kind):
        casting.switch(kind, dtype)


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return True if this thread casts on a device, by default CUDA (``torch.is_autocast_enabled``)."""
    return _kind("is_autocast_enabled", device_type) in (local.autocast or {})


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch casting on or off in this thread (``torch.set_autocast_enabled``)."""
    kind, on = ("cuda", device_type) if enabled is None else (device_type, enabled)
    check_flags("set_autocast_enabled", first=1 if enabled is None else 2, enabled=on)
    casting.switch(kind, get_autocast_dtype(kind) if on else None)


def is_autocast_cpu_enabled() -> bool:
    """Return True if this thread casts on the CPU (``torch.is_autocast_cpu_enabled``)."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Switch casting on the CPU on or off in this thread (``torch.set_autocast_cpu_enabled``)."""
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> DType:
    """Return the dtype that autocast casts to on the CPU (``torch.get_autocast_cpu_dtype``)."""
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: DType) -> None:
    """Set the dtype that autocast casts to on the CPU (``torch.set_autocast_cpu_dtype``)."""
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> DType:
    """Return the dtype that autocast would cast to on CUDA (``torch.get_autocast_gpu_dtype``)."""
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: DType) -> None:
    """Set the dtype that autocast would cast to on CUDA (``torch.set_autocast_gpu_dtype``)."""
    set_autocast_dtype("cuda", dtype)


def is_autocast_cache_enabled() -> bool:
    """Return True if a parameter is cast once a block (``torch.is_autocast_cache_enabled``)."""
    return casting.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether a parameter is cast once a block (``torch.set_autocast_cache_enabled``)."""
    check_flags("set_autocast_cache_enabled", enabled=enabled)
    casting.cache_enabled = enabled


def clear_autocast_cache() -> None:
    """Forget the parameters that were cast (``torch.clear_autocast_cache``)."""
    casting.clear_cache()


def autocast_increment_nesting() -> int:
    """Count a block that begins (``torch.autocast_increment_nesting``)."""
    global _nesting
    _nesting += 1
    return _nesting


def autocast_decrement_nesting() -> int:
    """Count a block that ends (``torch.autocast_decrement_nesting``)."""
    global _nesting
    _nesting -= 1
    return _nesting


class autocast(_Mode):
    """A block or decorator that computes matrix products and the like in ``dtype``, precision-critical operators in
    float32, and the rest in the dtype of its inputs (``torch.autocast``). Raises ValueError if the device type is not a
    string, and RuntimeError if there is no autocast for it.
    """

    def __init__(self, device_type: str, dtype: DType | None = None, enabled: bool = True,
                 cache_enabled: bool | None = None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_type
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = casting.cache_enabled if cache_enabled is None else cache_enabled
        if enabled and device_type == "cuda":
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            enabled = False
        elif enabled and self.fast_dtype not in (bfloat16, float16):
            name = device_type.upper()
            warnings.warn(f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n{name} "
                          "Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.", stacklevel=2)
            enabled = False
        self._enabled = enabled
        self._before: list[tuple[DType | None, bool]] = []

    def __enter__(self) -> autocast:
        with uninterrupted():
            self._before.append(((local.autocast or {}).get(self.device), casting.cache_enabled))
            autocast_increment_nesting()
            set_autocast_cache_enabled(self._cache_enabled)
            casting.switch(self.device, self.fast_dtype if self._enabled else None)
        return self

    def _leaving(self) -> Undo:
        depth = len(self._before)

        def undo(gone: Any) -> None:
            if len(self._before) > depth:
                self.__exit__()

        return undo

    @leaving(_leaving)
    def __exit__(self, *exc: object) -> None:
        with uninterrupted():
            dtype, cached = self._before.pop()
            if autocast_decrement_nesting() == 0:
                clear_autocast_cache()
            casting.switch(self.device, dtype)
            casting.cache_enabled = cached

    def clone(self) -> autocast:
        """Return the context manager itself: it may be entered again."""
        return self

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(function):
            raise TypeError(f"autocast()(func) requires a callable, but got {type(function).__name__}. Did you mean to "
                            "use autocast as a context manager? For example:\n    with torch.autocast(device_type=...):"
                            "\n        output = model(input)")
        return super().__call__(function)


def _enter_autocast(*settings: Any) -> autocast:
    """Enter autocast in a graph, and return it (``torch.amp.autocast_mode._enter_autocast``)."""
    return autocast(*settings).__enter__()


def _exit_autocast(mode: autocast) -> None:
    """Leave autocast in a graph (``torch.amp.autocast_mode._exit_autocast``)."""
    mode.__exit__(None, None, None)


def _cast(value: Any, device_type: str, dtype: DType) -> Any:
    """Cast floating-point tensors except float64, also in containers."""
    if isinstance(value, Tensor):
        wanted = value.is_floating_point() and value.device.type == device_type and value.dtype is not float64
        return value.to(dtype) if wanted else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {_cast(key, device_type, dtype): _cast(item, device_type, dtype) for key, item in value.items()}
    if isinstance(value, Iterable):
        items = (_cast(item, device_type, dtype) for item in value)
        return type(value)(items) if isinstance(value, (list, tuple)) else items
    return value


def custom_fwd(fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: DType | None = None) -> Any:
    """Decorate ``forward`` of an autograd function: with ``cast_inputs``, its inputs are cast and it runs without
    autocast (``torch.amp.custom_fwd``).
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        active = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = active and cast_inputs is None
        if cast_inputs is None or not active:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorate ``backward`` of an autograd function to run under autocast if ``forward`` did (``torch.amp``)."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *args, **kwargs)

    return backward


__all__ = [
    "autocast", "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "custom_bwd",
    "custom_fwd", "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_available",
    "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled", "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled",
    "set_autocast_gpu_dtype",
]

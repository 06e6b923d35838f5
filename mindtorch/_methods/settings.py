"""Settings of the whole process: threads, determinism, precision, warnings."""
from __future__ import annotations

import warnings
from typing import Any

from .._backends.common.blocks import processors, threads
from .._base.about import check_flags
from .._base.call_site import Told, warn_once
from .._base.determinism import Determinism
from .._dtype import DTYPES, set_default_dtype

_PRECISIONS = ("highest", "high", "medium")
_DEBUG_MODES = ("default", "warn", "error")


class _State:
    """The settings, which all threads share."""

    interop_threads = 0
    precision = "highest"


# -- threads ---------------------------------------------------------------------------------------------------------


def get_num_threads() -> int:
    """Return the number of threads that operators use on the CPU (``torch.get_num_threads``)."""
    return threads().count


def set_num_threads(num: int) -> None:
    """Set the number of threads that operators use on the CPU, for large arrays and matrix products
    (``torch.set_num_threads``). Raises RuntimeError if ``num`` is not a positive int.
    """
    threads().set_count(_positive("set_num_threads", num))


def get_num_interop_threads() -> int:
    """Return the number of threads that would run operators beside each other (``torch.get_num_interop_threads``)."""
    return _State.interop_threads or processors()


def set_num_interop_threads(num: int) -> None:
    """Store the number of threads that may run operators beside each other; there are none
    (``torch.set_num_interop_threads``). Raises RuntimeError if ``num`` is not a positive int, or was set before.
    """
    _positive("set_num_interop_threads", num)
    if _State.interop_threads:
        raise RuntimeError("Error: cannot set number of interop threads after parallel work has started or "
                           "set_num_interop_threads called")
    _State.interop_threads = num


def _positive(function: str, number: Any) -> int:
    if not isinstance(number, int) or isinstance(number, bool):
        raise RuntimeError(f"{function} expects an int, but got {type(number).__name__}")
    if number <= 0:
        raise RuntimeError(f"{function} expects a positive integer")
    return number


# -- determinism -----------------------------------------------------------------------------------------------------


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for operators that give the same each time, as all of ours do (``torch.use_deterministic_algorithms``)."""
    check_flags("_set_deterministic_algorithms", first=1, mode=mode)
    check_flags("_set_deterministic_algorithms", warn_only=warn_only)
    Determinism.enabled, Determinism.warn_only = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Return True if deterministic operators were asked for (``torch.are_deterministic_algorithms_enabled``)."""
    return Determinism.enabled


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return True if nondeterministic operators only warn (``torch.is_deterministic_algorithms_warn_only_enabled``)."""
    return Determinism.warn_only


def get_deterministic_debug_mode() -> int:
    """Return 0 for ``default``, 1 for ``warn``, 2 for ``error`` (``torch.get_deterministic_debug_mode``)."""
    return (1 if Determinism.warn_only else 2) if Determinism.enabled else 0


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Set deterministic algorithms by name or number (``torch.set_deterministic_debug_mode``). Raises TypeError if it
    is neither, and RuntimeError if there is no such mode.
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                               f"{debug_mode}")
        debug_mode = _DEBUG_MODES.index(debug_mode)
    if not 0 <= debug_mode <= 2:
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    Determinism.enabled, Determinism.warn_only = debug_mode > 0, debug_mode == 1


# -- numbers and warnings --------------------------------------------------------------------------------------------


def _check_kind(function: str, value: Any, kind: type) -> None:
    """Raise PyTorch's RuntimeError for a setting of another type."""
    if not isinstance(value, kind):
        raise RuntimeError(f"{function} expects a {kind.__name__}, but got {type(value).__name__}")


def get_float32_matmul_precision() -> str:
    """Return the precision of float32 matrix products (``torch.get_float32_matmul_precision``)."""
    return _State.precision


def set_float32_matmul_precision(precision: str) -> None:
    """Allow less than float32's precision in products, which the CPU ignores (``torch.set_float32_matmul_precision``).
    Warn of values other than ``highest``, ``high`` and ``medium``.
    """
    _check_kind("set_float32_matmul_precision", precision, str)
    if precision in _PRECISIONS:
        _State.precision = precision
    else:
        warnings.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
                      "setFloat32MatmulPrecision call has no effect.", stacklevel=2)


def set_flush_denormal(mode: bool) -> bool:
    """Return False: NumPy cannot take the smallest numbers as zero (``torch.set_flush_denormal``)."""
    _check_kind("flush_denormal", mode, bool)
    return False


def set_warn_always(b: bool) -> None:
    """Note whether every occasion of a warning should be told, not only the first (``torch.set_warn_always``)."""
    _check_kind("setWarnOnlyOnce", b, bool)
    Told.always = b


def is_warn_always_enabled() -> bool:
    """Return True if every occasion of a warning is reported (``torch.is_warn_always_enabled``)."""
    return Told.always


def set_default_tensor_type(t: Any) -> None:
    """Set the dtype by a legacy type or name (``torch.set_default_tensor_type``), or raise TypeError."""
    warn_once("torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() "
              "and torch.set_default_device() as alternatives.")
    name = t if isinstance(t, str) else getattr(t, "__name__", "")
    dtypes = {"FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16",
              "BFloat16Tensor": "bfloat16"}
    if name.rpartition(".")[2] not in dtypes:
        raise TypeError("only floating-point types are supported as the default type")
    set_default_dtype(DTYPES[dtypes[name.rpartition(".")[2]]])


__all__ = [
    "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode", "get_float32_matmul_precision",
    "get_num_interop_threads", "get_num_threads", "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled", "set_default_tensor_type", "set_deterministic_debug_mode", "set_flush_denormal",
    "set_float32_matmul_precision", "set_num_interop_threads", "set_num_threads", "set_warn_always",
    "use_deterministic_algorithms",
]

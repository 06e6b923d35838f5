"""Discrete Fourier transforms under PyTorch's names: ``torch.fft``."""
from __future__ import annotations

import math
from typing import Any

from ._creation import arange
from ._creation.functions import options_of
from ._dispatch.binding import make_namespace
from ._dispatch.schemas import registry
from ._dtype import FLOATING, DType, get_default_dtype
from ._tensor import Tensor

PREFIX = "fft_"
_functions = make_namespace(__name__, {packet.removeprefix(PREFIX): packet for packet in registry.packets
                                       if packet.startswith(PREFIX)})
globals().update(_functions)


def _frequencies(function: str, n: int, d: float, positive: bool, dtype: DType | None,
                 options: dict[str, Any]) -> Tensor:
    out = options.get("out")
    dtype = dtype or (get_default_dtype() if out is None else out.dtype)
    if dtype.category < FLOATING:
        raise RuntimeError(f"{function} requires a floating point or complex dtype, got {dtype}")
    scale = 1.0 / (n * d) if n * d else math.inf
    if positive:
        return arange(n // 2 + 1, dtype=dtype, **options).mul_(scale)
    result = arange(n, dtype=dtype, **options)
    result.narrow(0, n - n // 2, n // 2).add_(-n)
    return result.mul_(scale)


@options_of(arange)
def fftfreq(n: int, d: float = 1.0, *, dtype: DType | None = None, **options: Any) -> Tensor:
    """Return the frequencies of ``fft`` of ``n`` points that are ``d`` apart (``torch.fft.fftfreq``). Raises
    RuntimeError for a dtype that is neither floating point nor complex.
    """
    return _frequencies("fftfreq", n, d, False, dtype, options)


@options_of(arange)
def rfftfreq(n: int, d: float = 1.0, *, dtype: DType | None = None, **options: Any) -> Tensor:
    """Return the frequencies of ``rfft`` of ``n`` points that are ``d`` apart (``torch.fft.rfftfreq``). Raises
    RuntimeError for a dtype that is neither floating point nor complex.
    """
    return _frequencies("rfftfreq", n, d, True, dtype, options)


__all__ = sorted([*_functions, "fftfreq", "rfftfreq"])
__dir__ = __all__.copy

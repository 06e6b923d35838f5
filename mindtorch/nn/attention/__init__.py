"""``torch.nn.attention``: which kernel computes ``scaled_dot_product_attention``."""
from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, IntEnum

from ..._base.backend import FLASH, MATH, attention_kernels
from ..._base.interrupts import contextmanager

__all__ = ["SDPBackend", "sdpa_kernel"]
__dir__ = __all__.copy


class SDPBackend(IntEnum):
    """The kernels that PyTorch has (``torch.nn.attention.SDPBackend``). Here there are ``MATH``, in other operators,
    ``FLASH_ATTENTION``, in blocks, and in its place on an NPU ``OVERRIDEABLE``, the device's own.
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    __str__ = Enum.__str__


@contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """In this block ``scaled_dot_product_attention`` takes one of these kernels (``torch.nn.attention.sdpa_kernel``),
    ``FLASH_ATTENTION`` where it can; ``set_priority`` changes nothing, as on PyTorch's CPU. It raises RuntimeError if
    none of them takes a call's tensors. Raises AssertionError if ``backends`` is neither an ``SDPBackend`` nor a list
    of them.
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
                             f"{type(backends).__name__}")
    before = attention_kernels.enabled
    wanted = {backends} if isinstance(backends, SDPBackend) else set(backends)
    attention_kernels.enabled = {int(kernel) for kernel in wanted} & {MATH, FLASH}
    try:
        yield
    finally:
        attention_kernels.enabled = before

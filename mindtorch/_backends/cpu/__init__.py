"""The CPU backend: NumPy does the arithmetic.

A row of ``ops.CPU_KERNELS`` is a function of arrays that returns arrays. ``kernels`` makes it a kernel on tensors: what
that has to return, the meta kernel says, and ``rows`` sees to dtype and layout. Kernels of pointwise operators stand in
``pointwise``. ``kept`` has what was found out about calls, for the next call like one.

For calls that leave nothing to decide there are ``fast_paths``, of which ``unwatched`` has what wraps those of
composites, and ``forms`` those of in-place and ``out=`` forms. What several families of rows compute with is in
``windows`` and ``taps``.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._base.backend import FLASH, Backend, register
from ..._dispatch.keys import CPU
from ..._dispatch.registry import Kernel, Operator
from ..._storage import allocate
from ..._tensor import Tensor
from ..common import half
from ..common.quiet import quietly
from .creation import KERNELS
from .kernels import kernel_of


class CPUBackend(Backend):
    """The host and its memory."""

    name, key = "cpu", CPU

    def kernel(self, op: Operator) -> Kernel | None:
        own = KERNELS.get(op.name)
        return kernel_of(op) if own is None else Kernel(own, own)

    def allocate(self, nbytes: int, where: Any) -> np.ndarray:
        return allocate((nbytes,), np.dtype(np.uint8))

    def attention_kernel(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> int:
        return FLASH

    def write(self, target: Tensor, source: Tensor, non_blocking: bool) -> None:
        values = source._host("copy")
        if source._dtype is target._dtype:
            target._array[...] = values  # type: ignore[index]
            return
        array: np.ndarray = target._array  # type: ignore[assignment]
        quietly(half.convert, half.part_for(values, target._dtype), array)


register(CPUBackend())

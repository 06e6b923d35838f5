"""The CPU backend: NumPy does the arithmetic.

A row of ``ops.CPU_KERNELS`` is a function of arrays that returns arrays. ``kernels`` turns it into a kernel on tensors:
the meta kernel describes the outputs, and ``rows`` adjusts dtype and layout. Both happen once for each layout: later
calls find a plan, and run its function. ``pointwise`` has the kernels of pointwise operators.

``views`` has plans of views, ``at_once`` those of composites, whose rows stand in ``ops.AT_ONCE``. ``forms`` has fast
paths of in-place and ``out=`` forms, ``fast_paths`` those of calls whose checks depend on values. ``one_matrix`` calls
LAPACK for one small matrix. ``windows`` and ``taps`` are shared by several families of rows.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._base.backend import FLASH, Backend, register
from ..._base.quiet import quietly
from ..._dispatch.keys import AUTOGRAD, CPU, NONCONTIGUOUS
from ..._dispatch.registry import Kernel, Operator
from ..._storage import allocate
from ..._tensor import Tensor
from ..common import half
from .creation import KERNELS
from .kernels import kernel_of

PLAIN = AUTOGRAD | CPU | NONCONTIGUOUS  #: the keys of tensors whose arrays are their values


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
        # Nothing depends on what is only copied in memory: it does not count as read.
        values = source._host("copy") if source._array is None or source._keys & ~PLAIN else source._array
        if source._dtype is target._dtype:
            target._array[...] = values  # type: ignore[index]
            return
        array: np.ndarray = target._array  # type: ignore[assignment]
        quietly(half.convert, half.part_for(values, target._dtype), array)


register(CPUBackend())

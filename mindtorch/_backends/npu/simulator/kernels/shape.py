"""Simulated kernels of concatenation, splitting, repetition, reordering, diagonals and padding."""
from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from ....cpu.ops.reduction import to_opmath
from .forms import Array, Kernel, scalar_of, store, whole


def split(self: Array, sizes: Any, dim: int, outs: list[Array]) -> None:
    for out, part in zip(outs, np.split(self, list(accumulate(sizes))[:-1], dim), strict=True):
        store(out, part)


def split_evenly(self: Array, size: int, dim: int, outs: list[Array]) -> None:
    split(self, [out.shape[dim] for out in outs], dim, outs)


def padded(x: Array, padding: Any, **how: Any) -> Array:
    """Padding as PyTorch gives it: two numbers per dimension, the last dimension first; negative ones crop."""
    low, high = [0] * x.ndim, [0] * x.ndim
    for i in range(len(padding) // 2):
        low[-1 - i], high[-1 - i] = padding[2 * i], padding[2 * i + 1]
    kept = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for a, b, n in zip(low, high, x.shape, strict=True))]
    return np.pad(kept, [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)], **how)


def pad_constant(self: Array, padding: Any, value: Any, out: Array) -> None:
    store(out, padded(self, padding, constant_values=scalar_of(value, self)))


def padding(name: str, how: str, dims: int) -> dict[str, Kernel]:
    """The two operators that pad with what is there. The gradient goes back to the places that values came from."""

    def backward(grad: Array, self: Array, padding: Any, out: Array) -> None:
        came_from = padded(np.arange(self.size).reshape(self.shape), padding, mode=how)
        wide = to_opmath(grad)
        total = np.zeros(self.size, wide.dtype)
        np.add.at(total, came_from.reshape(-1), wide.reshape(-1))
        store(out, total.reshape(self.shape))

    return {f"{name}{dims}d": whole(lambda self, padding: padded(self, padding, mode=how)),
            f"{name}{dims}dBackward": backward}


def repeated(self: Array, repeats: Any, output_size: int) -> Any:
    return np.repeat(self, repeats)


def repeated_along(self: Array, repeats: Any, dim: int, output_size: int) -> Any:
    return np.repeat(self, repeats, dim)


KERNELS: dict[str, Kernel] = {
    "aclnnCat": whole("cat"),
    "aclnnStack": whole("stack"),
    "aclnnSplitTensor": split_evenly,
    "aclnnSplitWithSize": split,
    "aclnnRepeat": whole(np.tile),
    "aclnnRepeatInterleave": whole(repeated),
    "aclnnRepeatInterleaveWithDim": whole(repeated_along),
    "aclnnRepeatInterleaveInt": whole(repeated),
    "aclnnRepeatInterleaveIntWithDim": whole(repeated_along),
    "aclnnRepeatInterleaveTensor": whole("repeat_interleave.Tensor"),
    "aclnnFlip": whole("flip"),
    "aclnnRoll": whole(lambda x, shifts, dims: np.roll(x, shifts, dims or None)),
    "aclnnTril": whole("tril"),
    "aclnnTriu": whole("triu"),
    "aclnnDiag": whole(np.diag),
    "aclnnDiagFlat": whole(np.diagflat),
    "aclnnConstantPadNd": pad_constant,
    **padding("aclnnReflectionPad", "reflect", 1),
    **padding("aclnnReflectionPad", "reflect", 2),
    **padding("aclnnReflectionPad", "reflect", 3),
    **padding("aclnnReplicationPad", "edge", 1),
    **padding("aclnnReplicationPad", "edge", 2),
    **padding("aclnnReplicationPad", "edge", 3),
}

"""Simulated kernels of concatenation, splitting, repetition, reordering, diagonals and padding."""
from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from ....cpu.ops.reduction import to_opmath
from .forms import Array, Kernel, inplace, named, scalar_of, store, whole


def split(self: Array, sizes: Any, dim: int, outs: list[Array]) -> None:
    for out, part in zip(outs, np.split(self, list(accumulate(sizes))[:-1], dim), strict=True):
        store(out, part)


def padded(x: Array, padding: Any, **how: Any) -> Array:
    """Pad an array by PyTorch's ``padding``: two numbers a dimension, the last first; negative ones crop."""
    low, high = [0] * x.ndim, [0] * x.ndim
    for i in range(len(padding) // 2):
        low[-1 - i], high[-1 - i] = padding[2 * i], padding[2 * i + 1]
    kept = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for a, b, n in zip(low, high, x.shape, strict=True))]
    return np.pad(kept, [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)], **how)


def pad_constant(self: Array, padding: Any, value: Any, out: Array) -> None:
    store(out, padded(self, padding, constant_values=scalar_of(value, self)))


def padding(name: str, how: str) -> dict[str, Kernel]:
    """Make the operators that pad 1 to 3 dimensions with elements; gradients return to their sources."""

    def backward(grad: Array, self: Array, padding: Any, out: Array) -> None:
        came_from = padded(np.arange(self.size).reshape(self.shape), padding, mode=how)
        wide = to_opmath(grad)
        total = np.zeros(self.size, wide.dtype)
        np.add.at(total, came_from.reshape(-1), wide.reshape(-1))
        store(out, total.reshape(self.shape))

    forward = whole(lambda self, padding: padded(self, padding, mode=how))
    return {f"{name}{dims}d{form}": kernel for dims in (1, 2, 3) for form, kernel in (("", forward),
                                                                                      ("Backward", backward))}


KERNELS: dict[str, Kernel] = {
    **named(inplace, "InplaceTril tril_   InplaceTriu triu_"),
    **named(whole, """
        Cat cat                     Stack stack                 Flip flip                   Tril tril
        Triu triu                   RepeatInterleaveTensor repeat_interleave.Tensor
    """),
    "aclnnSplitTensor": lambda self, size, dim, outs: split(self, [out.shape[dim] for out in outs], dim, outs),
    "aclnnSplitWithSize": split,
    "aclnnRepeat": whole(np.tile),
    "aclnnRepeatInterleave": whole(lambda self, repeats, output_size: np.repeat(self, repeats)),
    "aclnnRepeatInterleaveWithDim": whole(lambda self, repeats, dim, output_size: np.repeat(self, repeats, dim)),
    "aclnnRoll": whole(lambda x, shifts, dims: np.roll(x, shifts, dims or None)),
    "aclnnDiag": whole(np.diag),
    "aclnnDiagFlat": whole(np.diagflat),
    "aclnnConstantPadNd": pad_constant,
    **padding("aclnnReflectionPad", "reflect"),
    **padding("aclnnReplicationPad", "edge"),
}

"""Simulated kernels of copies, conversion, filling, sequences and random numbers.

Random numbers depend on the seed and the offset alone; with offset 0 they are those of the CPU's generator.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ....._dtype import from_numpy_dtype, int64
from ....cpu.precision import to_opmath
from ....random.generator import Generator
from .forms import CPU, Array, Kernel, named, number, scalar_of, store

#: Spreads offsets over all seeds: 2**64 divided by the golden ratio.
SPREAD = 0x9E3779B97F4A7C15
#: Bits of a dropout mask come in groups of so many.
ALIGNMENT = 128


def seeded(seed: int, offset: int) -> Generator:
    return Generator().manual_seed((seed + offset * SPREAD) % (1 << 64))


def fill(out: Array, value: Any) -> None:
    out[...] = scalar_of(value, out)


def arange(start: Any, end: Any, step: Any, out: Array) -> None:
    values = CPU["arange.start_step"](number(start), number(end), number(step), from_numpy_dtype(out.dtype))
    store(out, values[: out.size])


def linspace(start: Any, end: Any, steps: int, out: Array) -> None:
    store(out, CPU["linspace"](number(start), number(end), steps, from_numpy_dtype(out.dtype)))


def eye(n: int, m: int, out: Array) -> None:
    store(out, np.eye(n, m))


def draws(row: str) -> Kernel:
    """Make an operator that fills a tensor; a seed and an offset come last."""

    def kernel(out: Array, *args: Any) -> None:
        *parameters, seed, offset = args
        CPU[row](out, *map(number, parameters), seeded(seed, offset))

    return kernel


def draws_last(row: str) -> Kernel:
    """Make the form of such an operator whose output comes last and whose first argument does not matter."""
    kernel = draws(row)
    return lambda *args: kernel(args[-1], *args[1:-1])


def normal(mean: Any, std: Any, seed: int, offset: int, out: Array) -> None:
    noise = np.empty(out.shape, np.float64 if out.dtype == np.float64 else np.float32)
    CPU["normal_"](noise, 0.0, 1.0, seeded(seed, offset))
    mean, std = (np.asarray(part, noise.dtype) for part in (mean, std))
    store(out, noise * std + mean)


def randperm(n: int, seed: int, offset: int, out: Array) -> None:
    store(out, CPU["randperm.generator"](n, seeded(seed, offset), int64))


def multinomial(self: Array, samples: int, replacement: bool, seed: int, offset: int, out: Array) -> None:
    wide = to_opmath(self)
    store(out, CPU["multinomial"](wide, samples, replacement, seeded(seed, offset)))


def dropout_mask(shape: Any, p: float, seed: int, offset: int, out: Array) -> None:
    """Draw a bit per element, 1 for elements to keep."""
    kept = np.zeros(-(-int(np.prod(shape)) // ALIGNMENT) * ALIGNMENT, np.bool_)
    CPU["bernoulli_.float"](kept, 1 - p, seeded(seed, offset))
    store(out, np.packbits(kept, bitorder="little"))


def drop_out(self: Array, mask: Array, p: float, out: Array) -> None:
    """Scale the elements to keep by ``1 / (1 - p)``, and zero all others."""
    kept = np.unpackbits(mask.reshape(-1), count=self.size, bitorder="little").reshape(self.shape).astype(bool)
    wide = to_opmath(self)
    store(out, np.where(kept, wide * (0 if p == 1 else 1 / (1 - p)), 0))


KERNELS: dict[str, Kernel] = {
    "aclnnInplaceCopy": store,
    "aclnnCast": lambda self, dtype, out: store(out, self),
    "aclnnInplaceZero": lambda self: self.fill(0),
    "aclnnInplaceOne": lambda self: self.fill(1),
    "aclnnInplaceFillScalar": fill,
    "aclnnInplaceFillTensor": lambda self, value: store(self, value.reshape(())),
    "aclnnArange": arange,
    "aclnnLinspace": linspace,
    "aclnnEye": eye,
    **named(draws, """
        InplaceNormal normal_                 InplaceUniform uniform_               InplaceRandom random_.from
        InplaceBernoulli bernoulli_.float     InplaceBernoulliTensor bernoulli_.Tensor
    """),
    **named(draws_last, "Bernoulli bernoulli_.float   BernoulliTensor bernoulli_.Tensor"),
    **{f"aclnnNormal{mean}{std}": normal for mean in ("Tensor", "Float") for std in ("Tensor", "Float")},
    "aclnnRandperm": randperm,
    "aclnnMultinomial": multinomial,
    "aclnnDropoutGenMask": dropout_mask,
    "aclnnDropoutDoMask": drop_out,
}

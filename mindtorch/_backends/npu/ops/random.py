"""NPU rows of random numbers and of factories. Every draw names the seed and offset that it starts from."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...._base.layout import Spec
from ...._dtype import uint8
from ...._tensor import Tensor
from ..random import drawn
from . import ACLNN_CALLS
from .row import Aclnn, Call, Each

#: One more than the largest integer that ``random_`` draws without bounds, by dtype.
LIMITS = {"float16": 2**11 + 1, "bfloat16": 2**8 + 1, "float32": 2**24 + 1, "float64": 2**53 + 1, "bool": 2,
          "uint8": 2**8, "int8": 2**7, "int16": 2**15, "int32": 2**31, "int64": 2**63 - 1}


def signed(seed: int, offset: int) -> tuple[int, int]:
    """Return a seed as int64, with the offset."""
    return (seed + 2**63) % 2**64 - 2**63, offset


def draws(self: Tensor, generator: Any) -> tuple[int, int]:
    return signed(*drawn(DRAWN, self._device, generator))


#: How far every operator on a 910B moves the generator on, whatever the number of its elements (op-plugin).
DRAWN = 10


def normal(name: str) -> Aclnn:
    """Make a row of ``normal`` with tensors, or with one and a number."""
    return Aclnn(name, lambda mean, std, generator, out: (mean, std, *draws(out, generator), out))


#: Bits of a dropout mask come in groups of so many (op-plugin).
MASK_BITS = 128


def dropout(self: Tensor, p: float, train: bool | None, out: Tensor, kept: Any) -> Iterator[Call]:
    """Bits for the elements to keep, by which they are multiplied; the mask is where ones are kept."""
    bits = self.new_empty((-(-self.numel() // MASK_BITS) * MASK_BITS // 8,), dtype=uint8)
    ones = self.new_ones(self.shape)
    yield "aclnnDropoutGenMask", (self.shape, p, *draws(self, None), bits)
    yield "aclnnDropoutDoMask", (self, bits, p, out)
    yield "aclnnDropoutDoMask", (ones, bits, p, ones)
    yield "aclnnNeScalar", (ones, 0, kept)


def classes(self: Tensor, num_classes: int) -> Spec:
    if num_classes < 0:
        num_classes = self.max().item() + 1
    return Spec((*self.shape, num_classes), self._dtype)


def one_hot(self: Tensor, num_classes: int, out: Tensor) -> tuple[Any, ...]:
    return self, out.shape[-1], self.new_ones((1,)), self.new_zeros((1,)), -1, out


def permutation(n: int, generator: Any, *options: Any) -> tuple[Any, ...]:
    return n, *draws(options[-1], generator), options[-1]


ACLNN_CALLS.update({
    "normal_": Aclnn(
        "aclnnInplaceNormal",
        lambda self, mean, std, generator: (self, mean, std, *draws(self, generator)),
        when=lambda self, mean, std, generator: std >= 0),
    "uniform_": Aclnn(
        "aclnnInplaceUniform",
        lambda self, low, high, generator: (self, low, high, *drawn(DRAWN, self._device, generator)),
        when=lambda self, low, high, generator: low <= high),
    "random_": Aclnn(
        "aclnnInplaceRandom",
        lambda self, generator: (self, 0, LIMITS[self._dtype.name], *draws(self, generator)),
        when=lambda self, generator: self._dtype.name in LIMITS),
    "random_.to": Aclnn("aclnnInplaceRandom", lambda self, high, generator: (self, 0, high, *draws(self, generator)),
                        when=lambda self, high, generator: 0 < high <= LIMITS.get(self._dtype.name, 0)),
    "random_.from": Aclnn(
        "aclnnInplaceRandom",
        lambda self, low, high, generator: (self, low, high, *draws(self, generator)),
        when=lambda self, low, high, generator: (
            high is not None and -LIMITS.get(self._dtype.name, 0) <= low < high <= LIMITS.get(self._dtype.name, 0))),
    "bernoulli_.float": Aclnn("aclnnInplaceBernoulli", lambda self, p, generator: (self, p, *draws(self, generator)),
                              when=lambda self, p, generator: 0 <= p <= 1),
    "bernoulli_.Tensor": Aclnn("aclnnInplaceBernoulliTensor", lambda self, p, generator: (
        self, p, *draws(self, generator))),
    "bernoulli": Aclnn("aclnnBernoulliTensor", lambda self, generator, out: (self, self, *draws(self, generator), out)),
    "bernoulli.p": Aclnn("aclnnBernoulli", lambda self, p, generator, out: (self, p, *draws(self, generator), out),
                         when=lambda self, p, generator: 0 <= p <= 1),
    "multinomial": Aclnn("aclnnMultinomial", lambda self, samples, replacement, generator, out: (
        self, samples, replacement, *draws(self, generator), out)),
    "normal.Tensor_Tensor": normal("aclnnNormalTensorTensor"),
    "normal.Tensor_float": normal("aclnnNormalTensorFloat"),
    "normal.float_Tensor": normal("aclnnNormalFloatTensor"),
    "normal.float_float": Aclnn("aclnnNormalFloatFloat", lambda mean, std, size, generator, *options: (
        mean, std, *draws(options[-1], generator), options[-1])),
    "native_dropout": Each("", dropout, when=lambda self, p, train: train is not False and 0 < p < 1),
    "one_hot": Aclnn("aclnnOneHot", one_hot, spec=classes, when=lambda self, num_classes: self.numel() > 0),
    "randperm.generator": Aclnn("aclnnRandperm", permutation),
    "arange.start_step": Aclnn("aclnnArange", lambda start, end, step, *options: (start, end, step, options[-1])),
    "linspace": Aclnn(
        "aclnnLinspace",
        lambda start, end, steps, *options: (start, end, steps, options[-1]),
        when=lambda start, end, steps, *options: not isinstance(start, complex) and not isinstance(end, complex)),
    "eye.m": Aclnn("aclnnEye", lambda n, m, *options: (n, m, options[-1])),
})

"""Programs of one call for operators of the table that the samples of PyTorch's database do not reach: those for
numbers as operands, and those that run where no derivative is recorded.

Each is a function of a library and of ``x``, which draws tensors, the same ones on every device.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Draw:
    """Draws tensors of a library on a device."""

    def __init__(self, lib: Any, device: str):
        self.lib, self.device, self.random = lib, device, np.random.default_rng(0)

    def __call__(self, *shape: int) -> Any:
        return self.of(self.random.standard_normal(shape).astype(np.float32))

    def below(self, high: int, *shape: int) -> Any:
        return self.of(self.random.integers(0, high, shape))

    def of(self, values: Any) -> Any:
        return self.lib.tensor(np.asarray(values), device=self.device)


Program = Callable[[Any, Draw], Any]


def without_graph(call: Program) -> Program:
    def program(lib: Any, x: Draw) -> Any:
        with lib.no_grad():
            return call(lib, x)

    return program


def dropped(lib: Any, x: Draw) -> Any:
    """What is kept is scaled, and the mask says what is kept."""
    ones = lib.ones(64, device=x.device)
    out, mask = lib.native_dropout(ones, 0.5, True)
    return lib.stack([(out[mask] == 2).all(), (out[~mask] == 0).all(), mask.any(), ~mask.all()])


def stepped(decay: float, fused: bool | None) -> Program:
    def program(lib: Any, x: Draw) -> Any:
        weight = lib.nn.Parameter(x(3, 4))
        optimizer = lib.optim.AdamW([weight], lr=0.1, weight_decay=decay, fused=fused)
        for _ in range(2):
            optimizer.zero_grad()
            (weight**2).sum().backward()
            optimizer.step()
        return weight.detach()

    return program


def antialiased(mode: str) -> Program:
    def program(lib: Any, x: Draw) -> Any:
        image = x(1, 2, 7, 6).requires_grad_()
        smaller = lib.nn.functional.interpolate(image, (3, 4), mode=mode, antialias=True)
        smaller.square().sum().backward()
        return smaller.detach(), image.grad

    return program


def foreach(call: Callable[[Any, list[Any], list[Any]], Any]) -> Program:
    """An operator on lists, in the form that returns results or that in place."""
    return lambda lib, x: call(lib, [x(3, 4), x(2)], [x(3, 4), x(2)])


def filled(self: Any, value: Any) -> Any:
    return self.fill_(value)


PROGRAMS: dict[str, Program] = {
    "DivMods": lambda lib, x: x(3, 4).div(0.3, rounding_mode="floor"),
    "FloorDivides": lambda lib, x: x(3, 4) // 0.3,
    "RemainderScalarTensor": lambda lib, x: lib.remainder(5.0, x(3, 4)),
    "FmodScalar": lambda lib, x: lib.fmod(x(3, 4), 0.3),
    "XLogYScalarOther": lambda lib, x: lib.xlogy(x(3, 4), 2.5),
    "XLogYScalarSelf": lambda lib, x: lib.xlogy(2.5, x(3, 4).abs()),
    "BitwiseAndScalar": lambda lib, x: x.below(9, 4) & 5,
    "BitwiseOrScalar": lambda lib, x: x.below(9, 4) | 5,
    "BitwiseXorScalar": lambda lib, x: x.below(9, 4) ^ 5,
    "ClampMin": lambda lib, x: x(3, 4).clamp_min(0.2),
    "ClampMax": lambda lib, x: x(3, 4).clamp_max(0.2),
    "Selu": without_graph(lambda lib, x: lib.nn.functional.selu(x(3, 4))),
    "AminmaxDim": lambda lib, x: lib.aminmax(x(3, 4), dim=1),
    "AminmaxAll": lambda lib, x: lib.aminmax(x(3, 4)),
    "IsInTensorScalar": lambda lib, x: lib.isin(x.below(5, 9), 3),
    "IsInScalarTensor": lambda lib, x: lib.isin(3, x.below(5, 9)),
    "SplitTensor": lambda lib, x: lib.split_copy(x(4, 3), 2),
    "RepeatInterleave": lambda lib, x: x(4).repeat_interleave(x.below(3, 4)),
    "EmbeddingRenorm": lambda lib, x: lib.nn.functional.embedding(x.below(4, 5), x(4, 3), max_norm=0.5),
    "InplaceFillTensor": lambda lib, x: filled(x(3), x()),
    "InplaceBernoulliTensor": lambda lib, x: lib.empty(9, device=x.device).bernoulli_(x.of(np.ones(9, np.float32))),
    "Bernoulli": lambda lib, x: lib.bernoulli(x(9), 1.0),
    "NormalFloatTensor": lambda lib, x: lib.normal(2.0, x.of(np.zeros(3, np.float32))),
    "Randperm": lambda lib, x: lib.randperm(9, device=x.device).sort()[0],
    "DropoutDoMask": dropped,
    "L1Loss": without_graph(lambda lib, x: lib.nn.functional.l1_loss(x(3, 4), x(3, 4))),
    "KlDiv": without_graph(lambda lib, x: lib.nn.functional.kl_div(x(3, 4), x(3, 4).exp(), reduction="sum")),
    "MaxPool2dWithMask": without_graph(lambda lib, x: lib.nn.functional.max_pool2d(x(2, 3, 7, 6), 3, 2, 1)),
    **{f"Upsample{name}2dAA": antialiased(mode) for name, mode in (("Bilinear", "bilinear"), ("Bicubic", "bicubic"))},
    "RmsNorm": without_graph(lambda lib, x: lib.nn.functional.rms_norm(x(3, 4), (4,), x(4), 1e-5)),
    "ApplyAdamWV2": stepped(0.1, None),
    "ApplyAdamWV2, steps on the device": stepped(0.0, True),
    **{f"Foreach{name}": foreach(call) for name, call in {
        "AddListV2": lambda lib, a, b: lib._foreach_add(a, b, alpha=0.5),
        "AddScalarV2": lambda lib, a, b: lib._foreach_add(a, 2.5),
        "AddScalarList": lambda lib, a, b: lib._foreach_add(a, [2.5, 3.0]),
        "SubListV2": lambda lib, a, b: lib._foreach_sub(a, b),
        "SubScalarV2": lambda lib, a, b: lib._foreach_sub(a, 2),
        "SubScalarList": lambda lib, a, b: lib._foreach_sub(a, [2.5, 3.0]),
        "MulList": lambda lib, a, b: lib._foreach_mul(a, b),
        "MulScalarV2": lambda lib, a, b: lib._foreach_mul_(a, 2.5) or a,
        "MulScalarList": lambda lib, a, b: lib._foreach_mul(a, [2.5, 3.0]),
        "DivList": lambda lib, a, b: lib._foreach_div(a, b),
        "DivScalarV2": lambda lib, a, b: lib._foreach_div(a, 2.5),
        "DivScalarList": lambda lib, a, b: lib._foreach_div(a, [2.5, 3.0]),
        "MaximumList": lambda lib, a, b: lib._foreach_maximum(a, b),
        "MinimumList": lambda lib, a, b: lib._foreach_minimum(a, b),
        "AddcmulScalarV2": lambda lib, a, b: lib._foreach_addcmul_(a, b, b, value=0.5) or a,
        "AddcdivScalarV2": lambda lib, a, b: lib._foreach_addcdiv(a, b, b, value=0.5),
        "LerpList": lambda lib, a, b: lib._foreach_lerp(a, b, b),
        "LerpScalar": lambda lib, a, b: lib._foreach_lerp(a, b, 0.5),
        "Abs": lambda lib, a, b: lib._foreach_abs(a),
        "Exp": lambda lib, a, b: lib._foreach_exp_(a) or a,
        "Neg": lambda lib, a, b: lib._foreach_neg(a),
        "Reciprocal": lambda lib, a, b: lib._foreach_reciprocal(a),
        "Sigmoid": lambda lib, a, b: lib._foreach_sigmoid(a),
        "Sqrt": lambda lib, a, b: lib._foreach_sqrt(lib._foreach_abs(a)),
        "Tanh": lambda lib, a, b: lib._foreach_tanh(a),
        "Norm": lambda lib, a, b: lib._foreach_norm(a),
        "Copy": lambda lib, a, b: lib._foreach_copy_(a, b) or a,
    }.items()},
    "nonzero of a mask": lambda lib, x: x(3, 4)[x(3, 4) > 0],
    "x[mask] = v": lambda lib, x: x(3, 4).index_put_((x.of(np.eye(3, 4) > 0),), x(3)),
}

"""What operators give at the edges of their domains and dtypes: signed zeros, infinities, subnormal numbers."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch
from tests.support import array, assert_same, port, torch

NAN, INF = float("nan"), float("inf")
ZEROS = [-0.0, 0.0, -1.0, 7.0, NAN]
SIGNED = torch.tensor(ZEROS)
COMPLEX = torch.tensor([1e-19 + 1e-18j, 1e-5 + 1e-3j, -1, 0, 1e30 + 1e30j, complex(INF, 1), -0.5 + 1e-9j, -2])
ENDLESS = torch.tensor([complex(a, b) for a in (INF, NAN, -1) for b in (-INF, 0, 1)])
COMPLEX_ZEROS = torch.tensor([complex(a, b) for a in (0.0, -0.0, 1.0) for b in (0.0, -0.0, 2.0)])
SMALL = torch.tensor([0.0, 0.1, 0.5, 0.999, 1.0])

VALUES: dict[str, tuple[Callable[..., Any], torch.Tensor]] = {
    "relu keeps -0.": (lambda lib, x: lib.relu(x), SIGNED),
    "relu of half precision": (lambda lib, x: lib.relu(x), SIGNED.half()),
    "relu6": (lambda lib, x: lib.nn.functional.relu6(x), SIGNED),
    "clamp": (lambda lib, x: x.clamp(0, 1), SIGNED),
    "clamp_min": (lambda lib, x: x.clamp_min(0), SIGNED),
    "clamp_max": (lambda lib, x: x.clamp_max(-0.0), SIGNED),
    "leaky_relu, endless slope": (lambda lib, x: lib.nn.functional.leaky_relu(x, INF), SIGNED),
    "leaky_relu, flat": (lambda lib, x: lib.nn.functional.leaky_relu(x, 0.0), torch.tensor([INF, 1.0, -1.0])),
    "std beyond the variance": (lambda lib, x: x.std(), torch.tensor([1e20, -1e20])),
    "std_mean beyond the variance": (lambda lib, x: lib.std_mean(x, 1), torch.tensor([[1e20, -1e20], [1, 2]])),
    "std of infinities": (lambda lib, x: x.std(), torch.tensor([INF, 1.0])),
    "std_mean of an early infinity": (lambda lib, x: lib.std_mean(x, 1), torch.tensor([[INF, 1.0], [1.0, INF]])),
    "var_mean of halves": (lambda lib, x: lib.var_mean(x, 1), torch.tensor([[-INF, 1.0], [1.0, INF]]).bfloat16()),
    "gelu": (lambda lib, x: lib.nn.functional.gelu(x), torch.tensor([INF, -INF, NAN, 1.0] * 9)),
    "gelu of double": (lambda lib, x: lib.nn.functional.gelu(x), torch.tensor([INF, -INF, NAN, 1.0]).double()),
    "gelu of many": (lambda lib, x: lib.nn.functional.gelu(x), torch.tensor([INF, -INF, NAN, 1.0] * 9999)),
    "gelu of one": (lambda lib, x: lib.nn.functional.gelu(x), torch.tensor([INF])),
    "gradient of hardtanh": (lambda lib, x: slope(lib, lib.nn.functional.hardtanh, x), SIGNED),
    "complex sum": (lambda lib, x: x[:, None] + x, ENDLESS),
    "complex difference": (lambda lib, x: x[:, None] - x, ENDLESS),
    "complex difference in place": (lambda lib, x: x.clone().sub_(x, alpha=2), ENDLESS),
    **{f"{name} of complex zeros, {n} times": (
        lambda lib, x, name=name, n=n: lib.view_as_real(getattr(lib, name)(x[:, None], x, alpha=n)), COMPLEX_ZEROS)
       for name in ("add", "sub", "rsub") for n in (1, 2)},
    "number less complex": (lambda lib, x: INF - x, ENDLESS),
    "1 ** complex": (lambda lib, x: 1 ** x, ENDLESS),
    "complex ** number": (lambda lib, x: x ** 0j, ENDLESS),
    "complex sgn": (lambda lib, x: x.sgn(), ENDLESS),
    "ldexp far": (lambda lib, x: lib.ldexp(x, lib.tensor(200)), torch.tensor([1e-30, 1.0])),
    "ldexp beyond half": (lambda lib, x: lib.ldexp(x, x.half() + 100), torch.tensor([0.0, 1.0])),
    "ldexp by bfloat16": (lambda lib, x: lib.ldexp(x, x.bfloat16()), torch.tensor([3.3, 0.1]).half()),
    "ldexp of float32 by half": (lambda lib, x: lib.ldexp(x, x.half()), torch.tensor([3.3, 0.1])),
    "lgamma, subnormal": (lambda lib, x: lib.lgamma(x), torch.tensor([5e-39, -5e-39, 0.0, -0.0, -INF, 1e-45])),
    "lgamma, double": (lambda lib, x: lib.lgamma(x), torch.tensor([5e-309, -5e-309, 1e-200], dtype=torch.float64)),
    "airy_ai": (lambda lib, x: lib.special.airy_ai(x), torch.tensor([1e30, 1200.0, 1e3, 50.0, 1.0])),
    "logit, float16": (lambda lib, x: lib.logit(x, 1e-3), SMALL.half()),
    "logit, bfloat16": (lambda lib, x: lib.logit(x, 1e-3), SMALL.bfloat16()),
    "log1p, complex": (lambda lib, x: lib.log1p(x), COMPLEX),
    "log1p, complex double": (lambda lib, x: lib.log1p(x), COMPLEX.to(torch.complex128)),
    "logaddexp, both infinite": (lambda lib, x: lib.logaddexp(x, x), torch.tensor([complex(INF, 0), complex(-INF, 2)])),
    "logaddexp, one infinite": (lambda lib, x: lib.logaddexp(x, x.flip(0)), torch.tensor([complex(INF, 1), 3 + 2j])),
    "gradient of cdist": (lambda lib, x: slope(lib, lambda x: lib.cdist(x, lib.zeros(1, 2), p=0.5), x),
                          torch.tensor([[0.0, 1.0]])),
    "gradient of pdist": (lambda lib, x: slope(lib, lambda x: lib.pdist(x, p=0.5), x),
                          torch.tensor([[0.0, 0.0], [0.0, 1.0]])),
    "gradient of sinc": (lambda lib, x: slope(lib, lib.sinc, x), torch.tensor([1e-30, 0.0, -1e-20, 1e-9])),
    "0 to the power of 0, complex": (lambda lib, x: lib.isnan(lib.pow(x, x * 0)), COMPLEX),
    "0 to the power of a complex number": (lambda lib, x: lib.isnan(lib.pow(x * 0, 0j)), COMPLEX[1:5]),
    "0 to complex powers": (lambda lib, x: lib.isnan(lib.pow(0, x * 0)), COMPLEX[1:5]),
    "masked_fill by a tensor": (lambda lib, x: x.masked_fill(x > 0, lib.tensor(2.5)), torch.tensor([1, 0])),
    "scatter_add of half precision": (lambda lib, x: lib.zeros(1, dtype=x.dtype).scatter_add(0, x.long() * 0, x),
                                      torch.full((4097,), 0.1).half()),
    "sum of a single -0.": (lambda lib, x: x[:1].sum(), SIGNED),
    "mean of a single -0.": (lambda lib, x: x[:1].mean(), SIGNED),
    "sums of a single -0. in two dimensions": (
        lambda lib, x: [found for dim in (0, 1) for found in (x.sum(dim), x.mean(dim, keepdim=True), x.nansum(dim))],
        SIGNED[:1, None]),
    "product of two single zeros": (lambda lib, x: x.dot(lib.ones(1)), SIGNED[:1]),
    "running sum of a single number": (lambda lib, x: x.cumsum(0), SIGNED[0]),
    **{f"gradient of prod, {numbers}": (
        lambda lib, x: [slope(lib, f, x) for f in (lib.prod, lambda x: x.prod(0)) for _ in range(5)],
        torch.tensor(numbers)) for numbers in ([NAN, 2.0, 3.0], [INF, 2.0, 3.0], [NAN, 0.0, 3.0], [INF, 0.0, 0.0])},
    **{f"gradient of {name} of {kind} NaNs": (
        lambda lib, x, name=name: [slope(lib, getattr(lib.nn.functional, name), x[:n]) for n in (3, 16, 33, 70)],
        torch.tensor([NAN, 1.0, -INF, -0.5] * 18).to(getattr(torch, kind)))
        for kind in ("float32", "float64", "float16", "bfloat16")
        for name in ("elu", "selu", "celu", "hardtanh", "relu6", "hardshrink", "softshrink", "hardswish")},
    "running products of complex zeros": (lambda lib, x: lib.view_as_real(lib.complex(x, x).cumprod(0)),
                                          -SIGNED[:2].abs()),
    "norm of an order beyond float32": (lambda lib, x: lib.linalg.vector_norm(x, 1e300),
                                        torch.tensor([0.5, 2.0, -3.0])),
    "norm of an order below": (lambda lib, x: lib.linalg.vector_norm(x, -1e39), torch.tensor([0.5, 2.0]).half()),
    **{f"{name} of {count} real numbers": (
        lambda lib, x, name=name: lib.view_as_real(getattr(lib.fft, name)(x).resolve_conj())[::2, 1],
        torch.arange(float(count))) for name in ("fft", "ifft") for count in (1, 2, 4)},
    "gradient of logit of NaN": (lambda lib, x: lib.ops.aten.logit_backward(x, x, 0.1), SIGNED.double()),
    "soft_margin_loss of half precision": (lambda lib, x: lib.nn.functional.soft_margin_loss(x, -x.sign()),
                                           torch.tensor([12.0]).half()),
}


def slope(lib: Any, function: Callable[[Any], Any], x: Any) -> Any:
    x = x.clone().requires_grad_()
    return lib.autograd.grad(function(x).sum(), x)[0]


@pytest.mark.parametrize("name", VALUES)
def test_values_and_the_signs_of_zeros_are_pytorchs(name: str) -> None:
    compute, x = VALUES[name]
    ours, theirs = compute(mindtorch, port(x, mindtorch)), compute(torch, x)
    assert_same(ours, theirs)
    if isinstance(theirs, torch.Tensor) and not theirs.is_complex():
        mine, other = array(ours), array(theirs)
        assert (np.signbit(mine) == np.signbit(other))[~np.isnan(other)].all(), (mine, other)


ERRORS: dict[str, Callable[[Any], Any]] = {
    "clamp of bools": lambda lib: lib.tensor([True]).clamp(lib.tensor([True]), lib.tensor([True])),
    "polar": lambda lib: lib.polar(lib.ones(2, dtype=lib.float16), lib.ones(2, dtype=lib.float16)),
    "soft_margin_loss, wider target": lambda lib: lib.nn.functional.soft_margin_loss(lib.ones(2), lib.ones(3, 2)),
    "masked_fill, too large": lambda lib: lib.ones(2, dtype=lib.int8).masked_fill(lib.tensor([True, False]),
                                                                                  lib.tensor(300)),
    "logit, limit beyond float32": lambda lib: lib.logit(lib.ones(2), 1e300),
    "logit, limit beyond half": lambda lib: lib.logit(lib.ones(2).half(), -1e5),
    "logit of integers": lambda lib: lib.logit(lib.tensor([1]), 1e39),
    "gradient of i1": lambda lib: slope(lib, lib.special.i1, lib.ones(2, dtype=lib.bfloat16)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_pytorchs(name: str) -> None:
    with pytest.raises(Exception) as theirs:
        ERRORS[name](torch)
    with pytest.raises(theirs.type) as ours:
        ERRORS[name](mindtorch)
    assert str(ours.value).splitlines()[0] == str(theirs.value).splitlines()[0]


def test_the_number_of_a_meta_tensor_fills_meta_tensors() -> None:
    x = mindtorch.ones(3, dtype=mindtorch.bool, device="meta")
    assert x.masked_fill(x, mindtorch.tensor(True, device="meta")).shape == (3,)

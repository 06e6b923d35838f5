"""Dtypes that few operators take: unsigned integers, complex numbers of half precision, floats of eight bits."""
from __future__ import annotations

import functools
from typing import Any

import mindtorch
from tests.both import Program, assert_same_outcome, each_program, outcome
from tests.support import torch


def rare(program: Program) -> Program:
    """Make a program with a tensor of each dtype that few operators take; exceptions are compared, too."""

    def run(t: Any) -> Any:
        tensors = [t.tensor([1, 2], dtype=getattr(t, name)) for name in ("uint16", "uint32", "uint64", "complex32")]
        return [outcome(functools.partial(program, x=x), t)[0] for x in tensors]  # type: ignore[call-arg]

    return run


@each_program(*map(rare, (
    lambda t, x: (x, x.dtype, x.type(), x.tolist(), x[1].item(), x.to(t.int8), x.clone(), x.element_size()),
    lambda t, x: (t.cat([x, x]), t.zeros(2, dtype=x.dtype), x == x, x != 1, x.isnan(), x * x, x.fill_(3)),
    lambda t, x: t.where(x == 1, x, x),
    lambda t, x: x + x,
    lambda t, x: -x,
    lambda t, x: x & x,
    lambda t, x: x.exp(),
    lambda t, x: [t.promote_types(x.dtype, d) for d in (t.half, t.float, t.double)],
    lambda t, x: t.promote_types(x.dtype, t.int8),
    lambda t, x: t.promote_types(t.complex64, x.dtype),
    lambda t, x: x.numpy().dtype.name if not x.is_complex() else "",
    lambda t, x: (x.dtype.is_signed, x.dtype.to_real() if x.is_complex() else t.iinfo(x.dtype).max),
)), lambda t: t.ones(1).half() * 1j,
    lambda t: t.view_as_real(t.tensor([1 + 2j], dtype=t.chalf)),
    lambda t: (t.view_as_complex(t.ones(1, 2).half()), t.complex(t.ones(1).half(), t.ones(1).half())),
    lambda t: t.tensor([1 + 2j, 3], dtype=t.chalf).abs(),
)
def test_dtypes_that_few_operators_take(program: Program) -> None:
    assert_same_outcome(program)


def test_random_complex_numbers_of_half_precision_have_both_parts() -> None:
    for draw in ("rand", "randn"):
        parts = []
        for lib in (mindtorch, torch):
            lib.manual_seed(3)
            parts.append(lib.view_as_real(getattr(lib, draw)(40, dtype=lib.complex32)).tolist())
        assert parts[0] == parts[1]


def test_norms_of_complex_numbers_of_half_precision_have_both_parts() -> None:
    for order in (2, 1, 3, 0, float("inf"), float("-inf")):
        ours, theirs = (lib.linalg.vector_norm(lib.tensor([3 + 4j, 1 - 2j, 0], dtype=lib.complex32), order)
                        for lib in (mindtorch, torch))
        assert (str(ours.dtype), ours.item()) == (str(theirs.dtype), theirs.item())


@each_program(*(lambda t, f=f: f(t, t.tensor([[0.5 + 0.25j, 0], [1j, 2 - 1j]]).to(t.complex32)) for f in (
    lambda t, x: (x.bool(), x.all(), x.any(1), x.all(0), x[x.bool()]),
    lambda t, x: (x.var(), x.var(0), x.std(1, correction=0), t.std_mean(x)[0]),
    lambda t, x: (x.addcmul(x, x), x.clone().addcmul_(x, x, value=2)),
    lambda t, x: x.argmax(0),
)))
def test_operators_of_complex_numbers_of_half_precision(program: Program) -> None:
    assert_same_outcome(program)


def test_sums_of_complex_numbers_of_half_precision_are_rounded_once() -> None:
    """PyTorch has no kernel for them."""
    x = mindtorch.tensor([[0.5 + 0.25j, 0], [1j, 2 - 1j]] * 40)
    for name in ("sum", "mean", "prod", "cumsum", "cumprod"):
        found, wide = (getattr(z, name)(0) for z in (x.to(mindtorch.complex32), x))
        assert found.dtype is mindtorch.complex32
        assert found.tolist() == wide.to(mindtorch.complex32).tolist()


@each_program(
    lambda t: t.ones(2).to(t.float8_e5m2) + 1,
    lambda t: t.promote_types(t.float8_e5m2, t.float),
    lambda t: (t.ones(2).to(t.float8_e4m3fn), t.float8_e4m3fn.itemsize, t.tensor(1.5).to(t.float8_e5m2).item()),
)
def test_floats_of_eight_bits(program: Program) -> None:
    assert_same_outcome(program)


def of_eight_bits(program: Any) -> Program:
    """Make a program with tensors of each dtype of eight bits, of which few operators know."""
    names = "float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz"
    return lambda t: [[part.float() for part in program(t, t.tensor([1.0, 3, -0.5]).to(getattr(t, name)),
                                                        t.tensor([1.0, 2, 0.0]).to(getattr(t, name)))]
                      for name in names]


@each_program(*map(of_eight_bits, (
    lambda t, x, y: [x * y, x.abs(), x == y, x != y, x == 1, x.isnan(), t.where(x == y, x, y), t.where(x == y, x, 2.0)],
    lambda t, x, y: [t.testing.make_tensor((3,), dtype=x.dtype, device="cpu").isnan()],
    lambda t, x, y: [x.softmax(0)],
)), lambda t: [f(t.tensor([1.0, float("inf"), float("nan")]).to(t.float8_e5m2)) for f in (t.isinf, t.isfinite)],
    lambda t: t.isinf(t.ones(1).to(t.float8_e4m3fn)),
    lambda t: t.testing.make_tensor((3,), dtype=t.float8_e8m0fnu, device="cpu"),
)
def test_floats_of_eight_bits_are_multiplied_compared_and_chosen(program: Program) -> None:
    assert_same_outcome(program)

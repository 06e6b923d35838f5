"""Numbers that a dtype cannot hold or that are not finite, and sizes of nothing and of more than can be counted."""
from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch
from tests.both import Program, assert_same_outcome, each_program, outcome
from tests.support import assert_same, torch


@each_program(
    lambda t: t.zeros(1, dtype=t.float16).fill_(70000), lambda t: t.zeros(2, dtype=t.float16).fill_(70000),
    lambda t: t.full((2,), 70000, dtype=t.float16),
    lambda t: t.zeros((), dtype=t.int8).fill_(300), lambda t: t.zeros(()).fill_(1e39),
    lambda t: t.zeros(2, dtype=t.float16).clamp(70000, float("nan")),
    lambda t: t.zeros(2, dtype=t.float16).clamp(70000, 80000),
    lambda t: t.zeros(2, 3, dtype=t.float16).scatter(1, t.zeros(0, dtype=t.int64), 70000),
    lambda t: t.zeros(2, 3, dtype=t.float16).scatter(1, t.zeros(1, 1, dtype=t.int64), 70000),
    lambda t: t.zeros(2, 3, dtype=t.float16).scatter(1, t.zeros(0, dtype=t.int64), 70000, reduce="add"),
    lambda t: t.addcmul(*[t.ones(2, dtype=t.float16)] * 3, value=1e39),
    lambda t: t.addcmul(*[t.ones(2, dtype=t.int8)] * 3, value=300), lambda t: t.addcmul(*[t.ones(2)] * 3, value=1e39),
    lambda t: t.addcdiv(*[t.ones(2)] * 3, value=-1e39), lambda t: t.addcdiv(*[t.ones(2)] * 3, value=float("inf")),
    lambda t: t.addcdiv(*[t.ones(2, dtype=t.float16)] * 3, value=1e5),
    lambda t: t.addcdiv(*[t.ones(2, dtype=t.float16)] * 3, value=1e39),
    lambda t: t.nn.functional.interpolate(t.ones(1, 1, 2, 2), scale_factor=1e20, mode="bilinear"),
    lambda t: t.hardshrink(t.ones(2, dtype=t.float16), 70000), lambda t: t.hardshrink(t.ones(2), float("inf")),
    lambda t: t.full((2,), 1e39, dtype=t.complex32), lambda t: t.full((2,), 70000, dtype=t.complex32),
    lambda t: t.full((), 70000, dtype=t.complex32), lambda t: t.zeros((), dtype=t.float16).fill_(1j),
    lambda t: t.zeros((), dtype=t.bfloat16).fill_(1e39), lambda t: t.zeros(2, dtype=t.bfloat16).fill_(1e39),
    lambda t: t.full((1,), 2**63, dtype=t.bfloat16), lambda t: t.zeros(1).masked_fill(t.tensor([True]), 1e39),
    lambda t: t.zeros(1).masked_fill(t.tensor([True]), -float("inf")),
    lambda t: t.where(t.tensor([True]), t.zeros(1), 1e39), lambda t: t.zeros(1).clamp(min=1e39),
    lambda t: t.where(t.tensor([False]), t.zeros(1, dtype=t.bfloat16), 1e39),
    lambda t: t.where(t.tensor([False]), t.zeros(1, dtype=t.int8), 300),
    lambda t: t.zeros(1).where(t.tensor([True]), 1),
    lambda t: t.where(t.tensor([True]), -2**70, t.zeros(1)), lambda t: t.where(t.tensor([2]), t.zeros(1), 1),
    lambda t: t.zeros(1, dtype=t.bfloat16).clamp(max=-1e39), lambda t: t.zeros(1, dtype=t.bfloat16) ** 1e39,
    lambda t: t.lerp(t.zeros(1, dtype=t.float16), t.zeros(1, dtype=t.float16), 1e39),
    lambda t: t.histc(t.zeros(2), 5, 0, 1e39), lambda t: t.histc(t.zeros(2, dtype=t.bool), 5),
    lambda t: t.histogram(t.zeros(2, dtype=t.int8), 3, range=(0.0, 300.0)),
)
def test_numbers_too_large_for_a_dtype(program: Program) -> None:
    assert_same_outcome(program)


NUMBERS = (-1, -1.5, -0.5, 0.5, 127.5, 255, 255.5, 256, -255, -256, 300.7, -128.5, -32769, 65536, 70000.0, 2**31, 2**32,
           -(2**32), 2**63, -(2**63), -(2**63) - 1, 2**64, 1e19, 1e39, math.inf, math.nan, 1j, 1 + 0j, True)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "bool",
                                   "float16", "bfloat16", "float32", "complex64"])
def test_python_numbers_become_elements_or_are_refused_as_by_pytorch(dtype: str) -> None:
    def made(t: Any, number: Any) -> Any:
        return t.tensor(number, dtype=getattr(t, dtype))

    def converted(t: Any, number: Any) -> Any:
        return t.as_tensor([number], dtype=getattr(t, dtype))

    def assigned(t: Any, number: Any) -> Any:
        x = t.zeros(2, dtype=getattr(t, dtype))
        x[0] = number
        return x

    def of(make: Callable[[Any, Any], Any], t: Any, number: Any) -> Any:
        try:
            return make(t, number)
        except Exception as error:  # which exception it is, is what is compared
            return type(error)

    for number, make in itertools.product(NUMBERS, (made, converted, assigned)):
        ours, theirs = of(make, mindtorch, number), of(make, torch, number)
        if not isinstance(theirs, type):
            assert_same(ours, theirs)
        else:
            assert ours is theirs, (number, ours, theirs)


@each_program(
    lambda t: t.tensor([1j, 0j, 2]).bool(), lambda t: t.zeros(2, dtype=t.bool).copy_(t.tensor([1j, 0j])),
    lambda t: t.zeros(1, dtype=t.bool).masked_fill(t.tensor([True]), t.tensor(1j)),
    lambda t: t.zeros(1).copy_(t.tensor([1j])), lambda t: t.tensor([1j]).to(t.complex32).abs(),
)
def test_complex_numbers_are_true_unless_both_parts_are_zero(program: Program) -> None:
    assert_same_outcome(program)


@each_program(
    lambda t: t.nan_to_num(t.tensor([math.nan]), True), lambda t: t.nn.functional.pad(t.ones(1), (1, 1), value=True),
    lambda t: t.nn.functional.dropout(t.ones(2), True), lambda t: t.logit(t.tensor([0.5]), np.False_),
    lambda t: t.bernoulli(t.ones(2), False), lambda t: t.allclose(t.ones(2), t.zeros(2), True),
)
def test_truth_values_are_taken_for_floats(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*(lambda t, call=call, n=n: call(t.zeros(2, 3), n) for n in (2**63, -(2**63) - 1, 2**70) for call in (
    lambda x, n: x.view(n), lambda x, n: x.view(2, n), lambda x, n: x.view([n]), lambda x, n: x.reshape((2, n)),
    lambda x, n: x.expand(n, 2, 3), lambda x, n: x.repeat(n, 1), lambda x, n: x.tile((n, 1)),
    lambda x, n: x.new_zeros(n), lambda x, n: x.permute(0, n), lambda x, n: x.as_strided((n,), (1,)))))
def test_sizes_of_more_than_64_bits_are_refused(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*(lambda t, call=call, n=n: call(t, t.zeros(2, 3), n) for n in (2**63, 2**70) for call in (
    lambda t, x, n: x.sum(n), lambda t, x, n: x.transpose(0, n), lambda t, x, n: x.select(0, n),
    lambda t, x, n: x.unflatten(1, (n, 1)), lambda t, x, n: x.narrow(0, 0, n), lambda t, x, n: x.topk(n),
    lambda t, x, n: x.movedim(0, n), lambda t, x, n: t.zeros(n), lambda t, x, n: t.randn(2, n, device="meta"))))
def test_dimensions_of_more_than_64_bits_are_refused(program: Program) -> None:
    ours, theirs = outcome(program, mindtorch)[0], outcome(program, torch)[0]
    assert ours.startswith(theirs)


@pytest.mark.filterwarnings("ignore:(overflow|divide by zero):RuntimeWarning")
def test_infinity_comes_of_numbers_too_large_and_of_distances_of_zero() -> None:
    assert_same(mindtorch.full((), 70000, dtype=mindtorch.float16), torch.full((), 70000, dtype=torch.float16))
    ours, theirs = (lib.addcmul(*[lib.ones(2, dtype=lib.float16)] * 3, value=70000) for lib in (mindtorch, torch))
    assert_same(ours, theirs)
    ours, theirs = (lib.gradient(lib.tensor([2.0, 0, -1, 3]), spacing=0, edge_order=2) for lib in (mindtorch, torch))
    assert_same(ours, theirs)


@each_program(*(lambda t, args=args: t.nn.functional.rrelu(t.tensor([-1.0, 1.0]), *args) for args in (
    (0.0, np.inf), (-np.inf, 0.0, True), (np.nan, 1.0, True), (2.0, 1.0, True), (0.0, 1.0))))
def test_rrelu_has_finite_bounds(program: Program) -> None:
    assert_same_outcome(program)


def many(values: list[float]) -> Program:
    """Make a program that pools and resamples these numbers, one of which must not spoil the others' places."""

    def program(t: Any) -> Any:
        line, functional = t.tensor([[values]]), t.nn.functional
        square = line.reshape(1, 1, 2, -1)
        return [functional.adaptive_avg_pool1d(line, n) for n in (1, 3, 5, 11)] + [
            functional.adaptive_avg_pool2d(square, n) for n in ((2, 3), (3, 5))] + [
            functional.interpolate(line, size=n, mode="linear") for n in (4, 8)] + [
            functional.interpolate(square, size=n, mode="bilinear", align_corners=True) for n in ((3, 7), (2, 7))]

    return program


@each_program(many([1, float("nan"), 3, 4, 5, 6, 7, 8]), many([1, 2, 3, 4, float("inf"), 6, 7, 8]))
def test_a_number_that_is_not_finite_stays_in_its_region(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[lambda t, dim=dim: t.logcumsumexp(t.arange(12.0).view(2, 3, 2).flip(dim).to(t.complex64), dim)  # type: ignore
           for dim in range(3)])
def test_complex_numbers_accumulate_along_any_dimension(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[lambda t, first=first: t.logcumsumexp(t.tensor([first]), 0)  # type: ignore[misc]
           for first in (complex("nan"), complex(1, float("nan")), complex(float("nan"), 1), 1 + 1j)])
def test_a_complex_sum_that_begins_with_nan_is_nan_in_both_parts(program: Program) -> None:
    assert_same_outcome(program)


@each_program(
    lambda t: t.logaddexp(t.tensor(complex("inf")), t.tensor(complex("inf"))),
    lambda t: t.log1p(t.tensor(1e-19 + 1e-18j, dtype=t.cdouble)),
)
def test_logarithms_of_complex_numbers_far_out_and_close_to_zero(program: Program) -> None:
    assert_same_outcome(program)


@each_program(
    lambda t: t.floor_divide(2049, t.tensor([3.0, 0.5, -7.0], dtype=t.half)),
    lambda t: 70000 // t.tensor([3.0], dtype=t.half),
    lambda t: t.add(-1.5, t.tensor([2, 1], dtype=t.uint8), alpha=300),
    lambda t: t.add(True, t.tensor([True, False]), alpha=2**62),
    lambda t: [t.logcumsumexp(t.zeros(*size, dtype=t.complex64), 1) for size in ((2, 0), (0, 2), (2, 0, 2))],
    lambda t: [t.histc(t.tensor(values), 3) for values in ([1e30], [-1e30, -1e30], [1e8], [5.0])],
    lambda t: t.ldexp(t.tensor(0.5), t.ones(3, 2).t()).stride(),
    lambda t: t.ones(3, dtype=t.int64).index_add(0, t.tensor([0]), t.ones(1, dtype=t.int64), alpha=float("nan")),
    lambda t: t.ones(3, dtype=t.half).index_add(0, t.tensor([0]), t.ones(1, dtype=t.half), alpha=1e30),
    lambda t: t.ones(3).index_add(0, t.tensor([0]), t.ones(1), alpha=1j),
    lambda t: t.tensor(2).index_add(0, t.tensor([], dtype=t.int64), t.tensor(3)),
    lambda t: t.nn.functional.max_pool2d(t.ones(1, 2, 3), 3, padding=4, dilation=4, ceil_mode=True),
    lambda t: t.nn.functional.max_pool3d(t.ones(1, 1, 9, 9, 9), (3, 3, 5), padding=(1, 2, 2), dilation=(1, 4, 1)),
    lambda t: t.nn.functional.max_pool1d(t.ones(2, 3), 3, padding=1, dilation=9, ceil_mode=True),
    lambda t: t.aminmax(t.tensor(0j), dim=-1),
    lambda t: t.empty_strided((2,), (-1,)),
    lambda t: [t.empty_strided(*layout).stride() for layout in (((1, 2), (-5, 1)), ((1,), (-1,)), ((0, 2), (-3, -1)))],
    lambda t: t.ones(2).new_empty_strided((2, 2), (1, -2)),
)
def test_numbers_and_sizes_at_the_ends(program: Program) -> None:
    assert_same_outcome(program)


@each_program(
    *[lambda t, call=call, p=p: call(t, p)  # type: ignore[misc]
      for p in (-1.0, float("inf"), 2.0) for call in (
        lambda t, p: t.pairwise_distance(t.zeros(2, 0), t.zeros(2, 0), p), lambda t, p: t.norm(t.zeros(2, 0), p),
        lambda t, p: t.linalg.vector_norm(t.zeros(2, 0), p, dim=1), lambda t, p: t.zeros(0, 2).norm(p, 1))],
    lambda t: t.renorm(t.zeros(2, 0), float("inf"), 0, 1.0), lambda t: t.renorm(t.zeros(2, 0), 2, 0, 1.0),
    lambda t: t.index_select(t.zeros(0), 0, t.tensor([1])), lambda t: t.index_select(t.zeros(0, 2), 0, t.tensor([1])),
    lambda t: t.mm(t.ones(3, 2, dtype=t.bool), t.ones(2, 0, dtype=t.bool)),
    lambda t: t.mm(t.ones(3, 2, dtype=t.bool), t.ones(2, 2, dtype=t.bool)),
    lambda t: t.bmm(t.ones(1, 3, 2, dtype=t.bool), t.ones(1, 2, 0, dtype=t.bool)),
    lambda t: t.histogram(t.zeros(0), 3, range=(0.0, 1.0), weight=t.zeros(2, 0)),
    lambda t: t.histogram(t.zeros(4), t.zeros(0)),
)
def test_operands_without_elements(program: Program) -> None:
    assert_same_outcome(program)


@each_program(lambda t: t.nn.functional.adaptive_max_pool1d(t.ones(4, 4, 4), 2**62 - 1))
def test_more_regions_than_can_be_counted(program: Program) -> None:
    assert_same_outcome(program)

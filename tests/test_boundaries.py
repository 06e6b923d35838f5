"""At the boundaries of rules: large numbers, empty dimensions, odd offsets, negative paddings, uneven dilations."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch
from tests.autograd.both import assert_same

COMPARISONS = operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne


def compared(dtype: str, values: list[int], *numbers: float) -> Callable[[Any], Any]:
    return lambda t: [compare(t.tensor(values, dtype=getattr(t, dtype)), number).tolist()
                      for number in numbers for compare in COMPARISONS]


def channels_last(t: Any, *shape: int) -> Any:
    return t.ones(shape).to(memory_format=t.channels_last)


def strides_of_sums(t: Any) -> Any:
    dense, last = t.ones(2, 3, 4, 5), channels_last(t, 2, 3, 4, 5)
    pairs = [(last, dense), (dense, last), (last, t.ones(3, 1, 1)), (last[:, :2], dense[:, :2]), (last[:, :, ::2], 1),
             (channels_last(t, 1, 3, 4, 5), last), (channels_last(t, 2, 1, 4, 5), t.ones(2, 1, 4, 5)),
             (channels_last(t, 2, 3, 1, 1), t.ones(2, 3, 1, 1)), (channels_last(t, 1, 3, 4, 5), t.ones(2, 1, 1, 1))]
    return [(a + b).stride() for a, b in pairs]


def strides_of_single_places(t: Any) -> Any:
    """Of tensors whose dimensions of size 1 have strides that no layout would give them."""
    odd = [t.ones(20).as_strided(*layout) for layout in (
        ((3, 2, 1, 3), (6, 1, 2, 2)), ((3, 2, 2, 1), (4, 1, 2, 3)), ((1, 3, 3, 2), (0, 1, 6, 3)))]
    return [(x.is_contiguous(memory_format=t.channels_last), x.neg().stride(), (x + x).stride(),
             (x + x.contiguous(memory_format=t.channels_last)).stride()) for x in odd]


def strides_like(t: Any) -> Any:
    return [(t.empty_like(x).stride(), (x + 1).stride()) for x in (
        t.empty(2, 0, 3).permute(2, 0, 1), t.empty(0, 3).t(), t.empty(2, 3, 0).transpose(0, 1),
        t.empty(3, 1, 0, 2).permute(3, 1, 0, 2), t.empty(4, 0, 1).transpose(0, 2), t.ones(4, 6)[::2, ::3].t(),
        t.ones(4, 3, 2)[::2].permute(2, 0, 1), t.ones(4, 3).as_strided((2, 3), (1, 1)),
        t.empty(0).as_strided((3, 0, 2), (3, 2, 5)), t.empty(0).as_strided((0, 2), (0, 5)))]


def resized(t: Any) -> Any:
    last = channels_last(t, 2, 3, 4, 5)
    return [t.empty(0).resize_as_(last).stride(), t.empty(2).resize_as_(t.ones(3, 2).t()).stride(),
            *(t.empty(0).resize_as_(last, memory_format=f).stride() for f in (t.preserve_format, t.channels_last))]


def half_sums(t: Any) -> Any:
    one, big = t.full((2, 4096), 1.0009765625, dtype=t.float16), t.full((300, 2), 300.0, dtype=t.float16)
    return [one.sum(), one.sum(1), one.norm(), one.to(t.bfloat16).sum(), big.mean(), big.mean(0), big.var()]


def circular(*pads: tuple[int, ...]) -> Callable[[Any], Any]:
    return lambda t: [t.nn.functional.pad(t.arange(12.0).view(3, 4), pad, mode="circular") if len(pad) == 2 else
                      t.nn.functional.pad(t.arange(12.0).view(1, 3, 4), pad, mode="circular") for pad in pads]


def unfolded(t: Any) -> Any:
    return [t.nn.functional.unfold(t.arange(20.0).view(1, 1, 4, 5), (2, 3), padding=(1, 2), dilation=d, stride=s)
            for d in ((1, 1), (2, 1), (1, 2)) for s in ((1, 1), (2, 1), (1, 3))]


def folded(t: Any) -> Any:
    return [t.nn.functional.fold(t.arange(4.0 * n).view(1, 4, n), (4, 5), (2, 2), dilation=d, padding=p)
            for n, d, p in ((8, (2, 1), 0), (9, (1, 2), 0), (24, (2, 1), 1), (20, (1, 1), (1, 0)))]


def drawn_in_bounds(t: Any) -> Any:
    t.manual_seed(0)
    return [t.nn.init.trunc_normal_(t.empty(5), *bounds) for bounds in (
        (0, 1, -2, 2), (0, 1, -0.1, 0.1), (0, 1, 3.0, 4.0), (5, 1, -2, 2), (0, 1, -2.0, -1.5), (0, 1, 1.5, 8.0),
        (0, 1, -0.38, 0.38), (0, 1, -0.39, 0.39))]  # of which the last hold a little less and more than 0.3 of all


def clipped(norm: float) -> Callable[[Any], Any]:
    def case(t: Any) -> Any:
        x = t.zeros(2, dtype=t.float64, requires_grad=True)
        x.grad = t.tensor([3e-6, 4e-6], dtype=t.float64)
        return t.nn.utils.clip_grad_norm_([x], norm), x.grad

    return case


def gaussian_nll(**eps: float) -> Callable[[Any], Any]:
    return lambda t: t.nn.functional.gaussian_nll_loss(t.tensor([1.0, 2.0]), t.tensor([0.0, 2.0]),
                                                       t.tensor([0.0, 1e-9]), full=True, **eps)


CASES: dict[str, Callable[[Any], Any]] = {
    "int8 and large numbers": compared("int8", [0, 127, -128], 127, 128, 300, -300, 2**40, -(2**40), 2.5, float("inf")),
    "uint8 and large numbers": compared("uint8", [0, 255], -1, 255, 256, 300),
    "int32 and large numbers": compared("int32", [0, 2**31 - 1], 2**31 - 1, 2**31, -(2**40)),
    "int64 and what wraps around": compared("int64", [0, 3], 2**63, 2**64 - 1),
    **{f"{dtype} and {number}": compared(dtype, [0, 3], number)
       for dtype in ("int64", "float32") for number in (2**64, -(2**63) - 1)},
    "argmax of all, kept": lambda t: [f(t.arange(6.0).view(2, 3), keepdim=keep)
                                      for f in (t.argmax, t.argmin) for keep in (True, False)],
    "sums of half precision": half_sums,
    "strides of sums of channels_last": strides_of_sums,
    "strides of channels_last with odd strides of single places": strides_of_single_places,
    "strides like those of empty tensors and of tensors with gaps": strides_like,
    "resize_as_ takes the format": resized,
    "view_as_complex at an odd offset": lambda t: t.view_as_complex(t.arange(9.0)[1:].view(4, 2)),
    "view_as_complex at an even offset": lambda t: t.view_as_complex(t.arange(10.0)[2:].view(4, 2)),
    "view_as_complex of odd strides": lambda t: t.view_as_complex(t.arange(12.0).view(4, 3)[:, :2]),
    "circular padding that cuts": circular((-1, 2), (2, -1), (-2, -1), (0, -2), (-1, 2, 1, -1), (1, -2, -1, 2)),
    "unfold with two paddings and dilations": unfolded,
    "fold with two dilations": folded,
    "_chunk_cat of what is no multiple": lambda t: [
        t._chunk_cat([t.arange(5.0), t.arange(6.0), t.ones(7)], 0, 3),
        t._chunk_cat([t.arange(6.0).view(3, 2), t.ones(5, 2)], 0, 2)],
    "trunc_normal_ of near and far bounds": drawn_in_bounds,
    "clip_grad_norm_ to almost nothing": clipped(1e-6),
    "clip_grad_norm_ to more than there is": clipped(2.0),
    "gaussian_nll_loss of almost no variance": gaussian_nll(),
    "gaussian_nll_loss of less than eps": gaussian_nll(eps=1e-2),
}


@pytest.mark.parametrize("name", CASES)
def test_results_and_errors_are_pytorchs(name: str) -> None:
    assert_same(CASES[name])


def test_a_view_that_moved_to_another_storage_is_no_alias_of_the_first() -> None:
    a = mindtorch.arange(4.0)
    view, moved = a[1:], a[2:]
    moved.set_(mindtorch.ones(3))
    assert {id(tensor) for tensor in a.untyped_storage().aliases()} == {id(a), id(view)}


def test_a_generator_of_the_npu_counts_ten_for_each_operator_in_fours() -> None:
    """As torch_npu's does, however many numbers the operator draws."""
    mindtorch.npu.manual_seed(7)
    for count, offset in (3, 12), (4, 24), (5, 36):
        mindtorch.rand(count, device="npu")
        assert mindtorch.npu.get_rng_state().view(mindtorch.int64).tolist() == [7, offset]

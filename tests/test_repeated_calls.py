"""Calls like one before: results, layouts, errors and what an observer sees are those of the first, and PyTorch's."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch
from tests.support import assert_same, port, torch

MOVES: dict[str, tuple[Callable[[Any, Any], Any], tuple[int, ...]]] = {
    "roll": (lambda lib, x: lib.roll(x, 2, 1), (3, 4)),
    "roll of all": (lambda lib, x: x.roll(3), (3, 4)),
    "flip": (lambda lib, x: x.flip(1), (3, 4)),
    "flip of nothing": (lambda lib, x: x.flip(()), (3, 4)),
    "sort": (lambda lib, x: (x * 1).sort(dim=1, stable=True)[0].nan_to_num() if not x.is_complex() else x, (3, 4)),
    "trace": (lambda lib, x: (x * 1).trace() if x.dtype is not lib.bfloat16 else x, (3, 4)),
    "bucketize of a long line": (
        lambda lib, x: lib.bucketize(x.real.float() if x.is_complex() else x.float(), lib.arange(1000.0)), (2, 1)),
    "flipud": (lambda lib, x: x.flipud(), (3, 4)),
    "fliplr of many": (lambda lib, x: x.fliplr(), (22, 22, 22)),
    "nonzero": (lambda lib, x: x.nonzero(), (3, 4)),
    "nonzero of a vector": (lambda lib, x: x.nonzero(), (4,)),
    "nonzero of one element": (lambda lib, x: x.nonzero(), (1, 1)),
    "nonzero of a number": (lambda lib, x: x.nonzero(), ()),
    "stack": (lambda lib, x: lib.stack([x, x, x.flip(0)]), (3, 4)),
    "stack of columns": (lambda lib, x: lib.stack([x, x, x.flip(0)], -1), (3, 4)),
    "outer": (lambda lib, x: x.reshape(-1).outer(x[0]), (3, 4)),
    "outer of many": (lambda lib, x: x.reshape(-1).outer(x[0]), (30, 40)),
    "kron": (lambda lib, x: x.contiguous().kron(x[:1].contiguous()), (3, 4)),
    "cross, broadcast": (lambda lib, x: lib.linalg.cross(x * 1, x[:1] * 1), (4, 3)),
    "addr": (lambda lib, x: lib.addr(x, x[:, 1], x[0]), (3, 4)),
    "rot90": (lambda lib, x: x.rot90(), (3, 4)),
    "rot90 back": (lambda lib, x: x.rot90(-1, (0, 2)), (3, 4, 2)),
    "tril": (lambda lib, x: x.tril(-1), (3, 4)),
    "triu": (lambda lib, x: x.triu(1), (2, 3, 4)),
    "diag of a matrix": (lambda lib, x: x.diag(1), (3, 4)),
    "diag of a vector": (lambda lib, x: x.diag(-1), (4,)),
    "diag_embed": (lambda lib, x: lib.diag_embed(x, 1, 0, 2), (3, 4)),
    "pixel_shuffle": (lambda lib, x: lib.nn.functional.pixel_shuffle(x, 2), (1, 8, 2, 3)),
    "pixel_shuffle of one channel": (lambda lib, x: lib.nn.functional.pixel_unshuffle(x, 2), (2, 1, 4, 4)),
    "repeat": (lambda lib, x: x.repeat(2, 1, 3), (3, 4)),
    "tril of many": (lambda lib, x: x.tril(2), (50, 60)),
    "diag_embed of many": (lambda lib, x: lib.diag_embed(x), (9, 20)),
    "roll of many": (lambda lib, x: x.roll((3, -1), (0, 1)), (50, 60)),
    "unbind_copy": (lambda lib, x: lib.stack(lib.unbind_copy(x, 1)), (3, 4)),
    "split_with_sizes_copy": (lambda lib, x: lib.cat(lib.split_with_sizes_copy(x, [2, 0, 1])), (3, 4)),
    "a single element": (lambda lib, x: x.flip(0), ()),
    "no element": (lambda lib, x: x.roll(1, 0), (0, 4)),
}
WINDOWS: dict[str, tuple[Callable[[Any, Any], Any], tuple[int, ...]]] = {
    "avg_pool2d": (lambda lib, x: lib.nn.functional.avg_pool2d(x, 2), (2, 3, 6, 7)),
    "avg_pool2d with padding": (lambda lib, x: lib.nn.functional.avg_pool2d(x, 3, 2, 1, True, False), (2, 3, 6, 7)),
    "avg_pool2d by another number": (
        lambda lib, x: lib.nn.functional.avg_pool2d(x, 3, 1, 1, divisor_override=-2), (3, 6, 7)),
    "avg_pool3d": (lambda lib, x: lib.nn.functional.avg_pool3d(x, 2, 1), (1, 2, 4, 4, 4)),
    "max_pool2d": (lambda lib, x: lib.nn.functional.max_pool2d(x, 2), (2, 3, 6, 7)),
    "max_pool2d with padding": (lambda lib, x: lib.nn.functional.max_pool2d(x, 3, 2, 1, 2, True), (2, 3, 9, 8)),
    "max_pool2d of single elements": (lambda lib, x: lib.nn.functional.max_pool2d(x, 1, 2), (2, 3, 6, 7)),
    "max_pool2d of one channel": (lambda lib, x: lib.nn.functional.max_pool2d(x, 2), (2, 1, 6, 7)),
    "max_pool1d": (lambda lib, x: lib.nn.functional.max_pool1d(x, 2), (2, 3, 7)),
    "max_pool1d with padding": (lambda lib, x: lib.nn.functional.max_pool1d(x, 3, 2, 1, 2, True), (3, 9)),
    "avg_pool1d": (lambda lib, x: lib.nn.functional.avg_pool1d(x, 3, 2, 1), (2, 3, 7)),
    "avg_pool1d without padding": (
        lambda lib, x: lib.nn.functional.avg_pool1d(x, 3, 2, 1, True, False), (3, 8)),
    "adaptive_max_pool2d": (lambda lib, x: lib.nn.functional.adaptive_max_pool2d(x, (2, 3)), (2, 3, 5, 7)),
    "adaptive_max_pool2d with places": (
        lambda lib, x: lib.nn.functional.adaptive_max_pool2d(x.nan_to_num(), 2, True), (2, 3, 5, 4)),
    "adaptive_max_pool2d of all": (lambda lib, x: lib.nn.functional.adaptive_max_pool2d(x, 1, True), (3, 5, 4)),
    "adaptive_max_pool3d": (lambda lib, x: lib.nn.functional.adaptive_max_pool3d(x, (2, 1, 3)), (1, 2, 3, 3, 4)),
    "conv_transpose2d of wide integers": (lambda lib, x: lib.nn.functional.conv_transpose2d(
        x.long() * 2**61 + 1, lib.arange(54).view(3, 2, 3, 3) - 9, stride=2, padding=1), (2, 3, 4, 5)),
    "fold": (lambda lib, x: lib.nn.functional.fold(x, (4, 5), 2), (2, 12, 12)),
    "fold with padding": (lambda lib, x: lib.nn.functional.fold(x, (5, 4), (3, 2), 2, (2, 1), (2, 1)), (1, 12, 12)),
    "fold with stride": (lambda lib, x: lib.nn.functional.fold(x, (6, 4), 2, 1, 0, 2), (8, 6)),
    "unfold": (lambda lib, x: lib.nn.functional.unfold(x, 2, padding=1), (2, 3, 4, 4)),
    "reflection": (lambda lib, x: lib.nn.functional.pad(x, (1, 2), "reflect"), (2, 3, 4)),
    "max_pool2d with places": (
        lambda lib, x: lib.nn.functional.max_pool2d(x.nan_to_num(), 2, return_indices=True), (2, 3, 6, 7)),
    "max_pool2d with places and padding": (
        lambda lib, x: lib.nn.functional.max_pool2d(x.nan_to_num(), 3, 2, 1, 2, True, True), (3, 9, 8)),
    "max_pool2d with places of NaN": (
        lambda lib, x: lib.nn.functional.max_pool2d(x, 2, 1, return_indices=True), (2, 3, 4, 5)),
    "max_pool3d with places": (
        lambda lib, x: lib.nn.functional.max_pool3d(x, 2, 2, 1, return_indices=True), (1, 2, 4, 4, 4)),
    "max_pool3d": (lambda lib, x: lib.nn.functional.max_pool3d(x, 2, 1), (1, 2, 4, 4, 4)),
    "adaptive_avg_pool1d": (lambda lib, x: lib.nn.functional.adaptive_avg_pool1d(x, 3), (2, 5)),
    "adaptive_avg_pool2d": (lambda lib, x: lib.nn.functional.adaptive_avg_pool2d(x, (2, 4)), (2, 3, 3, 5)),
    "adaptive_avg_pool2d of all": (lambda lib, x: lib.nn.functional.adaptive_avg_pool2d(x, 1), (2, 3, 3, 5)),
    "circular": (lambda lib, x: lib.nn.functional.pad(x, (1, 2, 3, 0), "circular"), (2, 3, 4)),
    "cut": (lambda lib, x: lib.nn.functional.pad(x, (-1, 2, 1, -1), value=3.0), (2, 3, 4)),
    **{mode: (lambda lib, x, mode=mode: lib.nn.functional.interpolate(x, (3, 5), mode=mode), (2, 2, 4, 3))
       for mode in ("nearest", "bilinear", "bicubic", "area")},
}
#: Functions of an image of which there are gradients, which add up what arrives.
SPREAD: dict[str, Callable[[Any, Any], Any]] = {
    "avg_pool2d": lambda lib, x: lib.nn.functional.avg_pool2d(x, 2, 1, 1, count_include_pad=False),
    "adaptive_avg_pool2d": lambda lib, x: lib.nn.functional.adaptive_avg_pool2d(x, (2, 4)),
    "max_pool2d": lambda lib, x: lib.nn.functional.max_pool2d(x, 2, 1),
    "max_unpool2d": lambda lib, x: lib.nn.functional.max_unpool2d(
        x, lib.arange(24).flip(0).reshape(1, 2, 3, 4) % 12 * 2, 2),
    "reflection": lambda lib, x: lib.nn.functional.pad(x, (1, 2, 1, 0), "reflect"),
    "replication": lambda lib, x: lib.nn.functional.pad(x, (3, 2, 0, 1), "replicate"),
    **{mode: lambda lib, x, mode=mode: lib.nn.functional.interpolate(x, (2, 3), mode=mode)
       for mode in ("nearest", "bilinear", "bicubic")},
}


def values(shape: tuple[int, ...], dtype: Any, times: int) -> Any:
    """Other values each time, among them NaN and -0."""
    made = (torch.arange(1, 1 + torch.Size(shape).numel()).reshape(shape) * 7 * times % 19 - 4).to(dtype)
    if dtype.is_floating_point:
        made[made == 5], made[made == 0] = float("nan"), -0.0
    return made


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool,
                                   torch.complex64, torch.complex128], ids=str)
@pytest.mark.parametrize("name", MOVES)
def test_elements_come_where_they_came_before(name: str, dtype: Any) -> None:
    call, shape = MOVES[name]
    for times in (1, 2, 3):
        x = values(shape, dtype, times)
        assert_same(call(mindtorch, port(x, mindtorch)), call(torch, x))
        x = values(shape[::-1], dtype, times).permute(tuple(range(len(shape)))[::-1])  # in another order in memory
        assert_same(call(mindtorch, port(x, mindtorch)), call(torch, x))


@pytest.mark.parametrize(("name", "dtype"), [
    *[(name, dtype) for name in WINDOWS for dtype in (torch.float32, torch.float64)],
    *[(name, dtype) for name in WINDOWS if name not in ("avg_pool3d", "bicubic")  # refused, or rounded more
      for dtype in (torch.float16, torch.bfloat16)]], ids=str)
def test_windows_lie_where_they_lay_before(name: str, dtype: Any) -> None:
    call, shape = WINDOWS[name]
    for times in (1, 2, 3):
        x = values(shape, dtype, times)
        assert_same(call(mindtorch, port(x, mindtorch)), call(torch, x))


#: Composites of a matrix ``x`` of five rows and columns, and of indices ``at`` into them.
COMPOSITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "activations": lambda lib, x, at: [call(part) for part in (x, x.half(), x[0], x[0, 0], x.bfloat16()) for call in (
        lib.nn.functional.relu6, lib.nn.functional.logsigmoid, lambda part: lib.prelu(part, part.reshape(-1)[:1]))],
    "slopes of channels": lambda lib, x, at: [lib.prelu(part, lib.arange(5).to(part.dtype) / 4 - 1) for part in (
        x, x.half(), x.reshape(1, 5, 5), x.t())],
    "running extrema": lambda lib, x, at: [
        part for given in (x, x.half(), at, at > 2, x[0]) for part in (*given.cummax(0), *given.cummin(-1))],
    "block_diag": lambda lib, x, at: lib.block_diag(x, x.t(), x[:2]),
    "stacks": lambda lib, x, at: [lib.hstack([x, x.t()]), lib.vstack([x, x[0]]), lib.dstack([x, x]),
                                  lib.column_stack([x, x[0]])],
    "products": lambda lib, x, at: [lib.kron(x, x[:2]), lib.outer(x[0], x[:, 1]), lib.inner(x, x.t()), x @ x, x @ x[0],
                                    lib.cartesian_prod(x[0], x[:2, 1], x[1])],
    "products of integers": lambda lib, x, at: [
        at @ at, at @ at[0], lib.inner(at[0], at[:, 1]), lib.kron(at, at[:2]), lib.addmm(at[0], at, at),
        lib.addmv(at[0], at, at[1], beta=2, alpha=3), lib.addbmm(at, lib.stack([at, at]), lib.stack([at, at]), beta=0),
        lib.addbmm(at.int(), lib.stack([at.int()]), lib.stack([at.int()])),
        lib.baddbmm(lib.stack([at]), lib.stack([at]), lib.stack([at]), alpha=2),
        lib.addr(at, at[0], at[1])],
    "places": lambda lib, x, at: [
        x.scatter(1, at, x), x.scatter(0, at, x, reduce="add"), (at > 2).scatter(1, at, at > 1, reduce="multiply"),
        x.scatter_add(0, at, x.t()), x.scatter_reduce(1, at, x, "amax"), x.index_add(1, at[0], x),
        x.index_copy(0, at[1] * 0 + lib.arange(5), x), x.index_fill(1, at[0], 2), x.index_select(1, at[1]),
        x.take_along_dim(at, 1), x.gather(0, at), x.index_put((at[0], at[1]), x[0], True), x.put(at[0], x[:, 2])],
    "masks": lambda lib, x, at: [x.masked_scatter(at > 2, x), x.masked_fill(at > 2, 3), x.masked_select(at > 2)],
    "statistics": lambda lib, x, at: [x.quantile(0.3, 1), x.corrcoef(), x.nanmean(0), lib.trapezoid(x, x.sort(1)[0]),
                                      x.diff(dim=0), x.trace(), lib.cosine_similarity(x, x.t())],
    "normalisations": lambda lib, x, at: [
        lib.nn.functional.layer_norm(x, (5,), x[0], x[:, 1]), lib.nn.functional.rms_norm(x, (5,), x[:, 1]),
        lib.nn.functional.group_norm(x, 1, x[:, 0], x[1]), lib.nn.functional.cross_entropy(x, at[0]),
        lib.nn.functional.linear(x, x.t(), x[:, 1])],
    "pads": lambda lib, x, at: [
        lib.nn.functional.pad(x, (1, 2, 0, 1)), lib.nn.functional.pad(x[None], (1, 2), "circular"),
        lib.nn.functional.pad(x[None], (1, 2), "replicate")],
    "pools": lambda lib, x, at: [
        lib.nn.functional.avg_pool1d(x, 3, 2, 1), lib.nn.functional.adaptive_avg_pool1d(x, 3),
        lib.nn.functional.adaptive_max_pool1d(x, 2, True), lib.nn.functional.max_pool1d(x, 2, return_indices=True)],
    "transforms": lambda lib, x, at: [lib.fft.fft2(x), lib.fft.rfft(x, dim=0), lib.fft.ihfft(x)],
    "copies of views": lambda lib, x, at: [
        lib.view_copy(x, (25,)), lib.diagonal_copy(x, 1), lib.select_scatter(x, x[0], 1, 2),
        lib.diagonal_scatter(x, x[0]), lib.as_strided_copy(x, (2, 2), (1, 3), 4)],
}


def versions(made: Any) -> Any:
    """Return the versions of a tensor, or of those in lists and tuples."""
    return [versions(part) for part in made] if isinstance(made, (list, tuple)) else made._version


@pytest.mark.filterwarnings("ignore:The reduce argument of torch.scatter")
@pytest.mark.parametrize("name", COMPOSITES)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_a_composite_of_tensors_in_any_order_is_computed_each_time_as_the_first(
        name: str, turned: tuple[bool, bool]) -> None:
    for times in (1, 2, 3, 4):
        numbers = torch.arange(25).reshape(5, 5) * times
        x, at = (given.t().contiguous().t() if turn else given
                 for given, turn in zip((numbers * 7.0 % 19 - 4, numbers * 3 % 5), turned, strict=True))
        ours = COMPOSITES[name](mindtorch, port(x, mindtorch), port(at, mindtorch))
        theirs = COMPOSITES[name](torch, x, at)
        assert_same(ours, theirs)
        assert versions(ours) == versions(theirs)


def test_a_composite_that_ends_in_views_returns_views_each_time() -> None:
    for _ in range(4):
        for t in (mindtorch, torch):
            x = t.ones(5, 5)
            views = [t.nn.functional.avg_pool1d(x, 3), *t.nn.functional.adaptive_max_pool1d(x, 2, True)]
            assert all(view._is_view() and view.add_(1)._version == 1 for view in views)


def test_maxima_of_half_precision_keep_it_where_nan_comes_later() -> None:
    for times in range(4):
        x = mindtorch.full((1, 4, 4), float("nan") if times == 3 else times).half()
        values, _ = mindtorch.nn.functional.max_pool2d(x, 2, return_indices=True)
        assert values.numpy().dtype == "float16"


@pytest.mark.parametrize("name", SPREAD)
def test_gradients_add_up_where_they_did_before(name: str) -> None:
    for times in (1, 2, 3):
        x = (torch.arange(24.0).reshape(1, 2, 3, 4) * 7 * times % 19).requires_grad_()
        found = []
        for lib in (mindtorch, torch):
            inner = port(x.detach(), lib).requires_grad_()
            out = SPREAD[name](lib, inner)
            found.append(lib.autograd.grad(out, inner, port(values(tuple(out.shape), torch.float32, times), lib)))
        assert_same(*found)


@pytest.mark.parametrize("cut", [lambda x: x.unbind(0), lambda x: x.t().unbind(1), lambda x: x.split(1),
                                 lambda x: x.split([1] * 3000 + [2]), lambda x: x.t().split([2, *[1] * 3000], -1)])
def test_many_pieces_are_those_of_the_first_call(cut: Any) -> None:
    ours, x = (lib.arange(9006.0).view(3002, 3)[:, ::2] for lib in (mindtorch, torch))
    for times in range(3):
        ours[times], x[times] = -times, -times
        mine, others = cut(ours), cut(x)
        assert len(mine) == len(others) and all(part._base is ours._base for part in mine)
        for at in (0, 1, len(mine) // 2, -1):
            assert_same(mine[at], others[at], alias=([ours], [x]))


def test_pieces_are_views_of_where_they_lay_before() -> None:
    x = values((3, 4, 5), torch.float32, 1)
    ours = port(x, mindtorch)
    for times in range(3):
        for tensor, lib in ((ours, mindtorch), (x, torch)):
            tensor.transpose(0, 1).unbind(-1)[times].fill_(lib.tensor(10.0 + times))
        for dim in (0, -1):
            assert_same(ours[times:].unbind(dim), x[times:].unbind(dim), alias=([ours], [x]))


#: Composites of operators of which the last one may be a view.
ENDING_IN_VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "max_pool1d": lambda t, x: t.nn.functional.max_pool1d(x, 2),
    "max_pool1d of a sample": lambda t, x: t.nn.functional.max_pool1d(x[0], 2),
    "max_pool1d and places": lambda t, x: t.nn.functional.max_pool1d(x, 2, return_indices=True),
    "avg_pool1d": lambda t, x: t.nn.functional.avg_pool1d(x, 2),
    "adaptive_avg_pool1d": lambda t, x: t.nn.functional.adaptive_avg_pool1d(x, 2),
    "adaptive_max_pool1d and places": lambda t, x: t.nn.functional.adaptive_max_pool1d(x, 2, return_indices=True),
    "inner": lambda t, x: t.inner(x, x[0]),
    "inner of vectors": lambda t, x: t.inner(x[0, 0], x[0, 0]),
    "inner of no elements": lambda t, x: t.inner(x[..., :0], x[0, 0, :0]),
    "inner of matrices": lambda t, x: t.inner(x[0], x[1]),
    "tensordot": lambda t, x: t.tensordot(x, x, ([1, 2], [1, 2])),
    "repeat_interleave": lambda t, x: x.repeat_interleave(2),
    "repeat_interleave of rows": lambda t, x: x.repeat_interleave(2, 0),
    "conv1d": lambda t, x: t.nn.functional.conv1d(x, t.ones(2, 3, 2)),
    "einsum": lambda t, x: t.einsum("bij,bkj->bik", x, x),
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", ENDING_IN_VIEWS)
def test_a_result_is_a_view_of_the_same_base_each_time(name: str, requires_grad: bool) -> None:
    def bases(t: Any) -> list[Any]:
        x, found = t.arange(24.0).reshape(2, 3, 4).requires_grad_(requires_grad), []
        for _ in range(4):
            made = ENDING_IN_VIEWS[name](t, x)
            found += [part._base is not None and (tuple(part._base.shape), part._base.stride())
                      for part in (made if isinstance(made, tuple) else (made,))]
        return found

    assert bases(mindtorch) == bases(torch)


@pytest.mark.parametrize("name", ["rot90", "roll", "diag of a vector"])
def test_the_results_memory_is_its_own(name: str) -> None:
    call, shape = MOVES[name]
    x = values(shape, torch.float32, 1)
    ours = port(x, mindtorch)
    results = [call(mindtorch, ours) for _ in range(3)]
    expected = call(torch, x)
    for result in results:
        assert result._base is None and result._version == 0
        assert result.untyped_storage().nbytes() == expected.untyped_storage().nbytes()
        result.fill_(100)
    assert_same(ours, x)
    assert_same(call(mindtorch, ours), expected)


@pytest.mark.parametrize("name", ["roll", "rot90", "pixel_shuffle", "diag of a matrix", "unfold"])
def test_an_observer_sees_the_operators_within_each_time(name: str) -> None:
    call, shape = {**MOVES, **WINDOWS}[name]
    x = port(values(shape, torch.float32, 1), mindtorch)
    seen = []
    for _ in range(3):
        with mindtorch.observe() as trace:
            call(mindtorch, x)
        seen.append([event.op for event in trace])
        call(mindtorch, x)
    assert len(seen[0]) > 1 and seen[1] == seen[2] == seen[0]


def test_a_gradient_goes_through_what_was_kept() -> None:
    for _ in range(3):
        ours, theirs = mindtorch.ones(3, 4, requires_grad=True), torch.ones(3, 4, requires_grad=True)
        for lib, x in ((mindtorch, ours), (torch, theirs)):
            (x.roll(1, 1).tril() * lib.arange(12.0).reshape(3, 4)).sum().backward()
        assert_same(ours.grad, theirs.grad)


MIXED: list[Callable[[Any], Any]] = [
    lambda t: t.ones(2, 3) * 2 + t.arange(3), lambda t: t.arange(3) + t.tensor(0.5), lambda t: t.arange(3) / 2,
    lambda t: t.arange(3) * True, lambda t: t.arange(3) * 1, lambda t: t.arange(3) * 1.0, lambda t: t.arange(3) * 1j,
    lambda t: t.arange(4) == 1, lambda t: t.arange(4) == True, lambda t: t.arange(4) == 1.0,  # noqa: E712
    lambda t: t.ones(3, dtype=t.float16) * 0.1, lambda t: t.ones(3, dtype=t.float16) * t.tensor(0.1),
    lambda t: t.ones(3, dtype=t.float16) * t.tensor([0.1]), lambda t: t.ones(3, dtype=t.bfloat16) - 0.1,
    lambda t: t.add(t.ones(3, dtype=t.float16), t.ones(3, dtype=t.float16), alpha=0.3),
    lambda t: t.add(t.ones(3), t.arange(3), alpha=2), lambda t: t.add(t.ones(3), t.arange(3), alpha=3),
    lambda t: t.ones(3, dtype=t.float16) * 0.0, lambda t: t.ones(3, dtype=t.float16) * -0.0,
    lambda t: t.ones(2, 3).t() + t.ones(3, 2, dtype=t.float64), lambda t: t.clamp(t.arange(4), 0.5, None),
    lambda t: t.full((3,), 60000, dtype=t.float16) * 2, lambda t: t.full((2,), 1e38) * t.tensor(1e38, dtype=t.float64),
    lambda t: t.nn.functional.leaky_relu(-t.ones(3, dtype=t.float16), 0.0),
    lambda t: t.nn.functional.leaky_relu(-t.ones(3, dtype=t.float16), -0.0),
    lambda t: t.arange(3).bool().sum(), lambda t: t.arange(3).sum(dtype=t.float16), lambda t: t.arange(6.0).prod(),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dtypes_promote_each_time_as_the_first(dtype: str) -> None:
    try:
        for lib in (mindtorch, torch):
            lib.set_default_dtype(getattr(lib, dtype))
        for _ in range(3):
            for call in MIXED:
                assert_same(call(mindtorch), call(torch))
    finally:
        for lib in (mindtorch, torch):
            lib.set_default_dtype(lib.float32)


def test_what_a_number_forbids_is_refused_each_time() -> None:
    x, half = mindtorch.arange(3), mindtorch.ones(3, dtype=mindtorch.float16)
    for _ in range(3):
        assert (x**2).tolist() == [0, 1, 4]
        with pytest.raises(RuntimeError, match="negative integer powers"):
            x ** -2
        mindtorch.add(half, half, alpha=2)
        with pytest.raises(RuntimeError, match="without overflow"):
            mindtorch.add(half, half, alpha=1e39)


#: How a tensor of shape (3, 4) lies in memory.
LAID: dict[str, Callable[[Any], Any]] = {
    "contiguous": lambda x: x, "transposed": lambda x: x.t().contiguous().t(),
    "stepped": lambda x: x.repeat(1, 2)[:, ::2],
    "rows repeated": lambda x: x[:1].expand(3, 4), "columns repeated": lambda x: x[:, :1].expand(3, 4),
    "a row": lambda x: x[0], "a number": lambda x: x[0, 1],
}
POINTWISE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "silu": lambda t, x, y: t.nn.functional.silu(x), "relu": lambda t, x, y: x.relu(), "sqrt": lambda t, x, y: x.sqrt(),
    "neg": lambda t, x, y: -x, "round": lambda t, x, y: x.round(), "x + y": lambda t, x, y: x + y,
    "x - y": lambda t, x, y: x - y, "x + 2y": lambda t, x, y: t.add(x, y, alpha=2), "x / y": lambda t, x, y: x / y,
    "x < y": lambda t, x, y: x < y, "minimum": lambda t, x, y: t.minimum(x, y), "x * 2": lambda t, x, y: x * 2,
    "x + 1.5": lambda t, x, y: x + 1.5, "1 - x": lambda t, x, y: 1 - x, "x == -0.0": lambda t, x, y: x == -0.0,
    "x ** 3": lambda t, x, y: x ** 3, "xlogy": lambda t, x, y: t.xlogy(x, y),
    "where": lambda t, x, y: t.where(y > 0, x, y),
    "where number": lambda t, x, y: t.where(y > 0, x, 0.5), "clamp": lambda t, x, y: x.clamp(-1, 2),
    "clamp from below": lambda t, x, y: x.clamp(min=-1),
    "lerp": lambda t, x, y: t.lerp(x, y, 0.25), "addcmul": lambda t, x, y: t.addcmul(x, y, y, value=2),
    "hardtanh": lambda t, x, y: t.nn.functional.hardtanh(x), "atan2": lambda t, x, y: t.atan2(x, y),
    "shifted": lambda t, x, y: x >> y,
    "leaky_relu": lambda t, x, y: t.nn.functional.leaky_relu(x, 0.1), "isreal": lambda t, x, y: t.isreal(x),
    "signbit": lambda t, x, y: t.signbit(x), "isneginf": lambda t, x, y: t.isneginf(x),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", POINTWISE)
def test_the_fourth_pointwise_call_is_the_first(name: str) -> None:
    """Of each pair of dtypes and of layouts: its values, its dtype and its strides are PyTorch's."""
    def program(t: Any, of: str, at: str, other_of: str, other_at: str) -> list[Any]:
        x, y = [LAID[where](t.tensor([abs(n) if dtype == "uint8" else n for n in numbers]).to(getattr(t, dtype))
                            .reshape(3, 4)) for numbers, dtype, where in (
            ([0.5, -1.5, 2, 0, 3, -2, 1, 1, 0.25, -0.5, 2.5, 4], of, at),
            ([1, 2, -1.5, 3, 0.5, 1, -2, 2, 1, 4, 0.75, 1.25], other_of, other_at))]
        seen = []
        for _ in range(4):
            try:
                result = POINTWISE[name](t, x, y)
            except (RuntimeError, TypeError, NotImplementedError) as error:
                seen.append(type(error).__name__)
            else:
                values = [f"{value:.5g}" for value in result.double().flatten().tolist()]
                seen.append((values, str(result.dtype).rpartition(".")[2], tuple(result.stride())))
        return seen

    kinds = [(dtype, dtype) for dtype in ("float32", "float16", "bfloat16", "int64", "uint8", "bool")]
    kinds += [("float32", "int64"), ("bfloat16", "float32"), ("bool", "float16"), ("int64", "float64")]
    wrong = []
    for of, other_of in kinds:
        for at in LAID:
            for other_at in (at, "contiguous", "a row"):
                ours, theirs = (program(t, of, at, other_of, other_at) for t in (mindtorch, torch))
                if ours != theirs:
                    wrong.append((of, at, other_of, other_at, ours, theirs))
    assert not wrong, (len(wrong), wrong[:2])


@pytest.mark.parametrize("ignored", [-100, 1, 7])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("weighted", [False, True])
def test_samples_of_ignored_classes_count_for_nothing(ignored, reduction, dtype, weighted) -> None:
    x, weight = torch.linspace(-3, 2, 30, dtype=getattr(torch, dtype)).reshape(5, 3, 2), torch.tensor([2, 0.5, 1])
    target = torch.tensor([[0, 2], [2, 0], [ignored, 2], [0, ignored], [0, 0]])

    def run(lib: Any) -> Any:
        given, at = port(x, lib).requires_grad_(), port(target, lib)
        weights = port(weight, lib).to(given.dtype) if weighted else None
        for _ in range(3):
            loss = lib.nn.functional.nll_loss(given, at, weights, ignore_index=ignored, reduction=reduction)
            grad, = lib.autograd.grad(loss.sum(), given)
            nothing = lib.nn.functional.nll_loss(given, lib.full_like(at, ignored), weights, ignore_index=ignored,
                                                 reduction=reduction)
        return loss.detach(), grad, nothing.detach()

    assert_same(run(mindtorch), run(torch))


@pytest.mark.parametrize("wrong", [-1, 3])
def test_what_is_no_class_is_refused_however_often_others_were_taken(wrong) -> None:
    x, target = mindtorch.ones(4, 3), mindtorch.tensor([0, 1, 2, 0])
    for _ in range(3):
        mindtorch.nn.functional.nll_loss(x, target)
        mindtorch.ops.aten.nll_loss_backward(mindtorch.tensor(1.0), x, target, None, 2, -100, mindtorch.tensor(0.0))
    target[2] = wrong
    with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
        mindtorch.nn.functional.nll_loss(x, target)
    with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
        mindtorch.ops.aten.nll_loss_backward(mindtorch.tensor(1.0), x, target, None, 2, -100, mindtorch.tensor(0.0))

"""Reads and writes at indices like one before: results, refused indices, and counted writes are PyTorch's each time."""
from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import mindtorch
from mindtorch._backends.cpu.rows import Prepared
from tests.both import Program, assert_same_outcome, each_program
from tests.support import assert_same, port, torch
from tests.test_repeated_calls import values

#: Of a tensor, indices of each element of its shape, indices of rows, and values of its shape.
AT_INDICES: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "scatter": lambda x, at, rows, y: x.scatter(0, at, y),
    "scatter of a part": lambda x, at, rows, y: x.scatter(1, at[:2, :3], y),
    "scatter of a number": lambda x, at, rows, y: x.scatter(0, at, -0.0),
    "scatter of another number": lambda x, at, rows, y: x.scatter(0, at, 0.0),
    "scatter_add": lambda x, at, rows, y: x.scatter_add(1, at, y),
    **{f"scatter_reduce {reduce}": lambda x, at, rows, y, reduce=reduce: x.scatter_reduce(
        0, at, y, reduce, include_self=False) for reduce in ("sum", "prod", "mean", "amin", "amax")},
    "index_add": lambda x, at, rows, y: x.index_add(0, rows, y),
    "index_add by a factor": lambda x, at, rows, y: x.index_add(0, rows, y, alpha=-2),
    "index_add to a single row": lambda x, at, rows, y: x[None, :1].clone().index_add(2, rows, y[None, :1, :3]),
    "index_reduce": lambda x, at, rows, y: x.index_reduce(0, rows, y, "amax"),
    "index_copy": lambda x, at, rows, y: x.index_copy(0, rows, y),
    "index_copy along the last": lambda x, at, rows, y: x.index_copy(-1, rows, y[:, :3]),
    "index_fill": lambda x, at, rows, y: x.index_fill(1, rows, 2),
    "index_put": lambda x, at, rows, y: x.index_put((rows,), y),
    "index_put and add": lambda x, at, rows, y: x.index_put((rows, at[:, 0]), y[:, 1], accumulate=True),
    "index_put and add, broadcast": lambda x, at, rows, y: x.view(-1).index_put((at,), y[0], accumulate=True),
    "take_along_dim": lambda x, at, rows, y: x.take_along_dim(at, 0),
    "take_along_dim, broadcast": lambda x, at, rows, y: x[:1].take_along_dim(at, 1),
    "scatter_reduce of truth values": lambda x, at, rows, y: (x > 1).scatter_reduce(0, at, y > 1, "amax"),
    "put": lambda x, at, rows, y: x.put(at, y),
    "put and add": lambda x, at, rows, y: x.put(at, y, accumulate=True),
    "masked_scatter": lambda x, at, rows, y: x.masked_scatter(at > 0, y),
    "masked_scatter, broadcast": lambda x, at, rows, y: x[0].masked_scatter(at > 0, y),
    "gather": lambda x, at, rows, y: x.gather(0, at),
    "index_select": lambda x, at, rows, y: x.index_select(1, rows),
}


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    try:
        return call(*args)
    except (IndexError, RuntimeError) as error:
        return type(error).__name__, str(error).partition("\n")[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
@pytest.mark.parametrize("name", AT_INDICES)
def test_indices_are_checked_each_time(name: str, dtype: Any) -> None:
    call = AT_INDICES[name]
    for times, bad in enumerate((0, 0, 0, 7, -1, -9, 0)):
        x, y = values((3, 4), dtype, times + 1), values((3, 4), dtype, times + 2).nan_to_num()
        at, rows = torch.arange(12).reshape(3, 4) * (times + 1) % 3, torch.tensor([2, 0, 1])
        at[-1, -1] = rows[-1] = bad
        args = x, at, rows, y
        mine, theirs = outcome(call, *port(args, mindtorch)), outcome(call, *args)
        if isinstance(theirs, tuple):
            assert mine == theirs
        else:
            assert_same(mine, theirs)


IN_PLACE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "scatter_": lambda x, at, y: x.scatter_(0, at, y), "scatter_add_": lambda x, at, y: x.scatter_add_(0, at, y),
    "index_add_": lambda x, at, y: x.index_add_(0, at[:, 0], y), "put_": lambda x, at, y: x.put_(at, y),
    "index_fill_": lambda x, at, y: x.index_fill_(0, at[:, 0], 3.0),
    "masked_scatter_": lambda x, at, y: x.masked_scatter_(at > 0, y),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_a_write_by_plan_counts_and_refuses_shared_memory(name: str) -> None:
    call = IN_PLACE[name]
    y, at = values((3, 4), torch.float32, 2), torch.tensor([[2, 0, 1, 0], [1, 1, 2, 0], [0, 2, 0, 1]])
    for times in range(4):
        theirs = [values((3, 4), torch.float32, times), at, y]
        ours = port(theirs, mindtorch)
        for target, index, source in (ours, theirs):
            before = target._version
            assert call(target, index, source) is target and target._version == before + 1
        assert_same(ours[0], theirs[0])
        refused = [outcome(call, target, index, target) for target, index, _ in (ours, theirs)]
        assert refused[0] == refused[1] if isinstance(refused[1], tuple) else refused[0] is ours[0]
        overlapping = [str(outcome(call, memory[:3], index, memory[1:])) for memory, index in (
            port((values((4, 4), torch.float32, times), at), lib) for lib in (mindtorch, torch))]
        assert overlapping[0] == overlapping[1]


@each_program(*[lambda t, write=write: [write(t, t.ones(1, 3).expand(2, 3)) for _ in range(4)] for write in (
    lambda t, x: x.index_fill_(1, t.tensor([0]), 2.0),
    lambda t, x: x.masked_fill_(t.tensor([True, False, True]), 2.0))])
def test_each_write_to_an_expanded_tensor_warns(program: Program) -> None:
    assert_same_outcome(program)


@pytest.mark.parametrize("how", ["max", "min", "sum", "mean", "prod"])
def test_segments_are_reduced_each_time_and_lengths_are_checked(how: str) -> None:
    for times, lengths in enumerate(([2, 0, 1], [1, 1, 1], [3, 0, 0], [-1, 2, 2], [1, 1, 0], [0, 1, 2])):
        x, given = values((3, 2), torch.float32, times + 1), torch.tensor(lengths)
        results = [outcome(lambda lib, x, given: lib.segment_reduce(x, how, lengths=given), lib, *port((x, given), lib))
                   for lib in (mindtorch, torch)]
        if isinstance(results[1], torch.Tensor):
            assert_same(*results)
        else:
            assert results[0] == results[1]
        if min(lengths) >= 0:
            ends = torch.tensor([0, *lengths]).cumsum(0)
            assert_same(*[lib.segment_reduce(port(x, lib), how, offsets=port(ends, lib), initial=times or None)
                          for lib in (mindtorch, torch)])


THROUGH_VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "select_scatter": lambda lib, x: lib.select_scatter(x, x[:, 0].clone(), 1, 2),
    "slice_scatter": lambda lib, x: lib.slice_scatter(x, x[::2].clone(), 0, 0, 3, 2),
    "diagonal_scatter": lambda lib, x: lib.diagonal_scatter(x, x[:, 0].clone(), 1),
    "as_strided_scatter": lambda lib, x: lib.as_strided_scatter(x, x[:2, :2].clone(), (2, 2), (1, 5), 1),
    "as_strided_copy": lambda lib, x: lib.as_strided_copy(x, (2, 3), (1, 2), 3),
    "narrow_copy": lambda lib, x: lib.narrow_copy(x, 1, 1, 2),
    "permute_copy": lambda lib, x: lib.permute_copy(x, (1, 0)),
    "view_copy as bytes": lambda lib, x: lib.view_copy(x, lib.uint8),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex64], ids=str)
@pytest.mark.parametrize("name", THROUGH_VIEWS)
def test_copies_through_views_see_the_memory_that_views_see(name: str, dtype: Any) -> None:
    for start in (0, 0, 0, 4, 0):
        whole = values((24,), dtype, start + 2)
        results = []
        for lib in (mindtorch, torch):
            memory = port(whole, lib)
            part = memory[start:start + 12] if start else memory[:12].clone()
            results.append(THROUGH_VIEWS[name](lib, part.view(3, 4)))
        assert_same(*results)
        assert results[0].untyped_storage().nbytes() == results[1].untyped_storage().nbytes()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_orders_are_found_each_time_whatever_the_zeros_and_nan(dtype: Any) -> None:
    for times in range(1, 5):
        x = values((3, 5, 2), dtype, times)
        for call in (lambda x: x.cummax(1), lambda x: x.cummin(0), lambda x: x.sort(dim=1, stable=True),
                     lambda x: x.sort(dim=-1, descending=True, stable=True), lambda x: x[:, 0, 0].topk(2)[0],
                     lambda x: x[0, 0, 0].median(0), lambda x: x.max(1), lambda x: x.min(0, keepdim=True),
                     lambda x: x.aminmax(dim=1), lambda x: x.aminmax(), lambda x: x[0, 0, 0].cumsum(0),
                     lambda x: x[0, 0, 0].nonzero()):
            assert_same(call(port(x, mindtorch)), call(x))


def test_a_plan_starts_though_another_thread_completes_it_meanwhile() -> None:
    plan = SimpleNamespace()
    start = Prepared(lambda x, factor: None, 1, lambda x, factor: x * factor).starting(plan, (3,))
    assert start(2) == 6 and start(2, *plan.settings) == plan.run(2, *plan.settings) == 6


def test_sums_at_indices_of_expanded_memory_show_in_all_its_elements() -> None:
    for lib in (mindtorch, torch):
        x = lib.ones(1, 2).expand(3, 2)
        x.index_put_((lib.tensor([0, 2, 0]),), lib.ones(2), accumulate=True)
        assert x.tolist() == [[4, 4]] * 3

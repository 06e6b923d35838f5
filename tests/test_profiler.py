"""Profiles count operators and blocks, and subtract the times of what was called inside."""
from __future__ import annotations

import json
from typing import Any

import pytest

import mindtorch as torch
from mindtorch.autograd.profiler import profile, record_function
from mindtorch.profiler import ProfilerAction, ProfilerActivity, schedule
from tests.support import torch as reference


def test_operators_and_named_blocks_are_counted() -> None:
    x = torch.ones(4, 4)
    with profile(record_shapes=True) as found:
        with record_function("products"):
            for _ in range(3):
                x.mm(x)
        x.relu()
    assert [event.name for event in found] == ["products", *["aten::mm"] * 3, "aten::relu"]
    by_name = {event.key: event for event in found.key_averages()}
    assert by_name["aten::mm"].count == 3 and by_name["products"].count == 1
    inside = by_name["aten::mm"].cpu_time_total
    assert by_name["products"].cpu_time_total >= inside
    assert by_name["products"].self_cpu_time_total == pytest.approx(by_name["products"].cpu_time_total - inside)
    table = found.key_averages(group_by_input_shape=True).table(sort_by="cpu_time_total", row_limit=1)
    assert "products" in table and "aten::mm" not in table and "Self CPU time total" in table
    assert "aten::relu" in found.table(sort_by="self_cuda_time_total") and by_name["aten::mm"].device_time_total == 0
    with pytest.raises(AttributeError, match="is none of the columns"):
        found.table(sort_by="colour")


def test_columns_are_as_wide_as_pytorchs() -> None:
    tables = []
    for lib in (torch, reference):
        profiler = lib.autograd.profiler
        with profiler.profile(record_shapes=True) as found, profiler.record_function("s" * 60):
            pass
        tables.append([found.table(max_name_column_width=width).splitlines() for width in (20, 55, 80)])
    for ours, theirs in zip(*tables, strict=True):
        assert ours[:3] == theirs[:3] and ours[3].split()[0] == theirs[3].split()[0]


@pytest.mark.parametrize("lib", [torch, reference], ids=["mindtorch", "torch"])
def test_operators_that_a_graph_has_begin_and_end_blocks(lib: Any) -> None:
    ops, graph = lib.ops.profiler, lib.fx.Graph()
    block = graph.call_function(ops._record_function_enter, ("block",))
    result = graph.call_method("relu", (graph.placeholder("x"),))
    graph.call_function(ops._record_function_exit, (block,))
    graph.output(result)
    module = lib.fx.GraphModule(lib.nn.Module(), graph)
    with lib.autograd.profiler.profile() as found:
        module(lib.ones(2))
    assert {"block", "aten::relu"} <= {event.key for event in found.key_averages()}


def test_without_a_profile_a_named_block_is_a_block() -> None:
    @record_function("step")
    def step() -> int:
        return 3

    assert step() == 3
    with profile(enabled=False) as found:
        torch.ones(2).relu()
    assert list(found) == []


@pytest.mark.parametrize("options", [
    {"wait": 1, "warmup": 1, "active": 2}, {"wait": 0, "warmup": 1, "active": 1, "repeat": 2},
    {"wait": 2, "warmup": 0, "active": 1, "skip_first": 3}, {"wait": 1, "warmup": 0, "active": 1, "skip_first": 1,
                                                             "skip_first_wait": 1},
], ids=str)
def test_a_schedule_says_what_pytorchs_says(options) -> None:
    ours, theirs = schedule(**options), reference.profiler.schedule(**options)
    assert [ours(step).name for step in range(15)] == [theirs(step).name for step in range(15)]


def test_steps_are_recorded_as_the_schedule_says(tmp_path) -> None:
    records = []

    def keep(profiler: Any) -> None:
        records.append((profiler.key_averages()[0].count, profiler.step_num))

    with torch.profiler.profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=2),
                                on_trace_ready=keep) as profiler:
        for _ in range(8):
            torch.ones(2).relu()
            profiler.step()
    assert profiler.step_num == 8 and records == [(2, 4), (2, 8)]
    assert ProfilerAction.RECORD_AND_SAVE.value == 3
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    names = {event["name"] for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]}
    assert "aten::relu" in names


def test_nothing_is_observed_after_a_profile() -> None:
    with profile():
        pass
    with pytest.raises(ValueError, match="no"), profile():
        raise ValueError("no")
    from mindtorch._dispatch import observers

    assert observers._observers == ()


@pytest.mark.parametrize("settings", [
    {"wait": 1, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 1}, {"wait": 0, "warmup": 2, "active": 1},
    {"wait": 1, "warmup": 1, "active": 1, "repeat": 2, "skip_first": 1, "skip_first_wait": 1}])
def test_a_schedule_repeats_its_cycle_as_often_as_is_asked_for(settings) -> None:
    mine, theirs = (lib.profiler.schedule(**settings) for lib in (torch, reference))
    assert [mine(step).name for step in range(13)] == [theirs(step).name for step in range(13)]

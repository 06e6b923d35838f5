"""Timelines of several ranks, and what ranks say side by side: facts and pictures, of ranks that are made up."""
from __future__ import annotations

import pytest

from mindtorch import introspect, viz
from mindtorch.introspect import RankOutput, RankShare, Span, Timeline

SPANS = (
    Span("rank 0", "loss.backward()", "run", 0, 100, "63 operators, called at cell 1, line 2", "loss.backward()"),
    Span("rank 0 network", "bucket 0", "wait", 20, 40, "all_reduce(SUM, float32[9]) at cell 1, line 2"),
    Span("rank 0 network", "bucket 0", "exchange", 40, 90, "all_reduce(SUM, float32[9]) at cell 1, line 2"),
    Span("rank 0", "bucket 0", "sync", 70, 95, "all_reduce(SUM, float32[9]) at cell 1, line 2"),
    Span("rank 10 npu:0 stream 3", "aclnnAdd", "run", 10, 30),
)
TIMELINE = Timeline(SPANS, ("rank 0", "rank 0 network", "rank 10", "rank 10 npu:0 stream 3"), clocks="one clock")


def test_what_became_of_a_ranks_time() -> None:
    first, second = introspect.rank_shares(TIMELINE)
    assert first == RankShare("rank 0", computes=75, waits=25, late=20, exchanges=50, hidden=30)
    assert second == RankShare("rank 10", 20, 0, 0, 0, 0)
    assert introspect.rank_shares(Timeline((Span("host", "exp", "run", 0, 1),), ("host",))) == ()


def test_exchanges_that_overlap_count_once() -> None:
    spans = (Span("rank 1 network", "a", "exchange", 0, 60), Span("rank 1 network", "b", "exchange", 50, 100),
             Span("rank 1", "x", "run", 30, 40), Span("rank 1", "y", "run", 90, 200))
    [share] = introspect.rank_shares(Timeline(spans, ("rank 1", "rank 1 network")))
    assert (share.computes, share.exchanges, share.hidden) == (120, 100, 20)


@pytest.mark.parametrize(("lane", "parts"), [
    ("rank 12", ("rank 12", "host")), ("rank 0 network", ("rank 0", "network")), ("host", ("", "host")),
    ("rank 1 npu:0 stream 3", ("rank 1", "npu:0 stream 3")), ("host reader", ("", "host reader")),
])
def test_lanes_of_ranks(lane: str, parts: tuple[str, str]) -> None:
    assert introspect.rank_and_lane(lane) == parts
    if parts[0]:
        assert introspect.lane_of(int(parts[0][5:]), parts[1]) == lane


def test_the_picture_has_lanes_for_each_rank_buckets_and_what_became_of_the_time() -> None:
    page, text = viz.timeline_page(TIMELINE), viz.timeline_text(TIMELINE)
    for said in ("▶ loss.backward()", ">⇅ bucket 0<", "one clock", "until all ranks have made the call",
                 "the program waits for data", "60%", "all_reduce(SUM, float32[9]) at cell 1, line 2"):
        assert said in page
    assert page.count('class="mt-lane mt-network"') == 1 and page.count('class="mt-track mt-network"') == 1
    assert "other ranks late 20 ns" in text and "60% of it while the program computes" in text and "one clock" in text
    assert "sync: the host waits" in viz.timeline_page(Timeline((Span("host", "x", "sync", 0, 1),), ("host",)))


def test_each_rank_is_a_process_of_the_chrome_trace() -> None:
    events = introspect.to_chrome_trace(TIMELINE)["traceEvents"]
    assert [e["args"]["name"] for e in events if e["name"] == "process_name"] == ["rank 0", "rank 10"]
    assert len({e["pid"] for e in events}) == 2


def test_outputs_stand_side_by_side_and_errors_once() -> None:
    error = "DistBackendError: the ranks of world do not make the same call:\n  rank 0: <barrier>"
    outputs = [RankOutput(0, "hello\n", "", ({"text/html": "<b>card</b>", "text/plain": "tensor"},), error, "Trace"),
               RankOutput(1, "", "careful", ({"text/plain": "a < b"}, {"image/png": "QUJD\n"}), error, "Trace"),
               RankOutput(2, error="\x1b[31mValueError\x1b[0m: no"), RankOutput(3, done=False)]
    page, text = viz.ranks_page(outputs), viz.ranks_text(outputs)
    assert page.count('class="mt-column"') == 2 and "<b>card</b>" in page and "a &lt; b" in page
    assert 'src="data:image/png;base64,QUJD"' in page
    assert page.count("do not make the same call") == 1 and "rank 0: &lt;barrier&gt;" in page
    assert "ranks 0, 1" in text and "ValueError: no" in text and "\x1b" not in page
    assert "rank 3: no output" in text and "rank 3 running" in text and "hello" in text


def test_silent_ranks_are_told_to_be_done() -> None:
    assert viz.ranks_text([RankOutput(0), RankOutput(1)]) == "ranks 0, 1: done"
    assert viz.ranks_text([RankOutput(0, "x"), RankOutput(1)]) == "rank 0\nx\nrank 1: no output"

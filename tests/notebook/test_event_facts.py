"""Every field of the facts of what happened: spans, arrows and shares of time, beside a calculation of its own."""
from __future__ import annotations

import dataclasses
from typing import Any

from mindtorch._dispatch.keys import DispatchKeySet
from mindtorch._dispatch.observers import ActivityEvent, DispatchEvent, TensorMeta
from mindtorch.introspect import profiler, spans
from mindtorch.introspect.dispatched import Asked, argument_text
from mindtorch.introspect.races import RaceWatch
from mindtorch.introspect.spans import Arrow, OperatorPath, Timeline

FLOAT = TensorMeta((2,), "float32", (1,), "cpu", False, 1)


def call(op: str, start: int, duration: int, **changes: Any) -> DispatchEvent:
    event = DispatchEvent(
        sequence=start, op=op, key_set=DispatchKeySet(1), path=("CPU",), kernel="k", file="f.py", line=3,
        composite=False, inputs=(), outputs=(FLOAT,), called=start, start=start, duration=duration,
        thread=1, thread_name="MainThread", stream=None, depth=0, site=("user.py", 5, "main"))
    return dataclasses.replace(event, **changes)


def arranged(calls: list[DispatchEvent], activities: list[ActivityEvent], finished: int = 10**9) -> Timeline:
    found = Timeline()
    spans._arrange(found, calls, activities, finished, RaceWatch(None))
    return found


def test_spans_lanes_and_arrows_of_a_made_up_program() -> None:
    calls = [call("aten::mm", 100, 50, stream="npu:0 stream 0"),
             call("inner", 110, 20, depth=1, stream="npu:0 stream 0"),
             call("aten::relu", 200, 10, error="RuntimeError: no"), call("later", 300, 10, pending=True),
             call("elsewhere", 50, 5, thread=2, thread_name="worker")]
    activities = [
        ActivityEvent("run", "aclnnMm", "npu:0", 0, 400, 100, 1, 1, 115, None, "", (5, 7), "24 cube"),
        ActivityEvent("wait", "stream 1 waits", "npu:0", 1, 480, 60, 1, 1, 160, (0, 1)),
        ActivityEvent("run", "aclnnRelu", "npu:0", 1, 130, 10, 1, 2, 125, None, "", (0, 9)),
        ActivityEvent("copy", "to host", "npu:0", 0, 600, 10, 1),
        ActivityEvent("sync", "synchronize", "npu:0", 0, 900, 50, 1),
        ActivityEvent("free", "64 bytes", "npu:0", 0, 950, 0, 1),
        ActivityEvent("exchange", "all_reduce", "network", 0, 20, 5, 1, detail="4 bytes"),
    ]
    found = arranged(calls, activities, finished=890)
    assert [span.start for span in found.spans] == sorted(span.start for span in found.spans)
    assert (found.start, found.end) == (20, 960 - 10)
    streams = ["network", "npu:0 stream 0", "npu:0 stream 1"]
    hosts = [lane for lane in found.lanes if lane not in streams]
    assert list(found.lanes[-3:]) == streams and "host" in hosts[0] and any("worker" in lane for lane in hosts)
    by_name = {span.name: span for span in found.spans}
    mm, relu = by_name["aten::mm"], by_name["aten::relu"]
    assert (mm.kind, mm.start, mm.end) == ("enqueue", 100, 150)
    assert mm.detail == "→ float32[2], on npu:0 stream 0, called at user.py:5"
    assert (relu.kind, relu.detail) == ("run", "→ float32[2], RuntimeError: no, called at user.py:5")
    assert (by_name["later"].kind, by_name["later"].detail) == (
        "enqueue", "→ float32[2], into the pipeline, called at user.py:5")
    run = by_name["aclnnMm"]
    assert (run.lane, run.kind, run.start, run.end, run.detail) == (
        "npu:0 stream 0", "run", 400, 500, "number 1 in the stream")
    assert by_name["stream 1 waits"].detail == "" and by_name["stream 1 waits"].lane == "npu:0 stream 1"
    assert by_name["to host"].detail == "npu:0 stream 0" and by_name["to host"].lane == mm.lane
    assert by_name["synchronize"].detail == "npu:0 stream 0, at the end of the timeline"
    assert by_name["all_reduce"].detail == "4 bytes" and by_name["64 bytes"].lane == "npu:0 stream 0"
    assert [(a.kind, a.name, a.cause, a.start, a.target, a.end) for a in found.arrows] == [
        ("enqueue", "aclnnMm", "inner", 115, "npu:0 stream 0", 400),
        ("enqueue", "aclnnRelu", "inner", 125, "npu:0 stream 1", 130),
        ("enqueue", "stream 1 waits", "", 160, "npu:0 stream 1", 480),
        ("event", "stream 1 waits", "aclnnMm", 500, "npu:0 stream 1", 540)]
    assert all(isinstance(arrow, Arrow) for arrow in found.arrows) and found.arrows[3].source == "npu:0 stream 0"
    assert found.paths == (OperatorPath("aclnnRelu", "npu:0 stream 1", 0, 9, 0, 10, ""),
                           OperatorPath("aclnnMm", "npu:0 stream 0", 5, 7, 400 - 115 - 7, 100, "24 cube"))
    assert {span.name for span in found.at(112)} == {"aten::mm", "inner"}
    assert found.at(150)[0].name == "aten::mm" and found.at(151) == ()
    assert found.events() == tuple(sorted({t for span in found.spans for t in (span.start, span.end)}))
    empty = arranged([], [])
    assert (empty.start, empty.end, empty.lanes, empty.spans, empty.events()) == (0, 0, (), (), ())


def test_threads_of_one_name_are_told_apart() -> None:
    found = arranged([call("a", 1, 1, thread=7, thread_name="pool"), call("b", 2, 1, thread=8, thread_name="pool"),
                      call("c", 3, 1, thread=9, thread_name="alone")], [])
    assert found.lanes == ("host pool 7", "host pool 8", "host alone")


def test_a_profile_of_made_up_calls_adds_up() -> None:
    recorder = profiler._Recorder(clock=lambda: clock[0])
    recorder.thread, clock = 1, [0]
    for event, now in [(call("inner", 20, 30, depth=1), 55), (call("outer", 10, 100, called=5), 130),
                       (call("again", 200, 7, kernel="other", site=("user.py", 9, "main")), 210),
                       (call("foreign", 300, 1, thread=2), 400)]:
        clock[0] = now
        recorder.note(event)
    found = profiler.Profile()
    recorder.fill(found, 1000, {})
    shares = {s.name: (s.calls, s.self_time, s.total_time) for s in found.operators}
    assert shares == {"outer": (1, 65, 100), "inner": (1, 30, 30), "again": (1, 7, 7)}
    assert [s.name for s in found.operators] == ["outer", "inner", "again"]
    assert {(s.name, s.file, s.line): (s.calls, s.self_time, s.total_time) for s in found.kernels} == {
        ("k", "f.py", 3): (2, 95, 130), ("other", "f.py", 3): (1, 7, 7)}
    assert {(s.file, s.line): (s.calls, s.self_time, s.total_time) for s in found.lines} == {
        ("user.py", 5): (1, 95, 100), ("user.py", 9): (1, 7, 7)}
    assert (found.wall, found.observing, found.inside) == (1000, 5 + 25 + 3, 102)
    assert found.outside == 1000 - (100 + 25) - (7 + 3) and found.program == found.inside + found.outside


def test_arguments_in_few_characters() -> None:
    assert argument_text((FLOAT, 2, (FLOAT,), "x")) == "(float32[2], 2, (float32[2],), 'x')"
    assert argument_text(()) == "()" and argument_text((1,)) == "(1,)" and argument_text(None) == "None"
    assert (Asked().part, Asked().node) == ("", "")

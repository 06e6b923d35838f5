"""Timelines: what the host and every stream did when, as facts, as a Chrome trace, as a picture, and as a magic."""
from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import mindtorch as torch
from mindtorch import introspect, viz
from mindtorch._backends.npu.runtime import get_runtime

from ..npu.test_asynchrony import ones
from .test_pictures import Checker

simulator = torch.npu.simulator


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    torch.npu.synchronize()
    yield
    simulator.faults.clear()
    torch.npu.synchronize()


def lane(stream: torch.npu.Stream) -> str:
    return f"{stream.device} stream {stream.stream_id}"


def spans(timeline: introspect.Timeline, kind: str, lane: str) -> list[introspect.Span]:
    return [span for span in timeline.spans if (span.kind, span.lane) == (kind, lane)]


def test_the_host_enqueues_and_the_stream_runs_later() -> None:
    a, stream = ones(4), torch.npu.default_stream()
    with introspect.timeline() as timeline, simulator.paused(stream):
        (a + a).relu()
    host, ran = spans(timeline, "enqueue", "host"), spans(timeline, "run", lane(stream))
    assert [span.name for span in host] == ["add.Tensor", "relu"] and lane(stream) in host[0].detail
    assert [span.name for span in ran] == ["aclnnAdd", "aclnnRelu"]
    assert all(span.start <= span.end for span in timeline.spans)
    assert host[-1].end <= ran[0].start and ran[0].end <= ran[1].start
    assert timeline.lanes == ("host", lane(stream))


def test_what_the_host_computes_runs_there() -> None:
    x = torch.ones(3)
    with introspect.timeline() as timeline:
        x.exp()
    assert timeline.lanes == ("host",)
    assert [(span.kind, span.name) for span in timeline.spans] == [("run", "exp")]
    assert "float32[3]" in timeline.spans[0].detail and "called at " in timeline.spans[0].detail
    assert f"{__file__}:" in timeline.spans[0].detail


def test_two_streams_overlap_and_one_waits_for_the_other() -> None:
    a, first, second = ones(4), torch.npu.Stream(), torch.npu.Stream()
    begun = torch.npu.Event()
    with introspect.timeline() as timeline, simulator.paused(first):
        with torch.npu.stream(first):
            b = a * 2
        with torch.npu.stream(second):
            c = a + 1
            begun.record()
            second.wait_stream(first)
            d = c + b
        begun.synchronize()  # the second stream has come to where it waits; the first one still has not begun
    assert d.tolist() == [4] * 4
    multiplied, = spans(timeline, "run", lane(first))
    added, summed = spans(timeline, "run", lane(second))
    waited, = spans(timeline, "wait", lane(second))
    assert waited.name == f"stream {second.stream_id} waits for stream {first.stream_id}"
    assert added.end <= multiplied.start < multiplied.end <= summed.start
    assert waited.start <= waited.end <= summed.start and multiplied.end <= waited.end
    assert multiplied in timeline.at(multiplied.start)


def test_waiting_for_an_event_does_not_wait_for_what_is_behind_it_while_somebody_looks() -> None:
    a, held, stream = ones(4), torch.npu.Stream(), torch.npu.Stream()
    event = torch.npu.Event()
    with introspect.timeline() as timeline, simulator.paused(held):
        with torch.npu.stream(stream):
            b = a + 1
            event.record()
            stream.wait_stream(held)
            b.mul_(2)
        event.synchronize()
        assert not stream.query()
        simulator.release(held)
    added, multiplied = spans(timeline, "run", lane(stream))
    assert "Add" in added.name and "Mul" in multiplied.name


def test_copies_synchronisations_and_deferred_frees_are_seen() -> None:
    a, stream = ones(4), torch.npu.default_stream()
    with introspect.timeline() as timeline:
        with simulator.paused(stream):
            b = a + 1
            c = b * 2
            del b
            ones_again = a.exp()  # whose allocation takes the memory of b in
        c.cpu()
    copy, = spans(timeline, "copy", "host")
    assert copy.name == "device to host" and lane(stream) in copy.detail
    assert spans(timeline, "sync", "host")[0].end <= copy.start
    free = spans(timeline, "free", lane(stream))
    assert free and "512 bytes" in free[0].name
    assert spans(timeline, "run", lane(stream))[-1].end <= free[0].start
    del ones_again


def test_memory_that_another_stream_used_is_free_after_that() -> None:
    a, side = ones(4), torch.npu.Stream()
    address = a.data_ptr()
    with introspect.timeline() as timeline, simulator.paused(side):
        with torch.npu.stream(side):
            a + 1
        a.record_stream(side)
        del a
        torch.npu.memory_allocated()  # the allocator takes in what was given back when it is next asked
    freed = [span for span in spans(timeline, "free", "npu:0 stream 0") if f"{address:#x}" in span.name]
    assert len(freed) == 1 and spans(timeline, "run", lane(side))[0].end <= freed[0].start


def test_the_end_of_the_block_waits_for_the_streams_that_were_used_and_for_no_others() -> None:
    a, other = ones(4), torch.npu.Stream()
    with simulator.paused(other):
        with torch.npu.stream(other):
            b = a + 1
        with introspect.timeline() as timeline:
            a * 2
        assert not other.query()
    sync, = spans(timeline, "sync", "host")
    assert "at the end of the timeline" in sync.detail and get_runtime(0).queue.pending() == []
    other.synchronize()
    assert b.tolist() == [2] * 4


def test_threads_have_lanes_of_their_own() -> None:
    with introspect.timeline() as timeline:
        torch.ones(2) + 1
        thread = threading.Thread(target=lambda: torch.ones(2).exp(), name="reader")
        thread.start()
        thread.join()
    assert timeline.lanes == ("host", "host reader")
    assert "exp" in [span.name for span in spans(timeline, "run", "host reader")]


def test_a_failure_in_a_stream_is_raised_at_the_end_of_the_block() -> None:
    a = ones(4)
    simulator.faults.fail("aclnnExp", phase="async")
    with pytest.raises(torch.npu.AclError, match="aclnnExp"), introspect.timeline() as timeline:
        a.exp()
    assert [span.name for span in spans(timeline, "enqueue", "host")] == ["exp"]


def test_the_blocks_own_error_comes_first() -> None:
    a = ones(4)
    simulator.faults.fail("aclnnExp", phase="async")
    with pytest.raises(ValueError, match="mine") as caught, introspect.timeline() as timeline:
        a.exp()
        raise ValueError("mine")
    assert "aclnnExp" in caught.value.__notes__[0] and timeline.spans


def test_with_nobody_looking_nothing_is_noted() -> None:
    a = ones(4)
    with introspect.timeline() as timeline:
        pass
    with simulator.paused(torch.npu.default_stream()):
        a + 1
        assert not get_runtime(0).queue.marks
    assert timeline == introspect.Timeline(sanitized=True)


# -- the Chrome trace ------------------------------------------------------------------------------------------------


@pytest.fixture
def mixed() -> introspect.Timeline:
    a, side = ones(4), torch.npu.Stream()
    with introspect.timeline() as timeline:
        with torch.npu.stream(side):
            b = a + 1
            del b
            a.exp()
        torch.npu.default_stream().wait_stream(side)
        (a * 2).cpu()
    return timeline


def check_trace(trace: dict) -> None:
    """The rules of the Trace Event Format for the kinds of events that are used."""
    assert isinstance(trace["traceEvents"], list) and trace["displayTimeUnit"] in ("ms", "ns")
    named = {"process": set(), "thread": set()}
    for event in trace["traceEvents"]:
        assert isinstance(event["name"], str) and event["ph"] in "XiM"
        assert all(isinstance(event[key], int) and event[key] >= 0 for key in ("pid", "tid"))
        if event["ph"] == "M":
            what, _, key = event["name"].partition("_")
            assert set(event["args"]) == {key} and type(event["args"][key]) is {"name": str, "sort_index": int}[key]
            named[what].add(event["pid"] if what == "process" else (event["pid"], event["tid"]))
            continue
        assert isinstance(event["ts"], float) and event["ts"] >= 0 and isinstance(event["cat"], str)
        assert event["pid"] in named["process"] and (event["pid"], event["tid"]) in named["thread"]
        if event["ph"] == "X":
            assert isinstance(event["dur"], float) and event["dur"] > 0
        else:
            assert event["s"] in ("g", "p", "t") and "dur" not in event


def test_the_chrome_trace_keeps_the_formats_rules_and_the_times(mixed: introspect.Timeline) -> None:
    trace = introspect.to_chrome_trace(mixed)
    check_trace(trace)
    events = [event for event in trace["traceEvents"] if event["ph"] != "M"]
    assert [(e["name"], e["cat"]) for e in events] == [(s.name, s.kind) for s in mixed.spans]
    for event, span in zip(events, mixed.spans, strict=True):
        assert event["ts"] * 1000 == pytest.approx(span.start - mixed.start, abs=1)
        assert event.get("dur", 0.0) * 1000 == pytest.approx(span.end - span.start, abs=1)
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"]
    assert names == list(mixed.lanes) and {e["ph"] for e in events} == {"X", "i"}
    processes = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"]
    assert processes == ["host", "npu:0"]


def test_the_chrome_trace_is_saved_as_json(mixed: introspect.Timeline, tmp_path) -> None:
    path = introspect.save_chrome_trace(mixed, tmp_path / "trace.json")
    assert json.loads(path.read_text("utf-8")) == introspect.to_chrome_trace(mixed)


def test_an_empty_timeline_is_an_empty_trace() -> None:
    assert introspect.to_chrome_trace(introspect.Timeline())["traceEvents"] == []


# -- pictures --------------------------------------------------------------------------------------------------------


def test_the_way_of_an_operator_from_the_host_to_the_cores_is_told():
    small, large = torch.ones(4, device="npu"), torch.ones(1 << 20, device="npu")
    torch.npu.synchronize()
    with introspect.timeline() as timeline:
        small + 1
        large * 2
    adds, muls = timeline.paths
    model = "\nmodel: phase one 10 µs, launch 5 µs, then "
    assert (adds.name, adds.cores) == ("aclnnAdds", f"1 of 48 vector cores{model}0.139 ns")
    assert (muls.name, muls.cores) == ("aclnnMuls", f"48 of 48 vector cores{model}6.07 µs")
    assert all(min(path.phase_one, path.phase_two, path.runs) > 0 <= path.queued for path in timeline.paths)
    runs = spans(timeline, "run", adds.lane)
    assert [(run.name, run.end - run.start) for run in runs] == [(path.name, path.runs) for path in timeline.paths]
    page, text = viz.timeline_page(timeline), viz.timeline_text(timeline)
    assert "from the host to the cores: 2 operators" in page and "48 of 48 vector cores" in page
    assert "→ phase two " in text and "→ task queue " in text and "→ 1 of 48 vector cores " in text
    assert "→ (model: phase one 10 µs, launch 5 µs, then 6.07 µs)" in text


def test_the_picture_shows_every_lane_and_tells_of_every_span(mixed: introspect.Timeline) -> None:
    page = viz.timeline_page(mixed)
    for lane in mixed.lanes:
        assert f">{lane}</span>" in page
    for kind in {span.kind for span in mixed.spans}:
        assert f'title="{kind}: ' in page
    titles = page.count('title="') - len(mixed.lanes) - sum("npu" in x for x in mixed.lanes)
    assert page.count('tabindex="0"') == titles + 1  # the table of the ways to the cores scrolls

    assert "a span too narrow for its name shows it on hover" in Checker(page).text
    assert "<script" not in page


def test_moments_next_to_each_other_are_one_mark() -> None:
    marks = tuple(introspect.Span("npu:0 stream 0", f"{i} bytes", "free", 500 + i, 500 + i) for i in range(3))
    far = introspect.Span("npu:0 stream 0", "9 bytes", "free", 900, 900)
    run = introspect.Span("npu:0 stream 0", "aclnnAdd", "run", 0, 1000)
    page = viz.timeline_page(introspect.Timeline((run, *marks, far), ("npu:0 stream 0",)))
    assert ">✕ ×3</span>" in page and page.count(">✕</span>") == 2  # the legend's and the far one's
    assert all(mark.name in page for mark in marks)


def test_moments_of_different_kinds_are_marks_of_their_own() -> None:
    lane = "npu:0 stream 0"
    moments = [introspect.Span(lane, kind, kind, 500, 500) for kind in ("free", "free", "wait", "free")]
    run = introspect.Span(lane, "aclnnAdd", "run", 0, 1000)
    page = viz.timeline_page(introspect.Timeline((run, *moments), (lane,)))
    assert page.count(">✕ ×2</span>") == 1
    assert page.count(">✕</span>") == page.count(">…</span>") == 2  # with those of the legend


@pytest.mark.parametrize(("window", "busy"), [
    (None, "50%"), ((100, 300), "100%"), ((0, 200), "50%"), ((250, 450), "25%"),
])
def test_a_stream_is_busy_for_a_part_of_the_time_shown(window: tuple[int, int] | None, busy: str) -> None:
    lane = "npu:0 stream 0"
    found = (introspect.Span(lane, "wait", "wait", 0, 400), introspect.Span(lane, "aclnnAdd", "run", 100, 200),
             introspect.Span(lane, "copy", "copy", 200, 300))
    page = viz.timeline_page(introspect.Timeline(found, (lane,)), window=window)
    assert f">{busy}</span>" in page


def test_operators_of_the_host_take_time() -> None:
    a = torch.ones(300, 300)
    with introspect.timeline() as timeline:
        a @ a
    found = spans(timeline, "run", "host")
    assert "mm" in [span.name for span in found]
    assert all(1000 < span.end - span.start <= timeline.end - timeline.start for span in found)


def test_the_text_draws_the_lanes(mixed: introspect.Timeline) -> None:
    lines = viz.timeline_text(mixed).splitlines()
    assert lines[0] == f"{len(mixed.spans)} spans"
    for lane, line in zip(mixed.lanes, lines[1:], strict=False):
        assert line.lstrip().startswith(f"{lane} |") and line.endswith("|")
    many = tuple(introspect.Span("host", "exp", "run", i, i + 1) for i in range(1000))
    free = introspect.Span("host", "4 bytes", "free", 3, 3)
    page = viz.timeline_page(introspect.Timeline((*many, free), ("host",)))
    assert "the 400 longest are drawn" in page and "free: 4 bytes" in page and len(page) < 160 * 1024
    text = viz.timeline_text(introspect.Timeline(many, ("host",)))
    assert text.endswith("and 900 more")


# -- the magic -------------------------------------------------------------------------------------------------------


def test_the_magic_runs_the_cell_shows_the_timeline_and_saves_it(shell: InteractiveShell, tmp_path) -> None:
    target = tmp_path / "my trace.json"
    with capture_output() as captured:
        result = shell.run_cell(f"%%timeline --save '{target}'\nx = torch.ones(3, device='npu')\nx + 1\n7")
    assert result.success and result.result == 7 and "x" in shell.user_ns
    shown, *_ = captured.outputs
    assert "npu:0 stream 0" in shown._repr_html_() and "add.Tensor" in repr(shown.data["text/plain"])
    check_trace(json.loads(target.read_text("utf-8")))
    assert f"Chrome trace: {target}" in captured.stdout


def test_a_statement_will_do(shell: InteractiveShell, tmp_path) -> None:
    with capture_output() as captured:
        assert shell.run_line_magic("timeline", f"--save={tmp_path / 'line.json'} torch.ones(2).sum().item()") == 2.0
    assert "sum" in captured.outputs[0].data["text/plain"]
    check_trace(json.loads((tmp_path / "line.json").read_text("utf-8")))


def test_the_magic_shows_what_happened_before_an_error(shell: InteractiveShell) -> None:
    with capture_output() as captured:
        result = shell.run_cell("%%timeline\ntorch.ones(3).exp()\n1 / 0")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert "exp" in captured.outputs[0].data["text/plain"]


@pytest.mark.parametrize(("line", "cell", "message"), [
    ("--save /nowhere/at/all.json", "ran = True", "no folder '/nowhere/at'"),
    ("--ranks", "ran = True", "has not joined others"),
    ("--load x", "ran = True", "has no option --load"), ("", None, "needs a statement"),
])
def test_wrong_use_is_explained_before_the_cell_runs(shell, line: str, cell: str | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        if cell is None:
            shell.run_line_magic("timeline", line)
        else:
            shell.run_cell_magic("timeline", line, cell)
    assert "ran" not in shell.user_ns


@pytest.mark.parametrize("name", ["timeline", "memory"])
def test_the_magics_have_help(shell: InteractiveShell, name: str) -> None:
    with capture_output() as captured:
        shell.run_line_magic(name, "--help")
    assert f"%{name}" in captured.stdout and len(captured.stdout.splitlines()) > 3 and not captured.stderr


def test_their_options_are_completed(shell: InteractiveShell) -> None:
    def offered(line: str) -> list[str]:
        with provisionalcompleter():
            return [completion.text for completion in shell.Completer.completions(line, len(line))]

    assert offered("%%timeline --s") == ["--save"] and offered("%memory --d") == ["--device"]
    assert offered("%tensors --d") == ["--device"]  # as before


# -- arrows -----------------------------------------------------------------------------------------------------------


def test_arrows_lead_from_the_host_to_what_begins_and_from_events_to_waits() -> None:
    a, first, second = ones(4), torch.npu.Stream(), torch.npu.Stream()
    with introspect.timeline() as timeline:
        with torch.npu.stream(first):
            b = a * 2
        second.wait_stream(first)
        with torch.npu.stream(second):
            b.exp()
    begun = {(arrow.name, arrow.cause, arrow.source, arrow.target) for arrow in timeline.arrows
             if arrow.kind == "enqueue" and arrow.cause}
    assert begun == {("aclnnMuls", "mul.Tensor", "host", lane(first)), ("aclnnExp", "exp", "host", lane(second))}
    event, = [arrow for arrow in timeline.arrows if arrow.kind == "event"]
    assert (event.source, event.target, event.cause) == (lane(first), lane(second), "aclnnMuls")
    ran, = spans(timeline, "run", lane(first))
    assert event.start == ran.end <= event.end
    assert all(arrow.start <= arrow.end for arrow in timeline.arrows)
    page, text = viz.timeline_page(timeline), viz.timeline_text(timeline)
    assert 'class="event"' in page and "the wait ends when that is done" in page
    assert "Exp was enqueued by exp on host" in text and f"until Muls on {lane(first)} ended" in text


def test_without_streams_there_are_no_arrows_and_no_legend_of_them() -> None:
    with introspect.timeline() as timeline:
        torch.ones(3).exp()
    assert timeline.arrows == () and "mt-arrows\"" not in viz.timeline_page(timeline)
    assert "%" not in viz.timeline_page(timeline).rpartition("mt-legend")[2]


@pytest.mark.parametrize(("name", "room", "shown"), [
    ("add.Tensor", 120, "▶ add.Tensor"), ("add.Tensor", 60, "▶ add"), ("ReduceSum", 50, "▶"), ("Add", 10, None),
    ("stream 1 waits for stream 0", 140, "▶ stream 1 waits"), ("bucket 12", 60, "▶ 12"),
    ("layers.2 Linear", 100, "▶ layers.2"), ("layers.2 Linear", 50, "▶ 2"), ("fc Linear", 60, "▶ fc"),
])
def test_labels_end_between_words(name: str, room: float, shown: str | None) -> None:
    from mindtorch.viz.timeline import _label

    assert _label("run", name, room) == shown


# -- races -----------------------------------------------------------------------------------------------------------


def racing(program) -> introspect.Timeline:
    """The timeline of a program that races, in the names of which ``shared`` and ``side`` are."""
    shared, side = ones(4, 4), torch.npu.Stream()
    with introspect.timeline({"shared": shared, "row": shared[0], "side": side}) as timeline:
        program(shared, side)
    simulator.clear_reports()
    return timeline


def write_then_read(shared, side):
    shared.mul_(2)
    with torch.npu.stream(side):
        shared + 1


def read_then_write(shared, side):
    with torch.npu.stream(side):
        shared + 1
    shared.mul_(2)


def write_both(shared, side):
    shared.mul_(2)
    with torch.npu.stream(side):
        shared.mul_(3)


@pytest.mark.parametrize(("program", "writes", "cure"), [
    (write_then_read, (True, False), "side.wait_stream(torch.npu.default_stream())"),
    (read_then_write, (False, True), "torch.npu.default_stream().wait_stream(side)"),
    (write_both, (True, True), "side.wait_stream(torch.npu.default_stream())"),
])
def test_a_race_is_two_accesses_a_storage_and_a_cure(program, writes, cure) -> None:
    timeline = racing(program)
    race, = timeline.races
    assert (race.first.writes, race.second.writes) == writes and race.cure == cure and timeline.sanitized
    assert race.names == ("row", "shared") and race.storage is not None and race.bytes == 64
    for access in (race.first, race.second):
        assert any((span.lane, span.name, span.kind, span.start, span.end)
                   == (access.lane, access.name, "run", access.start, access.end) for span in timeline.spans)
    assert race.first.lane != race.second.lane and race.first.place != race.second.place
    assert "test_timeline.py" in race.first.place


@pytest.mark.parametrize("program", [write_then_read, read_then_write, write_both])
def test_the_cure_of_a_race_cures_it(program) -> None:
    cure = racing(program).races[0].cure

    def cured(shared, side):
        steps = {"shared.mul_(2)": lambda: shared.mul_(2), "shared.mul_(3)": lambda: shared.mul_(3),
                 "shared + 1": lambda: shared + 1}
        on_side = "shared.mul_(3)" if program is write_both else "shared + 1"
        order = [on_side, "shared.mul_(2)"] if program is read_then_write else ["shared.mul_(2)", on_side]
        for number, step in enumerate(order):
            if number:
                eval(cure, {"torch": torch, "side": side})
            with torch.npu.stream(side if step == on_side else torch.npu.default_stream()):
                steps[step]()

    assert racing(cured).races == ()


def test_a_race_with_the_host_and_one_with_what_ran_before_the_timeline() -> None:
    shared, side = ones(4), torch.npu.Stream()
    with simulator.paused(side):
        with torch.npu.stream(side):
            shared.mul_(2)
        with introspect.timeline({"s": side}) as timeline:
            shared + 1
    simulator.clear_reports()
    race, = timeline.races
    assert race.first.lane == "" and race.names == () and race.storage is None
    text = viz.timeline_text(timeline)
    assert "on s, before this timeline" in text and "memory that no variable names" in text


def test_a_race_is_drawn_and_told() -> None:
    timeline = racing(write_then_read)
    page, text = viz.timeline_page(timeline), viz.timeline_text(timeline)
    said = "nothing makes Adds wait for Muls, so Adds reads what was there before Muls, what Muls writes, or some of"
    for shown in (page, text):
        assert "race on row, shared (storage " in shown and said in shown
        assert "is missing: side.wait_stream(torch.npu.default_stream())" in shown
    assert page.count('class="race between"') == 1 and len(re.findall(r'class="span[^"]*racing', page)) == 2
    label = page.partition('aria-label="')[2].partition('"')[0]
    assert label.startswith("race on row, shared") and "Muls (test_timeline.py:" in label
    assert "the arrow that is missing" in page


def test_without_a_race_none_is_told_and_without_the_sanitizer_it_is_said_that_nobody_looked() -> None:
    def ordered(shared, side):
        shared.mul_(2)
        side.wait_stream(torch.npu.default_stream())
        with torch.npu.stream(side):
            shared + 1

    assert racing(ordered).races == ()
    assert not re.search("race on|arrow that is missing", viz.timeline_page(racing(ordered)))
    simulator.sanitizer(False)
    try:
        timeline = racing(write_then_read)
    finally:
        simulator.sanitizer(True)
    assert timeline.races == () and timeline.sanitized is False
    assert "torch.npu.simulator.sanitizer(True)" in viz.timeline_page(timeline)

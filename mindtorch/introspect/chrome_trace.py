"""Timelines as Chrome traces, which chrome://tracing and Perfetto open (the Trace Event Format)."""
from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

from .._base.files import replace_text
from .ranks import rank_and_lane
from .spans import Timeline


def to_chrome_trace(timeline: Timeline) -> dict[str, Any]:
    """Return the timeline in the Trace Event Format: the host and every device are processes, and so is each of several
    ranks; their lanes are threads.

    Times are in microseconds since the timeline's start. Spans are complete events (``"X"``), those without a duration
    instant ones (``"i"``); metadata events (``"M"``) name processes and threads, in the order of the lanes.
    """
    zero = timeline.start
    processes: dict[str, int] = {}
    named: list[dict[str, Any]] = []
    place: dict[str, dict[str, int]] = {}
    for tid, lane in enumerate(timeline.lanes):
        process = rank_and_lane(lane)[0] or lane.partition(" ")[0]
        if process not in processes:
            processes[process] = len(processes)
            named += _names("process", {"pid": processes[process], "tid": 0}, process, processes[process])
        place[lane] = {"pid": processes[process], "tid": tid}
        named += _names("thread", place[lane], lane, tid)
    events = []
    for span in timeline.spans:
        event = {"name": span.name, "cat": span.kind, "ts": (span.start - zero) / 1000, **place[span.lane]}
        length = span.end - span.start
        event |= {"ph": "X", "dur": length / 1000} if length else {"ph": "i", "s": "t"}
        events.append(event | {"args": {"detail": span.detail}})
    return {"traceEvents": named + events, "displayTimeUnit": "ns"}


def _names(what: str, place: dict[str, int], name: str, order: int) -> list[dict[str, Any]]:
    return [{"ph": "M", "name": f"{what}_name", **place, "args": {"name": name}},
            {"ph": "M", "name": f"{what}_sort_index", **place, "args": {"sort_index": order}}]


def save_chrome_trace(timeline: Timeline, path: str | PathLike[str]) -> Path:
    """Write a timeline as a Chrome trace in JSON, and return the path; OSError if that fails."""
    target = Path(path)
    replace_text(target, json.dumps(to_chrome_trace(timeline)))
    return target

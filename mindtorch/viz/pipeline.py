"""``%%pipeline``: what was recorded, and what ran when, and why."""
from __future__ import annotations

from itertools import groupby

from .._base.call_site import place_of
from .._base.durations import time_text
from ..introspect import Flush, PipelineFacts, Recorded
from .html import Markup, in_text, join, page, row, table, tag
from .palette import HOURGLASS, count_text, mono, place_text, soft

SIGNS = {"run": "✓", "at once": "✓", "failed": "✗", "given up": "✂", "pending": "…"}
WIDTH = 60  #: pixels of the longest bar


def pipeline_page(facts: PipelineFacts) -> Markup:
    """Draw what ``%%pipeline`` shows."""
    if not facts.recorded:
        nothing = tag("div", "no operator was recorded", plain=_summary(facts), class_="mt-soft")
        return page(nothing, kind="pipeline", sheet="pipeline")
    longest = max(recorded.duration for recorded in facts.recorded) or 1
    body: list[Markup] = []
    for number, group in groupby(facts.recorded, key=lambda recorded: recorded.flush):
        body += [_operator(recorded, longest) for recorded in group]
        if number is not None:
            body.append(_flush(facts.flushes[number]))
    head = ("", "operator", "output, known at once", "recorded at", "ran")
    return page(table(head, body, _summary(facts)), kind="pipeline", sheet="pipeline")


def _summary(facts: PipelineFacts) -> str:
    recorded = sum(r.state != "at once" for r in facts.recorded)
    return f"{count_text(recorded, 'operator')} recorded, the queue ran {count_text(len(facts.flushes), 'time')}"


def _operator(recorded: Recorded, longest: int) -> Markup:
    place = mono(place_text(recorded.file, recorded.line), place_of(recorded.file, recorded.line))
    code = tag("span", recorded.text, class_="mt-soft mt-mono mt-clip", title=recorded.text)
    waits = recorded.state != "at once"
    made = ", ".join(recorded.outputs[:3]) + (", …" if len(recorded.outputs) > 3 else "") or "nothing new"
    outputs = join([tag("span", HOURGLASS, class_="mt-waits") if waits else None, mono(made)], " ")
    return row(soft(recorded.number + 1), tag("b", recorded.operator), outputs, join([place, code], " "),
               _ran(recorded, longest))


def _ran(recorded: Recorded, longest: int) -> Markup:
    sign = SIGNS[recorded.state]
    if recorded.state in ("run", "at once"):
        bar = tag("span", class_="mt-bar", style=f"width:{max(1, round(WIDTH * recorded.duration / longest))}px")
        mark = soft("at once") if recorded.state != "run" else None
        return join([sign, bar, mono(time_text(recorded.duration)), mark], " ")
    return tag("span", f"{sign} {recorded.state}", class_="mt-alert" if recorded.state == "failed" else "mt-soft")


def _flush(flush: Flush) -> Markup:
    where = f" at {place_text(flush.file, flush.line)}" if flush.file else ""
    ran = f"{count_text(flush.ran, 'operator')} ran in {time_text(flush.duration)}"
    error = tag("div", flush.error, plain=f": {flush.error}", class_="mt-alert mt-wrap") if flush.error else None
    said = (tag("b", "▶ the queue runs: "), f"{flush.reason}{where}", soft(f" · {ran}"), error)
    return tag("tr", tag("td", *said, colspan=5), class_="mt-flush")


pipeline_text = in_text(pipeline_page)

"""Spans of time on lanes: what runs where at which time, with a cursor."""
from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import PurePath

from .._base.durations import digits_of, period_text, time_text
from ..introspect import Access, Arrow, OperatorPath, Race, RankShare, Span, Timeline, rank_and_lane, rank_shares
from ..introspect.spans import PHASES
from .html import Markup, join, page, row, table, tag
from .palette import INK, WARN, count_text, device_class, mono, short, size_text, soft, storage_chip, storage_letter
from .profile import measuring_text

MARKS = {"enqueue": "↧", "run": "▶", "copy": "⇄", "wait": "…", "sync": "‖", "free": "✕", "exchange": "⇅"}
MEANINGS = {"enqueue": "enqueue: the host puts an operator into a stream", "run": "run", "copy": "copy",
            "wait": "wait: of a stream for another", "sync": "sync: the host waits",
            "free": "free: memory is given back", "exchange": "exchange: processes send each other data"}
FOR_RANKS = {"wait": "wait: until all ranks have made the call", "sync": "sync: the program waits for data"}
ARROWS_MEAN = (("enqueue", "│▾", "from the host that enqueues to what begins"),
               ("event", "┆▾", "an event: the wait ends when that is done"))
MISSING = "a race: the arrow that is missing, from what should be done first to what should wait for it"
UNSEEN = "races are drawn where the sanitizer looks for them: torch.npu.simulator.sanitizer(True)"
RACES = 8  #: at most that are drawn and told of
#: What may come of a race, by whether the first access writes, and the second one.
OUTCOMES = {(True, False): "{second} reads what was there before {first}, what {first} writes, or some of each",
            (False, True): "{first} may read what {second} writes already",
            (True, True): "what {first} writes may stay, or what {second} writes, or some of each"}
NETWORK = "network"  #: the lane of what processes send each other
TRACK, LETTER, EDGE = 520, 6.4, 9  #: pixels, about: of a track, of a letter, of a span's border and padding
MOMENT = 4  #: significant digits of a moment
ROW, GAP = 22, 4  #: pixels of a row of a track, and between tracks
ARROWS = 60  #: at most that are drawn; of more, those of events
SPANS = 400  #: that are drawn at most
ZOOMS, ZOOMED = 6, 150  #: phases that have a picture of their own, and spans of each
LISTED = 100  #: that are listed in a terminal at most
PATHS = 12  #: ways of operators from the host to the cores that are told of
TOLD = 8  #: moments of one mark that are told of
CLOSE = 80  #: moments within this part of the window are one mark
NEWLINE = "\n"  #: between the cores of an operator and what a model says of it
COLUMNS = 64  #: characters of a lane in a terminal
CHARACTERS = {"enqueue": "-", "run": "█", "copy": "⇄", "wait": "…", "sync": "‖", "free": "✕", "exchange": "⇅"}


def timeline_page(timeline: Timeline, at: int | None = None, window: tuple[int, int] | None = None) -> Markup:
    """Draw the lanes between the times of ``window`` (None: all), with a cursor ``at`` a time and what goes on then."""
    if not timeline.spans:
        return page(tag("div", "nothing was recorded", class_="mt-soft"), kind="timeline", sheet="timeline")
    start, end = window or (timeline.start, timeline.end)
    end = max(end, start + 1)
    seen = [span for span in timeline.spans if span.end >= start and span.start <= end]
    lasting = [span for span in seen if span.end > span.start]
    left = f" · of those that last, the {SPANS} longest are drawn" if len(lasting) > SPANS else ""
    times = period_text(start - timeline.start, end - timeline.start)
    said = " · ".join(filter(None, (f"{times}, {count_text(len(seen), 'span')}{left}", timeline.clocks,
                                    _measuring(timeline))))
    further = len(timeline.races) - RACES
    body = (tag("div", said, class_="mt-summary"),
            _lanes(timeline, seen, start, end, at), *([] if window else _zooms(timeline)),
            *map(_race, timeline.races[:RACES]),
            soft(f"and {count_text(further, 'more race')}") if further > 0 else None, _legend(timeline),
            _shares(rank_shares(timeline)), _paths(timeline.paths),
            None if at is None else _going_on(timeline, at))
    return page(tag("div", *body, class_="mt-box"), kind="timeline", sheet="timeline")


def _measuring(timeline: Timeline) -> str:
    return measuring_text(timeline.measuring, timeline.end - timeline.start, timeline.overhead)


def _lanes(timeline: Timeline, seen: Sequence[Span], start: int, end: int, at: int | None, most: int = SPANS) -> Markup:
    """Draw the axis, the lanes and the arrows between two times."""
    lasting = sorted((span for span in seen if span.end > span.start), key=lambda span: span.start - span.end)
    moments = (span for span in seen if span.end == span.start)
    drawn = sorted([*lasting[:most], *moments], key=lambda span: span.start)
    racing = {(access.lane, access.start, access.end)
              for race in timeline.races for access in (race.first, race.second)}
    lanes: list[Markup] = []
    heights: dict[str, int] = {}
    for number, lane in enumerate(timeline.lanes):
        label, track, heights[lane] = _lane(lane, number + 2, drawn, start, end, at, timeline.start, racing)
        lanes += [label, track]
    return tag("div", tag("span"), _axis(start, end, timeline.start), *lanes, _arrows(timeline, heights, start, end),
               class_="mt-lanes")


def _zooms(timeline: Timeline) -> Iterator[Markup]:
    """Yield a picture of each of the longest phases, to be unfolded."""
    phases = [span for span in timeline.spans if span.lane == PHASES]
    longest = sorted(phases, key=lambda span: span.start - span.end)[:ZOOMS]
    for phase in sorted(longest, key=lambda span: span.start) if len(phases) > 1 else ():
        inside = [span for span in timeline.spans if span.end > phase.start and span.start < phase.end]
        title = tag("summary", "zoom into ", tag("b", phase.name), soft(f" · {time_text(phase.end - phase.start)}"))
        yield tag("details", title, _lanes(timeline, inside, phase.start, phase.end, None, ZOOMED), plain="")


def timeline_text(timeline: Timeline, at: int | None = None) -> str:
    """Draw for a terminal what goes on at a time, or the lanes and the spans in the order of their starts."""
    spans = timeline.spans if at is None else timeline.at(at)
    lines = [("" if at is None else f"at {time_text(at - timeline.start, MOMENT)}: ") + count_text(len(spans), "span")]
    lines += filter(None, [_measuring(timeline)])
    if at is None and spans:
        width = max(map(len, timeline.lanes))
        lines += [f"{lane:>{width}} |{_bar(timeline, lane)}|" for lane in timeline.lanes]
        lines.append(" " * (width + 2) + ", ".join(f"{mark} {kind}" for kind, mark in CHARACTERS.items()))
    for span in spans[:LISTED]:
        times = period_text(span.start - timeline.start, span.end - timeline.start)
        what = f"{MARKS.get(span.kind, '')} {span.kind} {span.name}"
        lines.append(f"{span.lane}  {what}  {times}  {span.detail}".rstrip())
    if len(spans) > LISTED:
        lines.append(f"and {len(spans) - LISTED:,} more")
    if at is None:
        lines += [_arrow_text(arrow, timeline.start) for arrow in timeline.arrows[:LISTED]]
        lines += map(_race_text, timeline.races[:RACES])
        lines += [timeline.clocks] if timeline.clocks else []
        lines += [f"{path.name} on {path.lane}: " + " → ".join(_steps(path)) for path in timeline.paths[:PATHS]]
        lines += [f"{share.rank}: {', '.join(_share(share))}" for share in rank_shares(timeline)]
    return "\n".join(lines)


def _bar(timeline: Timeline, lane: str) -> str:
    """Draw a lane in characters, shorter spans over longer ones."""
    scale = (COLUMNS - 1) / max(1, timeline.end - timeline.start)
    cells = [" "] * COLUMNS
    for span in sorted((span for span in timeline.spans if span.lane == lane), key=lambda span: span.start - span.end):
        first, last = (round((time - timeline.start) * scale) for time in (span.start, span.end))
        cells[first : last + 1] = CHARACTERS.get(span.kind, "█") * (last + 1 - first)
    return "".join(cells)


def _axis(start: int, end: int, zero: int) -> Markup:
    """Round times along the lanes."""
    rough = (end - start) / 6
    step = 10 ** math.floor(math.log10(rough)) if rough >= 1 else 1
    step *= next((factor for factor in (1, 2, 5) if factor * step >= rough), 10)
    first = math.ceil((start - zero) / step)
    times = (i * step for i in range(first, math.floor((end - zero) / step) + 1))
    marks = (tag("span", time_text(time, digits_of(time, step)), style=f"left:{_part(zero + time, start, end):.2f}%")
             for time in times)
    return tag("div", join(marks, " "), class_="mt-axis")


def _part(time: float, start: int, end: int) -> float:
    return 100 * min(1.0, max(0.0, (time - start) / (end - start)))


def _arrows(timeline: Timeline, heights: Mapping[str, int], start: int, end: int) -> Markup | None:
    """Draw lines over the tracks from causes to effects."""
    top, below = {}, 0
    for lane, height in heights.items():
        top[lane], below = below, below + height + GAP
    inside = [arrow for arrow in timeline.arrows if start <= arrow.start and arrow.end <= end]
    shown = inside if len(inside) <= ARROWS else [arrow for arrow in inside if arrow.kind == "event"][:ARROWS]
    lines, heads = [], []

    def line(kind: str, source: str, begin: int, target: str, until: int, said: str) -> None:
        is_down = top[source] < top[target]
        y1 = top[source] + (heights[source] if is_down else 0)
        y2 = top[target] + (0 if is_down else heights[target])
        x1, x2 = _part(begin, start, end), _part(until, start, end)
        bend = (y1 + y2) / 2
        lines.append(tag("path", tag("title", said), class_=kind, stroke=WARN if kind == "race" else INK,
                         d=f"M{x1:.2f},{y1} C{x1:.2f},{bend} {x2:.2f},{bend} {x2:.2f},{y2}"))
        head = (x2, y2, "▾", "down") if is_down else (x2, y2, "▴", "up")
        x, y, sign, side = head if kind != "race" else ((x1 + x2) / 2, bend, "✗", "between")
        heads.append(tag("i", sign, class_=f"{kind} {side}", aria_hidden="true",
                         style=f"left:{x:.2f}%;top:{100 * y / (below - GAP):.2f}%"))

    for arrow in shown:
        line(arrow.kind, arrow.source, arrow.start, arrow.target, arrow.end, _arrow_text(arrow, timeline.start))
    races = [race for race in timeline.races[:RACES] if race.first.lane in top and race.second.lane in top]
    for race in races:
        line("race", race.first.lane, race.first.end, race.second.lane, race.second.start, _race_text(race))
    if not lines:
        return None
    told = [f"{count_text(len(shown), 'arrow')}: {'; '.join(_arrow_text(a, timeline.start) for a in shown[:TOLD])}"]
    drawn = tag("svg", *lines, viewBox=f"0 0 100 {below - GAP}", preserveAspectRatio="none", role="img",
                fill="none", width="0", height="0",  # which the style sheet overrides
                aria_label=". ".join([*map(_race_text, races), *told]))
    return tag("div", drawn, *heads, class_="mt-arrows", style=f"grid-row:2 / span {len(heights)}")


def _arrow_text(arrow: Arrow, zero: int) -> str:
    """Describe a cause and its effect."""
    name, digits = arrow.name.removeprefix("aclnn"), digits_of(arrow.end - zero, arrow.end - arrow.start)
    caused, begun = (time_text(time - zero, digits) for time in (arrow.start, arrow.end))
    if arrow.kind == "event":
        cause = arrow.cause.removeprefix("aclnn")
        return f"{name}: until {cause} on {arrow.source} ended, at {caused}"
    of = f" by {arrow.cause}" if arrow.cause else ""
    enqueued = f"{name} was enqueued{of} on {arrow.source} at {caused}"
    return f"{enqueued}, began on {arrow.target} at {begun}"


def _access_text(access: Access) -> str:
    """Describe an operator's or copy's use of memory: where it was called and where it ran."""
    place = PurePath(access.place).name
    return f"{_name(access)} ({place}, {access.lane or f'on {access.stream}, before this timeline'})"


def _name(access: Access) -> str:
    return access.name.removeprefix("aclnn")


def _race_text(race: Race) -> str:
    """Describe a race: the two accesses, the memory, the missing wait, and the cure."""
    first, second = race.first, race.second
    does = [f"{_access_text(access)} {'writes' if access.writes else 'reads'} it" for access in (first, second)]
    return (f"race on {_memory_text(race)}: {does[0]}, {does[1]}, and nothing makes {_name(second)} wait for "
            f"{_name(first)}, so {_outcome(race)}. Above {PurePath(second.place).name} is missing: {race.cure}")


def _memory_text(race: Race) -> str:
    size = size_text(race.bytes)
    if race.storage is None:
        return f"{size} of memory that no variable names"
    return f"{', '.join(map(short, race.names))} (storage {storage_letter(race.storage)}, {size})"


def _outcome(race: Race) -> str:
    outcome = OUTCOMES[race.first.writes, race.second.writes]
    return outcome.format(first=_name(race.first), second=_name(race.second))


def _race(race: Race) -> Markup:
    """Draw a race's description below the lanes."""
    chip = None if race.storage is None else storage_chip(race.storage)
    named = mono(", ".join(map(short, race.names))) if race.names else "memory that no variable names"
    rows = [row(tag("b", _name(access)), "writes" if access.writes else "reads", PurePath(access.place).name,
                mono(access.lane or f"{access.stream}, before this timeline")) for access in (race.first, race.second)]
    head = tag("div", tag("b", "⚠ race on "), named, " ", chip, " ", soft(size_text(race.bytes)), class_="mt-head")
    cure = tag("div", f"Nothing makes {_name(race.second)} wait for {_name(race.first)}, so {_outcome(race)}. "
               f"Above {PurePath(race.second.place).name} is missing:", tag("code", race.cure, class_="mt-code"))
    return tag("div", head, tag("table", tag("tbody", *rows), class_="mt-table"), cure, class_="mt-race")


def _lane(lane: str, line: int, spans: Sequence[Span], start: int, end: int, at: int | None, zero: int,
          racing: Collection[tuple[str, int, int]]) -> tuple[Markup, Markup, int]:
    """Draw a lane and return its name, track and height; overlapping spans stack, racing ones stand out."""
    rows: list[int] = []  # when the last span of each row ends
    drawn = []
    moments: list[Span] = []

    def more(some: Sequence[Span]) -> list[str]:
        races = any((lane, span.start, span.end) in racing for span in some)
        return [next(filter(None, (_now(span, at) for span in some)), ""), "racing" if races else ""]

    for span in spans:
        if span.lane != lane:
            continue
        if span.end == span.start:
            if moments and (span.kind != moments[0].kind or (span.start - moments[0].start) * CLOSE > end - start):
                drawn.append(_mark(moments, start, end, more(moments), zero))
                moments = []
            moments.append(span)
            continue
        level = next((i for i, until in enumerate(rows) if until <= span.start), len(rows))
        rows[level : level + 1] = [span.end]
        drawn.append(_span(span, level, start, end, more([span]), zero))
    if moments:
        drawn.append(_mark(moments, start, end, more(moments), zero))
    cursor = None
    if at is not None and start <= at <= end:
        cursor = tag("span", class_="cursor", style=f"left:{_part(at, start, end):.2f}%")
    rank, name = rank_and_lane(lane)
    look = device_class("cpu" if name.startswith("host") else name.partition(" ")[0]) + " mt-rank" * (lane == rank)
    busy = None
    if _is_stream(lane):
        working = (span for span in spans if span.lane == lane and span.kind in ("run", "copy"))
        share = sum(min(span.end, end) - max(span.start, start) for span in working)
        part = share / (end - start)
        busy = soft("<1%" if 0 < part < 0.005 else f"{part:.0%}", "of the time shown it runs or copies")
    label = tag("span", tag("span", lane if lane == rank else name, class_="mt-mono mt-clip", title=lane), busy,
                class_=f"mt-lane {look}", style=f"grid-row:{line}")
    count = max(1, len(rows))
    track = tag("div", join(drawn, " "), cursor, class_=f"mt-track {look}", style=f"grid-row:{line};--rows:{count}")
    return label, track, ROW * count + 2


def _span(span: Span, level: int, start: int, end: int, more: Sequence[str], zero: int) -> Markup:
    left, right = _part(span.start, start, end), _part(span.end, start, end)
    kind = span.kind if span.kind in MARKS else "run"
    name, room = span.name.removeprefix("aclnn"), (right - left) / 100 * TRACK  # the title has it in full
    is_line = bool(span.line) and span.line == span.name  # of the program: its beginning says something, if cut off
    whole = f"{MARKS[kind]} {name}"
    text = whole if is_line and room > 6 * LETTER + EDGE else _label(kind, name, room)
    looks = ["span", kind, "slim" if right - left < 2 else "", "late" if left > 50 else "", *more]
    style = f"left:min({left:.2f}%, 100% - 4px);width:{right - left:.2f}%;--row:{level}"
    unseen = tag("span", whole, class_="unseen", plain="") if text is None else None  # but where styles are stripped
    return tag("span", text, unseen, class_=" ".join(filter(None, looks)), style=style, title=_told(span, zero),
               tabindex="0")


def _label(kind: str, name: str, room: float) -> str | None:
    """As much of a span's name, in whole words, as so many pixels have room for; of ``bucket 2`` and a numbered block
    the number.
    """
    words = name.split()
    beginnings = [" ".join(words[:count]) for count in range(len(words) - 1, 0, -1)]
    if len(words) == 2 and words[1].isdecimal():
        beginnings = [words[1]]
    first, _, second = (beginnings or [name])[-1].partition(".")
    shorter = [name, *beginnings, second if second.isdecimal() else first]
    fits = [f"{MARKS[kind]} {text}" for text in shorter if room >= LETTER * (len(text) + 3) + EDGE]
    return fits[0] if fits else MARKS[kind] if room >= 2 * LETTER + EDGE else None


def _mark(moments: Sequence[Span], start: int, end: int, more: Sequence[str], zero: int) -> Markup:
    """Draw spans without a length, all of one kind, at nearly the same time."""
    left = _part(moments[0].start, start, end)
    kind = moments[0].kind if moments[0].kind in MARKS else "run"
    looks = ["span", kind, "mark", "late" if left > 50 else "", *more]
    title = "\n".join(_told(span, zero) for span in moments[:TOLD])
    title += f"\nand {len(moments) - TOLD} more" if len(moments) > TOLD else ""
    text = MARKS[kind] + (f" ×{len(moments)}" if len(moments) > 1 else "")
    style = f"left:{left:.2f}%;--row:0"
    return tag("span", text, class_=" ".join(filter(None, looks)), style=style, title=title, tabindex="0")


def _now(span: Span, at: int | None) -> str:
    return "now" if at is not None and span.start <= at <= span.end else ""


def _told(span: Span, zero: int) -> str:
    times = f"at {time_text(span.start - zero, MOMENT)}"
    if span.end > span.start:
        times = f"{period_text(span.start - zero, span.end - zero)} ({time_text(span.end - span.start)})"
    return "\n".join(filter(None, [f"{span.kind}: {span.name}", f"{span.lane}, {times}", span.detail]))


def _legend(timeline: Timeline) -> Markup:
    """Explain the marks that occur."""
    kinds = {span.kind for span in timeline.spans}
    meanings = MEANINGS | FOR_RANKS if any(rank_and_lane(lane)[0] for lane in timeline.lanes) else MEANINGS
    marks = [tag("span", tag("span", mark, class_=f"span {kind}"), meanings[kind])
             for kind, mark in MARKS.items() if kind in kinds]
    arrows = {arrow.kind for arrow in timeline.arrows}
    marks += [tag("span", tag("b", f"{sign} "), meaning) for kind, sign, meaning in ARROWS_MEAN if kind in arrows]
    if timeline.races:
        marks.append(tag("span", tag("b", "┆✗ ", class_="mt-alert"), MISSING))
    streams = [lane for lane in timeline.lanes if _is_stream(lane)]
    if timeline.sanitized is False and len(streams) > 1:
        marks.append(soft(UNSEEN))
    if streams:
        marks.append(tag("span", tag("b", "% "), "part of the time shown in which a stream runs or copies"))
        marks.append(soft("%glossary: what CANN, CUDA and PyTorch call these things"))
    if any(span.start == span.end for span in timeline.spans):
        marks.append(tag("span", tag("b", "×2 "), "two at nearly the same time"))
    if any(span.end > span.start for span in timeline.spans):
        marks.append(soft("a span too narrow for its name shows it on hover, as each does its times"))
    return tag("div", *marks, class_="mt-legend")


def _is_stream(lane: str) -> bool:
    """Return True if a lane is a device's, neither the host's nor the network's."""
    return not rank_and_lane(lane)[1].startswith(("host", NETWORK))


def _share(share: RankShare) -> tuple[str, ...]:
    """Describe how a rank spent its time, in phrases that stand alone."""
    hidden = f", {share.hidden / share.exchanges:.0%} of it while the program computes" if share.exchanges else ""
    return (f"computes {time_text(share.computes)}", f"waits for data {time_text(share.waits)}",
            f"other ranks late {time_text(share.late)}", f"exchanges {time_text(share.exchanges)}{hidden}")


def _shares(shares: Sequence[RankShare]) -> Markup | None:
    """Draw the ranks' times as a table."""
    if not shares:
        return None
    rows = [row(tag("b", share.rank), time_text(share.computes), time_text(share.waits), time_text(share.late),
                time_text(share.exchanges), f"{share.hidden / share.exchanges:.0%}" if share.exchanges else "")
            for share in shares]
    head = ("", "the program computes", "waits for data", "other ranks are late", "data is exchanged",
            "of that while computing")
    return table(head, rows, "what became of each rank's time")


def _steps(path: OperatorPath) -> tuple[str, ...]:
    """Describe the steps of an operator from the host to the device's cores."""
    cores, *model = path.cores.split(NEWLINE)
    return (f"phase one {time_text(path.phase_one)}", f"phase two {time_text(path.phase_two)}",
            f"task queue {time_text(path.queued)}", f"{cores or 'cores'} {time_text(path.runs)}",
            *(f"({line})" for line in model))


def _paths(paths: Sequence[OperatorPath]) -> Markup | None:
    """Draw the paths of the first operators as a table, closed at first."""
    if not paths:
        return None
    rows = [row(join([tag("b", path.name), tag("div", mono(path.lane))]), time_text(path.phase_one),
                time_text(path.phase_two), time_text(path.queued), time_text(path.runs), _cores(path))
            for path in paths[:PATHS]]
    head = ("", "phase one →", "phase two →", "task queue →", "runs", "on")
    left = f", the first {PATHS} of {len(paths):,}" if len(paths) > PATHS else ""
    return tag("details", tag("summary", f"from the host to the cores: {count_text(len(paths), 'operator')}"),
               table(head, rows, f"the way of each operator{left}: the host plans it and puts it into the queue, the "
                                 "device runs it"))


def _cores(path: OperatorPath) -> Markup:
    """Draw the cores, and below them what a model predicts."""
    cores, *model = path.cores.split(NEWLINE)
    return tag("div", cores or soft("not known"), *(tag("div", soft(line)) for line in model), class_="mt-cores")


def _going_on(timeline: Timeline, at: int) -> Markup:
    spans = timeline.at(at)
    rows = [row(mono(span.lane), tag("b", f"{MARKS.get(span.kind, '')} {span.name}"), span.kind,
                period_text(span.start - timeline.start, span.end - timeline.start),
                soft(span.detail)) for span in spans]
    caption = join(["at ", tag("b", time_text(at - timeline.start, MOMENT)), f": {len(rows) or 'nothing'} going on"])
    if not rows:
        return tag("div", caption, class_="mt-soft")
    return table(("lane", "what", "kind", "from, to", ""), rows, caption)

"""``%%profile``: bars of where the time went."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from .._base.call_site import place_of
from .._base.durations import time_text
from ..introspect import Overhead, Profile, Share
from .html import Markup, in_text, join, page, row, table, tag
from .palette import breakable, count_text, mono, place_text, soft

MAX_ROWS = 16  #: shares at most that have a row of their own
WIDTH = 130  #: pixels of the longest bar
NOTABLE = 0.1  #: of a program's time: what makes it wrong by more is said
BAR = 24  #: characters of the longest bar in text
#: What phases are called, and their colours.
PHASES = {"forward": ("the forward pass", "mt-s0"), "backward": ("the backward pass", "mt-s1"),
          "optimizer": ("the optimizer's step", "mt-s2")}


def profile_page(facts: Profile) -> Markup:
    """Draw what ``%%profile`` shows."""
    calls = sum(share.calls for share in facts.operators)
    counted = f" in all, {count_text(calls, 'call')} of {count_text(len(facts.operators), 'operator')}"
    measuring = measuring_text(facts.observing, facts.program, facts.overhead)
    head = tag("div", tag("b", time_text(facts.program)), counted, soft(f" · {measuring}") if measuring else None)
    folded = (("line", facts.lines, _line), ("module", facts.modules, _name), ("kernel", facts.kernels, _kernel))
    inner = [_folded(what, shares, name, facts.program) for what, shares, name in folded if shares]
    main = _table(facts.operators, "operator", _name, facts.program) if facts.operators else None
    return page(tag("div", head, _whole(facts), main, *inner, class_="mt-box"), kind="profile", sheet="profile")


def _whole(facts: Profile) -> Markup:
    """Draw the program's time as one bar."""
    inside = [("in operators", "mt-inside", facts.inside)]
    if len(facts.phases) > 1:
        times = {phase.name: phase.self_time for phase in facts.phases}
        inside = [(f"operators of {what}", f"mt-inside {look}", times[name]) for name, (what, look) in PHASES.items()
                  if name in times]
    parts = [*inside, ("outside operators (Python)", "mt-outside", facts.outside)]
    bar = [tag("span", class_=kind, style=f"flex-grow:{max(0, time)}") for _, kind, time in parts]
    said = [tag("span", tag("i", class_=kind), f" {what} ", mono(time_text(time)), " ",
                soft(_percent(time, facts.program))) for what, kind, time in parts]
    text = ", ".join(f"{what} {time_text(time)} ({_percent(time, facts.program)})" for what, _, time in parts)
    return join([tag("div", *bar, class_="mt-whole", role="img", aria_label=text),
                 tag("div", *said, plain=f"{text}\n", class_="mt-legend")])


def measuring_text(time: int, program: int, overhead: Overhead) -> str:
    """Describe the nanoseconds of measuring that are left out of a program's, and what else may have made those wrong;
    '' if there are none.
    """
    if not time:
        return ""
    longer = f" ({time / program:.0%})" if program else ""
    said = [f"measuring took {time_text(time)} more{longer}, which is left out"]
    if overhead.events:
        said[0] += f": {count_text(overhead.events, 'event')} of PyTorch's profiler, {time_text(overhead.each)} each"
    if not program:
        return said[0]
    if overhead.doubt > NOTABLE * program:
        said.append(f"times may be {overhead.doubt / program:.0%} off: an event took {time_text(overhead.low)} to "
                    f"{time_text(overhead.high)} when that was measured, since the processor was busy")
    if overhead.absent > NOTABLE * program:
        said.append(f"for {time_text(overhead.absent)} ({overhead.absent / program:.0%}) of the program's time it "
                    "waited, or other programs had the processor")
    return " · ".join(said)


def _table(shares: Sequence[Share], what: str, name: Callable[[Share], Markup], program: int) -> Markup:
    rest = shares[MAX_ROWS:]
    left = Share("", sum(share.calls for share in rest), sum(share.self_time for share in rest), 0)
    longest = max(left.self_time, *(share.self_time for share in shares)) or 1
    head = (what, "calls", "own time", "", "with those inside", "a call")
    body = [row(name(share), share.calls or "", *_times(share, longest, program), mono(time_text(share.total_time)),
                mono(time_text(share.total_time / share.calls)) if share.calls else "")
            for share in shares[:MAX_ROWS]]
    if rest:
        plain = f"and {count_text(len(rest), f'more {what}')}, {time_text(left.self_time)}\n"
        body.append(Markup(row(soft(f"{len(rest)} more"), left.calls, *_times(left, longest, program), "", ""), plain))
    return table(head, body, None)


def _times(share: Share, longest: int, program: int) -> tuple[Markup, Markup]:
    part = share.self_time / longest
    style = f"width:{max(1, round(WIDTH * part))}px"
    bar, time = tag("span", class_="mt-bar", style=style), time_text(share.self_time)
    plain = f"{time:>9} {'█' * round(BAR * part)}"
    return Markup(join([bar, " ", mono(time)]), plain), soft(_percent(share.self_time, program))


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else ""


def _name(share: Share) -> Markup:
    return tag("b", share.name, class_="mt-clip", title=share.name)


def _line(share: Share) -> Markup:
    if share.name:
        return soft(share.name)
    return mono(place_text(share.file, share.line), place_of(share.file, share.line))


def _kernel(share: Share) -> Markup:
    return join([mono(share.name), " ", breakable(place_text(share.file, share.line), "mt-soft",
                                                   place_of(share.file, share.line))])


def _folded(what: str, shares: Sequence[Share], name: Callable[[Share], Markup], program: int) -> Markup:
    """Draw a folded table, whose plain text lists the first shares."""
    first = (f"by {what}: {name(share).plain} {time_text(share.self_time)}\n" for share in shares[:3])
    return tag("details", tag("summary", f"by {what}"), _table(shares, what, name, program), plain="".join(first))


profile_text = in_text(profile_page)

"""A schedule of learning rates: its rule, the present rate, and a curve of the coming ones."""
from __future__ import annotations

from ..introspect import ScheduleFacts, Series
from .html import Markup, in_text, page, row, table, tag
from .monitor import plot
from .palette import count_text, mono, name_text, number_text, soft

STAIRS = 40  #: steps at most that are drawn one by one


def schedule_page(facts: ScheduleFacts) -> Markup:
    """Draw a schedule."""
    head = tag("div", tag("b", name_text(facts.name)) if facts.name else None, " ", mono(facts.kind), " ",
               soft(facts.said), class_="mt-head")
    box = tag("div", head, tag("div", _now(facts), class_="mt-summary"), _groups(facts), _parts(facts), _curve(facts),
              class_="mt-box")
    return page(box, kind="schedule", sheet="widgets")


schedule_text = in_text(schedule_page)


def _now(facts: ScheduleFacts) -> str:
    """Where the schedule is, of all groups if their rates are the same."""
    said = [f"after {count_text(facts.step, 'step')}"]
    if len(set(facts.now)) == 1:
        first, now = map(number_text, (facts.first[0], facts.now[0]))
        after = {number_text(rates[1]) for rates in facts.to_come if len(rates) > 1}
        same = ", also at the next step" if after == {now} else ""
        said.append(f"the learning rate is {now}{same}")
        said += [f"next {after.pop()}"] if len(after) == 1 and not same else []
        said += [f"{first} without the schedule"] if first != now else []
    return " · ".join([*said, *([facts.end] if facts.end else [])])


def _groups(facts: ScheduleFacts) -> Markup | None:
    if len(set(facts.now)) == 1:
        return None
    after = [number_text(rates[1]) if len(rates) > 1 else "?" for rates in facts.to_come] or ["?"] * len(facts.now)
    rows = [row(f"group {i}", number_text(first), number_text(now), then)
            for i, (first, now, then) in enumerate(zip(facts.first, facts.now, after, strict=True))]
    return table(("", "at first", "now", "next"), rows, "by parameter group")


def _parts(facts: ScheduleFacts) -> Markup | None:
    if not facts.parts:
        return None
    lines = [tag("li", mono(kind), " ", soft(said), soft("" if begin is None else f", from step {begin}"))
             for kind, said, begin in facts.parts]
    return tag("ul", *lines)


def _curve(facts: ScheduleFacts) -> Markup | None:
    """Draw the coming rates; groups with equal rates share a line."""
    if not facts.to_come or len(facts.to_come[0]) < 2:
        return None
    numbers: dict[tuple[float, ...], list[str]] = {}
    for i, rates in enumerate(facts.to_come):
        numbers.setdefault(rates, []).append(str(i))
    alone = len(numbers) == 1
    lines = [Series("learning rate" if alone else f"group {', '.join(groups)}", _points(facts.step, rates))
             for rates, groups in numbers.items()]
    title = f"learning rate over the next {count_text(len(facts.to_come[0]) - 1, 'step')}"
    return tag("div", plot(f"{title}{', in the end' if alone else ''}", lines), class_="mt-plots")


def _points(step: int, rates: tuple[float, ...]) -> tuple[tuple[int, float], ...]:
    """Return the points of a rate, which holds until the next step: a few are drawn as stairs."""
    if len(rates) > STAIRS:
        return tuple(enumerate(rates, step))
    corners = ((step + i, rate) for i, pair in enumerate(zip(rates[:1] + rates, rates, strict=False)) for rate in pair)
    return tuple(dict.fromkeys(corners))

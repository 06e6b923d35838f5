"""How a training goes: a progress bar, and lines of loss, learning rate and gradient norms."""
from __future__ import annotations

import math
from collections.abc import Sequence

from .._base.durations import time_text
from ..introspect import Series, TrainingFacts
from .html import Markup, join, page, tag
from .palette import QUIET, RULE, number_text, storage_class, storage_colour

WIDTH, HEIGHT = 330.0, 100.0
LEFT, BOTTOM = 64.0, 18.0  #: room for the numbers at the axes
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 4", "10 4", "4 2 1 2", "3 6")  #: with the colour, they tell lines apart
LINES = 8  #: in one plot at most: those with the largest last values


def monitor_page(facts: TrainingFacts) -> Markup:
    """Draw the training so far."""
    plots = [plot(series.name, [series]) for series in facts.series]
    plots += [plot("gradient norm by module", facts.norms)] if facts.norms else []
    body = plots or [tag("div", "nothing recorded yet", class_="mt-soft")]
    bar = progress_bar(_done(facts), facts.total, facts.elapsed, "step")
    return page(tag("div", bar, tag("div", *body, class_="mt-plots"), class_="mt-box"), kind="monitor", sheet="widgets")


def monitor_text(facts: TrainingFacts) -> str:
    """Describe the training so far in one line."""
    numbers = [f"{series.name} {number_text(series.points[-1][1])}" for series in facts.series]
    if facts.norms:
        total = math.hypot(*(series.points[-1][1] for series in facts.norms))
        numbers.append(f"gradient norm {number_text(total)}")
    return " · ".join([progress_text(_done(facts), facts.total, facts.elapsed, "step"), *numbers])


def _done(facts: TrainingFacts) -> int:
    """Count the steps that are done, if the first is number 0 or 1."""
    return 0 if facts.step is None else facts.step + (facts.first == 0)


def progress_page(done: int, total: int | None, elapsed: float, label: str) -> Markup:
    """Draw a progress bar on its own."""
    return page(progress_bar(done, total, elapsed, label), kind="progress", sheet="widgets")


def progress_bar(done: int, total: int | None, elapsed: float, label: str) -> Markup:
    """Draw a progress bar, striped if the end is not known."""
    share = None if not total else min(1.0, done / total)
    text = progress_text(done, total, elapsed, label)
    look = "fill unknown" if share is None else "fill"
    fill = tag("span", class_=look, style=f"width:{100 if share is None else 100 * share:.1f}%")
    bar = tag("span", fill, class_="mt-progressbar", role="progressbar", aria_label=label or "progress",
              aria_valuemin="0", aria_valuemax=total, aria_valuenow=done)
    return tag("div", bar, tag("span", text, class_="mt-mono"), class_="mt-progress-line")


def progress_text(done: int, total: int | None, elapsed: float, label: str) -> str:
    """``label 3/10 (30%) · 12.5/s · 0:01 left``."""
    parts = [f"{label} {done:,}".lstrip() + ("" if total is None else f"/{total:,}")]
    if total:
        parts[0] += f" ({done / total:.0%})"
    if done and elapsed > 0:
        rate = done / elapsed
        parts.append(f"{rate:,.0f}/s" if rate >= 100 else f"{rate:.3g}/s")
        if total is not None and done < total:
            parts.append(f"{clock_text(elapsed / done * (total - done))} left")
        else:
            parts.append(f"{clock_text(elapsed) if elapsed >= 1 else time_text(elapsed * 1e9)} in all")
    return " · ".join(parts)


def clock_text(seconds: float) -> str:
    """``0:07``, ``1:02:03``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def plot(title: str, lines: Sequence[Series]) -> Markup:
    """Draw numbers by step as lines. A value that is not finite leaves a gap and is counted."""
    largest = sorted(lines, key=_size, reverse=True)[:LINES]
    chosen = [series for series in lines if series in largest]
    finite = [(step, value) for series in chosen for step, value in series.points if math.isfinite(value)]
    steps = [step for series in chosen for step, _ in series.points]
    values = [value for _, value in finite] or [0.0]
    frame = min(steps), max(steps), min(values), max(values)
    drawn = [_line(series, i, frame) for i, series in enumerate(chosen)]
    names = [_name(series, i, len(chosen) > 1) for i, series in enumerate(chosen)]
    names += [tag("span", f"and {len(lines) - LINES} smaller", class_="mt-soft")] if len(lines) > LINES else []
    said = "; ".join([title, *map(_told, chosen), *([f"and {len(lines) - LINES} smaller"] * (len(lines) > LINES))])
    width, height = f"{WIDTH + LEFT + 6:.0f}", f"{HEIGHT + BOTTOM + 10:.0f}"
    svg = tag("svg", *_axes(frame), *drawn, class_="mt-plot", role="img", aria_label=said, font_size="11.5",
              font_family="system-ui, sans-serif", width=width, height=height, viewBox=f"0 0 {width} {height}")
    return tag("figure", tag("figcaption", tag("b", title), " ", *names), svg)


def _told(series: Series) -> str:
    """Describe a line in words: its ends, its extremes, and its problems."""
    (first, begun), (last, ended) = series.points[0], series.points[-1]
    finite = [(value, step) for step, value in series.points if math.isfinite(value)]
    said = [f"{series.name} from {number_text(begun)} at step {first} to {number_text(ended)} at step {last}"]
    if finite:
        said += [f"{word} {number_text(value)} at step {step}"
                 for word, (value, step) in (("least", min(finite)), ("most", max(finite)))]
    broken = len(series.points) - len(finite)
    return ", ".join([*said, *([f"{broken} not finite"] if broken else [])])


def _size(series: Series) -> float:
    """Return the size of the last number; one that is not finite comes first."""
    last = series.points[-1][1]
    return abs(last) if math.isfinite(last) else math.inf


def _name(series: Series, i: int, several: bool) -> Markup:
    last = series.points[-1][1]
    sample = None
    if several:
        line = tag("line", x1="0", x2="26", y1="5", y2="5", stroke_dasharray=DASHES[i % len(DASHES)] or None)
        sample = tag("svg", line, class_="mt-sample", viewBox="0 0 26 10", aria_hidden="true",
                     width="26", height="10", stroke=storage_colour(i), stroke_width="2")
    broken = sum(not math.isfinite(value) for _, value in series.points)
    alert = tag("span", f"⚠ {broken} not finite", class_="mt-alert") if broken else None
    text = f"{series.name} {number_text(last)}" if several else number_text(last)
    return tag("span", join([sample, text, alert], " "), class_=storage_class(i))


def _at(step: float, value: float, frame: tuple[float, float, float, float]) -> tuple[float, float]:
    first, last, low, high = frame
    x = LEFT + WIDTH * ((step - first) / (last - first) if last > first else 0.5)
    y = 5 + HEIGHT * (1 - ((value - low) / (high - low) if high > low else 0.5))
    return x, y


def _line(series: Series, i: int, frame: tuple[float, float, float, float]) -> Markup:
    path, before = [], math.nan
    for step, value in series.points:
        x, y = _at(step, value, frame)
        if math.isfinite(value):
            path.append(f"{'L' if math.isfinite(before) else 'M'}{x:.1f},{y:.1f}")
        before = value
    parts = [tag("path", d=" ".join(path), stroke_dasharray=DASHES[i % len(DASHES)] or None)]
    if path and math.isfinite(series.points[-1][1]):
        x, y = _at(*series.points[-1], frame)
        parts.append(tag("circle", fill=storage_colour(i), cx=f"{x:.1f}", cy=f"{y:.1f}", r="3"))
    colour = storage_colour(i)
    return tag("g", tag("title", series.name), *parts, fill="none", stroke=colour, stroke_width="2",
               class_=storage_class(i))


def _axes(frame: tuple[float, float, float, float]) -> list[Markup]:
    first, last, low, high = frame
    parts = []
    for value in dict.fromkeys((low, (low + high) / 2, high)):
        y = _at(first, value, frame)[1]
        parts.append(tag("line", class_="rule", stroke=RULE, x1=LEFT, x2=LEFT + WIDTH, y1=f"{y:.1f}", y2=f"{y:.1f}"))
        parts.append(tag("text", f"{value:.3g}", class_="value", text_anchor="end", fill=QUIET, x=LEFT - 6,
                         y=f"{y + 4:.1f}"))
    for step, anchor in {first: "first", last: "last"}.items():
        x = _at(step, low, frame)[0]
        parts.append(tag("text", f"step {step:g}", class_=anchor, fill=QUIET,
                         text_anchor="end" if anchor == "last" else None, x=f"{x:.1f}", y=HEIGHT + BOTTOM + 4))
    return parts

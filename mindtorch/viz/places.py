"""A small storage place by place: each element's value, and when each tensor that shares it reads it."""
from __future__ import annotations

import cmath
import math
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..introspect import PLACES, Sharer, StorageFacts
from .grid import number_format, value_cell
from .html import Markup, join, tag
from .palette import count_text, reads_text, shape_text

WIDTH = 560  #: pixels, about, that the places of one row should stay within
LISTED = 6  #: reads at most of one place that its hint names


@cache
def lighting() -> Markup:
    """Return the style sheet that lights all cells of an element when one is pointed at, without a script."""
    pairs = (f'.mindtorch:has([data-p="{i}"]:hover) [data-p="{i}"]' for i in range(PLACES))
    return Markup(f"<style>{','.join(pairs)}{{outline:2px solid var(--mt-fg);outline-offset:-1px}}</style>")


def places(facts: StorageFacts, labels: Sequence[Markup], bars: Callable[[Sharer], Markup]) -> Markup:
    """Draw tables with a column a place and a row a tensor; ``bars`` draws one of another storage."""
    values = facts.values or ()
    known = [value for value in values if value is not None]
    write = _writer(known)
    sizes = (math.hypot(value.real, value.imag) for value in known if cmath.isfinite(value))
    scale = min(max(sizes, default=0.0), sys.float_info.max)
    letters = max(3, *(len(write(value)) for value in known), 0)
    lines = -(-len(values) * _width(letters) // WIDTH)
    count = -(-len(values) // lines)
    tables = []
    for start in range(0, len(values), count):
        shown = range(start, min(start + count, len(values)))
        head = tag("tr", tag("th", "place" if start == 0 else None, scope="row"),
                   *(tag("th", place, scope="col") for place in shown))
        top = tag("tr", tag("th", "value", scope="row"), *(_value(values[i], write, scale, i) for i in shown))
        rows = [tag("tr", tag("th", label, scope="row"), *_row(sharer, shown, bars))
                for label, sharer in zip(labels, facts.sharers, strict=True)]
        body = tag("tbody", top, *rows)
        tables.append(tag("table", tag("thead", head), body, class_="mt-places", style=f"--n:{letters}"))
    return join([lighting(), tag("div", *tables, class_="mt-scroll", tabindex="0")])


def _writer(values: Sequence[Any]) -> Callable[[Any], str]:
    """Return how to write values in few characters, where all digits do not fit into one row."""
    whole = number_format(values)
    letters = max((len(whole(value)) for value in values), default=0)
    fits = len(values) * _width(letters) <= WIDTH
    if fits or all(len(whole(value)) <= 4 or isinstance(value, bool) for value in values):
        return whole
    return lambda value: _rounded(value) if isinstance(value, (int, float)) and len(whole(value)) > 4 else whole(value)


def _rounded(value: float) -> str:
    """Round a number to two digits, without an exponent where that is as short."""
    rounded = f"{value:.2g}"
    return f"{value:.0f}" if "e" in rounded and len(f"{value:.0f}") <= len(rounded) else rounded


def _width(letters: int) -> int:
    """Estimate the width in pixels of a place whose value has so many letters."""
    return 7 * letters + 9


def _value(value: Any, write: Callable[[Any], str], scale: float, place: int) -> Markup:
    if value is None:
        return tag("td", "·", title=f"place {place}: no tensor here tells its value", data_p=place)
    return value_cell(value, write, scale, f"place {place}", place)


def _row(sharer: Sharer, shown: range, bars: Callable[[Sharer], Markup]) -> list[Markup]:
    """When a tensor reads these places."""
    if sharer.reads is None:
        return [tag("td", bars(sharer), colspan=len(shown))] if shown.start == 0 else []
    last = max(max(reads, default=0) for reads in sharer.reads) or 1
    return [_read(sharer, place, last) for place in shown]


def _read(sharer: Sharer, place: int, last: int) -> Markup:
    reads = (sharer.reads or ())[place]
    if not reads:
        return tag("td", "", plain="·\t", class_="none", title=f"place {place}: not read", data_p=place)
    indices = ((order, tuple(map(int, np.unravel_index(order, sharer.shape)))) for order in reads[:LISTED])
    at = ", ".join(f"{shape_text(index)} as #{order}" for order, index in indices)
    more = f", … {count_text(len(reads), 'time')} in all" if len(reads) > LISTED else ""
    look = "read" if len(reads) == 1 else "read again"
    return tag("td", reads_text(reads), class_=look, style=f"--v:{reads[0] / last:.2f}",
               title=f"place {place} is read at {at}{more}", data_p=place)

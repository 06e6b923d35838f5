"""A layout over a storage: which elements are read, in which order, which several times, which are not there."""
from __future__ import annotations

import itertools
import math

from ..introspect import StrideFacts
from .grid import shown_indices
from .html import Markup, page, tag
from .palette import count_text, mono, reads_text, shape_text, soft, tuple_text

CELLS = 128  #: of a storage at most that are drawn
SLICES = 6  #: grids at most
LETTERS = "ijklmnpq"


def strides_page(facts: StrideFacts, read: int | None = None) -> Markup:
    """Draw the storage as a row of cells, the tensor as a grid of positions, after ``read`` elements (None: all)."""
    done = len(facts.positions) if read is None else min(read, len(facts.positions))
    refused = tag("div", f"⚠ RuntimeError: {facts.error}", class_="mt-alert") if facts.error else None
    return page(tag("div", tag("div", mono(call_text(facts)), class_="mt-head"), refused,
                    tag("div", strides_summary(facts), class_="mt-summary"),
                    _title("storage", "each cell is an element: its position, and below it when it is read"),
                    _storage(facts, done), _title("tensor", f"where each element lies: {formula(facts)}"),
                    _tensor(facts, done), class_="mt-box"), kind="strides", sheet="widgets")


def call_text(facts: StrideFacts) -> str:
    """Write the layout as a call."""
    layout = f"size={tuple_text(facts.shape)}, stride={tuple_text(facts.stride)}"
    return f"x.as_strided({layout}, storage_offset={facts.offset})"


def formula(facts: StrideFacts) -> str:
    """Where the element at an index lies."""
    letters = LETTERS[: len(facts.stride)]
    terms = [f"{step}·{letter}" for letter, step in zip(letters, facts.stride, strict=False)]
    return f"[{', '.join(letters)}] → {' + '.join([str(facts.offset), *terms])}".replace("+ -", "- ")


def strides_summary(facts: StrideFacts) -> str:
    """Describe the layout in one line."""
    inside = sum(0 <= position < facts.storage for position in facts.orders)
    parts = [f"{count_text(facts.elements, 'element')} over a storage of {facts.storage:,}", f"{inside:,} of them read"]
    if facts.repeated:
        parts.append(f"{len(facts.repeated):,} read several times (×): elements overlap")
    if facts.outside:
        parts.append(f"⚠ {len(facts.outside):,} outside of the storage")
    if len(facts.positions) < facts.elements:
        parts.append(f"the first {len(facts.positions):,} elements are followed")
    return " · ".join(parts)


def strides_text(facts: StrideFacts) -> str:
    """Draw for a terminal how often each position is read, with ! for those outside."""
    low, high = _window(facts)
    marks = "".join(_mark(facts, position) for position in range(low, high))
    lines = [call_text(facts), f"positions {low} to {high - 1}: {marks}", strides_summary(facts)]
    return "\n".join([*lines, f"RuntimeError: {facts.error}"] if facts.error else lines)


def _mark(facts: StrideFacts, position: int) -> str:
    times = len(facts.orders.get(position, ()))
    none, some = (".", str(min(times, 9))) if 0 <= position < facts.storage else (" ", "!")
    return some if times else none


def _title(text: str, note: str) -> Markup:
    return tag("div", tag("b", text), " ", soft(note), class_="mt-over")


def _window(facts: StrideFacts) -> tuple[int, int]:
    """Return the positions to draw: from the first to the last of storage and reads, as far as there is room."""
    low, high = min(0, *facts.orders, 0), max(facts.storage - 1, *facts.orders, -1) + 1
    if high - low <= CELLS:
        return low, high
    first = max(low, min(facts.orders, default=0) - 4)
    return first, min(high, first + CELLS)


def _storage(facts: StrideFacts, done: int) -> Markup:
    low, high = _window(facts)
    end = max(facts.storage, *facts.orders, 0)
    before = tag("span", f"… {low:,} before", class_="mt-soft") if low > 0 else None
    after = tag("span", f"… up to {end - 1:,}", class_="mt-soft") if high < end else None
    cells = [_storage_cell(facts, position, done) for position in range(low, high)] or [soft("no elements")]
    return tag("div", before, *cells, after, class_="mt-cells mt-s0")


def _storage_cell(facts: StrideFacts, position: int, done: int) -> Markup:
    orders = [order for order in facts.orders.get(position, ()) if order < done]
    inside = 0 <= position < facts.storage
    kinds = {"out": not inside, "read": bool(orders), "again": len(orders) > 1, "now": done - 1 in orders}
    who = ", ".join(f"#{order} {shape_text(facts.index(order))}" for order in orders[:8]) or "not read"
    title = f"position {position}{'' if inside else ', outside of the storage'}: {who}{', …' * (len(orders) > 8)}"
    number = f"⚠{position}" if orders and not inside else position
    return tag("span", tag("b", number), tag("i", reads_text(orders)), class_=_classes(kinds), title=title)


def _tensor(facts: StrideFacts, done: int) -> Markup:
    if not facts.positions:
        return tag("div", "no elements", class_="mt-soft")
    leading = [[i for i in shown_indices(n, 2) if i is not None] for n in facts.shape[:-2]]
    prefixes = list(itertools.islice(itertools.product(*leading), SLICES))
    grids = [_grid(facts, prefix, done) for prefix in prefixes]
    total = math.prod(facts.shape[:-2])
    more = tag("div", f"{len(prefixes)} of {total:,} slices", class_="mt-soft") if len(prefixes) < total else None
    return tag("div", *grids, more, class_="mt-slices mt-scroll", tabindex="0")


def _grid(facts: StrideFacts, prefix: tuple[int, ...], done: int) -> Markup:
    height, width = (1, 1, *facts.shape)[-2:]
    columns = shown_indices(width, 7)
    head = tag("tr", tag("th"), *(tag("th", "…" if c is None else c, scope="col") for c in columns))
    rows = []
    for r in shown_indices(height, 6):
        side = tag("th", "⋮" if r is None else r, scope="row")
        rows.append(tag("tr", side, *(_cell(facts, (*prefix, r, c), done) for c in columns)))
    caption = tag("caption", f"[{', '.join(map(str, prefix))}, :, :]") if prefix else None
    return tag("table", caption, tag("thead", head), tag("tbody", *rows), class_="mt-layout mt-s0")


def _cell(facts: StrideFacts, index: tuple[int | None, ...], done: int) -> Markup:
    shown = [i for i in index[max(0, 2 - len(facts.shape)):] if i is not None]
    order = 0
    for i, size in zip(shown, facts.shape, strict=False):
        order = order * size + i
    if None in index or order >= len(facts.positions):
        return tag("td", "…", class_="gap")
    position, read = facts.positions[order], order < done
    inside = 0 <= position < facts.storage
    kinds = {"out": not inside, "read": read, "again": read and position in facts.repeated, "now": order == done - 1}
    title = f"{shape_text(shown)} is read as #{order} from position {position}"
    return tag("td", "" if inside else "⚠", position, class_=_classes(kinds), title=title)


def _classes(kinds: dict[str, bool]) -> str | None:
    return " ".join(kind for kind, holds in kinds.items() if holds) or None

"""Tables: all tensors of a namespace, and what the dispatcher did."""
from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from .._call_site import place_of
from ..introspect import DispatchEvent, TensorFacts, TensorMeta
from .html import SPANNED, Markup, in_text, join, page, row, table, tag
from .palette import (
    DEVICES, chip, count_text, device_badge, invalid_mark, layout_text, mono, name_text, pending_mark, place_text,
    short, size_text, soft, storage_chip, type_of,
)

MAX_ROWS = 300  #: at most that are drawn
ADDED_UP = ": %%profile adds them up"


def tensors_page(rows: Sequence[TensorFacts]) -> Markup:
    """Draw what ``%tensors`` shows."""
    if not rows:
        return page(tag("div", "no tensors in this notebook yet", class_="mt-soft"), kind="tensors")
    sizes = {facts.storage: facts.storage_bytes for facts in rows}
    over = f"over {count_text(len(sizes), 'storage')}, {size_text(sum(sizes.values()))}"
    shown, sharing = rows[:MAX_ROWS], Counter(facts.storage for facts in rows[:MAX_ROWS])
    head = ("storage", "name", "type", "device", "view of", "autograd", "version", "stride")
    body, before = [], None
    for facts in shown:
        size = soft(size_text(facts.storage_bytes))
        memory = tag("td", storage_chip(facts.storage), " ", size, rowspan=sharing[facts.storage])
        mark = None if facts.pending is None else pending_mark() if facts.pending.error is None else invalid_mark()
        base = name_text(facts.base) if facts.is_view else ""
        body.append(row(SPANNED if facts.storage == before else memory, _clipped("b", facts.name),
                        mono(type_of(facts)), join([device_badge(facts.device), mark], " "),
                        _clipped("span", base), _autograd(facts), "–" if facts.version is None else facts.version,
                        mono(layout_text(facts.stride, facts.offset))))
        before = facts.storage
    counted = table(head, body, f"{count_text(len(rows), 'tensor')} {over}")
    return page(counted, _more(len(rows), "tensor"), kind="tensors")


tensors_text = in_text(tensors_page)


def _clipped(name: str, text: str) -> Markup:
    return tag(name, short(text), class_="mt-clip", title=short(text))


def _autograd(facts: TensorFacts) -> str:
    if not facts.requires_grad:
        return ""
    return (short(facts.history[0]) if facts.history else "leaf") + (", has grad" if facts.has_grad else "")


def dispatch_page(events: Sequence[DispatchEvent]) -> Markup:
    """Draw what ``%%dispatch`` shows."""
    if not events:
        return page(tag("div", "no operator was dispatched", class_="mt-soft"), kind="dispatch")
    longest = max(event.duration for event in events) or 1
    outermost = min(event.depth for event in events)
    total = sum(event.duration for event in events if event.depth == outermost)
    head = ("operator", "keys looked at", "kernel", "output", "time")
    body = []
    for event in events[:MAX_ROWS]:
        bar = tag("span", class_="mt-bar", style=f"width:{max(1, round(60 * event.duration / longest))}px")
        where = soft(place_text(event.file, event.line), place_of(event.file, event.line))
        kernel = join([mono(event.kernel), where], " ")
        time = join([bar, _time(event.duration)], " ")
        body.append(row(_operator(event), _keys(event), kernel, _outcome(event), time))
    said = f"{count_text(len(events), 'operator')}, {_time(total)}"
    return page(table(head, body, said), _more(len(events), "operator", ADDED_UP), kind="dispatch")


dispatch_text = in_text(dispatch_page)


def _operator(event: DispatchEvent) -> Markup:
    indent = None
    if event.depth:
        style = f"margin-left:{event.depth - 1}em"
        indent = tag("span", "└ ", plain=f"{'  ' * (event.depth - 1)}└", class_="mt-soft", style=style)
    inputs = ", ".join(map(_value, event.inputs)) or "nothing"
    name = tag("b", event.op, title=f"called at {place_text(*event.site[:2])} with {inputs}")
    return join([indent, name, pending_mark("recorded") if event.pending else None], " ")


def _keys(event: DispatchEvent) -> Markup:
    note = chip("composite", "written in other operators, the rows below") if event.composite else None
    return join([Markup(join(map(_key, event.path), " › "), " > ".join(event.path)), note], " ")


def _key(key: str) -> Markup:
    backend = f" mt-device mt-{key.lower()}" if key.lower() in DEVICES else ""
    return tag("span", key, class_=f"mt-chip{backend}", title=f"dispatch key {key}")


def _outcome(event: DispatchEvent) -> Markup:
    if event.error:
        return tag("div", event.error, class_="mt-alert mt-wrap")
    outputs = ", ".join(map(_value, event.outputs))
    many = len(event.outputs) > 2
    return mono(f"{_value(event.outputs[0])}, … {len(event.outputs)} in all" if many else outputs, outputs)


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_value, value))})"
    return str(value) if isinstance(value, TensorMeta) else reprlib.repr(value)


def _time(nanoseconds: int) -> str:
    return f"{nanoseconds / 1000:,.1f} µs"


def _more(count: int, noun: str, hint: str = "") -> Markup | None:
    """How many rows were left out."""
    return soft(f"and {count_text(count - MAX_ROWS, f'more {noun}')}{hint}") if count > MAX_ROWS else None

"""Tables: all tensors of a namespace, and what the dispatcher did."""
from __future__ import annotations

from collections.abc import Sequence
from os.path import basename

from ..introspect import DispatchEvent, TensorFacts, TensorMeta
from .html import Markup, join, page, table, tag
from .palette import chip, device_badge, pending_mark, size_text, storage_chip, tuple_text


def tensors_page(rows: Sequence[TensorFacts]) -> Markup:
    """What ``%tensors`` shows."""
    if not rows:
        return page(tag("div", "no tensors in this notebook yet", class_="mt-soft"), kind="tensors")
    storages = {row.storage if row.storage is not None else (row.name,): row.storage_bytes for row in rows}
    caption = f"{len(rows)} tensors over {len(storages)} storages, {size_text(sum(storages.values()))}"
    head = ("name", "type", "device", "storage", "stride", "view of", "version", "autograd", "bytes")
    body = [
        (
            tag("b", row.name), tag("span", f"{row.dtype}[{', '.join(map(str, row.shape))}]", class_="mt-mono"),
            join([device_badge(row.device), " ", pending_mark("pending") if row.pending else None]),
            storage_chip(row.storage) if row.storage is not None else chip("its own", "nobody shares it"),
            tag("span", f"{tuple_text(row.stride)}{f' + {row.offset}' if row.offset else ''}", class_="mt-mono"),
            (row.base or "(no name)") if row.is_view else "", "–" if row.version is None else row.version, _autograd(row),
            size_text(row.bytes),
        )
        for row in rows
    ]  # fmt: skip
    return page(tag("div", table(head, body, caption), class_="mt-scroll"), kind="tensors")


def _autograd(row: TensorFacts) -> str:
    if not row.requires_grad:
        return ""
    return (row.grad_fn or "leaf") + (", has grad" if row.has_grad else "")


def tensors_text(rows: Sequence[TensorFacts]) -> str:
    """The same for a terminal."""
    lines = [("name", "type", "device", "stride", "view of", "version", "autograd", "bytes")]
    for r in rows:
        lines.append((r.name, f"{r.dtype}[{', '.join(map(str, r.shape))}]", r.device, tuple_text(r.stride),
                      (r.base or "(no name)") if r.is_view else "", str(r.version), _autograd(r), size_text(r.bytes)))
    return _aligned(lines)


def dispatch_page(events: Sequence[DispatchEvent]) -> Markup:
    """What ``%%dispatch`` shows."""
    if not events:
        return page(tag("div", "no operator was dispatched", class_="mt-soft"), kind="dispatch")
    longest = max(event.duration for event in events) or 1
    top = sum(event.duration for event in events if event.depth == min(e.depth for e in events))
    head = ("operator", "keys, in the order looked at", "kernel", "output", "time")
    body = []
    for event in events:
        width = max(1, round(60 * event.duration / longest))
        keys = join((tag("span", key, class_=f"mt-chip{' mt-device mt-' + key.lower() if key.lower() in ('cpu', 'meta', 'npu') else ''}")
                     for key in event.path), " › ")
        if event.composite:
            keys = join([keys, " ", chip("composite", "written in other operators, which follow")])
        place = f"{basename(event.file)}:{event.line}" if event.line else event.file
        kernel = join([tag("code", event.kernel), " ", tag("span", place, class_="mt-soft", title=f"{event.file}:{event.line}")])
        outcome = tag("span", event.error, class_="mt-alert") if event.error else tag("span", _metas(event.outputs), class_="mt-mono")
        name = join([tag("span", "└ ", class_="mt-indent", style=f"margin-left:{event.depth - 1}em") if event.depth else None,
                     tag("b", event.op, title=f"called at {event.site[0]}:{event.site[1]}\ninputs: {_metas(event.inputs)}"),
                     " ", pending_mark("recorded") if event.pending else None])
        body.append((name, keys, kernel, outcome, join([tag("span", class_="mt-bar", style=f"width:{width}px"), f" {event.duration / 1000:.1f} µs"])))
    caption = f"{len(events)} operators, {top / 1000:.0f} µs"
    return page(tag("div", table(head, body, caption), class_="mt-scroll"), kind="dispatch")


def _metas(values: tuple[object, ...]) -> str:
    return ", ".join(f"{v}" if isinstance(v, TensorMeta) else _metas(v) if isinstance(v, tuple) and any(
        isinstance(x, TensorMeta) for x in v) else repr(v) for v in values)


def dispatch_text(events: Sequence[DispatchEvent]) -> str:
    """The same for a terminal."""
    lines = [("operator", "keys", "kernel", "output", "time")]
    for e in events:
        lines.append((f"{'  ' * e.depth}{e.op}", " > ".join(e.path), f"{e.kernel} ({basename(e.file)}:{e.line})",
                      e.error or _metas(e.outputs), f"{e.duration / 1000:.1f} us"))
    return _aligned(lines)


def _aligned(lines: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)

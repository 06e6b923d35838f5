"""A device's memory: its storages, the allocator's segments block by block, and what is freed later."""
from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from ..introspect import BlockFacts, DeferredFree, MemoryFacts, SegmentFacts, StorageUse
from .html import Markup, join, page, row, table, tag
from .palette import (
    chip, count_text, device_badge, device_class, mono, pending_mark, size_text, soft, storage_class, storage_letter,
)

STORAGES = 12  #: at most that are listed
BLOCKS = 48  #: of a segment at most that are drawn
SEGMENTS = 24  #: at most that are drawn
MARKS = {"in use": "█", "workspace": "▒", "waiting": "…", "free": "·"}


def memory_page(devices: Sequence[MemoryFacts]) -> Markup:
    """Draw what ``%memory`` shows."""
    return page(*(tag("div", *_device(facts), class_="mt-box") for facts in devices), kind="memory", sheet="memory")


def _device(facts: MemoryFacts) -> list[Markup | None]:
    head = tag("div", device_badge(facts.device), tag("b", _use(facts)), class_="mt-head")
    if not facts.statistics:
        return [head, _storages(facts)]
    return [head, tag("div", _said(facts), class_="mt-summary"), _bar(facts), _segments(facts), _deferred(facts),
            _storages(facts), _statistics(facts)]


def _use(facts: MemoryFacts) -> str:
    live = f"{size_text(facts.storage_bytes)} in {count_text(len(facts.storages), 'live storage')}"
    if not facts.statistics:
        return live
    return f"{size_text(facts.allocated)} allocated of {size_text(facts.reserved)} reserved"


def _said(facts: MemoryFacts) -> str:
    """Break down the numbers in the head."""
    peak = facts.statistics["allocated_bytes.all.peak"]
    parts = [f"{size_text(facts.storage_bytes)} in {count_text(len(facts.storages), 'live storage')}",
             f"at most {size_text(peak)} allocated at once", count_text(len(facts.segments), "segment"),
             f"{size_text(facts.free)} of the device's {size_text(facts.total)} are free"]
    return " · ".join(parts)


def _bar(facts: MemoryFacts) -> Markup:
    """Draw the device's memory to scale: allocated, cached, used by others, free."""
    others = max(0, facts.total - facts.free - facts.reserved)
    parts = [("use", "allocated", facts.allocated), ("cached", "cached", facts.reserved - facts.allocated),
             ("others", "in use by others", others), ("left", "free", facts.free)]
    drawn = [tag("span", f"{size_text(size)} {name}" if size > facts.total / 8 else None, class_=kind,
                 style=f"flex-grow:{size / facts.total:.4f}", title=f"{name}: {size_text(size)}")
             for kind, name, size in parts if size]
    told = f"{size_text(facts.total)} of {facts.device}: " + ", ".join(
        f"{size_text(size)} {name}" for _, name, size in parts if size)
    return tag("div", *drawn, class_=f"mt-whole {device_class(facts.device)}", role="img", aria_label=told)


def _segments(facts: MemoryFacts) -> Markup | None:
    if not facts.segments:
        return None
    lines = [part for segment in facts.segments[:SEGMENTS] for part in _segment(segment)]
    left = len(facts.segments) - SEGMENTS
    more = tag("span", f"and {count_text(left, 'more segment')}", class_="mt-note") if left > 0 else None
    said = "a block's width grows with the square root of its size"
    marks = tag("div", *(tag("span", tag("span", class_=f"block {state.replace(' ', '-')}"), state) for state in MARKS),
                tag("span", tag("span", class_="block free late"), "free after pending work"), soft(said),
                soft("%glossary: what CANN, CUDA and PyTorch call these things"), class_="mt-legend")
    return join([tag("div", *lines, more, class_="mt-segments"), marks])


def _segment(segment: SegmentFacts) -> tuple[Markup, Markup]:
    stream = segment.blocks[0].stream.partition(" ")[2]
    size = mono(size_text(segment.bytes), f"segment at {segment.address:#x}")
    label = tag("span", size, " ", soft(stream), class_="mt-label")
    shown = segment.blocks
    if len(shown) > BLOCKS:
        shown = tuple(sorted(sorted(shown, key=lambda block: -block.bytes)[:BLOCKS], key=lambda block: block.address))
    left = len(segment.blocks) - len(shown)
    more = chip(f"+{left}", f"{count_text(left, 'smaller block')}") if left else None
    return label, tag("div", *map(_block, shown), more, class_="mt-blocks")


def _block(block: BlockFacts) -> Markup:
    numbers = [storage.number for storage in block.storages if storage.number is not None]
    colour = f" {storage_class(numbers[0])}" if numbers else ""
    late = " late" if block.deferred else ""
    letters = " ".join(map(storage_letter, numbers)) or ("?" if block.storages else "")
    return tag("span", letters, class_=f"block {block.state.replace(' ', '-')}{late}{colour}",
               style=f"flex-grow:{sqrt(block.bytes):.0f}", title=_told(block), tabindex="0")


def _told(block: BlockFacts) -> str:
    asked = f", {size_text(block.requested)} asked for" if block.requested else ""
    lines = [f"{block.state}: {size_text(block.bytes)}{asked}", f"at {block.address:#x} for {block.stream}"]
    lines += [f"holds {_names(storage)}" for storage in block.storages]
    lines += [f"{size_text(block.deferred)} of it only after what is pending"] if block.deferred else []
    return "\n".join(lines)


def _names(storage: StorageUse) -> str:
    nameless = storage.tensors - len(storage.names)
    said = [*storage.names, *([count_text(nameless, "nameless tensor")] if nameless else [])]
    return ", ".join(said) or "no tensor"


def _deferred(facts: MemoryFacts) -> Markup | None:
    """Describe for each stream how much memory waits for how many operators."""
    if not facts.deferred:
        return None
    rows = [row(stream, _size(frees), count_text(len(frees), "piece"), pending_mark(_waiting(frees)))
            for stream, frees in _by_stream(facts.deferred).items()]
    caption = "freed by the host, still needed by pending work"
    return table(("stream", "size", "pieces", "waits for"), rows, caption)


def _by_stream(frees: Sequence[DeferredFree]) -> dict[str, list[DeferredFree]]:
    return {stream: [free for free in frees if free.stream == stream]
            for stream in dict.fromkeys(free.stream for free in frees)}


def _size(frees: Sequence[DeferredFree]) -> str:
    return size_text(sum(free.bytes for free in frees))


def _waiting(frees: Sequence[DeferredFree]) -> str:
    return count_text(max(free.pending for free in frees), "operator")


def _storages(facts: MemoryFacts) -> Markup:
    if not facts.storages:
        return tag("div", "no live storage", class_="mt-soft")
    rows = []
    for storage in facts.storages[:STORAGES]:
        mark = soft("–")
        if storage.number is not None:
            class_ = f"mt-chip mt-storage {storage_class(storage.number)}"
            mark = tag("span", storage_letter(storage.number), class_=class_)
        names = tag("span", _names(storage), class_="mt-clip", title=_names(storage))
        rows.append(row(mark, names, size_text(storage.bytes), mono(f"{storage.address:#x}")))
    left = len(facts.storages) - STORAGES
    caption = f"live storages{f', the largest {STORAGES} of {len(facts.storages):,}' if left > 0 else ''}"
    return table(("storage", "tensors", "size", "address"), rows, caption)


def _statistics(facts: MemoryFacts) -> Markup:
    items = (join([tag("dt", name), tag("dd", f"{n:,}", f" ({size_text(n)})" if "bytes" in name and n >= 1024 else "")])
             for name, n in facts.statistics.items())
    kind = facts.device.partition(":")[0]
    return tag("details", tag("summary", f"torch.{kind}.memory_stats()"), tag("dl", *items, class_="mt-facts"))


def memory_text(devices: Sequence[MemoryFacts]) -> str:
    """Draw what ``%memory`` shows in a terminal."""
    return "\n".join(line for facts in devices for line in _lines(facts))


def _lines(facts: MemoryFacts) -> list[str]:
    lines = [f"{facts.device}: {_use(facts)}"]
    if facts.statistics:
        lines.append(f"  {_said(facts)}")
    for segment in facts.segments[:SEGMENTS]:
        widths = ((MARKS[b.state], sqrt(b.bytes / segment.bytes)) for b in segment.blocks[:BLOCKS])
        shown = "".join(mark * max(1, round(24 * width)) for mark, width in widths)
        lines.append(f"  segment {size_text(segment.bytes):>9} |{shown}| {segment.blocks[0].stream}")
    if len(facts.segments) > SEGMENTS:
        lines.append(f"  and {count_text(len(facts.segments) - SEGMENTS, 'more segment')}")
    if facts.segments:
        lines.append("  " + ", ".join(f"{mark} {state}" for state, mark in MARKS.items()))
    for stream, frees in _by_stream(facts.deferred).items():
        pieces = count_text(len(frees), "piece")
        lines.append(f"  deferred frees: {_size(frees)} in {pieces}, after {_waiting(frees)} of {stream}")
    for storage in facts.storages[:STORAGES]:
        letter = "-" if storage.number is None else storage_letter(storage.number)
        lines.append(f"  {letter:>3} {size_text(storage.bytes):>10}  {_names(storage)}")
    if len(facts.storages) > STORAGES:
        lines.append(f"  and {count_text(len(facts.storages) - STORAGES, 'smaller storage')}")
    return lines

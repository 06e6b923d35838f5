"""Storages as strips: which elements a tensor covers, and who else sees the memory."""
from __future__ import annotations

from ..introspect import Sharer, StorageFacts
from .html import Markup, join, page, tag
from .palette import chip, count_text, device_badge, mono, shape_text, size_text, storage_chip, storage_class, tuple_text

WIDTH = 960.0  #: units that a strip is drawn in
MARK = 28  #: pixels at most that one mark is wide


def strip(facts: StorageFacts, sharer: Sharer) -> Markup:
    """A storage as a bar, the covered segments filled, the darker the more of one is covered."""
    edges = [min(1.0, i * facts.segment_bytes / facts.bytes) * WIDTH for i in range(facts.segments)] + [WIDTH]
    runs, start = [], 0
    for i in range(1, facts.segments + 1):
        part = sharer.coverage[start]
        if i == facts.segments or sharer.coverage[i] != part:
            if part:
                runs.append(tag("rect", class_="run", x=f"{edges[start]:.1f}", y="1", width=f"{edges[i] - edges[start]:.1f}", height="14",
                                opacity=None if part == 1 else f"{0.25 + 0.75 * part:.2f}"))
            start = i
    ticks = [tag("line", class_="tick", x1=f"{x:.1f}", x2=f"{x:.1f}", y1="1", y2="15") for x in edges[1:-1]] if facts.segments <= 64 else []
    covered = sum(part * (right - left) for part, left, right in zip(sharer.coverage, edges[:-1], edges[1:], strict=True)) / WIDTH
    text = f"stride {tuple_text(sharer.stride)}, offset {sharer.offset}: covers {covered:.0%} of the storage"
    bed = tag("rect", class_="bed", x="0", y="0.5", width=WIDTH, height="15")
    return tag("svg", tag("title", text), bed, *runs, *ticks, class_="mt-strip", viewBox=f"0 0 {WIDTH:.0f} 16", preserveAspectRatio="none",
               role="img", aria_label=text)


def strips(facts: StorageFacts) -> Markup | None:
    """One strip for every tensor that sees the storage, the one that was asked about first."""
    if not facts.bytes:
        return None
    rows: list[Markup | None] = []
    for i, sharer in enumerate(facts.sharers):
        name = "this tensor" if i == 0 and not sharer.name else _name(sharer)
        label = [tag("span", name, class_="mt-mono mt-clip", title=name), tag("span", shape_text(sharer.shape), class_="mt-soft mt-mono")]
        rows += [tag("span", *label, class_="mt-label" if i else "mt-label mt-me"), strip(facts, sharer)]
    if facts.others:
        rows.append(tag("span", f"and {count_text(facts.others, 'more tensor')}", class_="mt-note"))
    unit = "one element" if facts.segment_bytes == facts.itemsize else size_text(facts.segment_bytes)
    rows.append(tag("span", f"{size_text(facts.bytes)}, each mark is {unit}", class_="mt-note"))
    return tag("div", *rows, class_=f"mt-strips {storage_class(facts.number)}", style=f"--mt-length:{MARK * facts.segments}px")


def _name(sharer: Sharer) -> str:
    return sharer.name or ("(base, no name)" if sharer.is_base else "(no name)")


def storage_page(facts: StorageFacts) -> Markup:
    """What ``%storage`` shows."""
    head = tag(
        "div", storage_chip(facts.number), mono(size_text(facts.bytes)), device_badge(facts.device),
        chip("shared between processes") if facts.shared_memory else None, class_="mt-head",
    )  # fmt: skip
    count = len(facts.sharers) + facts.others
    said = ["one tensor sees it" if count == 1 else f"{count} tensors see it: a write through one is a write to all",
            f"at {facts.address:#x}" if facts.address else None]
    return page(tag("div", head, tag("div", join(said, " · "), class_="mt-summary"), strips(facts), class_="mt-box"), kind="storage-page")


def storage_text(facts: StorageFacts) -> str:
    """The same for a terminal."""
    lines = [f"storage of {size_text(facts.bytes)} on {facts.device}, seen by {count_text(len(facts.sharers) + facts.others, 'tensor')}"]
    width = max(len(_name(sharer)) for sharer in facts.sharers)
    for sharer in facts.sharers:
        marks = "".join(" ░▒▓█"[min(4, int(c * 4 + 0.999))] for c in sharer.coverage)
        lines.append(f"{_name(sharer):>{width}} |{marks}| {shape_text(sharer.shape)} stride {tuple_text(sharer.stride)} "
                     f"offset {sharer.offset}")
    if facts.others:
        lines.append(f"and {count_text(facts.others, 'more tensor')}")
    return "\n".join(lines)

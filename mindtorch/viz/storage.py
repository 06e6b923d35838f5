"""Storages as strips: which elements a tensor covers, and who else sees the memory."""
from __future__ import annotations

import math
from functools import partial
from itertools import groupby, pairwise

from ..introspect import Sharer, StorageFacts
from .html import Markup, join, page, tag
from .palette import (
    PANEL, PAPER, RULE, chip, count_text, device_badge, mono, name_text, shape_text, size_text, storage_chip,
    storage_class, storage_colour, storage_letter, tensor_name, tuple_text, type_text,
)
from .places import places

WIDTH = 960.0  #: units that a strip is drawn in
BASE = "the tensor that was there first, of which the others are views; no variable holds it"
MARK = 28  #: pixels at most that one mark is wide


def strip(facts: StorageFacts, sharer: Sharer) -> Markup:
    """Draw a storage as a bar, covered segments filled, darker the more of one is covered."""
    edges = [min(1.0, i * facts.segment_bytes / facts.bytes) * WIDTH for i in range(facts.segments)] + [WIDTH]
    runs, covered = [], 0.0
    for part, segments in groupby(range(facts.segments), key=sharer.coverage.__getitem__):
        first, *rest = segments
        x, width = edges[first], edges[first + 1 + len(rest)] - edges[first]
        covered += part * width / WIDTH
        if part:
            opacity = None if part == 1 else f"{0.25 + 0.75 * part:.2f}"
            size = {"x": f"{x:.1f}", "y": "1", "width": f"{width:.1f}", "height": "14"}
            runs.append(tag("rect", class_="run", opacity=opacity, fill=storage_colour(facts.number), **size))
    marks = edges[1:-1] if facts.segments <= 64 else []
    ticks = [tag("line", class_="tick", x1=f"{x:.1f}", x2=f"{x:.1f}", y1="1", y2="15", stroke=PAPER) for x in marks]
    bed = tag("rect", class_="bed", x="0", y="0.5", width=WIDTH, height="15", fill=PANEL, stroke=RULE)
    layout = f"{type_text(sharer.dtype, sharer.shape)}, stride {tuple_text(sharer.stride)}, offset {sharer.offset}"
    of = f"{size_text(facts.bytes)} of storage {storage_letter(facts.number)}"
    text = f"{_name(sharer)}: {layout}, covers {covered:.0%} of the {of}{_where(sharer)}"
    return tag("svg", tag("title", text), bed, *runs, *ticks, class_="mt-strip", role="img", aria_label=text,
               viewBox=f"0 0 {WIDTH:.0f} 16", preserveAspectRatio="none", width="320", height="16")


def _where(sharer: Sharer) -> str:
    """Return which part of a storage is covered, where that is one piece of it, or how often there is a gap."""
    marks = [index for index, part in enumerate(sharer.coverage) if part]
    if not marks or len(marks) == len(sharer.coverage):
        return ""
    gaps = sum(b > a + 1 for a, b in pairwise(marks))
    first, last = (place / len(sharer.coverage) for place in (marks[0], marks[-1] + 1))
    return f", from {first:.0%} to {last:.0%} of its length, with {count_text(gaps, 'gap')}"


def strips(facts: StorageFacts) -> Markup | None:
    """One strip for every tensor that sees the storage, the one that was asked about first."""
    if not facts.bytes:
        return None
    labels = [_label(sharer, i == 0) for i, sharer in enumerate(facts.sharers)]
    more = f"and {count_text(facts.others, 'more tensor')}" if facts.others else None
    look, length = f"mt-strips {storage_class(facts.number)}", f"--mt-length:{MARK * facts.segments}px"
    if facts.values is not None:
        how = "#k: the tensor reads it as number k, counted from 0; ×k: it reads it k times; empty: not at all"
        note = tag("div", join([how, more], " · "), class_="mt-note")
        return tag("div", places(facts, labels, partial(strip, facts)), note, class_=f"{look} mt-block", style=length)
    rows = [part for label, sharer in zip(labels, facts.sharers, strict=True) for part in (label, strip(facts, sharer))]
    elements = facts.segment_bytes // facts.itemsize
    unit = "one element" if elements == 1 else count_text(elements, "element")
    said = [more, f"{size_text(facts.bytes)}, each mark is {unit}"]
    notes = (tag("span", note, class_="mt-note") for note in said if note)
    return tag("div", *rows, *notes, class_=look, style=length)


def _label(sharer: Sharer, first: bool) -> Markup:
    said = "this tensor" if first and not sharer.name else _name(sharer)
    name = tensor_name(said, BASE if _is_nameless(sharer) and not first else None)
    shape = tag("span", shape_text(sharer.shape), class_="mt-soft mt-mono")
    return tag("span", name, " ", shape, class_="mt-label mt-me" if first else "mt-label")


def _name(sharer: Sharer) -> str:
    return "its base" if _is_nameless(sharer) else name_text(sharer.name)


def _is_nameless(sharer: Sharer) -> bool:
    """Return True if a tensor is known only as the base of other views."""
    return sharer.is_base and not sharer.name


def storage_page(facts: StorageFacts) -> Markup:
    """Draw what ``%storage`` shows."""
    head = tag("div", storage_chip(facts.number), mono(size_text(facts.bytes)), device_badge(facts.device),
               chip("shared between processes") if facts.shared_memory else None, class_="mt-head")
    count = len(facts.sharers) + facts.others
    seen = f"{count:,} tensors see it: a write through one is a write to all" if count > 1 else "one tensor sees it"
    said = join([seen, f"at {facts.address:#x}" if facts.address else None], " · ")
    box = tag("div", head, tag("div", said, class_="mt-summary"), strips(facts), class_="mt-box")
    return page(box, kind="storage-page", sheet="card")


def storage_text(facts: StorageFacts) -> str:
    """Draw what ``%storage`` shows in a terminal."""
    seen = count_text(len(facts.sharers) + facts.others, "tensor")
    lines = [f"storage of {size_text(facts.bytes)} on {facts.device}, seen by {seen}"]
    if facts.values is not None:
        return "\n".join([*lines, join([strips(facts)]).plain.strip("\n")])
    width = max(len(_name(sharer)) for sharer in facts.sharers)
    for sharer in facts.sharers:
        marks = "".join(" ░▒▓█"[math.ceil(4 * part)] for part in sharer.coverage)
        layout = f"{shape_text(sharer.shape)} stride {tuple_text(sharer.stride)} offset {sharer.offset}"
        lines.append(f"{_name(sharer):>{width}} |{marks}| {layout}")
    if facts.others:
        lines.append(f"and {count_text(facts.others, 'more tensor')}")
    return "\n".join(lines)

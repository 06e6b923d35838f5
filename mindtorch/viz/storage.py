"""Storages as strips: which elements a tensor covers, and who else sees the memory."""
from __future__ import annotations

from collections.abc import Sequence

from ..introspect import Sharer, StorageFacts
from .html import Markup, join, page, tag
from .palette import chip, device_badge, size_text, storage_chip, storage_class, tuple_text

SHOWN = 8  #: sharers at most that get a strip


def strip(coverage: Sequence[float], title: str) -> Markup:
    """A storage as a bar, the covered segments filled; equal neighbours are drawn as one."""
    count = max(len(coverage), 1)
    unit = 960 / count
    runs, start = [], 0
    for i in range(1, count + 1):
        if i == count or coverage[i] != coverage[start]:
            if coverage and coverage[start] > 0:
                opacity = None if coverage[start] >= 1 else f"{0.25 + 0.75 * coverage[start]:.2f}"
                runs.append(tag("rect", class_="run", x=f"{start * unit:.1f}", y="1", height="14", opacity=opacity,
                                width=f"{(i - start) * unit:.1f}"))
            start = i
    ticks = [tag("line", class_="tick", x1=f"{i * unit:.1f}", x2=f"{i * unit:.1f}", y1="1", y2="15") for i in range(1, count)] \
        if count <= 64 else []
    bed = tag("rect", class_="bed", x="0.5", y="0.5", width="959", height="15", rx="2")
    return tag("svg", tag("title", title), bed, *runs, *ticks, class_="mt-strip", viewBox="0 0 960 16",
               preserveAspectRatio="none", role="img")


def strips(facts: StorageFacts, me: int | None = None) -> Markup:
    """One strip for every tensor that sees the storage; ``me`` is the identity of the one that was asked about."""
    sharers = sorted(facts.sharers, key=lambda s: (s.identity != me, not s.name))
    shown, rest = sharers[:SHOWN], sharers[SHOWN:]
    rows: list[Markup | None] = []
    for sharer in shown:
        rows.append(tag("span", _label(sharer), class_=f"mt-label{' mt-me' if sharer.identity == me else ''}"))
        covered = sum(sharer.coverage) / len(sharer.coverage) if sharer.coverage else 0.0
        text = f"{sharer.name or 'a tensor without a name'}: stride {tuple_text(sharer.stride)}, offset {sharer.offset}, covers {covered:.0%}"
        rows.append(strip(sharer.coverage, text))
    if rest:
        rows.append(tag("span", f"and {len(rest)} more tensors", class_="mt-note"))
    unit = "each mark is one element" if facts.segments and facts.segments <= 96 and _unit(facts) else \
        f"each of {facts.segments} marks is {size_text(facts.segment_bytes)}"
    rows.append(tag("span", f"{unit}; 0 on the left, {size_text(facts.bytes)} on the right", class_="mt-note"))
    return tag("div", *rows, class_=f"mt-strips {storage_class(facts.identity)}")


def _unit(facts: StorageFacts) -> bool:
    return bool(facts.sharers) and facts.segment_bytes * facts.segments - facts.bytes < facts.segment_bytes and \
        facts.segment_bytes in (1, 2, 4, 8, 16)


def _label(sharer: Sharer) -> Markup:
    name = sharer.name or "(no name)"
    return join([tag("span", name, class_="mt-mono"), " ", tag("span", tuple_text(sharer.shape), class_="mt-soft mt-mono")])


def storage_page(facts: StorageFacts, me: int | None = None) -> Markup:
    """What ``%storage`` shows."""
    count = len(facts.sharers)
    head = tag(
        "div", storage_chip(facts.identity), tag("span", "storage", class_="mt-name"), device_badge(facts.device),
        tag("span", size_text(facts.bytes), class_="mt-mono"),
        chip("shared between processes") if facts.shared_memory else None, class_="mt-head",
    )  # fmt: skip
    text = "one tensor sees it" if count == 1 else f"{count} tensors see it: a write through one is a write to all"
    where = f", at {facts.address:#x}" if facts.address else ""
    return page(tag("div", head, tag("div", text + where, class_="mt-summary"), strips(facts, me), class_="mt-box"), kind="storage-page")


def storage_text(facts: StorageFacts) -> str:
    """The same for a terminal."""
    lines = [f"storage of {size_text(facts.bytes)} on {facts.device}, seen by {len(facts.sharers)} tensor(s)"]
    width = max((len(s.name or "(no name)") for s in facts.sharers), default=0)
    for sharer in facts.sharers:
        marks = "".join(" ░▒▓█"[min(4, int(c * 4 + 0.999))] for c in sharer.coverage[:96])
        lines.append(f"{(sharer.name or '(no name)'):>{width}} |{marks}| {tuple_text(sharer.shape)} stride {tuple_text(sharer.stride)} "
                     f"offset {sharer.offset}")
    return "\n".join(lines)

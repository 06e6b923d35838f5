"""The tensor card: what the last line of a cell shows. Drawing it never waits and never changes anything."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..introspect import StorageFacts, TensorFacts, storage_facts, tensor_facts
from .grid import value_grids
from .html import Markup, join, page, tag
from .palette import (
    chip, count_text, device_badge, invalid_mark, mono, number_text, pending_mark, place_text, shape_text,
    size_text, soft, storage_chip, storage_letter, tuple_text,
)  # fmt: skip
from .storage import strips

QUEUE = 8  #: operators at most that are named of those in a queue


def tensor_card(tensor: Any, names: Mapping[int, str] | None = None) -> Markup:
    """The card of a tensor; ``names`` are the tensors' names by ``id`` (``introspect.names_of``)."""
    facts = tensor_facts(tensor, names)
    sharing = storage_facts(tensor, names)
    values = _waiting(facts) if facts.statistics is None else value_grids(tensor, facts)
    parts = (_head(facts), _summary(facts), values, strips(sharing), _details(facts, sharing))
    return page(tag("div", *parts, class_="mt-box"), kind="card")


def _head(facts: TensorFacts) -> Markup:
    remarks = []
    if facts.is_view:
        name = f"view of {facts.base}" if facts.base else "view"
        remarks.append(chip(name, "looks at the memory of another tensor"))
    if not facts.contiguous:
        remarks.append(chip("not contiguous", "the elements do not lie in memory one after the other"))
    if facts.overlapping:
        remarks.append(chip("elements overlap", "several indices mean the same memory"))
    if facts.requires_grad:
        name = facts.history[0] if facts.history else "leaf, requires grad"
        remarks.append(chip(name, "part of an autograd graph"))
    if facts.inference:
        remarks.append(chip("inference tensor", "made in inference mode: autograd will not see it"))
    if facts.pending is not None:
        remarks.append(pending_mark() if facts.pending.error is None else invalid_mark())
    layout = f"stride {tuple_text(facts.stride)}" + (f" offset {facts.offset}" if facts.offset else "")
    return tag(
        "div",
        tag("span", facts.name, class_="mt-name") if facts.name else None,
        soft(facts.kind) if facts.kind != "Tensor" else None,
        mono(f"{facts.dtype}{shape_text(facts.shape)}"),
        tag("span", layout, class_="mt-mono mt-soft"),
        device_badge(facts.device),
        storage_chip(facts.storage),
        *remarks,
        class_="mt-head",
    )


def _summary(facts: TensorFacts) -> Markup:
    parts: list[Any] = [f"{count_text(facts.elements, 'element')}, {size_text(facts.bytes)}"]
    s = facts.statistics
    if s is not None and s.mean is not None and facts.elements > 1:
        if facts.dtype == "bool":
            parts.append(f"{s.sampled - s.zeros:,} True, {s.zeros:,} False")
        else:
            kind = "magnitude " if facts.dtype.startswith("complex") else ""
            least, most = tag("b", number_text(s.minimum)), tag("b", number_text(s.maximum))
            parts.append(join([f"{kind}from ", least, " to ", most]))
            parts.append(f"mean {number_text(s.mean)}")
            parts.append(None if s.std is None else f"std {number_text(s.std)}")
    if s is not None:
        parts.append(tag("span", f"⚠ {s.nans:,} NaN", class_="mt-alert") if s.nans else None)
        parts.append(tag("span", f"⚠ {s.infinities:,} infinite", class_="mt-alert") if s.infinities else None)
        parts.append(f"in a sample of {s.sampled:,}" if s.sampled < s.total else None)
    return tag("div", join(parts, " · "), class_="mt-summary")


def _waiting(facts: TensorFacts) -> Markup:
    """What stands in the values' place."""
    pending = facts.pending
    if pending is None:
        return tag("div", "on the meta device: shape and strides, no values", class_="mt-soft")
    if pending.error is not None:
        return tag("div", f"⚠ it will never have values: {pending.error}", class_="mt-alert")
    queue = [mono(name) for name in pending.before[-QUEUE:]]
    if len(pending.before) > QUEUE:
        queue.insert(0, soft("…"))
    queue.append(tag("b", mono(f"aten::{pending.operator}", f"recorded at {pending.file}:{pending.line}")))
    count = count_text(len(pending.before), "operator")
    note = f" (recorded at {place_text(pending.file, pending.line)}; {count} before it)"
    return tag("div", soft("in the pipeline: "), join(queue, " › "), soft(note), class_="mt-queue")


def _details(facts: TensorFacts, sharing: StorageFacts) -> Markup:
    seen = count_text(len(sharing.sharers) + sharing.others, "tensor")
    contiguous = ", contiguous" if facts.contiguous else ", not contiguous"
    version = "not tracked"
    if facts.version is not None:
        version = f"{facts.version}: {count_text(facts.version, 'write')} in place so far"
    rows = [
        ("shape", mono(tuple_text(facts.shape))),
        ("stride", join([mono(tuple_text(facts.stride)), contiguous])),
        ("offset", mono(facts.offset)),
        ("position in storage", mono(_position(facts))),
        ("storage", f"{storage_letter(facts.storage)}: {size_text(facts.storage_bytes)}, seen by {seen}"),
        ("address", mono(f"{facts.address:#x}") if facts.address else "none"),
        ("version", version),
        ("autograd", _autograd(facts)),
    ]
    listed = tag("dl", *(join([tag("dt", key), tag("dd", value)]) for key, value in rows), class_="mt-facts")
    return tag("details", tag("summary", "layout, memory, autograd"), listed)


def _position(facts: TensorFacts) -> str:
    """Where the element at an index lies."""
    letters = "ijklmnpq"[: len(facts.shape)]
    if len(letters) < len(facts.shape):
        return "offset + Σ index · stride"
    steps = zip(letters, facts.stride, strict=True)
    terms = [letter if step == 1 else f"{step}·{letter}" for letter, step in steps if step]
    if facts.offset or not terms:
        terms.insert(0, str(facts.offset))
    return f"[{', '.join(letters)}] → {' + '.join(terms)}"


def _autograd(facts: TensorFacts) -> str:
    if not facts.requires_grad:
        return "does not require grad"
    if facts.is_leaf:
        return f"a leaf that requires grad; {'has a gradient' if facts.has_grad else 'no gradient yet'}"
    return " ← ".join(facts.history) + ("; has a gradient" if facts.has_grad else "")

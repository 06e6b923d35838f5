"""The tensor card: what the last line of a cell shows. Drawing it never waits and never changes anything."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..introspect import StorageFacts, TensorFacts, storage_facts, tensor_facts
from .grid import value_grids
from .html import Markup, join, page, tag
from .palette import (
    chip, device_badge, number_text, pending_mark, size_text, storage_chip, storage_letter, tuple_text,
)  # fmt: skip
from .storage import strips


def tensor_card(tensor: Any, names: Mapping[int, str] | None = None) -> Markup:
    """The card of a tensor; ``names`` are the tensors' names by ``id`` (``introspect.names_of``)."""
    facts = tensor_facts(tensor, names)
    sharing = storage_facts(tensor, names)
    body = [_head(facts, sharing), _summary(facts), _waiting(facts)]
    if facts.pending is None and facts.device != "meta":
        body.append(value_grids(tensor, facts))
    body.append(strips(sharing, id(tensor)))
    body.append(_details(facts, sharing, tensor))
    return page(tag("div", *body, class_="mt-box"), kind="card")


def _head(facts: TensorFacts, sharing: StorageFacts) -> Markup:
    remarks = []
    if facts.is_view:
        remarks.append(chip(f"view of {facts.base}" if facts.base else "view", "shares the memory of another tensor"))
    if not facts.contiguous:
        remarks.append(chip("not contiguous", f"stride {tuple_text(facts.stride)}"))
    if facts.overlapping:
        remarks.append(chip("elements overlap", "several indices mean the same memory"))
    if facts.requires_grad:
        remarks.append(chip("leaf, requires grad" if facts.is_leaf else facts.grad_fn or "requires grad", "part of an autograd graph"))
    if facts.inference:
        remarks.append(chip("inference tensor"))
    if facts.pending is not None:
        remarks.append(pending_mark("pending" if facts.pending.error is None else "invalid"))
    type_text = f"{facts.dtype}[{', '.join(map(str, facts.shape))}]"
    return tag(
        "div", tag("span", facts.name, class_="mt-name") if facts.name else None,
        tag("span", "Parameter ", class_="mt-soft") if facts.kind == "Parameter" else None,
        tag("span", type_text, class_="mt-type"), device_badge(facts.device), storage_chip(sharing.identity), *remarks,
        class_="mt-head",
    )  # fmt: skip


def _summary(facts: TensorFacts) -> Markup:
    count = f"{facts.elements:,} element{'' if facts.elements == 1 else 's'}"
    parts: list[Any] = [f"{count}, {size_text(facts.bytes)}"]
    s = facts.statistics
    if s is not None and s.minimum is not None and facts.elements > 1:
        parts.append(join(["from ", tag("b", number_text(s.minimum)), " to ", tag("b", number_text(s.maximum))]))
        if s.mean is not None and facts.dtype != "bool":
            spread = "" if s.std is None else f" ± {number_text(s.std)}"
            parts.append(f"mean {number_text(s.mean)}{spread}")
    if s is not None:
        if s.nans:
            parts.append(tag("span", f"⚠ {s.nans:,} NaN", class_="mt-alert"))
        if s.infinities:
            parts.append(tag("span", f"⚠ {s.infinities:,} infinite", class_="mt-alert"))
        if s.sampled < s.total:
            parts.append(f"of a sample of {s.sampled:,}")
    return tag("div", join(parts, " · "), class_="mt-summary")


def _waiting(facts: TensorFacts) -> Markup | None:
    if facts.pending is None:
        return tag("div", "on the meta device: shape and strides, no values", class_="mt-soft") if facts.device == "meta" else None
    if facts.pending.error is not None:
        return tag("div", f"⚠ {facts.pending.error}", class_="mt-alert")
    before = facts.pending.before
    queue = "it is next in the queue" if not before else f"{before} operator{'s' if before > 1 else ''} before it"
    return tag("div", f"waits for {facts.pending.waits_for} ({facts.pending.where}: {queue})", class_="mt-soft")


def _details(facts: TensorFacts, sharing: StorageFacts, tensor: Any) -> Markup:
    rows: list[tuple[str, Any]] = [
        ("shape", tag("code", tuple_text(facts.shape))),
        ("stride", join([tag("code", tuple_text(facts.stride)), " elements, ", "contiguous" if facts.contiguous else "not contiguous"])),
        ("storage offset", f"{facts.offset} elements"),
        ("storage", f"{storage_letter(sharing.identity)}, {size_text(facts.storage_bytes)}, seen by {len(sharing.sharers)} tensor(s)"),
        ("address", f"{facts.address:#x}" if facts.address else "none"),
        ("version", "not tracked" if facts.version is None else f"{facts.version} (writes in place so far)"),
        ("autograd", _autograd_text(facts, tensor)),
    ]
    listed = tag("dl", *(join([tag("dt", key), tag("dd", value)]) for key, value in rows), class_="mt-facts")
    return tag("details", tag("summary", "layout, memory, autograd"), listed)


def _autograd_text(facts: TensorFacts, tensor: Any) -> str:
    if not facts.requires_grad:
        return "does not require grad"
    grad = "has a gradient" if facts.has_grad else "no gradient yet"
    if facts.is_leaf:
        return f"a leaf that requires grad; {grad}"
    chain, node = [], tensor._grad_fn
    while node is not None and len(chain) < 6:
        chain.append(node.name())
        node = next((edge[0] for edge in node._edges if edge is not None), None)
    return " ← ".join(chain) + (" ← …" if node is not None else "")

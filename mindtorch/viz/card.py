"""The tensor card: what the last line of a cell shows. Drawing it never waits and never changes anything."""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..introspect import StorageFacts, TensorFacts, storage_facts, tensor_facts
from .grid import value_grids
from .html import Markup, join, page, tag
from .palette import (
    chip, count_text, device_badge, invalid_mark, mono, number_text, pending_mark, place_text, size_text, soft,
    storage_chip, storage_letter, tensor_name, tuple_text, type_text,
)  # fmt: skip
from .storage import strips

FACTS = ("from ", "all ", "magnitude ")  #: what the summary stresses begins so
RECORDED = re.compile(r"recorded at (\S+):(\d+) in \S+,")
QUEUE = 8  #: operators at most that are named of those in a queue


def tensor_card(tensor: Any, names: Mapping[int, str] | None = None) -> Markup:
    """The card of a tensor; ``names`` are the tensors' names by ``id`` (``introspect.names_of``)."""
    facts = tensor_facts(tensor, names)
    sharing = storage_facts(tensor, names)
    values = _waiting(facts) if facts.statistics is None else value_grids(tensor, facts)
    parts = (_head(facts), _summary(facts), values, strips(sharing), _details(facts, sharing))
    return page(tag("div", *parts, class_="mt-box"), kind="card")


def tensor_line(facts: TensorFacts) -> str:
    """A tensor in one line of text: what it is, how much, its range, and what is wrong with its values."""
    state = "" if facts.pending is None else " ⚠ invalid" if facts.pending.error else " (pending)"
    head = f"{facts.name} {type_text(facts.dtype, facts.shape)} on {facts.device}{state}".lstrip()
    return " · ".join([head, *_said(facts)])


def _head(facts: TensorFacts) -> Markup:
    layout = f"stride {tuple_text(facts.stride)}" + (f" offset {facts.offset}" if facts.offset else "")
    return tag(
        "div",
        tensor_name(facts.name) if facts.name else None,
        soft(facts.kind) if facts.kind != "Tensor" else None,
        mono(type_text(facts.dtype, facts.shape)),
        tag("span", layout, class_="mt-mono mt-soft"),
        device_badge(facts.device),
        storage_chip(facts.storage),
        *_remarks(facts),
        class_="mt-head",
    )


def _remarks(facts: TensorFacts) -> Iterator[Markup]:
    """What is special about a tensor."""
    if facts.is_view:
        yield chip(f"view of {facts.base}" if facts.base else "view", "looks at the memory of another tensor")
    if not facts.contiguous:
        yield chip("not contiguous", "the elements do not lie in memory one after the other")
    repeated = [dim for dim, (n, step) in enumerate(zip(facts.shape, facts.stride, strict=True)) if n > 1 and not step]
    if repeated:
        dims = f"dimension{'' if len(repeated) == 1 else 's'} {', '.join(map(str, repeated))}"
        yield chip(f"expanded: {dims}", f"{dims}: stride 0, all indices mean the same memory")
    elif facts.overlapping:
        yield chip("elements overlap", "several indices mean the same memory")
    if facts.requires_grad:
        yield chip(facts.history[0] if facts.history else "leaf, requires grad", "part of an autograd graph")
    if facts.inference:
        yield chip("inference tensor", "made in inference mode: autograd will not see it")
    if facts.pending is not None:
        yield pending_mark() if facts.pending.error is None else invalid_mark()


def _summary(facts: TensorFacts) -> Markup:
    return tag("div", join(map(_stressed, _said(facts)), " · "), class_="mt-summary")


def _stressed(part: str) -> Markup:
    """A part of the summary, as loud as what it says."""
    return tag(
        "span", part, class_="mt-alert" if part.startswith("⚠") else "mt-fact" if part.startswith(FACTS) else None
    )


def _said(facts: TensorFacts) -> list[str]:
    """What a reader wants first: count, bytes, range, mean, std, and what is wrong."""
    parts = [f"{count_text(facts.elements, 'element')}, {size_text(facts.bytes)}"]
    s = facts.statistics
    if s is None:
        return parts
    if s.mean is not None and facts.elements > 1:
        if facts.dtype == "bool":
            parts.append(f"{s.sampled - s.zeros:,} True, {s.zeros:,} False")
        else:
            kind = "magnitude " if facts.dtype.startswith("complex") else ""
            if s.minimum == s.maximum and s.sampled > 1 and not s.nans and not s.infinities:
                parts.append(f"{kind}all {number_text(s.minimum)}")
            else:
                parts.append(f"{kind}from {number_text(s.minimum)} to {number_text(s.maximum)}")
                parts.append(f"mean {number_text(s.mean)}")
                parts += [] if s.std is None else [f"std {number_text(s.std)}"]
    parts += [f"⚠ {s.nans:,} NaN"] if s.nans else []
    parts += [f"⚠ {s.infinities:,} infinite"] if s.infinities else []
    parts += [f"in a sample of {s.sampled:,}"] if s.sampled < s.total else []
    return parts


def _waiting(facts: TensorFacts) -> Markup:
    """What stands in the values' place."""
    pending = facts.pending
    if pending is None:
        where = "on the meta device: shape and strides, no values"
        if facts.device != "meta":
            where = f"the values are on {facts.device}, and not on the host"
        return tag("div", where, class_="mt-soft")
    if pending.error is not None:
        why = RECORDED.sub(lambda at: f"recorded at {place_text(at[1], int(at[2]))},", pending.error)
        return tag("div", f"⚠ it will never have values: {why}", class_="mt-alert", title=pending.error)
    queue = [mono(name) for name in pending.before[-QUEUE:]]
    if len(pending.before) > QUEUE:
        queue.insert(0, soft("…"))
    place = f"recorded at {place_text(pending.file, pending.line)}" if pending.file else ""
    hint = f"recorded at {pending.file}:{pending.line}" if pending.file else None
    on_stream = pending.queue.startswith("on ")  # where the device's own operators are
    name = pending.operator if on_stream else f"aten::{pending.operator}"
    queue.append(tag("b", mono(name, hint)))
    count = count_text(len(pending.before) + 1, "operator")
    return tag(
        "div", f"waits for {count} ", soft(f"{pending.queue}: "),
        join(queue, " › "), soft(f" ({place})") if place else None, class_="mt-queue",
    )  # fmt: skip


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

"""The tensor card: what the last line of a cell shows. Drawing it never waits and never changes anything."""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

from .._base.call_site import place_of
from ..introspect import PLACES, Statistics, StorageFacts, TensorFacts, storage_facts, tensor_facts
from ..introspect.layouts import is_sparse
from ..introspect.nested import is_jagged
from ..introspect.placed import part_of, placed_facts
from ..introspect.sampling import Scan
from .grid import value_grids
from .html import Markup, join, page, tag
from .mesh import placed_parts
from .nested import nested_parts
from .overview import overviews
from .palette import (
    chip, count_text, device_badge, invalid_mark, layout_text, mono, name_text, number_text, pending_mark, place_text,
    shape_text, short, size_text, soft, storage_chip, storage_letter, tensor_name, tuple_text, type_of,
)
from .sparse import sparse_parts
from .storage import strips

RECORDED = re.compile(r"recorded at (\S+):(\d+) in \S+,")
WHOLE = ("int", "uint", "bool")  #: how the names of dtypes without NaN begin
QUEUE = 8  #: operators at most that are named of those in a queue, several of a kind counted as one
#: Of a DTensor, whose other facts here are those of this rank's part.
KEPT_BY_THE_WHOLE = "name", "version", "requires_grad", "is_leaf", "history", "has_grad", "hooks"
REASON = 2000  #: letters of an error that are written


def tensor_card(tensor: Any, names: Mapping[int, str] | None = None, *, compact: bool = False) -> Markup:
    """Draw the card of a tensor; ``names`` are the tensors' names by ``id`` (``introspect.names_of``).

    A ``compact`` one, for slides, has of what is said only what is wrong, no overview, and the storage only if other
    tensors see it.
    """
    whole = facts = tensor_facts(tensor, names)
    placed, given, tensor = None, tensor, part_of(tensor)
    if tensor is not given:  # a DTensor: the values are those of this rank's part
        part = tensor_facts(tensor, names)
        placed = placed_parts(placed_facts(given), part.shape)
        facts = replace(part, **{field: getattr(whole, field) for field in KEPT_BY_THE_WHOLE})
    sharing = storage_facts(given, names, values=facts.pending is None)  # which may be there by now
    if not facts.strided and (is_sparse(tensor) or is_jagged(tensor)):
        values, is_whole = (sparse_parts if is_sparse(tensor) else nested_parts)(tensor), True
    else:
        values, is_whole = (_waiting(facts), False) if facts.statistics is None else (
            value_grids(tensor, facts, sharing.values is not None))
    told = [tag("span", words, class_=loudness) for words, loudness in said_of(facts)
            if loudness == "mt-alert" or not compact]
    of = None if placed is None else tag("b", "this rank's part, to_local(): ")
    said = tag("div", of, join(told, " · "), class_="mt-summary") if told else None
    is_seen_by_others = len(sharing.sharers) + sharing.others > 1
    memory = strips(sharing) if facts.strided and (is_seen_by_others or not compact) else None
    if compact:
        parts = [_head(whole), placed, said, tag("div", values, memory, class_="mt-pair")]
    else:
        seen = overviews(tensor, facts, is_whole) if facts.elements > PLACES else None  # few are seen at a glance
        parts = [_head(whole), placed, said, values, seen, memory, _details(facts, sharing)]
    return page(tag("div", *parts, class_="mt-box"), kind="card", sheet="card")


def tensor_line(facts: TensorFacts) -> str:
    """Describe a tensor in one line of text: type, size, range, and what is wrong with its values."""
    state = " ⚠ not readable" if facts.refused else ""
    if facts.pending is not None:
        state = " ⚠ invalid" if facts.pending.error else " (pending)"
    head = f"{facts.name} {type_of(facts)} on {facts.device}{state}".lstrip()
    return " · ".join([head, *(said for said, _ in said_of(facts))])


def _head(facts: TensorFacts) -> Markup:
    layout = f"stride {layout_text(facts.stride, facts.offset)}" if facts.strided else "no strides"
    return tag("div", tensor_name(facts.name) if facts.name else None,
               soft(facts.kind) if facts.kind != "Tensor" else None, mono(type_of(facts)),
               tag("span", layout, class_="mt-mono mt-soft"), device_badge(facts.device), storage_chip(facts.storage),
               *remarks(facts), class_="mt-head")


def remarks(facts: TensorFacts) -> Iterator[Markup]:
    """Yield chips for a tensor's special properties."""
    if facts.is_view:
        of = f"view of {name_text(facts.base)}" if facts.base else "view"
        yield chip(of, "looks at the memory of another tensor")
    if not facts.contiguous:
        order = "one after the other" if not facts.dense else "in the order of their indices, though without gaps"
        form = "channels last, not contiguous" if facts.channels_last else "not contiguous"
        yield chip(form, f"the elements do not lie in memory {order}")
    repeated = [dim for dim, (n, step) in enumerate(zip(facts.shape, facts.stride, strict=False)) if n > 1 and not step]
    if repeated:
        dims = f"dimension{'' if len(repeated) == 1 else 's'} {', '.join(map(str, repeated))}"
        yield chip(f"expanded: {dims}", f"{dims}: stride 0, all indices mean the same memory")
    elif facts.overlapping:
        yield chip("elements overlap", "several indices mean the same memory")
    if facts.requires_grad:
        yield chip(name_text(facts.history[0]) if facts.history else "leaf, requires grad", "part of an autograd graph")
    if facts.has_grad:
        yield chip("has grad", "its .grad holds a gradient")
    if facts.inference:
        yield chip("inference tensor", "made in inference mode: autograd will not see it")
    if facts.pending is not None:
        yield pending_mark() if facts.pending.error is None else invalid_mark()


def said_of(facts: TensorFacts) -> Iterator[tuple[str, str | None]]:
    """Yield the facts that a reader wants first, each with its emphasis: count, bytes, range, mean, std, problems."""
    yield f"{count_text(facts.elements, 'element')}, {size_text(facts.bytes)}", None
    if (s := facts.statistics) is None:
        return
    if s.minimum is not None and facts.elements > 1:
        range_, *others = _distribution(s, facts.dtype)
        counted = s.examined if facts.dtype == "bool" else s.sampled
        yield range_ if s.is_exact else f"{counted:,} sampled: {range_}", "mt-fact"
        of = f" of {s.sampled:,} sampled" if s.is_exact and s.sampled < s.total else ""
        yield from ((f"{said}{of}", None) for said in others)
    yield from ((said, "mt-alert") for said in not_finite(s, s.total))
    if s.examined < s.total and not facts.dtype.startswith(WHOLE):
        yield f"{s.examined:,} of {s.total:,} searched for NaN and infinity", None


def not_finite(s: Statistics | Scan, total: int) -> Iterator[str]:
    """Yield how many of ``total`` values are NaN or infinite, and the index of the first."""
    least = "" if s.examined == total else "at least "
    for count, kind, first in ((s.nans, "NaN", s.first_nan), (s.infinities, "infinite", s.first_infinite)):
        if count:
            at = "" if first is None else f", {'the first ' * (count > 1)}at {shape_text(first)}"
            yield f"⚠ {least}{count:,} {kind}{at}"


def _distribution(s: Statistics, dtype: str) -> list[str]:
    """Range, mean and std of finite elements, with as many digits as tell the ends of the range apart."""
    if dtype == "bool":
        return [f"{s.examined - s.zeros:,} True, {s.zeros:,} False"]
    kind = "magnitude " if dtype.startswith("complex") else ""
    low, high = s.minimum or 0, s.maximum or 0  # without the sign of a zero
    if low == high and s.sampled > 1 and not s.nans and not s.infinities:
        return [f"{kind}all {number_text(low)}"]
    digits = next((d for d in range(4, 17) if number_text(low, d) != number_text(high, d)), 4)
    found = [f"{kind}from {number_text(low, digits)} to {number_text(high, digits)}"]
    if s.mean is None:
        return found
    found.append(f"mean {kind}{number_text(s.mean, digits)}")
    return found if s.std is None else [*found, f"std {'of ' if kind else ''}{kind}{number_text(s.std)}"]


def _waiting(facts: TensorFacts) -> Markup:
    """Draw the reason in place of values."""
    pending = facts.pending
    if facts.refused:
        return tag("div", f"⚠ the values cannot be read: {facts.refused[:REASON]}", class_="mt-alert")
    if facts.without:
        return tag("div", facts.without, class_="mt-soft")
    if pending is None:
        elsewhere = f"the values are on {facts.device}, and not on the host"
        where = "on the meta device: shape and strides, no values" if facts.device == "meta" else elsewhere
        return tag("div", where, class_="mt-soft")
    if pending.error is not None:
        why = RECORDED.sub(lambda at: f"recorded at {place_text(at[1], int(at[2]))},", pending.error)
        said = f"⚠ it will never have values: {why[:REASON]}"
        return tag("div", said, class_="mt-alert", title=pending.error[:REASON])
    kinds = [(name, len(list(same))) for name, same in groupby(pending.before)]
    queue = [mono(name if count == 1 else f"{name} × {count:,}") for name, count in kinds[-QUEUE:]]
    if len(kinds) > QUEUE:
        queue.insert(0, soft("…"))
    place = f"recorded at {place_text(pending.file, pending.line)}" if pending.file else ""
    hint = f"recorded at {place_of(pending.file, pending.line)}" if pending.file else None
    queue.append(tag("b", mono(pending.operator, hint)))
    count = count_text(len(pending.before) + 1, "operator")
    return tag("div", f"waits for {count} ", soft(f"{pending.queue}: "), join(queue, " › "),
               soft(f" ({place})") if place else None, class_="mt-queue")


def _details(facts: TensorFacts, sharing: StorageFacts) -> Markup:
    seen = count_text(len(sharing.sharers) + sharing.others, "tensor")
    stride = join([mono(tuple_text(facts.stride)), ", contiguous" if facts.contiguous else ", not contiguous"])
    writes = f"{facts.version}, the number of writes in place so far"
    rows = [
        ("shape", mono(tuple_text(facts.shape)) if facts.materialized else "not known yet"),
        ("stride", stride if facts.strided else "none: the layout is another one"),
        ("offset", mono(facts.offset)), ("position in storage", mono(_position(facts))),
        ("storage", f"{storage_letter(facts.storage)}: {size_text(facts.storage_bytes)}, seen by {seen}"),
        ("address", mono(f"{facts.address:#x}") if facts.address else "none"),
        ("picture", mono(f"%save_picture {_file(facts.name)}.png {short(facts.name)}".rstrip())),
        ("version", "not tracked" if facts.version is None else writes), ("autograd", _autograd(facts)),
    ]
    listed = tag("dl", *(join([tag("dt", key), tag("dd", value)]) for key, value in rows), class_="mt-facts")
    return tag("details", tag("summary", "layout, memory, autograd"), listed)


def _file(name: str) -> str:
    """Return a file name for a picture of this name."""
    return re.sub(r"\W+", "-", short(name)).strip("-") or "picture"


def _position(facts: TensorFacts) -> str:
    """Where the element at an index lies."""
    letters = "ijklmnpq"[: len(facts.shape)]
    if not facts.strided:
        return "known to its operators only"
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
    said = ["a leaf that requires grad" if facts.is_leaf else " ← ".join(map(name_text, facts.history))]
    if facts.has_grad or facts.is_leaf:
        said.append("has a gradient" if facts.has_grad else "no gradient yet")
    return "; ".join([*said, count_text(facts.hooks, "hook")] if facts.hooks else said)

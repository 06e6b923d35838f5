"""Tables: all tensors of a namespace, the glossary, the list of magics."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..introspect import TensorFacts, Term
from .html import SPANNED, Markup, in_text, join, page, row, table, tag
from .palette import (
    breakable, count_text, device_badge, invalid_mark, layout_text, mono, pending_mark, short, size_text, soft,
    storage_chip, type_of,
)

MAX_ROWS, OPEN = 300, 40  #: at most that are drawn, and that are not folded


def tensors_page(rows: Sequence[TensorFacts]) -> Markup:
    """Draw what ``%tensors`` shows."""
    if not rows:
        return page(tag("div", "no tensors in this notebook yet", class_="mt-soft"), kind="tensors")
    sizes = {facts.storage: facts.storage_bytes for facts in rows}
    over = f"over {count_text(len(sizes), 'storage')}, {size_text(sum(sizes.values()))}"
    counted = f"{count_text(len(rows), 'tensor')} {over}"
    few, others = rows[:OPEN], rows[OPEN:MAX_ROWS]
    folded = tag("details", tag("summary", f"the other {len(rows) - OPEN:,}"), _table(others, None)) if others else None
    more = soft(f"and {count_text(len(rows) - MAX_ROWS, 'more tensor')}") if len(rows) > MAX_ROWS else None
    return page(_table(few, counted), folded, more, kind="tensors")


tensors_text = in_text(tensors_page)


def _table(shown: Sequence[TensorFacts], said: str | None) -> Markup:
    head = ("storage", "name", "type", "device", "view of", "autograd", "version", "stride")
    sharing = Counter(facts.storage for facts in shown)
    body, before = [], None
    for facts in shown:
        size = soft(size_text(facts.storage_bytes))
        memory = tag("td", storage_chip(facts.storage), " ", size, rowspan=sharing[facts.storage])
        mark = None if facts.pending is None else pending_mark() if facts.pending.error is None else invalid_mark()
        base = "" if not facts.is_view else facts.base or "a nameless tensor"
        body.append(row(SPANNED if facts.storage == before else memory, _clipped("b", facts.name),
                        mono(type_of(facts)), join([device_badge(facts.device), mark], " "),
                        _clipped("span", base), _autograd(facts), "–" if facts.version is None else facts.version,
                        mono(layout_text(facts.stride, facts.offset)) if facts.strided else soft("no strides")))
        before = facts.storage
    return table(head, body, said)


def _clipped(name: str, text: str) -> Markup:
    return tag(name, short(text), class_="mt-clip", title=short(text))


def _autograd(facts: TensorFacts) -> Markup | str:
    if not facts.requires_grad:
        return ""
    return breakable((short(facts.history[0]) if facts.history else "leaf") + (", has grad" if facts.has_grad else ""))


def glossary_page(terms: Sequence[Term]) -> Markup:
    """Draw what ``%glossary`` shows."""
    if not terms:
        said = "no entry of the glossary has this word; %glossary shows them all"
        return page(tag("div", said, class_="mt-soft"), kind="glossary")
    rows = [row(*(breakable(name, "mt-mono") for name in (term.cann, term.cuda, term.torch)),
                tag("span", term.meaning, class_="mt-wrap")) for term in terms]
    head = ("Ascend NPU, CANN", "GPU, CUDA", "PyTorch and mindtorch", "what it is")
    return page(table(head, rows, "one thing, three names"), kind="glossary", sheet="glossary")


glossary_text = in_text(glossary_page)


def magics_page(rows: Iterable[tuple[str, str, str]]) -> Markup:
    """Draw the list of magics: rows of a question, a magic and what it does."""
    drawn = (row(question, mono(magic), tag("td", does, class_="mt-wrap")) for question, magic, does in rows)
    return page(table(("question", "magic", "what it does"), drawn, "%name --help lists a magic's options"),
                kind="magics")

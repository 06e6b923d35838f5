"""A container as a foldable tree, a line an item: tensors with their storage's letter, so that sharing shows."""
from __future__ import annotations

from ..introspect import ItemFacts, TensorFacts
from ..introspect.container import LOOKED_AT
from .card import remarks, said_of
from .html import Markup, in_text, join, page, tag
from .palette import count_text, device_badge, mono, name_text, number_text, soft, storage_chip, type_of

OPEN = 24  #: lines at most that are unfolded at first


def container_page(facts: ItemFacts) -> Markup:
    """Draw what is inside a container."""
    depth = next((d for d in range(6, 0, -1) if _lines(facts, d) <= OPEN), 1)
    head = tag("div", tag("b", name_text(facts.label)) if facts.label else None, " ", mono(facts.kind), " ",
               soft(facts.text), class_="mt-head")
    tensors = _tensors(facts)
    over = count_text(len({tensor.storage for tensor in tensors}), "storage")
    shown = "" if _is_whole(facts) else " shown,"
    said = f"{count_text(len(tensors), 'tensor')}{shown} over {over}" if tensors else "no tensors"
    said += f" · the values of the first {LOOKED_AT} were looked at" if len(tensors) > LOOKED_AT else ""
    inside = tag("ul", *(_item(child, depth - 1) for child in facts.children), _left_out(facts), class_="mt-items")
    box = tag("div", head, tag("div", said, class_="mt-summary"), inside, class_="mt-box")
    return page(box, kind="container", sheet="container")


container_text = in_text(container_page)


def _lines(facts: ItemFacts, depth: int) -> int:
    """Count the lines of a tree that is open down to a depth."""
    return sum(1 + _lines(child, depth - 1) for child in facts.children) if depth else 0


def _is_whole(facts: ItemFacts) -> bool:
    """Return True if nothing of a container is left out."""
    return not facts.left_out and all(map(_is_whole, facts.children))


def _tensors(facts: ItemFacts) -> list[TensorFacts]:
    return [facts.tensor] if facts.tensor else [found for child in facts.children for found in _tensors(child)]


def _left_out(facts: ItemFacts) -> Markup | None:
    return tag("li", soft(f"… and {facts.left_out:,} more")) if facts.left_out else None


def _item(facts: ItemFacts, depth: int) -> Markup:
    label = tag("b", facts.label, class_="mt-mono")
    if facts.tensor is not None:
        return tag("li", label, " ", _tensor(facts.tensor, facts.label))
    line = [label, " ", mono(facts.kind), " ", soft(facts.text)]
    if facts.same_as:
        line.append(soft(f" the same as {facts.same_as}"))
    if not facts.children:
        return tag("li", *line, *([" ", _left_out(facts)] if facts.left_out else []))
    inside = tag("ul", *(_item(child, depth - 1) for child in facts.children), _left_out(facts), class_="mt-items")
    is_open = "" if depth > 0 else None
    return tag("li", tag("details", tag("summary", *line), inside, open=is_open))


def _single(facts: TensorFacts) -> Markup | None:
    """Return the value of a one-element tensor, or its magnitude if complex."""
    s = facts.statistics
    if facts.elements != 1 or s is None or s.minimum is None:
        return None
    if facts.dtype == "bool":
        return mono(not s.zeros)
    return mono(f"{'magnitude ' if facts.dtype.startswith('complex') else ''}{number_text(s.minimum)}")


def _tensor(facts: TensorFacts, label: str) -> Markup:
    """Draw a tensor in one line."""
    name = soft(facts.name) if facts.name and facts.name != label else None
    kind = soft(facts.kind) if facts.kind != "Tensor" else None
    words = (tag("span", text, class_=loudness) for text, loudness in said_of(facts) if loudness)
    parts = [mono(type_of(facts)), device_badge(facts.device), storage_chip(facts.storage), kind,
             name, *remarks(facts), *words, _single(facts)]
    return join((part for part in parts if part is not None), " ")

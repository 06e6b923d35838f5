"""How shapes broadcast: dimensions in columns from the right, and the last two of each shape as cells."""
from __future__ import annotations

from ..introspect import BroadcastFacts, Dimension
from .html import Markup, in_text, join, page, tag
from .palette import mono, soft, storage_class, tuple_text

EDGE = 8  #: cells at most in a row or column of a drawn shape


def broadcast_page(facts: BroadcastFacts) -> Markup:
    """Draw shapes one below the other, dimensions aligned, with the common shape or PyTorch's error."""
    wrong = tag("div", f"⚠ RuntimeError: {facts.error}", class_="mt-alert") if facts.error else None
    said = tag("div", broadcast_summary(facts), class_="mt-summary")
    drawn = _drawings(facts) if facts.result is not None else None
    return page(tag("div", wrong, said, _table(facts), drawn, class_="mt-box"), kind="broadcast", sheet="widgets")


broadcast_text = in_text(broadcast_page)


def broadcast_summary(facts: BroadcastFacts) -> str:
    """Say in one line what the shapes broadcast to."""
    shapes = " with ".join(map(tuple_text, facts.shapes))
    if facts.result is not None:
        return f"{shapes} broadcasts to {tuple_text(facts.result)}"
    wrong = ", ".join(str(d.number) for d in facts.dimensions if d.result is None)
    return f"{shapes} does not broadcast: sizes differ, and neither is 1, in dimension {wrong}"


def shape_name(number: int) -> str:
    """Return a, b, c, ...: the names that PyTorch's messages give to tensors."""
    return chr(97 + number) if number < 26 else f"t{number}"


def _table(facts: BroadcastFacts) -> Markup:
    head = tag("tr", tag("th", "dimension"), *(tag("th", d.number, scope="col") for d in facts.dimensions))
    rows = []
    for i, shape in enumerate(facts.shapes):
        side = tag("th", tag("b", shape_name(i)), " ", mono(tuple_text(shape)), scope="row")
        rows.append(tag("tr", side, *(_size(d, i) for d in facts.dimensions), class_=storage_class(i)))
    found = "✗ none" if facts.result is None else tuple_text(facts.result)
    side = tag("th", tag("b", "result"), " ", mono(found), scope="row")
    results = (tag("td", tag("b", "✗"), class_="wrong") if d.result is None else tag("td", tag("b", d.result))
               for d in facts.dimensions)
    rows.append(tag("tr", side, *results, class_="result"))
    inner = tag("table", tag("thead", head), tag("tbody", *rows), class_="mt-align")
    return tag("div", inner, class_="mt-scroll", tabindex="0")


def _size(dimension: Dimension, i: int) -> Markup:
    size, result = dimension.sizes[i], dimension.result
    shown, plain = ("–", "·") if size is None else (str(size), str(size))
    if result is None and size not in (None, 1):
        shown, note, class_ = f"✗ {size}", "does not match", "wrong"
    elif dimension.stretched[i]:
        note, class_ = f"new, repeated ×{result}" if size is None else f"stretched ×{result}", "stretched"
        plain += f"→{result}"
    else:
        note, class_ = ("new", "absent") if size is None else ("as it is", "same")
    return tag("td", tag("b", shown), tag("i", note), plain=f"{plain}\t", class_=class_)


def _drawings(facts: BroadcastFacts) -> Markup | None:
    """Draw the last two dimensions of each shape: own elements filled, repeated ones dashed."""
    size = _last_two(facts.result or ())
    if not all(0 < n <= EDGE for n in size):
        return None
    parts: list[Markup] = []
    for i, shape in enumerate(facts.shapes):
        name = tag("figcaption", tag("b", shape_name(i)), soft(f" read as {tuple_text(size)}"))
        parts += [soft("with")] if i else []
        parts.append(tag("figure", name, _cells(_last_two(shape), size), class_=storage_class(i)))
    note = "the last two dimensions; filled: elements that exist; dashed: the same elements, read again (stride 0)"
    return join([tag("div", *parts, plain="", class_="mt-stretch"), tag("div", soft(note), plain="")])


def _last_two(shape: tuple[int, ...]) -> tuple[int, int]:
    height, width = (1, 1, *shape)[-2:]
    return height, width


def _cells(own: tuple[int, int], size: tuple[int, int]) -> Markup:
    rows = []
    for r in range(size[0]):
        source = [(r % own[0], c % own[1], r < own[0] and c < own[1]) for c in range(size[1])]
        rows.append(tag("tr", *(tag("td", f"{y},{x}", class_="own" if first else "copy") for y, x, first in source)))
    return tag("table", tag("tbody", *rows), class_="mt-minis")

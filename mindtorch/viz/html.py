"""HTML from small functions: the one place where text becomes markup.

A ``Markup`` is a string that is markup already; everything else that goes into an element is escaped.
"""
from __future__ import annotations

import html as _html
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any


class Markup(str):
    """Text that needs no escaping."""

    __slots__ = ()


def escape(value: Any) -> Markup:
    """Text as markup; control characters, which no browser shows, become visible."""
    if value.__class__ is Markup:
        return value
    text = str(value)
    if not text.isprintable():
        text = "".join(c if c.isprintable() or c in "\n\t" else _visible(c) for c in text)
    return Markup(_html.escape(text, quote=True))


def _visible(character: str) -> str:
    return character.encode("unicode_escape").decode()


def join(parts: Iterable[Any], separator: str = "") -> Markup:
    """Parts one after the other, each escaped unless it is markup."""
    return Markup(separator.join(escape(part) for part in parts if part is not None))


def tag(name: str, *children: Any, **attributes: Any) -> Markup:
    """An element. Attributes lose a trailing underscore, inner ones become hyphens; None leaves one out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items() if value is not None
    )
    return Markup(f"<{name}{written}>{join(children)}</{name}>")


@cache
def stylesheet(name: str = "style") -> Markup:
    """A style sheet of this folder, read once."""
    return Markup(f"<style>{Path(__file__).with_name(f'{name}.css').read_text('utf-8')}</style>")


def page(*children: Any, kind: str, sheet: str | None = None) -> Markup:
    """A whole output: the style sheet, another ``sheet`` if it needs one, one element of the class ``mindtorch``."""
    more = "" if sheet is None else stylesheet(sheet)
    return Markup(f"{stylesheet()}{more}{tag('div', *children, class_='mindtorch mt-' + kind)}")


def row(*cells: Any) -> Markup:
    """A row of a table; a cell that is no ``td`` yet becomes one, None is left out."""
    present = (cell for cell in cells if cell is not None)
    return tag("tr", *(cell if _is_cell(cell) else tag("td", cell) for cell in present))


def _is_cell(value: Any) -> bool:
    return value.__class__ is Markup and value.startswith("<td")


def table(head: Iterable[Any], rows: Iterable[Markup], caption: Any) -> Markup:
    """A table with a header row, which scrolls where it is too wide."""
    top = tag("thead", tag("tr", *(tag("th", cell, scope="col") for cell in head)))
    inner = tag("table", tag("caption", caption), top, tag("tbody", *rows), class_="mt-table")
    return tag("div", inner, class_="mt-scroll", tabindex="0")

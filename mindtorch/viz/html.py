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
    text = "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in str(value))
    return Markup(_html.escape(text, quote=True))


def join(parts: Iterable[Any], separator: str = "") -> Markup:
    """Parts one after the other, each escaped unless it is markup."""
    return Markup(separator.join(escape(part) for part in parts if part is not None))


def tag(name: str, *children: Any, **attributes: Any) -> Markup:
    """An element. Attribute names lose trailing underscores, inner ones become hyphens; None leaves one out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items() if value is not None
    )
    return Markup(f"<{name}{written}>{join(children)}</{name}>")


@cache
def stylesheet() -> Markup:
    """The style sheet, read once."""
    return Markup(f"<style>{Path(__file__).with_name('style.css').read_text('utf-8')}</style>")


def page(*children: Any, kind: str) -> Markup:
    """A whole output: the style sheet and one element of the class ``mindtorch``."""
    return Markup(f"{stylesheet()}{tag('div', *children, class_='mindtorch mt-' + kind)}")


def table(head: Iterable[Any], rows: Iterable[Iterable[Any]], caption: Any = None) -> Markup:
    """A table with a header row. Cells may be markup."""
    return tag(
        "table",
        None if caption is None else tag("caption", caption),
        tag("thead", tag("tr", *(tag("th", cell, scope="col") for cell in head))),
        tag("tbody", *(tag("tr", *(tag("td", cell) for cell in row)) for row in rows)),
        class_="mt-table",
    )

"""HTML from small functions: the one place where text becomes markup.

A ``Markup`` is a string that is markup already; everything else that goes into an element is escaped. What is shown in
a page can be shown in a terminal too: each element knows its plain text, which follows from that of its children.
"""
from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from functools import cache, wraps
from itertools import zip_longest
from pathlib import Path
from typing import Any, ParamSpec

Given = ParamSpec("Given")
#: As the module ``html`` writes them, which takes half as long to load as a card to draw: it knows all 2,231.
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}  # & first
LINES = {"div", "tr", "caption", "summary", "li", "pre"}  #: elements whose plain text is lines of its own
VOID = {"img", "input", "wbr"}  #: elements that hold nothing
WIDTH = 100  #: characters of a line of a paragraph in plain text


class Markup(str):
    """Text that needs no escaping, and what it says where HTML cannot be shown, in which tabs end a table's cells."""

    __slots__ = ("plain",)
    plain: str

    def __new__(cls, html: str, plain: str = "") -> Markup:
        made = super().__new__(cls, html)
        made.plain = plain
        return made

    def _repr_html_(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return the picture and its text, for front ends of Jupyter."""
        return {"text/html": str(self), "text/plain": self.plain.strip("\n")}

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.plain.strip("\n"))

    def _mime_(self) -> tuple[str, str]:
        """Return the picture for marimo, which takes other strings for text."""
        return "text/html", str(self)


def escape(value: Any) -> Markup:
    """Text as markup; control characters, which no browser shows, become visible."""
    if type(value) is Markup:  # where an object says of itself what its class is, that is not believed
        return value
    text = str.__str__(str(value))  # an object's own text may be of a class that answers as it likes
    if not text.isprintable():
        text = "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)
    written = text
    for character, entity in ENTITIES.items():
        written = written.replace(character, entity)
    return Markup(written, text)


def join(parts: Iterable[Any], separator: str = "") -> Markup:
    """Parts one after the other, each escaped unless it is markup."""
    present = [escape(part) for part in parts if part is not None]
    return Markup(separator.join(present), separator.join(part.plain for part in present))


#: Classes of boxes whose parts the style sheet sets apart; spaces, which it ignores there, do so where it is stripped.
APART = frozenset({"mt-head", "mt-legend", "mt-cells", "mt-port", "mt-lane", "mt-label", "mt-ends"})


def tag(name: str, *children: Any, plain: str | None = None, **attributes: Any) -> Markup:
    """Build an element: ``class_`` becomes ``class``, None omits an attribute, ``plain`` overrides the text."""
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
                      for key, value in attributes.items() if value is not None)
    if name in VOID:
        return Markup(f"<{name}{written}>", plain or "")
    inner = join(children)
    if (attributes.get("class_") or "").partition(" ")[0] in APART:
        inner = Markup(" ".join(escape(child) for child in children if child is not None), inner.plain)
    return Markup(f"<{name}{written}>{inner}</{name}>", _plain(name, inner.plain) if plain is None else plain)


def _plain(name: str, inner: str) -> str:
    """Return the plain text of an element, given that of its content."""
    if name in ("td", "th"):
        return f"{inner.rstrip()}\t"
    if name in LINES and inner.strip():
        return f"{'- ' * (name == 'li')}{inner.strip(chr(10))}\n"
    if name == "p":
        return f"\n{textwrap.fill(inner, WIDTH)}\n"
    if name == "table":
        return _aligned(inner)
    return "" if name in ("svg", "title") else inner


def _aligned(text: str) -> str:
    """Lines of cells in columns; a line without cells, or with one, is left as it is."""
    lines = [line.split("\t")[:-1] or [line] for line in text.splitlines()]
    columns = zip_longest(*(line for line in lines if len(line) > 1), fillvalue="")
    widths = [max(map(len, column)) for column in columns]
    padded = ("  ".join(map(str.ljust, line, widths)) if len(line) > 1 else line[0] for line in lines)
    return "".join(f"{line.rstrip()}\n" for line in padded)


def in_text(page: Callable[Given, Markup]) -> Callable[Given, str]:
    """Turn a function that draws a page into one that draws it for a terminal."""

    @wraps(page)
    def text(*args: Given.args, **kwargs: Given.kwargs) -> str:
        return page(*args, **kwargs).plain.strip("\n")

    text.__name__ = text.__qualname__ = page.__name__.replace("_page", "_text")
    text.__doc__ = f"{page.__doc__} As text, for a terminal."
    return text


@cache
def stylesheet(name: str = "style") -> Markup:
    """Return a style sheet of this folder, read once."""
    return Markup(f"<style>{Path(__file__).with_name(f'{name}.css').read_text('utf-8')}</style>")


def page(*children: Any, kind: str, sheet: str | None = None) -> Markup:
    """Build an output of class ``mindtorch`` with its style sheets; a ``sheet`` styles only ``mt-sheet-NAME``."""
    more, own = ("", "") if sheet is None else (stylesheet(sheet), f" mt-sheet-{sheet}")
    drawn = tag("div", *children, class_=f"mindtorch mt-{kind}{own}")
    return Markup(f"{stylesheet()}{more}{drawn}", drawn.plain)


def row(*cells: Any) -> Markup:
    """Build a table row; cells other than ``td`` are wrapped in one, None is omitted."""
    return tag("tr", *(cell if type(cell) is Markup and cell.plain.endswith("\t") else tag("td", cell)
                       for cell in cells if cell is not None))


SPANNED = Markup("", "\t")  #: in a row, the place of a cell above that spans it


def table(head: Iterable[Any], rows: Iterable[Markup], caption: Any) -> Markup:
    """Build a table with a header row, which scrolls where it is too wide."""
    top = tag("thead", tag("tr", *(tag("th", cell, scope="col") for cell in head)))
    inner = tag("table", tag("caption", caption), top, tag("tbody", *rows), class_="mt-table")
    return tag("div", inner, class_="mt-scroll", tabindex="0")

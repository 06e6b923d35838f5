"""HTML from small functions: the one place where text becomes markup.

A ``Markup`` is a string that is markup already; everything else that goes into an element is escaped. What is shown in
a page can be shown in a terminal too: each element knows its plain text, which follows from that of its children.
"""
from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable
from functools import cache, wraps
from itertools import zip_longest
from pathlib import Path
from typing import Any, ParamSpec
from zlib import crc32

Given = ParamSpec("Given")
#: As the module ``html`` writes them, which takes half as long to load as a card to draw: it knows all 2,231.
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}  # & first
LINES = {"div", "tr", "caption", "summary", "li", "pre"}  #: elements whose plain text is lines of its own
VOID = {"img", "input", "wbr"}  #: elements that hold nothing
WIDTH = 100  #: characters of a line of a paragraph in plain text
RULE = re.compile(r"[^{} ][^{}]*{(?:[^{}]|{(?:[^{}]|{[^{}]*})*})*}")  #: of a style sheet, with those inside it
WANTED = re.compile(r"(?<![\w.:-])[a-z]+\d?(?![\w-])|\.-?[A-Za-z_][\w-]*")  #: by a selector: elements and classes
OWN = re.compile(r"\.(?:mindtorch|mt-sheet-\w+)")  #: classes of whole pictures
VARIABLE = re.compile(r"(--mt-(?!c:)\w+):[^;}]*;")  #: of a style sheet, but for those of classes


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
    """Join parts, each escaped unless it is markup."""
    present = [escape(part) for part in parts if part is not None]
    return Markup(separator.join(present), separator.join(part.plain for part in present))


#: Classes of boxes whose parts the style sheet sets apart; spaces, which it ignores there, do so where it is stripped.
APART = frozenset({"mt-head", "mt-legend", "mt-line", "mt-cells", "mt-cell", "mt-port", "mt-lane", "mt-label",
                   "mt-ends", "mt-row", "mt-step", "mt-strips"})


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
    """Align the cells of lines in columns; a line without cells, or with one, is left as it is."""
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
def _rules(name: str) -> tuple[tuple[tuple[frozenset[str], ...], str], ...]:
    """Read a style sheet of this folder: each rule, and for each of its selectors what it asks for: ``table``,
    ``.mt-box``.
    """
    text = re.sub(r"/\*.*?\*/", "", Path(__file__).with_name(f"{name}.css").read_text("utf-8"), flags=re.S)
    rules = []
    for rule in RULE.findall(re.sub(r"\s+", " ", text)):
        selectors = re.sub(r"@[^{]*{|{[^{}]*}", ",", rule) if rule.startswith("@") else rule.partition("{")[0]
        while selectors != (selectors := re.sub(r":[\w-]+\([^()]*\)|\[[^\]]*\]", "", selectors)):
            pass
        asked = tuple(frozenset(WANTED.findall(one)) for one in selectors.split(",") if one.strip())
        asked = tuple(filter(None, asked)) if rule.startswith("@") else asked
        rules.append((asked, re.sub(r"([{;][\w-]+): ", r"\1:", re.sub(r" ?([{};]) ?", r"\1", rule)).replace(";}", "}")))
    return tuple(rules)


def styles(*names: str, for_: str) -> tuple[Markup, str]:
    """Return what style sheets of this folder say of a piece of HTML, and the class that they hang on. Each picture has
    the rules that it needs, so that it looks alike wherever it is shown, also when a notebook's other cells are cleared
    or out of sight. Pictures with other rules have another class: of two rules in one page the later one would win.
    """
    there = {f".{word}" for words in re.findall(r'class="([^"]*)"', for_) for word in words.split()}
    there.update(re.findall(r"<(\w+)", for_))
    kept = "".join(text for name in names for asked, text in _rules(name) if any(one <= there for one in asked))
    used = kept + for_
    kept = VARIABLE.sub(lambda found: found[0] if f"var({found[1]}" in used else "", kept)
    own = f"m{crc32(kept.encode()):08x}"
    return Markup(f"<style>{OWN.sub(f'.{own}', kept)}</style>"), own


def page(*children: Any, kind: str, sheet: str | None = None) -> Markup:
    """Build an output of class ``mindtorch`` with its styles; a ``sheet`` styles only ``mt-sheet-NAME``."""
    more, marked = ((), "") if sheet is None else ((sheet,), f" mt-sheet-{sheet}")
    classes = f"mindtorch mt-{kind}{marked}"
    drawn = tag("div", *children, class_=classes)
    style, own = styles("style", *more, for_=drawn)
    return Markup(style + drawn.replace(classes, f"{classes} {own}", 1), drawn.plain)


def row(*cells: Any) -> Markup:
    """Build a table row; cells other than ``td`` are wrapped in one, None is omitted."""
    return tag("tr", *(cell if type(cell) is Markup and cell.plain.endswith("\t") else tag("td", cell)
                       for cell in cells if cell is not None))


SPACE = Markup(" ")  #: between words that a style sheet sets apart
SPANNED = Markup("", "\t")  #: in a row, the place of a cell above that spans it


def table(head: Iterable[Any], rows: Iterable[Markup], caption: Any) -> Markup:
    """Build a table with a header row, which scrolls where it is too wide."""
    top = tag("thead", tag("tr", *(tag("th", cell, scope="col") for cell in head)))
    inner = tag("table", tag("caption", caption), top, tag("tbody", *rows), class_="mt-table")
    return tag("div", inner, class_="mt-scroll", tabindex="0")

"""The palette: one look for a device, a storage, pending work, a number, wherever they appear."""
from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from .._base.call_site import cell_of, place_of
from .html import Markup, join, tag

DEVICES = ("cpu", "meta", "npu")
NPUS = 4  #: colours of NPUs in the style sheet; their numbers go on beyond
LETTERS = 120  #: of a name that are written
WORD = re.compile(r"[a-z.](?=[A-Z:])|[._](?=[a-z_]{4})")  #: the end of a word in a name, where a line may end
#: Colours on white, as attributes of SVGs: where a viewer strips styles, these remain; style sheets override them.
INK, QUIET, RULE, PANEL, PAPER = "#1b1f24", "#57606a", "#d0d7de", "#f6f8fa", "#ffffff"
GREEN, BLUE, WARN, AMBER = "#1a7f37", "#0b5cad", "#9a3412", "#7a4d00"
STORAGES = ("#0b6bcb", "#b4480f", "#1a7f37", "#8250df", "#0f7b83", "#bf3989", "#7d6300", "#5b5fc7")
HOURGLASS = tag("svg", tag("path", d="M0 0H8L0 10H8Z"), class_="mt-hourglass", viewBox="0 0 8 10", aria_hidden="true",
                width="7", height="9", fill=AMBER)


def storage_letter(number: int) -> str:
    """Name a storage: A, B, ..., Z, AA, ..."""
    letters = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        letters = chr(65 + digit) + letters
    return letters


def storage_class(number: int) -> str:
    """Return the CSS class of the storage's colour."""
    return f"mt-s{number % len(STORAGES)}"


def storage_colour(number: int) -> str:
    """Return the storage's colour on white."""
    return STORAGES[number % len(STORAGES)]


def storage_chip(number: int) -> Markup:
    """Draw a storage's letter on its colour."""
    title = "the memory under this tensor: the same letter and colour wherever it appears"
    class_ = f"mt-chip mt-storage {storage_class(number)}"
    return tag("span", f"storage {storage_letter(number)}", class_=class_, title=title)


def device_class(device: str) -> str:
    """Return the CSS classes of a device: for ``npu:1``, those of NPUs and its own colour."""
    kind, _, index = device.partition(":")
    return f"mt-{kind} mt-d{int(index) % NPUS}" if kind == "npu" and index.isdecimal() else f"mt-{kind}"


def device_badge(device: str) -> Markup:
    """Draw a device's name on its colour."""
    return tag("span", device, class_=f"mt-chip mt-device {device_class(device)}", title=f"device {device}")


def chip(text: str, title: str | None = None) -> Markup:
    """Draw a short remark."""
    return tag("span", text, class_="mt-chip", title=title or text)


def pending_mark(text: str = "pending") -> Markup:
    """Draw the mark of values that are pending."""
    return tag("span", HOURGLASS, " ", text, plain=f"({text})", class_="mt-chip mt-pending")


def invalid_mark() -> Markup:
    """Draw the mark of values that will never be there."""
    return tag("span", "⚠ invalid", class_="mt-chip mt-invalid")


def tensor_name(name: str, title: str | None = None) -> Markup:
    """Draw the name of a tensor or module."""
    return tag("span", name_text(name), class_="mt-name mt-clip", title=title or name_text(name))


def name_text(name: str) -> str:
    """Return a name, shortened, or a note that there is none."""
    return short(name) or "(no name)"


def short(name: str) -> str:
    """Shorten a name to ``LETTERS``."""
    return f"{name[:LETTERS]}…" if len(name) > LETTERS else name


def mono(text: object, title: str | None = None) -> Markup:
    """Text as in a program."""
    return tag("span", text, class_="mt-mono", title=title)


def soft(text: object, title: str | None = None) -> Markup:
    """Text that is less important."""
    return tag("span", text, class_="mt-soft", title=title)


def breakable(text: str, look: str | None = None, title: str | None = None) -> Markup:
    """Draw a long name that may wrap between words."""
    words = WORD.sub(lambda found: f"{found[0]}\n", text).split("\n")
    return tag("span", join(words, tag("wbr")), plain=text, class_=f"{look or ''} mt-breaks".strip(), title=title)


def shape_text(shape: Sequence[int]) -> str:
    """Format a shape: ``[2, 3]``."""
    return f"[{', '.join(map(str, shape))}]"


def type_text(dtype: str, shape: Sequence[int]) -> str:
    """Format a tensor's type: ``float32[2, 3]``."""
    return f"{dtype}{shape_text(shape)}"


def type_of(facts: Any) -> str:
    """Format the type of a tensor, whose shape may not be known yet in a lazy module, with placements of a DTensor."""
    if not facts.materialized:
        return f"{facts.dtype}, shape not known yet"
    return f"{type_text(facts.dtype, facts.shape)} {facts.placements}".rstrip()


def tuple_text(values: Sequence[int]) -> str:
    """Format a tuple as in a program."""
    return f"({', '.join(map(str, values))}{',' if len(values) == 1 else ''})"


def size_text(count: int) -> str:
    """Write bytes as people read them."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{count} B" if unit == "B" else f"{value:.4g} {unit}"


def number_text(value: object, digits: int = 4) -> str:
    """Format a number briefly, a float with ``digits`` significant digits, below a million without exponent."""
    if isinstance(value, complex):
        return f"{value.real:.3g}{value.imag:+.3g}j"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.{max(digits, 6) if 1e4 <= abs(value) < 1e6 else digits}g}"


def count_text(count: int, noun: str) -> str:
    """Format a count: ``1 tensor``, ``2 tensors``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def layout_text(stride: Sequence[int], offset: int) -> str:
    """Describe how elements lie in memory."""
    return tuple_text(stride) + (f" offset {offset}" if offset else "")


def reads_text(orders: Sequence[int]) -> str:
    """When a place of a storage is read: as number k, ``#k``, or k times, ``×k``; or not at all."""
    return f"#{orders[0]}" if len(orders) == 1 else f"×{len(orders)}" if orders else "·"


def place_text(file: str, line: int) -> str:
    """Where a line is, ``cell 3, line 10``, or ``script.py:10`` without folders; ``file`` without a line."""
    if not line:
        return file
    path = PurePath(file)
    is_gone = cell_of(file) is None and path.parent.name.startswith("ipykernel_")  # a cell of another kernel
    return f"line {line} of a cell" if is_gone else place_of(file if cell_of(file) else path.name, line)

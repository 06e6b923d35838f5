"""What stands for what: one look for a device, a storage, and work that is pending, wherever they appear."""
from __future__ import annotations

from .html import Markup, join, tag

DEVICES = ("cpu", "meta", "npu")
COLOURS = 8  #: storage colours in the style sheet; letters go on beyond
_storages: dict[int, int] = {}


def storage_index(identity: int | None) -> int:
    """The number of a storage in this session, by which it gets its letter and colour."""
    return 0 if identity is None else _storages.setdefault(identity, len(_storages))


def storage_letter(identity: int | None) -> str:
    """A, B, ..., Z, AA, ...: the name of a storage in pictures."""
    number, letters = storage_index(identity) + 1, ""
    while number:
        number, digit = divmod(number - 1, 26)
        letters = chr(65 + digit) + letters
    return letters


def storage_class(identity: int | None) -> str:
    """The style sheet's class with the storage's colour."""
    return f"mt-s{storage_index(identity) % COLOURS}"


def storage_chip(identity: int | None, text: str = "") -> Markup:
    """A storage's letter on its colour."""
    label = "the memory under this tensor: the same letter and colour wherever it appears"
    return tag("span", f"storage {storage_letter(identity)}", text, class_=f"mt-chip mt-storage {storage_class(identity)}", title=label)


def device_badge(device: str) -> Markup:
    """A device's name on its colour."""
    kind = device.partition(":")[0]
    return tag("span", device, class_=f"mt-chip mt-device mt-{kind if kind in DEVICES else 'cpu'}", title=f"device {device}")


def chip(text: str, title: str | None = None, kind: str = "") -> Markup:
    """A short remark."""
    return tag("span", text, class_=f"mt-chip {kind}".strip(), title=title)


def pending_mark(text: str) -> Markup:
    """The mark of values that are not there yet."""
    return tag("span", join([tag("span", "⧗", aria_hidden="true"), " ", text]), class_="mt-chip mt-pending")


def size_text(count: int) -> str:
    """Bytes as people read them."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{count} B" if unit == "B" else f"{value:.4g} {unit}"
        value /= 1024
    return f"{count} B"


def tuple_text(values: tuple[int, ...]) -> str:
    """A tuple as in a program."""
    return f"({', '.join(map(str, values))}{',' if len(values) == 1 else ''})"


def number_text(value: object) -> str:
    """A number in few characters."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, complex):
        return f"{value.real:.3g}{value.imag:+.3g}j"
    return f"{value:.4g}" if isinstance(value, float) else str(value)

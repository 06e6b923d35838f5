"""Tables of ``print_tabular``, as the library ``tabulate`` prints them for PyTorch."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def table(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return rows as text: columns aligned to the left, with a rule below the headers."""
    lines = [[f"{header}  " for header in headers], *([str(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
                     for line in lines)

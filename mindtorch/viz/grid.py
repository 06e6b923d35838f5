"""Values as grids of cells coloured by value, with index, storage position and address on hover."""
from __future__ import annotations

import cmath
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ..introspect import Cell, TensorFacts, cells
from .html import Markup, tag
from .palette import number_text, shape_text

GAP = None  #: stands for the elements left out
SLICES = 6  #: grids at most
WIDTH = 690  #: pixels, about, that a grid should stay within: a cell of JupyterLab next to its side bar
HALF = 335  #: the same, where two stand side by side


def shown_indices(size: int, edge: int) -> list[int | None]:
    """Return the shown indices of a dimension: all if few, else ``edge`` at both ends and a gap."""
    return list(range(size)) if size <= 2 * edge + 1 else [*range(edge), GAP, *range(size - edge, size)]


def value_grids(tensor: Any, facts: TensorFacts, linked: bool = False) -> tuple[Markup, bool]:
    """Draw the values of a tensor: one grid for up to two dimensions, one per slice for more; and tell if that is all.

    Cells that are ``linked`` carry their place in the storage, so that the picture of the storage can light up with
    them.
    """
    if not facts.elements:
        return tag("div", "no elements", class_="mt-soft"), True
    shape = facts.shape
    leading = [shown_indices(n, 1 if len(shape) > 3 else 2) for n in shape[:-2]]
    most = SLICES if len(shape) <= 12 else 2  # an index of many dimensions is long
    prefixes = list(itertools.islice((p for p in itertools.product(*leading) if GAP not in p), most))
    edge = 6 if not leading else 4 if len(prefixes) <= 2 else 3
    height, width = (1, 1, *shape)[-2:]
    indices = {(prefix, r, c): (*prefix, r, c)[max(0, 2 - len(shape)):] for prefix in prefixes
               for r in shown_indices(height, edge) for c in shown_indices(width, edge) if GAP not in (r, c)}
    found = dict(zip(indices, cells(tensor, list(indices.values())), strict=True))  # type: ignore[arg-type]
    write = number_format([cell.value for cell in found.values()])
    letters = max(len(str(width - 1)), *(len(write(cell.value)) for cell in found.values()))
    room = WIDTH if len(prefixes) == 1 else HALF
    columns = shown_indices(width, max(2, min(edge, round(room / (7.2 * letters + 13) - 1) // 2)))
    s = facts.statistics  # the largest absolute value gets the full colour
    scale = 0.0 if s is None or s.minimum is None else float(max(abs(s.minimum), abs(s.maximum)))
    corner = tag("th") if len(shape) > 1 else None
    head = tag("tr", corner, *(tag("th", "…" if c is GAP else c, scope="col") for c in columns))
    grids = []
    for prefix in prefixes:
        rows = []
        for r in shown_indices(height, edge):
            side = tag("th", "⋮" if r is GAP else r, scope="row") if len(shape) > 1 else None
            gap = tag("td", "⋮" if r is GAP else "…", class_="gap")
            line = (found.get((prefix, r, c)) for c in columns)
            rows.append(tag("tr", side, *(_cell(cell, write, scale, linked) if cell else gap for cell in line)))
        caption = tag("caption", f"[{', '.join(map(str, prefix))}, :, :]") if prefix else None
        top = tag("thead", head) if shape else None
        grids.append(tag("table", caption, top, tag("tbody", *rows), class_="mt-grid"))
    total = math.prod(shape[:-2])
    said = f"{len(prefixes)} of {total:,} slices"
    more = tag("div", said, class_="mt-soft mt-row") if len(prefixes) < total else None
    is_whole = len(prefixes) == total and len(found) == facts.elements and GAP not in columns
    return tag("div", *grids, more, class_="mt-slices mt-scroll", tabindex="0"), is_whole


def number_format(values: Sequence[Any]) -> Callable[[Any], str]:
    """Choose one format for these numbers, with the fewest digits that keep different ones apart."""
    finite = [abs(v) for v in values if isinstance(v, float) and math.isfinite(v)]
    largest = max(finite, default=0.0)
    whole = all(v.is_integer() for v in finite)
    if not finite or not (1e-4 <= largest < 1e6 or (whole and not largest)):
        return number_text
    digits = max(1, 5 - len(str(int(largest))))
    while digits < 8 and len(set(finite)) > 1 == len({f"{v:.{digits}f}" for v in finite}):
        digits += 1

    def write(value: Any) -> str:
        if not math.isfinite(value):
            return str(value)
        if whole:
            return f"{value:.0f}."
        return f"{value:.2g}" if 0 < abs(value) < 5 * 10**-digits else f"{value:.{digits}f}"

    return write


def _cell(cell: Cell, write: Callable[[Any], str], scale: float, linked: bool) -> Markup:
    where = f"{shape_text(cell.index)}  storage position {cell.position}"
    where += f"  address {cell.address:#x}" if cell.address else ""
    return value_cell(cell.value, write, scale, where, cell.position if linked else None)


def value_cell(value: Any, write: Callable[[Any], str], scale: float, where: str, place: int | None) -> Markup:
    """Build a cell coloured by its value; cells with the same ``place`` in the storage light up together."""
    about: dict[str, Any] = {"title": f"{where}  value {value!r}", "data_p": place}
    if value is None:  # a write was queued between the statistics and this look
        return tag("td", "?", **about | {"title": f"{where}  not there yet"})
    if not cmath.isfinite(value):
        return tag("td", write(value), class_="x", **about)
    level = min(1.0, math.hypot(value.real, value.imag) / scale) if scale else 0.0
    kind = "n" if not isinstance(value, complex) and value < 0 else "p"
    return tag("td", write(value), class_=kind, style=f"--v:{level:.2f}", **about)

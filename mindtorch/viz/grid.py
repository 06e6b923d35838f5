"""Values as a grid of cells coloured by value, with index, storage position and address on hover."""
from __future__ import annotations

import itertools
from typing import Any

from ..introspect import Cell, TensorFacts, cells
from .html import Markup, tag
from .palette import number_text

GAP = None  #: stands for the elements left out


def shown_indices(size: int, edge: int) -> list[int | None]:
    """The indices of a dimension that are shown: all if few, else ``edge`` at both ends and a gap."""
    if size <= 2 * edge + 1:
        return list(range(size))
    return [*range(edge), GAP, *range(size - edge, size)]


def value_grids(tensor: Any, facts: TensorFacts) -> Markup:
    """The values of a tensor: one grid for up to two dimensions, one a slice for more."""
    shape = facts.shape
    if not facts.elements:
        return tag("div", "no elements", class_="mt-soft")
    if len(shape) <= 2:
        edge = 6 if len(shape) == 2 else 8
        return tag("div", _grid(tensor, facts, (), edge), class_="mt-slices")
    leading = [shown_indices(n, 1 if len(shape) > 3 else 2) for n in shape[:-2]]
    prefixes = list(itertools.islice((p for p in itertools.product(*leading) if GAP not in p), 6))
    edge = 3 if len(prefixes) > 2 else 4
    grids = [_grid(tensor, facts, prefix, edge) for prefix in prefixes]  # type: ignore[arg-type]
    total = facts.elements // max(1, shape[-1] * shape[-2])
    more = None if len(prefixes) == total else tag("div", f"… {total} slices in all", class_="mt-soft")
    return tag("div", *grids, more, class_="mt-slices")


def _grid(tensor: Any, facts: TensorFacts, prefix: tuple[int, ...], edge: int) -> Markup:
    rest = facts.shape[len(prefix):]
    rows: list[int | None] = shown_indices(rest[0], edge) if len(rest) == 2 else [0]
    columns: list[int | None] = shown_indices(rest[-1], edge) if rest else [0]
    wanted = [(r, c) for r in rows for c in columns if r is not GAP and c is not GAP]
    found = dict(zip(wanted, cells(tensor, [(*prefix, r, c)[len(prefix) * 0:][: len(facts.shape)] if len(rest) == 2
                                            else ((*prefix, c) if rest else ()) for r, c in wanted]), strict=True))
    scale = _scale(facts)
    body = []
    for r in rows:
        head = None if len(rest) < 2 else tag("th", "⋮" if r is GAP else r, scope="row")
        body.append(tag("tr", head, *(_cell(found.get((r, c)), facts, scale) if r is not GAP and c is not GAP
                                      else tag("td", "⋮" if r is GAP else "…", class_="gap") for c in columns)))
    corner = None if len(rest) < 2 else tag("th")
    top = tag("tr", corner, *(tag("th", "…" if c is GAP else c, scope="col") for c in columns)) if rest else None
    caption = tag("caption", f"[{', '.join(map(str, prefix))}, :, :]") if prefix else None
    return tag("table", caption, top, *body, class_="mt-grid")


def _scale(facts: TensorFacts) -> float:
    statistics = facts.statistics
    if statistics is None or statistics.minimum is None:
        return 0.0
    return max(abs(float(abs(statistics.minimum))), abs(float(abs(statistics.maximum))))


def _cell(cell: Cell | None, facts: TensorFacts, scale: float) -> Markup:
    assert cell is not None
    where = f"[{', '.join(map(str, cell.index))}]  storage position {cell.position}"
    where += f"  address {cell.address:#x}" if cell.address else ""
    value = cell.value
    if value is None:
        return tag("td", "·", title=where)
    text = number_text(value)
    size = abs(value)
    if size != size or size == float("inf"):
        return tag("td", text, class_="x", title=f"{where}  value {value!r}")
    level = 0.0 if not scale else min(1.0, float(size) / scale)
    negative = not isinstance(value, complex) and value < 0
    return tag("td", text, class_="n" if negative else "p", style=f"--v:{level:.2f}", title=f"{where}  value {value!r}")

"""The same explanations for a terminal."""
from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from ..introspect.why import Bars, Cell, Explanation, Groups, Involved, Places, Ruler, Shapes, Steps
from .palette import place_text, size_text, tuple_text, type_text
from .why import ENDS, SIGNS

WIDTH = 100  #: characters of a line
BAR = 40  #: characters of the longest bar


def why_text(facts: Explanation) -> str:
    """Draw what ``%why`` shows in a terminal."""
    lines = [f"{facts.error}: {facts.title}"]
    if call := facts.call:
        operator = f" in aten::{call.operator}" if call.operator else ""
        lines.append(f"at {place_text(call.file, call.line)}{operator}" + (f":  {call.text}" if call.text else ""))
    for picture in facts.pictures:
        lines += ["", *(f"  {line}" for line in _DRAWN[type(picture)](picture))]
        lines += [f"  {picture.note}"] if getattr(picture, "note", "") else []
    lines += ["", *textwrap.wrap(f"Why: {facts.cause}", WIDTH)]
    lines += ["", "What helps:"] if facts.fixes else []
    lines += [f"- {fix.text}" + (f":  {fix.code}" if fix.code else "") for fix in facts.fixes]
    lines += ["", *map(_tensor, facts.tensors)] if facts.tensors else []
    return "\n".join(lines)


def _tensor(tensor: Involved) -> str:
    autograd = tensor.node or ("leaf, requires grad" if tensor.requires_grad else "")
    parts = (f"{tensor.label}: {type_text(tensor.dtype, tensor.shape)}", f"stride {tuple_text(tensor.stride)}",
             tensor.device,
             "" if tensor.version is None else f"version {tensor.version}", autograd)
    return ", ".join(part for part in parts if part)


def _marked(text: str, mark: str) -> str:
    return f"[{text or '·'}]{SIGNS.get(mark, '')}"


def _shapes(facts: Shapes) -> Iterator[str]:
    width = max([len(facts.head), *(len(row.cells) for row in facts.rows)])
    lines = [["", *facts.head]] if any(facts.head) else []
    lines += [[row.label, *map(_cell, row.cells)] for row in facts.rows]
    padded = [[*line, *[""] * (width + 1 - len(line))] for line in lines]
    widths = [max(map(len, column)) for column in zip(*padded, strict=True)]
    notes = [*[""] * (len(lines) - len(facts.rows)), *(row.note for row in facts.rows)]
    for line, note in zip(padded, notes, strict=True):
        yield "  ".join([*map(str.ljust, line, widths), note]).rstrip()


def _cell(cell: Cell | None) -> str:
    return "" if cell is None else _marked(cell.text, cell.mark)


def _places(facts: Places) -> Iterator[str]:
    yield f"where the elements of {facts.label} lie, from storage position {facts.first} on"
    cells = (_marked(" ".join(map(str, numbers)), "clash" if len(numbers) > 1 else "") for numbers in facts.seen)
    more = f" … {facts.total:,} positions" if facts.total > len(facts.seen) else ""
    yield from textwrap.wrap(" ".join(cells) + more, WIDTH, break_on_hyphens=False)


def _ruler(facts: Ruler) -> Iterator[str]:
    size = facts.high + 1
    shown = list(map(str, range(size)))
    if size > 2 * ENDS + 1:
        shown = [*map(str, range(ENDS)), "…", *map(str, range(size - ENDS, size))]
    before = [_marked(str(i), "clash") for i in facts.asked if i < 0]
    after = [_marked(str(i), "clash") for i in facts.asked if i > facts.high]
    from_end = f"   (or {facts.low} … -1 from the end)" if facts.low < 0 else ""
    yield f"{facts.label}: {' '.join([*before, '|', *shown, '|', *after])}{from_end}"


def _steps(facts: Steps) -> Iterator[str]:
    for i, step in enumerate(facts.steps):
        sign = f" {SIGNS[step.mark]}" if step.mark else ""
        yield f"{facts.arrow if i else ' '} {step.title}{sign}" + (f"   {step.detail}" if step.detail else "")


def _groups(facts: Groups) -> Iterator[str]:
    for group in facts.groups:
        sign = f" {SIGNS[group.mark]}" if group.mark else ""
        yield f"{group.title}{sign}: {', '.join(group.members)}"


def _bars(facts: Bars) -> Iterator[str]:
    most = max(size for _, size, _ in facts.rows) or 1
    width = max(len(label) for label, _, _ in facts.rows)
    for label, size, _ in facts.rows:
        yield f"{label:>{width}} {'█' * round(BAR * size / most)} {size_text(size)}"


_DRAWN: dict[type, Callable[[Any], Iterator[str]]] = {
    Shapes: _shapes, Places: _places, Ruler: _ruler, Steps: _steps, Groups: _groups, Bars: _bars,
}

"""``%why``: an explanation of an error with pictures of the tensors involved."""
from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from ..introspect.checks import CheckFacts, Finding
from ..introspect.why import (
    Bars, Call, Cell, Explanation, Fix, Group, Groups, Involved, Places, Ruler, ShapeRow, Shapes, Step, Steps,
)
from ..introspect.why.explanation import CLASH, GONE, GOOD
from .html import SPACE, Markup, in_text, join, page, row, table, tag
from .palette import (
    breakable, count_text, device_badge, layout_text, mono, place_text, size_text, soft, storage_chip, storage_class,
    tensor_name, type_text,
)

SIGNS = {CLASH: "✗", GOOD: "✓", GONE: "✂"}  #: so that no mark is told by colour alone
ENDS = 5  #: numbers drawn at each end of a ruler
BAR = 40  #: characters of the longest bar in plain text


def why_page(facts: Explanation) -> Markup:
    """Draw what ``%why`` shows."""
    error = tag("span", f"⚠ {facts.error}", plain=f"{facts.error}: ", class_="mt-chip mt-invalid")
    message = tag("details", tag("summary", "the error's message"), tag("pre", facts.message, class_="mt-message"),
                  plain="")
    parts = (tag("div", error, tag("b", facts.title), class_="mt-head"), place_line(facts.call),
             *map(picture, facts.pictures), tag("p", tag("b", "Why ", plain="Why: "), facts.cause),
             fixes_list(facts.fixes), _tensors(facts.tensors), message)
    return page(tag("div", *parts, class_="mt-box"), kind="why", sheet="why")


why_text = in_text(why_page)


def fixes_list(fixes: Sequence[Fix]) -> Markup | None:
    """List the cures with their code."""
    if not fixes:
        return None
    listed = tag("ul", *(tag("li", fix.text, _code(fix.code), _tried(fix)) for fix in fixes), class_="mt-fixes")
    return join([tag("p", tag("b", "What helps"), plain="\nWhat helps:\n", class_="mt-helps"), listed])


def _tried(fix: Fix) -> Markup | None:
    """Mark a cure that was carried out on a copy before it was offered."""
    if not fix.tried:
        return None
    return tag("span", " ✓ tried", plain="   ✓ tried", class_="mt-soft", title=f"ran on a copy:\n{fix.tried}")


def place_line(call: Call | None) -> Markup | None:
    """Draw the line of the program in question."""
    if call is None:
        return None
    operator = join([" in ", mono(f"aten::{call.operator}")]) if call.operator else None
    place = place_text(call.file, call.line)
    where = tag("span", place, plain=f"at {place}", title=f"{call.file}:{call.line} in {call.function}")
    return tag("div", where, operator, _code(call.text), class_="mt-place")


def _code(text: str) -> Markup | None:
    return join([SPACE, tag("code", text, plain=f":  {text}", class_="mt-code"), SPACE]) if text else None


def _tensors(tensors: Sequence[Involved]) -> Markup | None:
    if not tensors:
        return None
    head = ("tensor", "given as", "type", "stride", "device", "storage", "version", "autograd")
    rows = [row(tensor_name(t.name or (f"view of {t.of}" if t.of else "")), soft(t.role),
                mono(type_text(t.dtype, t.shape)), mono(layout_text(t.stride, t.offset)), device_badge(t.device),
                storage_chip(t.storage), "–" if t.version is None else t.version,
                breakable(t.node or ("leaf, requires grad" if t.requires_grad else "")))
            for t in dict.fromkeys(tensors)]
    shown = table(head, rows, None)
    return tag("details", tag("summary", "the tensors involved"), shown, plain=f"\n{shown.plain}")


# -- pictures ------------------------------------------------------------------------------------------------------


def picture(facts: Any) -> Markup:
    """One of an explanation's pictures."""
    note = tag("div", facts.note, class_="mt-soft") if getattr(facts, "note", "") else None
    drawn = join([_DRAWN[type(facts)](facts), note])
    plain = f"\n{textwrap.indent(drawn.plain, '  ')}"
    return tag("div", drawn, plain=plain, class_="mt-picture mt-scroll", tabindex="0")


def _box(text: str, mark: str = "", class_: str = "mt-size", **attributes: Any) -> Markup:
    """Draw a framed text; a mark sets its frame, colour and sign."""
    sign = tag("i", SIGNS[mark]) if mark else None
    return tag("span", text, sign, plain=f"[{text}]{SIGNS.get(mark, '')}", class_=_class(class_, mark), **attributes)


def _class(name: str, mark: str) -> str:
    """Combine a class with that of a mark."""
    return f"{name} mt-{mark}" if mark else name


def _shapes(facts: Shapes) -> Markup:
    width = max([len(facts.head), *(len(line.cells) for line in facts.rows)])
    head = tag("tr", tag("th"), *(tag("th", name, scope="col") for name in facts.head)) if any(facts.head) else None
    return tag("table", tag("tbody", head, *(_shape(line, width) for line in facts.rows)), class_="mt-shapes")


def _shape(line: ShapeRow, width: int) -> Markup:
    cells: tuple[Cell | None, ...] = (*line.cells, *(None,) * (width - len(line.cells)))
    boxes = (tag("td", None if cell is None else _box(cell.text or "·", cell.mark)) for cell in cells)
    label = tag("th", line.label, scope="row", class_="mt-clip", title=line.label)
    empty = soft("no dimensions: one number") if not line.cells else None
    return tag("tr", label, *boxes, tag("td", soft(line.note) if line.note else empty))


def _places(facts: Places) -> Markup:
    boxes = []
    for position, numbers in enumerate(facts.seen, facts.first):
        mark = CLASH if len(numbers) > 1 else ""
        shown = " ".join(map(str, numbers[:4])) + (" …" if len(numbers) > 4 else "")
        seen = f"elements {', '.join(map(str, numbers[:20]))}" if numbers else "not seen"
        title = f"storage position {position}: {seen}"
        inner = _box(shown or "·", mark, "mt-size mt-seen" if numbers else "mt-size", title=title)
        boxes.append(tag("span", inner, tag("small", position), plain=f"{inner.plain} ", class_="mt-cell"))
    if facts.total > len(facts.seen):
        boxes.append(soft(f"… {facts.total:,} positions"))
    label = join([storage_chip(facts.storage), " ", f"where the elements of {facts.label} lie"])
    return join([tag("div", label), tag("div", *boxes, class_=f"mt-row {storage_class(facts.storage)}")])


def _ruler(facts: Ruler) -> Markup:
    size = facts.high + 1
    shown = range(size) if size <= 2 * ENDS + 1 else [*range(ENDS), None, *range(size - ENDS, size)]
    boxes = [soft("…") if i is None else _tick(i, i - size if facts.low < 0 and i - size >= facts.low else None)
             for i in shown] or [soft("none")]
    before = [_beyond(i) for i in sorted(facts.asked) if i < facts.low or (facts.low == 0 and i < 0)]
    after = [_beyond(i) for i in sorted(facts.asked) if i > facts.high]
    body = [*before, soft("│"), *boxes, soft("│"), *after]
    plain = " ".join(part.plain for part in body) + (f"   (or {facts.low} … -1 from the end)" * (facts.low < 0))
    return join([tag("div", facts.label, class_="mt-soft"), tag("div", *body, plain=f"{plain}\n", class_="mt-row")])


def _tick(number: int, negative: int | None) -> Markup:
    below = None if negative is None else tag("small", negative)
    return tag("span", _box(str(number)), below, plain=f"{number}", class_="mt-cell")


def _beyond(number: int) -> Markup:
    box = _box(str(number), CLASH)
    return tag("span", box, tag("small", "asked for"), plain=f"{box.plain} asked for", class_="mt-cell")


def _steps(facts: Steps) -> Markup:
    arrow = tag("span", facts.arrow, plain=f"{facts.arrow} ", class_="mt-arrow")
    parts = (part for step in facts.steps for part in (arrow, _step(step)))
    return tag("div", *list(parts)[1:], class_="mt-row")


def _step(step: Step) -> Markup:
    sign = tag("i", SIGNS[step.mark]) if step.mark else None
    detail = tag("small", step.detail) if step.detail else None
    said = f"{step.title} {SIGNS.get(step.mark, '')}  {step.detail}".rstrip()
    return tag("span", tag("span", mono(step.title), sign), detail, plain=f"{said}\n",
               class_=_class("mt-step", step.mark))


def _group(group: Group) -> Markup:
    title = device_badge(group.title) if group.device else tag("b", group.title)
    sign = tag("i", SIGNS[group.mark]) if group.mark else None
    members = (tag("div", mono(member)) for member in group.members)
    said = f"{group.title} {SIGNS.get(group.mark, '')}".rstrip()
    return tag("div", tag("div", title, " ", sign), *members, plain=f"{said}: {', '.join(group.members)}\n",
               class_=_class("mt-step", group.mark))


def _bars(facts: Bars) -> Markup:
    most = max(size for _, size, _ in facts.rows) or 1
    rows = []
    for label, size, mark in facts.rows:
        drawn = "█" * round(BAR * size / most)
        bar = tag("span", plain=drawn, class_=_class("mt-amount", mark), style=f"width:{300 * size / most:.0f}px")
        rows.append(tag("tr", tag("th", label, scope="row"), tag("td", mono(size_text(size))), tag("td", bar)))
    return tag("table", tag("tbody", *rows), class_="mt-shapes")


_DRAWN: dict[type, Callable[[Any], Markup]] = {
    Shapes: _shapes, Places: _places, Ruler: _ruler, Steps: _steps, Bars: _bars,
    Groups: lambda facts: tag("div", *map(_group, facts.groups), class_="mt-row mt-groups"),
}


def check_page(facts: CheckFacts) -> Markup:
    """Draw what ``%check`` shows."""
    count = len(facts.findings)
    looked = f"looked at {', '.join(facts.checked)}"
    if count:
        mark, look, title = "✗", "mt-invalid", count_text(count, "finding")
    elif facts.checked:
        mark, look, title = "✓", "mt-fine", "nothing found"
    else:
        mark, look, title = "○", "", "nothing found"
        looked = "no model, loss or optimizer was used: %%check watches a cell that trains"
    sign = tag("span", mark, class_=f"mt-chip {look}".strip())
    head = tag("div", sign, " ", tag("b", title), " ", soft(looked), class_="mt-head",
               plain=f"{mark} {title} ({looked})\n")
    items = (tag("section", _finding(finding), class_="mt-finding") for finding in facts.findings)
    return page(tag("div", head, *items, class_="mt-box"), kind="why mt-check", sheet="why")


check_text = in_text(check_page)


def _finding(finding: Finding) -> Markup:
    return join([tag("div", tag("b", finding.title), class_="mt-head", plain=f"\n{finding.title}\n"),
                 place_line(finding.place), *map(picture, finding.pictures),
                 tag("p", tag("b", "Why ", plain="Why: "), finding.cause), fixes_list(finding.fixes)])

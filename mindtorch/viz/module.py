"""A module as a foldable tree: classes, parameters, shapes, devices, gradients; equal layers are drawn once."""
from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..introspect import (
    MemberFacts, ModuleFacts, graph_of, is_tensor, module_facts, module_name, names_of, traced_facts,
)
from ..introspect.module import members_of
from ..introspect.placed import is_mesh
from ..introspect.repeats import span
from .card import not_finite, tensor_card
from .html import Markup, join, page, tag
from .mesh import mesh_card
from .palette import chip, count_text, device_badge, size_text, tensor_name, type_of
from .traced import traced_page

MAX_ROWS, SIDE_BY_SIDE = 310, 220  #: at most that are drawn; of the highest level, whose lines are longer
BROKEN = 5  #: members at most whose NaN and infinities are located
OPEN = 24  #: rows at most that are unfolded at first
GRADIENTS = {"": "", "has grad": "● ", "no grad yet": "○ ", "frozen": "✕ "}  #: signs of their states, beside the words
NO_ROOM = "its contents are not drawn: the model is too large"


@dataclass(frozen=True)
class Row:
    """A line of the tree and those below it. ``what`` is a class or a type, ``grad`` a state in words."""

    label: str
    what: str
    extra: str
    count: int
    device: str
    grad: str
    remarks: tuple[tuple[str, str], ...] = ()
    rows: tuple[Row, ...] = ()
    is_tensor: bool = False


def module_page(facts: ModuleFacts) -> Markup:
    """Draw the tree of a module, as a notebook shows it."""
    tree = _tree(facts)
    depth = _unfolded(tree)
    head = tag("div", tensor_name(facts.name) if facts.name else None, tag("b", facts.kind),
               *(device_badge(device) for device in facts.devices), chip("training" if facts.training else "eval"),
               class_="mt-head")
    titles = (tag("span", text) for text in ("", "", "parameters", "device", "gradient"))
    top = tag("div", *titles, class_="mt-line mt-titles")
    lines = (_line(row, 0, depth, max(facts.parameters, 1)) for row in tree.rows)
    said = join([tag("div", _summary(facts), class_="mt-summary"),
                 *(tag("div", words, class_="mt-alert") for words in _not_finite(facts))])
    inner = tag("div", top, *lines, class_="mt-tree")
    drawn = tag("div", inner, class_="mt-scroll", tabindex="0") if tree.rows else None
    return page(tag("div", head, said, drawn, class_="mt-box"), kind="module")


def module_text(facts: ModuleFacts) -> str:
    """Draw the tree of a module for a terminal."""
    lines = [f"{facts.name + ': ' if facts.name else ''}{facts.kind}, {_summary(facts, is_text=True)}",
             *_not_finite(facts)]
    cells = [("  " * depth + " ".join(filter(None, [row.label, _kind(row), *(f"[{text}]" for text, _ in row.remarks)])),
              f"{row.count:,}" if row.count else "", row.device, row.grad)
             for depth, row in _walk(_tree(facts), 0) if depth]
    widths = [max((len(cell[i]) for cell in cells), default=0) for i in range(4)]
    for label, count, device, grad in cells:
        line = f"{label:<{widths[0]}}  {count:>{widths[1]}}  {device:<{widths[2]}}  {grad}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def _summary(facts: ModuleFacts, is_text: bool = False) -> str:
    """Summarise a module in one line; as text also devices and mode, which a picture shows as badges."""
    parts = [count_text(facts.parameters, "parameter")]
    if facts.trainable < facts.parameters:
        parts.append(f"{facts.trainable:,} of them trainable")
    parts.append(size_text(facts.bytes) + " with buffers" * _has_buffers(facts))
    parts.append(", ".join(facts.dtypes) or "no tensors")
    if is_text:
        parts += [", ".join(facts.devices)] if facts.devices else []
        parts.append("training" if facts.training else "eval")
    if facts.tensors:
        parts.append(f"gradients in {facts.gradients:,} of {count_text(facts.tensors, 'parameter tensor')}")
    scans = [(member.scan, member.elements) for _, member in members_of(facts) if member.scan]
    if (examined := sum(scan.examined for scan, _ in scans)) < (elements := sum(count for _, count in scans)):
        parts.append(f"{examined:,} of {elements:,} values searched for NaN and infinity")
    return " · ".join(parts)


def _not_finite(facts: ModuleFacts) -> Iterator[str]:
    """Yield which parameters and buffers have NaN or infinite values, and where."""
    found = [f"⚠ {name}: {said.removeprefix('⚠ ')}" for name, member in members_of(facts) if member.scan
             for said in not_finite(member.scan, member.elements)]
    yield from found[:BROKEN]
    if len(found) > BROKEN:
        yield f"⚠ and {len(found) - BROKEN:,} more parameters and buffers"


def _has_buffers(facts: ModuleFacts) -> bool:
    return any(not m.is_parameter for m in facts.members) or any(map(_has_buffers, facts.children))


# -- from facts to rows --------------------------------------------------------------------------------------------


def _tree(facts: ModuleFacts) -> Row:
    """Build the rows of a module, as deep as there is room."""
    depth = 64
    tree = _module(facts, facts.training, depth)
    while depth > 1 and sum(1 for _ in _walk(tree, 0)) > MAX_ROWS:
        depth = min(depth, max(level for level, _ in _walk(tree, 0))) - 1
        tree = _module(facts, facts.training, depth)
    if len(tree.rows) > SIDE_BY_SIDE:
        left = tree.rows[SIDE_BY_SIDE:]
        more = Row(f"… {len(left):,} more", "", "", sum(row.count for row in left), "", "")
        tree = replace(tree, rows=(*tree.rows[:SIDE_BY_SIDE], more))
    return tree


def _module(facts: ModuleFacts, training: bool, depth: int, label: str = "", times: int = 1) -> Row:
    remarks = []
    if facts.training != training:
        remarks.append(("training" if facts.training else "eval", "unlike the module above it"))
    if facts.same_as:
        remarks.append((f"same as {facts.same_as}", "one module in two places: its parameters count once"))
    if facts.hooks:
        remarks.append((count_text(facts.hooks, "hook"), "run when it is called, or in backward"))
    if times > 1 and facts.parameters:
        remarks.append((f"each {facts.parameters:,}", "parameters of one of them, whose contents stand below"))
    rows: tuple[Row, ...] = ()
    if depth:
        rows = (*map(_member, facts.members), *_children(facts, depth))
    elif facts.members or facts.children:
        remarks.append(("folded", NO_ROOM))
    place = facts.devices[0] if len(facts.devices) == 1 else f"{len(facts.devices)} devices" if facts.devices else ""
    return Row(label=label or facts.name, what=f"{times} × {facts.kind}" if times > 1 else facts.kind,
               extra=facts.extra, count=facts.parameters * times, device=place,
               grad=_gradients(facts.gradients * times, facts.tensors * times, facts.trainable), remarks=tuple(remarks),
               rows=rows)


def _children(facts: ModuleFacts, depth: int) -> Iterator[Row]:
    for start, period, times in facts.runs:
        found = facts.children[start : start + period * times]
        names = [span([child.name for child in found[i::period]]) for i in range(period)]
        rows = [_module(found[i], facts.training, depth - 1, names[i], times) for i in range(period)]
        if times == 1 or period == 1:
            yield from rows
        else:
            kinds = ", ".join(child.kind for child in found[:period])
            grad = _gradients(*(sum(getattr(c, what) for c in found) for what in ("gradients", "tensors", "trainable")))
            yield Row(span([found[0].name, found[-1].name]), f"{times} × ({kinds})", "", sum(row.count for row in rows),
                      "", grad, rows=tuple(rows))


def _member(facts: MemberFacts) -> Row:
    remarks = []
    if facts.tied:
        remarks.append((f"tied: {facts.tied}", "one parameter in two places: it counts once"))
    if facts.shares:
        remarks.append((f"memory of {facts.shares}", "another tensor on the same storage"))
    if not facts.is_parameter:
        remarks.append(("buffer", "state, but no parameter: the optimizer does not change it"))
    if not facts.persistent:
        remarks.append(("not saved", "not in the state dict"))
    grad = ""
    if facts.is_parameter:
        grad = "has grad" if facts.has_grad else "no grad yet" if facts.requires_grad else "frozen"
    counted = facts.elements if facts.is_parameter and not facts.tied else 0
    return Row(facts.name, type_of(facts), "", counted, facts.device, grad, tuple(remarks),
               is_tensor=True)


def _gradients(present: int, tensors: int, trainable: int) -> str:
    if not tensors:
        return ""
    if not present:
        return "no grad yet" if trainable else "frozen"
    return "has grad" if present == tensors else f"{present:,} of {tensors:,}"


def _walk(row: Row, depth: int) -> Iterator[tuple[int, Row]]:
    yield depth, row
    for inner in row.rows:
        yield from _walk(inner, depth + 1)


# -- from rows to HTML ---------------------------------------------------------------------------------------------


def _unfolded(tree: Row) -> int:
    """Return the depth to which the tree is open at first."""
    levels = Counter(depth for depth, _ in _walk(tree, 0))
    depth, rows = 1, levels[1]
    while levels[depth + 1] and rows + levels[depth + 1] <= OPEN:
        depth += 1
        rows += levels[depth]
    return depth


def _kind(row: Row) -> str:
    return f"{row.what}({row.extra})" if row.extra else row.what


def _line(row: Row, depth: int, unfolded: int, total: int) -> Markup:
    share = tag("i", style=f"--v:{row.count / total:.3f}") if row.count else None
    title = f"{row.label} {_kind(row)}"
    name = tag("span", tag("b", row.label), " ", tag("span", row.what, class_="mt-mono" if row.is_tensor else None),
               *(join([" ", chip(text, hint)]) for text, hint in row.remarks),
               tag("span", f" {row.extra}", class_="mt-soft") if row.extra else None, title=title)
    cells = (name, tag("span", share), tag("span", f"{row.count:,}" if row.count else ""), tag("span", row.device),
             tag("span", GRADIENTS.get(row.grad, "◐ "), row.grad))
    if not row.rows:
        return tag("div", *cells, class_="mt-line")
    inner = join(_line(below, depth + 1, unfolded, total) for below in row.rows)
    is_open = "" if depth + 1 < unfolded else None
    return tag("details", tag("summary", *cells, class_="mt-line"), inner, open=is_open)


def picture(value: Any, namespace: Mapping[str, Any] | None = None, *, compact: bool = False) -> Markup:
    """Draw a tensor's card (maybe ``compact``), a DeviceMesh, a module's tree or a graph of ``torch.fx``, and both of
    a ``GraphModule``; names come from the running program.
    """
    space = vars(sys.modules["__main__"]) if namespace is None else namespace
    if is_tensor(value):
        return tensor_card(value, names_of(space), compact=compact)
    if is_mesh(value):
        return mesh_card(value)
    graph = graph_of(value)
    if graph is value:
        return traced_page(traced_facts(value))
    tree = module_page(module_facts(value, module_name(value, space)))
    return tree if graph is None else join([tree, traced_page(traced_facts(value))])

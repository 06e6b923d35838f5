"""Calls of the dispatcher as a table: operators below the line of the program that asked for them."""
from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from .._base.call_site import place_of
from .._base.durations import time_text
from ..introspect import (
    Asked, DispatchEvent, EventRun, LineCalls, ModuleCall, ModuleEvents, Move, NodeCalls, argument_text, by_line,
    by_module,
)
from .html import SPACE, Markup, in_text, join, page, row, table, tag
from .palette import DEVICES, breakable, chip, count_text, mono, pending_mark, place_text, short, size_text, soft

MAX_ROWS, MAX_FOLDED = 300, 900  #: rows at most that are seen at first, and that are in folds
COLUMNS = 5
MANY = 40  #: operators of a line that are folded
OPERATORS = 4  #: at most that are named of what is folded
TYPE = re.compile(r"\b([a-z]+\d+|bool)\[")
SHAPE = re.compile(r"(\w*\[[\d, ]*\])")
BAR = 24  #: pixels of the longest bar
LEGEND = ("Operators stand below the line that asked for them and, where it runs backward, below the graph's node. "
          "└ is called inside the operator above. ↻ counts what was repeated. A dtype is written where it changes.")
AT_ONCE = "one function computes this with its neighbours: its time is that of the call, or of the last of them"
MOVES = (" ⇄ moves a tensor to where the operator needs it, or the program asks for it: the bytes that each rank sends "
         "for it, around a ring.")
BY_PYTHON = (" PyTorch's operators pass through Python to be seen here, which takes some microseconds each: %%profile "
             "has their own times.")
FIRST = "the first call that was looked at: what is loaded and filled once counts here (warm-up)"


def dispatch_page(events: Sequence[DispatchEvent], asked: Mapping[int, Asked] | None = None,
                  first: Collection[int] = (), modules: Mapping[int, tuple[ModuleCall, ...]] | None = None) -> Markup:
    """Draw ``%%dispatch``; ``asked`` gives each operator's caller, ``first`` the events of first calls, ``modules``
    those that were running. A line of many operators is folded by them.
    """
    if not events:
        return page(tag("div", "no operator was dispatched", class_="mt-soft"), kind="dispatch")
    # PyTorch's generated files exist only where it was built
    has_kernels = any(os.path.isabs(event.file) and os.path.exists(event.file) for event in events)
    longest = max(event.duration for event in events) or 1
    body = _Body(_Shared(longest, first, modules or {}, has_kernels, [MAX_ROWS, MAX_FOLDED]))
    for run in by_line(events, asked):
        for line in run.lines:
            body.line(line)
        if run.again:
            what = "this line" if len(run.lines) == 1 else f"these {len(run.lines)} lines"
            times = count_text(len(run.again) // len(run.lines), "more time")
            body.note(f"↻ {what} {times}: ", [event for line in run.again for event in line.events])
    head = _head(has_kernels)
    said = f"{count_text(len(events), 'operator')}, {time_text(_total(events))}"
    if body.moves:
        sent = sum(move.bytes for event in events for move in event.moves)
        said += f", {size_text(sent)} sent to redistribute"
    left = len(events) - body.told
    more = soft(f"and {count_text(left, 'more operator')}: %%profile adds them up") if left else None
    warm = f" ¹ is {FIRST}; run the cell again for the usual time." if body.cold else ""
    moved = MOVES if body.moves else ""
    said_of = f"{moved}{'' if any(event.key_set.bits for event in events) else BY_PYTHON}{warm}"
    legend = tag("div", f"{LEGEND}{said_of}", class_="mt-note", plain=said_of.strip())
    return page(table(head, body.rows, said), more, legend, kind="dispatch", sheet="dispatch")


dispatch_text = in_text(dispatch_page)


@dataclass
class _Shared:
    """The needs of all rows of a picture, and the room for rows: for those seen at first, for those in folds."""

    longest: int
    first: Collection[int]
    modules: Mapping[int, tuple[ModuleCall, ...]]
    has_kernels: bool
    room: list[int]


class _Body:
    """The rows of a table, of how many operators they tell, and whether one of them is marked as a first call, or
    redistributes DTensors.
    """

    def __init__(self, shared: _Shared, is_folded: bool = False):
        self.shared, self.is_folded, self.told, self.cold, self.moves = shared, is_folded, 0, False, False
        self.rows: list[Markup] = []

    def add(self, make: Callable[[], Markup], told: int = 0) -> None:
        """Add a row that tells of some operators, if there is room."""
        if self.shared.room[self.is_folded] > 0:
            self.shared.room[self.is_folded] -= 1
            self.told += told
            self.rows.append(make())

    def line(self, line: LineCalls) -> None:
        """Add a line of the program and the operators that it led to, folded for an optimizer's step, if it runs
        backward through many nodes, and by modules if they ran many.
        """
        if self.shared.room[0] <= 0:
            return
        is_many = len(line.events) > MANY
        is_step = line.part.startswith("step") or (bool(line.part) and is_many)
        count = f"{count_text(len(line.events), 'operator')}, {time_text(_total(line.events))}"
        kinds = soft(f": {_kinds(line.events)}") if is_step else None
        place = mono(place_text(line.file, line.line), place_of(line.file, line.line))
        code = tag("code", short(line.text), plain=f": {short(line.text)} ", class_="mt-code") if line.text else None
        said = [place, SPACE, code, SPACE, chip(line.part) if line.part else None, " ", soft(count), kinds]
        if is_step:
            box = tag("input", type="checkbox", aria_label=f"show the operators of the {line.part}")
            said = [tag("label", box, *said)]
        head = tag("tr", tag("th", *said, colspan=COLUMNS, scope="rowgroup", plain="".join(
            part.plain if isinstance(part, Markup) else part for part in said if part)), class_="mt-asked")
        inner = _Body(self.shared, self.is_folded or is_step)
        if not line.part and is_many and any(self.shared.modules.get(event.sequence) for event in line.events):
            inner.parts(by_module(line.events, self.shared.modules))
        else:
            for node in line.nodes:
                inner.node(node)
        self.told += len(line.events) if is_step else inner.told
        self.cold, self.moves = self.cold or inner.cold, self.moves or inner.moves
        rows = join(inner.rows)
        plain = head.plain + ("" if is_step else rows.plain)
        self.rows.append(tag("tbody", head, rows, plain=plain, class_="mt-folded" if is_step else None))

    def parts(self, parts: Sequence[ModuleEvents | DispatchEvent], depth: int = 0) -> None:
        """Add operators, and folded modules with a table of their own each; one that is alone is open."""
        folds = sum(isinstance(part, ModuleEvents) for part in parts)
        for part in parts:
            if isinstance(part, DispatchEvent):
                self.add(partial(self.row, part), 1)
            else:
                self.add(partial(self.module, part, depth, folds == 1), len(part.events))

    def module(self, part: ModuleEvents, depth: int, is_open: bool) -> Markup:
        inner = _Body(self.shared, is_folded=True)
        inner.parts(part.parts, depth + 1)
        self.cold, self.moves = self.cold or inner.cold, self.moves or inner.moves
        count = f"{count_text(len(part.events), 'operator')}, {time_text(_total(part.events))}"
        said = f"{count}: {_kinds(part.events)}"
        times = f"× {part.times}" if part.times > 1 else ""
        top = tag("summary", tag("b", part.label), soft(f" {part.kind} ") if part.kind != part.label else None,
                  chip(times, "alike: one of them is drawn") if times else None, soft(f" {said}"))
        drawn = tag("details", top, table(_head(self.shared.has_kernels), inner.rows, None), class_="mt-module",
                    open="" if is_open else None)
        below = "".join(row.plain for row in inner.rows if "▸" in row.plain)
        plain = f"{'  ' * depth}▸ {' '.join(filter(None, [part.label, part.kind, times]))}: {said}\n{below}"
        return tag("tr", tag("td", drawn, colspan=COLUMNS), plain=plain)

    def node(self, node: NodeCalls) -> None:
        if node.node:
            name = tag("th", f"↩ {node.node}", colspan=COLUMNS, scope="rowgroup", plain=f"↩ {node.node}")
            self.add(partial(tag, "tr", name, class_="mt-by"))
        for run in node.runs:
            self.run(run)

    def run(self, run: EventRun) -> None:
        for event in run.events:
            self.add(partial(self.row, event), 1)
        if run.again:
            of = "" if len(run.events) == 1 else f"these {len(run.events)}, "
            self.note(f"↻ {of}{count_text(len(run.again) // len(run.events), 'more time')}: ", run.again)

    def note(self, said: str, events: Sequence[DispatchEvent]) -> None:
        """Add a row that stands for operators that are not listed."""
        text = f"{said}{count_text(len(events), 'operator')}, {time_text(_total(events))}"
        cell = tag("td", text, colspan=COLUMNS, plain=text, class_="mt-soft")
        self.add(partial(tag, "tr", cell), len(events))

    def row(self, event: DispatchEvent) -> Markup:
        bar = tag("span", class_="mt-bar", style=f"width:{max(1, round(BAR * event.duration / self.shared.longest))}px")
        where = breakable(place_text(event.file, event.line), "mt-soft",
                          title=f"{event.kernel} at {place_of(event.file, event.line)}")
        is_first = event.sequence in self.shared.first
        self.cold = self.cold or is_first
        mark = tag("b", "¹", title=FIRST) if is_first else None
        time = (soft("at once", title=AT_ONCE) if event.part and not event.duration else
                join([bar, " ", mono(time_text(event.duration)), mark]))
        kernel = join([where, _plan(event)]) if self.shared.has_kernels else None
        drawn = row(_operator(event), _types(event), _keys(event), kernel, time)
        self.moves = self.moves or bool(event.moves)
        return join([drawn, *(_move(event, move) for move in event.moves)])


def _head(has_kernels: bool) -> list[str]:
    return ["operator", "inputs → outputs", "keys looked at", *(["kernel"] if has_kernels else []), "time"]


def _total(events: Sequence[DispatchEvent]) -> int:
    """Return how long operators took, those inside others not counted again."""
    outermost = min(event.depth for event in events)
    return sum(event.duration for event in events if event.depth == outermost)


def _kinds(events: Sequence[DispatchEvent]) -> str:
    counts = Counter(event.op for event in events).most_common()
    names = [f"{op} × {count}" if count > 1 else op for op, count in counts[:OPERATORS]]
    return ", ".join(names + ["…"] * (len(counts) > OPERATORS))


def _operator(event: DispatchEvent) -> Markup:
    indent = None
    if event.depth:
        style = f"margin-left:{event.depth - 1}em"
        indent = tag("span", "└ ", plain=f"{'  ' * (event.depth - 1)}└", class_="mt-soft", style=style)
    name = tag("b", event.op, title=f"called at {place_text(*event.site[:2])}")
    return join([indent, name, pending_mark("recorded") if event.pending else None], " ")


def _move(event: DispatchEvent, move: Move) -> Markup:
    """Draw the row of a redistribution, below the operator that needs it, or the collective that does it."""
    cost = f"{move.collective}, sends {size_text(move.bytes)}" if move.collective else "without communication"
    said = f"⇄ {move.tensor} {move.source} → {move.target} on {move.mesh_dim}: {cost}"
    inner = tag("span", said, class_="mt-mono", style=f"margin-left:{event.depth + 1}em")
    return tag("tr", tag("td", inner, colspan=COLUMNS, plain=f"{'  ' * (event.depth + 1)}{said}"))


def _keys(event: DispatchEvent) -> Markup:
    note = chip("composite", "written in other operators, the rows below") if event.composite else None
    return join([Markup(join(map(_key, event.path), " › "), " > ".join(event.path)), note], " ")


def _plan(event: DispatchEvent) -> Markup | None:
    """Say whether a call's plan was found or made; its title opens it."""
    plan = event.plan
    if plan is None:
        return None
    kept = f"; autograd keeps {', '.join(plan.recorded)}" if plan.recorded else ""
    what = (f"for {', '.join(plan.layouts)} and these settings: {plan.function} at {place_of(plan.file, plan.line)} "
            f"computes{kept}")
    return tag("div", "plan made" if plan.made else "plan found", class_="mt-soft", title=what, plain="")


def _key(key: str) -> Markup:
    backend = f" mt-device mt-{key.lower()}" if key.lower() in DEVICES else ""
    return tag("span", key, class_=f"mt-chip{backend}", title=f"dispatch key {key}")


def _types(event: DispatchEvent) -> Markup:
    """Write the inputs' and outputs' types; a dtype only where it differs from the one before."""
    given = ", ".join(map(argument_text, event.inputs))
    if event.error:
        return join([mono(given), tag("div", event.error, class_="mt-alert", plain=f" {event.error}")])
    made = ", ".join(map(argument_text, event.outputs))
    before = ""

    def shorter(found: re.Match[str]) -> str:
        nonlocal before
        same, before = found[1] == before, found[1]
        return "[" if same else found[0]

    text = TYPE.sub(shorter, f"{short(given)} → {short(made)}".lstrip())
    words = (tag("span", word) if word.endswith("]") else word for word in SHAPE.split(text))
    return tag("span", *words, class_="mt-mono", title=f"{given} → {made}")

"""A model's forward pass as a page and as text: blocks below each other, lines between them, modules to unfold.

Tensors flow down. What goes on to the next block takes the arrow between them; what skips blocks takes a line at their
left side. Blocks and lines are cells of one grid, so that lines grow where a module is unfolded between their ends.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._base.call_site import place_of
from .._base.durations import time_text
from ..introspect.forward_blocks import Block, Flow, blocks, sources_of, with_flows
from ..introspect.forward_pass import ForwardFacts, Step, Value, walk
from .graph_picture import HEIGHT, LOW, Box, draw_boxes
from .html import Markup, join, page, tag
from .palette import (
    chip, count_text, device_badge, mono, number_text, short, size_text, soft, storage_class, tensor_name, type_text,
)

ROOM = 18  #: blocks about that are seen at first
MOST, LONGEST = 900, 160  #: blocks at most that a page has, and that one level has
LANES = 12  #: lines at most beside each other
COLUMNS = ("", "values", "parameters", "activations", "kept", "time")
MARKS = (("↓", "a tensor goes on to the next block: its dtype and shape"),
         ("line at the left", "a tensor skips blocks, as in a residual connection"),
         ("▸", "a module to unfold"), ("× 12", "equal blocks, of which one is drawn; figures are of all"),
         ("activations", "bytes of new tensors; kept: what autograd keeps of them for the backward pass"))


@dataclass(frozen=True)
class _Whole:
    """The scale of all bars of a picture, how deep modules are drawn, and which blocks are open at first."""

    parameters: int
    memory: int
    time: int
    drawn: int
    opened: frozenset[int]


def model_page(facts: ForwardFacts, name: str = "", depth: int | None = None) -> Markup:
    """Draw what ``%model`` shows, with modules unfolded down to ``depth``, or as far as a screen has room."""
    level = blocks(facts.steps)
    top = level[0] if len(level) == 1 and level[0].kind else None
    body = top.parts or level if top is not None else level
    whole = _Whole(max(sum(block.total("parameters") for block in level), 1),
                   max(sum(block.total("memory") for block in level), 1),
                   max(sum(block.total("time") for block in level), 1), _fitting(body, MOST),
                   _opened(body, depth, ROOM))
    step = facts.steps[0] if facts.steps else None
    devices = dict.fromkeys(value.device for _, value in (*facts.arguments, *facts.results))
    head = tag("div", tensor_name(name) if name else None, tag("b", step.kind if top is not None and step else "calls"),
               *map(device_badge, devices), chip("training" if facts.training else "eval"),
               None if facts.grad else chip("no gradients", "autograd records nothing: nothing is kept for backward"),
               class_="mt-head")
    titles = tag("div", *(tag("span", title) for title in COLUMNS), class_="mt-cells mt-titles")
    flow = tag("div", tag("div", titles, _level(body, whole, 0, facts, top is not None), class_="mt-flow"),
               plain=f"{model_text(facts, name, depth)}\n")
    legend = tag("div", *(tag("span", tag("b", mark), f" {meaning}") for mark, meaning in MARKS), class_="mt-legend",
                 plain="")
    said = tag("div", _summary(facts, level), class_="mt-summary", plain="")
    alerts = [tag("div", alert, class_="mt-alert", plain="") for alert in _alerts(facts)]
    head = Markup(head, "")
    return page(tag("div", head, said, *alerts, flow, legend, class_="mt-box"), kind="model", sheet="model")


def _opened(level: Sequence[Block], depth: int | None, room: int) -> frozenset[int]:
    """Return the identities of blocks to open: those above a depth, or the largest as long as there is room for their
    contents; and those in which something failed.
    """
    found: set[int] = set()
    seen, left = list(level), room - len(level)
    deep = {id(block): 1 for block in level}
    while seen:
        block = max(seen, key=lambda block: (_has_failed(block), block.total("memory"), block.total("parameters")))
        seen.remove(block)
        fits = len(block.parts) <= left if depth is None else deep[id(block)] < depth
        if block.parts and (fits or _has_failed(block)):
            found.add(id(block))
            left -= len(block.parts)
            seen += block.parts
            deep.update((id(part), deep[id(block)] + 1) for part in block.parts)
    return frozenset(found)


def _has_failed(block: Block) -> bool:
    return any(step.failed for step in block.steps)


def _fitting(level: Sequence[Block], room: int) -> int:
    """Return the greatest depth (at least 1) at which the blocks of a picture have room."""
    depth, total = 1, len(level)
    while level := [part for block in level for part in block.parts]:
        total += len(level)
        if total > room:
            break
        depth += 1
    return depth


def _summary(facts: ForwardFacts, level: Sequence[Block]) -> str:
    total = Counter({what: sum(block.total(what) for block in level)
                     for what in ("parameters", "parameter_bytes", "memory", "kept", "time")})
    parts = [f"{count_text(total['parameters'], 'parameter')}, {size_text(total['parameter_bytes'])}",
             f"activations {size_text(total['memory'])}"]
    if facts.grad:
        parts.append(f"backward keeps {size_text(total['kept'])}")
    return " · ".join([*parts, time_text(total["time"])])


def _alerts(facts: ForwardFacts) -> Iterator[str]:
    failed, why = facts.failed, facts.why
    if why is not None:
        where = f"in {_path(failed)}" if failed is not None else "before the first module"
        yield f"✗ {why.error} {where}: {why.title}"
    if (bad := facts.first_nan) is not None:
        step, value = bad
        assert value.scan is not None
        index = f", the first at {list(value.scan.first_nan)}" if value.scan.first_nan else ""
        yield f"⚠ {_path(step)} makes {value.scan.nans:,} NaN of {value.scan.examined:,} values{index}"


def _path(step: Step) -> str:
    """Return a step's path, and a function's with the module's that calls it."""
    return (step.path or step.kind) if step.kind else f"{step.path}: {step.name}" if step.path else step.name


# -- the picture -------------------------------------------------------------------------------------------------------


def _level(level: Sequence[Block], whole: _Whole, depth: int, facts: ForwardFacts, is_top: bool = False,
           note: str = "") -> Markup:
    """Draw blocks below each other with the lines between them."""
    cells: list[Markup] = []
    shown = level[:LONGEST]
    ends = [(i, flow) for i, block in enumerate(shown) for flow in block.flows]
    row = 1
    if is_top and facts.arguments:
        said = join([join([tag("b", name), " ", mono(_type(value))]) for name, value in facts.arguments], "  ")
        cells.append(tag("div", said, class_="mt-node mt-port", style=f"grid-row:{row}"))
        row += 1
    first = row  # the row of the tensors that come into the first block
    before = ""
    for i, block in enumerate(shown):
        label, before = _edge_text(block.flows, before)
        if is_top and not i and facts.arguments:  # which are written above
            label = Markup("")
        is_next = any(flow.source == i - 1 for flow in block.flows)
        if not i and note:
            label = join([label, soft(f" · {note}")])
        arrow = tag("i", "↓ ", class_="mt-down") if is_next else None
        cells.append(tag("div", arrow, tag("span", label), class_="mt-edge", style=f"grid-row:{first + 2 * i}"))
        cells.append(tag("div", _block(block, whole, depth, facts), class_="mt-place",
                         style=f"grid-row:{first + 2 * i + 1}"))
    count = len(shown)
    if len(level) > count:
        left = f"… {len(level) - count:,} more blocks are not drawn"
        cells.append(tag("div", soft(left), class_="mt-place", style=f"grid-row:{first + 2 * count + 1}"))
    elif is_top and facts.why is not None and facts.steps[-1].unreached:
        said = tag("div", _unreached(facts.steps[-1]), class_="mt-soft mt-unreached")
        cells.append(tag("div", said, class_="mt-place", style=f"grid-row:{first + 2 * count + 1}"))
    elif is_top and facts.results:
        flows = sources_of(level, facts.results)
        ends += [(count, flow) for flow in flows]
        arrow = tag("i", "↓ ", class_="mt-down") if any(flow.source == count - 1 for flow in flows) else None
        said = join([tag("b", "output"), " ", mono(", ".join(_type(value) for _, value in facts.results[:4]))])
        cells.append(tag("div", arrow, class_="mt-edge", style=f"grid-row:{first + 2 * count}"))
        cells.append(tag("div", said, class_="mt-node mt-port", style=f"grid-row:{first + 2 * count + 1}"))
    lanes = _lanes([(flow.source, i) for i, flow in ends if flow.source != i - 1])
    width = max(lanes.values(), default=-1) + 1
    lines = (_line(flow, i, lanes[flow.source], width, first) for i, flow in ends
             if flow.source != i - 1 and flow.source in lanes)
    return tag("div", *lines, *cells, class_="mt-level", style=f"--lanes:{width}")


def _lanes(skips: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return the lane of each source of lines, 0 next to the blocks: short lines first, those of more lanes than there
    is room for left out.
    """
    ends: dict[int, int] = {}
    for source, goal in skips:
        ends[source] = max(goal, ends.get(source, 0))
    found: dict[int, int] = {}
    for source in sorted(ends, key=lambda source: (ends[source] - source, source)):
        taken = {found[other] for other in found if other < ends[source] and source < ends[other]}
        lane = next(lane for lane in range(len(taken) + 1) if lane not in taken)
        if lane < LANES:
            found[source] = lane
    return found


def _line(flow: Flow, goal: int, lane: int, width: int, first: int) -> Markup:
    """Draw what a source passes to a block further down."""
    rows = f"{first + 2 * flow.source + 2} / {first + 2 * goal + 1}"
    look = f"mt-skip {storage_class(lane)}" + (" mt-from-top" if flow.source < 0 else "")
    title = ", ".join(map(_type, flow.values))
    return tag("i", class_=look, style=f"grid-row:{rows};grid-column:{width - lane} / {width + 2}", title=title)


def _edge_text(flows: Sequence[Flow], before: str) -> tuple[Markup, str]:
    """Return the types of what comes into a block, a dtype only where it differs from the one before."""
    dtypes = [value.dtype for flow in flows for value in flow.values]
    types = Counter(_type(value, "" if {*dtypes} == {before} else value.dtype) for flow in flows
                    for value in flow.values)
    text = ", ".join(f"{count} × {text}" if count > 1 else text for text, count in types.items())
    return mono(short(text)), dtypes[-1] if dtypes else before


def _block(block: Block, whole: _Whole, depth: int, facts: ForwardFacts) -> Markup:
    failed = next((step for step in block.steps if step.failed), None)
    inner = next((part for part in block.parts if any(step.failed for step in part.steps)), None)
    is_here = failed is not None and inner is None
    look = "mt-cells mt-node" + (" mt-call" if not block.kind and not block.parts else
                                 "" if block.parts else " mt-own" if block.total("parameters") else "")
    look += " mt-failed" if is_here else " mt-fails" if failed is not None else ""
    cells = _cells(block, whole)
    error = join([_error(facts) if is_here else None, tag("div", _unreached(failed), class_="mt-soft mt-unreached")
                  if failed is not None and failed.unreached else None])
    if not block.parts:
        return tag("div", tag("div", *cells, class_=look, title=_title(block)), error)
    if depth + 1 >= whole.drawn and failed is None:
        note = tag("div", soft("its contents are not drawn: the picture would be too large"))
        return tag("details", tag("summary", *cells, class_=look, title=_title(block)), note)
    inside = _level(block.parts, whole, depth + 1, facts, note=f"one of {block.times}" if block.times > 1 else "")
    is_open = "" if id(block) in whole.opened else None
    return tag("details", tag("summary", *cells, class_=look, title=_title(block)), inside, error, open=is_open)


def _cells(block: Block, whole: _Whole) -> Iterator[Markup]:
    """Yield a block's line: its name and class, and its figures with bars."""
    reads = [name.rpartition(".")[2] for step in block.steps for name in step.reads] if not block.kind else []
    piece = block.piece[0]
    times = chip(f"× {block.times}", "equal blocks, one after the other" if block.is_chained else
                 "equal blocks, side by side") if block.times > 1 else None
    yield tag("span", tag("b", block.label or block.kind), " ", tag("span", block.kind, class_="mt-kind")
              if block.kind and block.label else None, times, soft(f" with {', '.join(reads)}") if reads else None,
              soft(f" {piece.extra}") if piece.extra and not block.parts else None)
    yield _values(block)
    parameters, memory, kept, time = map(block.total, ("parameters", "memory", "kept", "time"))
    yield _bar(f"{parameters:,}" if parameters else "", parameters / whole.parameters, "mt-s0")
    yield _bar(size_text(memory) if memory else "", memory / whole.memory, "mt-s1")
    yield tag("span", size_text(kept) if kept else "")
    yield _bar(time_text(time), time / whole.time, "mt-s2")


def _bar(text: str, share: float, look: str) -> Markup:
    return tag("span", text, class_=f"mt-share {look}" if text else None,
               style=f"--v:{min(share, 1):.3f}" if text else None)


def _values(block: Block) -> Markup:
    """Return the extremes of what a block returns, or how many NaN and infinities are in it."""
    values = block.outputs
    scans = [value.scan for value in values if value.scan is not None]
    counts = (("NaN", sum(scan.nans for scan in scans)), ("infinite", sum(scan.infinities for scan in scans)))
    if bad := [f"{count:,} {what}" for what, count in counts if count]:
        return tag("span", f"⚠ {', '.join(bad)}", class_="mt-alert")
    found = [scan for scan in scans if scan.minimum is not None]
    if not found:
        return tag("span")
    low, high = min(scan.minimum for scan in found), max(scan.maximum for scan in found)
    return tag("span", f"{_number(low)} … {_number(high)}")


def _number(value: Any) -> str:
    return number_text(float(value), 3) if value.dtype.kind == "f" else str(value)


def _unreached(step: Step) -> str:
    """Return which modules an exception kept from being called."""
    names = [*step.unreached[:4], *(["…"] if len(step.unreached) > 5 else []), *step.unreached[4:][-1:]]
    return f"not reached: {', '.join(names)}"


def _title(block: Block) -> str:
    """Return the text of a block on hover."""
    step = block.steps[0]
    lines = [f"{block.label} {block.kind}".strip() + (f" × {block.times}" if block.times > 1 else "")]
    lines += [f"module {step.path}"] if step.kind and step.path else []
    lines += [f"{step.kind}({step.extra})"] if step.extra else []
    lines += [f"called at {place_of(step.file, step.line)}"] if step.file else []
    lines += [f"returns {', '.join(map(_type, block.outputs))}"] if block.outputs else []
    if block.times > 1:
        lines.append(f"each: {block.total('parameters') // block.times:,} parameters")
    return "\n".join(lines)


def _error(facts: ForwardFacts) -> Markup | None:
    why = facts.why
    if why is None:
        return None
    fixes = [tag("li", fix.text, " ", tag("code", fix.code) if fix.code else None) for fix in why.fixes[:2]]
    return tag("div", tag("div", tag("b", f"✗ {why.error}"), f" {why.title}"), tag("div", why.cause),
               tag("ul", *fixes) if fixes else None, soft("%why shows the tensors"), class_="mt-error")


def _type(value: Value, dtype: str | None = None) -> str:
    return type_text(value.dtype if dtype is None else dtype, value.shape)


# -- for a terminal ----------------------------------------------------------------------------------------------------


def model_text(facts: ForwardFacts, name: str = "", depth: int | None = None) -> str:
    """Draw what ``%model`` shows for a terminal: a line for each block, with where its tensors come from."""
    level = blocks(facts.steps)
    top = level[0] if len(level) == 1 and level[0].kind else None
    body = top.parts or level if top is not None else level
    opened = _opened(body, depth, ROOM)
    kind = top.kind if top is not None else "calls"
    lines = [f"{name + ': ' if name else ''}{kind}, {_summary(facts, level)}", *_alerts(facts)]
    rows = [("input", "", ", ".join(f"{name} {_type(value)}" for name, value in facts.arguments), *[""] * 4)
            ] if facts.arguments else []
    rows += _text_rows(body, 0, opened, facts)
    if facts.why is not None and top is not None and facts.steps[-1].unreached:
        rows.append((_unreached(facts.steps[-1]), *[""] * 6))
    if facts.results:
        rows.append(("output", "", ", ".join(_type(value) for _, value in facts.results), *[""] * 4))
    head = ("", "", "returns", *COLUMNS[2:])
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    widths[0], widths[2] = min(widths[0], 56), min(widths[2], 40)
    for cells in (head, *rows):
        left = "  ".join(f"{cell[:width]:<{width}}" for cell, width in zip(cells[:3], widths[:3], strict=True))
        right = "  ".join(f"{cell:>{width}}" for cell, width in zip(cells[3:], widths[3:], strict=True))
        lines.append(f"{left}  {right}".rstrip())
    return "\n".join(lines)


def _text_rows(level: Sequence[Block], depth: int, opened: frozenset[int], facts: ForwardFacts
               ) -> Iterator[tuple[str, ...]]:
    for i, block in enumerate(level):
        skips = [level[flow.source].label if flow.source >= 0 else "input" for flow in block.flows
                 if flow.source != i - 1]
        times = f" × {block.times}" if block.times > 1 else ""
        failed = next((step for step in block.steps if step.failed), None)
        kind = f" {block.kind}" if block.kind else ""
        origin = f"← {', '.join(skips)}" if skips else ""
        parameters, memory, kept, time = map(block.total, ("parameters", "memory", "kept", "time"))
        yield ("  " * depth + f"{'✗ ' if failed else ''}{block.label}{kind}{times}", origin,
               ", ".join(map(_type, block.outputs)), f"{parameters:,}" if parameters else "",
               size_text(memory) if memory else "", size_text(kept) if kept else "", time_text(time))
        if id(block) in opened:
            yield from _text_rows(block.parts, depth + 1, opened, facts)
        if failed is not None and failed.unreached:
            yield ("  " * (depth + 1) + _unreached(failed), *[""] * 6)


# -- as one drawing ----------------------------------------------------------------------------------------------------


def model_svg(facts: ForwardFacts, depth: int | None = None) -> Markup:
    """Draw the blocks that ``model_page`` shows as one SVG, side by side where they do not depend on each other."""
    level = blocks(facts.steps)
    top = level[0] if len(level) == 1 and level[0].kind else None
    body = top.parts or level if top is not None else level
    opened = _opened(body, depth, ROOM)
    modules: dict[Any, str] = {}
    seen = list(_visible(body, opened, modules))
    flat = with_flows(seen, _twins(opened, body))
    modules = {i: modules[id(block)] for i, block in enumerate(seen) if modules[id(block)]}
    boxes: dict[Any, Box] = {-1: Box(", ".join(name for name, _ in facts.arguments) or "input", ", ".join(
        _type(value) for _, value in facts.arguments[:3]), "what the model is given", "leaf")}
    edges: list[tuple[Any, Any]] = []
    labels: dict[Any, str] = {}
    for i, block in enumerate(flat):
        boxes[i] = _box(block)
        edges += [(flow.source, i) for flow in block.flows]
        labels[i] = _types([value for flow in block.flows for value in flow.values])
    if facts.results:
        boxes["output"] = Box("output", ", ".join(_type(value) for _, value in facts.results[:3]), "", "root")
        edges += [(flow.source, "output") for flow in sources_of(flat, facts.results, _twins(opened, body))]
    if not any(-1 in edge for edge in edges):
        del boxes[-1]
    told = f"forward pass: {_summary(facts, level)}"
    return draw_boxes(boxes, edges, told, modules, labels)


def _twins(opened: frozenset[int], level: Sequence[Block]) -> dict[int, int]:
    """Return the numbers of the steps that are drawn for those of later pieces of repeated patterns."""
    found: dict[int, int] = {}
    for block in level:
        if id(block) in opened:
            first, size = list(walk(block.piece)), len(block.piece)
            for start in range(size, len(block.steps), size):
                piece = walk(block.steps[start : start + size])
                found.update((step.number, drawn.number) for step, drawn in zip(piece, first, strict=True))
            found |= _twins(opened, block.parts)
    return found


def _visible(level: Sequence[Block], opened: frozenset[int], modules: dict[Any, str]) -> Iterator[Block]:
    """Yield blocks and, for those that are open, their contents; note the module that each is in."""
    for block in level:
        if id(block) in opened:
            name = f"{block.label} × {block.times}" if block.times > 1 else block.steps[0].path
            modules.update((id(part), name) for part in block.parts)
            yield from _visible(block.parts, opened, modules)
        else:
            modules.setdefault(id(block), "")
            yield block


def _box(block: Block) -> Box:
    times = f" × {block.times}" if block.times > 1 else ""
    parameters, memory = block.total("parameters"), block.total("memory")
    said = [block.kind if block.label else "", f"{parameters:,} parameters" if parameters else "",
            size_text(memory) if memory and block.kind else ""]
    look = "stale" if any(step.failed for step in block.steps) else "fold" if block.parts else ""
    error = next((f"✗ {step.error}" for step in block.steps for step in walk([step]) if step.failed and step.error), "")
    return Box(f"{block.label or block.kind}{times}", error or " · ".join(filter(None, said)), _title(block), look,
               HEIGHT if block.kind else LOW)


def _types(values: Sequence[Value]) -> str:
    types = Counter(map(_type, values))
    return ", ".join(f"{count} × {text}" if count > 1 else text for text, count in types.items())

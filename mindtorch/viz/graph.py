"""The autograd graph as a picture: gradients flow from the root at the top to the leaves at the bottom."""
from __future__ import annotations

from ..introspect import GraphFacts, NodeFacts
from .html import Markup, join, page, row, table, tag
from .layered import Placed, layout
from .palette import count_text, mono, shape_text

HEIGHT, PADDING = 38.0, 22.0
FIRST, SECOND = 12.0, 10.5  #: font sizes of a box's two lines
NARROW, WIDE = set("fijlrtI1.,:;'|()[]· "), set("mwMWADGOQ%@—⚠")
ARROW = tag("defs", tag(
    "marker", tag("path", d="M0,0 L8,4 L0,8 z"), id="mt-arrow", viewBox="0 0 8 8", refX="7", refY="4",
    markerWidth="7", markerHeight="7", orient="auto",
))  # fmt: skip


def graph_page(facts: GraphFacts) -> Markup:
    """What ``%graph`` shows."""
    said = tag("div", summary(facts), class_="mt-summary")
    drawn = tag("div", graph_svg(facts), class_="mt-scroll", tabindex="0")
    return page(tag("div", said, drawn, _nodes(facts), class_="mt-box"), kind="graph-page")


def summary(facts: GraphFacts) -> str:
    """The graph in one line."""
    leaves = sum(bool(node.variable) for node in facts.nodes)
    freed = sum(node.freed for node in facts.nodes)
    stale = sum(saved.stale for node in facts.nodes for saved in node.saved)
    parts = [count_text(len(facts.nodes) - leaves, "operator")]
    parts.append("1 leaf" if leaves == 1 else f"{leaves} leaves")
    if freed:
        parts.append(f"{freed} freed by backward (dashed)")
    if stale:
        parts.append(f"⚠ {count_text(stale, 'saved tensor')} written in place since: backward will fail")
    if facts.truncated:
        parts.append(f"{count_text(facts.truncated, 'edge')} to nodes beyond the limit not drawn")
    return " · ".join(parts)


def node_lines(node: NodeFacts) -> tuple[str, str]:
    """The two lines of a node's box."""
    parts = [", ".join(map(shape_text, node.shapes))]
    if node.variable:
        parts.append("leaf, has grad" if node.has_grad else "leaf")
    elif node.freed:
        parts.append("freed")
    else:
        tensors = {saved.tensor or saved.name: saved.stale for saved in node.saved if saved.is_tensor}
        written = ", ".join(name for name, stale in tensors.items() if stale)
        kept = ", ".join(name for name, stale in tensors.items() if not stale)
        parts += [f"⚠ {written} was written"] if written else []
        parts += [f"keeps {kept}"] if kept else []
    parts += [count_text(node.hooks, "hook")] if node.hooks else []
    return node.variable or " = ".join([*node.outputs, node.name]), " · ".join(parts)


def _kept(node: NodeFacts) -> list[str]:
    """What a node keeps for backward, one line each."""
    if node.freed:
        return ["freed by backward"]
    lines = []
    for saved in node.saved:
        version = "" if saved.version is None else f", version {saved.version}"
        note = ", written in place since" if saved.stale else ""
        tensor = f"{saved.tensor}: " if saved.tensor else ""
        lines.append(f"{saved.name} = {tensor}{saved.text}{version}{note}")
    return lines


def _nodes(facts: GraphFacts) -> Markup:
    """The nodes as a table: what the picture has no room for."""
    names = {node.identity: node_lines(node)[0] for node in facts.nodes}
    rows = []
    for node in facts.nodes:
        types = (f"{dtype}{shape_text(shape)}" for dtype, shape in zip(node.dtypes, node.shapes, strict=True))
        goals = (names[edge[0]] for edge in node.edges if edge is not None and edge[0] in names)
        kept = join(tag("div", mono(line)) for line in _kept(node))
        name, hooks = tag("b", names[node.identity]), node.hooks or ""
        rows.append(row(name, mono(", ".join(types)), kept, hooks, ", ".join(goals)))
    head = ("node", "of", "kept for backward", "hooks", "gradients go to")
    listed = table(head, rows, count_text(len(rows), "node"))
    return tag("details", tag("summary", "the nodes as a table"), listed)


def _width(text: str, size: float) -> float:
    """About how many pixels a text takes."""
    return size * sum(0.4 if c in NARROW else 0.85 if c in WIDE else 0.62 for c in text)


def graph_svg(facts: GraphFacts) -> Markup:
    """The graph as SVG."""
    lines = {node.identity: node_lines(node) for node in facts.nodes}
    widths = {i: max(_width(a, FIRST * 1.08), _width(b, SECOND)) for i, (a, b) in lines.items()}
    goals = {node.identity: [edge[0] for edge in node.edges if edge is not None] for node in facts.nodes}
    edges = [(start, goal) for start, found in goals.items() for goal in found if goal in goals]
    placed = layout({i: (width + PADDING, HEIGHT) for i, width in widths.items()}, edges)
    drawn = [tag("path", d=_curve(points), marker_end="url(#mt-arrow)") for points in placed.paths.values()]
    for node in facts.nodes:
        is_root = node.identity == facts.root
        drawn.append(_box(node, placed.boxes[node.identity], is_root, *lines[node.identity]))
    width, height = f"{placed.width:.0f}", f"{placed.height:.0f}"
    return tag(
        "svg", ARROW, *drawn, class_="mt-graph", role="img", aria_label=f"autograd graph: {summary(facts)}",
        width=width, height=height, viewBox=f"0 0 {width} {height}",
    )  # fmt: skip


def _box(node: NodeFacts, box: Placed, is_root: bool, first: str, second: str) -> Markup:
    kinds = {
        "leaf": bool(node.variable), "root": is_root and not node.variable, "freed": node.freed,
        "stale": any(saved.stale for saved in node.saved),
    }  # fmt: skip
    x, left, top = f"{box.x:.1f}", f"{box.x - box.width / 2:.1f}", f"{box.y - HEIGHT / 2:.1f}"
    round_ = "14" if node.variable else "5"
    return tag(
        "g",
        tag("title", "\n".join([node.name, *_kept(node)])),
        tag("rect", x=left, y=top, width=f"{box.width:.1f}", height=HEIGHT, rx=round_),
        tag("text", first, x=x, y=f"{box.y - 3:.1f}"),
        tag("text", second, class_="soft", x=x, y=f"{box.y + 12:.1f}"),
        class_=" ".join(kind for kind, holds in kinds.items() if holds) or None,
    )


def _curve(points: list[tuple[float, float]]) -> str:
    """A smooth line through points, from a box's lower edge to the next box's upper edge."""
    (x, y), *rest = points
    y += HEIGHT / 2
    rest[-1] = rest[-1][0], rest[-1][1] - HEIGHT / 2 - 1
    path = f"M{x:.1f},{y:.1f}"
    for i, (x1, y1) in enumerate(rest):
        if abs(x1 - x) >= 0.5:
            middle = (y + y1) / 2
            path += f" C{x:.1f},{middle:.1f} {x1:.1f},{middle:.1f} {x1:.1f},{y1:.1f}"
            x = x1
        elif i == len(rest) - 1 or abs(rest[i + 1][0] - x) >= 0.5:  # a straight piece ends here
            path += f" V{y1:.1f}"
        y = y1
    return path


def graph_text(facts: GraphFacts) -> str:
    """The same for a terminal: an indented tree; a node that was shown already is named only."""
    by_identity = {node.identity: node for node in facts.nodes}
    lines: list[str] = []
    seen: set[int] = set()
    stack = [(facts.root, 0)]
    while stack:
        identity, depth = stack.pop()
        node = by_identity.get(identity)
        if node is None:
            continue
        first, second = node_lines(node)
        again = identity in seen
        lines.append(f"{'  ' * depth}{first}  {'(see above)' if again and not node.variable else second}")
        if not again:
            seen.add(identity)
            stack.extend((edge[0], depth + 1) for edge in reversed(node.edges) if edge is not None)
    return "\n".join([summary(facts), *lines])

"""The autograd graph as a picture: gradients flow from the root at the top to the leaves at the bottom."""
from __future__ import annotations

from ..introspect import GraphFacts, NodeFacts
from .html import Markup, escape, page, tag
from .layered import layout

CHARACTER, PADDING = 6.9, 18.0
ARROW = Markup(
    '<defs><marker id="mt-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0,0 L8,4 L0,8 z"/></marker></defs>'
)


def graph_page(facts: GraphFacts) -> Markup:
    """What ``%graph`` shows."""
    return page(tag("div", tag("div", summary(facts), class_="mt-summary"), tag("div", graph_svg(facts), class_="mt-scroll"),
                    class_="mt-box"), kind="graph-page")


def summary(facts: GraphFacts) -> str:
    """The graph in one line."""
    leaves = sum(bool(n.variable) for n in facts.nodes)
    freed = sum(n.freed for n in facts.nodes)
    parts = [f"{len(facts.nodes) - leaves} operators, {leaves} {'leaf' if leaves == 1 else 'leaves'}"]
    if freed:
        parts.append(f"{freed} freed by backward (dashed)")
    stale = sum(any(s.stale for s in n.saved) for n in facts.nodes)
    if stale:
        parts.append(f"⚠ {stale} with a saved tensor that was written in place since")
    if facts.truncated:
        parts.append(f"{facts.truncated} edges lead to nodes beyond the limit, which are not drawn")
    return " · ".join(parts)


def node_lines(node: NodeFacts) -> tuple[str, str]:
    """The two lines of a node's box."""
    shapes = ", ".join(f"[{', '.join(map(str, s))}]" for s in node.shapes)
    if node.variable:
        return node.variable, f"{shapes} leaf{', has grad' if node.has_grad else ''}{_hooks(node)}"
    saved = f" · saved {', '.join(s.name for s in node.saved)}" if node.saved else ""
    name = f"{' = '.join(node.outputs)} = {node.name}" if node.outputs else node.name
    return name, f"{shapes}{' · freed' if node.freed else saved}{_hooks(node)}"


def _hooks(node: NodeFacts) -> str:
    return f" · {node.hooks} hook{'s' if node.hooks > 1 else ''}" if node.hooks else ""


def _explanation(node: NodeFacts) -> str:
    lines = [node.name]
    for saved in node.saved:
        version = "" if saved.version is None else f", version {saved.version}"
        note = " (written in place since: backward will fail)" if saved.stale else ""
        lines.append(f"saved {saved.name}: {saved.tensor or saved.text}{version}{note}")
    if node.freed:
        lines.append("what it had saved was freed by backward")
    if node.hooks:
        lines.append(f"{node.hooks} hook(s)")
    return "\n".join(lines)


def graph_svg(facts: GraphFacts) -> Markup:
    """The graph as SVG."""
    lines = {node.identity: node_lines(node) for node in facts.nodes}
    sizes = {i: (max(len(a) * CHARACTER * 1.06, len(b) * CHARACTER * 0.86) + PADDING, 38.0) for i, (a, b) in lines.items()}
    edges = [(node.identity, edge[0]) for node in facts.nodes for edge in node.edges if edge is not None and edge[0] in sizes]
    placed = layout(sizes, edges)
    drawn = []
    for (_, head), points in placed.paths.items():
        drawn.append(tag("path", d=_curve(points, placed.boxes[head].height / 2), marker_end="url(#mt-arrow)"))
    for node in facts.nodes:
        box = placed.boxes[node.identity]
        kind = "leaf" if node.variable else "root" if node.identity == facts.root else ""
        kind += " freed" if node.freed else ""
        kind += " stale" if any(s.stale for s in node.saved) else ""
        first, second = lines[node.identity]
        drawn.append(tag(
            "g", tag("title", _explanation(node)),
            tag("rect", x=f"{box.x - box.width / 2:.1f}", y=f"{box.y - box.height / 2:.1f}", width=f"{box.width:.1f}",
                height=f"{box.height:.1f}", rx="14" if node.variable else "5"),
            tag("text", first, x=f"{box.x:.1f}", y=f"{box.y - 3:.1f}", text_anchor="middle", font_weight="600" if node.variable else None),
            tag("text", second, x=f"{box.x:.1f}", y=f"{box.y + 12:.1f}", text_anchor="middle", class_="soft"),
            class_=kind.strip() or None, tabindex="0",
        ))  # fmt: skip
    label = f"autograd graph: {summary(facts)}"
    return Markup(
        f'<svg class="mt-graph" role="img" aria-label="{escape(label)}" width="{placed.width:.0f}" height="{placed.height:.0f}" '
        f'viewBox="0 0 {placed.width:.0f} {placed.height:.0f}">{ARROW}{"".join(drawn)}</svg>'
    )


def _curve(points: list[tuple[float, float]], stop: float) -> str:
    """A smooth line through points, from a box's lower edge to the next box's upper edge."""
    (x0, y0), *rest = points
    y0 += 19.0
    path = f"M{x0:.1f},{y0:.1f}"
    for i, (x1, y1) in enumerate(rest):
        end = y1 - stop - 1 if i == len(rest) - 1 else y1
        middle = (y0 + end) / 2
        path += f" C{x0:.1f},{middle:.1f} {x1:.1f},{middle:.1f} {x1:.1f},{end:.1f}"
        x0, y0 = x1, end
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
        lines.append(f"{'  ' * depth}{first}{'  (see above)' if again and not node.variable else f'  {second}'}")
        if not again:
            seen.add(identity)
            stack.extend((edge[0], depth + 1) for edge in reversed(node.edges) if edge is not None)
    return "\n".join([summary(facts), *lines])

"""The autograd graph as a page and as text; a large one is folded by module, each fold with a picture of its own."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..introspect import Fold, GraphFacts, NodeFacts, folded, modules_of, unfolded
from .graph_picture import FEW, Picture, fold_title, formula_lines, hook_lines, kept_lines, node_lines
from .html import Markup, join, page, row, table, tag
from .palette import breakable, count_text, mono, soft, type_text

BOXES = 240  #: at most that the pictures of one page have
MAX_ROWS = 80  #: at most of the table of nodes


def graph_page(facts: GraphFacts) -> Markup:
    """Draw what ``%graph`` shows."""
    parts = folded(facts)
    picture = Picture(facts)
    said = tag("div", summary(facts), class_="mt-summary")
    drawn = tag("div", picture.draw(parts, f"autograd graph: {summary(facts)}"), class_="mt-scroll", tabindex="0")
    inside = _Folds(picture, BOXES - len(parts)).pages(parts, is_top=True)
    legend = tag("div", *(tag("span", tag("b", mark), f" {meaning}") for mark, meaning in legend_of(facts)),
                 class_="mt-legend", plain="")
    return page(tag("div", said, drawn, legend, inside, _nodes(facts), class_="mt-box"), kind="graph-page",
                sheet="graph")


def graph_svg(facts: GraphFacts) -> Markup:
    """Draw the whole graph as one SVG, with nothing folded."""
    operators = [node.identity for node in facts.nodes if not node.variable]
    return Picture(facts).draw(operators, f"autograd graph: {summary(facts)}")


def legend_of(facts: GraphFacts) -> Iterator[tuple[str, str]]:
    """Yield the marks of this graph's picture with their meanings."""
    nodes = facts.nodes
    goals = [[edge[0] for edge in node.edges if edge is not None] for node in nodes]
    saved = [saved for node in nodes for saved in node.saved]
    marks = [
        ("arrow", "where a gradient goes, from the result down to the leaves", True),
        ("two arrows", "the same tensor is used twice: its gradients add up",
         any(len(to) > len(set(to)) for to in goals)),
        ("to x: …", "the gradient with respect to input x: grad arrives from above, result is the output, others are "
         "kept tensors", any(node.formulas for node in nodes)),
        ("[2, 3]", "the shape of the output", any(node.shapes for node in nodes)), ("[]", "a single number",
         any(() in node.shapes for node in nodes)),
        ("[], []", "the operator has two outputs", any(len(node.shapes) > 1 for node in nodes)),
        ("keeps x", "a tensor kept from the forward pass, since the formula needs it",
         any(kept.is_tensor for kept in saved)),
        ("rounded, green", "a leaf: its gradient stays in .grad", any(node.variable for node in nodes)),
        ("ƒ name", "a hook: backward calls this function with the gradient", any(node.hooks for node in nodes)),
        ("coloured ground", "a module and its parameters", len(nodes) <= FEW and bool(modules_of(facts))),
        ("dashed", "backward has freed the kept tensors", any(node.freed for node in nodes)),
        ("⚠", "a kept tensor has been written in place since", any(kept.stale for kept in saved)),
    ]
    return ((mark, meaning) for mark, meaning, is_there in marks if is_there)


def summary(facts: GraphFacts) -> str:
    """Summarise the graph in one line."""
    leaves = [node for node in facts.nodes if node.variable]
    freed = sum(node.freed for node in facts.nodes)
    stale = sum(saved.stale for node in facts.nodes for saved in node.saved)
    graded = sum(leaf.has_grad for leaf in leaves)
    kept = "" if not graded else ", has grad" if graded == len(leaves) == 1 else f", {graded} with grad"
    count = "1 leaf" if len(leaves) == 1 else f"{len(leaves)} leaves"
    parts = [count_text(len(facts.nodes) - len(leaves), "operator"), count + kept]
    if freed:
        parts.append(f"{freed} freed by backward (dashed)")
    if stale:
        parts.append(f"⚠ {count_text(stale, 'saved tensor')} written in place since: backward will fail")
    if facts.truncated:
        parts.append(f"{count_text(facts.truncated, 'edge')} to nodes beyond the limit not drawn")
    return " · ".join(parts)


class _Folds:
    """The pictures of what is folded, as long as there is room on the page."""

    def __init__(self, picture: Picture, room: int):
        self.picture, self.room = picture, room

    def pages(self, parts: Sequence[int | Fold], is_top: bool = False) -> Markup:
        """Draw the insides of folds, to be unfolded; the largest top-level one is open."""
        folds = [part for part in parts if isinstance(part, Fold)]
        largest = max(folds, key=lambda fold: len(fold.nodes), default=None) if is_top else None
        return join(self._page(fold, fold is largest) for fold in folds)

    def _page(self, fold: Fold, is_open: bool) -> Markup:
        states = " · ".join(self.picture.fold_states(fold))
        title = tag("summary", tag("b", fold_title(fold)), soft(f" · {states}"))
        return tag("details", title, self._inside(fold), open="" if is_open else None, class_="mt-fold")

    def _inside(self, fold: Fold) -> Markup:
        parts = unfolded(fold.parts)
        if self.room < len(parts):
            return tag("div", "not drawn: the graph is too large for one page", class_="mt-soft")
        self.room -= len(parts)
        note = f"one of {fold.times} that are alike but for the numbers in names" if fold.times > 1 else None
        drawn = tag("div", self.picture.draw(parts, fold_title(fold), fold), class_="mt-scroll", tabindex="0")
        return join([tag("div", note, class_="mt-soft") if note else None, drawn, self.pages(parts)])


def _nodes(facts: GraphFacts) -> Markup:
    """Draw the nodes as a table, with what the picture has no room for."""
    names = {node.identity: node_lines(node)[0] for node in facts.nodes}
    rows = []
    for node in facts.nodes[:MAX_ROWS]:
        types = ", ".join(map(type_text, node.dtypes, node.shapes))
        goals = (names[edge[0]] for edge in node.edges if edge is not None and edge[0] in names)
        kept = join(tag("div", mono(line), class_="mt-breaks") for line in kept_lines(node))
        formulas = join(tag("div", mono(line), class_="mt-breaks") for line in formula_lines(node))
        hooks = join(tag("div", mono(line.removeprefix("hook "))) for line in hook_lines(node))
        rows.append((tag("b", names[node.identity]), mono(types), formulas, kept, hooks,
                     breakable(", ".join(goals))))
    count = count_text(len(facts.nodes), "node")
    if len(rows) < len(facts.nodes):
        count += f", of which the latest {len(rows)} are listed"
    head = ("node", "of", "computes", "kept for backward", "hooks", "gradients go to")
    told = [i for i in range(len(head)) if any(cells[i] for cells in rows)]  # PyTorch's nodes tell no formulas
    body = [row(*(cells[i] for i in told)) for cells in rows]
    return tag("details", tag("summary", "the nodes as a table"), table([head[i] for i in told], body, count))


def graph_text(facts: GraphFacts) -> str:
    """Draw the graph for a terminal, as an indented tree; what is folded is a list, with one entry for all alike."""
    parts = folded(facts)
    is_folded = any(isinstance(part, Fold) for part in parts)
    return "\n".join([summary(facts), *(_fold_lines(parts, Picture(facts), 0) if is_folded else _tree_lines(facts))])


def _fold_lines(parts: Sequence[int | Fold], picture: Picture, depth: int) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Fold):
            yield f"{'  ' * depth}{fold_title(part)}  {' · '.join(picture.fold_states(part))}"
            yield from _fold_lines(unfolded(part.parts), picture, depth + 1)
        else:
            yield _line(picture.nodes[part], depth)
            yield from (_line(leaf, depth + 1) for leaf in picture.leaves([part]))


def _line(node: NodeFacts, depth: int) -> str:
    return "  " * depth + "  ".join([*node_lines(node), *formula_lines(node)])


def _tree_lines(facts: GraphFacts) -> Iterator[str]:
    """Yield an indented tree; a repeated node is only named."""
    by_identity = {node.identity: node for node in facts.nodes}
    seen: set[int] = set()
    stack = [(facts.root, 0)]
    while stack:
        identity, depth = stack.pop()
        node = by_identity.get(identity)
        if node is None:
            continue
        if identity in seen and not node.variable:
            yield f"{'  ' * depth}{node_lines(node)[0]}  (see above)"
            continue
        yield _line(node, depth)
        if identity not in seen:
            seen.add(identity)
            stack.extend((edge[0], depth + 1) for edge in reversed(node.edges) if edge is not None)

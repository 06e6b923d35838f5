"""One picture of an autograd graph, or of a fold of it: gradients flow from the top to the leaves at the bottom."""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..introspect import Fold, GraphFacts, NodeFacts, modules_of
from .html import Markup, tag
from .layered import Layout, Placed, layout
from .palette import BLUE, GREEN, INK, PANEL, PAPER, QUIET, WARN, count_text, shape_text, storage_class, storage_colour

HEIGHT, PADDING = 38.0, 22.0
LOW = 22.0  #: the height of a box that stands for what is outside
WIDEST, FORMULA = 46, 52  #: characters at most of a box's line, and of a formula in it
FIRST, SECOND = 12.0, 10.5  #: font sizes of a box's two lines
LINE, MONO = 14.0, 6.35  #: a formula's height, and about the width of a character of it
MOST_FORMULAS, MOST_ARROWS = 3, 4  #: formulas at most in a box, arrows at most from one box to another
APART, AROUND = 12.0, 7.0  #: pixels between such arrows; from a box to the edge of its module's ground
BESIDE, LETTER = 9.0, 6.8  #: pixels from an arrow to the name of a module, and a character of it, about
TOLD = 24  #: boxes at most that a picture's text alternative tells of
FEW = 48  #: nodes at most of a graph in which modules are drawn
WORD = re.compile(r"(?<!\.)\b[a-z_]\w*")
LAYOUT = re.compile(r", \w+_(shape|stride|dtype|device|offset)\b")  #: what a box leaves to the table
NARROW, WIDE = set("fijlrtI1.,:;'|()[]· "), set("mwMWADGOQ%@—⚠×")
ARROW = tag("defs", tag("marker", tag("path", d="M0,0 L8,4 L0,8 z"), id="mt-arrow", viewBox="0 0 8 8", refX="7",
                        refY="4", markerWidth="7", markerHeight="7", orient="auto", fill=QUIET, stroke="none"))
#: A frame's colour and width by the look of its box, the first that fits.
FRAMES = {"stale": (WARN, "2.5"), "fold": (INK, "1.5"), "leaf": (GREEN, "2"), "root": (BLUE, "2.5"),
          "port": ("none", "0")}


@dataclass(frozen=True)
class Box:
    """The looks of a box: its two lines, its text on hover, and the style sheet's classes."""

    first: str
    second: str
    title: str
    look: str
    height: float = HEIGHT
    formulas: tuple[str, ...] = ()


class Picture:
    """A graph's facts, ready for drawing some of it: which node leads to which, both ways."""

    def __init__(self, facts: GraphFacts):
        self.root = facts.root
        self.modules = modules_of(facts) if len(facts.nodes) <= FEW else {}
        self.nodes = {node.identity: node for node in facts.nodes}
        self.goals = {node.identity: [edge[0] for edge in node.edges if edge is not None and edge[0] in self.nodes]
                      for node in facts.nodes}
        self.sources: dict[int, list[int]] = {}
        for start, goals in self.goals.items():
            for goal in goals:
                self.sources.setdefault(goal, []).append(start)

    def leaves(self, identities: Sequence[int]) -> list[NodeFacts]:
        """Return the leaves that operators lead to, each once."""
        goals = dict.fromkeys(goal for identity in identities for goal in self.goals[identity])
        return [self.nodes[goal] for goal in goals if self.nodes[goal].variable]

    def draw(self, parts: Sequence[int | Fold], label: str, around: Fold | None = None) -> Markup:
        """Draw some parts, inside the fold ``around`` them if there is one."""
        boxes: dict[object, Box] = {}
        owner: dict[int, object] = {}
        for number, part in enumerate(parts):
            if isinstance(part, Fold):
                owner.update(dict.fromkeys(part.nodes, ("fold", number)))
                boxes["fold", number] = self._fold(part)
            else:
                owner[part] = part
                boxes[part] = self._node(self.nodes[part])
        root = self.nodes[self.root]
        alone = [root] if root.variable else []
        for leaf in self.leaves([part for part in parts if not isinstance(part, Fold)]) or alone:
            owner[leaf.identity] = leaf.identity
            boxes[leaf.identity] = self._node(leaf)
        goals: Mapping[Any, list[Any]] = self.goals
        edges = [edge for edge in self._edges(owner, boxes, around)
                 for _ in range(min(MOST_ARROWS, goals.get(edge[0], []).count(edge[1])) or 1)]
        return draw_boxes(boxes, edges, f"{label}. {_told(boxes, dict.fromkeys(edges))}",
                          self.modules if around is None else {})

    def _edges(self, owner: dict[int, object], boxes: dict[object, Box],
               around: Fold | None) -> list[tuple[object, object]]:
        """Return the edges between boxes, adding boxes for neighbours outside the picture."""
        found: dict[tuple[object, object], None] = {}
        for node, key in owner.items():
            for goal in self.goals[node]:
                if goal in owner:
                    found[key, owner[goal]] = None
                elif not self.nodes[goal].variable:
                    found[key, self._outside(goal, "to", around, boxes)] = None
            for source in self.sources.get(node, ()):
                if source not in owner and not self.nodes[node].variable:
                    found[self._outside(source, "from", around, boxes), key] = None
        return [edge for edge in found if edge[0] != edge[1]]

    def _outside(self, identity: int, way: str, around: Fold | None, boxes: dict[object, Box]) -> object:
        """Add the box of a neighbour outside the picture, and return its key."""
        name = self.nodes[identity].name
        if around is not None and around.times > 1 and identity in around.nodes:
            name = f"the next of {around.times}" if way == "to" else f"the one before of {around.times}"
        boxes[way, name] = Box(f"{way} {name}", "", "outside of this fold", "port", LOW)
        return way, name

    def _node(self, node: NodeFacts) -> Box:
        kinds = {"leaf": bool(node.variable), "root": node.identity == self.root and not node.variable,
                 "freed": node.freed, "stale": any(saved.stale for saved in node.saved)}
        look = " ".join(kind for kind, holds in kinds.items() if holds)
        formulas = tuple(formula_lines(node))
        shown = tuple(whole_words(LAYOUT.sub("", line), FORMULA) for line in formulas[:MOST_FORMULAS])
        title = "\n".join([node.name, *formulas, *kept_lines(node), *hook_lines(node)])
        return Box(*node_lines(node, WIDEST), title, look, HEIGHT + LINE * len(shown), shown)

    def _fold(self, fold: Fold) -> Box:
        states = list(self.fold_states(fold))
        stale = any(saved.stale for node in fold.nodes for saved in self.nodes[node].saved)
        first, second = fold_title(fold, WIDEST), " · ".join(states)
        look = "fold" + " freed" * ("freed" in states) + " stale" * stale
        return Box(first, second, f"{first}\n{second}\nunfold it below", look)

    def fold_states(self, fold: Fold) -> Iterator[str]:
        """Yield remarks on a fold's nodes."""
        nodes, leaves = [self.nodes[node] for node in fold.nodes], self.leaves(fold.nodes)
        yield count_text(len(nodes), "node")
        if leaves:
            graded = sum(leaf.has_grad for leaf in leaves)
            kept = "" if not graded else ", have grad" if graded == len(leaves) else f", {graded} have grad"
            yield ("1 leaf" if len(leaves) == 1 else f"{len(leaves)} leaves") + kept
        freed, hooks = sum(node.freed for node in nodes), sum(len(node.hooks) for node in (*nodes, *leaves))
        stale = sum(saved.stale for node in nodes for saved in node.saved)
        if freed:
            keeps = any(saved.is_tensor for node in nodes for saved in node.saved)
            yield f"{freed} freed" if keeps else "freed"
        if hooks:
            yield f"ƒ {count_text(hooks, 'hook')}"
        if stale:
            yield f"⚠ {count_text(stale, 'saved tensor')} written since"


def draw_boxes(boxes: Mapping[Any, Box], edges: Sequence[tuple[Any, Any]], told: str,
               modules: Mapping[Any, str] | None = None, labels: Mapping[Any, str] | None = None) -> Markup:
    """Draw boxes and the arrows between them, which lead down: an arrow for each time that an edge is listed. ``told``
    is the picture in words; boxes of a module stand on its ground; ``labels`` stand above boxes, where arrows end.
    """
    placed = layout({key: (_width(box), box.height) for key, box in boxes.items()}, list(dict.fromkeys(edges)))
    heights = {key: box.height for key, box in boxes.items()}
    drawn = list(_modules(modules or {}, placed, heights, bool(labels)))
    for (start, goal), line in placed.paths.items():
        arrows = edges.count((start, goal))
        for i in range(arrows):
            shift = APART * (i - (arrows - 1) / 2)
            curve = _curve([(x + shift, y) for x, y in line], heights[start], heights[goal])
            drawn.append(tag("path", d=curve, marker_end="url(#mt-arrow)"))
    drawn += [_draw(box, placed.boxes[key]) for key, box in boxes.items()]
    for key, label in (labels or {}).items():
        at = placed.boxes[key]
        x, y = f"{at.x + BESIDE:.1f}", f"{at.y - at.height / 2 - 6:.1f}"
        drawn.append(tag("text", label, class_="soft edge", x=x, y=y, font_size="10.5", fill=QUIET, stroke="none",
                         text_anchor="start"))
    width, height = f"{placed.width:.0f}", f"{placed.height:.0f}"
    paper = tag("polygon", points=f"0,0 {width},0 {width},{height} 0,{height}", fill=PAPER, stroke="none")
    return tag("svg", ARROW, paper, *drawn, class_="mt-graph", role="img", aria_label=told, width=width,
               height=height, style=f"--width:{width}", viewBox=f"0 0 {width} {height}", fill="none", stroke=QUIET,
               stroke_width="1.2", text_anchor="middle", font_family="system-ui, sans-serif", font_size="12")


def _modules(modules: Mapping[Any, str], placed: Layout, heights: Mapping[Any, float], has_labels: bool
             ) -> Iterator[Markup]:
    """Draw the coloured ground of each module: behind its boxes and the lines between them."""
    names = dict.fromkeys(name for key, name in modules.items() if key in placed.boxes)
    for number, name in enumerate(names):
        inside = {key: at for key, at in placed.boxes.items() if modules.get(key) == name}
        ground = [tag("rect", x=f"{at.x - at.width / 2 - AROUND:.1f}", y=f"{at.y - at.height / 2 - AROUND:.1f}",
                      width=f"{at.width + 2 * AROUND:.1f}", height=f"{at.height + 2 * AROUND:.1f}", rx=2 * AROUND)
                  for at in inside.values()]
        ground += [tag("path", d=_curve(line, heights[start], heights[goal]), fill="none", stroke_width="22")
                   for (start, goal), line in placed.paths.items() if start in inside and goal in inside]
        first, top = min(inside.items(), key=lambda one: (one[1].y, one[1].x))
        length = BESIDE + LETTER * len(name)
        from_right = has_labels or any(
            line[-2][0] > top.x for (_, goal), line in placed.paths.items() if goal == first)
        is_left = top.x + length > placed.width or (from_right and top.x > length)  # of the arrow from above
        colour, above = storage_colour(number), 15 if has_labels and not is_left else 3
        label = tag("text", name, class_="module left" if is_left else "module",
                    x=f"{top.x + (-BESIDE if is_left else BESIDE):.1f}",
                    y=f"{top.y - top.height / 2 - AROUND - above:.1f}", fill=colour, stroke="none", font_size="11",
                    font_weight="650", text_anchor="end" if is_left else "start")
        grounds = tag("g", *ground, class_="ground", fill=colour, stroke=colour, opacity="0.16")
        yield tag("g", tag("title", f"module {name}"), grounds, label, class_=f"in {storage_class(number)}")


def _told(boxes: Mapping[object, Box], edges: Iterable[tuple[object, object]]) -> str:
    """Describe a picture in words: each box, and where gradients flow from it."""
    said = []
    for key, box in list(boxes.items())[:TOLD]:
        goals = ", ".join(boxes[goal].first for start, goal in edges if start == key)
        about = "; ".join([*([box.second] if box.second else []), *box.formulas])
        said.append(f"{box.first}{f' ({about})' if about else ''}{f' sends gradients to {goals}' if goals else ''}")
    return ". ".join([*said, *([f"And {len(boxes) - TOLD:,} more"] if len(boxes) > TOLD else [])])


def fold_title(fold: Fold, room: int = 200) -> str:
    """Title a fold in at most ``room`` characters."""
    times = f" × {fold.times}" if fold.times > 1 else ""
    return _clipped(fold.label, room - len(times)) + times


def node_lines(node: NodeFacts, room: int = 200) -> tuple[str, str]:
    """Return the two lines of a node's box; names in the first take about ``room`` characters."""
    parts = [", ".join(map(shape_text, node.shapes))]
    if node.variable:
        parts.append("leaf, has grad" if node.has_grad else "leaf")
    elif node.freed:
        parts += ["freed", "has grad"] if node.has_grad else ["freed"]
    else:
        tensors = {saved.tensor or saved.name: saved.stale for saved in node.saved if saved.is_tensor}
        written = ", ".join(name for name, stale in tensors.items() if stale)
        kept = ", ".join(name for name, stale in tensors.items() if not stale)
        parts += [f"⚠ {written} was written"] if written else []
        parts += [f"keeps {kept}"] if kept else []
        parts += ["has grad"] if node.has_grad else []
    parts += [_hooks(node, room)] if node.hooks else []
    return node.variable or _computed(node, room), " · ".join(parts)


def _hooks(node: NodeFacts, room: int) -> str:
    """Name a node's hooks, or count them if the names take more than half of the room."""
    names = f"ƒ {', '.join(hook.name.rpartition('.')[2] for hook in node.hooks)}"
    return names if len(names) <= room // 2 else f"ƒ {count_text(len(node.hooks), 'hook')}"


def hook_lines(node: NodeFacts) -> list[str]:
    """List the hooks on a node's gradients with their places."""
    return [f"hook {hook.name}" + (f", {hook.place}" if hook.place else "") for hook in node.hooks]


def _computed(node: NodeFacts, room: int) -> str:
    """Write ``a, b = SplitBackward0``, or ``x = y = AddBackward0`` for several names of one output."""
    joint = ", " if len(node.shapes) > 1 else " = "
    names, left = list(node.outputs), room - len(node.name) - 3
    while len(names) > 1 and len(joint.join(names)) > left:
        names = [*names[: -1 if names[-1] != "…" else -2], "…"]
    return f"{_clipped(joint.join(names), left)} = {node.name}" if names else node.name


def kept_lines(node: NodeFacts) -> list[str]:
    """List what a node saves for backward."""
    if node.freed:
        return ["freed by backward"]
    lines = []
    for saved in node.saved:
        version = "" if saved.version is None else f", version {saved.version}"
        note = ", written in place since" if saved.stale else ""
        tensor = f"{saved.tensor}: " if saved.tensor else ""
        lines.append(f"{saved.name} = {tensor}{saved.text}{version}{note}")
    return lines


def formula_lines(node: NodeFacts) -> list[str]:
    """List the formulas for a node's inputs, with saved tensors' names filled in."""
    known = {saved.name: saved.tensor for saved in node.saved if saved.tensor}
    return [f"to {names}: {WORD.sub(lambda word: known.get(word[0], word[0]), formula)}"
            for names, formula in node.formulas]


def whole_words(text: str, room: int) -> str:
    """Cut a long text between words."""
    if len(text) <= room:
        return text
    end = max(text.rfind(sign, 0, room - 1) for sign in " ,([")
    return f"{text[: end if end > 0 else room - 1].rstrip(' ,')}{'(' if text[end] == '(' else ''}…"


def _clipped(text: str, room: int = WIDEST) -> str:
    return text if len(text) <= room else text[: max(room, 8) - 1] + "…"


def _width(box: Box) -> float:
    """About how many pixels a box needs."""

    def length(text: str, size: float) -> float:
        return size * sum(0.4 if c in NARROW else 0.85 if c in WIDE else 0.62 for c in _clipped(text))

    widest = max((MONO * len(line) for line in box.formulas), default=0.0)
    return max(length(box.first, FIRST * 1.08), length(box.second, SECOND), widest) + PADDING


def _draw(box: Box, at: Placed) -> Markup:
    left, top, width = at.x - at.width / 2, at.y - at.height / 2, f"{at.width:.1f}"
    size = {"width": width, "height": f"{at.height:.0f}", "rx": "14" if "leaf" in box.look else "5"}
    behind = None
    if box.look.startswith("fold"):  # as a stack of cards
        behind = tag("rect", class_="behind", fill=PANEL, x=f"{left + 4:.1f}", y=f"{top + 4:.1f}", **size)
    x, clips = f"{at.x:.1f}", max(len(box.first), len(box.second)) > WIDEST
    middle = at.y - LINE * len(box.formulas) / 2
    frame, thick = next((FRAMES[look] for look in FRAMES if look in box.look.split()), (None, None))
    first = tag("text", _clipped(box.first), x=x, y=f"{middle + (-3 if box.second else 4):.1f}")
    second = tag("text", _clipped(box.second), class_="soft", x=x, y=f"{middle + 12:.1f}", font_size="10.5",
                 fill=WARN if "stale" in box.look else QUIET) if box.second else None
    formulas = (tag("text", line, class_="formula", x=x, y=f"{middle + 12 + LINE * (i + 1):.1f}", font_size="10.5",
                    font_family="monospace") for i, line in enumerate(box.formulas))
    return tag("g", tag("title", "\n".join([box.first, box.second, box.title]) if clips else box.title), behind,
               tag("rect", x=f"{left:.1f}", y=f"{top:.1f}", fill="none" if box.look == "port" else PANEL, stroke=frame,
                   stroke_width=thick, stroke_dasharray="4 3" if "freed" in box.look else None, **size),
               tag("g", first, second, *formulas, fill=INK, stroke="none"), class_=box.look or None)


def _curve(points: list[tuple[float, float]], above: float, below: float) -> str:
    """Return a smooth path from the lower edge of a box to the upper edge of the next, of these heights."""
    (x, y), *rest = points
    y += above / 2
    rest[-1] = rest[-1][0], rest[-1][1] - below / 2 - 1
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

"""Folds a large graph by module: which nodes are shown as one, so that a picture of it can be read.

A node belongs to the module whose parameters it reads, as their names tell; a node between two such belongs to what
their modules have in common. So nothing has to be recorded while a program runs. A fold is a run of nodes in the order
in which they were made, and a graph of such runs has no cycles.
"""
from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from .graph import GraphFacts, NodeFacts
from .repeats import pattern, repeats, span

FLAT = 48  #: nodes at most of a graph that is not folded
ROOM = 20  #: nodes and folds at most, about, of one picture of a graph that is
SMALL, SPARE = 3, 4  #: a fold of so few nodes hides nothing worth a click: so much more room is there for them
#: What may stand between a parameter and the operator that reads it.
LAYOUT = frozenset(
    f"{name}Backward0" for name in ("T", "Transpose", "Permute", "View", "UnsafeView", "Unsqueeze", "Expand", "ToCopy"))
WORTH = 6  #: operators at least that repetitions have in all, to be shown as one
LAYOUTS = 8  #: such operators at most, one after the other
Path = tuple[str, ...]


@dataclass(frozen=True)
class Fold:
    """Nodes shown as one: the operators ``nodes`` (identities), the latest first.

    ``parts`` are its contents: identities of nodes, and folds. If ``times`` is more than 1, ``nodes`` are that many
    pieces alike, and ``parts`` is the first of them.
    """

    label: str
    parts: tuple[Part, ...]
    nodes: tuple[int, ...]
    times: int = 1


Part = int | Fold


def folded(facts: GraphFacts) -> tuple[Part, ...]:
    """Return the parts of a graph to draw: its operators, folded where they are many."""
    operators = [node for node in facts.nodes if not node.variable]
    if len(facts.nodes) <= FLAT:
        return tuple(node.identity for node in operators)
    return unfolded(_Folding(facts).parts(operators, 0))


def unfolded(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return parts for one picture: small folds opened as long as there is room, and a sequence too long for it cut."""
    found = list(parts)
    while True:
        small = [part for part in found if isinstance(part, Fold) and part.times == 1]
        least = min(small, key=lambda fold: len(fold.parts), default=None)
        if least is None or len(found) - 1 + len(least.parts) > ROOM + (SPARE if len(least.nodes) <= SMALL else 0):
            break
        at = found.index(least)
        found[at : at + 1] = least.parts
    if len(found) <= 2 * ROOM:
        return tuple(found)
    length = max(ROOM, -(-len(found) // ROOM))
    chunks = ((i, found[i : i + length]) for i in range(0, len(found), length))
    return tuple(Fold(f"parts {i + 1} … {i + len(chunk)} of {len(found):,}", tuple(chunk), tuple(nodes_of(chunk)))
                 for i, chunk in chunks)


def modules_of(facts: GraphFacts) -> dict[int, str]:
    """Return the modules with own parameters that nodes and leaves belong to, by the nodes' identities."""
    paths = _Folding(facts).paths | {leaf.identity: module_of(leaf.variable) for leaf in facts.nodes if leaf.variable}
    own = {paths[leaf.identity] for leaf in facts.nodes if leaf.variable}
    return {identity: ".".join(path) for identity, path in paths.items() if path and path in own}


def nodes_of(parts: Iterable[Part]) -> list[int]:
    """Return the operators in these parts, including every repetition's."""
    return [node for part in parts for node in (part.nodes if isinstance(part, Fold) else (part,))]


class _Folding:
    """Groups the operators of a graph."""

    def __init__(self, facts: GraphFacts):
        self.nodes = {node.identity: node for node in facts.nodes}
        self.paths = self._paths([node for node in facts.nodes if not node.variable])

    def parts(self, nodes: Sequence[NodeFacts], depth: int) -> tuple[Part, ...]:
        """Return nodes that have the first ``depth`` names of their modules in common, folded by the next."""
        found: list[Part] = []
        for path, run in groupby(nodes, key=lambda node: self.paths[node.identity][: depth + 1]):
            inner = list(run)
            if len(path) <= depth or len(inner) == 1:
                found += [node.identity for node in inner]
                continue
            parts = self.parts(inner, depth + 1)
            is_one = len(parts) == 1 and isinstance(parts[0], Fold)
            found.append(parts[0] if is_one else Fold(".".join(path), parts, tuple(node.identity for node in inner)))
        return self._repeated(found)

    def _repeated(self, parts: list[Part]) -> tuple[Part, ...]:
        """Repeated patterns as one fold each."""
        found: list[Part] = []
        for start, period, times in repeats([self._key(part) for part in parts]):
            run = parts[start : start + period * times]
            if times == 1 or len(nodes_of(run)) < WORTH:
                found += run
                continue
            first = run[0]
            inner = first.parts if period == 1 and isinstance(first, Fold) and first.times == 1 else tuple(run[:period])
            found.append(Fold(self._label(run, period), inner, tuple(nodes_of(run)), times))
        return tuple(found)

    def _label(self, run: list[Part], period: int) -> str:
        """Label repetitions by the first folds in them, in the order in which they ran."""
        folds = [i for i, part in enumerate(run[:period]) if isinstance(part, Fold)]
        if folds:
            labels = [part.label for part in run[folds[0] :: period] if isinstance(part, Fold)]
            return span(labels[::-1])
        inner = [self.nodes[part] for part in run[:period] if isinstance(part, int)]
        module = ".".join(self.paths[inner[0].identity])
        kinds = list(dict.fromkeys(node.name for node in reversed(inner)))
        names = ", ".join(kinds[:3]) + ", …" * (len(kinds) > 3)
        return f"{module}: {names}" if module else names

    def _key(self, part: Part) -> Hashable:
        """Equal for parts that look alike but for the numbers in names."""
        if isinstance(part, Fold):
            return pattern(part.label), part.times, tuple(map(self._key, part.parts))
        node = self.nodes[part]
        goals = (self.nodes.get(edge[0]) if edge else None for edge in node.edges)
        return (
            node.name, node.shapes, node.dtypes, node.hooks, node.freed, node.has_grad, *map(pattern, node.outputs),
            tuple((saved.name, saved.stale, pattern(saved.tensor)) for saved in node.saved),
            tuple(goal and (goal.name, pattern(goal.variable), goal.hooks, goal.has_grad) for goal in goals))

    def _paths(self, operators: list[NodeFacts]) -> dict[int, Path]:
        """Return the module of each operator as a path from the outside in."""
        own = {node.identity: self._own(node) for node in operators}
        before: dict[int, Path | None] = {}
        latest = None
        for node in reversed(operators):
            latest = before[node.identity] = own[node.identity] or latest
        found, following = {}, None
        for node in operators:
            path, earlier = own[node.identity], before[node.identity]
            following = path or following
            found[node.identity] = path or (common([earlier, following]) if earlier and following else ())
        return found

    def _own(self, node: NodeFacts) -> Path:
        """Return the module whose parameters an operator reads, directly or in another layout."""
        goals = self._goals(node)
        direct = [path for goal in goals if (path := module_of(goal.variable))]
        return common(direct or [path for goal in goals if (path := self._behind(goal))])

    def _behind(self, node: NodeFacts) -> Path:
        """Return the module of the parameter that a node only lays out differently."""
        for _ in range(LAYOUTS):
            if node.variable or node.name not in LAYOUT or not (goals := self._goals(node)):
                break
            node = goals[0]
        return module_of(node.variable)

    def _goals(self, node: NodeFacts) -> list[NodeFacts]:
        return [goal for edge in node.edges if edge and (goal := self.nodes.get(edge[0])) is not None]


def module_of(name: str) -> Path:
    """Return the names that lead to the module in ``model.0.weight``, or nothing for other names."""
    *path, last = name.split(".")
    return tuple(path) if last.isidentifier() else ()


def common(paths: Sequence[Path]) -> Path:
    """Return the common beginning of paths."""
    length = 0
    while paths and all(len(path) > length and path[length] == paths[0][length] for path in paths):
        length += 1
    return paths[0][:length] if paths else ()

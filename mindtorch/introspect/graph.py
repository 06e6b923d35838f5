"""The autograd graph behind a tensor, as plain data."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .libraries import is_node, library_of
from .library import Hook, Kept, NodeLook


@dataclass(frozen=True)
class Saved:
    """What a node keeps for backward. Of a tensor: its type, its name if it has one, the version that it had,
    and whether it was written in place since (``stale``); of anything else its repr, shortened.
    """

    name: str
    text: str
    is_tensor: bool = False
    tensor: str = ""
    version: int | None = None
    stale: bool = False


@dataclass(frozen=True)
class NodeFacts:
    """A node: ``identity`` tells it from others; ``variable`` names the leaf of an AccumulateGrad.

    ``shapes`` and ``dtypes`` are those of the forward outputs, whose gradients come in, ``outputs`` their
    names, in the outputs' order; ``has_grad`` tells of a leaf, or of an output with a name (``retain_grad``), that it
    has a gradient; ``edges`` holds (identity of the next node, its output number) for each differentiable input, None
    where no gradient is needed; ``formulas`` are what it computes for its inputs: (their names, the formula).
    """

    identity: int
    name: str
    variable: str
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    edges: tuple[tuple[int, int] | None, ...]
    saved: tuple[Saved, ...]
    hooks: tuple[Hook, ...]
    freed: bool
    has_grad: bool
    outputs: tuple[str, ...]
    sequence: int
    formulas: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class GraphFacts:
    """The nodes reachable from a tensor's node, the latest first; ``truncated`` edges lead beyond a limit."""

    root: int
    nodes: tuple[NodeFacts, ...]
    truncated: int


class Names:
    """The names of tensors, also of the twins that nodes keep of them; ``of_outputs`` are those of what nodes computed,
    ``graded`` the nodes of which such an output has a gradient.
    """

    def __init__(self, named: Mapping[str, Any]):
        found = [(name, tensor, library_of(tensor)) for name, tensor in named.items()]
        self.by_identity, self.by_place = {}, {}
        for name, tensor, library in reversed(found):  # so that of several names the first counts
            self.by_identity[id(tensor)] = name
            self.by_place[library.place(tensor)] = name
        self.of_outputs: dict[int, list[str]] = {}
        self.graded: set[int] = set()
        computed = [(*item, item[1]._grad_fn) for item in found if item[1]._grad_fn is not None]
        for name, tensor, library, node in sorted(computed, key=lambda item: item[2].output_number(item[1])):
            self.of_outputs.setdefault(id(node), []).append(name)
            if library.grad(tensor) is not None:
                self.graded.add(id(node))

    def get(self, tensor: Any) -> str:
        place = library_of(tensor).place(tensor)
        return self.by_identity.get(id(tensor)) or ("" if place is None else self.by_place.get(place, ""))


def graph_facts(tensor: Any, named: Mapping[str, Any] | None = None, limit: int = 2000) -> GraphFacts:
    """Describe the graph behind a tensor or node, ``limit`` nodes at most; ValueError without a graph."""
    if not is_node(tensor) and not tensor.requires_grad:
        raise ValueError("this tensor has no autograd graph: it does not require grad. A graph grows behind what is "
                         "computed from tensors with requires_grad=True while grad mode is on")
    names, library = Names(named or {}), library_of(tensor)
    root = tensor if is_node(tensor) else library.root(tensor)
    found: dict[int, tuple[Any, NodeLook]] = {}
    stack = [root]
    truncated = 0
    while stack:
        node = stack.pop()
        if id(node) in found:
            continue
        if len(found) >= limit:
            truncated += 1
            continue
        look = library.node(node)
        found[id(node)] = node, look
        stack.extend(edge[0] for edge in look.edges if edge is not None)
    nodes = sorted((_node_facts(node, look, names) for node, look in found.values()), key=lambda node: -node.sequence)
    return GraphFacts(id(root), tuple(nodes), truncated)


def nodes_behind(tensors: Sequence[Any]) -> list[Any]:
    """Return the nodes of the graph behind tensors, nearest first."""
    found = {id(root): root for tensor in tensors if library_of(tensor).record(tensor, 0).requires_grad
             for root in [library_of(tensor).root(tensor)]}
    queue = list(found.values())
    for node in queue:
        for edge in library_of(node).node(node).edges:
            if edge is not None and id(edge[0]) not in found:
                found[id(edge[0])] = edge[0]
                queue.append(edge[0])
    return queue


def _node_facts(node: Any, look: NodeLook, names: Names) -> NodeFacts:
    variable, leaf = look.variable, ""
    if variable is not None:
        leaf = names.get(variable) or "a leaf without a name"
    return NodeFacts(
        identity=id(node), name=look.name, variable=leaf, shapes=tuple(shape for shape, _ in look.outputs),
        dtypes=tuple(dtype for _, dtype in look.outputs),
        edges=tuple(None if edge is None else (id(edge[0]), edge[1]) for edge in look.edges),
        saved=tuple(_saved(kept, names) for kept in look.kept or ()), hooks=look.hooks, freed=look.kept is None,
        has_grad=id(node) in names.graded if variable is None else library_of(variable).grad(variable) is not None,
        outputs=tuple(names.of_outputs.get(id(node), ())), sequence=look.order, formulas=look.formulas)


def _saved(kept: Kept, names: Names) -> Saved:
    tensor = "" if kept.tensor is None else names.get(kept.tensor)
    return Saved(kept.name, kept.text, kept.is_tensor, tensor, kept.version, kept.stale)

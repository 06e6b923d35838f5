"""The autograd graph behind a tensor, as plain data."""
from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .._autograd.accumulate import AccumulateGrad
from .._autograd.derivative import OperatorNode
from .._autograd.function import BackwardCFunction
from .._autograd.node import Node
from .._autograd.saved import Saved as SavedTensor, unwritten
from .._autograd.views import CopySlices
from .._tensor import Tensor


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
    where no gradient is needed.
    """

    identity: int
    name: str
    variable: str
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    edges: tuple[tuple[int, int] | None, ...]
    saved: tuple[Saved, ...]
    hooks: int
    freed: bool
    has_grad: bool
    outputs: tuple[str, ...]
    sequence: int


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
        found = list(named.items())[::-1]  # so that of several names the first counts
        self.by_identity = {id(tensor): name for name, tensor in found}
        self.by_layout = {self._layout(tensor): name for name, tensor in found if tensor._version_counter is not None}
        self.of_outputs: dict[int, list[str]] = {}
        self.graded: set[int] = set()
        computed = [(name, tensor) for name, tensor in named.items() if tensor._grad_fn is not None]
        for name, tensor in sorted(computed, key=lambda item: item[1]._output_nr):
            self.of_outputs.setdefault(id(tensor._grad_fn), []).append(name)
            if tensor._grad is not None:
                self.graded.add(id(tensor._grad_fn))

    @staticmethod
    def _layout(tensor: Any) -> tuple[Any, ...]:
        return id(tensor._version_counter), tuple(tensor.shape), tensor._strides(), tensor._offset

    def get(self, tensor: Any) -> str:
        return self.by_identity.get(id(tensor)) or self.by_layout.get(self._layout(tensor), "")


def graph_facts(tensor: Any, named: Mapping[str, Any] | None = None, limit: int = 2000) -> GraphFacts:
    """Describe the graph behind ``tensor``, or from a node on, at most ``limit`` nodes of it; ``named`` are tensors by
    name.

    Raises:
        ValueError: if the tensor has no graph.
    """
    if not isinstance(tensor, Node) and not tensor.requires_grad:
        raise ValueError("this tensor has no autograd graph: it does not require grad. A graph grows behind what is "
                         "computed from tensors with requires_grad=True while grad mode is on")
    names = Names(named or {})
    root = tensor if isinstance(tensor, Node) else tensor._grad_edge()[0]
    found: dict[int, Node] = {}
    stack = [root]
    truncated = 0
    while stack:
        node = stack.pop()
        if id(node) in found:
            continue
        if len(found) >= limit:
            truncated += 1
            continue
        found[id(node)] = node
        stack.extend(edge[0] for edge in node._edges if edge is not None)
    nodes = sorted((_node_facts(node, names) for node in found.values()), key=lambda facts: -facts.sequence)
    return GraphFacts(id(root), tuple(nodes), truncated)


def _node_facts(node: Node, names: Names) -> NodeFacts:
    outputs, kept = [output[:2] for output in node._outputs if output], _kept(node)
    variable, leaf, hooks = None, "", 0
    if isinstance(node, AccumulateGrad):
        variable = node.variable
        leaf = names.get(variable) or "a leaf without a name"
        outputs, hooks = [(variable.shape, variable._dtype)], len(variable._hooks or ())
    if node._hooks is not None:
        hooks += len(node._hooks.pre) + len(node._hooks.post) + sum(map(len, node._hooks.tensor.values()))
    return NodeFacts(
        identity=id(node), name=node.name(), variable=leaf, shapes=tuple(tuple(shape) for shape, _ in outputs),
        dtypes=tuple(dtype.name for _, dtype in outputs),
        edges=tuple(None if edge is None else (id(edge[0]), edge[1]) for edge in node._edges),
        saved=tuple(_saved(kept or [], names)), hooks=hooks, freed=kept is None,
        has_grad=id(node) in names.graded if variable is None else variable._grad is not None,
        outputs=tuple(names.of_outputs.get(id(node), ())), sequence=-1 if variable is not None else node._order)


def _kept(node: Node) -> list[tuple[str, Any]] | None:
    """What a node keeps for backward, by name; None if it was freed."""
    if isinstance(node, CopySlices):
        return None if node.inner is None else _kept(node.inner)
    if isinstance(node, BackwardCFunction):
        return None if node._freed else [("saved_tensors", list(node._saved))]
    if isinstance(node, OperatorNode):
        return None if node.saved is None else list(zip(node.plan.names, node.saved, strict=True))
    return []


def _saved(kept: list[tuple[str, Any]], names: Names) -> Iterator[Saved]:
    for name, value in kept:
        if isinstance(value, list):
            yield from _saved([(f"{name}[{i}]", item) for i, item in enumerate(value)], names)
        else:
            yield _saved_value(name, value, names)


def _saved_value(name: str, value: Any, names: Names) -> Saved:
    if isinstance(value, Tensor):
        value = unwritten(value)
    if not isinstance(value, SavedTensor):
        return Saved(name, reprlib.repr(value))
    tensor = value.tensor
    if tensor is None:
        return Saved(name, "packed by a hook", True)
    version = 0 if tensor._version_counter is None else tensor._version_counter[0]
    text = f"{tensor._dtype.name}[{', '.join(map(str, tensor.shape))}]"
    return Saved(name, text, True, names.get(tensor), value.version, version != value.version)

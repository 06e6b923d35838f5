"""The autograd graph behind a tensor, as plain data."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._autograd.accumulate import AccumulateGrad
from .._autograd.derivative import OperatorNode
from .._autograd.node import Node
from .._autograd.saved import Saved as SavedTensor
from .._autograd.views import CopySlices


@dataclass(frozen=True)
class Saved:
    """What a node keeps for backward. ``stale`` says that it was written in place since."""

    name: str
    text: str
    tensor: str
    version: int | None
    stale: bool


@dataclass
class NodeFacts:
    """A node: ``identity`` tells it from others; ``variable`` names the leaf of an AccumulateGrad.

    ``shapes`` are those of the forward outputs, whose gradients come in; ``edges`` holds (identity of the next node,
    its output number) for each differentiable input, None where no gradient is needed.
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
    outputs: list[str] = field(default_factory=list)
    sequence: int = 0


@dataclass(frozen=True)
class GraphFacts:
    """The nodes reachable from a tensor's node, the latest first. ``truncated`` counts nodes left out beyond a limit."""

    root: int
    nodes: tuple[NodeFacts, ...]
    truncated: int


def graph_facts(tensor: Any, names: Mapping[int, str] | None = None, tensors: Mapping[int, Any] | None = None,
                limit: int = 2000) -> GraphFacts:
    """The graph behind ``tensor``.

    ``names`` gives tensors' names by ``id``; ``tensors`` the tensors themselves, so that outputs can be named.

    Raises:
        ValueError: if the tensor has no graph.
    """
    names = names or {}
    if not tensor.requires_grad:
        raise ValueError(
            "this tensor has no autograd graph: it does not require grad. A graph grows behind what is computed from "
            "tensors with requires_grad=True while grad mode is on"
        )
    root = tensor._grad_edge()[0]
    outputs: dict[int, list[str]] = {}
    for identity, known in (tensors or {}).items():
        if known._grad_fn is not None:
            outputs.setdefault(id(known._grad_fn), []).append(names.get(identity, ""))
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
    nodes = [_node_facts(node, names, outputs.get(id(node), [])) for node in found.values()]
    nodes.sort(key=lambda n: -n.sequence)
    return GraphFacts(id(root), tuple(nodes), truncated)


def _node_facts(node: Node, names: Mapping[int, str], outputs: list[str]) -> NodeFacts:
    variable = node.variable if isinstance(node, AccumulateGrad) else None
    name = names.get(id(variable), "a leaf without a name") if variable is not None else ""
    hooks = len(variable._hooks or ()) if variable is not None else 0
    if node._hooks is not None:
        hooks += len(node._hooks.pre) + len(node._hooks.post) + sum(map(len, node._hooks.tensor.values()))
    return NodeFacts(
        identity=id(node), name=node.name(), variable=name,
        shapes=tuple(output[0] for output in node._outputs if output), dtypes=tuple(output[1].name for output in node._outputs if output),
        edges=tuple(None if edge is None else (id(edge[0]), edge[1]) for edge in node._edges),
        saved=_saved(node, names), hooks=hooks, freed=_is_freed(node),
        has_grad=variable is not None and variable._grad is not None, outputs=[o for o in outputs if o],
        sequence=-1 if variable is not None else node._order,
    )  # fmt: skip


def _is_freed(node: Node) -> bool:
    if isinstance(node, CopySlices):
        return node.inner is None
    return isinstance(node, OperatorNode) and node.saved is None


def _saved(node: Node, names: Mapping[int, str]) -> tuple[Saved, ...]:
    if not isinstance(node, OperatorNode) or node.saved is None:
        return ()
    rows = []
    for name, value in zip((kept.name for kept in node.plan.saves), node.saved, strict=True):
        if isinstance(value, SavedTensor):
            tensor = value.tensor
            if tensor is None:
                rows.append(Saved(name, "packed by a hook", "", None, False))
                continue
            version = 0 if tensor._cell is None else tensor._cell[0]
            text = f"{tensor._dtype.name}[{', '.join(map(str, tensor.shape))}]"
            rows.append(Saved(name, text, names.get(id(tensor), ""), value.version, version != value.version))
        elif isinstance(value, list):
            rows.append(Saved(name, f"{len(value)} tensors", "", None, False))
        else:
            rows.append(Saved(name, repr(value), "", None, False))
    return tuple(rows)

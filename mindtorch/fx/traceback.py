"""The metadata that nodes receive while they are recorded: that of the node that is run, and annotations."""
from __future__ import annotations

import copy
import traceback as _traceback
from collections.abc import Callable, Iterator
from enum import Enum
from functools import wraps
from typing import Any

from .._base.interrupts import contextmanager
from .node import Node

__all__ = ["NodeSource", "NodeSourceAction", "annotate", "annotate_fn", "format_stack", "get_current_meta",
           "get_graph_provenance_json", "has_preserved_node_meta", "preserve_node_meta", "set_current_meta",
           "set_stack_trace"]
__dir__ = __all__.copy
current_meta: dict[str, Any] = {}
should_preserve_node_meta = False


class NodeSourceAction(Enum):
    """An action of a pass on a node (``torch.fx.traceback.NodeSourceAction``)."""

    CREATE = "create"
    REPLACE = "replace"


class NodeSource:
    """The node that another one was made from, and the pass that made it (``torch.fx.traceback.NodeSource``)."""

    def __init__(self, node: Node | None, pass_name: str = "",
                 action: NodeSourceAction | list[NodeSourceAction] | None = None):
        self.pass_name = pass_name
        self.action = [action] if isinstance(action, NodeSourceAction) else list(action or [])
        self.node_info = None if node is None else (node.name, str(node.target), id(node.graph))
        self.from_node: list[NodeSource] = [] if node is None else copy.deepcopy(node.meta.get("from_node", []))

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.node_info[0] if self.node_info else ""

    @property
    def target(self) -> str:
        """The target of the node, as text."""
        return self.node_info[1] if self.node_info else ""

    @property
    def graph_id(self) -> int:
        """The ``id`` of the node's graph; -1 without a node."""
        return self.node_info[2] if self.node_info else -1

    def _get_action_string(self) -> str:
        return "+".join(action.name.lower() for action in self.action)

    def print_readable(self, indent: int = 0) -> str:
        """Return the node, and those it was made from, a line each."""
        line = (f"{' ' * indent}(name={self.name}, pass_name={self.pass_name}, action={self._get_action_string()}, "
                f"graph_id={self.graph_id})\n")
        return line + "".join(source.print_readable(indent + 4) for source in self.from_node)

    def __repr__(self) -> str:
        return self.print_readable()

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as a dict of strings and numbers."""
        return {"name": self.name, "target": self.target, "graph_id": self.graph_id, "pass_name": self.pass_name,
                "action": self._get_action_string(), "from_node": [source.to_dict() for source in self.from_node]}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeSource) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(repr(self.to_dict()))


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Give nodes that are recorded in this block the metadata of the node that an interpreter runs
    (``torch.fx.traceback.preserve_node_meta``).
    """
    global should_preserve_node_meta, current_meta
    before, meta = should_preserve_node_meta, current_meta
    try:
        should_preserve_node_meta, current_meta = enable, meta.copy()
        yield
    finally:
        should_preserve_node_meta, current_meta = before, meta


def has_preserved_node_meta() -> bool:
    """Return True within ``preserve_node_meta`` (``torch.fx.traceback.has_preserved_node_meta``)."""
    return should_preserve_node_meta


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Add entries to ``node.meta["custom"]`` of the nodes that are recorded in this block
    (``torch.fx.traceback.annotate``).
    """
    global current_meta
    before = current_meta
    try:
        current_meta = {**before, "custom": {**before.get("custom", {}), **annotation_dict}}
        yield
    finally:
        current_meta = before


def annotate_fn(annotation_dict: dict[str, Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function to run in an ``annotate`` block (``torch.fx.traceback.annotate_fn``)."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return call

    return decorate


@contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """Have recorded nodes be made from a node, within ``preserve_node_meta``
    (``torch.fx.traceback.set_current_meta``).
    """
    global current_meta
    before = current_meta
    try:
        if should_preserve_node_meta and node.meta:
            current_meta = node.meta.copy()
            custom = {**before.get("custom", {}), **node.meta.get("custom", {})}
            if custom:
                current_meta["custom"] = custom
            current_meta["from_node"] = [NodeSource(node, pass_name, NodeSourceAction.CREATE)]
        yield
    finally:
        current_meta = before


def get_current_meta() -> dict[str, Any]:
    """Return the metadata of the node that is run, and annotations (``torch.fx.traceback.get_current_meta``)."""
    return current_meta


def set_stack_trace(stack: list[str]) -> None:
    """Set the stack trace of nodes to come, within ``preserve_node_meta`` (``torch.fx.traceback.set_stack_trace``)."""
    if should_preserve_node_meta and stack:
        current_meta["stack_trace"] = "".join(stack)


def format_stack() -> list[str]:
    """Return the stack trace of the node that is run, or that of this program (``torch.fx.traceback.format_stack``)."""
    if should_preserve_node_meta:
        return [current_meta.get("stack_trace", "")]
    return _traceback.format_list(_traceback.extract_stack()[:-1])


def get_graph_provenance_json(graph: Any) -> dict[str, Any]:
    """Return for each call the nodes that it was made from (``torch.fx.traceback.get_graph_provenance_json``)."""
    return {node.name: [source.to_dict() for source in node.meta.get("from_node", [])]
            for node in graph.nodes if node.op in ("call_function", "call_method", "call_module")}

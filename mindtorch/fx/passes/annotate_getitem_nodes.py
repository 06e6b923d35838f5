"""Types of items, from those of the tuples and lists that they are in (``torch.fx.passes.annotate_getitem_nodes``)."""
from __future__ import annotations

import operator
import typing
from typing import Any

from ..graph import Graph

__all__ = ["annotate_getitem_nodes"]


def annotate_getitem_nodes(graph: Graph) -> None:
    """Give each node that takes an item the item's type, if the type of the whole says it
    (``torch.fx.passes.annotate_getitem_nodes.annotate_getitem_nodes``).
    """
    for node in graph.find_nodes(op="call_function", target=operator.getitem):
        whole, index = node.args
        kind: Any = whole.type
        items = typing.get_args(kind)
        if typing.get_origin(kind) is tuple:
            node.type = items[0] if items[1:] == (...,) else items[index]
        elif typing.get_origin(kind) is list:
            node.type = items[0]
        elif hasattr(kind, "_fields"):  # a named tuple
            node.type = typing.get_type_hints(kind)[kind._fields[index]]

"""Targets replaced, and sizes of values counted (``torch.fx.passes.graph_manipulation``)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..._tensor import Tensor
from ..graph_module import GraphModule
from ..node import Node, Target
from .shape_prop import ShapeProp, TensorMetadata

__all__ = ["get_size_of_all_nodes", "get_size_of_node", "get_tensor_meta", "replace_target_nodes_with", "size_bytes"]
__dir__ = __all__.copy


class size_bytes(NamedTuple):
    """The bytes of a node's value, and those together with the parameters of its module
    (``torch.fx.passes.graph_manipulation.size_bytes``).
    """

    output_size: int
    total_size: int


def replace_target_nodes_with(fx_module: GraphModule, old_op: str, old_target: Target, new_op: str,
                              new_target: Target) -> None:
    """Have all nodes of a kind and target be of another
    (``torch.fx.passes.graph_manipulation.replace_target_nodes_with``).
    """
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            node.op, node.target = new_op, new_target
    fx_module.recompile()


def get_tensor_meta(node: Node) -> TensorMetadata:
    """Return the metadata that ``ShapeProp`` has recorded (``torch.fx.passes.graph_manipulation.get_tensor_meta``).

    Raises:
        RuntimeError: if it has recorded none.
    """
    meta = node.meta.get("tensor_meta")
    if not meta:
        raise RuntimeError(f"Node {node} has no tensor metadata associated with it! Check that shape propagation has "
                           "run.")
    return meta


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """Return the bytes of a node's value and parameters (``torch.fx.passes.graph_manipulation.get_size_of_node``)."""
    meta = get_tensor_meta(node)
    called: Any = fx_module.get_submodule(str(node.target)) if node.op == "call_module" else None
    parameters = sum(parameter.numel() for parameter in called.parameters()) if called is not None else 0
    output = meta.shape.numel()
    return size_bytes(output * meta.dtype.itemsize, (output + parameters) * meta.dtype.itemsize)


def get_size_of_all_nodes(fx_module: GraphModule, args: Sequence[Tensor] | None = None) -> None:
    """Record the bytes of each node's value in ``node.size_bytes``, after running the graph for ``args``
    (``torch.fx.passes.graph_manipulation.get_size_of_all_nodes``).
    """
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op != "output":
            node.size_bytes = get_size_of_node(fx_module, node)  # type: ignore[attr-defined]

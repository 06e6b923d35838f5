"""Modules made ready for inference: batch norms folded into convolutions, dropout removed
(``torch.fx.experimental.optimization``).
"""
from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from ...nn.module import Module
from ...nn.modules import BatchNorm1d, BatchNorm2d, BatchNorm3d, Conv1d, Conv2d, Conv3d, Dropout, Linear
from ...nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from .._symbolic_trace import symbolic_trace
from ..graph import Graph
from ..graph_module import GraphModule
from ..interpreter import Transformer
from ..node import Argument, Node, Target

__all__ = ["extract_subgraph", "fuse", "matches_module_pattern", "optimize_for_inference", "remove_dropout",
           "replace_node_module"]
__dir__ = __all__.copy
#: Modules that become one, and the function that makes it.
FUSED = (
    (Conv1d, BatchNorm1d, fuse_conv_bn_eval),
    (Conv2d, BatchNorm2d, fuse_conv_bn_eval),
    (Conv3d, BatchNorm3d, fuse_conv_bn_eval),
    (Linear, BatchNorm1d, fuse_linear_bn_eval),
)


def matches_module_pattern(pattern: Iterable[type], node: Node, modules: dict[str, Module]) -> bool:
    """Return True if a node calls a module of the second class for the result of one of the first
    (``torch.fx.experimental.optimization.matches_module_pattern``).
    """
    return bool(node.args) and all(
        isinstance(found, Node) and found.op == "call_module" and type(modules.get(str(found.target))) is kind
        for kind, found in zip(pattern, (node.args[0], node), strict=True))


def replace_node_module(node: Node, modules: dict[str, Module], new_module: Module) -> None:
    """Have a node's path lead to another module (``torch.fx.experimental.optimization.replace_node_module``)."""
    parent, _, name = str(node.target).rpartition(".")
    modules[str(node.target)] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: Module, inplace: bool = False, no_trace: bool = False) -> GraphModule:
    """Return a module in eval mode with each batch norm folded into the layer before it
    (``torch.fx.experimental.optimization.fuse``). With ``no_trace``, a ``GraphModule`` is taken as it is.
    """
    model = model if inplace else copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for first, second, fused in FUSED:
        for node in graph.nodes:
            if not matches_module_pattern((first, second), node, modules):
                continue
            layer, norm = node.args[0], modules[str(node.target)]
            if len(layer.users) == 1 and norm.track_running_stats:
                replace_node_module(layer, modules, fused(modules[layer.target], norm))
                node.replace_all_uses_with(layer)
                graph.erase_node(node)
    return GraphModule(traced, graph)


def remove_dropout(model: Module) -> GraphModule:
    """Return a module without its ``Dropout`` modules (``torch.fx.experimental.optimization.remove_dropout``)."""

    class Remover(Transformer):
        def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
            dropped = isinstance(self.submodules[str(target)], Dropout)
            return args[0] if dropped else super().call_module(target, args, kwargs)

    return Remover(symbolic_trace(model)).transform()


def extract_subgraph(orig_module: Module, nodes: Sequence[Node], inputs: Sequence[Node],
                     outputs: Sequence[Node]) -> GraphModule:
    """Return a module of some nodes, which takes the values of ``inputs`` and returns the list of those of ``outputs``
    (``torch.fx.experimental.optimization.extract_subgraph``).
    """
    graph = Graph()
    copies = {node: graph.placeholder(node.name) for node in inputs}
    for node in nodes:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output([copies[node] for node in outputs])
    return GraphModule(orig_module, graph)


def optimize_for_inference(model: Module, pass_config: dict[str, Any] | None = None) -> Module:
    """Return a module with batch norms folded and dropout removed, as far as ``pass_config`` does not switch
    ``"conv_bn_fuse"`` or ``"remove_dropout"`` off (``torch.fx.experimental.optimization.optimize_for_inference``).
    Layouts stay: there is no other one here.
    """
    for name, change in (("conv_bn_fuse", fuse), ("remove_dropout", remove_dropout)):
        if (pass_config or {}).get(name, True):
            model = change(model)
    return model

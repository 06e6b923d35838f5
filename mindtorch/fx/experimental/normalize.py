"""Calls written in one way: arguments as signatures name them, operators for functions
(``torch.fx.experimental.normalize``).
"""
from __future__ import annotations

import operator
from typing import Any

from .._names import torch
from ..graph_module import GraphModule
from ..interpreter import Transformer
from ..node import Argument, Node, Target, map_aggregate
from ..operator_schemas import create_type_hint, normalize_function, normalize_module
from ..proxy import Proxy

__all__ = ["NormalizeArgs", "NormalizeOperators"]
__dir__ = __all__.copy


class NormalizeArgs(Transformer):
    """Records a graph anew with all arguments as the signatures of functions and modules name them
    (``torch.fx.experimental.normalize.NormalizeArgs``).
    """

    def __init__(self, module: GraphModule, normalize_to_only_use_kwargs: bool = True):
        super().__init__(module)
        self.node_map: dict[Proxy, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: Node) -> Any:
        """Record a node, with its metadata."""
        if n.op == "call_function":
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            types = map_aggregate((n.args, n.kwargs), lambda leaf: leaf.meta.get("type") if isinstance(leaf, Node)
                                  else type(leaf))
            found = normalize_function(n.target, args, kwargs,  # type: ignore[arg-type]
                                       tuple(map(create_type_hint, types[0])), types[1],
                                       self.normalize_to_only_use_kwargs)
            out = self.call_function(n.target, *(found or (args, kwargs)))
        else:
            out = super().run_node(n)
        if n.op != "output":
            self.node_map[out] = n
            out.node.meta, out.node.type = n.meta, n.type
        return out

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Record the call of a module."""
        found = normalize_module(self.module, str(target), args, kwargs, self.normalize_to_only_use_kwargs)
        return super().call_module(target, *(found or (args, kwargs)))


class NormalizeOperators(Transformer):
    """Records a graph anew with Python's operators in the place of functions of two arguments
    (``torch.fx.experimental.normalize.NormalizeOperators``).
    """

    binary_magic_method_remap = {  # noqa: RUF012  # PyTorch's name, which subclasses may change
        torch.add: operator.add, torch.mul: operator.mul, torch.sub: operator.sub, torch.div: operator.truediv,
        torch.floor_divide: operator.floordiv, torch.remainder: operator.mod, torch.eq: operator.eq,
        torch.ne: operator.ne, torch.lt: operator.lt, torch.le: operator.le, torch.gt: operator.gt,
        torch.ge: operator.ge,
    }

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Record the call of a function, or of the operator that does the same."""
        known: Any = self.binary_magic_method_remap.get(target)
        if known is not None and len(args) == 2:
            return super().call_function(known, args, {})
        return super().call_function(target, args, kwargs)

"""Parts of a graph that depend on no input, computed once (``torch.fx.experimental.const_fold``)."""
from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from ..._tensor import Tensor
from ...nn.module import Module
from ...nn.modules.container import ParameterList
from ...nn.parameter import Parameter
from .._names import torch
from .._symbolic_trace import symbolic_trace
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg
from ..passes.split_module import split_module

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]
__dir__ = __all__.copy


class FoldedGraphModule(GraphModule):
    """A module that computes its constants at the first call (``torch.fx.experimental.const_fold.FoldedGraphModule``).

    Args:
        root: the module with the attributes.
        graph: the graph without the constant part.
        const_subgraph: the constant part.
        fx_const_folded_attrs_name: the attribute that receives its results.
        device_for_folded_attrs: the device of results that are numbers.
    """

    def __init__(self, root: Module, graph: Graph, const_subgraph: Graph | None = None,
                 fx_const_folded_attrs_name: str | None = None, device_for_folded_attrs: str = "cpu"):
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Compute the constants, once."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        assert not self.has_folding_been_run, "Folding has already been run"
        self.has_folding_been_run = True
        found = self.const_subgraph_module()
        values = [self._parameter(value) for value in found] if isinstance(found, tuple) else self._parameter(found)
        setattr(self, self.fx_const_folded_attrs_name, ParameterList(values) if isinstance(values, list) else values)

    def _parameter(self, value: Any) -> Parameter:
        if isinstance(value, Tensor):
            return Parameter(value.detach().clone(), requires_grad=value.requires_grad)
        return Parameter(torch.Tensor([value]).to(self.device_for_folded_attrs), requires_grad=False)


def get_unique_attr_name_in_module(mod_traced: Module, name: str) -> str:
    """Return a name, with a number if it is taken, that a module does not have
    (``torch.fx.experimental.const_fold.get_unique_attr_name_in_module``).
    """
    name = re.sub("[^0-9a-zA-Z_]+", "_", name)
    name = f"_{name}" if name[0].isdigit() else name
    while hasattr(mod_traced, name):
        match = re.fullmatch(r"(.*)_(\d+)", name)
        name = f"{match[1]}_{int(match[2]) + 1}" if match else f"{name}_1"
    return name


def _inline_module(gm: GraphModule, inline_mod_name: str, run_dce: bool = True) -> dict[Node, Any]:
    """Put the nodes of a module in the place of its call, and return the new node for each of them."""
    inner = gm.get_submodule(inline_mod_name)
    assert isinstance(inner, GraphModule), f"{inline_mod_name} is no GraphModule, but {type(inner)}"
    call = gm.graph.find_nodes(op="call_module", target=inline_mod_name)[0]
    given = iter(call.args)
    copies: dict[Node, Any] = {}

    def copied(node: Node) -> Any:
        if isinstance(copies[node], Node):
            copies[node].meta = node.meta.copy()
        return copies[node]

    for node in inner.graph.nodes:
        if node.op == "placeholder":
            copies[node] = call.kwargs[node.name] if node.name in call.kwargs else next(given)
        elif node.op != "output":
            with gm.graph.inserting_before(call):
                copies[node] = gm.graph.node_copy(node, copied)
        else:
            result = map_arg(node.args[0], copied)
            for user in list(call.users):
                if isinstance(result, (list, tuple)) and user.target is operator.getitem:
                    copies[user] = result[user.args[1]]
                    user.replace_all_uses_with(copies[user])
                    gm.graph.erase_node(user)
            for user in list(call.users):
                user._replace_input_with(call, result)
    gm.graph.erase_node(call)
    if run_dce:
        gm.graph.eliminate_dead_code()
    return copies


def _is_impure(module: Module) -> bool:
    """Return True if a graph module has a node with an effect."""
    return isinstance(module, GraphModule) and any(
        node.is_impure() if node.op == "call_function" else
        node.op == "call_module" and _is_impure(module.get_submodule(str(node.target))) for node in module.graph.nodes)


def split_const_subgraphs(module: Module, skip_folding_node_fn: Callable[[Node], bool] | None = None,
                          device_for_folded_attrs: str = "cpu") -> FoldedGraphModule:
    """Return a module that computes the nodes that depend on attributes only at its first call
    (``torch.fx.experimental.const_fold.split_const_subgraphs``). Nodes with effects, and those for which
    ``skip_folding_node_fn`` returns True, are not among them.
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    constant: set[Node] = set()
    for node in traced.graph.nodes:
        if (node.op not in ("placeholder", "output")
                and (node.op == "get_attr" or constant.issuperset(node.all_input_nodes))
                and not (skip_folding_node_fn is not None and skip_folding_node_fn(node)) and not node.is_impure()
                and not (node.op == "call_module" and _is_impure(traced.get_submodule(str(node.target))))):
            constant.add(node)
    if all(node.op == "get_attr" for node in constant):
        return FoldedGraphModule(traced, traced.graph)
    split: Any = split_module(traced, module, lambda node: 0 if node in constant else 1)
    for part in (split.submod_0, getattr(split, "submod_1", None)):
        for node in part.graph.find_nodes(op="call_module") if part is not None else ():
            setattr(split, node.target, getattr(part, node.target))
    folded = GraphModule(split, split.submod_0.graph)
    call = split.graph.find_nodes(op="call_module", target="submod_0")[0]
    for node, given in zip(folded.graph.find_nodes(op="placeholder"), call.args, strict=True):
        with folded.graph.inserting_before(node):
            read = folded.graph.create_node("get_attr", given.target)
        read.meta = node.meta.copy()
        node.replace_all_uses_with(read)
        folded.graph.erase_node(node)
    name = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    several = isinstance(folded.graph.output_node().args[0], tuple)
    setattr(split, name, ParameterList() if several else Parameter())
    with split.graph.inserting_before(call):
        read = split.graph.get_attr(name)
    read.meta = call.meta.copy()
    call.replace_all_uses_with(read)
    if hasattr(split, "submod_1"):
        _inline_module(split, "submod_1")
    split.graph.eliminate_dead_code()
    return FoldedGraphModule(split, split.graph, folded.graph, name, device_for_folded_attrs)

"""Which nodes a backend takes (``torch.fx.passes.operator_support``)."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..._dtype import DType
from ...nn.module import Module
from ..node import Node
from .shape_prop import TensorMetadata
from .tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = ["OpSupports", "OperatorSupport", "OperatorSupportBase", "any_chain", "chain", "create_op_support"]
__dir__ = __all__.copy
Submodules = Mapping[str, Module]
#: For each target, the dtypes of positional and of keyword arguments; None for any.
SupportDict = Mapping[str, tuple[Sequence[Sequence[DType] | None], Mapping[str, Sequence[DType]]] | None]


class OperatorSupportBase(ABC):
    """A decision which nodes a backend takes (``torch.fx.passes.operator_support.OperatorSupportBase``)."""

    @abstractmethod
    def is_node_supported(self, submodules: Submodules, node: Node) -> bool:
        """Return True if the backend takes a node."""


class OperatorSupport(OperatorSupportBase):
    """A decision by a table of targets and dtypes (``torch.fx.passes.operator_support.OperatorSupport``)."""

    def __init__(self, support_dict: SupportDict | None = None):
        self._support_dict = support_dict or getattr(self, "_support_dict", {})

    def is_node_supported(self, submodules: Submodules, node: Node) -> bool:
        """Return True if the table has the node's target, for the dtypes of its arguments."""
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        row = self._support_dict[target]
        if row is None:
            return True
        positional, keywords = row
        given = [(arg, dtypes) for arg, dtypes in zip(node.args, positional, strict=False) if dtypes is not None]
        given += [(node.kwargs[key], dtypes) for key, dtypes in keywords.items() if key in node.kwargs]
        return all(_get_arg_dtype(arg) in dtypes for arg, dtypes in given if isinstance(arg, Node))


class _Decision(OperatorSupportBase):
    def __init__(self, decide: Callable[[Submodules, Node], bool]):
        self.decide = decide

    def is_node_supported(self, submodules: Submodules, node: Node) -> bool:
        return self.decide(submodules, node)


def create_op_support(is_node_supported: Callable[[Submodules, Node], bool]) -> OperatorSupportBase:
    """Return a decision by a function (``torch.fx.passes.operator_support.create_op_support``)."""
    return _Decision(is_node_supported)


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Return a decision that takes what all others take (``torch.fx.passes.operator_support.chain``)."""
    return _Decision(lambda modules, node: all(support.is_node_supported(modules, node) for support in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Return a decision that takes what any other takes (``torch.fx.passes.operator_support.any_chain``)."""
    return _Decision(lambda modules, node: any(support.is_node_supported(modules, node) for support in op_support))


class OpSupports:
    """Usual decisions (``torch.fx.passes.operator_support.OpSupports``)."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: DType) -> OperatorSupportBase:
        """Return a decision that takes no node with an input of this dtype."""
        return _Decision(lambda modules, node: all(_get_arg_dtype(arg) != dtype for arg in node.all_input_nodes))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """Return a decision that takes no node of these names."""
        return _Decision(lambda modules, node: node.name not in disallow_set)


def _get_arg_dtype(arg: Node) -> Any:
    """Return the dtype of a node's value, or its type unless it is a tensor."""
    meta = arg.meta.get("tensor_meta")
    return meta.dtype if isinstance(meta, TensorMetadata) else arg.meta["type"]

"""``FakeTensorProp``: the values of a graph's nodes as fake tensors (``torch.fx.passes.fake_tensor_prop``)."""
from __future__ import annotations

from typing import Any

from ..._subclasses.fake_tensor import FakeTensorMode
from ..._tensor import Tensor
from ...nn.module import Module
from ..interpreter import Interpreter
from ..node import Node


class FakeTensorProp(Interpreter):
    """Runs a graph on fake tensors, and notes each node's value in ``node.meta["val"]``
    (``torch.fx.passes.fake_tensor_prop.FakeTensorProp``).
    """

    def __init__(self, module: Module, mode: FakeTensorMode | None = None) -> None:
        super().__init__(module)
        self._mode = FakeTensorMode() if mode is None else mode

    def run_node(self, n: Node) -> Any:
        """Run a node and note its value."""
        result = super().run_node(n)
        n.meta["val"] = result
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph on fake tensors for these arguments, and return its result."""
        return self.propagate_dont_convert_inputs(
            *[self._mode.from_tensor(arg) if isinstance(arg, Tensor) else arg for arg in args])

    def propagate_dont_convert_inputs(self, *args: Any) -> Any:
        """Run the graph on arguments that are fake already, and return its result."""
        with self._mode:
            return self.run(*args)

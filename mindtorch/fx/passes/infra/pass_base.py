"""``PassBase``: a pass as a class (``torch.fx.passes.infra.pass_base``)."""
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from ...graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]
__dir__ = __all__.copy


class PassResult(NamedTuple):
    """The module that a pass returns, and whether it differs (``torch.fx.passes.infra.pass_base.PassResult``)."""

    graph_module: Any
    modified: bool


class PassBase(ABC):
    """A pass: ``call`` changes a module, ``requires`` and ``ensures`` check it before and after
    (``torch.fx.passes.infra.pass_base.PassBase``).
    """

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Change a module."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027  # subclasses may
        """Raise if the pass cannot take a module."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027  # subclasses may
        """Raise if the pass has left a module wrong."""

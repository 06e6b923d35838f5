"""The backend ``inductor``: programs of NumPy (``torch._dynamo.backends.inductor``)."""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ..._compile.function import CompiledFunction
from .registry import register_backend


@register_backend
def inductor(gm: Any, example_inputs: Any, **options: Any) -> CompiledFunction:
    """Return the graph as a program of NumPy, recorded at its first call (``torch._inductor.compile_fx``)."""
    forward = type(gm).forward
    attributes = SimpleNamespace(**{node.target: getattr(gm, node.target) for node in gm.graph.nodes
                                    if node.op == "get_attr"})

    def graph(*args: Any) -> Any:
        return forward(attributes, *args)

    return CompiledFunction(graph)

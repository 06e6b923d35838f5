"""The backend ``inductor``: programs of NumPy (``torch._dynamo.backends.inductor``)."""
from __future__ import annotations

from typing import Any

from ..._compile.compiled_graph import CompiledGraph
from .registry import register_backend
from .sizes import by_size, for_all_sizes, has_symbols


@register_backend
def inductor(gm: Any, example_inputs: Any, **options: Any) -> Any:
    """Return the graph as a program of NumPy, for tensors like the examples, or of any sizes where these are symbols
    (``torch._inductor.compile_fx``).
    """
    if has_symbols(gm) and (made := for_all_sizes(gm, example_inputs)) is not None:
        return made
    return by_size(CompiledGraph, gm, example_inputs)

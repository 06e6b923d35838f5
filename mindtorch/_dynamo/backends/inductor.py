"""The backend ``inductor``: programs of NumPy (``torch._dynamo.backends.inductor``)."""
from __future__ import annotations

from typing import Any

from ..._compile.function import CompiledFunction
from .registry import register_backend


@register_backend
def inductor(gm: Any, example_inputs: Any, **options: Any) -> Any:
    """Return the graph as a program of NumPy, recorded at its first call (``torch._inductor.compile_fx``)."""
    return CompiledFunction(gm.forward)

"""``symbolic_trace``: a module or function as a ``GraphModule``; and the names that PyTorch has in this module."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..nn.module import Module
from ._patching import (
    _create_wrapped_func as _create_wrapped_func, _find_proxy as _find_proxy,
    _maybe_revert_all_patches as _maybe_revert_all_patches, _new_patcher as _new_patcher, _Patcher as _Patcher,
    _wrapped_fns_to_patch as _wrapped_fns_to_patch, _wrapped_methods_to_patch as _wrapped_methods_to_patch,
    wrap as wrap,
)
from ._tracer import (
    PH as PH, PHBase as PHBase, PHWithMeta as PHWithMeta, ProxyableClassMeta as ProxyableClassMeta, Tracer as Tracer,
    _assert_is_none as _assert_is_none, is_fx_symbolic_tracing as is_fx_symbolic_tracing,
    is_fx_tracing as is_fx_tracing,
)
from .graph_module import GraphModule

__all__ = ["PH", "PHBase", "PHWithMeta", "ProxyableClassMeta", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]
__dir__ = __all__.copy


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """Return a module that does what a module or a function does, with its graph (``torch.fx.symbolic_trace``).

    Raises:
        TraceError: if what it does depends on values.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    return GraphModule(tracer.root, graph, type(root).__name__ if isinstance(root, Module) else root.__name__)

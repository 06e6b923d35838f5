"""Backends made of compilers for the graphs of AOTAutograd (``torch._dynamo.backends.common``)."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._functorch.aot_autograd import aot_module_simplified
from .sizes import by_size


def aot_autograd(**options: Any) -> Callable[..., Any]:
    """Return a backend that traces a graph's forward and backward pass and compiles both
    (``torch._dynamo.backends.common.aot_autograd``).

    The options are those of ``aot_module_simplified``: ``fw_compiler``, ``bw_compiler``, ``partition_fn``, ...
    """
    def compile_fn(gm: Any, example_inputs: Any) -> Any:
        return aot_module_simplified(gm, example_inputs, **options)

    return lambda gm, example_inputs, **settings: by_size(compile_fn, gm, example_inputs)

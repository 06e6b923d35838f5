"""Backends made of compilers for the graphs of AOTAutograd (``torch._dynamo.backends.common``)."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..._functorch.aot_autograd import aot_module_simplified
from .sizes import by_size


def aot_autograd(**options: Any) -> Callable[..., Any]:
    """Return a backend that traces a graph's forward and backward pass and compiles both
    (``torch._dynamo.backends.common.aot_autograd``). It can be pickled if its compilers can.

    The options are those of ``aot_module_simplified``: ``fw_compiler``, ``bw_compiler``, ``partition_fn``, ...
    """
    return partial(_compiled, options)


def _compiled(options: dict[str, Any], gm: Any, example_inputs: Any, **settings: Any) -> Any:
    return by_size(partial(aot_module_simplified, **options), gm, example_inputs)

"""Backends made of compilers for the graphs of AOTAutograd (``torch._dynamo.backends.common``)."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..._compile.logs import log
from ..._functorch.aot_autograd import aot_module_simplified
from ..._higher_order_ops.cond import cond_op
from ..._higher_order_ops.while_loop import while_loop_op
from .sizes import by_size


def aot_autograd(**options: Any) -> Callable[..., Any]:
    """Return a backend that traces a graph's forward and backward pass and compiles both
    (``torch._dynamo.backends.common.aot_autograd``). It can be pickled if its compilers can.

    The options are those of ``aot_module_simplified``: ``fw_compiler``, ``bw_compiler``, ``partition_fn``, ...
    """
    return partial(_compiled, options)


def _depends_on_data(gm: Any) -> bool:
    """Return whether data choose which operators of a graph run."""
    return any(node.target in (cond_op, while_loop_op) for node in gm.graph.nodes) or any(
        map(_depends_on_data, [child for child in gm.children() if hasattr(child, "graph")]))


def _compiled(options: dict[str, Any], gm: Any, example_inputs: Any, **settings: Any) -> Any:
    if _depends_on_data(gm):  # there is no one list of operators for a forward and a backward pass
        log("graph_code", lambda: "AOTAutograd leaves a graph with control flow that depends on data as it is.")
        return gm.forward
    return by_size(partial(aot_module_simplified, **options), gm, example_inputs)

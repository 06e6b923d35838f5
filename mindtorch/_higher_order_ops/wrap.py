"""Functions as graphs inside a graph: ``wrap``, and checkpoints, whose values the backward pass computes again."""
from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import nullcontext
from itertools import count
from typing import Any

from .._dispatch.local import local
from ..fx.experimental.proxy_tensor import get_proxy_mode
from ..utils._python_dispatch import TorchDispatchMode
from ..utils._selective_checkpoint import CheckpointPolicy, _CachingTorchDispatchMode
from ..utils.checkpoint import checkpoint, noop_context_fn
from ._operator import GraphOperator, called

_numbers = count()


#: ``wrap(function, *args)``: a call, which a graph keeps as one node (``torch._higher_order_ops.wrap.wrap``).
wrap = GraphOperator("wrap", called)


class _Marks(TorchDispatchMode):
    """A mode that marks the nodes of each operator as a policy says."""

    def __init__(self, policy: Callable[..., Any], mark: Callable[[Any], None]) -> None:
        super().__init__()
        self.policy, self.mark = policy, mark

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator."""
        from ..utils.checkpoint import SelectiveCheckpointContext

        out = func(*args, **(kwargs or {}))
        chosen = self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=out), func, *args,
                             **(kwargs or {}))
        if isinstance(chosen, bool):
            chosen = CheckpointPolicy.MUST_SAVE if chosen else CheckpointPolicy.PREFER_RECOMPUTE
        self.mark(chosen)
        return out


#: Where a body's ``meta`` has the function that makes the contexts of its checkpoint, which no graph shows.
CONTEXTS = "_checkpoint_context_fn"


def _checkpointed(body: Any, *args: Any, **settings: Any) -> Any:
    """Call a body. In a trace, mark its nodes: the backward pass computes them again, except for random numbers, which
    are drawn once.
    """
    context_fn = getattr(body, "meta", {}).get(CONTEXTS, noop_context_fn)
    mode = get_proxy_mode()
    if mode is None:
        if local.dispatch_modes:  # nothing is saved
            return body(*args)
        return checkpoint(body, *args, use_reentrant=False, context_fn=context_fn, **settings)
    graph, number = mode.tracer.graph, next(_numbers)
    known = set(graph.nodes)

    def mark(policy: CheckpointPolicy) -> None:
        for node in reversed(graph.nodes):
            if node in known:
                break
            known.add(node)
            node.meta["ac_graph_id"] = number
            made = node.args[0] if node.target is operator.getitem else node
            if not (made.op == "call_function" and made.is_impure()):
                node.meta["recompute"] = policy

    forward: Any = nullcontext() if context_fn is noop_context_fn else context_fn()[0]
    if isinstance(forward, _CachingTorchDispatchMode):
        forward = _Marks(forward.policy, mark)
    with forward:
        result = body(*args)
    mark(CheckpointPolicy.PREFER_RECOMPUTE)
    return result


#: A checkpoint in a graph (``torch._higher_order_ops.wrap.tag_activation_checkpoint``).
tag_activation_checkpoint = GraphOperator("tag_activation_checkpoint", _checkpointed)

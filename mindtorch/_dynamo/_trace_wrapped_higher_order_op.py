"""``torch._dynamo._trace_wrapped_higher_order_op``: indexing by tensors of no dimension inside of ``vmap``."""
from __future__ import annotations

from typing import Any

from .._dispatch.overloads import ops
from .._tensor import Tensor
from ..overrides import TorchFunctionMode


class TransformGetItemToIndex(TorchFunctionMode):
    """A block in which ``x[i, j]`` takes tensors of no dimension as indices, not as numbers, so that ``vmap`` can batch
    them.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.__getitem__:
            indices = args[1] if isinstance(args[1], tuple) else (args[1],)
            if any(isinstance(index, Tensor) for index in indices) and all(
                    isinstance(index, Tensor | int) and not isinstance(index, bool) for index in indices):
                x = args[0]
                return ops.aten.index.Tensor(x, [
                    index if isinstance(index, Tensor) else x.new_tensor(index, dtype=ops.aten.arange(1).dtype)
                    for index in indices])
        return func(*args, **(kwargs or {}))

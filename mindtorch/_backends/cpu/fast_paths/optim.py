"""Fast paths of optimizers' steps."""
from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from ...._base.quiet import quietly
from ..ops import CPU_KERNELS
from . import FAST_PATHS, Row

ARRAY, SHAPE = attrgetter("_array"), attrgetter("shape")


def on_lists(name: str, count: int) -> Callable[[Row], Row]:
    """Build the fast path of a fused optimizer step.

    The first ``count`` arguments are lists of tensors, which may be empty; the others are settings, the last two
    optional tensors. The kernel writes in place, so errors are raised, not retried.
    """

    def make(general: Row) -> Row:
        kernel, shaped = CPU_KERNELS[name], count if name == "_fused_sgd_" else count - 1  # the last list holds steps

        def fast(*args: Any) -> Any:
            lists = [[*map(ARRAY, tensors)] for tensors in args[:count]]
            shapes = [*map(SHAPE, lists[0])]
            if (len(lists[1]) != len(shapes) or len(lists[-1]) not in (0, len(shapes)) or args[-1] is not None
                    or args[-2] is not None):
                return general(*args)
            for arrays in lists[1:shaped]:
                if arrays and [*map(SHAPE, arrays)] != shapes:
                    return general(*args)
            quietly(kernel, *lists, *args[count:])
            return args[0]

        return fast

    return make


FAST_PATHS.update({name: on_lists(name, count) for name, count in (
    ("_fused_sgd_", 3), ("_fused_adam_", 6), ("_fused_adamw_", 6), ("_fused_adagrad_", 4))})

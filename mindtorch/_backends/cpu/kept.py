"""Fast paths that keep what the sizes and settings of a call alone decide, for the next small call like it.

Which element of a small tensor ``flip``, ``roll`` or ``pixel_shuffle`` puts where, and which elements a pooling window
covers, takes many steps of Python to find out and few to do. The general code finds it out once; what is kept is
bounded in number and in size. Some of the operators are composites, whose operators a reader, a mode or a pipeline may
want to see: then, as the dispatcher's mode says, the composite itself runs.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._dispatch import dispatcher
from ..._tensor import Tensor
from ..common.fast_paths import Row

KEPT = 64  #: plans that an operator keeps
MOST = 1 << 11  #: elements of a small tensor
UNFIT: Any = ()  #: instead of a plan, for a call that has none


def keep(plans: dict[Any, Any], key: Any, plan: Any) -> None:
    """Keep a plan, instead of all others where there are too many."""
    if len(plans) >= KEPT:
        plans.clear()
    plans[key] = plan


def by_plan(learn: Callable[..., Any], act: Callable[[Any, Tensor], Any]) -> Callable[[Row], Row]:
    """A fast path that acts by a plan for each shape and settings, which it learns at the first such call. ``learn``
    is given the general code and the call, and returns ``UNFIT`` for one without a plan; ``act`` returns None for what
    is left to the general code.
    """
    def make(general: Row) -> Row:
        plans: dict[Any, Any] = {}

        def fast(self: Any, *args: Any) -> Any:
            shape = self._array.shape
            if dispatcher.mode or self._array.size > MOST:
                return general(self, *args)
            try:
                plan = plans.get((shape, args))
            except TypeError:  # a list among the settings
                return general(self, *args)
            result = act(plan, self) if plan else None
            if result is None:
                result = general(self, *args)
                if plan is None:
                    keep(plans, (shape, args), learn(general, self, *args))
            return result

        return fast

    return make

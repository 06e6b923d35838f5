"""Plans: results of the checks of a call, cached under its operator for later calls like it.

The cache key is the interned layouts of the call's tensors, and its settings. These decide everything but the values:
what the meta kernel describes, where a view begins, which elements a pooling window covers. A call with a plan skips
all that and computes on the arrays at once.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._base.layout import Spec
from ..._base.quiet import silent
from ..._dispatch import dispatcher
from ..._dispatch.dispatcher import TENSOR_TYPES
from ..._dispatch.keys import REDIRECTING
from ..._dispatch.observers import untold
from ..._dispatch.schemas import registry
from ..._dtype import DType, int64
from ..._tensor import Tensor, from_array
from .fast_paths import PLAIN, Row, ndarray

MOST = 1 << 11  #: elements of a small tensor
UNFIT: Any = ()  #: instead of a plan, for a call that has none
SETTINGS, INTS = {int, bool, str, DType, type(None)}, {int}


class Plans(dict[Any, Any]):
    """The plans of one operator by cache key: at most ``most``, after which it starts afresh."""

    def __init__(self, most: int = 1 << 10):
        super().__init__()
        self.most = most

    def keep(self, key: Any, plan: Any) -> Any:
        """Keep a plan, unless its key is None, and return it."""
        if key is not None:
            if len(self) >= self.most:
                self.clear()
            self[key] = plan
        return plan


def key_of(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the cache key of a call: the layouts of its tensors and its settings, with their types, since 1, 1.0 and
    True are equal, and so are 0.0 and -0.0. None for a call with other objects.
    """
    key: list[Any] = []
    for arg in args:
        kind = arg.__class__
        if kind in TENSOR_TYPES:
            key.append(arg._layout or arg._layout_of_plans())
        elif kind in SETTINGS:
            key += kind, arg
        elif kind is float:
            key += kind, arg or str(arg)
        elif kind is tuple and INTS.issuperset(map(type, arg)):
            key.append(arg)
        elif (kind is list or kind is tuple) and arg and TENSOR_TYPES.issuperset(map(type, arg)):
            key.append(tuple([item._layout or item._layout_of_plans() for item in arg]))
        else:
            return None
    return tuple(key)


def remembering(meta: Callable[..., Any]) -> Callable[..., Any]:
    """Return a meta kernel that checks and describes a call once. Refused calls are not cached."""
    plans = Plans()

    def described(*args: Any) -> Any:
        key = key_of(args)
        said = plans.get(key, plans)  # a check returns None
        return plans.keep(key, meta(*args)) if said is plans else said

    if (policy := getattr(meta, "policy", None)) is not None:
        described.policy = policy  # type: ignore[attr-defined]
    return described


# -- plans of operators that move elements ---------------------------------------------------------------------------

def by_plan(learn: Callable[..., Any], act: Callable[[Any, Tensor], Any]) -> Callable[[Row], Row]:
    """Build a fast path that acts by a plan for each layout and settings, learned at the first such call. ``learn`` is
    given the general code and the call, and returns ``UNFIT`` for one without a plan; ``act`` returns None for a call
    that the general code takes.
    """
    def make(general: Row) -> Row:
        plans = Plans(1 << 6)

        def fast(self: Any, *args: Any) -> Any:
            if dispatcher.mode & REDIRECTING or self._array.size > MOST:
                return general(self, *args)
            key = self._layout or self._layout_of_plans(), args
            try:
                plan = plans.get(key)
            except TypeError:  # a list among the settings is not hashable
                return general(self, *args)
            result = act(plan, self) if plan else None
            if result is None:
                result = general(self, *args)
                if plan is None:
                    with untold():
                        plans.keep(key, learn(general, self, *args))
            return result

        return fast

    return make


def compute(work: Any, self: Any) -> Any:
    """Run a plan's function on a floating point tensor; return a tensor, or one of values and one of indices."""
    dtype = self._dtype
    made = silent().run(work, self._array) if dtype in PLAIN else None
    if made.__class__ is ndarray:
        return from_array(made, dtype)
    return None if made is None else (from_array(made[0], dtype), from_array(made[1], int64))


def planned(plan: Callable[..., Any], described: str = "") -> Callable[[Row], Row]:
    """Build the fast path of an operator by ``plan(shape, *settings)``, which returns a function of small arrays that
    computes the values, or values and places. Either returns None for a call that the general kernel takes. The meta
    kernel of the operator ``described``, if there is one, has described the call before.
    """
    def learn(general: Row, self: Any, *args: Any) -> Any:
        shape = self._array.shape
        if described:
            specs = registry.meta_rows[described](self, *args)
            if (specs if isinstance(specs, Spec) else specs[0]).stride is not None:
                return UNFIT
        return (0 not in shape and plan(shape, *args)) or UNFIT

    return by_plan(learn, compute)

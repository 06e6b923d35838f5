"""What was found out about calls, for the next call like one: what the meta kernels say, and plans of fast paths.

The sizes, strides, dtypes and settings of a call alone decide it; it is bounded in number. Which element of a small
tensor ``flip``, ``roll`` or ``pixel_shuffle`` puts where, and which elements a pooling window covers, takes many steps
of Python to find out and few to do: the general code finds it out once, and a plan, bounded in size, has it done. Some
of these operators are composites, whose operators a reader, a mode or a pipeline may want to see: then, as the
dispatcher's mode says, the composite itself runs.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._dispatch import dispatcher
from ..._dispatch.dispatcher import TENSOR_TYPES
from ..._dispatch.schemas import registry
from ..._dtype import DType, int64
from ..._layout import Spec
from ..._tensor import Tensor, from_array
from ..common.quiet import silent
from .fast_paths import PLAIN, Row, ndarray
from .rows import array_of

DESCRIPTIONS, PLANS = 1 << 10, 1 << 6  #: how many of them an operator keeps
MOST = 1 << 11  #: elements of a small tensor
UNFIT: Any = ()  #: instead of a plan, for a call that has none
SETTINGS, INTS = {int, float, bool, str, DType, type(None)}, {int}


class Kept(dict[Any, Any]):
    """What was found out about calls, by what tells them from each other; ``most`` at a time."""

    def __init__(self, most: int):
        super().__init__()
        self.most = most

    def keep(self, key: Any, found: Any) -> Any:
        """Keep it, instead of all others where there are too many, and return it. What has no key is not kept."""
        if key is not None:
            if len(self) >= self.most:
                self.clear()
            self[key] = found
        return found


# -- descriptions ------------------------------------------------------------------------------------------------------

def seen(args: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """What is kept of a call by: the shapes, strides and dtypes of its tensors, and its settings; None for a call with
    lists of tensors, or other objects. And the arguments as a row takes them.
    """
    key: list[Any] | None = [*map(type, args)]  # 1, 1.0 and True are equal
    arrays: list[Any] = []
    for arg in args:
        kind = arg.__class__
        if kind in TENSOR_TYPES:
            array = arg._array
            arrays.append(array)
            if key is not None:
                key += (array.shape, arg._stride, arg._dtype)
        elif kind in SETTINGS:
            arrays.append(arg)
            if key is not None:
                key.append(arg if arg or kind is not float else str(arg))  # so are 0.0 and -0.0
        else:
            arrays.append(array_of(arg))
            if kind is not tuple or not {*map(type, arg)} <= INTS:
                key = None
            elif key is not None:
                key.append(arg)
    return key if key is None else (*key,), arrays


def remembering(meta: Callable[..., Any]) -> Callable[..., Any]:
    """A meta kernel that keeps what it says, by all that it looks at: a call like one before is neither checked nor
    described again. What it refuses it does not keep.
    """
    kept = Kept(DESCRIPTIONS)

    def described(*args: Any) -> Any:
        key, _ = seen(args)
        said = kept.get(key, kept)  # of a check, None
        return kept.keep(key, meta(*args)) if said is kept else said

    if (policy := getattr(meta, "policy", None)) is not None:
        described.policy = policy  # type: ignore[attr-defined]
    return described


# -- plans of fast paths -----------------------------------------------------------------------------------------------

def by_plan(learn: Callable[..., Any], act: Callable[[Any, Tensor], Any]) -> Callable[[Row], Row]:
    """A fast path that acts by a plan for each shape and settings, which it learns at the first such call. ``learn``
    is given the general code and the call, and returns ``UNFIT`` for one without a plan; ``act`` returns None for what
    is left to the general code.
    """
    def make(general: Row) -> Row:
        plans = Kept(PLANS)

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
                    plans.keep((shape, args), learn(general, self, *args))
            return result

        return fast

    return make


def compute(work: Any, self: Any) -> Any:
    """What a plan makes of floating point numbers: a tensor, or one of values and one of places."""
    dtype = self._dtype
    made = silent().run(work, self._array) if dtype in PLAIN else None
    if made.__class__ is ndarray:
        return from_array(made, dtype)
    return None if made is None else (from_array(made[0], dtype), from_array(made[1], int64))


def planned(plan: Callable[..., Any], described: str = "") -> Callable[[Row], Row]:
    """The fast path of an operator by ``plan(shape, *settings)``, which makes what computes it of small arrays: the
    values, or values and places. Either returns None for what is left to the general kernel. The meta kernel of the
    operator ``described``, if there is one, has described the call before.
    """
    def learn(general: Row, self: Any, *args: Any) -> Any:
        shape = self._array.shape
        if described:
            specs = registry.meta_rows[described](self, *args)
            if (specs if isinstance(specs, Spec) else specs[0]).stride is not None:
                return UNFIT
        return (0 not in shape and plan(shape, *args)) or UNFIT

    return by_plan(learn, compute)

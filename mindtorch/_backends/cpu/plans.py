"""Plans: results of the checks of a call, cached under its operator for later calls like it.

The cache key is the interned layouts of the call's tensors, and its settings. These decide everything but the values:
what the meta kernel describes, where a view begins, which elements a pooling window covers. A call with a plan skips
all that and computes on the arrays at once.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._base.formats import memory_format
from ..._device import device
from ..._dispatch.dispatcher import TENSOR_TYPES
from ..._dtype import DType, get_default_dtype

#: After so many misses in a row, the layouts seem to change at every call. Then only each so-many-th call looks for a
#: plan, and the others are computed without one, until a call is found.
MISSES = 16
UNFIT: Any = ()  #: instead of a plan, for a call that has none
#: Instead of a plan after the first call of a layout, which makes none. If the meta kernel described that call, a tuple
#: of its specs is kept.
SEEN: Any = ("seen",)
SETTINGS, INTS = {int, bool, str, DType, device, memory_format, type(None)}, {int}


class Plans(dict[Any, Any]):
    """The plans of one operator by cache key: at most ``most``, after which it starts afresh. ``missed`` counts the
    calls since the last one that found a plan.
    """

    __slots__ = ("missed", "most")

    def __init__(self, most: int = 1 << 10):
        super().__init__()
        self.most, self.missed = most, 0

    def skip(self) -> bool:
        """Count a call after more than ``MISSES`` misses; return True if it need not look for a plan."""
        self.missed += 1
        return self.missed % MISSES != 0

    def keep(self, key: Any, plan: Any) -> Any:
        """Keep a plan, unless its key is None, and return it."""
        if key is not None:
            if len(self) >= self.most:
                self.clear()
            self[key] = plan
        return plan


def key_of(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the cache key of a call: the layouts of its tensors and its settings, with their types, since 1, 1.0 and
    True are equal, and so are 0.0 and -0.0; and the default dtype, which numbers and results may have. None for a call
    with other objects.
    """
    key: list[Any] = [get_default_dtype()]
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

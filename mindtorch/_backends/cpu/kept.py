"""Fast paths that keep what the sizes and settings of a call alone decide, for the next small call like it.

Which element of a small tensor ``flip``, ``roll`` or ``pixel_shuffle`` puts where, and which elements a pooling window
covers, takes many steps of Python to find out and few to do. The general code finds it out once; what is kept is
bounded in number and in size. Some of the operators are composites, whose operators a reader, a mode or a pipeline may
want to see: then, as the dispatcher's mode says, the composite itself runs.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._dispatch import dispatcher
from ..._dispatch.keys import CPU, NONCONTIGUOUS
from ..._dispatch.schemas import registry
from ..._dtype import float32, float64, int64
from ..._layout import Ints, Spec, contiguous_strides
from ..._storage import storage_of_array
from ..._tensor import Tensor, new
from ..common.fast_paths import Row, fresh, ndarray

KEPT = 64  #: plans that an operator keeps
MOST = 1 << 11  #: elements of a small tensor
PLAIN = {float32, float64}
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


# -- elements in other places ------------------------------------------------------------------------------------------

def move(plan: Any, self: Any) -> Tensor | None:
    """Put elements in other places, and zeros where none comes to stand."""
    source, holes, layout = plan
    array, dtype = self._array, self._dtype
    if holes is not None and dtype.np.kind == "V":  # NumPy's own dtypes have a zero
        return None
    moved = array.take(source)
    if holes is not None:
        moved.put(holes, 0)
    out = new(Tensor)
    out._array, out._dtype, out._keys = moved, dtype, CPU
    if layout is not None:
        shape, stride = layout
        out._array = np.ndarray(shape, dtype.np, moved, 0, [step * dtype.itemsize for step in stride])
        out._keys, out._stride, out._storage = CPU | NONCONTIGUOUS, stride, storage_of_array(moved)
        out._storage.add_alias(out)
    return out


#: Which element comes where is learned from what the operator makes of their numbers.
moving = by_plan(lambda general, self, *args: places(general(numbered(self._array.shape), *args)), move)


def numbered(shape: Ints) -> Tensor:
    """A tensor of the numbers of its elements, from 1 on."""
    size = int(np.prod(shape))
    return fresh(np.arange(1, size + 1).reshape(shape), int64)


def places(numbers: Tensor) -> Any:
    """What to keep of numbers that were put in other places: which element stands where in memory, where none does, and
    the shape and strides unless contiguous.
    """
    array: Any = numbers._array
    storage, stride = numbers.untyped_storage(), numbers._strides()
    if not 0 < array.size <= MOST or not array.ndim or storage.nbytes() != array.nbytes or numbers._base is not None:
        return UNFIT
    found = np.ndarray(array.size, array.dtype, storage._bytes) - 1
    holes = np.flatnonzero(found < 0)
    np.maximum(found, 0, out=found)
    of_holes = holes if holes.size else None
    if stride == contiguous_strides(array.shape) and not numbers._keys & NONCONTIGUOUS:
        return found.reshape(array.shape), of_holes, None
    return found, of_holes, (array.shape, stride)


# -- plans of computing ------------------------------------------------------------------------------------------------

#: By operator: ``plan(shape, *settings)`` makes what computes it of small floating point arrays: the values, or values
#: and places. Either returns None for what is left to the general kernel. A family's kernels put theirs here when they
#: are loaded.
PLANS: dict[str, Callable[..., Any]] = {}


def compute(work: Any, self: Any) -> Any:
    """What a plan makes of floating point numbers: a tensor, or one of values and one of places."""
    dtype = self._dtype
    made = work(self._array) if dtype in PLAIN else None
    if made.__class__ is ndarray:
        return fresh(made, dtype)
    return None if made is None else (fresh(made[0], dtype), fresh(made[1], int64))


def planned(name: str, described: str) -> Callable[[Row], Row]:
    """The fast path of an operator with a plan, after the meta kernel of the operator ``described`` has described the
    call.
    """
    def learn(general: Row, self: Any, *args: Any) -> Any:
        specs = registry.meta_rows[described](self, *args)
        spec = specs if isinstance(specs, Spec) else specs[0]
        shape = self._array.shape
        return (spec.stride is None and 0 not in shape and PLANS[name](shape, *args)) or UNFIT

    return by_plan(learn, compute)


#: Of composites.
OF_MOVES: dict[str, Callable[[Row], Row]] = {
    **dict.fromkeys(("roll", "rot90", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "native_channel_shuffle",
                     "diag", "diag_embed", "im2col", "repeat", "tile", "repeat_interleave.self_int", "fliplr", "flipud",
                     *(f"{mode}_pad{n}d" for mode in ("reflection", "replication") for n in (1, 2, 3))), moving),
    **{f"max_pool{n}d": planned(f"max_pool{n}d", f"max_pool{n}d_with_indices") for n in (2, 3)},
}
#: Of kernels.
OF_KERNELS: dict[str, Callable[[Row], Row]] = {
    **dict.fromkeys(("flip", "tril", "triu"), moving),
    **{name: planned(name, name) for n in (2, 3) for name in (f"avg_pool{n}d", f"max_pool{n}d_with_indices")},
}

"""Plans: results of the checks of a call, cached under its operator for later calls like it.

The cache key is the interned layouts of the call's tensors, and its settings. These decide everything but the values:
what the meta kernel describes, where a view begins, which elements a pooling window covers. A call with a plan skips
all that and computes on the arrays at once.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._base.formats import memory_format
from ..._base.layout import Ints, Layout, Spec, intern_layout
from ..._base.quiet import silent
from ..._device import device
from ..._dispatch.dispatcher import TENSOR_TYPES
from ..._dispatch.keys import CPU
from ..._dispatch.registry import Kernel, Operator
from ..._dispatch.return_types import packer
from ..._dtype import DType, get_default_dtype
from ..._tensor import Tensor, new
from .rows import Prepared, Rows, fit, ndarray, order_of, out_of_memory, refuse_what_cannot_be, shares_memory, strided

#: NumPy's errors for results that memory, or any memory, cannot hold.
ERRORS = (MemoryError, ValueError, IndexError)
#: After so many misses in a row, the layouts seem to change at every call. Then only each so-many-th call looks for a
#: plan, and the others are computed without one, until a call is found.
MISSES = 16
#: The layout of an output, the order of dimensions in which it is contiguous, and its strides in bytes.
Laid = tuple[Layout, Ints, Ints]
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


def exact(number: Any) -> tuple[Any, Any]:
    """Return a number as a cache key of its own: 1, 1.0 and True are equal, and so are 0.0 and -0.0."""
    return number.__class__, number or str(number)


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


class Plan:
    """A plan of a call: the ``specs`` of the outputs, and the function that computes them from arrays.

    ``run`` takes the leading arrays, then ``settings``; a prepared row has settled them. ``layout`` is set once a
    single output was seen to be new and contiguous: its array is then used directly; ``laid`` if it is so in another
    order of its dimensions. ``layouts`` is for several.
    """

    __slots__ = ("laid", "layout", "layouts", "op", "pack", "run", "settings", "specs")

    def __init__(self, op: Operator, row: Rows, specs: Any, settings: tuple[Any, ...]) -> None:
        self.op, self.specs, self.settings, self.pack = op, specs, settings, packer(op)
        self.run: Rows = row
        if isinstance(row, Prepared):
            self.run, self.settings = row.starting(self, settings), ()
        self.layout: Layout | None = None
        self.laid: Laid | None = None
        self.layouts: list[Layout | Laid | None] | None = None

    def compute(self, *arrays: Any) -> Any:
        """Return the outputs as tensors."""
        try:
            results = silent().run(self.run, *arrays, *self.settings)
        except ERRORS as error:
            self.refuse(error)
            raise
        return self.finish(results, arrays)

    def site(self) -> tuple[str, str, int]:
        """Return name, file and line of the function that computes."""
        return getattr(self.run, "__qualname__", repr(self.run)), *Kernel(self.run, self.run).location

    def refuse(self, error: Exception) -> None:
        """Raise PyTorch's error if memory is short, or if no memory could hold an output."""
        refuse(error, self.specs or ())

    def finish(self, results: Any, arrays: Sequence[Any]) -> Any:
        """Return the outputs as tensors, and find out which arrays can be used directly from now on."""
        specs = self.specs
        if specs is None or results is None:  # a composite's result, or a call that is left to the composite
            return results
        if specs.__class__ is Spec:
            if (kept := self.laid or self.layout) is not None:
                if (out := direct(results, kept, arrays)) is not None:
                    return out
            elif (found := layout_of(results, specs, arrays)).__class__ is Layout:
                self.layout = found
            else:
                self.laid = found
            return fit(self.op, results, specs, arrays)
        if self.layouts is None:
            self.layouts = [layout_of(result, spec, arrays) if spec.__class__ is Spec else None
                            for result, spec in zip(results, specs, strict=True)]
        outputs, alone = [], arrays[0] if len(arrays) == 1 and arrays[0].__class__ is ndarray else None
        of_alone = None if alone is None else alone.base
        for result, spec, layout in zip(results, specs, self.layouts, strict=True):
            if (layout.__class__ is Layout and alone is not None and result.__class__ is ndarray
                    and result is not alone and ((base := result.base) is None or (
                        base.__class__ is ndarray and base.base is None and base is not alone
                        and base is not of_alone))):  # as ``direct``, without the call
                out = new(Tensor)
                out._array, out._dtype, out._keys, out._layout = result, layout.dtype, CPU, layout
                outputs.append(out)
                continue
            out = None if layout is None else direct(result, layout, arrays)
            if out is None:  # None is an output that was not requested; a number is already known
                out = fit(self.op, result, spec, arrays) if spec.__class__ is Spec else spec
            outputs.append(out)
        return self.pack(outputs)


def refuse(error: Exception, specs: Any) -> None:
    """Raise PyTorch's error if memory is short, or if no memory could hold an output."""
    if not isinstance(error, MemoryError):
        refuse_what_cannot_be(specs)
        return
    if not isinstance(specs, Spec) or max(specs.shape or (0,)) < 1 << 63:
        refuse_what_cannot_be(specs)  # PyTorch makes the output before it copies an input
    raise out_of_memory(error) from None


def direct(result: Any, layout: Layout | Laid, inputs: Sequence[Any]) -> Tensor | None:
    """Return a tensor of a result as it is; None unless it is a new array, or a part of one, of these strides."""
    if result.__class__ is not ndarray:
        result = np.asarray(result)
    base = result.base
    if base is None:
        for array in inputs:
            if result is array:
                return None
    elif base.__class__ is not ndarray or base.base is not None:
        return None
    else:
        for array in inputs:
            if base is array or (array.__class__ is ndarray and array.base is base):
                return None
    if layout.__class__ is tuple:
        layout, order, strides = layout
        if result.strides != strides:
            return None
        out = strided(result.transpose(order), result, layout.dtype, layout.stride or ())
        out._layout = layout
        return out
    out = new(Tensor)
    out._array, out._dtype, out._keys, out._layout = result, layout.dtype, CPU, layout  # type: ignore[union-attr]
    return out


def layout_of(result: Any, spec: Spec, inputs: Sequence[Any]) -> Any:
    """Return the layout of a result that matches its specification and owns its memory, perhaps with the order in which
    its dimensions are contiguous, else None.
    """
    array, stride = np.asarray(result), spec.stride
    if spec.shape is None or array.dtype is not spec.dtype.np or array.shape != spec.shape or (
            shares_memory(array, inputs)):
        return None
    if stride is None:
        return intern_layout(array.shape, None, spec.dtype) if array.flags.c_contiguous else None
    order = order_of(array.shape, stride)
    if not array.size or order is None or array.strides != tuple([array.itemsize * step for step in stride]):
        return None
    return intern_layout(array.shape, stride, spec.dtype), order[0], array.strides

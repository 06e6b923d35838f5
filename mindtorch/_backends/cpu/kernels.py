"""From functions of arrays to kernels on CPU tensors.

The general kernel asks the meta kernel first, so that every check and every stride is decided in one place.
Operators' fast paths stand in ``fast_paths``; those of pointwise ones are made at the end of this module.
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextvars import Context, copy_context
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..._dispatch.dispatcher import TENSOR_TYPES, flattened, registry
from ..._dispatch.keys import CPU, NONCONTIGUOUS
from ..._dispatch.registry import Kernel, Operator
from ..._dispatch.return_types import pack
from ..._dtype import BOOL, DTYPES, FLOATING, INTEGER, RARE, DType, bfloat16, bool_, float16, float32, get_default_dtype
from ..._layout import Spec, contiguous_strides
from ..._loops import ARITHMETIC, arithmetic
from ..._storage import allocate, can_be, out_of_host_memory
from ..._tensor import Tensor, empty_tensor, from_array, new
from ..common.blocks import LARGE, SMALL, compute, each_block
from ..common.fast_paths import REFUSALS, fast_path, laid_out, ndarray
from ..common.half import FEW, convert, converted
from ..common.inplace_and_out import writing_kernel
from ..common.pointwise import Pointwise, PreparedUfunc
from .fast_paths import ANY_STRIDES, fast_path_of
from .ops import CPU_KERNELS

Rows = Callable[..., Any]


def kernel_of(op: Operator) -> Kernel | None:
    """The CPU kernel of an operator that has a row."""
    row = CPU_KERNELS.get(op.name)
    if row is None:
        return None
    meta = registry.meta_rows.get(op.name)
    if isinstance(meta, Pointwise):
        general = pointwise_kernel(op, row, meta)
        fast = fast_path_of(op, general)
        if fast is not None:
            return Kernel(general, row, fast=fast)
        fast = pointwise_fast_path(op, row, meta, general)
        return Kernel(general if fast is None else with_zero_strides(general, fast), row, fast=fast)
    if meta is None:
        raise NotImplementedError(f"aten::{op.name} has a CPU row but no meta kernel")
    keeps = op.family not in ("creation", "random") and op.name not in OF_MORE
    if op.is_inplace:
        general = writing_kernel(remembering(meta) if keeps else meta, on_arrays(row))
    else:
        general = general_kernel(op, row, meta, keeps)
    fast = fast_path_of(op, general)
    return Kernel(fast if fast is not None and op.name in ANY_STRIDES else general, row, fast=fast)


#: Operators whose meta kernels look at more than a call's sizes: at values, at the default dtype, or at whether to warn
#: of what they are given.
OF_MORE = {"index.Tensor", "index_put_", "scatter_.reduce", "where.self", "logsumexp", "searchsorted.Tensor",
           "searchsorted.Scalar", "bucketize.Tensor", "bucketize.Scalar"}
#: Descriptions that an operator keeps.
KEPT = 1 << 10
PLAIN, INTS = {int, float, bool, str, DType, type(None)}, {int}


def seen(args: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """What is kept of a call by: the shapes, strides and dtypes of its tensors, and its settings; None for a call with
    lists of tensors, or other objects. And the arguments as a row takes them.
    """
    key: list[Any] | None = []
    arrays: list[Any] = []
    for arg in args:
        kind = arg.__class__
        if kind in TENSOR_TYPES:
            array = arg._array
            arrays.append(array)
            if key is not None:
                key += (array.shape, arg._stride, arg._dtype)
            continue
        arrays.append(arg if kind in PLAIN else array_of(arg))
        if key is None:
            continue
        if kind in PLAIN:
            key += (kind, arg if arg or kind is not float else str(arg))  # 1, 1.0 and True are equal, 0.0 and -0.0
        elif kind is tuple and {*map(type, arg)} <= INTS:
            key.append(arg)
        else:
            key = None
    return key if key is None else (*key,), arrays


class Kept(dict[Any, Any]):
    """What was found out about calls, by what ``seen`` says of them."""

    def keep(self, key: Any, said: Any) -> Any:
        if key is not None:
            if len(self) >= KEPT:
                self.clear()
            self[key] = said
        return said


def remembering(meta: Callable[..., Any]) -> Callable[..., Any]:
    """A meta kernel that keeps what it says, by all that it looks at: a call like one before is neither checked nor
    described again. What it refuses it does not keep.
    """
    kept = Kept()

    def described(*args: Any) -> Any:
        key, _ = seen(args)
        said = kept.get(key, kept)  # of a check, None
        return kept.keep(key, meta(*args)) if said is kept else said

    if (policy := getattr(meta, "policy", None)) is not None:
        described.policy = policy  # type: ignore[attr-defined]
    return described


def array_of(value: Any) -> Any:
    """An argument as a row takes it: arrays for tensors, also in lists; everything else as it is."""
    kind = value.__class__
    if kind in TENSOR_TYPES:
        return value._array
    if kind is list or kind is tuple:
        for item in value:
            if item.__class__ in TENSOR_TYPES:
                return [item._array if item.__class__ in TENSOR_TYPES else item for item in value]
    return value


def on_arrays(row: Rows) -> Callable[..., Any]:
    """A row that takes tensors."""

    return lambda *args: computed(row, map(array_of, args))


class Quiet(threading.local):
    """Contexts in which NumPy warns of nothing, as many as calls are within each other. To run a function in one that
    is there takes a tenth of what ``np.errstate`` takes.
    """

    def __init__(self) -> None:
        self.free: list[Context] = []

    def begin(self) -> Context:
        made = copy_context()
        made.run(np.seterr, all="ignore")
        return made


quiet = Quiet()


def computed(row: Rows, arrays: Iterable[Any]) -> Any:
    """What a row makes of arrays. Raises PyTorch's RuntimeError if there is not enough memory for it."""
    free = quiet.free
    context = free.pop() if free else quiet.begin()
    try:
        return context.run(row, *arrays)
    except MemoryError as error:
        shape, dtype = error.args if len(error.args) == 2 else ((), np.dtype(np.uint8))  # NumPy says of what
        raise out_of_host_memory(shape, dtype) from None
    finally:
        free.append(context)


def general_kernel(op: Operator, row: Rows, meta: Callable[..., Any], keeps: bool) -> Callable[..., Any]:
    """Check and describe by the meta kernel, compute by the row, return what was described. ``keeps`` says that a call
    like one before needs neither be checked nor described again. What is refused is not kept.
    """
    kept = Kept()

    def kernel(*args: Any) -> Any:
        key, arrays = seen(args)
        specs = kept.get(key)
        if specs is None:
            specs = kept.keep(key if keeps else None, meta(*args))
        try:
            results = computed(row, arrays)
        except (ValueError, IndexError):  # with which NumPy, too, refuses what no memory can hold
            refuse_what_cannot_be(specs)
            raise
        if specs.__class__ is Spec:
            return fit(op, results, specs, arrays)
        # None: an output that is not asked for; a number is known as it is
        return pack(op, [fit(op, result, spec, arrays) if spec.__class__ is Spec else spec
                         for result, spec in zip(results, specs, strict=True)])

    return kernel


def refuse_what_cannot_be(specs: Any) -> None:
    """Raise PyTorch's RuntimeError if one of the described results is larger than any array."""
    for spec in (specs,) if isinstance(specs, Spec) else specs:
        if isinstance(spec, Spec) and spec.shape is not None and not can_be(spec.shape, spec.dtype.np):
            raise out_of_host_memory(spec.shape, spec.dtype.np) from None


def fit(op: Operator, result: Any, spec: Spec, inputs: list[Any]) -> Tensor:
    """A row's result as a fresh tensor of the described dtype, shape and stride.

    Raises:
        RuntimeError: if the row's shape is not the described one, which is an error in the row or in the meta kernel.
    """
    shape, dtype, stride = spec
    array = result if result.__class__ is ndarray else np.asarray(result)
    if shape is None:
        shape = array.shape
        if stride is not None:
            stride = stride(shape)
            stride = None if stride == contiguous_strides(shape) else stride
    elif array.shape != shape:
        raise RuntimeError(f"aten::{op.name}: the CPU kernel made shape {array.shape}, the meta kernel says {shape}")
    if stride is not None:
        small = laid_out(array, dtype, stride) if array.size < SMALL and array.dtype == dtype.np else None
        if small is not None:
            return small
        out = empty_tensor(Spec(shape, dtype, stride))
        np.copyto(out._array, array, casting="unsafe")  # type: ignore[arg-type]
        return out
    if array.dtype is not dtype.np and array.dtype != dtype.np:
        array = converted(array, dtype.np)
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array).reshape(array.shape)
    elif array is result and shares_memory(array, inputs):  # a number's array is new
        array = array.copy()
    return from_array(array, dtype)


def shares_memory(array: np.ndarray, inputs: list[Any]) -> bool:
    """Whether an array may lie in the memory of an input, or in memory that nobody may write to."""
    base = array.base
    if not array.flags.writeable:
        return True
    if base is not None and base.__class__ is not ndarray:
        return any(isinstance(item, ndarray) and np.may_share_memory(array, item) for item in flattened(inputs))
    for item in inputs:  # of two views of one array, both have that as their base
        if item.__class__ is ndarray:
            if item is array or (base is not None and (item is base or item.base is base)):
                return True
        elif item.__class__ is list and shares_memory(array, item):
            return True
    return False


def is_own(array: np.ndarray, inputs: list[Any]) -> bool:
    """Whether an array is contiguous in memory of its own."""
    return array.base is None or (array.flags.c_contiguous and not shares_memory(array, inputs))


class Plan(NamedTuple):
    """How to compute a pointwise operator: the result's description; whether the dtype to compute in is wider than the
    promoted one; for each operand the dtypes that it is converted to, or what it stands for if it is no tensor; and the
    other arguments, if they are not to be taken as they are.
    """

    spec: Spec
    widened: bool
    operands: tuple[Any, ...]
    rest: tuple[Any, ...] | None


def way_of(operand: Any, dtype: DType, wide: DType, unrounded: bool) -> Any:
    """The dtypes that an operand is converted to: the promoted one, then the one computed in; of a number, the array
    that it is. None stays None.
    """
    if operand.__class__ in TENSOR_TYPES:
        steps = (wide,) if unrounded and not operand.ndim else (dtype, wide)
        held = operand._dtype
        return tuple([step.np for before, step in zip((held, *steps), steps, strict=False) if step is not before])
    if operand is None:
        return None
    number = number_array(operand, wide if unrounded else dtype).astype(wide.np, copy=False)
    number.flags.writeable = False  # it may be kept
    return number


def number_array(number: Any, dtype: DType) -> np.ndarray:
    """A Python number as a 0-d array; integers wrap around as C's do."""
    if dtype.category == INTEGER and isinstance(number, (int, np.integer)) and not isinstance(number, bool):
        bits = dtype.itemsize * 8
        wrapped = int(number) & ((1 << bits) - 1)
        if dtype.is_signed and wrapped >> (bits - 1):
            wrapped -= 1 << bits
        return np.array(wrapped, dtype.np)
    return np.asarray(number).astype(dtype.np)


def pointwise_kernel(op: Operator, row: Rows, meta: Pointwise) -> Callable[..., Any]:
    """The kernel for any operands: promotion, broadcasting and strides are those of the plan."""
    count, unpromoted, opmath_scalars = meta.count, meta.unpromoted, meta.opmath_scalars
    ufunc = row.ufunc if isinstance(row, PreparedUfunc) else row
    is_ufunc = isinstance(ufunc, np.ufunc)
    kept = Kept()

    def learn(args: tuple[Any, ...]) -> Plan:  # may warn of numbers that a dtype does not hold
        spec, dtype = meta.plan(args)
        wide = float32 if (dtype is float16 or dtype is bfloat16) and meta.widens(args) else dtype
        rest: tuple[Any, ...] | None = None
        if ufunc is not row and args[count:] == (1,):  # a factor that changes nothing
            rest = ()
        elif meta.scaled and wide is not dtype:
            rest = tuple([number_array(number, dtype) for number in args[count:]])
        if (is_ufunc and ufunc.__name__ in ARITHMETIC and not (args[count:] if rest is None else rest)
                and prod(spec.shape or ()) < FEW
                and all(arg.__class__ in TENSOR_TYPES and arg._dtype is dtype for arg in args[:count])):
            return Plan(spec, False, ((),) * count, rest)  # NumPy's arithmetic, too, rounds what it computes in float32
        return Plan(spec, wide is not dtype, tuple([
            (() if arg.__class__ in TENSOR_TYPES else array_of(arg)) if i in unpromoted
            else way_of(arg, dtype, wide, i in opmath_scalars) for i, arg in enumerate(args[:count])]), rest)

    def prepared(args: tuple[Any, ...], ways: tuple[Any, ...]) -> list[Any]:
        """The operands as arrays of the dtype to compute in."""
        arrays = []
        for arg, way in zip(args, ways, strict=False):
            if way.__class__ is tuple:
                array = arg._array
                for dtype in way:
                    array = converted(array, dtype)
                arrays.append(array)
            else:
                arrays.append(way)
        return arrays

    def work(args: tuple[Any, ...], spec: Spec, ways: tuple[Any, ...], rest: tuple[Any, ...]) -> Any:
        arrays = prepared(args, ways)
        if not is_ufunc or rest:
            return fit(op, row(*arrays, *rest), spec, arrays)
        out = empty_tensor(spec)
        compute(ufunc, out._array, *arrays)  # type: ignore[arg-type]
        return out

    def kernel(*args: Any) -> Any:
        key, _ = seen(args)
        if key is not None:
            key = key, get_default_dtype()  # which numbers and results may have
        spec, widened, ways, rest = kept.get(key) or kept.keep(key, computed(learn, (args,)))
        if rest is None:
            rest = args[count:]
        if widened and is_ufunc and not rest and spec.stride is None and all_like(args[:count], spec.shape, spec.dtype):
            return in_wide_blocks(ufunc, [arg._array for arg in args[:count]], empty_tensor(spec))
        return computed(work, (args, spec, ways, rest))

    return kernel


def all_like(operands: Iterable[Any], shape: Any, dtype: DType) -> bool:
    """Whether operands are many contiguous elements each, of one shape and dtype."""
    return prod(shape) >= 2 * SMALL and all(
        operand.__class__ in TENSOR_TYPES and operand._dtype is dtype and not operand._keys & NONCONTIGUOUS
        and operand._array.shape == shape for operand in operands)


def in_wide_blocks(ufunc: Any, arrays: list[np.ndarray], out: Tensor) -> Tensor:
    """Have a ufunc compute half precision in float32, block by block, so that what is wide stays in the cache."""
    target, flat = out._array.reshape(-1), [array.reshape(-1) for array in arrays]  # type: ignore[union-attr]
    size = 2 * target.size  # to convert an element takes as long as to compute with it
    if ufunc.__name__ in ARITHMETIC and (loop := arithmetic[out._dtype.name].compiled(target.size)) is not None:
        bits, operation = [array.view(np.uint16) for array in (*flat, target)], ARITHMETIC.index(ufunc.__name__)
        each_block(lambda part: loop(*[array[part] for array in bits], operation), target.size, LARGE, size)
        return out

    def work(part: slice) -> None:
        wide = []
        for array in flat:
            narrow = array[part]
            wide.append(np.empty(narrow.shape, float32.np))
            convert(narrow, wide[-1])
        convert(ufunc(*wide, out=wide[0]), target[part])

    each_block(work, target.size, SMALL, size)
    return out


# -- the fast paths of pointwise operators -----------------------------------------------------------------------------

def refuse(*args: Any) -> None:
    """What a ufunc does with arguments that are not its own."""
    raise TypeError


def pointwise_fast_path(op: Operator, row: Any, meta: Pointwise, general: Rows) -> Rows | None:
    """Where all tensors have one dtype of ``meta.fast`` and numbers are of no higher category, there is nothing to
    promote, NumPy's result is contiguous and of that dtype, and broadcasting is NumPy's own. What a function returns in
    another dtype or without memory of its own goes to the general kernel, too.

    For one and two operands the wrapper is written out: a call less is a tenth of what ``a + b`` takes.
    """
    count, unpromoted = meta.count, meta.unpromoted
    #: The result's dtype by that of the operands; None where the general kernel has to look.
    results = {**dict.fromkeys((*DTYPES.values(), *RARE.values())),
               **{dtype: bool_ if meta.kind == "bool" else dtype for dtype in meta.fast}}
    function = row.ufunc if isinstance(row, PreparedUfunc) else row
    is_ufunc = isinstance(function, np.ufunc)  # whose results need no look; it takes no further arguments
    with_rest = refuse if is_ufunc or (meta.check is not None and count == 2) else function
    compares = meta.kind == "bool"  # where NumPy takes numbers that the dtype does not hold
    if not meta.fast:
        return None

    def unary(self: Any, *rest: Any) -> Any:
        result = results[self._dtype]
        if result is not None:
            try:
                array = self._array
                if rest:
                    array = with_rest(array, *rest)
                elif is_ufunc and array.size >= LARGE:
                    array = compute(function, allocate(array.shape, result.np), array)
                else:
                    array = function(array)
            except REFUSALS:
                pass
            else:
                if array.__class__ is not ndarray:
                    array = np.asarray(array)
                if is_ufunc or (array.dtype is result.np and is_own(array, [self._array])):
                    out = new(Tensor)
                    out._array, out._dtype, out._keys = array, result, CPU
                    return out
        return general(self, *rest)

    def binary(self: Any, other: Any, *rest: Any) -> Any:
        dtype = self._dtype
        result = results[dtype]
        if other.__class__ is Tensor or other.__class__ in TENSOR_TYPES:
            right = other._array if other._dtype is dtype else None
        elif ((other.__class__ is float and dtype.category >= FLOATING)
              or (other.__class__ is int and dtype is not bool_ and (not compares or -1 << 63 <= other < 1 << 63))):
            right = other
        else:
            right = None
        if result is not None and right is not None:
            try:
                array = self._array
                if rest:
                    array = with_rest(array, right, *rest)
                elif is_ufunc and array.size >= LARGE:
                    shape = array.shape if right is other else np.broadcast(array, right).shape
                    array = compute(function, allocate(shape, result.np), array, right)
                else:
                    array = function(array, right)
            except REFUSALS:
                pass
            else:
                if array.__class__ is not ndarray:
                    array = np.asarray(array)
                if array.size and (is_ufunc or (  # empty: odd strides
                        array.dtype is result.np and is_own(array, [self._array, right]))):
                    out = new(Tensor)
                    out._array, out._dtype, out._keys = array, result, CPU
                    return out
        return general(self, other, *rest)

    def several(*args: Any) -> Any:
        arrays: list[Any] = []
        dtype, number = None, BOOL  # the category of the numbers
        for i, arg in enumerate(args[:count]):
            kind = arg.__class__
            if i in unpromoted:
                arg = array_of(arg)
            elif kind in TENSOR_TYPES:
                dtype = dtype or arg._dtype
                if arg._dtype is not dtype:
                    return None
                arg = arg._array
            elif kind is float or kind is int:
                number = max(number, FLOATING if kind is float else INTEGER)
            elif arg is not None:
                return None
            arrays.append(arg)
        result = None if dtype is None or number > dtype.category else results[dtype]
        if result is None or (len(args) > count and result.category < FLOATING):
            return None  # what is no operand may not fit integers
        array = np.asarray(function(*arrays, *args[count:]))
        own = array.dtype is result.np and array.size and is_own(array, arrays)
        return from_array(array, result) if own else None

    leading = op.text[op.text.index("(") + 1:].startswith("Tensor ")
    if count > 2 or not leading or unpromoted:
        return fast_path(several)(general)
    return unary if count == 1 else binary


def with_zero_strides(general: Rows, fast: Rows) -> Rows:
    """For inputs with strides: where those are all 0 (a scalar expanded, as ``sum`` hands back), the order of the
    output's dimensions is as for contiguous inputs, and so the fast path does.
    """

    def kernel(*args: Any) -> Any:
        for arg in args:
            if arg.__class__ in TENSOR_TYPES and arg._keys & NONCONTIGUOUS and any(arg._stride):
                return general(*args)
        return fast(*args)

    return kernel

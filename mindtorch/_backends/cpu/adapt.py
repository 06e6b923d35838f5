"""From functions of arrays to kernels on CPU tensors.

The general kernel asks the meta kernel first, so that every check and every stride is decided in one place. The fast
lanes at the end skip it where nothing is left to decide, and fall back to the general kernel for everything else.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._dispatch.dispatcher import TENSOR_TYPES, flattened, registry
from ..._dispatch.keys import CPU, STRIDED
from ..._dispatch.registry import Kernel, Operator
from ..._dtype import BOOL, FLOATING, INTEGER, DType, bfloat16, bool_, float16, float32
from ..._tensor import Tensor, empty_tensor, from_array, new
from ..common.forms import writing_kernel
from ..._layout import Spec, contiguous_strides
from ..common.pointwise import Pointwise, PreparedUfunc
from ..._dispatch.return_types import pack
from .ops import CPU_KERNELS, index_lanes, lanes, optim

ndarray = np.ndarray
#: The fast lanes of operators that are not pointwise: functions that take the general kernel and return a quicker one,
#: for contiguous tensors, which falls back on it.
LANES = {**lanes.LANES, **index_lanes.LANES, **optim.LANES}
Rows = Callable[..., Any]


def kernel_of(op: Operator) -> Kernel | None:
    """The CPU kernel of an operator that has a row."""
    row = CPU_KERNELS.get(op.name)
    if row is None:
        return None
    meta = registry.meta_rows.get(op.name)
    if isinstance(meta, Pointwise):
        general = pointwise_kernel(op, row, meta)
        lane = pointwise_lane(op, row, meta, general)
        return Kernel(general if lane is None else strided_lane(general, lane), row, fast=lane)
    if meta is None:
        raise NotImplementedError(f"aten::{op.name} has a CPU row but no meta kernel")
    lane = LANES.get(op.name)
    if op.is_inplace:
        general = writing_kernel(meta, on_arrays(row))
        return Kernel(general, row, fast=None if lane is None else lane(general))
    general = general_kernel(op, row, meta)
    fast = None if lane is None else lane(general)
    return Kernel(fast if fast and op.name in lanes.STRIDED_LANES else general, row, fast=fast)


def array_of(value: Any) -> Any:
    """An argument as a row takes it: arrays for tensors, also in lists; everything else as it is."""
    kind = value.__class__
    if kind in TENSOR_TYPES:
        return value._array
    if (kind is list or kind is tuple) and value and any(item.__class__ in TENSOR_TYPES for item in value):
        return [item._array if item.__class__ in TENSOR_TYPES else item for item in value]
    return value


def on_arrays(row: Rows) -> Callable[..., Any]:
    """A row that takes tensors."""

    def call(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return row(*map(array_of, args))

    return call


def general_kernel(op: Operator, row: Rows, meta: Callable[..., Any]) -> Callable[..., Any]:
    """Check and describe by the meta kernel, compute by the row, return what was described."""

    def kernel(*args: Any) -> Any:
        specs = meta(*args)
        arrays = [array_of(arg) for arg in args]
        with np.errstate(all="ignore"):
            results = row(*arrays)
        if isinstance(specs, Spec):
            return fit(op, results, specs, arrays)
        return pack(op, [fit(op, result, spec, arrays) for result, spec in zip(results, specs, strict=True)])

    return kernel


def fit(op: Operator, result: Any, spec: Spec, inputs: list[Any]) -> Tensor:
    """A row's result as a fresh tensor of the described dtype, shape and stride.

    Raises:
        RuntimeError: if the row's shape is not the described one, which is an error in the row or in the meta kernel.
    """
    array, dtype = np.asarray(result), spec.dtype
    if spec.shape is not None and array.shape != spec.shape:
        raise RuntimeError(f"aten::{op.name}: the CPU kernel made shape {array.shape}, "
                           f"the meta kernel says {spec.shape}")
    if spec.shape is None and spec.stride is not None:
        stride = spec.stride(array.shape)
        spec = Spec(array.shape, dtype, None if stride == contiguous_strides(array.shape) else stride)
    if spec.stride is not None:
        out = empty_tensor(spec)
        np.copyto(out._array, array, casting="unsafe")  # type: ignore[arg-type]
        return out
    if array.dtype != dtype.np:
        array = array.astype(dtype.np)
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array).reshape(array.shape)
    elif array.base is not None or any(array is given for given in inputs):
        if not array.flags.writeable or shares_memory(array, inputs):
            array = array.copy()
    return from_array(array, dtype)


def shares_memory(array: np.ndarray, inputs: list[Any]) -> bool:
    """Whether an array may lie in the memory of an input."""
    return any(isinstance(item, ndarray) and np.may_share_memory(array, item) for item in flattened(inputs))


def operand_array(operand: Any, dtype: DType, wide: DType, opmath_scalars: bool) -> Any:
    """An operand (tensor, number or None) as an array: of the promoted dtype, then of the one computed in."""
    if operand.__class__ in TENSOR_TYPES:
        array = operand._array
        if operand._dtype is not dtype and not (opmath_scalars and not operand.ndim):
            array = array.astype(dtype.np)
        return array if array.dtype == wide.np else array.astype(wide.np)
    if operand is None:
        return None
    if wide is dtype or opmath_scalars:
        return number_array(operand, wide)
    return number_array(operand, dtype).astype(wide.np)


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
    plan, count, unpromoted, opmath_scalars = meta.plan, meta.count, meta.unpromoted, meta.opmath_scalars
    opmath = {float16: float32, bfloat16: float32} if meta.opmath else {}
    ufunc = row.ufunc if isinstance(row, PreparedUfunc) else row
    is_ufunc = isinstance(ufunc, np.ufunc)

    def kernel(*args: Any) -> Any:
        spec, dtype = plan(args)
        wide, rest = opmath.get(dtype, dtype), args[count:]
        with np.errstate(all="ignore"):
            arrays = [
                array_of(arg) if i in unpromoted else operand_array(arg, dtype, wide, opmath_scalars)
                for i, arg in enumerate(args[:count])
            ]
            if not is_ufunc or rest:
                return fit(op, row(*arrays, *rest), spec, arrays)
            out = empty_tensor(spec)
            ufunc(*arrays, out=out._array, casting="unsafe")
        return out

    return kernel


def strided_lane(general: Callable[..., Any], lane: Callable[..., Any]) -> Callable[..., Any]:
    """For inputs with strides: where those are all 0 (a scalar expanded, as ``sum`` hands back), the order of the
    output's dimensions is as for contiguous inputs.
    """

    def kernel(*args: Any) -> Any:
        for arg in args:
            if arg.__class__ in TENSOR_TYPES and arg._keys & STRIDED and any(arg._stride):
                return general(*args)
        return lane(*args)

    return kernel


#: What NumPy raises for what it cannot do, or for warnings where a user has them raised.
REFUSALS = (ValueError, TypeError, OverflowError, Warning, FloatingPointError)


def pointwise_lane(op: Operator, row: Any, meta: Pointwise,
                   general: Callable[..., Any]) -> Callable[..., Any] | None:
    """The hot path of pointwise operators: contiguous CPU tensors, where the dispatcher has seen that no other
    key is set. If all tensors have one dtype of ``meta.lane`` and numbers are of no higher category, there is
    nothing to promote, NumPy's result is contiguous and of that dtype, and broadcasting is NumPy's own. Whatever
    NumPy refuses goes to the general kernel, which says why in PyTorch's words; so does what a function returns in
    another dtype or without memory of its own.
    """
    dtypes, count, unpromoted, always_bool = meta.lane, meta.count, meta.unpromoted, meta.kind == "bool"
    function = row.ufunc if isinstance(row, PreparedUfunc) else row
    is_ufunc = isinstance(function, np.ufunc)
    if not dtypes:
        return None

    def unary(self: Any, *rest: Any) -> Any:
        dtype = self._dtype
        if dtype not in dtypes or (rest and is_ufunc):
            return general(self, *rest)
        try:
            array = function(self._array, *rest)
        except REFUSALS:
            array = None
        if array.__class__ is not ndarray:
            if array is None:
                return general(self, *rest)
            array = np.asarray(array)
        result = bool_ if always_bool else dtype
        if not is_ufunc and (array.dtype is not result.np or array.base is not None):
            return general(self, *rest)
        out = new(Tensor)
        out._array, out._dtype, out._keys = array, result, CPU
        return out

    def binary(self: Any, other: Any, *rest: Any) -> Any:
        dtype = self._dtype
        if dtype not in dtypes or (rest and is_ufunc):
            return general(self, other, *rest)
        if other.__class__ in TENSOR_TYPES:
            if other._dtype is not dtype:
                return general(self, other, *rest)
            right = other._array
        else:
            kind = other.__class__
            if not ((kind is float and dtype.category >= FLOATING) or (kind is int and dtype is not bool_)):
                return general(self, other, *rest)
            right = other
        try:
            array = function(self._array, right, *rest)
        except REFUSALS:
            array = None
        if array.__class__ is not ndarray:
            if array is None:
                return general(self, other, *rest)
            array = np.asarray(array)
        elif not array.size:  # whose strides may be odd
            return general(self, other, *rest)
        result = bool_ if always_bool else dtype
        if not is_ufunc and (array.dtype is not result.np or array.base is not None):
            return general(self, other, *rest)
        out = new(Tensor)
        out._array, out._dtype, out._keys = array, result, CPU
        return out

    def two_tensors(self: Any, other: Any, *rest: Any) -> Any:
        dtype = self._dtype
        if other.__class__ is Tensor and other._dtype is dtype and not rest and dtype in dtypes:
            try:
                array = function(self._array, other._array)
            except REFUSALS:
                array = None
            if array.__class__ is ndarray and array.size:
                out = new(Tensor)
                out._array, out._dtype, out._keys = array, dtype, CPU
                return out
        return binary(self, other, *rest)

    def several(*args: Any) -> Any:
        arrays: list[Any] = []
        dtype, number = None, BOOL  # the category of the numbers
        for i, arg in enumerate(args[:count]):
            kind = arg.__class__
            if i in unpromoted:
                arg = array_of(arg)
            elif kind in TENSOR_TYPES:
                if dtype is None:
                    dtype = arg._dtype
                elif arg._dtype is not dtype:
                    return general(*args)
                arg = arg._array
            elif kind is float or kind is int:
                number = max(number, FLOATING if kind is float else INTEGER)
            elif arg is not None:
                return general(*args)
            arrays.append(arg)
        if dtype not in dtypes or number > dtype.category:  # type: ignore[union-attr]
            return general(*args)
        try:
            array = np.asarray(function(*arrays, *args[count:]))
        except REFUSALS:
            array = None
        if array is None:
            return general(*args)
        result = bool_ if always_bool else dtype
        if array.dtype is not result.np or array.base is not None or not array.size:  # type: ignore[union-attr]
            return general(*args)
        out = new(Tensor)
        out._array, out._dtype, out._keys = array, result, CPU
        return out

    leading = op.text[op.text.index("(") + 1:].startswith("Tensor ")
    if count > 2 or not leading or unpromoted:
        return several
    return unary if count == 1 else two_tensors if is_ufunc and not always_bool else binary

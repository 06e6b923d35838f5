"""The pointwise family: type promotion, broadcasting and output strides, once for all its operators.

A ``Pointwise`` is the meta kernel of such an operator. Its backends only compute: they receive the operands in the
dtype of the computation and return the result. Mirrors ATen's TensorIterator.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._base.errors import check, check_number, check_takes
from ..._base.layout import Ints, Spec, broadcast_shapes, contiguous_strides, iterator_strides, like_strides
from ..._base.symbolic import INTS
from ..._dispatch.dispatcher import TENSOR_TYPES
from ..._dispatch.keys import NONCONTIGUOUS
from ..._dtype import (
    COMPLEX, FLOATING, DType, bool_, dtype_of_number, dtypes, float16, get_default_dtype, promote_types,
)
from .half import number_in


def result_type(operands: Any) -> DType:
    """Return the dtype that operands promote to: tensors with dimensions first, then 0-d tensors, then numbers."""
    by_priority: list[DType | None] = [None, None, None]
    for operand in operands:
        if operand.__class__ in TENSOR_TYPES:
            level, dtype = (0 if operand.ndim else 1), operand._dtype
        elif operand is None:
            continue
        else:
            level, dtype = 2, dtype_of_number(operand)
        have = by_priority[level]
        by_priority[level] = dtype if have is None else promote_types(have, dtype)
    result = None
    for dtype_at in reversed(by_priority):
        if result is None or dtype_at is None:
            result = dtype_at or result
        elif result.category <= dtype_at.category:
            result = dtype_at  # a lower priority only raises the category
        else:
            result = dtype_at.to_complex() if dtype_at.is_floating_point else promote_types(dtype_at, result)
    return result if result is not None else get_default_dtype()


def check_alpha(promoted: DType, alpha: Any) -> None:
    """Raise RuntimeError if ``alpha`` is of a higher category than the result."""
    check(promoted is bool_ or not isinstance(alpha, bool), "Boolean alpha only supported for Boolean results.")
    check(promoted.category >= FLOATING or isinstance(alpha, INTS),
          "For integral input tensors, argument alpha must not be a floating point number.")
    check(promoted.category == COMPLEX or not isinstance(alpha, complex),
          "For non-complex input tensors, argument alpha must not be a complex number.")
    check_number(promoted, alpha)


def _keep(dtype: DType) -> DType:
    return dtype


def _to_float(dtype: DType) -> DType:
    return dtype if dtype.category >= FLOATING else get_default_dtype()


#: kind: (promoted dtype -> dtype of the computation, dtype of the computation -> output's dtype)
KINDS: dict[str, tuple[Callable[[DType], DType], Callable[[DType], DType]]] = {
    "default": (_keep, _keep),
    "float": (_to_float, _keep),  # ATen's INT_TO_FLOAT
    "bool": (_keep, lambda dtype: bool_),  # ATen's ALWAYS_BOOL
    "real": (_keep, lambda dtype: dtype.to_real()),  # ATen's COMPLEX_TO_FLOAT
    "float_real": (_to_float, lambda dtype: dtype.to_real()),
    "float_to_complex": (_to_float, lambda dtype: dtype.to_complex()),
}

class PreparedUfunc:
    """A backend row that is a ufunc with a prepared second operand: ``ufunc(x, prepare(y, *rest))``."""

    def __init__(self, ufunc: Callable[..., Any], prepare: Callable[..., Any]):
        self.ufunc = self.__wrapped__ = ufunc
        self.prepare = prepare

    def __call__(self, x: Any, y: Any, *rest: Any) -> Any:
        return self.ufunc(x, self.prepare(y, *rest))

    def settle(self, dtype: np.dtype, size: int, factor: Any = 0) -> Callable[..., Any] | None:
        """Return the function of operands of a dtype, given a factor; None for 0, whose sign ``prepare`` knows."""
        if not factor:
            return None
        ufunc = self.ufunc
        if factor == 1 and dtype.kind != "c":
            return ufunc
        if ufunc is np.subtract:  # as PyTorch subtracts, which decides the signs of complex zeros
            ufunc, factor = np.add, -factor
        number = number_in(factor, dtype)
        return lambda x, y: ufunc(x, np.multiply(y, number))


#: The dtypes in which a kind needs neither promotion nor conversion if all operands have the same dtype. Fast paths
#: take them. Comparisons exclude small integers, which NumPy and PyTorch compare differently with large numbers.
FAST = {
    "default": dtypes("bool|integral|floating|complex"),
    "float": dtypes("floating|complex"),
    "bool": dtypes("bool|int64|floating|complex"),
    "real": dtypes("integral|floating"),
}


class Pointwise:
    """The meta kernel of a pointwise operator.

    - ``kind``: a key of ``KINDS``.
    - ``count``: the number of leading arguments that are operands.
    - ``unpromoted``: positions of operands (a condition) that are neither promoted nor converted.
    - ``takes``: the supported promoted dtypes, as words of ``_dtype.dtypes``; ``kernel``: the name in PyTorch's error.
    - ``check(promoted, *args)``: raises further errors. Unless ``fast`` is False, they only concern calls that fast
      paths leave: other or mixed dtypes, or further arguments of a binary operator.
    - ``fast_half``: False if ``check`` concerns numbers that float16 cannot represent.
    - ``opmath``: compute float16 and bfloat16 in float32 (ATen's opmath_t).
    - ``opmath_scalars``: positions at which a number is not rounded to the half dtype first.
    - ``scaled``: a factor follows the operands and is rounded to the half dtype.
    - ``iterates_numbers``: numbers are operands of ATen's iterator, too, which affects the strides of odd outputs.
    """

    keeps_strides = True  #: whether operands of one dense layout decide the output's

    def __init__(self, kind: str = "default", count: int = 1, takes: str = "all", kernel: str = "", *,
                 unpromoted: tuple[int, ...] = (), check: Callable[..., None] | None = None, fast: bool = True,
                 fast_half: bool = True, opmath: bool = True, opmath_scalars: tuple[int, ...] = (),
                 scaled: bool = False, iterates_numbers: bool = True):
        self.kind = kind
        self.compute, self.output = KINDS[kind]
        self.count = count
        self.takes = dtypes(takes)
        self.kernel = kernel
        self.unpromoted = unpromoted
        self.check = check
        self.opmath = opmath
        self.opmath_scalars = opmath_scalars
        self.scaled = scaled
        self.iterates_numbers = iterates_numbers
        self.fast = FAST.get(kind, frozenset()) & self.takes if fast else frozenset()
        if not fast_half:
            self.fast -= {float16}
        if scaled:  # ATen multiplies even by a factor of 1, which turns infinite complex numbers into NaN
            self.fast = frozenset(dtype for dtype in self.fast if not dtype.is_complex)

    def widens(self, args: tuple[Any, ...]) -> bool:
        """Return True if float16 and bfloat16 are computed in float32 for these arguments."""
        return self.opmath

    def typed(self, operands: tuple[Any, ...]) -> Any:
        """Return the operands that take part in promotion."""
        return [o for i, o in enumerate(operands) if i not in self.unpromoted] if self.unpromoted else operands

    def plan(self, args: tuple[Any, ...]) -> tuple[Spec, DType]:
        """Return the output's specification, and the dtype of the computation.

        Raises:
            RuntimeError: if the shapes do not broadcast.
            NotImplementedError: if the operator does not take the dtype.
        """
        operands = args[: self.count]
        promoted = result_type(self.typed(operands))
        if self.check is not None:
            self.check(promoted, *args)
        shape, stride = self.layout(operands, self.compute(promoted))
        check_takes(promoted in self.takes, self.kernel, promoted)
        dtype = self.compute(promoted)
        output = self.output(dtype)
        if dtype.is_complex and output.is_floating_point:
            stride = like_strides(shape, operands[0]._strides())  # ATen uses empty_like here, which keeps odd strides
        return Spec(shape, output, stride), dtype

    def promised(self, args: tuple[Any, ...]) -> tuple[Ints, DType]:
        """Return the output's shape and dtype, without checking that the operator takes the dtypes."""
        operands = args[: self.count]
        return self.layout(operands)[0], self.output(self.compute(result_type(self.typed(operands))))

    def layout(self, operands: tuple[Any, ...], dtype: DType | None = None) -> tuple[Ints, Ints | None]:
        """Return the broadcast shape and the strides (None for contiguous). Operands to convert count as converted."""
        tensors = [o for o in operands if o.__class__ in TENSOR_TYPES]
        numbers = self.iterates_numbers and any(o is not None and o.__class__ not in TENSOR_TYPES for o in operands)
        shapes = [tuple(t.shape) for t in tensors]
        shape = shapes[0] if len(shapes) == 1 else broadcast_shapes(*shapes)
        if 0 in shape or any(t._keys & NONCONTIGUOUS for t in tensors):
            converted = [dtype is not None and t._dtype is not dtype and i not in self.unpromoted
                         for i, t in enumerate(operands) if t.__class__ in TENSOR_TYPES]
            layouts = tuple((s, like_strides(s, t._strides()) or contiguous_strides(s) if c else t._strides())
                            for s, t, c in zip(shapes, tensors, converted, strict=True))
            return shape, iterator_strides(shape, layouts, numbers)
        return shape, None

    def __call__(self, *args: Any) -> Spec:
        return self.plan(args)[0]

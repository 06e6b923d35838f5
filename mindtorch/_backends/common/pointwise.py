"""The pointwise family: type promotion, broadcasting and output strides, once for all its operators.

A ``Pointwise`` is the meta kernel of such an operator. Its backends only compute: given the operands in the
dtype of the computation, they return the result. Mirrors ATen's TensorIterator.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._base.errors import check, check_number, check_takes
from ..._base.layout import Ints, Spec, broadcast_shapes, contiguous_strides, iterator_strides, like_strides
from ..._dispatch.dispatcher import TENSOR_TYPES
from ..._dispatch.keys import NONCONTIGUOUS
from ..._dtype import (
    COMPLEX, FLOATING, DType, bool_, dtype_of_number, dtypes, float16, get_default_dtype, promote_types,
)


def result_type(operands: Any) -> DType:
    """The dtype that operands promote to: tensors with dimensions before those without, these before numbers."""
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
            result = dtype_at  # the lower priority raises the category only
        else:
            result = dtype_at.to_complex() if dtype_at.is_floating_point else promote_types(dtype_at, result)
    return result if result is not None else get_default_dtype()


def check_alpha(promoted: DType, alpha: Any) -> None:
    """Refuse a factor of a higher category than the result's."""
    check(promoted is bool_ or not isinstance(alpha, bool), "Boolean alpha only supported for Boolean results.")
    check(promoted.category >= FLOATING or isinstance(alpha, int),
          "For integral input tensors, argument alpha must not be a floating point number.")
    check(promoted.category == COMPLEX or not isinstance(alpha, complex),
          "For non-complex input tensors, argument alpha must not be a complex number.")
    check_number(promoted, alpha)


def _keep(dtype: DType) -> DType:
    return dtype


def _to_float(dtype: DType) -> DType:
    return dtype if dtype.category >= FLOATING else get_default_dtype()


#: kind: (dtype of the computation from the promoted dtype, dtype of the output from that of the computation)
KINDS: dict[str, tuple[Callable[[DType], DType], Callable[[DType], DType]]] = {
    "default": (_keep, _keep),
    "float": (_to_float, _keep),  # ATen's INT_TO_FLOAT
    "bool": (_keep, lambda dtype: bool_),  # ATen's ALWAYS_BOOL
    "real": (_keep, lambda dtype: dtype.to_real()),  # ATen's COMPLEX_TO_FLOAT
    "float_real": (_to_float, lambda dtype: dtype.to_real()),
    "float_to_complex": (_to_float, lambda dtype: dtype.to_complex()),
}

class PreparedUfunc:
    """A backend's row that is a bare ufunc, of whose second operand its further arguments make another one:
    ``ufunc(x, prepare(y, *rest))``.
    """

    def __init__(self, ufunc: Callable[..., Any], prepare: Callable[..., Any]):
        self.ufunc = self.__wrapped__ = ufunc
        self.prepare = prepare

    def __call__(self, x: Any, y: Any, *rest: Any) -> Any:
        return self.ufunc(x, self.prepare(y, *rest))


#: The dtypes in which a kind, if all operands have the same one, needs neither promotion nor conversion: those of
#: fast paths. Comparisons leave small integers out, which NumPy compares with large numbers otherwise than
#: PyTorch.
FAST = {
    "default": dtypes("bool|integral|floating|complex"),
    "float": dtypes("floating|complex"),
    "bool": dtypes("bool|int64|floating|complex"),
    "real": dtypes("integral|floating"),
}


class Pointwise:
    """The meta kernel of a pointwise operator.

    ``kind`` is a key of ``KINDS``; the first ``count`` arguments are its operands, of which those at the positions
    ``unpromoted`` (a condition) take no part in promotion and are not converted. ``takes`` says in the words of
    ``_dtype.dtypes`` which promoted dtypes it is implemented for, ``kernel`` how PyTorch's error calls it in others.
    ``check(promoted, *args)`` raises what else has to be refused; unless ``fast`` is False, it concerns only calls
    that fast paths leave: other dtypes than theirs, mixed dtypes, or further arguments of a binary operator;
    ``fast_half`` is False where it concerns numbers that float16 does not hold.
    ``opmath`` says that float16 and bfloat16 are computed in float32, as ATen's opmath_t; ``opmath_scalars``, at which
    positions a number beside them is not rounded to them before; ``scaled``, that a factor after the operands is, which
    it otherwise is not; ``iterates_numbers``, that numbers are operands of ATen's iterator too, which shows in the
    strides of odd outputs.
    """

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
        if scaled:  # ATen multiplies complex numbers by the factor 1, too, which makes NaN of infinite ones
            self.fast = frozenset(dtype for dtype in self.fast if not dtype.is_complex)

    def widens(self, args: tuple[Any, ...]) -> bool:
        """Whether float16 and bfloat16 are computed in float32 for these arguments."""
        return self.opmath

    def typed(self, operands: tuple[Any, ...]) -> Any:
        """Return the operands that take part in promotion."""
        return [o for i, o in enumerate(operands) if i not in self.unpromoted] if self.unpromoted else operands

    def plan(self, args: tuple[Any, ...]) -> tuple[Spec, DType]:
        """The output's specification, and the dtype in which to compute.

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
            stride = like_strides(shape, operands[0]._strides())  # ATen's is of empty_like, which keeps odd strides
        return Spec(shape, output, stride), dtype

    def promised(self, args: tuple[Any, ...]) -> tuple[Ints, DType]:
        """The output's shape and dtype, whether the operator takes the dtypes or not."""
        operands = args[: self.count]
        return self.layout(operands)[0], self.output(self.compute(result_type(self.typed(operands))))

    def layout(self, operands: tuple[Any, ...], dtype: DType | None = None) -> tuple[Ints, Ints | None]:
        """The broadcast shape, and the strides (None for contiguous). Operands of another dtype than that of the
        computation count with the strides of their conversion.
        """
        tensors = [o for o in operands if o.__class__ in TENSOR_TYPES]
        numbers = self.iterates_numbers and any(o is not None and o.__class__ not in TENSOR_TYPES for o in operands)
        shapes = [tuple(t.shape) for t in tensors]
        shape = shapes[0] if len(set(shapes)) == 1 else broadcast_shapes(*shapes)
        if 0 in shape or any(t._keys & NONCONTIGUOUS for t in tensors):
            converted = [dtype is not None and t._dtype is not dtype and i not in self.unpromoted
                         for i, t in enumerate(operands) if t.__class__ in TENSOR_TYPES]
            layouts = tuple((s, like_strides(s, t._strides()) or contiguous_strides(s) if c else t._strides())
                            for s, t, c in zip(shapes, tensors, converted, strict=True))
            return shape, iterator_strides(shape, layouts, numbers)
        return shape, None

    def __call__(self, *args: Any) -> Spec:
        return self.plan(args)[0]

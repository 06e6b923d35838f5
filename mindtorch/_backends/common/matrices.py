"""Checks of matrices in linear algebra, and the layouts of LAPACK's results."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._base.about import about
from ..._base.errors import NAMES, check, check_takes
from ..._base.layout import Ints, Spec, contiguous_strides
from ..._dtype import FLOATING, DType, promote_types


def check_matrix(function: str, matrix: Any, name: str = "A") -> None:
    """Check that an argument is a matrix or a batch of matrices."""
    check(matrix.ndim >= 2, lambda: f"{function}: The input tensor {name} must have at least 2 dimensions, got shape "
          f"{list(matrix.shape)}")


def check_square(function: str, matrix: Any, name: str = "A") -> None:
    """Check that an argument is a square matrix or a batch of them."""
    check_matrix(function, matrix, name)
    n, m = matrix.shape[-2:]
    check(n == m, lambda: f"{function}: {name} must be batches of square matrices, but they are {n} by {m} matrices")


def check_floating(function: str, matrix: Any, low_precision: bool = True) -> None:
    """Check that a matrix is floating point or complex, and not of 16 bits unless ``low_precision``."""
    dtype = matrix._dtype
    check(dtype.category >= FLOATING,
          lambda: about(RuntimeError(f"{function}: Expected a floating point or complex tensor as input. Got "
                                     f"{NAMES[dtype.name]}"), "not for this dtype", kernel=function, dtype=dtype.name))
    check(low_precision or dtype.itemsize > 2,
          lambda: f"{function}: Low precision dtypes not supported. Got {NAMES[dtype.name]}")


def check_lapack(kernel: str, dtype: DType) -> None:
    """Check that LAPACK has routines for a dtype."""
    check_takes(dtype.category >= FLOATING and dtype.itemsize >= 4, kernel, dtype)


def check_same_dtype(function: str, a: Any, b: Any, names: tuple[str, str] = ("A", "B")) -> None:
    """Check that two operands have one dtype."""
    check(a._dtype is b._dtype, lambda: f"{function}: Expected {names[0]} and {names[1]} to have the same dtype, but "
          f"found {names[0]} of type {NAMES[a._dtype.name]} and {names[1]} of type {NAMES[b._dtype.name]} instead")


def check_norm_dtype(function: str, have: DType, wanted: DType | None) -> None:
    """Check that a norm's ``dtype``, if given, is not narrower than the input's and agrees in being complex."""
    if wanted is not None:
        got, kind = NAMES[wanted.name], "complex" if have.is_complex else "real"
        check(wanted.category >= FLOATING,
              lambda: f"{function}: dtype should be floating point or complex, but got {got}")
        check(wanted.is_complex == have.is_complex,
              lambda: f"{function}: dtype should be {kind} for {kind} inputs, but got {got}")
        check(promote_types(have, wanted) is wanted, lambda: f"{function}: the dtype of the input ({NAMES[have.name]}) "
              f"should be convertible without narrowing to the specified dtype ({got})")


def columns(shape: Ints) -> Ints:
    """Return the strides of a batch of column-major matrices, as LAPACK returns them."""
    return (*contiguous_strides(shape)[:-2], 1, max(shape[-2], 1))


def strided(shape: Ints, dtype: DType, stride: Ints) -> Spec:
    """Return a specification with these strides, normalised to None if they are contiguous."""
    return Spec(shape, dtype, None if stride == contiguous_strides(shape) else stride)


def column_major(shape: Sequence[int], dtype: DType) -> Spec:
    """Return the specification of a batch of column-major matrices."""
    return strided(tuple(shape), dtype, columns(tuple(shape)))

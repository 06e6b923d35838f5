"""Fast paths of in-place and ``out=`` forms of pointwise operators: NumPy writes directly into the tensor's array."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._base.layout import never_overlaps
from ..._base.quiet import quietly, silent
from ..._dispatch.dispatcher import TENSOR_TYPES, counting_writes, registry
from ..._dispatch.keys import CPU, NONCONTIGUOUS
from ..._dispatch.registry import Kernel, Operator
from ..._dtype import BOOL, FLOATING, bool_
from ..common.blas import add_scaled
from ..common.blocks import LARGE, SMALL, compute, each_block, least_of
from ..common.elements import Looped
from ..common.pointwise import Pointwise, PreparedUfunc
from .fast_paths import are_small, fast_path


def with_fast_form(op: Operator, form: Kernel) -> Kernel:
    """Return the kernel of an in-place or ``out=`` form, with a fast path if the pointwise operator has one."""
    assert op.functional is not None
    meta, functional = registry.meta_rows.get(op.functional.name), op.functional.kernel(CPU)
    if form.composite or not isinstance(meta, Pointwise) or functional is None or functional.fast is None:
        return form
    if not op.is_inplace:
        return Kernel(form.fn, form.origin, into_out(form.origin, meta, form.fast or form.fn) or form.fast)
    general = counting_writes(form.fn)
    fast = in_place(form.origin, meta, general)
    if fast is None:
        return form
    return Kernel(by_target(fast, general, contiguous=form.origin is np.negative), form.origin, fast, counts=True)


def by_target(fast: Callable[..., Any], general: Callable[..., Any], contiguous: bool) -> Callable[..., Any]:
    """Return a kernel that also uses the fast path for strided operands, if no two indices of the target alias.

    With ``contiguous``, the target itself must be contiguous: NumPy 2.4 negates strided arrays in place wrongly.
    """
    def call(self: Any, *args: Any) -> Any:
        if self._keys & NONCONTIGUOUS and (contiguous or not never_overlaps(self._array.shape, self._stride)):
            return general(self, *args)
        return fast(self, *args)

    return call


#: The sign of the second operand, which is multiplied by ``alpha``.
SIGNS: dict[Any, int] = {np.add: 1, np.subtract: -1}


def writes(row: Any) -> bool:
    """Return whether the row of a function of elements fills an array, as a ufunc does."""
    return isinstance(row, Looped) and row.writes


def writer(row: Any) -> Callable[..., None]:
    """Return a function that writes a row's result into its first array. Errors are raised before any write."""
    if writes(row):
        return lambda array, *args: row.function(array, *args, out=array)
    if not isinstance(row, PreparedUfunc):
        return lambda array, *args: np.copyto(array, row(array, *args))

    def write(array: np.ndarray, other: Any, *rest: Any) -> None:
        if array.size < LARGE or other.__class__ is not np.ndarray or not (
                array.flags.c_contiguous and other.flags.c_contiguous and array.shape == other.shape):
            row.ufunc(array, row.prepare(other, *rest), out=array)
            return
        flat, values = array.reshape(-1), other.reshape(-1)
        factor = None if row.ufunc not in SIGNS or array.dtype != other.dtype else SIGNS[row.ufunc] * rest[0]

        def work(part: slice) -> None:
            if factor is None or not add_scaled(flat[part], values[part], factor):
                row.ufunc(flat[part], row.prepare(values[part], *rest), out=flat[part])

        each_block(work, flat.size, SMALL if factor is None else LARGE // 2, flat.size)

    return lambda *args: quietly(write, *args)


def in_place(row: Any, meta: Pointwise, general: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return the fast path of an in-place pointwise operator, or None. It bumps the tensor's version, as ``general``
    does.

    It has the conditions of the functional operator's fast path; other tensors must not alias the target, and those of
    a function must have its shape. Functions and ufuncs raise errors before anything is written.
    """
    if meta.kind == "bool" or meta.unpromoted:
        return None
    dtypes, others, checks = meta.fast, meta.count - 1, meta.check is not None
    ufunc, write = row.function if writes(row) else row.ufunc if isinstance(row, PreparedUfunc) else row, writer(row)

    @fast_path
    def by_function(self: Any, *args: Any) -> Any:
        dtype, array = self._dtype, self._array
        if dtype.category != FLOATING or dtype not in dtypes:
            return None
        if checks and not are_small(args[others:]):
            return None
        operands = []
        for arg in args[:others]:
            if arg.__class__ in TENSOR_TYPES:
                if arg._dtype is not dtype or arg._array.shape != array.shape or (
                        arg._storage is not None and arg._storage is self._storage):
                    return None
                arg = arg._array
            elif arg is not None and (not are_small((arg,)) or (ufunc in SIGNS and args[others:] not in ((), (1,)))):
                return None  # a number is rounded to the dtype before ``alpha`` multiplies it
            operands.append(arg)
        write(array, *operands, *args[others:])
        (self._version_counter or self._start_counter())[0] += 1
        return self

    function = by_function(general)
    if others > 1 or not (isinstance(ufunc, np.ufunc) or (writes(row) and not others)):
        return function
    slower, least = general if ufunc is row else function, least_of(ufunc)

    def unary(self: Any, *rest: Any) -> Any:
        array = self._array
        if not rest and self._dtype in dtypes:
            try:
                if array.size < least or ufunc is not row:
                    silent().run(ufunc, array, out=array)
                else:
                    compute(ufunc, array, array)
                (self._version_counter or self._start_counter())[0] += 1
                return self
            except (TypeError, OverflowError):
                pass
        return slower(self, *rest)

    def binary(self: Any, other: Any, *rest: Any) -> Any:
        dtype, array, kind, right = self._dtype, self._array, other.__class__, None
        if kind in TENSOR_TYPES and other._dtype is dtype:
            storage, right = other._storage, other._array
            if storage is not None and storage is self._storage:
                right = None
        elif (kind is float and dtype.category >= FLOATING) or (kind is int and dtype.category > BOOL):
            right = other
        if right is not None and not rest and dtype in dtypes:
            try:
                if array.size < LARGE:
                    silent().run(ufunc, array, right, array)
                else:
                    compute(ufunc, array, array, right)
                (self._version_counter or self._start_counter())[0] += 1
                return self
            except (TypeError, OverflowError, ValueError):  # of shapes, too
                pass
        return slower(self, other, *rest)

    return binary if others else unary


def into_out(row: Any, meta: Pointwise, general: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return the fast path of a pointwise operator with ``out=``, or None. A ufunc writes into an array that no input
    aliases.

    It has the conditions of the functional operator's fast path; all tensors must also have one shape.
    """
    prepared = isinstance(row, PreparedUfunc)  # its factor is 1 unless given
    ufunc, dtypes, count, compares = row.ufunc if prepared else row, meta.fast, meta.count, meta.kind == "bool"
    if by_row := writes(row):
        ufunc = row.function
    if not (by_row or isinstance(ufunc, np.ufunc)) or meta.unpromoted:
        return None
    least = least_of(ufunc)

    def fast(*args: Any) -> Any:
        first, out, rest = args[0], args[-1], args[count:-1]
        dtype = first._dtype if first.__class__ in TENSOR_TYPES else None
        if (dtype not in dtypes or out.__class__ not in TENSOR_TYPES or out._dtype is not (bool_ if compares else dtype)
                or (rest and not (by_row and are_small(rest)) and not (
                    prepared and rest[0].__class__ is int and rest[0] == 1))):
            return general(*args)
        target, storage, arrays = out._array, out._storage, []
        shape, size = target.shape, target.size
        if not 0 < size < LARGE:
            return general(*args)
        for arg in args[:count]:
            kind = arg.__class__
            if kind in TENSOR_TYPES:
                array = arg._array
                if arg._dtype is not dtype or array.shape != shape or arg._storage is storage is not None:
                    return general(*args)
                arrays.append(array)
            elif (kind is float and dtype.category >= FLOATING) or (
                    kind is int and dtype is not bool_ and (not compares or -1 << 63 <= arg < 1 << 63)):
                arrays.append(arg)
            else:
                return general(*args)
        try:
            if size < least:
                silent().run(ufunc, *arrays, *rest * by_row, out=target)  # maximum takes no third argument by place
            else:
                silent().run(compute, ufunc, target, *arrays)
        except (TypeError, OverflowError):
            return general(*args)
        (out._version_counter or out._start_counter())[0] += 1
        return out

    return fast

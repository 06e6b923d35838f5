"""Functions that programs call: operators on arrays, and tensors over their memory."""
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .._backends.common.pointwise import Pointwise
from .._backends.cpu.ops import CPU_KERNELS
from .._backends.cpu.rows import fit, shares_memory
from .._base.layout import Spec, contiguous_strides
from .._dispatch import dispatcher
from .._dispatch.dispatcher import TENSOR_TYPES, registry
from .._dispatch.keys import CPU, NONCONTIGUOUS
from .._dtype import DType, from_numpy_dtype
from .._tensor import Tensor, empty_tensor, from_array
from .graph import Step

ndarray = np.ndarray


def tensor_of(array: np.ndarray) -> Tensor:
    """Return a tensor over an array's memory."""
    dtype = from_numpy_dtype(array.dtype)
    out = from_array(array, dtype)
    if not array.flags.c_contiguous:
        out._stride = tuple([step // dtype.itemsize for step in array.strides])
        out._keys |= NONCONTIGUOUS
        out._version_counter = [0, None, spanned(array)]  # the storage is made when it is needed
    return out


def spanned(array: np.ndarray) -> np.ndarray:
    """Return the memory from an array's first element to its last as a contiguous array."""
    if array.T.flags.c_contiguous:
        return array.T
    span = sum((size - 1) * step for size, step in zip(array.shape, array.strides, strict=True))
    return as_strided(array, (span // array.itemsize + 1 if array.size else 0,), (array.itemsize,))


def with_layout(array: np.ndarray, dtype: DType, stride: tuple[int, ...]) -> Tensor:
    """Return a fresh tensor over an array that a program made, with the recorded strides, which are not the ones of a
    contiguous tensor.
    """
    out = from_array(array, dtype)
    out._version_counter = [0, None, array if array.flags.c_contiguous else spanned(array)]
    out._stride = stride
    out._keys |= NONCONTIGUOUS
    return out


def strided(array: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """Expand a contiguous array to a shape; strides count bytes."""
    try:
        return np.ndarray(shape, array.dtype, array, 0, strides)
    except ValueError:  # bfloat16 has no buffers
        return np.broadcast_to(array, shape)


class Extern:
    """An operator that is called on arrays instead of tensors.

    The guards ensure that it is called as it was recorded: the operator's CPU row computes outputs of the recorded
    ``specs``, without the dispatcher and the meta kernel. Observed calls, operators without a row and calls that raise
    are dispatched.
    """

    __slots__ = ("op", "specs", "row", "is_view")

    def __init__(self, step: Step) -> None:
        self.op, self.specs, self.row, self.is_view = step.op, specs_of(step), row_of(step), step.makes_view

    def __call__(self, *args: Any) -> Any:
        return self.run(self.specs, args)

    def run(self, specs: Any, args: tuple[Any, ...]) -> Any:
        """Compute outputs of these specs."""
        if self.row is None or dispatcher.mode:
            return self.dispatched(specs, args)
        try:
            made = self.row(*args)
            if specs.__class__ is Spec:
                return self.fitted(made, specs, args)
            return [item if spec is None else self.fitted(item, spec, args)
                    for item, spec in zip(made, specs, strict=True)]
        except Exception:  # dispatched, the operator raises the same error and names its call
            return self.dispatched(specs, args)

    def fitted(self, array: Any, spec: Spec, args: Any) -> np.ndarray:
        """Return a row's result in its recorded layout."""
        if (array.__class__ is ndarray and array.dtype is spec.dtype.np and array.shape == spec.shape
                and spec.stride is None and array.flags.c_contiguous):
            is_fresh = array.base is None and array.flags.writeable and id(array) not in map(id, args)
            if is_fresh or not shares_memory(array, args):
                return array
        return fit(self.op, array, spec, args)._array  # type: ignore[return-value]

    def dispatched(self, specs: Any, args: tuple[Any, ...]) -> Any:
        result = self.op.call(*[wrapped(arg) for arg in args])
        if isinstance(result, (list, tuple)):
            return tuple([self.laid_out(item, spec) for item, spec in zip(result, specs, strict=True)])
        return self.laid_out(result, specs)

    def laid_out(self, result: Any, spec: Spec) -> Any:
        """Return a result's array in its recorded layout, unless it is a view. An array's strides along dimensions of
        one element are not the recorded ones, and may lead an operator to another order.
        """
        if result.__class__ not in TENSOR_TYPES:
            return result
        assert spec.shape is not None
        array, stride = result._array, contiguous_strides(spec.shape) if spec.stride is None else spec.stride
        if self.is_view or not array.size or all(size == 1 or step == array.itemsize * wanted for size, step, wanted in
                                                 zip(array.shape, array.strides, stride, strict=True)):
            return array
        out: Any = empty_tensor(spec)._array
        out[...] = array
        return out

    def __repr__(self) -> str:
        return f"aten::{self.op.name}"


class SizedExtern(Extern):
    """An operator whose outputs have sizes that change from call to call: it is given their shapes and strides, None
    for those of a contiguous tensor, and for an output that is not a tensor.
    """

    __slots__ = ()

    def __call__(self, layouts: Any, *args: Any) -> Any:
        several = self.specs.__class__ is not Spec
        specs = [None if spec is None else Spec(layout[0], spec.dtype, layout[1]) for spec, layout in zip(
            self.specs if several else (self.specs,), layouts, strict=True)]
        return self.run(tuple(specs) if several else specs[0], args)


def wrapped(value: Any) -> Any:
    """Return an argument with tensors in place of arrays."""
    kind = value.__class__
    if kind is ndarray:
        return tensor_of(value)
    if kind is list or kind is tuple:
        return kind([wrapped(item) for item in value])
    return value


def specs_of(step: Step) -> Any:
    """Return the ``Spec`` of a step's output, or one for each of several outputs, None for one that is not a tensor."""
    specs = [value and Spec(value.shape, value.dtype, None if value.is_contiguous else value.stride)
             for value in step.outputs]
    return tuple(specs) if step.is_list else specs[0] if len(specs) == 1 else ()


def row_of(step: Step) -> Any:
    """Return the function of arrays that computes a step; None for pointwise operators, whose operands are converted
    before, and for steps that draw random numbers or make a view.
    """
    op, kernel = step.op, step.op.kernel(CPU)
    row = CPU_KERNELS.get(op.name)
    if (kernel is None or kernel.registered or row is None or kernel.origin is not row
            or step.is_random or step.makes_view or isinstance(registry.meta_rows.get(op.name), Pointwise)):
        return None
    return row

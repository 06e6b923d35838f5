"""In-place and ``out=`` forms, derived from the functional operator's kernel."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..._base.about import kind_of
from ..._base.errors import CPP_NAMES, check_broadcast
from ..._base.layout import Ints, storage_size, wrap_dim
from ..._dispatch import dispatcher
from ..._dispatch.aten import copy_, resize_
from ..._dispatch.dispatcher import TENSOR_TYPES, has_derivative, keys_of, outside_graph, registry, resolve, tensors_of
from ..._dispatch.keys import AUTOGRAD, CPU, NONCONTIGUOUS, REDIRECTING
from ..._dispatch.registry import Kernel, Operator
from ..._dtype import FLOATING
from ..._tensor import Tensor
from .blocks import copy
from .casts import ALSO_TAKEN, check_cast, wrong_dtype
from .overlap import check_disjoint, check_writable
from .pointwise import Pointwise


def _inplace(op: Operator, backend: int) -> Kernel | None:
    functional = op.functional
    assert functional is not None
    kernel = functional.kernel(backend)
    if kernel is None:
        return None
    differentiable = has_derivative(functional)
    copying, fill = registry["copy_"], dtype_of_target(functional)
    meta = registry.meta_rows.get(functional.name)
    makes_real = isinstance(meta, Pointwise) and meta.kind == "real"

    def of_own_dtype(filled: list[Any], self: Any) -> list[Any]:
        dtype = filled[functional.schema.positions["dtype"]]
        if dtype is not self._dtype:
            wrap_dim(filled[functional.schema.positions["dim"]], self.ndim)
            raise RuntimeError(f"Bad in-place call: input tensor dtype {CPP_NAMES[self._dtype.name]} and output tensor "
                               f"dtype {CPP_NAMES[dtype.name]} should match")
        return filled

    def writing(compute: Callable[..., Any]) -> Callable[..., Any]:
        """Return the in-place form of a kernel of the functional operator."""

        def call(self: Any, *args: Any) -> Any:
            try:
                result = (compute(self, *args) if fill is None else
                          compute(*of_own_dtype(fill((self, *args), self), self)))
            except NotImplementedError as error:  # ATen checks the target before it looks for a kernel
                if isinstance(meta, Pointwise) and kind_of(error) == "not for this dtype":
                    check_writable(self, args)
                    shape, dtype = meta.promised((self, *args))
                    check_broadcast(shape, self.shape)
                    check_cast(dtype, self._dtype)
                raise
            if result.shape != self.shape:
                check_broadcast(result.shape, self.shape)
            check_writable(self, args)
            if result._dtype is not self._dtype:
                if self._dtype.is_complex and makes_real:
                    raise RuntimeError(f"In-place {functional.packet} is not supported for complex tensors.")
                check_cast(result._dtype, self._dtype)
            copy_kernel = copying.kernel(backend)
            assert copy_kernel is not None
            contiguous = copy_kernel.fast is not None and not (self._keys | result._keys) & NONCONTIGUOUS
            (copy_kernel.fast if contiguous else copy_kernel.fn)(self, result)  # type: ignore[misc]
            return self

        return call

    if kernel.composite and not differentiable:
        compute = kernel.fn

        def composite(self: Any, *args: Any) -> Any:
            return copying.call(self, compute(self, *args))

        return Kernel(composite, kernel.origin, composite=True)
    if kernel.composite:
        return Kernel(writing(outside_graph(kernel.fn)), kernel.origin)
    return Kernel(writing(kernel.fn), kernel.origin, None if kernel.fast is None else writing(kernel.fast))


def dtype_of_target(functional: Operator) -> Callable[..., list[Any]] | None:
    """Return a function that fills in the target's dtype as the argument ``dtype`` if none is given.

    Applies to operators whose forms compute in the target's dtype (the flag ``dtype of out``); None for others.
    """
    if "dtype of out" not in functional.flags:
        return None
    positions, defaults = functional.schema.positions, [p.default for p in functional.schema.parameters]
    position, averages, along = positions["dtype"], functional.packet == "mean", "dim" in positions

    def fill(inputs: Any, target: Tensor) -> list[Any]:
        filled = [*inputs, *defaults[len(inputs):]]
        if averages and filled[position] is None:
            if not (along and target._dtype.category >= FLOATING):
                check_cast(inputs[0]._dtype, target._dtype)
            if inputs[0]._dtype.category < FLOATING:  # whose mean is refused
                return filled
        filled[position] = filled[position] or target._dtype
        return filled

    return fill


def _out(op: Operator, backend: int) -> Kernel | None:
    functional = op.functional
    assert functional is not None
    kernel = functional.kernel(backend)
    if kernel is None:
        return None
    fill, table = dtype_of_target(functional), functional.table
    single = len(functional.schema.returns) == 1 and not functional.schema.returns_list
    disjoint = "no overlap" in op.flags
    pointwise = isinstance(registry.meta_rows.get(functional.name), Pointwise)
    keep_strides = "strided out" in op.flags if kernel.composite else "contiguous out" not in op.flags

    def call(*args: Any) -> Any:
        *inputs, out = args
        if fill is not None:
            inputs = fill(inputs, out)
        reads = tensors_of(inputs["in-place" in op.flags:]) if disjoint else ()
        if not pointwise:  # each element is read before it is written
            for target in (out,) if single else out:
                check_disjoint(target, reads)
        keys = backend | (keys_of(tuple(inputs)) & NONCONTIGUOUS)
        compute = functional.table.get(keys) or resolve(functional, keys)
        try:
            result = compute(*inputs)
        except NotImplementedError as error:  # ATen checks the target before it looks for a kernel
            if pointwise and kind_of(error) == "not for this dtype":
                check_writable(out, inputs)
            raise
        return finish(result, out, inputs, reads)

    def finish(result: Any, out: Any, inputs: Any, reads: Any = (), write: Callable[..., Any] = write_out) -> Any:
        if result.__class__ in TENSOR_TYPES:
            return write(op, result, out, keep_strides, reads, inputs)
        if len(out) != len(result):
            raise TypeError(f"{op.packet}(): argument 'out' must be tuple of {len(result)} Tensors, not of {len(out)}")
        for target in out:
            check_writable(target, inputs)
        names = getattr(result, "_fields", [""] * len(out))
        written = [target if part is None else write(op, part, target, keep_strides, name=name)
                   for part, target, name in zip(result, out, names, strict=True)]
        if functional.schema.returns_list:
            return None
        return type(result)(*written) if hasattr(result, "_fields") else type(result)(written)

    def fast(*args: Any) -> Any:
        """Write to contiguous CPU tensors that alias no input, if no mode or observer is active."""
        out, inputs = args[-1], args[:-1]
        if dispatcher.mode & REDIRECTING or not are_separate((out,) if single else out, inputs):
            return call(*args)
        if fill is not None:
            inputs = (*fill(inputs, out),)
        result = (table.get(CPU) or resolve(functional, CPU))(*inputs)
        return (write_alone(op, result, out, keep_strides, (), inputs) if result.__class__ in TENSOR_TYPES else
                finish(result, out, inputs, write=write_alone))

    return Kernel(call, kernel.origin, fast if backend == CPU else None)


def are_separate(targets: Any, inputs: Any) -> bool:
    """Return True if the targets are contiguous CPU tensors outside the graph that alias no input."""
    if targets.__class__ is not tuple:
        return False
    for target in targets:
        if target.__class__ not in TENSOR_TYPES or target._keys != CPU:
            return False
        storage = target._storage
        for arg in inputs:
            kind = arg.__class__
            if kind in TENSOR_TYPES:
                if arg is target or (arg._storage is storage is not None):
                    return False
            elif (kind is list or kind is tuple) and arg and arg[0].__class__ is not int:
                for item in arg:
                    if item.__class__ in TENSOR_TYPES and (item is target or item._storage is storage is not None):
                        return False
    return True


PLAIN_KEYS = CPU | NONCONTIGUOUS
#: Flags of operators that write results of one dtype only.
EXACT = {"exact dtype", "dtype of out"}


def write_out(op: Operator, result: Tensor, out: Tensor, keep_strides: bool = True, reads: Any = (),
              inputs: Any = (), name: str = "") -> Tensor:
    """Write a result into the tensor given as ``out=``, resizing it if the shapes differ.

    A resized ``out`` takes the result's strides, or is contiguous. It must not overlap ``reads`` then, and must not
    partially overlap ``inputs``. ``name`` identifies one of several outputs.

    Raises:
        RuntimeError: if dtype or device do not allow it.
    """
    if (out._dtype is result._dtype and out._storage is None and out._keys == CPU and not result._keys & ~PLAIN_KEYS
            and out.shape == result.shape and out.numel()):
        return copy_(out, result)  # contiguous memory that nothing else aliases
    if out._device is not result._device and out._device != result._device:
        raise RuntimeError(f"Expected out tensor to have device {result.device}, but got {out.device} instead")
    pointwise = op.functional is not None and isinstance(registry.meta_rows.get(op.functional.name), Pointwise)
    to_real = pointwise and not result._dtype.is_complex and inputs and inputs[0].__class__ in TENSOR_TYPES and (
        inputs[0]._dtype.is_complex and (out._dtype is inputs[0]._dtype or not out._dtype.is_complex))  # as for abs
    if (to_real or op.flags.isdisjoint(EXACT)) and not _of_asked_dtype(op, inputs):
        check_cast(result._dtype, out._dtype, TypeError if "TypeError" in op.flags else RuntimeError, op)
    elif out._dtype is not result._dtype and out._dtype not in ALSO_TAKEN.get(op.packet, ()):
        raise wrong_dtype(op, result._dtype, out._dtype, name)
    else:
        check_writable(out)
    if pointwise:
        check_writable(out, inputs)  # ATen's iterator checks overlap before it resizes the output
    if out.shape != result.shape or ("empty out resized" in op.flags and not out.numel()):
        resize_output(out, tuple(result.shape))
        if keep_strides:
            _take_strides(out, result)
        check_disjoint(out, reads)
    check_writable(out, inputs)
    keys = out._keys
    out._keys = keys & ~AUTOGRAD
    copy_(out, result)
    out._keys = keys
    return out


def write_alone(op: Operator, result: Tensor, out: Tensor, keep_strides: bool = True, reads: Any = (),
                inputs: Any = (), name: str = "") -> Tensor:
    """Copy the result into a contiguous ``out`` that aliases no input, or let an ``out`` without elements, or a view,
    have the result's memory; ``write_out`` handles a cast or resize.
    """
    array, target = result._array, out._array
    if (result._dtype is not out._dtype or result._keys & ~PLAIN_KEYS or array is None or target is None
            or not array.size):
        return write_out(op, result, out, keep_strides, reads, inputs, name)
    if array.shape == target.shape:
        copy(target, array)
    elif (not target.size and array.base is out._storage is result._storage is out._version_counter is None
            and result._keys == CPU and not any([result is given for given in inputs])):  # noqa: C419
        out._array, out._shape, out._stride, out._layout = array, None, None, result._layout
    else:
        return write_out(op, result, out, keep_strides, reads, inputs, name)
    (out._version_counter or out._start_counter())[0] += 1
    return out


def _of_asked_dtype(op: Operator, inputs: Any) -> bool:
    """Return True if the argument ``dtype`` was given, which a result then has."""
    position = None if op.functional is None else op.functional.schema.positions.get("dtype")
    return position is not None and position < len(inputs) and inputs[position] is not None


def _take_strides(out: Tensor, result: Tensor) -> None:
    """Give ``out`` the result's strides, growing its storage if necessary."""
    needed = storage_size(result.shape, result._strides(), out._offset) * out._dtype.itemsize
    storage = out.untyped_storage()
    if storage.nbytes() < needed:
        storage.resize_(needed)
    out._set_layout(None, result.shape, result._strides(), out._offset)


def resize_output(out: Tensor, shape: Ints) -> Tensor:
    """Resize a tensor given as ``out=``; warn if it had elements."""
    if out.shape != shape:
        if out.numel():
            warnings.warn(f"An output with one or more elements was resized since it had shape {list(out.shape)}, "
                          f"which does not match the required output shape {list(shape)}. This behavior is deprecated, "
                          "and in a future PyTorch release outputs will not be resized unless they have zero elements. "
                          "You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
                          "t.resize_(0).", stacklevel=6)
        keys = out._keys
        out._keys = keys & ~AUTOGRAD  # a leaf that requires grad may be resized here, since gradients are not recorded
        try:
            resize_(out, shape)
        finally:
            out._keys = (out._keys & ~AUTOGRAD) | (keys & AUTOGRAD)
        if out._version_counter is not None:
            out._version_counter[0] -= 1  # only the write that follows counts
    return out


def writing_kernel(check: Callable[..., None], write: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return the kernel of an in-place-only operator: the meta row checks, ``write`` writes into the first argument."""
    policy = getattr(check, "policy", check_writable)

    def kernel(self: Any, *args: Any) -> Any:
        check(self, *args)
        if self.__class__ in TENSOR_TYPES:
            policy(self, args)
        else:
            for target in self:
                check_writable(target)
        if write is not None:
            write(self, *args)
        return self

    return kernel


def kernel_of_form(op: Operator, backend: int) -> Kernel | None:
    """Return the kernel of an in-place or ``out=`` form, unless it has a meta row of its own."""
    if op.functional is None or op.name in registry.meta_rows:
        return None
    return _inplace(op, backend) if op.is_inplace else _out(op, backend)

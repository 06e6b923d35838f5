"""In-place and ``out=`` forms, made from the functional operator's kernel: they differ in where the result goes."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._about import about, kind_of
from ..._dispatch.aten import copy_, resize_
from ..._dispatch.dispatcher import TENSOR_TYPES, has_derivative, keys_of, outside_graph, registry, resolve, tensors_of
from ..._dispatch.keys import AUTOGRAD, CPU, NONCONTIGUOUS
from ..._dispatch.registry import Kernel, Operator
from ..._dtype import BOOL, FLOATING, DType, bool_
from ..._errors import CPP_NAMES, NAMES as NAMES, check, check_broadcast, cpu_type
from ..._layout import Ints, never_overlaps, overlaps_itself, storage_size, wrap_dim
from ..._tensor import Tensor
from .blas import add_scaled
from .blocks import LARGE, SMALL, compute, each_block
from .fast_paths import fast_path
from .pointwise import Pointwise, PreparedUfunc
from .quiet import quietly

OVERLAP = ("unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
           "Please clone() the tensor before performing the operation.")
PARTIAL_OVERLAP = ("unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                   "single memory location. Please clone() the tensor before performing the operation.")


def check_writable(target: Tensor, inputs: Any = ()) -> None:
    """Raise RuntimeError if a write would read or write its memory twice: for internal and for partial overlap."""
    if not target._keys & NONCONTIGUOUS and target._storage is None:
        return
    if target._keys & NONCONTIGUOUS and overlaps_itself(target.shape, target._strides()):
        raise about(RuntimeError(OVERLAP), "overlapping write")
    check_not_shifted(target, inputs)


def check_not_shifted(target: Tensor, inputs: Any) -> None:
    """Raise RuntimeError if a tensor among what is read meanwhile has the target's elements in other places (ATen's
    ``assert_no_partial_overlap``).
    """
    for other in inputs:
        if (other.__class__ in TENSOR_TYPES and other._storage is target._storage
                and _overlap(target, other) == PARTIAL):
            raise RuntimeError(PARTIAL_OVERLAP)


def check_disjoint(target: Tensor, inputs: Any) -> None:
    """Raise RuntimeError if a tensor among what is read meanwhile has elements in the target's memory (ATen's
    ``assert_no_overlap``).
    """
    for other in inputs:
        if _overlap(target, other):
            raise RuntimeError(PARTIAL_OVERLAP)


PARTIAL, FULL = 1, 2


def _overlap(a: Tensor, b: Tensor) -> int:
    """Whether two tensors are the same elements in the same order, or cover ranges of memory that overlap. Of tensors
    with gaps this is not found out, as ATen does not.
    """
    if a is b:
        return FULL
    if (a._storage is None or a._storage is not b._storage or not a.numel() or not b.numel() or not a._is_dense()
            or not b._is_dense()):
        return 0
    start_a, start_b = a._offset * a._dtype.itemsize, b._offset * b._dtype.itemsize
    end_a, end_b = start_a + a.nbytes, start_b + b.nbytes
    if start_a == start_b and end_a == end_b:
        return FULL if a._strides() == b._strides() else PARTIAL
    return PARTIAL if start_a < end_b and start_b < end_a else 0


def check_cast(result: DType, target: DType, error: type[Exception] = RuntimeError, op: Operator | None = None) -> None:
    """Refuse to write a result, of ``op`` if that is given, into a dtype of a lower category. The transforms write only
    complex numbers, or only real ones.

    Raises:
        error: PyTorch's.
    """
    if result.category > target.category or (op is not None and op.packet[:4] == "fft_"
                                        and target.is_complex is not result.is_complex):
        words = NO_CAST.get(op.packet if op is not None else "")
        raise about(error(f"result type {NAMES[result.name]} can't be cast to the desired output type "
                          f"{NAMES[target.name]}" if words is None or op is None else
                          in_words(words, op, result, target)), "result cast", result=result.name, target=target.name)


def _inplace(op: Operator, backend: int) -> Kernel | None:
    functional = op.functional
    assert functional is not None
    kernel = functional.kernel(backend)
    if kernel is None:
        return None
    differentiable = has_derivative(functional)
    compute = outside_graph(kernel.fn) if kernel.composite and differentiable else kernel.fn
    copy, fill = registry["copy_"], dtype_of_target(functional)
    meta = registry.meta_rows.get(functional.name)
    makes_real = isinstance(meta, Pointwise) and meta.kind == "real"

    def of_own_dtype(filled: list[Any], self: Any) -> list[Any]:
        dim, dtype = (filled[functional.schema.positions[name]] for name in ("dim", "dtype"))
        wrap_dim(dim, self.ndim)
        check(dtype is self._dtype, lambda: f"Bad in-place call: input tensor dtype {CPP_NAMES[self._dtype.name]} and "
              f"output tensor dtype {CPP_NAMES[dtype.name]} should match")
        return filled

    def general(self: Any, *args: Any) -> Any:
        try:
            result = compute(self, *args) if fill is None else compute(*of_own_dtype(fill((self, *args), self), self))
        except NotImplementedError as error:  # ATen looks at the target before it looks for a kernel
            if isinstance(meta, Pointwise) and kind_of(error) == "not for this dtype":
                check_writable(self, args)
                shape, dtype = meta.promised((self, *args))
                check_broadcast(shape, self.shape)
                check_cast(dtype, self._dtype)
            raise
        check_broadcast(result.shape, self.shape)
        check_writable(self, args)
        if result._dtype is not self._dtype:
            if self._dtype.is_complex and makes_real:
                raise RuntimeError(f"In-place {functional.packet} is not supported for complex tensors.")
            check_cast(result._dtype, self._dtype)
        keys = backend | ((self._keys | result._keys) & NONCONTIGUOUS)
        copy_kernel = copy.kernel(backend)
        assert copy_kernel is not None, keys
        copy_kernel.fn(self, result)
        return self

    if kernel.composite and not differentiable:

        def composite(self: Any, *args: Any) -> Any:
            return copy.call(self, compute(self, *args))

        return Kernel(composite, kernel.origin, composite=True)
    fast = None
    if backend == CPU and isinstance(meta, Pointwise) and kernel.fast is not None:
        fast = _inplace_fast_path(kernel.origin, meta, general)
    if fast is None:
        return Kernel(general, kernel.origin)
    by_target = _by_target(fast, general, contiguous=kernel.origin is np.negative)
    return Kernel(by_target, kernel.origin, fast=fast)


def _by_target(fast: Callable[..., Any], general: Callable[..., Any], contiguous: bool) -> Callable[..., Any]:
    """For operands with strides: a fast path that writes into an array takes those, too, if each of its elements is
    one of its own; where that is to be ``contiguous``, only other operands. NumPy 2.4 negates every fourth number of an
    array in place as if they were neighbours.
    """
    def call(self: Any, *args: Any) -> Any:
        if self._keys & NONCONTIGUOUS and (contiguous or not never_overlaps(self._array.shape, self._stride)):
            return general(self, *args)
        return fast(self, *args)

    return call


#: What adds the second operand, times ``alpha``, or subtracts it.
SIGNS: dict[Any, int] = {np.add: 1, np.subtract: -1}


def _writer(row: Any) -> Callable[..., None]:
    """A row's function, that writes its result into its first array; what it raises, it raises before."""
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


def _inplace_fast_path(row: Any, meta: Pointwise, general: Callable[..., Any]) -> Callable[..., Any] | None:
    """In-place pointwise operators: NumPy writes into the array itself. The conditions are those of the functional
    operator's fast path, and that no other operand has another shape or shares the memory. What a function raises, it
    raises before anything is written; so does a ufunc, but for warnings.
    """
    if meta.kind == "bool" or meta.unpromoted:
        return None
    dtypes, others, checks = meta.fast, meta.count - 1, meta.check is not None
    ufunc, write = row.ufunc if isinstance(row, PreparedUfunc) else row, _writer(row)

    @fast_path
    def by_function(self: Any, *args: Any) -> Any:
        dtype, array = self._dtype, self._array
        if dtype.category != FLOATING or dtype not in dtypes:
            return None
        if checks and any(arg.__class__ is not float and arg.__class__ is not int for arg in args[others:]):
            return None
        operands = []
        for arg in args[:others]:
            if arg.__class__ in TENSOR_TYPES:
                if arg._dtype is not dtype or arg._array.shape != array.shape or (
                        arg._storage is not None and arg._storage is self._storage):
                    return None
                arg = arg._array
            elif arg is not None and arg.__class__ is not float and arg.__class__ is not int:
                return None
            operands.append(arg)
        write(array, *operands, *args[others:])
        return self

    function = by_function(general)
    if not isinstance(ufunc, np.ufunc) or others > 1:
        return function
    slower = general if ufunc is row else function

    def unary(self: Any, *rest: Any) -> Any:
        array = self._array
        if not rest and self._dtype in dtypes:
            try:
                ufunc(array, out=array) if array.size < LARGE else compute(ufunc, array, array)
                return self
            except (Warning, FloatingPointError):
                return self  # raised after the work was done
            except (TypeError, OverflowError):
                pass
        return slower(self, *rest)

    def binary(self: Any, other: Any, *rest: Any) -> Any:
        dtype, array, kind, right = self._dtype, self._array, other.__class__, None
        if kind in TENSOR_TYPES:
            if other._dtype is dtype:
                storage, right = other._storage, other._array
                if right.shape != array.shape or (storage is not None and storage is self._storage):
                    right = None
        elif (kind is float and dtype.category >= FLOATING) or (kind is int and dtype.category > BOOL):
            right = other
        if right is not None and not rest and dtype in dtypes:
            try:
                ufunc(array, right, out=array) if array.size < LARGE else compute(ufunc, array, array, right)
                return self
            except (Warning, FloatingPointError):
                return self  # as above
            except (TypeError, OverflowError):
                pass
        return slower(self, other, *rest)

    return binary if others else unary


def dtype_of_target(functional: Operator) -> Callable[..., list[Any]] | None:
    """Give operators whose forms compute in the dtype of what they write to (the flag ``dtype of out``) their canonical
    arguments with that dtype, if none is given.
    """
    if "dtype of out" not in functional.flags:
        return None
    position = functional.schema.positions["dtype"]

    def fill(inputs: Any, target: Tensor) -> list[Any]:
        filled = [*inputs, *(p.default for p in functional.schema.parameters[len(inputs):])]
        filled[position] = filled[position] or target._dtype
        return filled

    return fill


def _out(op: Operator, backend: int) -> Kernel | None:
    functional = op.functional
    assert functional is not None
    kernel = functional.kernel(backend)
    if kernel is None:
        return None
    fill = dtype_of_target(functional)
    single = len(functional.schema.returns) == 1 and not functional.schema.returns_list
    disjoint = "no overlap" in op.flags
    pointwise = isinstance(registry.meta_rows.get(functional.name), Pointwise)
    keep_strides = "strided out" in op.flags if kernel.composite else "contiguous out" not in op.flags

    def call(*args: Any) -> Any:
        *inputs, out = args
        if single and out.__class__ not in TENSOR_TYPES:
            raise TypeError(f"{op.packet}(): argument 'out' must be Tensor, not {type(out).__name__}")
        if not single and not isinstance(out, (tuple, list)):
            raise TypeError(f"{op.packet}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}")
        if fill is not None:
            inputs = fill(inputs, out)
        reads = tensors_of(inputs["in-place" in op.flags:]) if disjoint else ()
        if not pointwise:  # whose element is read before it is written
            for target in (out,) if single else out:
                check_disjoint(target, reads)
        keys = backend | (keys_of(tuple(inputs)) & NONCONTIGUOUS)
        compute = functional.table.get(keys) or resolve(functional, keys)
        try:
            result = compute(*inputs)
        except NotImplementedError as error:  # as above
            if pointwise and kind_of(error) == "not for this dtype":
                check_writable(out, inputs)
            raise
        if result.__class__ in TENSOR_TYPES:
            return write_out(op, result, out, keep_strides, reads, inputs)
        if len(out) != len(result):
            raise TypeError(f"{op.packet}(): argument 'out' must be tuple of {len(result)} Tensors, not of {len(out)}")
        for target in out:
            check_writable(target, inputs)
        names = getattr(result, "_fields", [""] * len(out))
        written = [target if part is None else write_out(op, part, target, keep_strides, name=name)
                   for part, target, name in zip(result, out, names, strict=True)]
        if functional.schema.returns_list:
            return None
        return type(result)(*written) if hasattr(result, "_fields") else type(result)(written)

    meta = registry.meta_rows.get(functional.name)
    fast = None
    if backend == CPU and isinstance(meta, Pointwise) and kernel.fast is not None:
        fast = _out_fast_path(kernel.origin, meta, call)
    return Kernel(call, kernel.origin, fast=fast)


def _out_fast_path(row: Any, meta: Pointwise, general: Callable[..., Any]) -> Callable[..., Any] | None:
    """Pointwise operators with ``out=``: a ufunc writes into the array of a tensor that shares its memory with none.
    The conditions are those of the functional operator's fast path, and that tensors have the shape of that one.
    """
    prepared = isinstance(row, PreparedUfunc)  # whose factor is 1 unless another is given
    ufunc, dtypes, count, compares = row.ufunc if prepared else row, meta.fast, meta.count, meta.kind == "bool"
    if not isinstance(ufunc, np.ufunc) or meta.unpromoted:
        return None

    def fast(*args: Any) -> Any:
        dtype, out, rest = args[0]._dtype if args[0].__class__ in TENSOR_TYPES else None, args[-1], args[count:-1]
        if ((rest and not (prepared and rest[0].__class__ is int and rest[0] == 1)) or dtype not in dtypes
                or out.__class__ not in TENSOR_TYPES or out._storage is not None
                or out._dtype is not (bool_ if compares else dtype)):
            return general(*args)
        target, arrays = out._array, []
        if not 0 < target.size < LARGE:
            return general(*args)
        for arg in args[:count]:
            kind = arg.__class__
            if kind in TENSOR_TYPES:
                if arg._dtype is not dtype or arg._array.shape != target.shape:
                    return general(*args)
                arrays.append(arg._array)
            elif (kind is float and dtype.category >= FLOATING) or (
                    kind is int and dtype is not bool_ and (not compares or -1 << 63 <= arg < 1 << 63)):
                arrays.append(arg)
            else:
                return general(*args)
        try:
            ufunc(*arrays, out=target)
        except (Warning, FloatingPointError):
            pass  # raised after the work was done
        except (TypeError, OverflowError):
            return general(*args)
        out._bump()
        return out

    return fast


#: In which words operators refuse an ``out`` of the wrong dtype, where they are not those of the others that take one
#: dtype only: ``want`` and ``got`` as C++ has them, ``Want`` and ``Got`` as ATen, ``wanted`` and ``given`` as types of
#: tensors. ``frexp.exponent`` is the output of that name.
WRONG_DTYPE = {name: message for names, message in {
    "abs ceil conj_physical frac floor softshrink hardshrink gelu neg round sign sgn trunc softplus bitwise_not clamp "
    "clip clamp_min clamp_max":
        "Found dtype {Got} but expected {Want}",
    "dot vdot matmul": "result dtype {Got} does not match input dtype {Want}",
    "cummax cummin logcumsumexp": "expected scalar_type {Want} but found {Got}",
    "signbit isposinf isneginf": "{name} does not support non-boolean outputs.",
    "masked_select index_select": "{name}(): self and result must have the same scalar type",
    "log_sigmoid linalg_solve_triangular": "expected scalar type {Want} but found {Got}",
    "all any": "{name} only supports bool tensor for result, got: {Got}",
    "amax amin": "Expected the dtype for input and out to match, but got {Want} for input's dtype and {Got} for out's "
                 "dtype.",
    "hash_tensor": "Expected result to be of dtype uint64, but got {Got}",
    "linalg_norm linalg_matrix_norm": "{name} expected out tensor dtype {Want} but got: {Got}",
    "complex polar": "Expected object of scalar type {Want} but got scalar type {Got} for argument 'out'",
    "frexp.mantissa": "torch.frexp() expects mantissa to have dtype {want} but got {got}",
    "frexp.exponent": "torch.frexp() expects exponent to have {want} dtype but got {got}",
    "kthvalue.values": "output values must be of same type as input",
    "kthvalue.indices": "output indices must be of scalar type {Want}",
    "median.values nanmedian.values":
        "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type {given} does "
        "not equal {wanted} (while checking arguments for median)",
    "median.indices nanmedian.indices":
        "Expected tensor for argument #1 'indices' to have scalar type {Want}; but got {given} instead (while checking "
        "arguments for median)",
    "mode.values mode.indices": "expected scalar type '{Want}' but got '{Got}' for {part} output",
    "histc histogram": "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {want} "
                       "and hist {got}",
    "nan_to_num": "nan_to_num: dtype of out: {Got} should be same as input: {Want}",
    "addbmm": "self and mat2 must have the same dtype, but got {Got} and {Want}",
    "searchsorted bucketize":
        "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on "
        "whether out_int32 flag is True, but we got output tensor's dtype {Got} and out_int32 flag is {small}",
    "quantile nanquantile": "quantile() out tensor must be same dtype as the input tensor",
    "take": "take(): self and out expected to have the same dtype, but got self.dtype = {Want} and out.dtype = {Got}",
    "multinomial": "multinomial expects Long tensor out, got: {Got}",
    "inner tensordot": "tensordot: Expected the output tensor to have dtype {Want}, but got an output tensor with "
                       "dtype {Got}",
    "float_power": "the output given to float_power has dtype {Got} but the operation's result requires dtype {Want}",
    "heaviside": "heaviside is not yet implemented for tensors with different dtypes.",
    "where": "Expected out type to be {Want} but got {Got}",
    "nonzero nonzero_static": "{name}: Expected out tensor to have scalar type {Want} but got scalar type{Got}",
    "linalg_vecdot": "linalg.vecdot: Expected out of dtype{Want} but found {Got}",
    "linalg_multi_dot": "multi_dot(): expected out tensor to have dtype {want} but got {got}",
}.items() for name in names.split()}


#: In which words operators refuse an ``out`` of a dtype that their result cannot be cast to; the fields are the same.
NO_CAST = {name: message for names, message in {
    "cat concat concatenate stack hstack vstack row_stack dstack column_stack":
        "torch.cat(): input types can't be cast to the desired output type {Got}",
    "logsumexp": "logsumexp(): Expected floating point type for result tensor, but got: {Got}",
}.items() for name in names.split()}
NO_CAST |= {f"fft_{name}": f"{written} expects a {kind} output tensor, but got {{Got}}" for kind, packets in {
    "complex": {"fft": "fft", "ifft": "ifft", "rfft": "rfft", "ihfft": "ihfft", "fftn": "fft2 fftn ifft2 ifftn",
                "rfftn": "rfft2 rfftn", "ihfftn": "ihfft2 ihfftn"},
    "floating point": {"irfft": "irfft", "hfft": "hfft", "irfftn": "irfft2 irfftn", "hfftn": "hfft2 hfftn"},
}.items() for written, names in packets.items() for name in names.split()}


def wrong_dtype(op: Operator, want: DType, got: DType, part: str = "") -> RuntimeError:
    """PyTorch's error for an ``out``, or the one called ``part``, of another dtype than what an operator writes."""
    message = WRONG_DTYPE.get(f"{op.packet}.{part}") or WRONG_DTYPE.get(
        op.packet, "Expected out tensor to have dtype {want}, but got {got} instead")
    return about(RuntimeError(in_words(message, op, want, got, part)), "result cast", result=want.name, target=got.name)


def in_words(message: str, op: Operator, want: DType, got: DType, part: str = "") -> str:
    """A message with its fields filled in."""
    return message.format(
        name=op.packet.replace("linalg_", "linalg."), part=part, small=want.name == "int32", want=CPP_NAMES[want.name],
        got=CPP_NAMES[got.name], Want=NAMES[want.name], Got=NAMES[got.name], wanted=cpu_type(want), given=cpu_type(got))


#: What an operator's heading says if it writes results of one dtype only.
EXACT = {"exact dtype", "dtype of out"}


def write_out(op: Operator, result: Tensor, out: Tensor, keep_strides: bool = True, reads: Any = (),
              inputs: Any = (), name: str = "") -> Tensor:
    """Write a result into the tensor given as ``out=``, resizing it if it has another shape: to the result's strides,
    or contiguous. It may then share no memory with ``reads``, and be no more than the same memory as one of ``inputs``.
    Of several outputs, ``name`` says which it is.

    Raises:
        RuntimeError: if dtype or device do not allow it.
    """
    if out._device is not result._device and out._device != result._device:
        raise RuntimeError(f"Expected out tensor to have device {result.device}, but got {out.device} instead")
    if op.flags.isdisjoint(EXACT) and not _of_asked_dtype(op, inputs):
        check_cast(result._dtype, out._dtype, TypeError if "TypeError" in op.flags else RuntimeError, op)
    elif out._dtype is not result._dtype and (_of_asked_dtype(op, inputs) or not (
            inputs and inputs[0].__class__ in TENSOR_TYPES and inputs[0]._dtype is out._dtype
            and out._dtype.to_real() is result._dtype)):  # what makes complex numbers real may write complex ones
        raise wrong_dtype(op, result._dtype, out._dtype, name)
    else:
        check_writable(out)
    if op.functional is not None and isinstance(registry.meta_rows.get(op.functional.name), Pointwise):
        check_writable(out, inputs)  # ATen's iterator looks at the memory before it resizes the output
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


def _of_asked_dtype(op: Operator, inputs: Any) -> bool:
    """Whether a result has the dtype that was given as an argument."""
    position = None if op.functional is None else op.functional.schema.positions.get("dtype")
    return position is not None and position < len(inputs) and inputs[position] is not None


def _take_strides(out: Tensor, result: Tensor) -> None:
    """Lay out a tensor of the result's shape as the result is, which may span more memory than its elements take."""
    needed = storage_size(result.shape, result._strides(), out._offset) * out._dtype.itemsize
    storage = out.untyped_storage()
    if storage.nbytes() < needed:
        storage.resize_(needed)
    out._set_layout(None, result.shape, result._strides(), out._offset)


def resize_output(out: Tensor, shape: Ints) -> Tensor:
    """Bring a tensor given as ``out=`` to a shape; a warning if that loses elements."""
    if out.shape != shape:
        if out.numel():
            warnings.warn(f"An output with one or more elements was resized since it had shape {list(out.shape)}, "
                          f"which does not match the required output shape {list(shape)}. This behavior is deprecated, "
                          "and in a future PyTorch release outputs will not be resized unless they have zero elements. "
                          "You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
                          "t.resize_(0).", stacklevel=6)
        keys = out._keys
        out._keys = keys & ~AUTOGRAD  # what requires grad may be resized so, where gradients are not recorded
        try:
            resize_(out, shape)
        finally:
            out._keys = (out._keys & ~AUTOGRAD) | (keys & AUTOGRAD)
    return out


def check_separate(target: Tensor, inputs: Any = ()) -> None:
    """Refuse to write into memory that the write itself would read, or write twice (ATen's ``assert_no_overlap``)."""
    check_writable(target)
    check_disjoint(target, tensors_of(inputs))


def repeats(target: Tensor, inputs: Any) -> None:
    """The policy on shared memory of an operator that may write the same element several times, the same each time."""


def deprecated_on(name: str, index: str = "mask") -> Callable[..., None]:
    """The same, of which a warning tells; what is read meanwhile lies elsewhere."""

    def policy(target: Tensor, inputs: Any) -> None:
        if target._keys & NONCONTIGUOUS and overlaps_itself(target.shape, target._strides()):
            warnings.warn(f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before "
                          "performing this operation. This also applies to advanced indexing e.g. "
                          f"tensor[{index}] = {'scalar' if index == 'mask' else 'tensor'}", stacklevel=5)
        if name == "index_fill_":
            check_disjoint(target, [inputs[1]])  # whose value is read before
        elif name == "masked_fill_":
            check_not_shifted(target, inputs[:1])

    return policy


def with_overlap(check: Callable[..., Any], policy: Callable[..., None]) -> Callable[..., None]:
    """A check of an operator that exists in place only, with its own ``policy(target, inputs)`` on shared memory."""

    def row(self: Any, *args: Any) -> None:
        check(self, *args)

    row.policy = policy  # type: ignore[attr-defined]
    row.__wrapped__ = check  # type: ignore[attr-defined]
    return row


def writing_kernel(check: Callable[..., None], write: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """The kernel of an operator in place only: its meta row checks, its row writes into the first array, or list."""
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
    """The kernel of a form, from that of the functional operator, unless it has rows of its own."""
    if op.functional is None or op.name in registry.meta_rows:
        return None
    return _inplace(op, backend) if op.is_inplace else _out(op, backend)

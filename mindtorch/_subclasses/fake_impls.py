"""Operators on fake tensors whose results meta kernels do not know: they depend on data, or on the device.

A row is ``function(mode, func, args)`` with canonical arguments; it returns ``NotImplemented`` for calls that are like
any other.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._base.symbolic import SymInt
from .._dtype import BOOL, INTEGER, bool_, int64, uint8
from ..fx.experimental.symbolic_shapes import _constrain_range_for_size
from .fake_errors import DataDependentOutputException, DynamicOutputShapeException

Row = Callable[[Any, Any, tuple[Any, ...]], Any]


def number(mode: Any, func: Any, args: tuple[Any, ...]) -> Any:
    """Return the number of a tensor with one element (``item``): its constant, or a symbol for data.

    Raises:
        DataDependentOutputException: if there is no ``ShapeEnv`` that makes symbols for data.
    """
    fake = args[0]
    if fake.constant is not None:
        return fake.constant.item()
    env = mode.shape_env
    if env is None or not (env.allow_scalar_outputs or mode.allow_scalar_outputs):
        raise DataDependentOutputException(func)
    if fake.item_memo is None or fake.item_memo[0] != fake._version:
        category = fake._dtype.category
        made = (env.create_unbacked_symbool() if category == BOOL else env.create_unbacked_symint()
                if category == INTEGER else env.create_unbacked_symfloat())
        if fake.real_tensor is not None:
            value = fake.real_tensor.item()
            [symbol] = made.node.expr.free_symbols
            env.set_unbacked_var_to_val(symbol, value if category > INTEGER else int(value))
        fake.item_memo = fake._version, made
    return fake.item_memo[1]


def new_size(mode: Any, func: Any, most: Any) -> SymInt:
    """Return a symbol for a size that data decides.

    Raises:
        DynamicOutputShapeException: if there is no ``ShapeEnv`` that makes such symbols.
    """
    env = mode.shape_env
    if env is None or not env.allow_dynamic_output_shape_ops:
        raise DynamicOutputShapeException(func)
    size = env.create_unbacked_symint()
    _constrain_range_for_size(size, max=most if isinstance(most, int) and most > 2 else None)
    return size


def nonzero(mode: Any, func: Any, args: tuple[Any, ...]) -> Any:
    """Return indices, as many as a symbol says."""
    fake = args[0]
    if fake.nonzero_memo is None or fake.nonzero_memo[0] != fake._version:
        fake.nonzero_memo = fake._version, new_size(mode, func, fake.numel())
    count = fake.nonzero_memo[1]
    return mode.empty((count, fake.dim()), (1, count), int64, fake._device)


def masked_select(mode: Any, func: Any, args: tuple[Any, ...]) -> Any:
    """Return elements, as many as a symbol says."""
    fake = args[0]
    return mode.empty((new_size(mode, func, fake.numel()),), (1,), fake._dtype, fake._device)


def unique(mode: Any, func: Any, args: tuple[Any, ...]) -> Any:
    """Return the values of ``_unique2``, as many as a symbol says, and the positions and counts that are asked for."""
    fake, inverse, counts = args[0], *(bool(flag) for flag in (*args[2:4], False, False)[:2])
    if fake.unique_memo is None or fake.unique_memo[0] != fake._version:
        fake.unique_memo = fake._version, new_size(mode, func, fake.numel())
    count = fake.unique_memo[1]
    shapes = ((count,), fake._dtype), (tuple(fake.shape) if inverse else (0,), int64), ((count,) if counts else (0,),
                                                                                      int64)
    return tuple([mode.empty(shape, None, dtype, fake._device) for shape, dtype in shapes])


def repeat_interleave(mode: Any, func: Any, args: tuple[Any, ...]) -> Any:
    """Return positions, as many as ``output_size`` or a symbol says."""
    repeats, size = args[0], args[1] if len(args) > 1 else None
    return mode.empty((new_size(mode, func, None) if size is None else size,), (1,), repeats._dtype, repeats._device)


def index(mode: Any, func: Any, args: tuple[Any, ...]) -> Any:
    """Replace masks by the indices that they stand for, as many as a symbol says."""
    self, indices, *rest = args
    if not any(i is not None and i._dtype in (bool_, uint8) for i in indices):
        return NotImplemented
    found: list[Any] = []
    with mode:
        for i in indices:
            if i is None or i._dtype not in (bool_, uint8):
                found.append(i)
            else:
                found += i.nonzero().unbind(1)
        return func._operator.call(self, found, *rest)


def no_number(mode: Any, func: Any, args: tuple[Any, ...]) -> Any:
    """Raise the error of an operator that returns a Python number of data."""
    raise DataDependentOutputException(func)


#: By operator.
SPECIAL: dict[str, Row] = {
    "_local_scalar_dense": number, "item": number, "nonzero": nonzero, "masked_select": masked_select,
    "_unique2": unique, "repeat_interleave.Tensor": repeat_interleave, "index.Tensor": index,
    "equal": no_number, "allclose": no_number,
}
#: Operators whose result is on the device of their first argument, wherever the others are.
ON_THE_FIRSTS = frozenset({"copy_", "copy", "index.Tensor", "index_put", "index_put_", "_index_put_impl_",
                           "slice_scatter", "resize_as_", "set_.source_Tensor", "_to_copy", "to.other"})
#: Operators whose result is random, or uninitialised: their values are known of no constants.
UNKNOWN = frozenset({"empty.memory_format", "empty_strided", "empty_like", "new_empty", "new_empty_strided"})


def is_known(func: Any, canonical: tuple[Any, ...]) -> bool:
    """Return True if the same arguments give the same values."""
    op = func._operator
    return op.family != "random" and op.name not in UNKNOWN and not any(
        hasattr(arg, "manual_seed") for arg in canonical)


def device_of(func: Any, tensors: list[Any]) -> Any:
    """Return the device of a result: the tensors' own; those without dimensions on the CPU follow the others.

    Raises:
        RuntimeError: if the devices differ.
    """
    if func._operator.name in ON_THE_FIRSTS:
        return tensors[0]._device
    found, is_scalar = None, True
    for tensor in tensors:
        device = tensor._device
        scalar = device.type == "cpu" and not tensor.dim()
        if found is None or (is_scalar and not scalar and device != found):
            found, is_scalar = device, scalar
        elif device == found:
            is_scalar = is_scalar and scalar
        elif not scalar:
            raise RuntimeError(f"Unhandled FakeTensor Device Propagation for {func}, found two different devices "
                               f"{found}, {device}")
    return found

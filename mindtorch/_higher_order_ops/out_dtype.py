"""``out_dtype``: a product of integers whose result has a wider dtype."""
from __future__ import annotations

from functools import reduce
from typing import Any

from .._dispatch.overloads import OpOverload, ops
from .._dtype import DType, promote_types
from .._tensor import Tensor
from ._operator import HigherOrderOperator

#: The operators that it takes.
ALLOWED = ("convolution.default", "linear.default", "mm.default", "conv2d.default", "conv1d.default", "bmm.default",
           "mul.Tensor", "mul.Scalar")


def _eager(op: OpOverload, dtype: DType, *args: Any) -> Tensor:
    wide = reduce(promote_types, [arg.dtype for arg in args if isinstance(arg, Tensor)], dtype)
    return op(*[arg.to(wide) if isinstance(arg, Tensor) else arg for arg in args]).to(dtype)


_out_dtype = HigherOrderOperator("out_dtype", _eager, _eager, lambda *_: {}, {}, -1)


def out_dtype(op: Any, output_dtype: DType, *args: Any) -> Tensor:
    """Return ``op(*args)`` computed and returned in ``output_dtype``, such as int32 for a product of int8 matrices
    (``torch._higher_order_ops.out_dtype``).

    Raises:
        ValueError: if ``op`` is no overload of an operator, or none that multiplies; if ``output_dtype`` is no dtype.
    """
    if not isinstance(op, OpOverload):
        raise ValueError("out_dtype's first argument must be an OpOverload")
    if op not in [getattr(getattr(ops.aten, name), overload) for name, overload in (
            allowed.split(".") for allowed in ALLOWED)]:
        raise ValueError(f"out_dtype only allows the following operators: {', '.join(ALLOWED)}.")
    if not isinstance(output_dtype, DType):
        raise ValueError("out_dtype's second argument must be a dtype")
    return _out_dtype(op, output_dtype, *args)

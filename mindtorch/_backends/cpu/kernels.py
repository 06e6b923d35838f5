"""From functions of arrays to kernels on CPU tensors.

The general kernel calls the meta kernel first, so that every check and every stride is decided in one place.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._base.layout import Layout, Spec, intern_layout
from ..._base.quiet import quietly
from ..._dispatch.dispatcher import TENSOR_TYPES, registry
from ..._dispatch.keys import CPU
from ..._dispatch.registry import Kernel, Operator
from ..._dispatch.return_types import packer
from ..._tensor import Tensor, new
from ..common.inplace_and_out import writing_kernel
from ..common.pointwise import Pointwise
from .fast_paths import with_fast_path
from .ops import CPU_KERNELS
from .plans import Plans, key_of, remembering
from .pointwise import pointwise_fast_path, pointwise_kernel, with_zero_strides
from .rows import Prepared, Rows, array_of, fit, on_arrays, out_of_memory, refuse_what_cannot_be, shares_memory

ndarray = np.ndarray
#: Operators whose meta kernels depend on more than sizes: on values, the default dtype, or whether to warn.
OF_MORE = {"index.Tensor", "index_put_", "scatter_.reduce", "where.self", "logsumexp", "searchsorted.Tensor",
           "searchsorted.Scalar", "bucketize.Tensor", "bucketize.Scalar"}


def kernel_of(op: Operator) -> Kernel | None:
    """Return the CPU kernel of an operator that has a row, else None."""
    row = CPU_KERNELS.get(op.name)
    if row is None:
        return None
    meta = registry.meta_rows.get(op.name)
    if isinstance(meta, Pointwise):
        general, fast = with_fast_path(op, pointwise_kernel(op, row, meta))
        if fast is None and (fast := pointwise_fast_path(op, row, meta, general)) is not None:
            general = with_zero_strides(general, fast)
        return Kernel(general, row, fast)
    if meta is None:
        raise NotImplementedError(f"aten::{op.name} has a CPU row but no meta kernel")
    keeps = op.family not in ("creation", "random") and op.name not in OF_MORE
    if op.is_inplace:
        general = writing_kernel(remembering(meta) if keeps else meta, on_arrays(row))
    else:
        general = general_kernel(op, row, meta, keeps)
    general, fast = with_fast_path(op, general)
    return Kernel(general, row, fast)


class Plan:
    """A plan of a call: which arguments are tensors or lists of tensors, the ``specs`` of the outputs, and the function
    that computes them from arrays.

    ``layout`` is set once a single output was seen to be new and contiguous; its array is then used directly.
    """

    __slots__ = ("layout", "lists", "run", "specs", "tensors")

    def __init__(self, row: Rows, specs: Any, args: tuple[Any, ...]) -> None:
        self.specs = specs
        self.tensors = [i for i, arg in enumerate(args) if arg.__class__ in TENSOR_TYPES]
        self.lists = [i for i, arg in enumerate(args) if arg.__class__ in (list, tuple) and any(
            item.__class__ in TENSOR_TYPES for item in arg)]
        self.run = row.prepare(*self.arrays(args)) if isinstance(row, Prepared) else row
        self.layout: Layout | None = None

    def arrays(self, args: tuple[Any, ...]) -> list[Any]:
        """Return the arguments of a call as the row takes them."""
        arrays = [*args]
        for i in self.tensors:
            arrays[i] = args[i]._array
        for i in self.lists:
            arrays[i] = array_of(args[i])
        return arrays

    def learn(self, result: Any, inputs: list[Any]) -> None:
        """Set ``layout`` if a result matches its specification and owns its memory."""
        spec = self.specs
        if (isinstance(spec, Spec) and spec.stride is None and spec.shape is not None
                and result.__class__ is ndarray and result.base is None
                and result.dtype is spec.dtype.np and result.shape == spec.shape and result.flags.c_contiguous
                and not shares_memory(result, inputs)):
            self.layout = intern_layout(spec.shape, None, spec.dtype)


#: Types of settings that a meta kernel treats alike if they are equal: no number that is promoted with a tensor.
ALIKE = {"int", "bool", "str", "ScalarType", "MemoryFormat", "float"}


def leading_tensors(op: Operator) -> int:
    """Return how many leading parameters are tensors, if the other arguments can be a cache key; else 0."""
    parameters = op.schema.parameters
    count = next((i for i, p in enumerate(parameters) if p.base != "Tensor" or p.is_list), len(parameters))
    fits = "wrapped numbers" not in op.flags and all(p.base in ALIKE for p in parameters[count:])
    return count if fits else 0


def general_kernel(op: Operator, row: Rows, meta: Callable[..., Any], keeps: bool) -> Callable[..., Any]:
    """Return a kernel that checks and describes by the meta kernel, then computes by the row.

    With ``keeps``, later calls with the same cache key reuse the plan without a check. Refused calls have no plan.
    """
    plans, packed, leading = Plans(), packer(op), leading_tensors(op) if keeps else 0

    def kernel(*args: Any) -> Any:
        key: Any = None
        if leading == 1:
            key = args[0]._layout or args[0]._layout_of_plans(), args[1:]
        elif leading:
            key = *[t if t is None else t._layout or t._layout_of_plans() for t in args[:leading]], args[leading:]
        elif keeps:
            key = key_of(args)
        try:
            plan = plans.get(key)
        except TypeError:  # a list among the settings is not hashable
            key = plan = None
        if plan is None:
            plan = plans.keep(key, Plan(row, meta(*args), args))
        arrays = plan.arrays(args)
        try:
            results = quietly(plan.run, *arrays)
        except MemoryError as error:
            raise out_of_memory(error) from None
        except (ValueError, IndexError):  # NumPy's errors for sizes that no memory can hold
            refuse_what_cannot_be(plan.specs)
            raise
        layout, specs = plan.layout, plan.specs
        if (layout is not None and results.__class__ is ndarray and results.base is None
                and all([results is not array for array in arrays])):  # noqa: C419 (a generator is slower)
            out = new(Tensor)
            out._array, out._dtype, out._keys, out._layout = results, layout.dtype, CPU, layout
            return out
        if specs.__class__ is Spec:
            plan.learn(results, arrays)
            return fit(op, results, specs, arrays)
        # None is an output that was not requested; a number is already known
        return packed([fit(op, result, spec, arrays) if spec.__class__ is Spec else spec
                       for result, spec in zip(results, specs, strict=True)])

    return kernel

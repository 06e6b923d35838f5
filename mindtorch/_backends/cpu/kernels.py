"""From functions of arrays to kernels on CPU tensors.

The general kernel asks the meta kernel first, so that every check and every stride is decided in one place.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._base.layout import Layout, Spec, intern_layout
from ..._dispatch.dispatcher import registry
from ..._dispatch.keys import CPU
from ..._dispatch.registry import Kernel, Operator
from ..._dispatch.return_types import packer
from ..._tensor import Tensor, new
from ..common.inplace_and_out import writing_kernel
from ..common.pointwise import Pointwise
from ..common.quiet import quietly
from .fast_paths import with_fast_path
from .ops import CPU_KERNELS
from .plans import Plans, key_of, remembering
from .pointwise import pointwise_fast_path, pointwise_kernel, with_zero_strides
from .rows import Rows, array_of, fit, on_arrays, out_of_memory, refuse_what_cannot_be, shares_memory

ndarray = np.ndarray
#: Operators whose meta kernels look at more than a call's sizes: at values, at the default dtype, or at whether to warn
#: of what they are given.
OF_MORE = {"index.Tensor", "index_put_", "scatter_.reduce", "where.self", "logsumexp", "searchsorted.Tensor",
           "searchsorted.Scalar", "bucketize.Tensor", "bucketize.Scalar"}


def kernel_of(op: Operator) -> Kernel | None:
    """The CPU kernel of an operator that has a row."""
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
    """What is known of a call: the ``specs`` of its outputs; and the ``layout`` of a single output whose array can be
    taken as it is, since the row was seen to return a new contiguous one.
    """

    __slots__ = ("layout", "specs")

    def __init__(self, specs: Any) -> None:
        self.specs = specs
        self.layout: Layout | None = None

    def learn(self, result: Any, inputs: list[Any]) -> None:
        """Note whether a row's result is what was described, in memory of its own."""
        spec = self.specs
        if (isinstance(spec, Spec) and spec.stride is None and spec.shape is not None
                and result.__class__ is ndarray and result.base is None
                and result.dtype is spec.dtype.np and result.shape == spec.shape and result.flags.c_contiguous
                and not shares_memory(result, inputs)):
            self.layout = intern_layout(spec.shape, None, spec.dtype)


#: Types of settings that a meta kernel takes alike if they are equal: no number that is promoted with a tensor.
ALIKE = {"int", "bool", "str", "ScalarType", "MemoryFormat", "float"}


def general_kernel(op: Operator, row: Rows, meta: Callable[..., Any], keeps: bool) -> Callable[..., Any]:
    """Check and describe by the meta kernel, compute by the row, return what was described. ``keeps`` says that a plan
    serves the next call like this one, which is neither checked nor described again. What is refused has no plan.
    """
    plans, packed = Plans(), packer(op)

    def kernel(*args: Any) -> Any:
        key = key_of(args) if keeps else None
        plan = plans.get(key) or plans.keep(key, Plan(meta(*args)))
        arrays = [array_of(arg) for arg in args]
        return taken(plan, arrays) if plan.layout is not None else finish(plan, arrays)

    def of_one(self: Any, *settings: Any) -> Any:
        """The kernel for one tensor and settings, which are a cache key as they are."""
        key = self._layout or self._layout_of_plans(), settings
        try:
            plan = plans.get(key)
        except TypeError:  # a list among the settings
            return kernel(self, *settings)
        if plan is None:
            plan = plans.keep(key, Plan(meta(self, *settings)))
        arrays = self._array, *settings
        return taken(plan, arrays) if plan.layout is not None else finish(plan, [*arrays])

    def taken(plan: Plan, arrays: Sequence[Any]) -> Any:
        """Compute what was new and contiguous before, and take it as it is if it is again."""
        try:
            result = quietly(row, *arrays)
        except MemoryError as error:
            raise out_of_memory(error) from None
        layout: Any = plan.layout
        if result.base is not None or result is arrays[0]:  # which depends on values, if at all
            return fit(op, result, plan.specs, [*arrays])
        out = new(Tensor)
        out._array, out._dtype, out._keys, out._layout = result, layout.dtype, CPU, layout
        return out

    def finish(plan: Plan, arrays: list[Any]) -> Any:
        specs = plan.specs
        try:
            results = quietly(row, *arrays)
        except MemoryError as error:
            raise out_of_memory(error) from None
        except (ValueError, IndexError):  # with which NumPy, too, refuses what no memory can hold
            refuse_what_cannot_be(specs)
            raise
        if specs.__class__ is Spec:
            plan.learn(results, arrays)
            return fit(op, results, specs, arrays)
        # None: an output that is not asked for; a number is known as it is
        return packed([fit(op, result, spec, arrays) if spec.__class__ is Spec else spec
                       for result, spec in zip(results, specs, strict=True)])

    first, *others = op.schema.parameters
    alone = first.base == "Tensor" and not first.is_list and not first.optional and all(
        parameter.base in ALIKE for parameter in others)
    return of_one if keeps and alone else kernel

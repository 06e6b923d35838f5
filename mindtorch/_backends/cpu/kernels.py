"""From functions of arrays to kernels on CPU tensors.

The general kernel asks the meta kernel first, so that every check and every stride is decided in one place.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._dispatch.dispatcher import registry
from ..._dispatch.registry import Kernel, Operator
from ..._dispatch.return_types import packer
from ..._layout import Spec
from ..common.inplace_and_out import writing_kernel
from ..common.pointwise import Pointwise
from ..common.quiet import quietly
from .fast_paths import with_fast_path
from .kept import DESCRIPTIONS, Kept, remembering, seen
from .ops import CPU_KERNELS
from .pointwise import pointwise_fast_path, pointwise_kernel, with_zero_strides
from .rows import Rows, fit, on_arrays, out_of_memory, refuse_what_cannot_be

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


def general_kernel(op: Operator, row: Rows, meta: Callable[..., Any], keeps: bool) -> Callable[..., Any]:
    """Check and describe by the meta kernel, compute by the row, return what was described. ``keeps`` says that a call
    like one before needs neither be checked nor described again. What is refused is not kept.
    """
    kept, packed = Kept(DESCRIPTIONS), packer(op)

    def kernel(*args: Any) -> Any:
        key, arrays = seen(args)
        specs = kept.get(key)
        if specs is None:
            specs = kept.keep(key if keeps else None, meta(*args))
        try:
            results = quietly(row, *arrays)
        except MemoryError as error:
            raise out_of_memory(error) from None
        except (ValueError, IndexError):  # with which NumPy, too, refuses what no memory can hold
            refuse_what_cannot_be(specs)
            raise
        if specs.__class__ is Spec:
            return fit(op, results, specs, arrays)
        # None: an output that is not asked for; a number is known as it is
        return packed([fit(op, result, spec, arrays) if spec.__class__ is Spec else spec
                       for result, spec in zip(results, specs, strict=True)])

    return kernel

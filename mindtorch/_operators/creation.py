"""Factories: tensors of a size, of numbers in a row, like another tensor."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._backends.common.shapes import length
from .._base.errors import C_NAMES, NAMES, check, check_number, check_takes
from .._base.layout import Ints, Spec, ordered_strides
from .._base.symbolic import promised
from .._device import META
from .._dispatch.aten import arange_start_step, empty_memory_format as empty, empty_strided, eye_m, full, ones, zeros
from .._dispatch.schemas import registry
from .._dtype import BOOL, FLOATING, INTEGER, DType, dtype_of_number, get_default_dtype, int64
from .._tensor import Tensor
from .._transforms.batching.rules import as_it_is, with_size, with_strides
from . import composites, operator, schemas


def fresh(out: Any) -> Any:
    """Return a new tensor whose version does not count the in-place writes that filled it."""
    return out._forget_writes()


schemas("""
operator only, explicit:
    arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # The numbers from `start` up to, but without, `end` in steps of `step`.
    arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
    eye(int n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # A matrix of `n` rows and `m` columns, as many unless given, with ones on the main diagonal and zeros elsewhere.
    lift(Tensor self) -> Tensor  # `self`, a tensor that was made outside of the transformation that is computed.
    lift_fresh(Tensor(a) self) -> Tensor(a)  # `self`, a tensor that was just made of data from outside the library.
    empty_permuted(int[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # A tensor of shape `size` whose dimensions lie in memory in the order `physical_layout`, and whose elements are whatever its memory holds.
operator only:
    arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
    eye.m(int n, int m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
""")  # noqa: E501


def meta_arange(start: Any, end: Any, step: Any = 1, dtype: DType | None = None, *options: Any) -> Spec:
    """int64 if all three numbers are integers."""
    if dtype is None:
        dtype = get_default_dtype() if any(isinstance(v, float) for v in (start, end, step)) else int64
    check_takes(dtype.category in (INTEGER, FLOATING) or META in options, "arange_cpu", dtype)
    if dtype is int64 and not isinstance(step, int):
        check(int(step) != 0, "step must be nonzero", ValueError, kind="range")
    check(step != 0, "step must be nonzero", kind="range")
    check(all(math.isfinite(v) for v in (start, end) if isinstance(v, float)),
          lambda: f"unsupported range: {start} -> {end}")
    check(promised((end - start) * step >= 0), "upper bound and lower bound inconsistent with step sign", kind="range")
    count = length(start, end, step, dtype)
    check(promised(count < 2**63), "invalid size, possible overflow?")
    return Spec((count,), dtype)


def meta_eye(n: int, m: int, dtype: DType | None = None, *options: Any) -> Spec:
    check(n >= 0, lambda: f"n must be greater or equal to 0, got {n}")
    check(m >= 0, lambda: f"m must be greater or equal to 0, got {m}")
    return Spec((n, m), dtype or get_default_dtype())


def empty_permuted(size: Ints, physical_layout: Ints, *options: Any) -> Tensor:
    check(sorted(physical_layout) == list(range(len(size))),
          lambda: "Number of dimensions in size does not match the length of the physical_layout; i.e. "
                  f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(physical_layout)}, or "
                  f"it is no permutation: {tuple(physical_layout)}")
    return empty_strided(size, ordered_strides(size, physical_layout), *options)


composites(empty_permuted)
operator("arange", composite=lambda end, *options: arange_start_step(0, end, 1, *options))
operator("arange.start", composite=lambda start, end, *options: arange_start_step(start, end, 1, *options))
operator("arange.start_step", meta_arange)
operator("eye", composite=lambda n, *options: eye_m(n, n, *options))
operator("eye.m", meta_eye)
for _name in ("lift", "lift_fresh"):
    operator(_name, composite=lambda self: self)

schemas("""
operator only, explicit:
    new_empty(Tensor self, int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # A tensor of shape `size`, with the dtype and device of `self`, whose elements are whatever its memory holds.
    new_empty_strided(Tensor self, int[] size, int[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # A tensor of shape `size` and strides `stride`, with the dtype and device of `self`, whose elements are whatever its memory holds.
    new_full(Tensor self, int[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # A tensor of shape `size`, with the dtype and device of `self`, in which every element is `fill_value`.
    new_zeros(Tensor self, int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # A tensor of zeros of shape `size`, with the dtype and device of `self`.
    new_ones(Tensor self, int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # A tensor of ones of shape `size`, with the dtype and device of `self`.
operator only:
    empty.memory_format(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor  # A tensor of shape `size` whose elements are whatever its memory holds.
    empty_strided(int[] size, int[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # A tensor of shape `size` and strides `stride` whose elements are whatever its memory holds.
    full(int[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # A tensor of shape `size` in which every element is `fill_value`.
    zeros(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # A tensor of shape `size` in which every element is 0.
    ones(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # A tensor of shape `size` in which every element is 1.
    scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # A tensor without dimensions whose element is `s`.
    linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # `steps` numbers in equal distances from `start` to `end`, both included.
    linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
    linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
    linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
    logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10.0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # `steps` powers of `base` whose exponents lie in equal distances from `start` to `end`, both included.
    logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10.0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
    logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10.0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
    logspace(Scalar start, Scalar end, int steps, float base=10.0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
    empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor  # A tensor with the shape, dtype and device of `self` whose elements are whatever its memory holds.
    full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor  # A tensor with the shape, dtype and device of `self` in which every element is `fill_value`.
    zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor  # A tensor of zeros with the shape, dtype and device of `self`.
""")  # noqa: E501


def spaced(name: str, start: Any, end: Any, steps: int, dtype: DType | None) -> Spec:
    """Check and describe a call of ``linspace`` or ``logspace``."""
    check(steps >= 0, "number of steps must be non-negative")
    inferred = dtype_of_number(0.0 + start + end)
    dtype = dtype or inferred
    check(dtype.is_complex or not inferred.is_complex,
          lambda: f"torch.{name}(): inferred dtype {C_NAMES[inferred.name]} can't be safely cast to passed dtype "
                  f"{NAMES[dtype.name]}")
    if steps > 1:  # else there is nothing to space
        check_takes(dtype.category != BOOL, "linspace_cpu", dtype)
        check_number(dtype, start)
        check_number(dtype, end)
    return Spec((steps,), dtype)


def meta_linspace(start: Any, end: Any, steps: int, dtype: DType | None = None, *options: Any) -> Spec:
    return spaced("linspace", start, end, steps, dtype)


def meta_logspace(start: Any, end: Any, steps: int, base: float = 10.0, dtype: DType | None = None, *options:
                  Any) -> Spec:
    return spaced("logspace", start, end, steps, dtype)


def spaced_between(packet: str) -> Callable[..., Tensor]:
    """Return ``linspace`` or ``logspace`` for bounds of which some are tensors without dimensions. Those of meta
    tensors are unknown, and so are the numbers between.
    """
    op = registry[packet]
    defaults = [parameter.default for parameter in op.schema.parameters[2:]]  # of all but the bounds
    device = op.schema.positions["device"] - 2

    def between(start: Any, end: Any, *rest: Any) -> Tensor:
        bounds = [bound for bound in (start, end) if isinstance(bound, Tensor)]
        if [bound for bound in bounds if bound.ndim]:
            given = [f"{name} with {bound.ndim} dimension(s)" for name, bound in (("start", start), ("end", end))
                     if isinstance(bound, Tensor)]
            check(False, f"{packet} only supports 0-dimensional start and end tensors, but got {' and '.join(given)}.")
        if [bound for bound in bounds if bound.is_meta]:
            rest = (*rest, *defaults[len(rest):])
            rest = (*rest[:device], META, *rest[device + 1:])
            start, end = (0j if isinstance(bound, Tensor) and bound.is_complex() else 0.0 for bound in (start, end))
        made: Tensor = op.call(start.item() if isinstance(start, Tensor) else start,
                               end.item() if isinstance(end, Tensor) else end, *rest)
        return made

    return between


def new_empty_strided(self: Tensor, size: Ints, stride: Ints, *options: Any) -> Tensor:
    """Uninitialised memory of a layout, of this tensor's dtype and on its device."""
    return empty_strided(size, stride, *options_of(self, *options))


def options_of(self: Tensor, dtype: DType | None = None, layout: Any = None, device: Any = None,
               pin_memory: bool | None = None) -> tuple[Any, ...]:
    """Return the options of a factory, with those of a tensor where none are given."""
    return dtype or self._dtype, layout, device or self._device, pin_memory


operator("new_empty", composite=lambda self, size, *options: empty(size, *options_of(self, *options)),
         batching=with_size, differentiable=False)
operator("new_empty_strided", composite=new_empty_strided, batching=with_strides, differentiable=False)
operator("new_full",
         composite=lambda self, size, fill_value, *options: full(size, fill_value, *options_of(self, *options)),
         batching=with_size, differentiable=False)
operator("new_zeros", composite=lambda self, size, *options: zeros(size, *options_of(self, *options)),
         batching=with_size, differentiable=False)
operator("new_ones", composite=lambda self, size, *options: ones(size, *options_of(self, *options)), batching=with_size,
         differentiable=False)
operator("linspace", meta_linspace)
operator("linspace.Tensor_Tensor linspace.Tensor_Scalar linspace.Scalar_Tensor",
         composite=spaced_between("linspace"), differentiable=False)
operator("logspace", meta_logspace)
operator("logspace.Tensor_Tensor logspace.Tensor_Scalar logspace.Scalar_Tensor",
         composite=spaced_between("logspace"), differentiable=False)
operator("empty_like full_like zeros_like", batching=as_it_is, differentiable=False)

schemas("""
operator only:
    ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor  # A tensor of ones with the shape, dtype and device of `self`.
""")  # noqa: E501

operator("ones_like", batching=as_it_is, differentiable=False)

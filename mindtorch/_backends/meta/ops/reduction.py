"""Meta kernels of reductions: which dimensions go, which dtype comes out, what cannot be reduced.

Outputs are contiguous whatever the input's strides are, as PyTorch's.
"""
from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from ...._base.about import about
from ...._base.errors import NAMES, check, check_takes
from ...._base.layout import Ints, Spec, remembered, wrap_dim, wrap_dims
from ...._dtype import COMPLEX, FLOATING, RARE, DType, bool_, get_default_dtype, int64, uint8, uint64
from ...common.matrices import check_floating, check_norm_dtype
from . import META_KERNELS

Rule = Callable[..., DType]  # from the input, and the dtype asked for, to the output's dtype


@remembered
def reduced_shape(shape: Ints, dims: Ints, keepdim: bool) -> Ints:
    """The shape that reducing these dimensions leaves."""
    if keepdim:
        return tuple(1 if d in dims else n for d, n in enumerate(shape))
    return tuple(n for d, n in enumerate(shape) if d not in dims)


def reduction(rule: Rule, no_identity: str = "") -> Callable[..., Spec]:
    """The meta kernel of ``op(self, dim, keepdim, dtype)``; ``no_identity`` names one without a result for nothing."""

    def meta(self: Any, dim: Any = None, keepdim: bool = False, dtype: DType | None = None) -> Spec:
        if no_identity:  # PyTorch then looks at the dimensions before it looks at the dtype
            check_elements(no_identity, self, dim)
            wrap_dims(dim, self.ndim)
        out = rule(self, dtype)
        return Spec(reduced_shape(self.shape, wrap_dims(dim, self.ndim), keepdim), out)

    return meta


def in_range_first(meta: Callable[..., Spec]) -> Callable[..., Spec]:
    """The same where PyTorch looks at the range of all dimensions before it looks for repeated ones."""

    def checked(self: Any, dim: Any = None, keepdim: bool = False) -> Spec:
        for d in (dim,) if isinstance(dim, int) else dim or ():
            wrap_dim(d, self.ndim)
        return meta(self, dim, keepdim)

    return checked


def whole(meta: Callable[..., Any]) -> Callable[..., Any]:
    """The same over all dimensions, for ``op(self, dtype)``."""
    return lambda self, dtype=None: meta(self, None, False, dtype)


def listed(meta: Callable[..., Any]) -> Callable[..., Any]:
    """The same for ``op(self, dim, keepdim)`` where an empty list of dimensions reduces none."""

    def none_for_empty(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        return Spec(tuple(self.shape), meta(self).dtype) if dim == () else meta(self, dim, keepdim)

    return none_for_empty


def check_elements(name: str, self: Any, dim: Any, error: type[Exception] = RuntimeError) -> None:
    """Refuse to reduce over nothing (ATen's ``zero_numel_check_dims``).

    Raises:
        error: if all of no elements are to be reduced.
        IndexError: if one of the dimensions has size 0.
    """
    if dim is None or dim == ():
        check(self.numel(),
              lambda: about(error(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify "
                                  "the reduction dim with the 'dim' argument."), "nothing to reduce", name=name))
        return
    for d in (dim,) if isinstance(dim, int) else dim:
        wrapped = wrap_dim(d, self.ndim)
        if self.ndim and not self.shape[wrapped]:
            raise about(IndexError(f"{name}(): Expected reduction dim {wrapped} to have non-zero size."),
                        "nothing to reduce", name=name)


def selection(name: str, rule: Rule) -> Callable[..., tuple[Spec, Spec]]:
    """The meta kernel of ``op(self, dim, keepdim)`` that picks one of each line: its value and its index."""

    def meta(self: Any, dim: int = -1, keepdim: bool = False) -> tuple[Spec, Spec]:
        check_elements(name, self, dim)
        shape = reduced_shape(self.shape, wrap_dims(dim, self.ndim), keepdim)
        return Spec(shape, rule(self)), Spec(shape, int64)

    return meta


# -- rules for dtypes ----------------------------------------------------------------------------------------

def summed(self: Any, wanted: DType | None = None) -> DType:
    """Integers add up to int64."""
    return wanted or (int64 if self._dtype.category < FLOATING else self._dtype)


def averaged(self: Any, wanted: DType | None = None) -> DType:
    """Floating point stays; for integers a dtype has to be asked for."""
    out = wanted or self._dtype
    check(out.category >= FLOATING,
          lambda: f"mean(): could not infer output dtype. {'Optional' if wanted else 'Input'} dtype must be either a "
                  f"floating point or complex dtype. Got: {NAMES[out.name]}", kind="mean of integers")
    return out


def real_dtype_of(name: str) -> Rule:
    """A variance is real."""

    def rule(self: Any, wanted: DType | None = None) -> DType:
        check(self._dtype.category >= FLOATING, lambda: f"{name} only support floating point and complex dtypes")
        return self._dtype.to_real()

    return rule


def truth(self: Any, wanted: DType | None = None) -> DType:
    return uint8 if self._dtype is uint8 else bool_


def floated(self: Any, wanted: DType | None = None) -> DType:
    return self._dtype if self._dtype.category >= FLOATING else get_default_dtype()


def counted(self: Any, wanted: DType | None = None) -> DType:
    return int64


def only(kernel: str, categories: Any) -> Rule:
    """The dtype stays; ``kernel`` is named if its category is none of these and there is anything to do."""

    def rule(self: Any, wanted: DType | None = None) -> DType:
        check_takes(self._dtype.category in categories or not self.numel(), kernel, self._dtype)
        return self._dtype

    return rule


def real(name: str) -> Rule:
    def rule(self: Any, wanted: DType | None = None) -> DType:
        check(self._dtype.category < COMPLEX, lambda: f"{name}(): does not support complex input")
        return self._dtype

    return rule


# -- kernels -------------------------------------------------------------------------------------------------

def moments(name: str) -> Callable[..., tuple[Spec, Spec]]:
    """``var_mean`` and ``std_mean``."""
    spread_of = reduction(real_dtype_of(name))

    def meta(self: Any, dim: Any = None, correction: Any = None, keepdim: bool = False) -> tuple[Spec, Spec]:
        first = spread_of(self, dim, keepdim)
        return first, Spec(first.shape, self._dtype)

    return meta


def deviation(meta: Callable[..., Spec]) -> Callable[..., Spec]:
    """``var`` and ``std`` with their order of arguments."""
    return lambda self, dim=None, correction=None, keepdim=False: meta(self, dim, keepdim)


def argument(name: str) -> Callable[..., Spec]:
    """``argmax`` and ``argmin``."""

    def meta(self: Any, dim: int | None = None, keepdim: bool = False) -> Spec:
        kind = {"bool": "bool", "complex64": "complex", "complex128": "complex"}.get(self._dtype.name)
        check(kind is None, lambda: f"{name}(): does not support {kind} input")
        check_elements(name, self, dim, IndexError)
        return Spec(reduced_shape(self.shape, wrap_dims(dim, self.ndim), keepdim), int64)

    return meta


def nansum(self: Any, dim: Any = None, keepdim: bool = False, dtype: DType | None = None) -> Spec:
    spec = total(self, dim, keepdim, dtype)
    check(self._dtype.category < COMPLEX, "nansum on CPU does not support complex inputs")
    check_takes(spec.dtype.category < COMPLEX or self._dtype.category < FLOATING, "nansum_cpu", spec.dtype)
    return spec


def aminmax(self: Any, dim: int | None = None, keepdim: bool = False) -> tuple[Spec, Spec]:
    check_elements("aminmax", self, dim)
    check(dim is None or self.ndim or self._dtype.category < COMPLEX,
          lambda: f"aminmax not implemented for {NAMES[self._dtype.name]}")
    dtype = only("aminmax_cpu", range(COMPLEX))(self)
    spec = Spec(reduced_shape(self.shape, wrap_dims(dim, self.ndim), keepdim), dtype)
    return spec, spec


def hash_tensor(self: Any, dim: Any = (), keepdim: bool = False, mode: int = 0) -> Spec:
    check(mode == 0, lambda: f"Unknown hash_tensor mode: {mode}")
    check_elements("hash_tensor", self, dim)
    shape = reduced_shape(self.shape, wrap_dims(dim, self.ndim), keepdim)
    check_takes(self._dtype.category < COMPLEX and self._dtype.name not in RARE, "xor_sum_cpu", self._dtype)
    return Spec(shape, uint64)


def check_norm_of_nothing(self: Any, ord: Any, dim: Any) -> None:
    """Refuse a norm that is an extremum, along a dimension without elements."""
    empty = next((d for d in wrap_dims(dim, self.ndim) if self.ndim and not self.shape[d]), None)
    if empty is not None and (ord < 0 or ord == inf):
        place = (f"the dimension {empty}because this dimension is empty and" if dim  # the missing space is PyTorch's
                 else "an empty tensor because")
        raise RuntimeError(f"linalg.vector_norm cannot compute the {ord:g} norm on {place} the operation does not "
                           "have an identity")


def linalg_vector_norm(self: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False,
                       dtype: DType | None = None) -> Spec:
    have, where = self._dtype, "linalg.vector_norm"
    check_floating(where, self)
    check(not isinstance(ord, complex), lambda: f"{where}: Expected a non-complex scalar as the order of norm.")
    check_norm_dtype(where, have, dtype)
    check_norm_of_nothing(self, ord, dim)
    return Spec(reduced_shape(self.shape, wrap_dims(dim, self.ndim), keepdim), (dtype or have).to_real())


total, averages, truths = reduction(summed), reduction(averaged), reduction(truth)
variance = deviation(reduction(real_dtype_of("std and var")))
META_KERNELS.add(nansum, aminmax, hash_tensor, linalg_vector_norm)
META_KERNELS.update({
    "sum": whole(total),
    "sum.dim_IntList": total,
    "mean": whole(averages),
    "mean.dim": averages,
    "prod": whole(total),
    "prod.dim_int": total,
    "var.correction": variance,
    "std.correction": variance,
    "var_mean.correction": moments("var_mean"),
    "std_mean.correction": moments("std_mean"),
    "all": truths,
    "all.dim": truths,
    "all.dims": in_range_first(listed(truths)),
    "any": truths,
    "any.dim": truths,
    "any.dims": in_range_first(listed(truths)),
    "count_nonzero.dim_IntList": in_range_first(reduction(counted)),
    "amax": reduction(only("max_values_cpu", range(COMPLEX)), "amax"),
    "amin": reduction(only("min_values_cpu", range(COMPLEX)), "amin"),
    "max": reduction(only("max_all", range(COMPLEX)), "max"),
    "min": reduction(only("min_all", range(COMPLEX)), "min"),
    "max.dim": selection("max", real("max")),
    "min.dim": selection("min", real("min")),
    "argmax": argument("argmax"),
    "argmin": argument("argmin"),
    "logsumexp": in_range_first(reduction(floated)),
})

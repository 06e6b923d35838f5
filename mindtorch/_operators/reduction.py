"""Reductions: sums, means, extrema, norms over some or all dimensions."""
from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from math import inf, nan, prod
from typing import Any

from .._autograd.utils import repeated
from .._backends.common.inplace_and_out import write_out
from .._backends.common.matrices import check_floating, check_norm_dtype
from .._base.about import about
from .._base.errors import NAMES, check, check_takes
from .._base.layout import Ints, Spec, remembered, wrap_dim, wrap_dims
from .._dispatch.aten import (
    cat, complex as complex_of, constant_pad_nd, div_Tensor, eq_Tensor, isnan, logical_and, logical_or_,
    masked_fill_Tensor, mul_Tensor, new_zeros, ones, ones_like, searchsorted, sum as sum_of, sum_dim_IntList, unsqueeze,
    value_selecting_reduction_backward as selecting_backward, view, where_self as where, zeros_like,
)
from .._dispatch.dispatcher import has_values, is_seen
from .._dispatch.local import local
from .._dispatch.schemas import registry
from .._dtype import (
    BOOL, COMPLEX, FLOATING, INTEGER, RARE, DType, bool_, get_default_dtype, int32, int64, uint8, uint64,
)
from .._tensor import Tensor
from .._transforms.batching.rules import along_dimensions, flat, over_all
from . import composites, operator, schemas

Rule = Callable[..., DType]  # from the input, and the dtype asked for, to the output's dtype


@remembered
def reduced_shape(shape: Ints, dims: Ints, keepdim: bool) -> Ints:
    """Return the shape that reducing these dimensions leaves."""
    if keepdim:
        return tuple(1 if d in dims else n for d, n in enumerate(shape))
    return tuple(n for d, n in enumerate(shape) if d not in dims)


def reduction(rule: Rule, no_identity: str = "") -> Callable[..., Spec]:
    """Return the meta kernel of ``op(self, dim, keepdim, dtype)``; ``no_identity`` operators refuse no elements."""

    def meta(self: Tensor, dim: Any = None, keepdim: bool = False, dtype: DType | None = None) -> Spec:
        if no_identity:  # PyTorch then looks at the dimensions before it looks at the dtype
            check_elements(no_identity, self, dim)
            wrap_dims(dim, self.ndim)
        out = rule(self, dtype)
        return Spec(reduced_shape(self.shape, wrap_dims(dim, self.ndim), keepdim), out)

    return meta


def check_elements(name: str, self: Tensor, dim: Any, error: type[Exception] = RuntimeError) -> None:
    """Refuse to reduce nothing (ATen's ``zero_numel_check_dims``); IndexError for a dimension of size 0."""
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


def summed(self: Tensor, wanted: DType | None = None) -> DType:
    """Return the dtype of sums: integers add up to int64."""
    return wanted or (int64 if self._dtype.category < FLOATING else self._dtype)


def averaged(self: Tensor, wanted: DType | None = None) -> DType:
    """Floating point stays; for integers a dtype has to be asked for."""
    out = wanted or self._dtype
    check(out.category >= FLOATING,
          lambda: f"mean(): could not infer output dtype. {'Optional' if wanted else 'Input'} dtype must be either a "
                  f"floating point or complex dtype. Got: {NAMES[out.name]}", kind="mean of integers")
    return out


def truth(self: Tensor, wanted: DType | None = None) -> DType:
    return uint8 if self._dtype is uint8 else bool_


total, averages, truths = reduction(summed), reduction(averaged), reduction(truth)


def unbiased(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the overloads with ``unbiased`` of var, std and their like: corrections of 1 and 0."""
    call = registry[f"{name}.correction"].call

    def along(self: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False) -> Any:
        return call(self, dim, int(unbiased), keepdim)

    return lambda self, unbiased=True: along(self, None, unbiased), along


def restored(x: Any, shape: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Return a reduction's result with the reduced dimensions back, of size 1."""
    if keepdim or not shape or (dim is None and x.ndim == 0):
        return x
    for d in sorted(wrap_dims(dim, len(shape))):
        x = unsqueeze(x, d)
    return x


def sum_backward(grad: Tensor, shape: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Return the gradient of a sum: equal for all elements (ATen's ``sum_backward``)."""
    return repeated(restored(grad, shape, dim, keepdim), shape)


schemas("""
method:
    sum_to_size(Tensor self, int[] size) -> Tensor  # `self` summed over those dimensions that a tensor of shape `size` lacks, or has of size 1: the reverse of broadcasting it to the shape of `self`.
function:
    segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor  # The sum, mean, product, greatest or least element, as `reduce` says, of each of the segments of `data` along `axis` that follow each other with the `lengths`, or from each of the `offsets` to the next.
""")  # noqa: E501


def sum_to_size(self: Tensor, size: Ints) -> Tensor:
    """``torch.Tensor.sum_to_size``."""
    have, lead = tuple(self.shape), self.ndim - len(size)
    fits = lead >= 0 and all(n in (1, m) for n, m in zip(size, have[lead:], strict=True))
    check(fits, lambda: f"size {{{list(size)}}} is not expandable to size {{{list(have)}}}.")
    if not size:
        return self.sum()
    dims = (*range(lead), *(d for d in range(lead, self.ndim) if size[d - lead] == 1 != have[d]))
    result = self.sum(dims, True) if dims else self
    return result.view(size) if lead else result


#: What reduces a segment, as ``scatter_reduce`` calls it, and what it starts from where no number is given.
SEGMENT_REDUCTIONS = {"max": ("amax", -math.inf), "min": ("amin", math.inf), "sum": ("sum", 0), "mean": ("sum", 0),
                      "prod": ("prod", 1), "amax": ("amax", -math.inf), "amin": ("amin", math.inf)}


class Segments:
    """The segments of ``data`` along ``axis``: the segment of each place, and moves between the two."""

    def __init__(self, data: Tensor, offsets: Tensor, axis: int):
        self.axis, self.offsets = axis, offsets
        places = ones_like(offsets.narrow(axis, 0, 1)).expand((*offsets.shape[:-1], data.shape[axis])).cumsum(axis) - 1
        # The segment of each place, from 1; 0 and the last are for places outside of all segments.
        number = searchsorted(offsets.contiguous(), places, False, True)
        self.trailing = (1,) * (data.ndim - axis - 1)
        self.number = number.view((*number.shape, *self.trailing)).expand(data.shape)
        self.shape = (*offsets.shape[:-1], offsets.shape[axis] + 1, *data.shape[axis + 1:])

    def combine(self, data: Tensor, how: str, start: Any) -> Tensor:
        """Reduce each segment of ``data`` by an operation of ``scatter_reduce``, from a first value on."""
        result = data.new_full(self.shape, start).scatter_reduce(self.axis, self.number, data, how)
        return result.narrow_copy(self.axis, 1, self.shape[self.axis] - 2)

    def spread(self, of_segments: Tensor) -> Tensor:
        """Return for each place the value of its segment, 0 outside of all segments."""
        padding = (*(0, 0) * len(self.trailing), 1, 1)
        return constant_pad_nd(of_segments, padding, 0).gather(self.axis, self.number)

    def sizes(self) -> Tensor:
        """Return how many places each segment has."""
        counts = self.offsets.diff(dim=self.axis)
        return counts.view((*counts.shape, *self.trailing))


def _offsets(lengths: Tensor | None, offsets: Tensor | None, axis: int) -> Tensor:
    return offsets if offsets is not None else constant_pad_nd(lengths.cumsum(axis), (1, 0), 0)  # type: ignore[union-attr]


def segment_reduce(data: Any, reduce: str, lengths: Any = None, indices: Any = None, offsets: Any = None,
                   axis: int = 0, unsafe: bool = False, initial: Any = None) -> Any:
    """``torch.segment_reduce``: each position along the axis is scattered into the result of its segment."""
    axis = wrap_dim(axis, data.ndim)
    check(reduce in SEGMENT_REDUCTIONS, lambda: f"Unsupported reduction given! {reduce}")
    check(indices is None, "segment_reduce(): indices based reduction is not supported yet.")
    check(lengths is not None or offsets is not None, "segment_reduce(): Either lengths or offsets must be defined.")
    given, kind = (lengths, "lengths") if offsets is None else (offsets, "offsets")
    check(axis == given.ndim - 1, lambda: f"segment_reduce(): Expected axis to be the last dimension of "
          f"{kind} but got {axis}.")
    if offsets is None and not unsafe and has_values(lengths):
        check(bool(lengths.min() >= 0), "lengths contains negative value!")
        check(bool((lengths.sum(axis) == data.shape[axis]).all()),
              "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
              "!unsafe.")
    check_takes(given._dtype in (int32, int64), f"_segment_reduce_{kind}_cpu_kernel1", given._dtype)
    check_takes(data._dtype.category == FLOATING, "_segment_reduce_cpu", data._dtype)
    segments = Segments(data, _offsets(lengths, offsets, axis), axis)
    how, start = SEGMENT_REDUCTIONS[reduce]
    result = segments.combine(data, how, start if initial is None else initial)
    if reduce == "mean":
        sizes = segments.sizes()
        result = result / sizes.clamp_min(1)
        result = result if initial is not None else result.masked_fill(sizes == 0, math.nan)
    return result


def segment_reduce_grad(grad: Tensor, result: Tensor, data: Tensor, reduce: str, lengths: Tensor | None,
                        offsets: Tensor | None, axis: int, initial: Any) -> Tensor:
    """Return the gradient (ATen's ``_segment_reduce_backward``): equal extremes share theirs with each other and with
    NaN, and not with ``initial``; a factor that is 0 or NaN has the product of the others.
    """
    segments = Segments(data, _offsets(lengths, offsets, axis), axis)
    how = SEGMENT_REDUCTIONS[reduce][0]
    if how == "sum":
        return segments.spread(grad / segments.sizes().clamp_min(1) if reduce == "mean" else grad)
    if how == "prod":
        singular = data.isnan() | (data == 0)
        regular = segments.combine(data.masked_fill(singular, 1), "prod", 1 if initial is None else initial)
        is_nan, is_zero = data.isnan().to(data.dtype), (data == 0).to(data.dtype)
        nans = segments.spread(segments.combine(is_nan, "sum", 0)) - is_nan
        zeros_ = segments.spread(segments.combine(is_zero, "sum", 0)) - is_zero
        others = segments.spread(regular)
        others = where(zeros_ > 0, others * 0, others).masked_fill(nans > 0, math.nan)
        factor = where(singular, others, segments.spread(result) / data.masked_fill(singular, 1))
        return segments.spread(grad) * factor
    chosen = data.isnan() | (data == segments.spread(result))
    count = segments.combine(chosen.to(data.dtype), "sum", 0)
    return segments.spread(grad / count).masked_fill(chosen.logical_not(), 0)


composites(sum_to_size)
operator("segment_reduce", composite=segment_reduce, data=segment_reduce_grad)

schemas("""
function, method:
    sum(Tensor self, *, ScalarType? dtype=None) -> Tensor  # The sum of the elements of `self`, over the dimensions `dim` or over all.
    prod(Tensor self, *, ScalarType? dtype=None) -> Tensor  # The product of the elements of `self`, over the dimension `dim` or over all.
    var(Tensor self, bool unbiased=True) -> Tensor  # The variance of the elements of `self`, over the dimensions `dim` or over all: the sum of squared distances from the mean, divided by the number of elements less `correction`.
    std(Tensor self, bool unbiased=True) -> Tensor  # The standard deviation of the elements of `self`, over the dimensions `dim` or over all: the square root of the variance.
    cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor  # The covariances of the variables that are the rows of `self`, whose columns are observations of frequency `fweights` and weight `aweights`.
    corrcoef(Tensor self) -> Tensor  # The correlation coefficients of the variables that are the rows of `self`, whose columns are observations.
function, method, out, dtype of out:
    sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
    prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
    mean(Tensor self, *, ScalarType? dtype=None) -> Tensor  # The mean of the elements of `self`, over the dimensions `dim` or over all.
    mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
function, method, out:
    var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor
    var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
    std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor
    std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
function:
    var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)  # The variance and the mean of the elements of `self`, over the dimensions `dim` or over all.
    var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)
    var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)
    std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)  # The standard deviation and the mean of the elements of `self`, over the dimensions `dim` or over all.
    std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)
    std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)
""")  # noqa: E501


def whole(meta: Callable[..., Any]) -> Callable[..., Any]:
    """Return the meta kernel of ``op(self, dtype)``, which reduces all dimensions."""
    return lambda self, dtype=None: meta(self, None, False, dtype)


def real_dtype_of(name: str) -> Rule:
    """Return the rule that a variance is real."""

    def rule(self: Tensor, wanted: DType | None = None) -> DType:
        check(self._dtype.category >= FLOATING, lambda: f"{name} only support floating point and complex dtypes")
        return self._dtype.to_real()

    return rule


def moments(name: str) -> Callable[..., tuple[Spec, Spec]]:
    """``var_mean`` and ``std_mean``."""
    spread_of = reduction(real_dtype_of(name))

    def meta(self: Tensor, dim: Any = None, correction: Any = None, keepdim: bool = False) -> tuple[Spec, Spec]:
        first = spread_of(self, dim, keepdim)
        return first, Spec(first.shape, self._dtype)

    return meta


def deviation(meta: Callable[..., Spec]) -> Callable[..., Spec]:
    """``var`` and ``std`` with their order of arguments."""
    return lambda self, dim=None, correction=None, keepdim=False: meta(self, dim, keepdim)


variance = deviation(reduction(real_dtype_of("std and var")))


def cov(self: Any, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """``torch.cov``: rows are variables, columns observations."""
    check_matrix("cov", self)
    check(self._dtype.category != BOOL, "cov(): bool dtype is not supported for input")
    rows = self.view(1, -1) if self.ndim < 2 else self
    observations = rows.shape[1]
    check_weights("fweights", fweights, observations, INTEGER, "integral")
    check_weights("aweights", aweights, observations, FLOATING, "floating point")
    given = [w for w in (fweights, aweights) if w is not None]
    weights = given[0] * given[1] if len(given) == 2 else given[0] if given else None
    amount = observations if weights is None else weights.sum()
    check(weights is None or not has_values(amount) or amount.item() != 0,
          "cov(): weights sum to zero, can't be normalized")
    mean = (rows if weights is None else rows * weights).sum(1) / amount
    if aweights is None or correction == 0:
        freedom = amount - correction
    else:
        freedom = amount - correction * (weights * aweights).sum() / amount
    if weights is not None and not has_values(freedom):
        freedom = freedom.clamp(min=0)
    elif (freedom if weights is None else freedom.item()) <= 0:
        warnings.warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number "
                      "of observations.", stacklevel=2)
        freedom = 0
    away = rows - mean.unsqueeze(1)
    other = away if weights is None else away * weights
    return (away.mm(other.t().conj()) / freedom).squeeze()


def check_matrix(name: str, self: Tensor) -> None:
    check(self.ndim <= 2, lambda: f"{name}(): expected input to have two or fewer dimensions but got an input with "
          f"{self.ndim} dimensions")


def check_weights(name: str, weights: Any, observations: int, category: int, kind: str) -> None:
    if weights is None:
        return
    where = f"cov(): expected {name} to have"
    check(weights.ndim <= 1, lambda: f"{where} one or fewer dimensions but got {name} with {weights.ndim} dimensions")
    check(weights._dtype.category == category,
          lambda: f"{where} {kind} dtype but got {name} with {NAMES[weights._dtype.name]} dtype")
    check(weights.numel() == observations, lambda: f"{where} the same numel as there are observations in the input but "
          f"got {weights.numel()} != {observations}")
    check(not observations or not has_values(weights) or weights.min().item() >= 0,
          lambda: f"cov(): {name} cannot be negative")


def corrcoef(self: Tensor) -> Tensor:
    """``torch.corrcoef``: covariances over the product of the standard deviations."""
    check_matrix("corrcoef", self)
    c = self.cov()
    if not c.ndim:
        return c / c
    d = c.diag()
    deviation = (d.real if d.is_complex() else d).sqrt()
    c = c / deviation.view(-1, 1) / deviation.view(1, -1)
    if c.is_complex():
        return complex_of(c.real.clamp(-1, 1), c.imag.clamp(-1, 1))
    return c.clamp(-1, 1)


def mean_grad(grad: Tensor, shape: Any, dim: Any = None, keepdim: bool = False) -> Any:
    count = prod([shape[d] for d in wrap_dims(dim, len(shape))])
    return sum_backward(grad, shape, dim, keepdim) / count


def var_grad(grad: Tensor, self: Tensor, dim: Any, correction: Any, keepdim: bool) -> Tensor:
    count = prod([self.shape[d] for d in wrap_dims(dim, self.ndim)])
    freedom = count - (1 if correction is None else correction)
    grad = restored(grad, self.shape, dim, keepdim)
    mean = self.mean(dim, True) if dim else self.mean()
    if freedom <= 0 and (dim is None or not self.ndim):  # a constant, as in ATen
        return grad * where(self == mean, nan, inf)
    centred = self - mean
    return grad * (2.0 / freedom if freedom else inf) * centred


def std_grad(grad: Tensor, result: Tensor, self: Tensor, dim: Any, correction: Any, keepdim: bool) -> Tensor:
    return var_grad((grad / (result * 2)).masked_fill_(result == 0, 0), self, dim, correction, keepdim)


def moments_grad(first: Any, grad: Tensor, shape: Any, dim: Any, keepdim: bool) -> Any:
    """Return the sum of the gradients through the variance (or deviation) and through the mean."""
    second = None if grad is None else mean_grad(grad, shape, dim, keepdim)
    return first if second is None else second if first is None else first + second


def prod_grad(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """Return the gradient times the product of all other factors (ATen's ``prod_backward``)."""
    if not self.ndim:
        return grad.clone()
    zeros = (self == 0).nonzero().shape[0] if has_values(self) else 1
    local.reads += 1  # other values ask for other operators
    if not zeros:
        return grad * (result / self).conj()
    if zeros > 1 and not local.grad_enabled:
        return zeros_like(self)
    return products_of_others(grad, self.contiguous().view(-1), 0).view_as(self)


def prod_grad_along(grad: Tensor, self: Tensor, result: Tensor, dim: int, keepdim: bool) -> Any:
    if not self.ndim:
        return grad.clone()
    grad = restored(grad, self.shape, dim, keepdim)
    if not has_values(self) or (self == 0).sum(dim, True).sum():
        return products_of_others(grad, self, dim)
    return grad * (restored(result, self.shape, dim, keepdim) / self).conj()


def products_of_others(grad: Tensor, self: Tensor, dim: int) -> Tensor:
    """Return the gradient times the products of elements before and behind, which zeros do not disturb."""
    if (size := self.shape[dim]) == 1:
        return grad
    if not self.numel():
        return grad * self
    first = ones([1 if d == dim % self.ndim else n for d, n in enumerate(self.shape)], self._dtype, None, self._device)
    before = cat([first, self.narrow(dim, 0, size - 1)], dim).cumprod(dim)
    behind = cat([first, self.narrow(dim, 1, size - 1).flip(dim)], dim).cumprod(dim).flip(dim)
    return grad * (before * behind).conj()


composites(cov, corrcoef)
operator("sum", whole(total), batching=over_all("sum.dim_IntList"), autocast="npu float32",
         self=repeated)
operator("prod", whole(total), batching=flat("prod.dim_int"), autocast="float32",
         self=prod_grad)
operator("sum.dim_IntList", total, batching=along_dimensions, autocast="npu float32", node="SumBackward1",
         self=lambda grad, self_shape, dim, keepdim: sum_backward(grad, self_shape, dim, keepdim))
operator("prod.dim_int", total, batching=along_dimensions, autocast="float32", node="ProdBackward1",
         self=prod_grad_along)
operator("mean", whole(averages), batching=over_all("mean.dim"),
         self=lambda grad, self_shape: mean_grad(grad, self_shape))
operator("mean.dim", averages, batching=along_dimensions, node="MeanBackward1",
         self=lambda grad, self_shape, dim, keepdim: mean_grad(grad, self_shape, dim, keepdim))
operator("var.correction", variance, batching=along_dimensions, self=var_grad)
operator("std.correction", variance, batching=along_dimensions, self=std_grad)
operator("var_mean.correction", moments("var_mean"), batching=along_dimensions,
         self=lambda grads, self, dim, correction, keepdim: moments_grad(
             None if grads[0] is None else var_grad(grads[0], self, dim, correction, keepdim),
             grads[1], self.shape, dim, keepdim))
operator("std_mean.correction", moments("std_mean"), batching=along_dimensions,
         self=lambda grads, result, self, dim, correction, keepdim: moments_grad(
             None if grads[0] is None else std_grad(grads[0], result, self, dim, correction, keepdim),
             grads[1], self.shape, dim, keepdim))

schemas("""
function, method:
    count_nonzero(Tensor self, int? dim=None) -> Tensor  # How many elements of `self`, or how many along the dimensions `dim`, are other than zero.
    count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor
function, method, out:
    logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor  # The logarithm of the sum of the exponentials of `self` over the dimensions `dim`, computed without overflow.
function, method, out, exact dtype:
    all(Tensor self) -> Tensor  # Whether all elements of `self`, or all along `dim`, are other than zero.
    all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
    all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor
    any(Tensor self) -> Tensor  # Whether any element of `self`, or any along `dim`, is other than zero.
    any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
    any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor
""")  # noqa: E501


def in_range_first(meta: Callable[..., Spec]) -> Callable[..., Spec]:
    """Return ``reduction``'s meta kernel, checking the range of all dims before repetition, as PyTorch."""

    def checked(self: Tensor, dim: Any = None, keepdim: bool = False) -> Spec:
        for d in (dim,) if isinstance(dim, int) else dim or ():
            wrap_dim(d, self.ndim)
        return meta(self, dim, keepdim)

    return checked


def listed(meta: Callable[..., Any]) -> Callable[..., Any]:
    """Return the meta kernel of ``op(self, dim, keepdim)`` where an empty list of dimensions reduces none."""

    def none_for_empty(self: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
        return Spec(tuple(self.shape), meta(self).dtype) if dim == () else meta(self, dim, keepdim)

    return none_for_empty


def floated(self: Tensor, wanted: DType | None = None) -> DType:
    return self._dtype if self._dtype.category >= FLOATING else get_default_dtype()


def counted(self: Tensor, wanted: DType | None = None) -> DType:
    return int64


operator("count_nonzero", composite=lambda self, dim=None: self.count_nonzero(() if dim is None else (dim,)))
operator("count_nonzero.dim_IntList", in_range_first(reduction(counted)), batching=along_dimensions,
         differentiable=False)
operator("logsumexp", in_range_first(reduction(floated)), batching=along_dimensions, autocast="npu float32",
         self=lambda grad, self, result, dim, keepdim: (
             restored(grad, self.shape, dim, keepdim)
             * (self - restored(result, self.shape, dim, keepdim)).exp().conj()))
operator("all", truths, batching=over_all("all.dims"), differentiable=False)
operator("all.dim any.dim", truths, batching=along_dimensions, differentiable=False)
operator("all.dims any.dims", in_range_first(listed(truths)), batching=along_dimensions, differentiable=False)
operator("any", truths, batching=over_all("any.dims"), differentiable=False)

schemas("""
function, method, out:
    nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor  # The sum of the elements of `self`, with nan counted as zero, over the dimensions `dim` or over all.
    nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor  # The mean of those elements of `self` that are not nan, over the dimensions `dim` or over all.
""")  # noqa: E501


def meta_nansum(self: Any, dim: Any = None, keepdim: bool = False, dtype: DType | None = None) -> Spec:
    spec = total(self, dim, keepdim, dtype)
    check(self._dtype.category < COMPLEX, "nansum on CPU does not support complex inputs")
    check_takes(spec.dtype.category < COMPLEX or self._dtype.category < FLOATING or not self.numel(), "nansum_cpu",
                spec.dtype)
    return spec


def nanmean(self: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """``torch.nanmean``: the mean of what is not NaN."""
    check(self._dtype.category >= FLOATING, lambda: "nanmean(): expected input to have floating point or complex dtype "
          f"but got {NAMES[self._dtype.name]}")
    check(dtype is None or dtype.category >= FLOATING, lambda: "nanmean(): could not infer output dtype. Optional "
          f"dtype must be either a floating point or complex dtype. Got: {NAMES[dtype.name]}")
    count = self.detach().isnan().logical_not().sum(dim, keepdim)
    return self.nansum(dim, keepdim, dtype=dtype) / count


def nansum_out(self: Tensor, dim: Sequence[int] | None, keepdim: bool, dtype: Any, out: Any) -> Tensor:
    """``torch.nansum`` into ``out``, whose dtype is that of the computation."""
    check(dtype in (None, out._dtype) or self._dtype.is_complex, lambda: "nansum: provided dtype must match dtype of "
          f"result. Got {NAMES[out._dtype.name]} and {NAMES[dtype.name]}.")
    target = out.dtype
    check_takes(self._dtype.category != FLOATING or target.category == FLOATING, "nansum_cpu", target)
    return write_out(registry["nansum.out"], self.nansum(dim, keepdim, dtype=target), out)


def nanmean_out(self: Any, dim: Any, keepdim: bool, dtype: Any, out: Any) -> Any:
    """``torch.nanmean`` into ``out``."""
    mean = nanmean(self, dim, keepdim, dtype)
    nansum_out(self, dim, keepdim, dtype, out)
    return out.copy_(mean)


composites(nanmean)
operator("nansum", meta_nansum, batching=along_dimensions,
         self=lambda grad, self, dim, keepdim:
             sum_backward(grad.to(self.dtype), self.shape, dim, keepdim) * self.isnan().logical_not())
operator("nansum.out", composite=nansum_out)
operator("nanmean.out", composite=nanmean_out)

schemas("""
function, method, out:
    max(Tensor self) -> Tensor  # The greatest element of `self`, or along `dim` with its position, or of `self` and `other` element by element.
    max.other(Tensor self, Tensor other) -> Tensor
    min(Tensor self) -> Tensor  # The least element of `self`, or along `dim` with its position, or of `self` and `other` element by element.
    min.other(Tensor self, Tensor other) -> Tensor
function, method, out, exact dtype:
    amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor  # The greatest element of `self` over the dimensions `dim`; elements that are equally great share the gradient.
    amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor  # The least element of `self` over the dimensions `dim`; elements that are equally small share the gradient.
    aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)  # The least and the greatest element of `self`, over the dimension `dim` or over all.
    max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
    min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
operator only:
    value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, int[] sizes, bool keepdim) -> Tensor
""")  # noqa: E501


def selection(name: str, rule: Rule) -> Callable[..., tuple[Spec, Spec]]:
    """Return the meta kernel of ``op(self, dim, keepdim)`` that picks one of each line: its value and its index."""

    def meta(self: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Spec, Spec]:
        check_elements(name, self, dim)
        shape = reduced_shape(self.shape, wrap_dims(dim, self.ndim), keepdim)
        return Spec(shape, rule(self)), Spec(shape, int64)

    return meta


def only(kernel: str, categories: Any, empty: bool = True) -> Rule:
    """Return the rule that keeps the dtype; ``kernel`` is named for other categories, unless an ``empty`` input is
    taken.
    """
    def rule(self: Tensor, wanted: DType | None = None) -> DType:
        check_takes(self._dtype.category in categories or (empty and not self.numel()), kernel, self._dtype)
        return self._dtype

    return rule


def meta_real(name: str) -> Rule:
    def rule(self: Tensor, wanted: DType | None = None) -> DType:
        check(self._dtype.category < COMPLEX, lambda: f"{name}(): does not support complex input")
        return self._dtype

    return rule


def meta_aminmax(self: Tensor, dim: int | None = None, keepdim: bool = False) -> tuple[Spec, Spec]:
    check(dim is not None or self.numel(), lambda: about(
        RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."),
        "nothing to reduce", name="aminmax"))
    check_elements("aminmax", self, dim)
    check(dim is None or self.ndim or self._dtype.category < COMPLEX,
          lambda: f"aminmax not implemented for {NAMES[self._dtype.name]}")
    dtype = only("aminmax_cpu", range(COMPLEX), empty=False)(self)
    spec = Spec(reduced_shape(self.shape, wrap_dims(dim, self.ndim), keepdim), dtype)
    return spec, spec


def extremum_grad(grad: Tensor, self: Tensor, result: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return the gradient, spread evenly over all elements that are equal to the extremum."""
    if dim is None:
        both_nan = logical_and(isnan(self), isnan(result))
        equal = logical_or_(eq_Tensor(self, result), both_nan)
        share = div_Tensor(grad, sum_of(equal))
        return equal * share if is_seen(grad) else masked_fill_Tensor(new_zeros(grad, self.shape), equal, share)
    shape = tuple(self.shape)
    if not keepdim and shape:
        dims = wrap_dims(dim, len(shape))
        kept = tuple([1 if d in dims else n for d, n in enumerate(shape)])
        equal = eq_Tensor(view(result, kept), self)
        grad = view(grad, kept)
    else:
        equal = eq_Tensor(result, self)
    return mul_Tensor(equal, div_Tensor(grad, sum_dim_IntList(equal, dim or None, True)))


def aminmax_grad(grads: Any, self: Tensor, results: Any, dim: Any, keepdim: bool) -> Tensor:
    dims = () if dim is None else (dim,)
    parts = [extremum_grad(grad, self, result, dims, keepdim)
             for grad, result in zip(grads, results, strict=True) if grad is not None]
    return sum(parts[1:], parts[0])


def selection_grad(grad: Tensor, shape: Any, dim: int, indices: Any, keepdim: bool = True) -> Tensor:
    """Return the gradient at the elements that were picked."""
    return selecting_backward(grad, dim, indices, shape, keepdim)


def value_selecting_reduction_backward(grad: Tensor, dim: int, indices: Any, sizes: Any, keepdim: bool) -> Tensor:
    """Return zeros of some sizes with the gradient at the elements that were picked."""
    if not keepdim and sizes:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    whole = grad.new_zeros(sizes)
    return whole.scatter(dim, indices, grad) if is_seen(grad) else whole.scatter_(dim, indices, grad)


composites(value_selecting_reduction_backward)
operator("max", reduction(only("max_all", range(COMPLEX)), "max"), batching=flat("max.dim", True), node="MaxBackward1",
         self=lambda grad, self, result: extremum_grad(grad, self, result))
operator("max.other", composite=lambda self, other: self.maximum(other))
operator("min", reduction(only("min_all", range(COMPLEX)), "min"), batching=flat("min.dim", True), node="MinBackward1",
         self=lambda grad, self, result: extremum_grad(grad, self, result))
operator("min.other", composite=lambda self, other: self.minimum(other))
operator("amax", reduction(only("max_values_cpu", range(COMPLEX)), "amax"), batching=along_dimensions,
         self=lambda grad, self, result, dim, keepdim: extremum_grad(grad, self, result, dim, keepdim))
operator("amin", reduction(only("min_values_cpu", range(COMPLEX)), "amin"), batching=along_dimensions,
         self=lambda grad, self, result, dim, keepdim: extremum_grad(grad, self, result, dim, keepdim))
operator("aminmax", meta_aminmax, batching=flat(),
         self=lambda grads, self, min, max, dim, keepdim: (
             aminmax_grad(grads, self, (min, max), dim, keepdim)))
operator("max.dim", selection("max", meta_real("max")), batching=along_dimensions,
         self=lambda grad, self_shape, dim, indices, keepdim: (
             selection_grad(grad, self_shape, dim, indices, keepdim)))
operator("min.dim", selection("min", meta_real("min")), batching=along_dimensions,
         self=lambda grad, self_shape, dim, indices, keepdim: (
             selection_grad(grad, self_shape, dim, indices, keepdim)))

schemas("""
function, method, out, exact dtype:
    hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor  # The bits of the elements of `self`, as float64 or int64, combined by exclusive or over the dimensions `dim`; of `mode` there is only 0.
    argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor  # The position of the greatest element of `self`, along `dim` or as if it had one dimension.
    argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor  # The position of the least element of `self`, along `dim` or as if it had one dimension.
""")  # noqa: E501


def argument(name: str) -> Callable[..., Spec]:
    """``argmax`` and ``argmin``."""

    def meta(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Spec:
        kind = "bool" if self._dtype is bool_ else "complex" if self._dtype.is_complex else None
        check(kind is None, lambda: f"{name}(): does not support {kind} input")
        check_elements(name, self, dim, IndexError)
        return Spec(reduced_shape(self.shape, wrap_dims(dim, self.ndim), keepdim), int64)

    return meta


def meta_hash_tensor(self: Tensor, dim: Sequence[int] = (), keepdim: bool = False, mode: int = 0) -> Spec:
    check_elements("hash_tensor", self, dim)
    shape = reduced_shape(self.shape, wrap_dims(dim, self.ndim), keepdim)
    check(mode == 0, lambda: f"Unknown hash_tensor mode: {mode}")
    check_takes(self._dtype.category < COMPLEX and self._dtype.name not in RARE, "xor_sum_cpu", self._dtype)
    return Spec(shape, uint64)


operator("hash_tensor", meta_hash_tensor, batching=along_dimensions, differentiable=False)
operator("argmax", argument("argmax"), batching=flat(), differentiable=False)
operator("argmin", argument("argmin"), batching=flat(), differentiable=False)

schemas("""
out, exact dtype:
    linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor  # The norm of order `ord` of `self` as a vector: the root of order `ord` of the sum of its elements' absolute values to that power, over the dimensions `dim` or over all.
""")  # noqa: E501


def check_norm_of_nothing(self: Tensor, ord: Any, dim: Any) -> None:
    """Refuse a norm that is an extremum, along a dimension without elements."""
    empty = next((d for d in wrap_dims(dim, self.ndim) if self.ndim and not self.shape[d]), None)
    if empty is not None and (ord < 0 or ord == inf):
        place = (f"the dimension {empty}because this dimension is empty and" if dim  # the missing space is PyTorch's
                 else "an empty tensor because")
        raise RuntimeError(f"linalg.vector_norm cannot compute the {ord:g} norm on {place} the operation does not "
                           "have an identity")


def meta_linalg_vector_norm(self: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: DType | None =
                            None) -> Spec:
    have, where = self._dtype, "linalg.vector_norm"
    check_floating(where, self)
    check(not isinstance(ord, complex), lambda: f"{where}: Expected a non-complex scalar as the order of norm.")
    check_norm_dtype(where, have, dtype)
    check_norm_of_nothing(self, ord, dim)
    return Spec(reduced_shape(self.shape, wrap_dims(dim, self.ndim), keepdim), (dtype or have).to_real())


def norm_grad(grad: Tensor, self: Tensor, p: Any, norm: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Return the gradient of the p-norm; where that is not differentiable, the subgradient that PyTorch takes."""
    grad, norm = (restored(x, self.shape, dim, keepdim) for x in (grad, norm))
    if p == 0:
        return self * 0
    if p == 1:
        return self.sgn() * grad
    if p == 2:
        return grad * (self / norm).masked_fill_(norm == 0, 0)
    size = self.abs()
    if p in (inf, -inf):
        equal = (size == norm) | (size.isnan() & norm.isnan())
        return self.sgn() * (grad / equal.sum(dim or None, True) * equal)
    if p < 1:
        return self.sgn() * size.pow(p - 1).masked_fill(self == 0, 0) * grad * norm.pow(1 - p)
    scale = (grad / norm.pow(p - 1)).masked_fill(norm == 0, 0)
    return (self.sgn() * size.pow(p - 1) if p < 2 else self * size.pow(p - 2)) * scale


operator("linalg_vector_norm", meta_linalg_vector_norm, batching=along_dimensions, autocast="npu float32",
         self=lambda grad, self, ord, result, dim, keepdim: (
             None if ord == 0 else norm_grad(grad, self, ord, result, dim, keepdim)))

for name in ("var", "std", "var_mean", "std_mean"):
    over_all_dimensions, along = unbiased(name)
    operator(name, composite=over_all_dimensions)
    operator(f"{name}.dim", composite=along)

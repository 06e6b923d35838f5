"""Reductions in terms of others: forms of variance with a flag, means and covariances."""
from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from .._backends.common.inplace_and_out import write_out
from .._base.errors import NAMES, check, check_takes
from .._base.layout import Ints, wrap_dim
from .._dispatch.aten import complex as complex_of, constant_pad_nd, ones_like, searchsorted
from .._dispatch.dispatcher import has_values
from .._dispatch.schemas import registry
from .._dtype import BOOL, FLOATING, INTEGER, int32, int64
from . import COMPOSITES


def unbiased(name: str) -> dict[str, Callable[..., Any]]:
    """The overloads with ``unbiased`` of var, std and their like: corrections of 1 and 0."""
    call = registry[f"{name}.correction"].call

    def along(self: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False) -> Any:
        return call(self, dim, int(unbiased), keepdim)

    return {name: lambda self, unbiased=True: along(self, None, unbiased), f"{name}.dim": along}


def nanmean(self: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """``torch.nanmean``: the mean of what is not NaN."""
    check(self._dtype.category >= FLOATING, lambda: "nanmean(): expected input to have floating point or complex dtype "
          f"but got {NAMES[self._dtype.name]}")
    check(dtype is None or dtype.category >= FLOATING, lambda: "nanmean(): could not infer output dtype. Optional "
          f"dtype must be either a floating point or complex dtype. Got: {NAMES[dtype.name]}")
    count = self.detach().isnan().logical_not().sum(dim, keepdim)
    return self.nansum(dim, keepdim, dtype=dtype) / count


def nansum_out(self: Any, dim: Any, keepdim: bool, dtype: Any, out: Any) -> Any:
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


def check_matrix(name: str, self: Any) -> None:
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


def corrcoef(self: Any) -> Any:
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


def sum_to_size(self: Any, size: Ints) -> Any:
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
    if offsets is None:
        ends = lengths.cumsum(axis)
        check(unsafe or not has_values(lengths) or bool((lengths >= 0).all()), "lengths contains negative value!")
        check(unsafe or not has_values(lengths) or bool((ends.narrow(axis, -1, 1) == data.shape[axis]).all()),
              "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
              "!unsafe.")
        offsets = constant_pad_nd(ends, (1, 0), 0)
    check_takes(given._dtype in (int32, int64), f"_segment_reduce_{kind}_cpu_kernel1", given._dtype)
    check_takes(data._dtype.category == FLOATING, "_segment_reduce_cpu", data._dtype)
    check(data.numel() > 0, "Expected data.numel() > 0 to be True, but got False.")
    counts, segments = offsets.diff(dim=axis), offsets.shape[axis] - 1
    places = ones_like(offsets.narrow(axis, 0, 1))
    places = places.expand((*offsets.shape[:-1], data.shape[axis])).cumsum(axis) - 1
    # The segment of each place, from 1; 0 and the last are for places outside of all segments.
    number = searchsorted(offsets.contiguous(), places, False, True)
    shape = (*offsets.shape[:-1], segments + 2, *data.shape[axis + 1:])
    trailing = (1,) * (data.ndim - axis - 1)
    how, start = SEGMENT_REDUCTIONS[reduce]
    result = data.new_full(shape, start if initial is None else initial)
    result = result.scatter_reduce(axis, number.view((*number.shape, *trailing)).expand(data.shape), data, how)
    result = result.narrow_copy(axis, 1, segments)
    if reduce == "mean":
        sizes = counts.view((*counts.shape, *trailing))
        result = result / sizes.clamp_min(1)
        result = result if initial is not None else result.masked_fill(sizes == 0, math.nan)
    return result


COMPOSITES.add(nanmean, cov, corrcoef, sum_to_size, segment_reduce)
COMPOSITES.update({
    **unbiased("var"), **unbiased("std"), **unbiased("var_mean"), **unbiased("std_mean"),
    "nansum.out": nansum_out,
    "nanmean.out": nanmean_out,
    "count_nonzero": lambda self, dim=None: self.count_nonzero(() if dim is None else (dim,)),
    "max.other": lambda self, other: self.maximum(other),
    "min.other": lambda self, other: self.minimum(other),
})

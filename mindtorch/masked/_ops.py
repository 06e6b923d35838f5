"""Reductions and normalizations over the elements that a boolean mask lets through: ``torch.masked``.

What is masked out is replaced by a value that does not change the result; where a mask lets nothing through,
the result is that value (or NaN for means, medians and variances). Masks are broadcast to the input's shape.
"""
from __future__ import annotations

from math import inf, nan
from typing import Any

from .._base.layout import wrap_dim, wrap_dims
from .._creation import ones
from .._dispatch.aten import linalg_vector_norm as _linalg_vector_norm
from .._dtype import BOOL, COMPLEX, FLOATING, DType, bool_, float32, iinfo, int64
from .._tensor import Tensor
from ._sparse import is_sparse, reduced
from .maskedtensor import MaskedTensor, filled

Dims = int | tuple[int, ...] | list[int] | None
__all__ = ["amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean",
           "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var"]


def _canonical(mask: Any, input: Tensor) -> Any:
    """Return the mask as bools in the input's shape. Raises IndexError if it has more dimensions than the input."""
    if mask.ndim > input.ndim:
        raise IndexError("expected broadcastable mask (got mask dimensionality higher than of the input)")
    return mask.expand(input.shape).to(bool_)


def _kept(input: Tensor, mask: Any, value: Any) -> Any:
    """Return the input with a value where the mask, or that of a masked tensor, is False."""
    if isinstance(input, MaskedTensor):
        return filled(input, value)
    return input if mask is None else input.masked_fill(_canonical(mask, input).logical_not(), value)


def _extreme(name: str, dtype: DType, largest: bool) -> Any:
    """Return the largest or the lowest value of a dtype. Raises NotImplementedError for bools and complex numbers."""
    if dtype.category in (BOOL, COMPLEX):
        raise NotImplementedError(f"identity of {name} on {dtype} input")
    if dtype.category == FLOATING:
        return inf if largest else -inf
    return iinfo(dtype).max if largest else iinfo(dtype).min


def _extreme_of(name: str, input: Tensor, mask: Any, largest: bool) -> Any:
    if mask is None and not isinstance(input, MaskedTensor):
        return input
    return _kept(input, mask, _extreme(name, input.dtype, largest))


def _extremum(name: str, input: Any, dim: Dims, keepdim: bool, dtype: DType | None, mask: Any, largest: bool) -> Any:
    """Return ``amax`` or ``amin``, or ``largest`` or least value of the dtype where the mask keeps nothing."""
    dims, dtype = wrap_dims(dim, input.ndim), dtype or input.dtype
    if is_sparse(input):
        return reduced(name, input, dims, keepdim, dtype, mask, _extreme(name, input.dtype, largest))
    return getattr(_extreme_of(name, input, mask, largest), name)(dims, bool(keepdim)).to(dtype)


def _summed(input: Tensor, dtype: DType | None) -> DType:
    return dtype or (int64 if input.dtype.category < FLOATING else input.dtype)


def sum(input: Any, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Any = None) -> Any:
    """Return the sum of the elements that the mask keeps, 0 where it keeps none (``torch.masked.sum``)."""
    if is_sparse(input):
        return reduced("sum", input, wrap_dims(dim, input.ndim), keepdim, _summed(input, dtype), mask, 0)
    return _kept(input, mask, 0).sum(wrap_dims(dim, input.ndim), bool(keepdim), dtype=_summed(input, dtype))


def prod(input: Any, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Any = None) -> Any:
    """Return the product of the elements that the mask keeps, 1 where it keeps none (``torch.masked.prod``)."""
    if is_sparse(input):
        return reduced("prod", input, wrap_dims(dim, input.ndim), keepdim, _summed(input, dtype), mask, 1)
    result = _kept(input, mask, 1).to(_summed(input, dtype))
    for d in reversed(() if dim == () else wrap_dims(dim, max(input.ndim, dim is not None))):
        result = result.prod(d, bool(keepdim))
    return result


def cumsum(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the running sum; masked elements count as 0 (``torch.masked.cumsum``)."""
    return _kept(input, mask, 0).cumsum(wrap_dim(dim, input.ndim), dtype=dtype or input.dtype)


def cumprod(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the running product, which masked elements leave as it is (``torch.masked.cumprod``)."""
    return _kept(input, mask, 1).cumprod(wrap_dim(dim, input.ndim), dtype=dtype or input.dtype)


def amax(input: Any, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Any = None) -> Any:
    """Return the maximum, or the dtype's lowest value where the mask keeps nothing (``torch.masked.amax``)."""
    return _extremum("amax", input, dim, keepdim, dtype, mask, largest=False)


def amin(input: Any, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Any = None) -> Any:
    """Return the minimum, or the dtype's largest value where the mask keeps nothing (``torch.masked.amin``)."""
    return _extremum("amin", input, dim, keepdim, dtype, mask, largest=True)


def argmax(input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: DType | None = None,
           mask: Tensor | None = None) -> Tensor:
    """Return the index of the maximum, in the input's dtype unless another is given (``torch.masked.argmax``)."""
    kept = _extreme_of("argmax", input, mask, largest=False)
    return kept.argmax(dim, bool(keepdim)).to(dtype or input.dtype)


def argmin(input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: DType | None = None,
           mask: Tensor | None = None) -> Tensor:
    """Return the index of the minimum, in the input's dtype unless another is given (``torch.masked.argmin``)."""
    kept = _extreme_of("argmin", input, mask, largest=True)
    return kept.argmin(dim, bool(keepdim)).to(dtype or input.dtype)


def _count(input: Tensor, dim: Dims, keepdim: bool, mask: Any) -> Any:
    """Return the number of elements that the mask keeps."""
    passed = ones(input.shape, dtype=bool_, device=input.device) if mask is None else _canonical(mask, input)
    return passed.sum(wrap_dims(dim, input.ndim), bool(keepdim))


def mean(input: Any, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Any = None) -> Any:
    """Return the mean of the elements that the mask keeps, NaN where it keeps none (``torch.masked.mean``). Raises
    ValueError if the output's dtype is neither floating point nor complex.
    """
    out = dtype or input.dtype
    if out.category < FLOATING:
        raise ValueError(f"mean(): Could not infer output dtype. {'Optional' if dtype else 'Input'} dtype must "
                         f"be either a floating point or complex dtype. Got: {out}")
    if is_sparse(input):
        return reduced("mean", input, wrap_dims(dim, input.ndim), keepdim, out, mask, nan)
    return sum(input, dim, keepdim=keepdim, dtype=out, mask=mask) / _count(input, dim, keepdim, mask)


def median(input: Any, dim: int = -1, *, keepdim: bool = False, dtype: DType | None = None, mask: Any = None) -> Any:
    """Return the lower median along one dimension, NaN where the mask keeps nothing (``torch.masked.median``). Raises
    ValueError if the mask keeps nothing somewhere and the dtype has no NaN.
    """
    floating = input.dtype.category == FLOATING
    kept = _kept(input if floating else input.to(float32), mask, nan)
    result = kept.nanmedian(wrap_dim(dim, input.ndim), keepdim)[0]
    if floating:
        return result
    if result.isnan().any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return result.to(dtype or input.dtype)


def logsumexp(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None,
              mask: Tensor | None = None) -> Tensor:
    """Compute ``log(sum(exp(input)))``, -inf where the mask keeps nothing (``torch.masked.logsumexp``)."""
    lowest = -inf if input.dtype.category >= FLOATING else iinfo(input.dtype).min if mask is not None else 0
    result = _kept(input, mask, lowest).logsumexp(wrap_dims(dim, input.ndim), bool(keepdim))
    return result.to(dtype or input.dtype)


def logaddexp(input: Tensor, other: Any, *, dtype: DType | None = None, input_mask: Any = None,
              other_mask: Any = None) -> Tensor:
    """Compute ``log(exp(input) + exp(other))``, each with a mask of its own (``torch.masked.logaddexp``)."""
    first = _extreme_of("logaddexp", input, input_mask, largest=False)
    second = _extreme_of("logaddexp", other, other_mask, largest=False)
    return first.logaddexp(second).to(dtype or input.dtype)


def norm(input: Tensor, ord: float | None = 2.0, dim: Dims = None, *, keepdim: bool = False,
         dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the vector norm, 0 where the mask keeps nothing (inf for the order -inf) (``torch.masked.norm``)."""
    kept = _kept(input, mask, inf if ord == -inf else 0)
    return _linalg_vector_norm(
        kept, 2 if ord is None else ord, wrap_dims(dim, input.ndim), bool(keepdim), dtype or input.dtype)


def var(input: Tensor, dim: Dims = None, unbiased: bool | None = None, *, correction: float | None = None,
        keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the variance, NaN where the mask keeps nothing (``torch.masked.var``)."""
    correction = correction if correction is not None else 1 if unbiased is None else int(unbiased)
    out = dtype or (input.dtype if input.dtype.category >= FLOATING else float32)
    compute = out if out.category >= FLOATING else float32
    away = input - sum(input, dim, keepdim=True, dtype=out, mask=mask) / _count(input, dim, True, mask)
    total = sum(away * away.conj(), dim, keepdim=keepdim, dtype=compute, mask=mask)
    count = _count(input, dim, keepdim, mask)
    if correction != 0:
        count = (count.to(compute.to_real()) - correction).clamp(min=0)
    return (total / count).to(out)


def std(input: Tensor, dim: Dims = None, unbiased: bool | None = None, *, correction: float | None = None,
        keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the standard deviation, NaN where the mask keeps nothing (``torch.masked.std``)."""
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


def softmax(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Apply softmax along ``dim``; masked elements become 0 (``torch.masked.softmax``)."""
    return _extreme_of("amax", input, mask, largest=False).softmax(wrap_dim(dim, input.ndim), dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Compute the logarithm of softmax; masked elements become -inf (``torch.masked.log_softmax``)."""
    return _extreme_of("amax", input, mask, largest=False).log_softmax(wrap_dim(dim, input.ndim), dtype)


def softmin(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Apply softmax to -x; masked elements become 0 (``torch.masked.softmin``)."""
    return (-_extreme_of("amin", input, mask, largest=True)).softmax(wrap_dim(dim, input.ndim), dtype)


def normalize(input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: DType | None = None,
              mask: Tensor | None = None) -> Tensor:
    """Divide the input by its norm, at least by ``eps``; masked elements become 0 (``torch.masked.normalize``)."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _kept(input, mask, 0) / length.maximum(length.new_full((), eps))

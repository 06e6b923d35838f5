"""``torch.distributions.wishart``."""
from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from .._base.size import Size
from .._creation import arange, eye, tensor, tril_indices
from .._creation.random import randn
from .._dtype import finfo
from .._methods.functions import cholesky_solve
from .._tensor import Tensor
from ..functional import broadcast_shapes
from ..linalg import slogdet
from . import constraints
from ._gaussian import diagonal, log_diagonal
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import FORMS, OfMatrix, cholesky_factor, given_form
from .utils import lazy_property

__all__ = ["Wishart"]


class Wishart(OfMatrix, ExponentialFamily):
    """The sums of ``df`` products x x^T of normal p-vectors x of one covariance matrix, which is given by itself, by
    its inverse, or by its Cholesky factor; sampled by Bartlett's decomposition (``torch.distributions.Wishart``).
    Raises AssertionError for none or several of the three matrices, and ValueError for too few dimensions, or if df <=
    p - 1.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = ("df", "_unbroadcasted_scale_tril", "_dist_chi2", *FORMS)

    @property
    def arg_constraints(self) -> Any:
        return {"covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
                "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self.event_shape[-1] - 1)}

    def __init__(self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
                 validate_args: bool | None = None):
        form, matrix = given_form(AssertionError, covariance_matrix, precision_matrix, scale_tril)
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        event_shape = matrix.shape[-2:]
        if isinstance(df, (int, float)):
            batch_shape = matrix.shape[:-2]
            self.df = tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        if self.df.le(event_shape[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}.")
        setattr(self, form, matrix.expand((*batch_shape, -1, -1)))
        if self.df.lt(event_shape[-1]).any():
            warnings.warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < "
                          "ndim.", stacklevel=2)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._unbroadcasted_scale_tril = cholesky_factor(form, getattr(self, form))
        places = arange(event_shape[-1], dtype=matrix.dtype, device=matrix.device)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - places.expand((*batch_shape, -1)))

    def _expanded(self, matrix: Tensor) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        identity = eye(self._event_shape[-1], dtype=factor.dtype, device=factor.device)
        return self._expanded(cholesky_solve(identity, factor))

    def _times_covariance(self, factor: Tensor) -> Any:
        return factor.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    mean = property(lambda self: self._times_covariance(self.df))

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        return self._times_covariance(factor.masked_fill(factor <= 0, math.nan))

    @property
    def variance(self) -> Tensor:
        diag = diagonal(self.covariance_matrix)
        squares = self.covariance_matrix.pow(2) + diag.unsqueeze(-1) * diag.unsqueeze(-2)
        return self.df.view((*self._batch_shape, 1, 1)) * squares

    def _bartlett_sampling(self, sample_shape: Sequence[int]) -> Any:
        p = self._event_shape[-1]
        noise = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = noise.clamp(min=finfo(noise.dtype).eps).diag_embed()
        i, j = tril_indices(p, p, offset=-1)
        noise[..., i, j] = randn((*sample_shape, *self._batch_shape, p * (p - 1) // 2), dtype=noise.dtype,
                                 device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def _of_batch(self, flags: Any) -> Any:
        """Return True if any distribution of the batch has the flag, by sample."""
        return flags.flatten(-rank).any(-1) if (rank := len(self._batch_shape)) else flags

    def rsample(self, sample_shape: Sequence[int] = (), max_try_correction: int = 10) -> Tensor:
        """Draw samples; those that rounding made singular are drawn anew, up to ``max_try_correction`` times.

        PyTorch redraws the other samples once as well, and so does this, to have its numbers.
        """
        sample = self._bartlett_sampling(Size(sample_shape))
        again = self._of_batch(self.support.check(sample))
        for _ in range(max_try_correction):
            sample[again] = self._bartlett_sampling(again[again].shape)
            again = self._of_batch(~self.support.check(sample))
            if not again.any():
                return sample
        warnings.warn("Singular sample detected.", stacklevel=2)
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        nu, p = self.df, self._event_shape[-1]
        return (-nu * (p * math.log(2) / 2 + log_diagonal(self._unbroadcasted_scale_tril)) - (nu / 2).mvlgamma(p)
                + (nu - p - 1) / 2 * slogdet(value).logabsdet
                - diagonal(cholesky_solve(value, self._unbroadcasted_scale_tril)).sum(-1) / 2)

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        places = arange(p, dtype=nu.dtype, device=nu.device)
        mvdigamma = (nu.unsqueeze(-1) / 2 - places / 2).digamma().sum(-1)
        return ((p + 1) * (p * math.log(2) / 2 + log_diagonal(self._unbroadcasted_scale_tril))
                + (nu / 2).mvlgamma(p) - (nu - p - 1) / 2 * mvdigamma + nu * p / 2)

    @property
    def _natural_params(self) -> Any:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (-slogdet(-2 * x).logabsdet + math.log(2) * p) + half.mvlgamma(p)

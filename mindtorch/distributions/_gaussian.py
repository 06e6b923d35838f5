"""Common parts of multivariate normal distributions: quadratic forms, and the divergence of any two of them."""
from __future__ import annotations

import math
from typing import Any

from .._creation import eye
from .._tensor import Tensor
from ..linalg import cholesky, solve_triangular
from . import constraints
from .distribution import Distribution


def diagonal(matrix: Tensor) -> Any:
    return matrix.diagonal(dim1=-2, dim2=-1)


def log_diagonal(factor: Tensor) -> Any:
    """Return half the logarithm of the determinant of ``factor @ factor.mT``, for a triangular factor."""
    return diagonal(factor).log().sum(-1)


def squared_lengths(factor: Tensor, columns: Tensor) -> Any:
    """Return the squared length of ``factor^-1 @ column`` for each column, for a lower triangular factor."""
    return solve_triangular(factor, columns, upper=False).pow(2).sum(-2)


def squared_length(factor: Tensor, x: Tensor) -> Tensor:
    """Return the squared length of ``factor^-1 @ x``; vectors with one factor are solved as columns."""
    sample_dims = x.dim() + 1 - factor.dim()
    if sample_dims <= 0:
        return squared_lengths(factor, x.unsqueeze(-1)).squeeze(-1)
    sample_shape = x.shape[:sample_dims]
    lengths = squared_lengths(factor, x.reshape((-1, *x.shape[sample_dims:])).movedim(0, -1))
    return lengths.movedim(-1, 0).reshape((*sample_shape, *lengths.shape[:-1]))


def precision_to_scale_tril(precision: Any) -> Any:
    """Return the Cholesky factor of a matrix, from the inverse of the matrix."""
    reversed_factor = cholesky(precision.flip((-2, -1))).flip((-2, -1)).mT
    identity = eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return solve_triangular(reversed_factor, identity, upper=False)


class Gaussian(Distribution):
    """A normal distribution of vectors.

    A subclass knows of its covariance matrix C half its log determinant, the matrices of columns whose products with
    their transposes add up to C, and x^T C^-1 x for vectors x and for the columns of a matrix.
    """

    support = constraints.real_vector
    has_rsample = True
    loc: Any

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    def _half_log_det(self) -> Tensor:
        raise NotImplementedError

    def _roots(self) -> list[Any]:
        raise NotImplementedError

    def _mahalanobis(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _mahalanobis_of_columns(self, columns: Tensor) -> Tensor:
        raise NotImplementedError

    def _expanded(self, matrix: Tensor) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + self._mahalanobis(value - self.loc)) - self._half_log_det()

    def entropy(self) -> Tensor:
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return entropy.expand(self._batch_shape)


def divergence(p: Gaussian, q: Gaussian) -> Any:
    """Return the Kullback-Leibler divergence KL(p || q)."""
    if p.event_shape != q.event_shape:
        raise ValueError("KL-divergence between two Multivariate Normals with different event shapes cannot be "
                         "computed")
    trace = sum(q._mahalanobis_of_columns(root).sum(-1) for root in p._roots())
    return (q._half_log_det() - p._half_log_det()
            + 0.5 * (trace + q._mahalanobis(q.loc - p.loc) - p.event_shape[0]))

"""``torch.distributions.lowrank_multivariate_normal``."""
from __future__ import annotations

from typing import Any, ClassVar

from .._tensor import Tensor
from ..functional import broadcast_tensors
from ..linalg import cholesky, solve_triangular
from . import constraints
from ._gaussian import Gaussian, log_diagonal, squared_length, squared_lengths
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Gaussian):
    """The normal distribution of n-vectors of the covariance matrix W W^T + D, where ``cov_factor`` W is n x m and
    ``cov_diag`` is the diagonal of D (``torch.distributions.LowRankMultivariateNormal``).

    Its matrix is inverted by way of the m x m matrix I + W^T D^-1 W, the capacitance (Woodbury). Raises ValueError for
    shapes that do not fit.
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real_vector,
                                      "cov_factor": constraints.independent(constraints.real, 2),
                                      "cov_diag": constraints.independent(constraints.positive, 1)}
    _batched = ("loc", "cov_factor", "cov_diag")

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            column, self.cov_factor, diagonal = broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            raise ValueError(f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag "
                             f"{cov_diag.shape}") from error
        self.loc, self.cov_diag = column[..., 0], diagonal[..., 0]
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = cholesky(_plus_identity(self._weighted() @ cov_factor))
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    def _weighted(self) -> Any:
        """Compute W^T D^-1."""
        return self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)

    @lazy_property
    def variance(self) -> Any:
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        deviation = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        factor = self._unbroadcasted_cov_factor / deviation
        return self._expanded(deviation * cholesky(_plus_identity(factor @ factor.mT)))

    @lazy_property
    def covariance_matrix(self) -> Any:
        factor = self._unbroadcasted_cov_factor
        return self._expanded(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Any:
        root = solve_triangular(self._capacitance_tril, self._weighted(), upper=False)
        return self._expanded(self._unbroadcasted_cov_diag.reciprocal().diag_embed() - root.mT @ root)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        of_factor = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc.dtype, self.loc.device)
        of_diagonal = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return (self.loc + (self._unbroadcasted_cov_factor @ of_factor.unsqueeze(-1)).squeeze(-1)
                + self._unbroadcasted_cov_diag.sqrt() * of_diagonal)

    def _half_log_det(self) -> Any:
        return log_diagonal(self._capacitance_tril) + 0.5 * self._unbroadcasted_cov_diag.log().sum(-1)

    def _roots(self) -> list[Any]:
        return [self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag.sqrt().diag_embed()]

    def _mahalanobis(self, x: Tensor) -> Tensor:
        projected = (self._weighted() @ x.unsqueeze(-1)).squeeze(-1)
        return ((x.pow(2) / self._unbroadcasted_cov_diag).sum(-1)
                - squared_length(self._capacitance_tril, projected))

    def _mahalanobis_of_columns(self, columns: Any) -> Any:
        return ((columns.pow(2) / self._unbroadcasted_cov_diag.unsqueeze(-1)).sum(-2)
                - squared_lengths(self._capacitance_tril, self._weighted() @ columns))


def _plus_identity(matrix: Tensor) -> Tensor:
    return matrix + matrix.new_ones(matrix.shape[-1]).diag_embed()

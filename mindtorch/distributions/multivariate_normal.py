"""``torch.distributions.multivariate_normal``."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from .._methods.functions import cholesky_inverse
from .._tensor import Tensor
from ..functional import broadcast_shapes
from ..linalg import cholesky
from . import constraints
from ._gaussian import Gaussian, log_diagonal, precision_to_scale_tril, squared_length, squared_lengths
from .distribution import Distribution as Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


FORMS = ("covariance_matrix", "precision_matrix", "scale_tril")


class OfMatrix:
    """A distribution of a covariance in one of three forms; the others come from the Cholesky factor on demand."""

    _unbroadcasted_scale_tril: Any
    _expanded: Callable[[Any], Any]

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._expanded(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        return self._expanded(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)


class MultivariateNormal(OfMatrix, Gaussian):
    """The normal distribution of vectors, of a mean, and one of: covariance matrix, its inverse, and its Cholesky
    factor (``torch.distributions.MultivariateNormal``). Raises ValueError for none or several of these, and for too few
    dimensions.
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real_vector,
                                      "covariance_matrix": constraints.positive_definite,
                                      "precision_matrix": constraints.positive_definite,
                                      "scale_tril": constraints.lower_cholesky}
    _batched = ("loc", *FORMS)

    def __init__(self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
                 validate_args: bool | None = None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        form, matrix = given_form(ValueError, covariance_matrix, precision_matrix, scale_tril)
        if matrix.dim() < 2:
            what = "scale_tril matrix" if form == "scale_tril" else form
            raise ValueError(f"{what} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, form, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = cholesky_factor(form, matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._expanded(cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + (self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self) -> Tensor:
        return log_diagonal(self._unbroadcasted_scale_tril)

    def _roots(self) -> list[Any]:
        return [self._unbroadcasted_scale_tril]

    def _mahalanobis(self, x: Tensor) -> Tensor:
        return squared_length(self._unbroadcasted_scale_tril, x)

    def _mahalanobis_of_columns(self, columns: Tensor) -> Tensor:
        return squared_lengths(self._unbroadcasted_scale_tril, columns)


def given_form(error: type[Exception], *matrices: Any) -> tuple[str, Any]:
    """Return the one matrix that is given of the three forms, and the form's name."""
    given = [(form, matrix) for form, matrix in zip(FORMS, matrices, strict=True) if matrix is not None]
    if len(given) != 1:
        raise error("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    return given[0]


def cholesky_factor(form: str, matrix: Tensor) -> Any:
    """Return the Cholesky factor of the covariance matrix, from one of the three forms."""
    if form == "scale_tril":
        return matrix
    return cholesky(matrix) if form == "covariance_matrix" else precision_to_scale_tril(matrix)

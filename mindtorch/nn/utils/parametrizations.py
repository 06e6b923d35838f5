"""Parametrizations that are often wanted; mirrors ``torch.nn.utils.parametrizations``."""
from __future__ import annotations

from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._creation import eye, zeros_like
from ..._creation.random import randn
from ..._methods.functions import _weight_norm, add, allclose, cat, geqrf, matrix_exp, mv, norm_except_dim, vdot
from ..._tensor import Tensor
from ...linalg import householder_product, solve
from .. import functional as F
from ..module import Module
from .parametrize import register_parametrization
from .spectral_norm import _output_dim

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
__dir__ = __all__.copy

ORTHOGONAL_MAPS = ("matrix_exp", "cayley", "householder")


def _tensor_of(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


# -- orthogonal matrices -----------------------------------------------------------------------------------------------

def _is_orthogonal(Q: Tensor) -> bool:
    n, k = Q.shape[-2:]
    identity = eye(k, dtype=Q.dtype, device=Q.device)
    return allclose(Q.mH @ Q, identity, atol=10 * n * (2.0 ** -52 if Q.dtype.itemsize // (1 + Q.is_complex()) == 8
                                                       else 2.0 ** -23))


def _make_orthogonal(A: Tensor) -> Tensor:
    """Return the orthogonal factor Q of A = Q R, where R has a positive diagonal."""
    reflectors, tau = geqrf(A)
    Q = householder_product(reflectors, tau)
    return Q * reflectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """Makes of a matrix (..., n, k) an orthogonal one: of its lower triangle, by one of three maps."""

    base: Any

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:  # map the change from the matrix that was there in the beginning
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.size(-2) < X.size(-1)
        tall = X.mT if wide else X
        n, k = tall.shape[-2:]
        if self.orthogonal_map == "householder":
            below = tall.tril(diagonal=-1)
            Q = householder_product(below, 2.0 / (1.0 + (below * below).sum(dim=-2)))
            # the diagonal holds signs: whole numbers, through which no gradient goes
            Q = Q * tall.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            lower = tall.tril()
            if n != k:
                lower = cat([lower, lower.new_zeros(n, n - k).expand(*lower.shape[:-2], -1, -1)], dim=-1)
            skew = lower - lower.mH
            if self.orthogonal_map == "matrix_exp":
                Q = matrix_exp(skew)
            else:  # Cayley's map, (1 - A/2)^-1 (1 + A/2)
                identity = eye(n, dtype=skew.dtype, device=skew.device)
                Q = solve(add(identity, skew, alpha=-0.5), add(identity, skew, alpha=0.5))
            Q = Q if n == k else Q[..., :k]
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. "
                             f"Got a tensor of shape {Q.shape}.")
        wide = Q.size(-2) < Q.size(-1)
        tall = Q.mT if wide else Q
        n, k = tall.shape[-2:]
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley "
                                          "parametrizations when use_trivialization=False.")
            reflectors, tau = geqrf(tall)
            signs = reflectors.diagonal(dim1=-2, dim2=-1)
            signs.sign_()
            signs[tau == 0.0] *= -1  # LAPACK gives exactly 0 where it does not reflect
            return reflectors.mT if wide else reflectors
        if n != k:  # complete it to a square orthogonal matrix
            tall = cat([tall, randn((*tall.shape[:-2], n, n - k), dtype=tall.dtype, device=tall.device)], dim=-1)
        self.base = tall.clone() if n == k and _is_orthogonal(tall) else _make_orthogonal(tall)
        beginning = zeros_like(Q)  # which the map takes to the identity
        beginning.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return beginning


def orthogonal(module: Module, name: str = "weight", orthogonal_map: str | None = None, *,
               use_trivialization: bool = True) -> Module:
    """Make a matrix (..., n, k) of ``module`` orthogonal, or unitary (``torch.nn.utils.parametrizations.orthogonal``).

    ``orthogonal_map`` is 'matrix_exp', 'cayley' or 'householder'; by default the first for square and complex matrices,
    else the last. Returns the module. Raises ValueError if there is no such matrix, or no such map.
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in ORTHOGONAL_MAPS:
        raise ValueError('orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
                         f"Got: {orthogonal_map}")
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)


# -- direction and length ----------------------------------------------------------------------------------------------

class _WeightNorm(Module):
    """Makes a weight of its lengths along ``dim`` and of vectors that have its directions."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return _weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    """Train lengths (``original0``, size 1 but along ``dim``) and directions (``original1``, as the weight) of a weight
    separately (``torch.nn.utils.parametrizations.weight_norm``). With ``dim`` None there is one length. Returns the
    module.
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def read_old_names(state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
        """Rename ``weight_g`` and ``weight_v``, the names in states of ``torch.nn.utils.weight_norm``."""
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(read_old_names)
    return module


# -- spectral norm -----------------------------------------------------------------------------------------------------

class _SpectralNorm(Module):
    """Divides a weight by its largest singular value, which the power method finds better with each training step."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got n_power_iterations="
                             f"{n_power_iterations}")
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight)
            for name, size in zip(("_u", "_v"), matrix.size(), strict=True):
                self.register_buffer(name, F.normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    @no_grad()
    def _power_method(self, matrix: Tensor, iterations: int) -> None:
        for _ in range(iterations):
            F.normalize(mv(matrix, self._v), dim=0, eps=self.eps, out=self._u)
            F.normalize(mv(matrix.mH, self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # copies, since a second forward pass before the backward pass writes into the vectors
        return weight / vdot(self._u.clone(), mv(matrix, self._v.clone()))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Module:
    """Divide a weight, seen as a matrix with rows along ``dim``, by its largest singular value
    (``torch.nn.utils.parametrizations.spectral_norm``). Returns the module. Raises ValueError if the module has no such
    tensor, or if ``n_power_iterations`` is not positive, and IndexError if the weight has no dimension ``dim``.
    """
    weight = _tensor_of(module, name)
    dim = _output_dim(module) if dim is None else dim
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))

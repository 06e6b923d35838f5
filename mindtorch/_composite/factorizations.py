"""Linear algebra in terms of factorizations: determinants, inverses, norms, ranks, pseudo-inverses."""
from __future__ import annotations

import math
from collections.abc import Callable
from math import prod
from typing import Any

from .._backends.common.matrices import check_floating, check_matrix, check_norm_dtype, check_square
from .._base.about import about
from .._base.errors import NAMES, check
from .._base.layout import Ints, wrap_dim
from .._base.linalg_error import LinAlgError, first_failure
from .._base.warnings import warn_once
from .._creation import full, zeros
from .._dispatch.aten import (
    _linalg_det as det, _linalg_eigh as eigh, _linalg_slogdet as slogdet, _linalg_solve_ex as solve_ex,
    _linalg_svd as svd, linalg_cholesky_ex as cholesky_ex, linalg_eig as eig,
    linalg_householder_product as householder_product, linalg_inv_ex as inv_ex, linalg_ldl_factor_ex as ldl_factor_ex,
    linalg_lu_factor_ex as lu_factor_ex, linalg_lu_solve as lu_solve_, linalg_matrix_exp as matrix_exp,
    linalg_pinv_atol_rtol_tensor as pinv, linalg_qr as qr, linalg_vector_norm as vector_norm, where_self as where,
)
from .._dispatch.keys import AUTOGRAD, DUAL
from .._dispatch.local import local
from .._dispatch.return_types import pack
from .._dispatch.schemas import registry
from .._dtype import FLOATING, finfo, int64
from . import COMPOSITES

inf = math.inf


def records(x: Any) -> bool:
    """Whether a tensor is differentiated, in either mode: the derivative of singular values takes vectors."""
    return bool(x._keys & DUAL or (x._keys & AUTOGRAD and local.grad_enabled))


def packed(name: str, results: Any) -> Any:
    """Results as the operator of this name returns them."""
    return pack(registry[name], list(results))


def checked(name: str, unchecked: Callable[..., Any], message: str, error: type[Exception] = LinAlgError,
            definite: bool = False) -> Callable[..., Any]:
    """The operator that raises where the status, which ``unchecked`` returns behind the results, is not 0: ``{0}`` in
    the message is the batch element, ``{1}`` the status. ``definite`` says that the matrix had to be positive definite.
    """

    def row(*args: Any) -> Any:
        *results, info = unchecked(*args)
        failure = None if info.is_meta else first_failure(info._host("check"))
        if failure is not None:
            raise about(error(message.format(*failure)), "singular matrix", definite=definite)
        return results[0] if len(results) == 1 else packed(name, results)

    return row


# -- determinants, inverses, systems -------------------------------------------------------------------------

def logdet(self: Any) -> Any:
    """``torch.logdet``: the logarithm of the determinant, NaN for a negative one of a real matrix."""
    check_square("logdet", self)
    check_floating("logdet", self, low_precision=False)
    sign, logabsdet = slogdet(self)[:2]
    if self.is_complex():
        return logabsdet + sign.log()
    return where(sign == -1, full((), math.nan, dtype=logabsdet.dtype, device=self.device), logabsdet)


linalg_inv = checked("linalg_inv", inv_ex, "linalg.inv: {0}The diagonal element {1} is zero, the inversion could not "
                     "be completed because the input matrix is singular.")
linalg_solve = checked("linalg_solve", lambda A, B, left=True: solve_ex(A, B, left)[::3],
                       "torch.linalg.solve: {0}The solver failed because the input matrix is singular.")


def linalg_tensorinv(self: Any, ind: int = 2) -> Any:
    """``torch.linalg.tensorinv``: the inverse under ``tensordot`` over the first ``ind`` dimensions."""
    check(ind > 0, lambda: f"Expected a strictly positive integer for 'ind', got {ind}")
    first, rest = tuple(self.shape[:ind]), tuple(self.shape[ind:])
    check(prod(first) == prod(rest), lambda: "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
          f"prod(self.shape[:ind]), but got {prod(rest)} != {prod(first)}")
    return linalg_inv(self.reshape((prod(rest), prod(first)))).reshape(rest + first)


def linalg_tensorsolve(self: Any, other: Any, dims: Ints | None = None) -> Any:
    """``torch.linalg.tensorsolve``: X of ``tensordot(A, X, X.ndim) = B``."""
    moved = self
    if dims is not None:
        moved = self.movedim(tuple(dims), tuple(range(self.ndim - len(dims), self.ndim)))
    shape = tuple(moved.shape[other.ndim:])
    rows = prod(moved.shape[:other.ndim])
    check(prod(shape) == rows, lambda: "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
          f"prod(self.shape[:other.ndim]), but got {prod(shape)} != {rows}")
    return linalg_solve(moved.reshape((rows, rows)), other.flatten() if other.ndim != 1 else other).reshape(shape)


# -- LU, LDL, Cholesky, QR -----------------------------------------------------------------------------------

linalg_lu_factor = checked(
    "linalg_lu_factor", lu_factor_ex, "torch.linalg.lu_factor: {0}U[{1},{1}] is zero and using it on lu_solve would "
    "result in a division by zero. If you still want to perform the factorization, consider calling "
    "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)", RuntimeError)
linalg_ldl_factor = checked(
    "linalg_ldl_factor", ldl_factor_ex,
    "torch.linalg.ldl_factor: {0}the factorization could not be completed because D[{1},{1}] is zero.")
linalg_cholesky = checked(
    "linalg_cholesky", cholesky_ex, "linalg.cholesky: {0}The factorization could not be completed because the input is "
    "not positive-definite (the leading minor of order {1} is not positive-definite).", definite=True)


# -- singular values and eigenvalues -------------------------------------------------------------------------

def linalg_svdvals(A: Any, driver: str | None = None) -> Any:
    return svd(A, False, records(A), driver)[1]


def deprecated_qr(self: Any, some: bool = True) -> Any:
    """``torch.qr``: what ``torch.linalg.qr`` returns, reduced if ``some``."""
    warn_once("torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\n"
              "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\n"
              "Q, R = torch.qr(A, some)\nshould be replaced with\n"
              "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')")
    return packed("qr", qr(self, "reduced" if some else "complete"))


def svd_of(self: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """``torch.svd``: U, S and V, zeros in the place of U and V where they are not wanted."""
    check(self.ndim >= 2,
          lambda: f"linalg.svd: input should have at least 2 dimensions, but has {self.ndim} dimensions instead")
    if compute_uv:
        U, S, Vh = svd(self, not some)
        return packed("svd", (U, S, Vh.mH))
    *batch, n, m = self.shape
    U, V = (zeros((*batch, k, k), dtype=self.dtype, device=self.device) for k in (n, m))
    return packed("svd", (U, linalg_svdvals(self), V.mT))


def linalg_eigvals(self: Any) -> Any:
    check_square("linalg.eigvals", self)
    return eig(self)[0]


# -- norms ---------------------------------------------------------------------------------------------------

def linalg_matrix_norm(self: Any, ord: Any = "fro", dim: Ints = (-2, -1), keepdim: bool = False,
                       dtype: Any = None) -> Any:
    """``torch.linalg.matrix_norm``: 'fro', 'nuc', or 1, 2, inf and their negatives."""
    function = "linalg.matrix_norm"
    check(not isinstance(ord, complex), lambda: f"{function}: Expected a non-complex scalar as the order of norm.")
    check(isinstance(ord, str) or abs(ord) in (1, 2, inf), lambda: f"{function}: Order {ord} not supported.")
    check(not isinstance(ord, str) or ord in ("fro", "nuc"), lambda: f"{function}: Order {ord} not supported.")
    check_matrix(function, self)
    by_values = ord == "nuc" or (not isinstance(ord, str) and abs(ord) == 2)
    check_floating(function, self, low_precision=not by_values)
    check(len(dim) == 2, lambda: f"{function}: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    rows, columns = (wrap_dim(d, self.ndim) for d in dim)
    check(rows != columns, lambda: f"{function}: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return vector_norm(self, 2, (rows, columns), keepdim, dtype)
    if by_values:
        return _norm_of_values(self, ord, rows, columns, keepdim, dtype)
    first, second = (columns, rows) if abs(ord) == inf else (rows, columns)
    second -= second > first and not keepdim
    sums = vector_norm(self, 1, (first,), keepdim, dtype)
    return sums.amax(second, keepdim) if ord > 0 else sums.amin(second, keepdim)


def _norm_of_values(self: Any, ord: Any, rows: int, columns: int, keepdim: bool, dtype: Any) -> Any:
    """The nuclear norm, or the largest or smallest singular value."""
    check_norm_dtype("linalg.matrix_norm", self._dtype, dtype)
    order = (*(d for d in range(self.ndim) if d not in (rows, columns)), rows, columns)
    values = linalg_svdvals((self if dtype is None else self.to(dtype)).permute(order))
    if ord == "nuc":
        result = values.sum((-1,), keepdim=keepdim)
    else:
        result = values.amax((-1,), keepdim) if ord > 0 else values.amin((-1,), keepdim)
    if not keepdim:
        return result
    return result.unsqueeze(-1).permute(tuple(order.index(d) for d in range(self.ndim)))


def nuclear_norm(self: Any, dim: Ints, keepdim: bool = False) -> Any:
    """``torch.nuclear_norm``: the sum of the singular values of the matrices in two dimensions."""
    return linalg_matrix_norm(self, "nuc", dim, keepdim)


def linalg_norm(self: Any, ord: Any = None, dim: Ints | None = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """``torch.linalg.norm``: a matrix norm of two dimensions or, given ``ord``, a matrix; else a vector's."""
    named = isinstance(ord, str)
    if dim is not None:
        check(len(dim) in (1, 2),
              lambda: f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    elif ord is not None and not named:
        check(self.ndim in (1, 2),
              lambda: f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.ndim}D.")
    if named or (ord is not None and (len(dim) if dim is not None else self.ndim) == 2):
        return linalg_matrix_norm(self, ord, (-2, -1) if dim is None else dim, keepdim, dtype)
    return vector_norm(self, 2 if ord is None else ord, dim, keepdim, dtype)


def linalg_cond(self: Any, p: Any = None) -> Any:
    """``torch.linalg.cond``: the norm of a matrix times that of its inverse."""
    check(self.ndim >= 2,
          lambda: f"linalg.cond: The input tensor must have at least 2 dimensions, got shape {list(self.shape)}")
    check(p in (None, "fro", "nuc") or (not isinstance(p, str) and abs(p) in (1, 2, inf)),
          lambda: f"linalg.cond got an invalid norm type: {p}")
    if not self.numel():
        return zeros(self.shape[:-2], dtype=self.dtype.to_real(), device=self.device)
    if p is None or p in (2, -2):
        values = linalg_svdvals(self)
        first, last = values.narrow(-1, 0, 1), values.narrow(-1, -1, 1)
        return (last / first if p == -2 else first / last).squeeze(-1)
    check_square(f"linalg.cond(ord={p})" if not isinstance(p, str) else "linalg.cond", self)
    if p == "nuc":
        values = linalg_svdvals(self)
        return values.sum(-1) * values.reciprocal().sum(-1)
    inverse, info = inv_ex(self)  # of a singular matrix, which is worst conditioned, infinite
    inverse = inverse.masked_fill((info != 0).unsqueeze(-1).unsqueeze(-1), inf)
    return (linalg_matrix_norm(self, p) * linalg_matrix_norm(inverse, p)).nan_to_num(inf, inf, -inf)


# -- rank, pseudo-inverse ------------------------------------------------------------------------------------

def _refuse_complex(function: str, atol: Any, rtol: Any) -> None:
    for name, value in (("atol", atol), ("rtol", rtol)):
        if hasattr(value, "dtype") and value.is_complex():
            raise RuntimeError(f"{function}: {name} tensor of complex type is not supported. Got {value.dtype}")


def _scalar(self: Any, value: Any) -> Any:
    """A tolerance as a tensor of the singular values' dtype."""
    if hasattr(value, "dtype"):
        return value
    return full((), value, dtype=self.dtype.to_real(), device=self.device)


def _tolerances(self: Any, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """Tolerances as tensors; by default, and without an absolute one, eps * max(rows, columns) relative."""
    default = 0.0 if rtol is not None else finfo(self.dtype.to_real()).eps * max(self.shape[-2:])
    if rtol is None and hasattr(atol, "dtype"):
        rtol = where(atol > 0, _scalar(self, 0.0), _scalar(self, default))
    elif rtol is None:
        rtol = 0.0 if atol is not None and atol > 0 else default
    return _scalar(self, 0.0 if atol is None else atol), _scalar(self, rtol)


def _above(values: Any, largest: Any, atol: Any, rtol: Any) -> Any:
    """Whether each singular value counts as not zero."""
    return values > atol.unsqueeze(-1).maximum(rtol.unsqueeze(-1) * largest)


def linalg_pinv(self: Any, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """``torch.linalg.pinv``: the inverse on the space where the singular values are above the tolerance."""
    check(self._dtype.category >= FLOATING and self._dtype.itemsize > 2 and self.ndim >= 2,
          lambda: f"linalg.pinv({NAMES[self._dtype.name]}{{{list(self.shape)}}}): expected a tensor with 2 or more "
                  "dimensions of float, double, cfloat or cdouble types")
    self = self.detach()
    _refuse_complex("torch.linalg.pinv", atol, rtol)
    atol, rtol = _tolerances(self, atol, rtol)
    *batch, n, m = self.shape
    if not self.numel():
        return zeros((*batch, m, n), dtype=self.dtype, device=self.device)
    if hermitian:
        values, vectors = eigh(self)
        size = values.abs()
        kept = _above(size, size.amax((-1,), True), atol, rtol)
        return vectors @ (where(kept, values.reciprocal(), _scalar(self, 0.0)).unsqueeze(-1) * vectors.mH)
    U, S, Vh = svd(self, False)
    kept = _above(S, S.narrow(-1, 0, 1), atol, rtol)
    return Vh.mH @ (where(kept, S.reciprocal(), _scalar(self, 0.0)).to(self.dtype).unsqueeze(-1) * U.mH)


def pinv_with_rcond(self: Any, rcond: Any = 1e-15, hermitian: bool = False) -> Any:
    is_floating = self._dtype.category >= FLOATING
    atol, rtol = (_scalar(self, 0.0), _scalar(self, rcond)) if is_floating else (None, None)
    return pinv(self, atol, rtol, hermitian)


def linalg_matrix_rank(self: Any, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """``torch.linalg.matrix_rank``: how many singular values are above the tolerance."""
    check_matrix("torch.linalg.matrix_rank", self, "input")
    _refuse_complex("torch.linalg.matrix_rank", atol, rtol)
    check(self._dtype.category >= FLOATING and self._dtype.itemsize > 2,
          lambda: f"This function doesn't handle types other than float and double, got {NAMES[self._dtype.name]}")
    self = self.detach()
    atol, rtol = _tolerances(self, atol, rtol)
    if not self.numel():
        return zeros(self.shape[:-2], dtype=int64, device=self.device)
    values = eigh(self, "L", False)[0].abs() if hermitian else svd(self, False, False)[1]
    largest = values.amax((-1,), True)
    return _above(values, largest, atol, rtol).sum(-1)


COMPOSITES.add(logdet, linalg_tensorinv, linalg_tensorsolve, linalg_svdvals, linalg_eigvals, linalg_matrix_norm,
               linalg_norm, linalg_cond)
COMPOSITES.update({
    "linalg_det": lambda A: det(A)[0],
    "det": lambda self: det(self)[0],
    **dict.fromkeys(("linalg_slogdet", "slogdet"), lambda A: packed("linalg_slogdet", slogdet(A)[:2])),
    **dict.fromkeys(("linalg_inv", "inverse"), linalg_inv),
    "linalg_solve_ex": lambda *args: packed("linalg_solve_ex", solve_ex(*args)[::3]),
    "linalg_solve": linalg_solve,
    "linalg_lu_factor": linalg_lu_factor,
    "linalg_ldl_factor": linalg_ldl_factor,
    "linalg_cholesky": linalg_cholesky,
    "_lu_with_info": lambda self, pivot=True, check_errors=True: packed(  # which PyTorch does not look at
        "_lu_with_info", lu_factor_ex(self, pivot, False)),
    "nuclear_norm": lambda self, keepdim=False: nuclear_norm(self, (-2, -1), keepdim),
    "nuclear_norm.dim": nuclear_norm,
    "linalg_svd": lambda A, full_matrices=True, driver=None: packed("linalg_svd", svd(A, full_matrices, True, driver)),
    "linalg_eigh": lambda self, UPLO="L": packed("linalg_eigh", eigh(self, UPLO, True)),
    "lu_solve": lambda self, LU_data, LU_pivots: lu_solve_(LU_data, LU_pivots, self),
    "qr": deprecated_qr,
    "orgqr": lambda self, input2: householder_product(self, input2),
    "svd": svd_of,
    "linalg_eigvalsh": lambda self, UPLO="L": eigh(self, UPLO, records(self))[0],
    "linalg_matrix_norm.str_ord": linalg_matrix_norm,
    "linalg_norm.ord_str": linalg_norm,
    "linalg_cond.p_str": linalg_cond,
    "linalg_pinv.atol_rtol_tensor": linalg_pinv,
    "linalg_pinv.atol_rtol_float": lambda self, atol=None, rtol=None, hermitian=False: pinv(
        self, *_tolerances(self, atol, rtol), hermitian),
    "linalg_pinv.rcond_tensor": pinv_with_rcond,
    "linalg_pinv": pinv_with_rcond,
    "pinverse": pinv_with_rcond,
    "linalg_matrix_rank.atol_rtol_tensor": linalg_matrix_rank,
    "linalg_matrix_rank.atol_rtol_float": linalg_matrix_rank,
    **dict.fromkeys(("linalg_matrix_rank.tol_tensor", "linalg_matrix_rank"),
                    lambda self, tol, hermitian=False: linalg_matrix_rank(self, tol, 0.0, hermitian)),
    "matrix_exp": lambda self: matrix_exp(self),
})

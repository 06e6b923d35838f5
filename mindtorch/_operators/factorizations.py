"""Meta kernels of matrix factorizations and of what is computed by them."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from .._backends.common.matrices import (
    check_floating, check_lapack, check_matrix, check_norm_dtype, check_same_dtype, check_square, column_major, columns,
    strided,
)
from .._base.about import about
from .._base.errors import NAMES, check
from .._base.layout import Ints, Spec, broadcast_shapes, wrap_dim
from .._base.linalg_error import LinAlgError, first_failure
from .._base.warnings import warn_once
from .._creation.factories import full, zeros
from .._dispatch.aten import (
    _linalg_det as det, _linalg_eigh as eigh, _linalg_slogdet as slogdet, _linalg_solve_ex as solve_ex,
    _linalg_svd as svd, cat, cholesky_solve, linalg_cholesky_ex as cholesky_ex, linalg_det, linalg_eig as eig,
    linalg_householder_product as householder_product, linalg_inv_ex as inv_ex, linalg_ldl_factor_ex as ldl_factor_ex,
    linalg_lu_factor_ex as lu_factor_ex, linalg_lu_solve as lu_solve, linalg_lu_solve as lu_solve_,
    linalg_matrix_exp as matrix_exp, linalg_pinv_atol_rtol_tensor as pinv, linalg_qr as qr, linalg_solve as solve,
    linalg_solve_triangular as solve_triangular, linalg_svd, linalg_vector_norm as vector_norm, lu_unpack, ormqr,
    where_self as where,
)
from .._dispatch.keys import AUTOGRAD, DUAL
from .._dispatch.local import local
from .._dispatch.return_types import pack
from .._dispatch.schemas import registry
from .._dtype import COMPLEX, FLOATING, INTEGER, finfo, int32, int64
from .._transforms.batching.rules import each_element, trailing
from . import composites, operator, schemas
from .linalg import adjoint, adjoint as _adjoint, conj

Specs = tuple[Spec, ...]


class Factorization:
    """The meta kernel of an operator that computes something of a matrix, or of each matrix of a batch.

    ``function`` is what PyTorch's errors call it. The matrix has to be square unless ``square`` is False, and floating
    point or complex unless ``floating`` is False; where ``half`` is False, 16-bit dtypes are refused in the same place.
    ``outputs(A, *options)`` checks the options and returns the outputs' specifications. ``kernel`` is what PyTorch's
    error calls the kernel that has no implementation for other dtypes than LAPACK's four.
    """

    def __init__(self, function: str, outputs: Callable[..., Any], kernel: str = "", *, square: bool = True,
                 floating: bool = True, half: bool = True):
        self.function = function
        self.outputs = self.__wrapped__ = outputs
        self.kernel = kernel
        self.check_shape = check_square if square else check_matrix
        self.floating = floating
        self.half = half

    def __call__(self, A: Any, *options: Any) -> Any:
        self.check_shape(self.function, A)
        if self.floating:
            check_floating(self.function, A, self.half)
        outputs = self.outputs(A, *options)
        if self.kernel:
            check_lapack(self.kernel, A._dtype)
        return outputs


def batch_of(matrix: Any) -> Ints:
    return tuple(matrix.shape[:-2])


def like(A: Any, *options: Any) -> Spec:
    """Describe a factor that has A's shape and dtype."""
    return column_major(A.shape, A._dtype)


def solution(A: Any, B: Any) -> Spec:
    """Describe the solutions of the systems A X = B."""
    return column_major((*broadcast_shapes(A.shape[:-2], B.shape[:-2]), *B.shape[-2:]), B._dtype)


inf = math.inf


def records(x: Any) -> bool:
    """Whether a tensor is differentiated, in either mode: the derivative of singular values takes vectors."""
    return bool(x._keys & DUAL or (x._keys & AUTOGRAD and local.grad_enabled))


def packed(name: str, results: Any) -> Any:
    """Results as the operator of this name returns them."""
    return pack(registry[name], list(results))


def checked(name: str, unchecked: Callable[..., Any], message: str, error: type[Exception] = LinAlgError,
            definite: bool = False) -> Callable[..., Any]:
    """Return the operator that raises where the status, which ``unchecked`` returns behind the results, is not 0. In
    the message, ``{0}`` is the batch element and ``{1}`` the status; ``definite`` demands a positive definite
    matrix.
    """

    def row(*args: Any) -> Any:
        *results, info = unchecked(*args)
        failure = None if info.is_meta else first_failure(info._host("check"))
        if failure is not None:
            raise about(error(message.format(*failure)), "singular matrix", definite=definite)
        return results[0] if len(results) == 1 else packed(name, results)

    return row


def linalg_svdvals(A: Any, driver: str | None = None) -> Any:
    return svd(A, False, records(A), driver)[1]


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
    """Return the nuclear norm, or the largest or smallest singular value."""
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


Pair = tuple[Any, Any]

schemas("""
out, exact dtype, no overlap:
    linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)  # The factors of the matrix `A` into a lower and an upper triangular one, packed into one matrix, the row exchanges, and a number other than 0 where a pivot is zero.
    linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)  # The permutation, the lower and the upper triangular matrix whose product is `A`.
    linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)  # The inverse of the matrix `A`, and a number other than 0 where it has none.
    linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)  # The triangular factor L of a positive definite matrix `self`, which is L times its conjugate transpose, and a number other than 0 where it is not positive definite.
    linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)  # A matrix with orthonormal columns and an upper triangular one whose product is `A`.
function, out, exact dtype, no overlap:
    lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)  # The permutation, the lower and the upper triangular matrix that `LU_data` and `LU_pivots` hold in packed form.
operator only:
    _linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)  # The determinant of the matrix `A`, and the packed factors from which it is computed.
    _linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)  # The sign of the determinant of `A` and the logarithm of its absolute value, and the packed factors from which they are computed.
    _linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)  # The singular value decomposition of the matrix `A`, for `linalg_svd`.
    _linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)  # The eigenvalues and eigenvectors of the symmetric or Hermitian matrix `A`, for `linalg_eigh`.
function, method, out, empty out resized:
    ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor  # The product of the orthogonal matrix that the Householder vectors `self` and scales `input2` make with the matrix `input3`.
function, method, out, contiguous out:
    cholesky(Tensor self, bool upper=False) -> Tensor  # The lower, or `upper`, triangular factor whose product with its conjugate transpose is the positive definite matrix `self`.
out, exact dtype:
    linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)  # The factors of a symmetric, or `hermitian`, matrix `self` into a triangular and a block-diagonal one, packed, the row exchanges, and a number other than 0 where it fails.
    linalg_det(Tensor A) -> Tensor  # The determinant of the square matrix `A`.
    linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)  # The sign of the determinant of `A`, and the logarithm of its absolute value.
out:
    linalg_householder_product(Tensor input, Tensor tau) -> Tensor  # The first columns of the product of the Householder reflections whose vectors are in `input` and whose scales are `tau`.
    linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)  # The solution that makes the product of `self` with it differ least from `b` in the sum of squares, with residuals, rank and singular values.
    linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor  # The Moore-Penrose inverse of `self`, for which singular values not above `atol` or `rtol` times the greatest count as zero.
    linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor
    linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor
    linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor
    linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor  # The rank of `input`: how many of its singular values are above `atol` and above `rtol` times the greatest.
    linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor
    linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor
    linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor
out, empty out resized:
    linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)  # The eigenvalues and eigenvectors, which may be complex, of the square matrix `self`.
out, exact dtype, strided out:
    linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)  # The left singular vectors, the singular values in descending order, and the conjugate transpose of the right singular vectors of the matrix `A`.
    linalg_eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)  # The eigenvalues in ascending order, and the eigenvectors, of a symmetric or Hermitian matrix `self`, of which only the triangle `UPLO` is read.
function, method:
    pinverse(Tensor self, float rcond=1e-15) -> Tensor  # The Moore-Penrose inverse of `self`, for which singular values not above `rcond` times the greatest count as zero.
""")  # noqa: E501


def status(A: Any) -> Spec:
    """Describe LAPACK's status, one integer for each matrix."""
    return Spec(batch_of(A), int32)


def like_and_status(A: Any, *options: Any) -> Specs:
    return like(A), status(A)


def _lu(A: Any) -> Specs:
    """LU and pivots."""
    return like(A), Spec((*batch_of(A), min(A.shape[-2:])), int32)


def meta_lu_factor_ex(A: Any, pivot: bool = True, check_errors: bool = False, function: str =
                      "torch.lu_factor") -> Specs:
    check(A.ndim >= 2,
          lambda: f"{function}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    check_lapack("lu_cpu", A._dtype)
    check(pivot or not A.numel(), "linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    return *_lu(A), status(A)


def meta_linalg_lu(A: Any, pivot: bool = True) -> Specs:
    meta_lu_factor_ex(A, pivot, False, "linalg.lu")
    return _unpacked(A, pivot)


def _unpacked(A: Any, with_p: bool = True, with_lu: bool = True) -> Specs:
    """P, L and U; what is not wanted is empty."""
    (n, m), batch, dtype = A.shape[-2:], batch_of(A), A._dtype
    k, nothing = min(n, m), Spec((0,), dtype)
    return (Spec((*batch, n, n), dtype) if with_p else nothing,
            Spec((*batch, n, k), dtype) if with_lu else nothing,
            Spec((*batch, k, m), dtype) if with_lu else nothing)


def meta_lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Specs:
    check_matrix("torch.lu_unpack", LU_data, "LU_data")
    check(not unpack_pivots or LU_pivots._dtype is int32,
          "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: "
          "this function is intended to be used with the output produced by torch.linalg.lu_factor")
    return _unpacked(LU_data, unpack_pivots, unpack_data)


def meta_slogdet(A: Any) -> Specs:
    return Spec(batch_of(A), A._dtype), Spec(batch_of(A), A._dtype.to_real()), *_lu(A)


_cholesky = Factorization("cholesky", like, "cholesky_cpu", floating=False)


def meta_cholesky(self: Any, upper: bool = False) -> Spec:
    return _cholesky(self) if self.numel() else Spec(tuple(self.shape), self._dtype)


def meta_ldl_factor_ex(self: Any, hermitian: bool = False, check_errors: bool = False) -> Specs:
    return like(self), Spec(tuple(self.shape[:-1]), int32), status(self)


def meta_qr(A: Any, mode: str = "reduced") -> Specs:
    check(mode in ("reduced", "complete", "r"),
          lambda: f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    (n, m), batch, dtype = A.shape[-2:], batch_of(A), A._dtype
    k = n if mode == "complete" else min(n, m)
    q = Spec((0,), dtype) if mode == "r" else column_major((*batch, n, k), dtype)
    return q, column_major((*batch, k, m), dtype)


def meta_householder_product(input: Any, tau: Any) -> Spec:
    check(input.ndim < 2 or input.shape[-2] >= input.shape[-1],
          "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]")
    _check_reflectors("torch.linalg.householder_product", input, tau)
    check_lapack("orgqr_cpu", input._dtype)
    return like(input)


def meta_ormqr(self: Any, input2: Any, input3: Any, left: bool = True, transpose: bool = False) -> Spec:
    tau, other = input2, input3
    _check_reflectors("torch.ormqr", self, tau)
    check(other.ndim >= 2, "torch.ormqr: other must have at least 2 dimensions.")
    size = other.shape[-2 if left else -1]
    check(size >= tau.shape[-1] and size == self.shape[-2],
          lambda: f"torch.ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2] and not less than "
                  f"tau.shape[-1], got other {list(other.shape)}, input {list(self.shape)}, tau {list(tau.shape)}")
    check(tau.shape[-1] <= self.shape[-1], "torch.ormqr: tau.shape[-1] must be less than or equal to input.shape[-1]")
    check(other.ndim == self.ndim and batch_of(other) == batch_of(self), lambda: "torch.ormqr: batch dimensions of "
          f"other.shape to be equal to input.shape[:-2], but got {list(other.shape)}")
    check(other._dtype is self._dtype, lambda: "torch.ormqr: Expected input and other to have the same dtype, but "
          f"input has dtype {NAMES[self._dtype.name]} and other has dtype {NAMES[other._dtype.name]}")
    check_lapack("ormqr_cpu", self._dtype)
    return like(other)


def _check_reflectors(function: str, matrix: Any, tau: Any) -> None:
    check(matrix.ndim >= 2, lambda: f"{function}: input must have at least 2 dimensions.")
    check(matrix.shape[-1] >= tau.size(-1),
          lambda: f"{function}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    check(matrix.ndim - tau.ndim == 1, lambda: f"{function}: Expected tau to have one dimension less than input, but "
          f"got tau.ndim equal to {tau.ndim} and input.ndim is equal to {matrix.ndim}")
    check(batch_of(matrix) == tuple(tau.shape[:-1]), lambda: f"{function}: Expected batch dimensions of tau to be "
          f"equal to input.shape[:-2], but got {list(tau.shape[:-1])}")
    check(tau._dtype is matrix._dtype, lambda: f"{function}: tau dtype {NAMES[tau._dtype.name]} does not match input "
          f"dtype {NAMES[matrix._dtype.name]}")


def meta_svd(A: Any, full_matrices: bool = False, compute_uv: bool = True, driver: str | None = None) -> Specs:
    check(driver is None, "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
                          "cuSOLVER backend.")
    (n, m), batch, dtype = A.shape[-2:], batch_of(A), A._dtype
    k = min(n, m)
    values, nothing = Spec((*batch, k), dtype.to_real()), Spec((0,), dtype)
    if not compute_uv:
        return nothing, values, nothing
    return (column_major((*batch, n, n if full_matrices else k), dtype), values,
            column_major((*batch, m if full_matrices else k, m), dtype))


def meta_eigh(A: Any, UPLO: str = "L", compute_v: bool = True) -> Specs:
    check(UPLO.upper() in ("L", "U"), lambda: f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return Spec(tuple(A.shape[:-1]), A._dtype.to_real()), like(A) if compute_v else Spec((0,), A._dtype)


def meta_eig(A: Any) -> Specs:
    check(A._dtype.category > INTEGER, lambda: f"Unknown Complex ScalarType for {NAMES[A._dtype.name]}")
    dtype = A._dtype if A._dtype.category == COMPLEX else A._dtype.to_complex()
    return Spec(tuple(A.shape[:-1]), dtype), column_major(A.shape, dtype)


def lstsq(self: Any, b: Any, rcond: float | None = None, driver: str | None = None) -> Specs:
    check(self.ndim >= 2, "torch.linalg.lstsq: input must have at least 2 dimensions.")
    check(b.ndim >= 1, "torch.linalg.lstsq: other must have at least 1 dimension.")
    check(0 <= self.ndim - b.ndim <= 1, lambda: "torch.linalg.lstsq: input.dim() must be greater or equal to "
          f"other.dim() and (input.dim() - other.dim()) <= 1, got {self.ndim} and {b.ndim}")
    check(driver in (None, "gels", "gelsy", "gelsd", "gelss"), lambda: "torch.linalg.lstsq: parameter `driver` should "
          f"be one of (gels, gelsy, gelsd, gelss), got '{driver}'")
    vector = self.ndim - b.ndim == 1 and b.shape == self.shape[:-1]
    right = (*b.shape, 1) if vector else tuple(b.shape)
    rows = right[-2] if len(right) > 1 else right[-1]
    check(rows == self.shape[-2],
          lambda: f"torch.linalg.lstsq: input.size(-2) should match other.size({-1 if vector else -2})")
    check(self._dtype is b._dtype, lambda: "torch.linalg.lstsq: Expected input and other to have the same dtype, but "
          f"got input's dtype {NAMES[self._dtype.name]} and other's dtype {NAMES[b._dtype.name]}")
    check(self._dtype.category > INTEGER and self._dtype.itemsize > 2,
          lambda: f"This function doesn't handle types other than float and double, got {NAMES[self._dtype.name]}")
    (n, m), dtype, real = self.shape[-2:], self._dtype, self._dtype.to_real()
    batch = broadcast_shapes(self.shape[:-2], right[:-2])
    shape, stride = (*batch, m, right[-1]), columns((*batch, max(n, m), right[-1]))
    if vector:
        shape, stride = shape[:-1], stride[:-1]
    driver = driver or "gelsy"
    return (strided(shape, dtype, stride),
            Spec(None if n > m and driver != "gelsy" else (0,), real),
            Spec((0,) if driver == "gels" else batch_of(self), int64),
            Spec((*batch_of(self), min(n, m)) if driver in ("gelsd", "gelss") else (0,), real))


def _refuse_complex(function: str, atol: Any, rtol: Any) -> None:
    for name, value in (("atol", atol), ("rtol", rtol)):
        if hasattr(value, "dtype") and value.is_complex():
            raise RuntimeError(f"{function}: {name} tensor of complex type is not supported. Got {value.dtype}")


def _scalar(self: Any, value: Any) -> Any:
    """Return a tolerance as a tensor of the singular values' dtype."""
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


def diagonal_of(x: Any) -> Any:
    return x.diagonal(0, -2, -1)


def diagonal_matrix(x: Any) -> Any:
    return x.diag_embed()


def real(x: Any) -> Any:
    return x.real if x.is_complex() else x


def det_grad(grad: Any, result: Any, A: Any, LU: Any, pivots: Any) -> Any:
    if not A.numel():
        return A.new_zeros(A.shape)
    scale = (grad * conj(result)).unsqueeze(-1)
    if local.grad_enabled:
        if not A.is_meta and (result == 0).any():
            return singular_det_grad(grad, A)
        return solve(adjoint(A), diagonal_matrix(scale.expand(A.shape[:-1])), True)
    tiny = 2.0**-52 if A.dtype.itemsize // (1 + A.is_complex()) == 8 else 2.0**-23
    factors = LU + diagonal_matrix((diagonal_of(LU) == 0).to(LU.dtype) * tiny)
    # det is continuously differentiable: a matrix next to a singular one has nearly its gradient
    perturbed = conj(diagonal_of(factors).prod(-1) * sign_of(pivots))
    scale = (grad * (result == 0).to(A.dtype) * perturbed).unsqueeze(-1) + scale
    return lu_solve(factors, pivots, diagonal_matrix(scale.expand(A.shape[:-1])), True, True)


def sign_of(pivots: Any) -> Any:
    """Return the sign of the permutation that LAPACK's pivots stand for."""
    moved = pivots != pivots.new_tensor(list(range(1, pivots.shape[-1] + 1)))
    return 1 - 2 * (moved.sum(-1) % 2)


def singular_det_grad(grad: Any, A: Any) -> Any:
    """Return the gradient by singular values, some of which are 0: the cofactors are products of the others."""
    U, S, Vh = linalg_svd(A, True)
    n = S.shape[-1]
    itself = diagonal_matrix(S.detach() * 0 + 1) != 0
    others = S.unsqueeze(-2).expand((*S.shape, n)).masked_fill(itself, 1).prod(-1)
    scale = (grad * conj(linalg_det(U) * linalg_det(Vh))).unsqueeze(-1)
    return (U * (scale * others).unsqueeze(-2)) @ Vh


def slogdet_grad(grads: Any, A: Any, sign: Any, LU: Any, pivots: Any) -> Any:
    g_sign, g_log = grads[:2]
    if A.is_complex() and g_sign is not None:
        turn = (conj(g_sign) * sign).imag * -1j
        g = turn if g_log is None else g_log + turn
    elif g_log is None:
        return A.new_zeros(A.shape)
    else:
        g = g_log.to(A.dtype)
    scaled = diagonal_matrix(g.unsqueeze(-1).expand(A.shape[:-1]))
    return solve(adjoint(A), scaled, True) if local.grad_enabled else lu_solve(LU, pivots, scaled, True, True)


def lu_grad(gL: Any, gU: Any, P: Any, L: Any, U: Any) -> Any:
    """Return the gradient of A = P L U."""
    n, m = L.shape[-2], U.shape[-1]
    k = min(n, m)
    L1, U1 = L.narrow(-2, 0, k), U.narrow(-1, 0, k)  # the square parts
    lower = adjoint(L1) @ gL.narrow(-2, 0, k) if gL is not None else None
    upper = gU.narrow(-1, 0, k) @ adjoint(U1) if gU is not None else None
    if n > k and gL is not None:  # the rows below are L2 U1, so a change of U1 is made up for by L2
        L2, gL2 = L.narrow(-2, k, n - k), gL.narrow(-2, k, n - k)
        upper = (0 if upper is None else upper) - adjoint(L2) @ gL2
    if m > k and gU is not None:  # as are the columns to the right, L1 U2
        U2, gU2 = U.narrow(-1, k, m - k), gU.narrow(-1, k, m - k)
        lower = (0 if lower is None else lower) - gU2 @ adjoint(U2)
    middle = (0 if lower is None else lower.tril(-1)) + (0 if upper is None else upper.triu())
    g = solve_triangular(adjoint(U1), middle, False, False)
    g = solve_triangular(adjoint(L1), g, True, True, True)
    if n > k:
        g = widened(g, n, m) if gL is None else cat([g, solve_triangular(adjoint(U1), gL2, False, False)], -2)
    elif m > k:
        g = widened(g, n, m) if gU is None else cat([g, solve_triangular(adjoint(L1), gU2, True, True, True)], -1)
    return P @ g


def lu_factor_grad(grad: Any, LU: Any, pivots: Any) -> Any:
    P, L, U = lu_unpack(LU, pivots)
    k = U.shape[-2]
    return lu_grad(grad.narrow(-1, 0, k).tril(-1), grad.narrow(-2, 0, k).triu(), P, L, U)


def lu_unpack_grad(grads: Any, LU_data_shape: Any) -> Any:
    _, gL, gU = grads
    n, m = LU_data_shape[-2:]
    parts = []
    if gL is not None:
        parts.append(widened(gL.tril(-1), n, m))
    if gU is not None:
        parts.append(widened(gU.triu(), n, m))
    return sum(parts[1:], parts[0])


def widened(x: Any, n: int, m: int) -> Any:
    """Matrices with rows and columns of zeros added."""
    if x.shape[-2] < n:
        x = cat([x, x.new_zeros((*x.shape[:-2], n - x.shape[-2], x.shape[-1]))], -2)
    return cat([x, x.new_zeros((*x.shape[:-1], m - x.shape[-1]))], -1) if x.shape[-1] < m else x


def cholesky_grad(grad: Any, L: Any, upper: bool) -> Any:
    if upper:
        grad, L = adjoint(grad), adjoint(L)
    lower = (adjoint(L) @ grad).tril()
    g = solve_triangular(adjoint(L), 0.5 * (lower + adjoint(lower.tril(-1))), True)
    return solve_triangular(L, g, False, False)


def qr_grad(grads: Any, Q: Any, R: Any, A_shape: Any, mode: str) -> Any:
    n, m = A_shape[-2:]
    check(mode != "r", "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
                       "Please use linalg.qr(A, mode='reduced') if you are going to require gradients.")
    check(mode != "complete" or n <= m, "The QR decomposition is not differentiable when mode='complete' and "
                                        "nrows > ncols.")
    gQ, gR = grads
    if n >= m:
        return _qr_grad(gQ, gR, Q, R)
    R1, R2 = R.narrow(-1, 0, n), R.narrow(-1, n, m - n)  # A = Q [R1 R2]
    gR1 = None if gR is None else gR.narrow(-1, 0, n)
    if gR is None:
        return widened(_qr_grad(gQ, gR1, Q, R1), n, m)
    gR2 = gR.narrow(-1, n, m - n)
    through_q = Q @ R2 @ adjoint(gR2)
    return cat([_qr_grad(through_q if gQ is None else gQ + through_q, gR1, Q, R1), Q @ gR2], -1)


def _qr_grad(gQ: Any, gR: Any, Q: Any, R: Any) -> Any:
    middle: Any = gR @ adjoint(R) if gR is not None else 0
    if gQ is not None:
        middle = middle - adjoint(Q) @ gQ
    middle = middle.triu()  # copied to below the diagonal
    middle = middle + adjoint(middle) - diagonal_matrix(real(diagonal_of(middle)))
    g = Q @ middle if gQ is None else gQ + Q @ middle
    return solve_triangular(adjoint(R), g, False, False)


def householder_product_grad(grad: Any, input: Any, tau: Any) -> Pair:
    """Return the gradient of Q = H1 H2 ... Hk with reflections H = I - tau v v^H. From the right come the partial
    products; from the left, the gradient that arrives at each reflection.
    """
    k = tau.shape[-1]
    if not input.numel() or not tau.numel():
        return None, None
    vectors = [_reflector(input, i) for i in range(k)]
    partial = [_first_columns(input)]
    for i in reversed(range(k)):
        partial.append(_reflected(partial[-1], vectors[i], tau.narrow(-1, i, 1).unsqueeze(-1)))
    g_columns, g_taus = [], []
    for i in range(k):
        v, t = vectors[i], tau.narrow(-1, i, 1).unsqueeze(-1)
        product = partial[k - 1 - i]
        left, right = adjoint(grad) @ v, adjoint(product) @ v  # gH = grad product^H is of rank k at most
        gh_v, ghh_v = grad @ right, product @ left
        g_columns.append(_below(-(conj(t) * gh_v + t * ghh_v), i))
        g_taus.append(-(adjoint(v) @ gh_v).squeeze(-1))
        grad = _reflected(grad, v, conj(t))
    rest = [input.new_zeros((*input.shape[:-1], input.shape[-1] - k))] if input.shape[-1] > k else []
    return cat([*g_columns, *rest], -1), cat(g_taus, -1)


def _reflector(x: Any, i: int) -> Any:
    """Return the vector of a reflection as a column: zeros, a one, and the matrix's elements below the diagonal."""
    n = x.shape[-2]
    head = x.new_tensor([0.0] * i + [1.0]).unsqueeze(-1).expand((*x.shape[:-2], i + 1, 1))
    return cat([head, x.narrow(-1, i, 1).narrow(-2, i + 1, n - i - 1)], -2)


def _below(column: Any, i: int) -> Any:
    """Return a column without its elements on and above the diagonal."""
    n = column.shape[-2]
    return cat([column.new_zeros((*column.shape[:-2], i + 1, 1)), column.narrow(-2, i + 1, n - i - 1)], -2)


def _first_columns(x: Any) -> Any:
    n, m = x.shape[-2:]
    return diagonal_matrix(x.new_ones((*x.shape[:-2], n))).narrow(-1, 0, m)


def _reflected(x: Any, v: Any, t: Any) -> Any:
    return x - t * (v @ (adjoint(v) @ x))


def ormqr_grad(grad: Any, self: Any, input2: Any, input3: Any, left: bool, transpose: bool) -> tuple[Any, Any, Any]:
    g_other = ormqr(self, input2, grad, left, not transpose)
    # that of the whole Q: of Q C, Q^H C, C Q or C Q^H
    g_q = grad @ adjoint(input3) if left else adjoint(input3) @ grad
    g_q = adjoint(g_q) if transpose else g_q
    n = self.shape[-2]
    if not self.numel() or not input2.numel():
        return None, None, g_other
    k = min(self.shape[-2:])
    g_self, g_tau = householder_product_grad(g_q, widened(self.narrow(-1, 0, k), n, n), input2)
    return widened(g_self.narrow(-1, 0, k), n, self.shape[-1]), g_tau, g_other


def differences(values: Any) -> Any:
    """``values[j] - values[i]``, with ones on the diagonal."""
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    return gaps + diagonal_matrix((diagonal_of(gaps) == 0).to(gaps.dtype))


def check_phase(quantity: Any, function: str, vectors: str) -> None:
    """Complex vectors are unique up to a phase, which a loss must not depend on."""
    if quantity.is_meta or not quantity.is_complex():
        return
    angle = quantity.detach().imag
    check(bool((angle.abs() <= 1e-2).all()),
          lambda: f"{function}: The {vectors} in the complex case are specified up to multiplication by e^{{i phi}}. "
                  "The specified loss function depends on this quantity, so it is ill-defined.")


def svd_grad(grads: Any, U: Any, S: Any, Vh: Any, A_shape: Any) -> Any:
    gU, gS, gVh = grads
    n, m = A_shape[-2:]
    k = S.shape[-1]
    U, Vh = U.narrow(-1, 0, k), Vh.narrow(-2, 0, k)
    if gU is None and gVh is None:
        return (U * gS.unsqueeze(-2).to(U.dtype)) @ Vh if n >= m else U @ (gS.unsqueeze(-1).to(U.dtype) * Vh)
    gaps, S_row, S_column = differences(S * S), S.unsqueeze(-2), S.unsqueeze(-1)
    middle, outside, phase = 0, [], 0
    if gU is not None:
        gU = gU.narrow(-1, 0, k)
        inner = adjoint(U) @ gU
        phase = phase + diagonal_of(inner)
        skew = inner - adjoint(inner)
        middle = middle + skew / gaps * S_row
        if U.is_complex():
            middle = middle + diagonal_matrix(diagonal_of(skew) / (2 * S))
        if n > k:
            outside.append(((gU - U @ inner) / S_row) @ Vh)
    if gVh is not None:
        gVh = gVh.narrow(-2, 0, k)
        inner = Vh @ adjoint(gVh)
        phase = phase + diagonal_of(inner)
        middle = middle + S_column * ((inner - adjoint(inner)) / gaps)
        if m > k:
            outside.append(U @ ((gVh - adjoint(inner) @ Vh) / S_column))
    check_phase(phase, "svd_backward", "singular vectors")
    if gS is not None:
        middle = middle + diagonal_matrix(gS)
    return sum(outside, U @ middle @ Vh)


def eigh_grad(grads: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    gL, gV = grads
    L, V = eigenvalues, eigenvectors
    if gV is None:
        return (V * gL.unsqueeze(-2).to(V.dtype)) @ adjoint(V)
    inner = adjoint(V) @ gV
    check_phase(diagonal_of(inner), "linalg_eigh_backward", "eigenvectors")
    inner = 0.5 * (inner - adjoint(inner)) / differences(L)
    inner = inner - diagonal_matrix(diagonal_of(inner))
    return V @ (inner if gL is None else inner + diagonal_matrix(gL)) @ adjoint(V)


def eig_grad(grads: Any, eigenvalues: Any, eigenvectors: Any, self_dtype: Any) -> Any:
    gL, gV = grads
    L, V = eigenvalues, eigenvectors
    if gV is None:
        middle = gL.unsqueeze(-1) * adjoint(V)
    else:
        inner = adjoint(V) @ gV
        check_phase(diagonal_of(inner), "linalg_eig_backward", "eigenvectors")
        inner = inner - adjoint(V) @ (V * real(diagonal_of(inner)).unsqueeze(-2))
        inner = inner / conj(differences(L))
        inner = inner - diagonal_matrix(diagonal_of(inner))
        middle = (inner if gL is None else inner + diagonal_matrix(gL)) @ adjoint(V)
    g = solve(adjoint(V), middle, True)
    return g if self_dtype.is_complex else g.real


def pinv_grad(grad: Any, result: Any, self: Any) -> Any:
    A, P, Ph, Gh = self, result, adjoint(result), adjoint(grad)
    if A.shape[-2] <= A.shape[-1]:
        K = Gh @ P
        KPh = K @ Ph
        return KPh - adjoint(P @ K) - (A @ P) @ KPh + (Ph @ P) @ (Gh - K @ A)
    K = P @ Gh
    PhK = Ph @ K
    return PhK - adjoint(K @ P) - (PhK @ P) @ A + ((Gh - A @ K) @ P) @ Ph


def lstsq_grad(grads: Any, self: Any, b: Any, solution: Any) -> Pair:
    g_solution, g_residuals = grads[:2]
    vector = self.ndim - b.ndim == 1 and tuple(b.shape) == tuple(self.shape[:-1])
    right, x = (b.unsqueeze(-1), solution.unsqueeze(-1)) if vector else (b, solution)
    g_a = g_b = None
    if g_solution is not None:
        g = g_solution.unsqueeze(-1) if vector else g_solution
        P = pinv(self)
        g_a, g_b = pinv_grad(g @ adjoint(right), P, self), adjoint(P) @ g
    if g_residuals is not None and g_residuals.numel():
        rest = 2 * g_residuals.unsqueeze(-2) * (self @ x - right)
        g_a = rest @ adjoint(x) if g_a is None else g_a + rest @ adjoint(x)
        g_b = -rest if g_b is None else g_b - rest
    return g_a, g_b.squeeze(-1) if vector and g_b is not None else g_b


operator("linalg_lu_factor_ex", meta_lu_factor_ex, batching=trailing(), outputs=(0,), A=lu_factor_grad)
operator("linalg_lu", meta_linalg_lu, batching=trailing(), outputs=(1, 2),
         A=lambda grads, P, L, U: lu_grad(grads[1], grads[2], P, L, U))
operator("linalg_inv_ex", Factorization("linalg.inv", like_and_status, half=False), batching=trailing(),
         autocast="cpu float32", A=lambda grad, inverse: -(adjoint(inverse) @ (grad @ adjoint(inverse))))
operator("linalg_cholesky_ex", Factorization("linalg.cholesky", like_and_status, "cholesky_cpu"), batching=trailing(),
         autocast="cpu float32", self=cholesky_grad)
operator("linalg_qr", Factorization("linalg.qr", meta_qr, "geqrf_cpu", square=False), batching=trailing(),
         autocast="cpu float32", A=qr_grad)
operator("lu_unpack", meta_lu_unpack, batching=trailing(2, 1), outputs=(1, 2), LU_data=lu_unpack_grad)
operator("_linalg_det", Factorization("linalg.det", lambda A: (Spec(batch_of(A), A._dtype), *_lu(A)), "lu_cpu"),
         batching=trailing(), outputs=(0,), A=det_grad)
operator("_linalg_slogdet", Factorization("linalg.slogdet", meta_slogdet, half=False), batching=trailing(),
         outputs=(0, 1), A=slogdet_grad)
operator("_linalg_svd", Factorization("linalg.svd", meta_svd, "linalg_svd_cpu", square=False),
         batching=trailing(flags={"compute_uv": True}), A=svd_grad)
operator("_linalg_eigh", Factorization("linalg.eigh", meta_eigh, "linalg_eigh_cpu", floating=False),
         batching=trailing(flags={"compute_v": True}), A=eigh_grad)
operator("ormqr", meta_ormqr, batching=trailing(2, 1, 2), autocast="cpu float32",
         jointly={"self, input2, input3": ormqr_grad})
operator("cholesky", meta_cholesky, batching=trailing(), autocast="cpu float32",
         self=lambda grad, result, upper: cholesky_grad(grad, result, upper))
operator("linalg_ldl_factor_ex",
         Factorization("torch.linalg.ldl_factor_ex", meta_ldl_factor_ex, "ldl_factor_kernel_cpu"), batching=trailing())
operator("linalg_householder_product", meta_householder_product, batching=trailing(2, 1), autocast="cpu float32",
         jointly={"input, tau": householder_product_grad})
operator("linalg_lstsq", lstsq, batching=each_element, autocast="cpu float32", outputs=(0, 1),
         jointly={"self, b": lstsq_grad})
operator("linalg_eig", Factorization("linalg.eig", meta_eig, "linalg_eig_out_cpu", floating=False), batching=trailing(),
         autocast="cpu float32", self=eig_grad)
operator("linalg_svd",
         composite=lambda A, full_matrices=True, driver=None: packed("linalg_svd", svd(A, full_matrices, True, driver)),
         autocast="cpu float32")
operator("linalg_eigh", composite=lambda self, UPLO="L": packed("linalg_eigh", eigh(self, UPLO, True)),
         autocast="cpu float32")
operator("linalg_det", composite=lambda A: det(A)[0])
operator("linalg_slogdet", composite=lambda A: packed("linalg_slogdet", slogdet(A)[:2]))
operator("linalg_pinv.atol_rtol_tensor", composite=linalg_pinv, batching=trailing(2, 0, 0), self=pinv_grad)
operator("linalg_pinv.atol_rtol_float",
         composite=lambda self, atol=None, rtol=None, hermitian=False: pinv(
             self, *_tolerances(self, atol, rtol), hermitian))
operator("linalg_pinv.rcond_tensor linalg_pinv", composite=pinv_with_rcond)
operator("linalg_matrix_rank.atol_rtol_tensor linalg_matrix_rank.atol_rtol_float", composite=linalg_matrix_rank,
         autocast="cpu float32")
operator("linalg_matrix_rank.tol_tensor linalg_matrix_rank",
         composite=lambda self, tol, hermitian=False: linalg_matrix_rank(self, tol, 0.0, hermitian),
         autocast="cpu float32")
operator("pinverse", composite=pinv_with_rcond, autocast="cpu float32")

schemas("""
out, exact dtype, no overlap:
    linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor  # The solution of a linear system with the right side `B`, given the packed factors `LU` and `pivots` of its matrix.
out, exact dtype:
    linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor  # The solution of a linear system with the triangular matrix `self` and the right side `B`.
    linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor  # The solution of a linear system with the right side `B`, given the factors `LD` and `pivots` of its symmetric matrix.
operator only:
    _linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)  # The solution of a linear system with the matrix `A` and the right side `B`, the packed factors of `A`, and a number other than 0 where it is singular.
function, method, out, exact dtype, empty out resized:
    triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)  # The solution of a linear system with the triangular matrix `A` and the right side `self`, and a copy of `A`.
function, method, out, contiguous out:
    cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor  # The solution of a linear system with the right side `self`, given the Cholesky factor `input2` of its matrix.
out, exact dtype, strided out:
    linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)  # The solution of a linear system with the matrix `A` and the right side `B`, and a number other than 0 where `A` is singular.
""")  # noqa: E501


def check_equation(function: str, A: Any, shape: Sequence[int], left: bool) -> None:
    """Raise PyTorch's error unless a right-hand side of this shape goes with the square matrix A."""
    n = A.shape[-1]
    check(n == shape[-2 if left else -1], lambda: f"{function}: Incompatible shapes of A and B for the equation "
          f"{'AX = B' if left else 'XA = B'} ({n}x{n} and {shape[-2]}x{shape[-1]})")


def check_pivots(function: str, matrix: str, pivots: Any, shape: Sequence[int]) -> None:
    check(tuple(pivots.shape) == tuple(shape), lambda: f"{function}: Expected {matrix}.shape[:-1] and pivots.shape to "
          f"be the same, but got pivots with shape {list(pivots.shape)} instead")


def meta_lu_solve(LU: Any, pivots: Any, B: Any, left: bool = True, adjoint: bool = False) -> Spec:
    function = "torch.linalg.lu_solve"
    check_floating(function, LU)
    check_same_dtype("linalg.lu_solve", LU, B, ("LU", "B"))
    check(pivots._dtype is int32,
          lambda: f"{function}: pivots should be a Tensor of scalar type torch.int32, got {pivots.dtype}")
    check_square(function, LU)
    check_matrix(function, B, "B")
    check_equation(function, LU, B.shape, left)
    check(pivots.shape[-1:] == LU.shape[-1:],
          "torch.linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    check_pivots(function, "LU", pivots, LU.shape[:-1])
    spec = solution(LU, B)
    return spec if left else Spec(spec.shape, spec.dtype)


def is_vector(A: Any, B: Any) -> bool:
    """Whether the right-hand side of a system is a batch of vectors."""
    return bool(B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1]))


def meta_solve_ex(A: Any, B: Any, left: bool = True, check_errors: bool = False) -> Specs:
    check_lapack("lu_cpu", A._dtype)
    check_same_dtype("linalg.solve", A, B)
    vector = is_vector(A, B)
    check(left or not vector, "linalg.solve: Vector broadcasting of the left hand side is not supported for "
                              "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)")
    shape = (*B.shape, 1) if vector else tuple(B.shape)
    check(len(shape) >= 2,
          lambda: f"linalg.solve: The input tensor B must have at least 2 dimensions, got shape {list(B.shape)}")
    check_equation("linalg.solve", A, shape, left)
    n, batch = A.shape[-1], broadcast_shapes(A.shape[:-2], shape[:-2])
    result: Ints = (*batch, *shape[-2:])[:-1 if vector else None]
    x = column_major(result, B._dtype) if left and len(result) > 1 else Spec(result, B._dtype)
    return x, column_major((*batch, n, n), A._dtype), Spec((*batch, n), int32), Spec(batch, int32)


def meta_solve_triangular(self: Any, B: Any, upper: bool, left: bool = True, unitriangular: bool = False) -> Spec:
    function = "linalg.solve_triangular"
    check_square(function, self)
    check_matrix(function, B, "B")
    check_same_dtype(function, self, B)
    check_equation(function, self, B.shape, left)
    check_lapack("triangular_solve_cpu", self._dtype)
    return solution(self, B)


def meta_triangular_solve(self: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool =
                          False) -> Specs:
    for name, matrix in (("b", self), ("A", A)):
        if matrix.ndim < 2:
            raise RuntimeError(f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has "
                               f"{matrix.ndim} dimensions instead")
    _check_system("triangular_solve", self, A)
    check_lapack("triangular_solve_cpu", A._dtype)
    return solution(A, self), column_major((*broadcast_shapes(self.shape[:-2], A.shape[:-2]), *A.shape[-2:]), A._dtype)


def _check_system(function: str, B: Any, A: Any) -> None:
    n, m = A.shape[-2:]
    check(n == m, lambda: f"{function}: A must be batches of square matrices, but they are {n} by {m} matrices")
    check(m == B.shape[-2], lambda: f"Incompatible matrix sizes for {function}: each A matrix is {m} by {m} but each b "
          f"matrix is {B.shape[-2]} by {B.shape[-1]}")
    check(A._dtype is B._dtype, lambda: "Expected b and A to have the same dtype, but found b of type "
          f"{NAMES[B._dtype.name]} and A of type {NAMES[A._dtype.name]} instead in {function}")


def meta_cholesky_solve(self: Any, input2: Any, upper: bool = False) -> Spec:
    for name, matrix in (("b", self), ("u", input2)):
        if matrix.ndim < 2:
            raise RuntimeError(f"cholesky_solve: {name} should have at least 2 dimensions, but has {matrix.ndim} "
                               "dimensions instead")
    _check_system("cholesky_solve", self, input2)
    check_lapack("cholesky_solve_cpu", self._dtype)
    return solution(input2, self)


def ldl_solve(LD: Any, pivots: Any, B: Any, hermitian: bool = False) -> Spec:
    function = "torch.linalg.ldl_solve"
    check_matrix(function, B, "B")
    check(LD.shape[-1] == B.shape[-2], lambda: f"{function}: Incompatible matrix sizes: each A matrix is "
          f"{LD.shape[-1]} by {LD.shape[-1]} but each b matrix is {B.shape[-2]} by {B.shape[-1]}")
    check_pivots(function, "LD", pivots, LD.shape[:-1])
    check(pivots._dtype.category == INTEGER,
          lambda: f"{function}: Expected pivots to be integers. Got {NAMES[pivots._dtype.name]}")
    check(LD._dtype is B._dtype,
          lambda: f"{function}: LD and B are expected to have the same dtype, but got {LD.dtype} and {B.dtype}")
    return solution(LD, B)


def solve_grad(grad: Any, A: Any, B_shape: Any, result: Any, LU: Any, pivots: Any, left: bool) -> Pair:
    vector = len(B_shape) == 1 or (A.ndim - 1 == len(B_shape) and tuple(B_shape) == tuple(A.shape[:-1]))
    if vector:
        grad, result = grad.unsqueeze(-1), result.unsqueeze(-1)
    # the factors found before serve again, unless the gradient shall have a derivative
    g_b = solve(adjoint(A), grad, left) if local.grad_enabled else lu_solve(LU, pivots, grad, left, True)
    g_a = -(g_b @ adjoint(result) if left else adjoint(result) @ g_b)
    return g_a, g_b.squeeze(-1) if vector else g_b


def lu_solve_grad(grad: Any, LU: Any, pivots: Any, result: Any, left: bool, adjoint: bool) -> Any:
    """Return the gradient of the packed factors."""
    if not left:  # X A = B is A^H X^H = B^H
        grad, result, adjoint = _adjoint(grad), _adjoint(result), not adjoint
    P, L, U = lu_unpack(LU, pivots)
    if not adjoint:
        right = -solve_triangular(_adjoint(U), grad, False) @ _adjoint(result)
        g_upper = right
        g_lower = solve_triangular(_adjoint(L), right @ _adjoint(U), True, True, True)
    else:
        z, g_z = _adjoint(P) @ result, _adjoint(P) @ grad
        g_w = solve_triangular(L, g_z, False, True, True)
        g_lower = -z @ _adjoint(g_w)
        g_upper = -(_adjoint(L) @ z) @ _adjoint(solve_triangular(U, g_w, True))
    return g_lower.tril(-1) + g_upper.triu()


def triangle(x: Any, upper: bool, unitriangular: bool = False) -> Any:
    return x.triu(int(unitriangular)) if upper else x.tril(-int(unitriangular))


def solve_triangular_grad(grad: Any, self: Any, result: Any, upper: bool, left: bool, unitriangular: bool) -> Pair:
    g_b = solve_triangular(adjoint(self), grad, not upper, left, unitriangular)
    g_a = -(g_b @ adjoint(result) if left else adjoint(result) @ g_b)
    return triangle(g_a, upper, unitriangular), g_b


def triangular_solve_grad(grads: Any, A: Any, solution: Any, upper: bool, transpose: bool, unitriangular: bool) -> Pair:
    grad, g_copy = grads
    if grad is None:
        return solution.new_zeros(solution.shape), g_copy
    matrix = conj(A) if transpose else adjoint(A)
    g_b = solve_triangular(matrix, grad, upper if transpose else not upper, True, unitriangular)
    g_a = triangle(-(conj(solution) @ g_b.mT if transpose else g_b @ adjoint(solution)), upper, unitriangular)
    return g_b, g_a if g_copy is None else g_a + g_copy


def cholesky_solve_grad(grad: Any, input2: Any, result: Any, upper: bool) -> Pair:
    g_b = cholesky_solve(grad, input2, upper)
    common = g_b @ adjoint(result)
    common = common + adjoint(common)
    return g_b, -(input2 @ common if upper else common @ input2)


operator("linalg_lu_solve", meta_lu_solve, batching=trailing(2, 1, 2), LU=lu_solve_grad,
         B=lambda grad, LU, pivots, left, adjoint: lu_solve(LU, pivots, grad, left, not adjoint))
operator("linalg_solve_triangular", meta_solve_triangular, batching=trailing(),
         jointly={"self, B": solve_triangular_grad})
operator("_linalg_solve_ex", Factorization("linalg.solve", meta_solve_ex), batching=trailing(), outputs=(0,),
         jointly={"A, B": solve_grad})
operator("triangular_solve", meta_triangular_solve, batching=trailing(), autocast="cpu float32",
         jointly={"self, A": triangular_solve_grad})
operator("cholesky_solve", meta_cholesky_solve, batching=trailing(), autocast="cpu float32",
         jointly={"self, input2": cholesky_solve_grad})
operator("linalg_ldl_solve", Factorization("torch.linalg.ldl_solve", ldl_solve), batching=trailing(2, 1, 2))
operator("linalg_solve_ex", composite=lambda *args: packed("linalg_solve_ex", solve_ex(*args)[::3]))

schemas("""
function, method, out, empty out resized:
    cholesky_inverse(Tensor self, bool upper=False) -> Tensor  # The inverse of a positive definite matrix, given its Cholesky factor `self`.
    geqrf(Tensor self) -> (Tensor a, Tensor tau)  # The factors of `self` into an orthogonal and a triangular matrix in LAPACK's packed form: Householder vectors and their scales.
out:
    linalg_matrix_exp(Tensor self) -> Tensor  # The exponential of the square matrix `self`: the sum of its powers, each divided by the factorial of the exponent.
    linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor  # The tensor whose `tensordot` with `self` is `other`, with the dimensions `dims` of `self` moved to its end before.
out, exact dtype, strided out:
    linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)  # The factors of the matrix `A` into a lower and an upper triangular one, packed into one matrix, and the row exchanges.
    linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor  # The solution of a linear system with the square matrix `A` and the right side `B`.
""")  # noqa: E501


def meta_geqrf(self: Any) -> Specs:
    check(self.ndim >= 2, "torch.geqrf: input must have at least 2 dimensions.")
    check_lapack("geqrf_cpu", self._dtype)
    return like(self), Spec((*batch_of(self), min(self.shape[-2:])), self._dtype)


linalg_solve = checked("linalg_solve", lambda A, B, left=True: solve_ex(A, B, left)[::3],
                       "torch.linalg.solve: {0}The solver failed because the input matrix is singular.")


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


linalg_lu_factor = checked(
    "linalg_lu_factor", lu_factor_ex, "torch.linalg.lu_factor: {0}U[{1},{1}] is zero and using it on lu_solve would "
    "result in a division by zero. If you still want to perform the factorization, consider calling "
    "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)", RuntimeError)


def cholesky_inverse_grad(grad: Any, self: Any, result: Any, upper: bool) -> Any:
    common = result @ (grad + adjoint(grad)) @ result
    return -(self @ common if upper else common @ self)


def matrix_exp_grad(grad: Any, self: Any) -> Any:
    """Return the upper right block of the exponential of [[A^H, grad], [0, A^H]]."""
    n = self.shape[-1]
    A = adjoint(self)
    block = cat([cat([A, grad], -1), cat([A.new_zeros(A.shape), A], -1)], -2)
    return matrix_exp(block).narrow(-2, 0, n).narrow(-1, n, n)


operator("linalg_lu_factor", composite=linalg_lu_factor)
operator("cholesky_inverse", Factorization("cholesky_inverse", like, "cholesky_inverse_out_cpu", floating=False),
         batching=trailing(), autocast="cpu float32", self=cholesky_inverse_grad)
operator("geqrf", meta_geqrf, batching=trailing(), autocast="cpu float32")
operator("linalg_matrix_exp", Factorization("linalg.matrix_exp", lambda self: Spec(tuple(self.shape), self._dtype)),
         batching=trailing(), self=matrix_exp_grad)
operator("linalg_solve", composite=linalg_solve, autocast="cpu float32")
operator("linalg_tensorsolve", composite=linalg_tensorsolve, autocast="cpu float32")

schemas("""
out, exact dtype, strided out:
    linalg_inv(Tensor A) -> Tensor  # The inverse of the square matrix `A`.
    linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor  # The lower, or `upper`, triangular factor whose product with its conjugate transpose is the positive definite matrix `self`.
    linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)  # The factors of a symmetric, or `hermitian`, matrix `self` into a triangular and a block-diagonal one, packed, and the row exchanges.
function, method, out, exact dtype, strided out:
    inverse(Tensor self) -> Tensor  # The inverse of the square matrix `self`.
    lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor  # The solution of a linear system with the right side `self`, given the packed factors `LU_data` and `LU_pivots` of its matrix.
    qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)  # A matrix with orthonormal columns and an upper triangular one whose product is `self`; with `some`, no more columns than the smaller side has.
out:
    linalg_tensorinv(Tensor self, int ind=2) -> Tensor  # The inverse of the linear map that `tensordot` with `self` is, whose first `ind` dimensions are its output.
function:
    _lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)  # The packed triangular factors of the matrix `self`, the row exchanges, and a number other than 0 where a pivot is zero.
""")  # noqa: E501

linalg_inv = checked("linalg_inv", inv_ex, "linalg.inv: {0}The diagonal element {1} is zero, the inversion could not "
                     "be completed because the input matrix is singular.")


def linalg_tensorinv(self: Any, ind: int = 2) -> Any:
    """``torch.linalg.tensorinv``: the inverse under ``tensordot`` over the first ``ind`` dimensions."""
    check(ind > 0, lambda: f"Expected a strictly positive integer for 'ind', got {ind}")
    first, rest = tuple(self.shape[:ind]), tuple(self.shape[ind:])
    check(prod(first) == prod(rest), lambda: "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
          f"prod(self.shape[:ind]), but got {prod(rest)} != {prod(first)}")
    return linalg_inv(self.reshape((prod(rest), prod(first)))).reshape(rest + first)


linalg_ldl_factor = checked(
    "linalg_ldl_factor", ldl_factor_ex,
    "torch.linalg.ldl_factor: {0}the factorization could not be completed because D[{1},{1}] is zero.")

linalg_cholesky = checked(
    "linalg_cholesky", cholesky_ex, "linalg.cholesky: {0}The factorization could not be completed because the input is "
    "not positive-definite (the leading minor of order {1} is not positive-definite).", definite=True)


def deprecated_qr(self: Any, some: bool = True) -> Any:
    """``torch.qr``: what ``torch.linalg.qr`` returns, reduced if ``some``."""
    warn_once("torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\n"
              "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\n"
              "Q, R = torch.qr(A, some)\nshould be replaced with\n"
              "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')")
    return packed("qr", qr(self, "reduced" if some else "complete"))


operator("linalg_ldl_factor", composite=linalg_ldl_factor)
operator("linalg_inv inverse", composite=linalg_inv, autocast="cpu float32")
operator("linalg_tensorinv", composite=linalg_tensorinv, autocast="cpu float32")
operator("linalg_cholesky", composite=linalg_cholesky, autocast="cpu float32")
operator("_lu_with_info",
         composite=lambda self, pivot=True, check_errors=True: packed(  # which PyTorch does not look at
             "_lu_with_info", lu_factor_ex(self, pivot, False)), autocast="cpu float32")
operator("lu_solve", composite=lambda self, LU_data, LU_pivots: lu_solve_(LU_data, LU_pivots, self),
         autocast="cpu float32")
operator("qr", composite=deprecated_qr, autocast="cpu float32")

schemas("""
function, method, out, exact dtype, strided out:
    svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)  # The left singular vectors, the singular values in descending order, and the right singular vectors of the matrix `self`.
function, out, exact dtype:
    nuclear_norm(Tensor self, bool keepdim=False) -> Tensor  # The sum of the singular values of the matrices in the last two dimensions of `self`, or in `dim`.
    nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor
out, exact dtype:
    linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor  # The singular values of the matrix `A`, in descending order.
    linalg_eigvalsh(Tensor self, str UPLO="L") -> Tensor  # The eigenvalues, in ascending order, of a symmetric or Hermitian matrix `self`, of which only the triangle `UPLO` is read.
    linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2,-1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor  # The norm of order `ord` of the matrices in the dimensions `dim` of `self`.
    linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=[-2,-1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
    linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor  # The norm of order `ord` of `self`: of vectors if `dim` is one dimension, of matrices if it is two.
    linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
""")  # noqa: E501


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


operator("svd", composite=svd_of, autocast="cpu float32")
operator("nuclear_norm", composite=lambda self, keepdim=False: nuclear_norm(self, (-2, -1), keepdim),
         autocast="npu float32")
operator("nuclear_norm.dim", composite=nuclear_norm, autocast="npu float32")
operator("linalg_svdvals", composite=linalg_svdvals, autocast="cpu float32")
operator("linalg_eigvalsh", composite=lambda self, UPLO="L": eigh(self, UPLO, records(self))[0], autocast="cpu float32")
operator("linalg_matrix_norm linalg_matrix_norm.str_ord", composite=linalg_matrix_norm, autocast="npu float32")
operator("linalg_norm linalg_norm.ord_str", composite=linalg_norm)

schemas("""
out:
    linalg_cond(Tensor self, Scalar? p=None) -> Tensor  # The condition number of the matrix `self`: its norm of order `p` times that of its inverse.
    linalg_cond.p_str(Tensor self, str p) -> Tensor
function, method:
    det(Tensor self) -> Tensor  # The determinant of the square matrix `self`.
    logdet(Tensor self) -> Tensor  # The logarithm of the determinant of `self`, which is nan where that is negative.
    matrix_exp(Tensor self) -> Tensor  # The exponential of the square matrix `self`: the sum of its powers, each divided by the factorial of the exponent.
function, method, out, exact dtype:
    slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)  # The sign of the determinant of `self`, and the logarithm of its absolute value.
function, method, out:
    orgqr(Tensor self, Tensor input2) -> Tensor  # The first columns of the product of the Householder reflections whose vectors are in `self` and whose scales are `input2`.
out, strided out, empty out resized:
    linalg_eigvals(Tensor self) -> Tensor  # The eigenvalues, which may be complex, of the square matrix `self`.
""")  # noqa: E501


def logdet(self: Any) -> Any:
    """``torch.logdet``: the logarithm of the determinant, NaN for a negative one of a real matrix."""
    check_square("logdet", self)
    check_floating("logdet", self, low_precision=False)
    sign, logabsdet = slogdet(self)[:2]
    if self.is_complex():
        return logabsdet + sign.log()
    return where(sign == -1, full((), math.nan, dtype=logabsdet.dtype, device=self.device), logabsdet)


def linalg_eigvals(self: Any) -> Any:
    check_square("linalg.eigvals", self)
    return eig(self)[0]


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


composites(logdet)
operator("linalg_cond linalg_cond.p_str", composite=linalg_cond, autocast="cpu float32")
operator("det", composite=lambda self: det(self)[0])
operator("matrix_exp", composite=lambda self: matrix_exp(self))
operator("slogdet", composite=lambda A: packed("linalg_slogdet", slogdet(A)[:2]))
operator("orgqr", composite=lambda self, input2: householder_product(self, input2), autocast="cpu float32")
operator("linalg_eigvals", composite=linalg_eigvals, autocast="cpu float32")

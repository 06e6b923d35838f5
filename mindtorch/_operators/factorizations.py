"""Meta kernels of matrix factorizations and of what is computed by them."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._backends.common.matrices import (
    check_floating, check_lapack, check_matrix, check_norm_dtype, check_square, column_major, columns, strided,
)
from .._base.about import about
from .._base.errors import NAMES, LinAlgError, check, first_failure
from .._base.layout import Ints, Spec, broadcast_shapes, wrap_dim
from .._creation.sizes import full, zeros
from .._dispatch.aten import (
    _linalg_det as det, _linalg_eigh as eigh, _linalg_slogdet as slogdet, _linalg_svd as svd, cat, linalg_det,
    linalg_lu_solve as lu_solve, linalg_pinv_atol_rtol_tensor as pinv, linalg_solve as solve,
    linalg_solve_triangular as solve_triangular, linalg_svd, linalg_vector_norm as vector_norm, lu_unpack, ormqr,
    where_self as where,
)
from .._dispatch.dispatcher import has_values
from .._dispatch.keys import AUTOGRAD, DUAL, PYTHON
from .._dispatch.local import local
from .._dispatch.return_types import pack
from .._dispatch.schemas import registry
from .._dtype import COMPLEX, FLOATING, INTEGER, finfo, int32, int64
from .._tensor import Tensor
from .._transforms.batching.rules import each_element, trailing
from . import differentiates, operator, schemas
from .linalg import adjoint, conj

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
    """Return True if a tensor is differentiated, in either mode: the derivative of singular values takes vectors."""
    return bool(x._keys & DUAL or (x._keys & AUTOGRAD and local.grad_enabled))


def packed(name: str, results: Any) -> Any:
    """Return results as the operator of this name does."""
    return pack(registry[name], list(results))


def checked(name: str, unchecked: Callable[..., Any], message: str, error: type[Exception] = LinAlgError,
            definite: bool = False) -> Callable[..., Any]:
    """Return the operator that raises where the status, which ``unchecked`` returns behind the results, is not 0. In
    the message, ``{0}`` is the batch element and ``{1}`` the status; ``definite`` demands a positive definite
    matrix.
    """

    def row(*args: Any) -> Any:
        *results, info = unchecked(*args)
        known = not info.is_meta and not (info._keys & PYTHON and info._array is None)
        failure = first_failure(info._host("check")) if known else None
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
    return _greatest(sums, second, keepdim) if ord > 0 else sums.amin(second, keepdim)


def _greatest(x: Tensor, dim: int, keepdim: bool) -> Tensor:
    """Return the greatest of nonnegative numbers along a dimension; of none it is 0, outside the graph."""
    return x.amax((dim,), keepdim) if x.shape[dim] else x.detach().sum((dim,), keepdim)


def _norm_of_values(self: Tensor, ord: Any, rows: int, columns: int, keepdim: bool, dtype: Any) -> Any:
    """Return the nuclear norm, or the largest or smallest singular value."""
    check_norm_dtype("linalg.matrix_norm", self._dtype, dtype)
    order = (*(d for d in range(self.ndim) if d not in (rows, columns)), rows, columns)
    values = linalg_svdvals((self if dtype is None else self.to(dtype)).permute(order))
    if ord == "nuc":
        result = values.sum((-1,), keepdim=keepdim)
    else:
        result = _greatest(values, -1, keepdim) if ord > 0 else values.amin((-1,), keepdim)
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


def meta_linalg_lu(A: Tensor, pivot: bool = True) -> Specs:
    meta_lu_factor_ex(A, pivot, False, "linalg.lu")
    return _unpacked(A, pivot)


def _unpacked(A: Any, with_p: bool = True, with_lu: bool = True) -> Specs:
    """P, L and U; what is not wanted is empty."""
    (n, m), batch, dtype = A.shape[-2:], batch_of(A), A._dtype
    k, nothing = min(n, m), Spec((0,), dtype)
    return (Spec((*batch, n, n), dtype) if with_p else nothing,
            Spec((*batch, n, k), dtype) if with_lu else nothing,
            Spec((*batch, k, m), dtype) if with_lu else nothing)


def meta_lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Specs:
    check_matrix("torch.lu_unpack", LU_data, "LU_data")
    check(not unpack_pivots or LU_pivots._dtype is int32,
          "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: "
          "this function is intended to be used with the output produced by torch.linalg.lu_factor")
    return _unpacked(LU_data, unpack_pivots, unpack_data)


def meta_slogdet(A: Any) -> Specs:
    return Spec(batch_of(A), A._dtype), Spec(batch_of(A), A._dtype.to_real()), *_lu(A)


_cholesky = Factorization("cholesky", like, "cholesky_cpu", floating=False)


def meta_cholesky(self: Tensor, upper: bool = False) -> Spec:
    return _cholesky(self) if self.numel() else Spec(tuple(self.shape), self._dtype)


def meta_ldl_factor_ex(self: Tensor, hermitian: bool = False, check_errors: bool = False) -> Specs:
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


def meta_ormqr(self: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False) -> Spec:
    tau, other = input2, input3
    _check_reflectors("torch.ormqr", self, tau)
    check(other.ndim >= 2, "torch.ormqr: other must have at least 2 dimensions.")
    size = other.shape[-2 if left else -1]
    check(size >= tau.shape[-1] and size == self.shape[-2],
          lambda: f"torch.ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2] and not less than "
                  f"tau.shape[-1], got other {list(other.shape)}, input {list(self.shape)}, tau {list(tau.shape)}")
    check(tau.shape[-1] == min(size, self.shape[-1]), lambda: "torch.ormqr: tau.shape[-1] must be equal to "
          f"min(other.shape[{-2 if left else -1}], input.shape[-1])")
    check(other.ndim == self.ndim, lambda: "torch.ormqr: Expected other to have the same number of dimensions as "
          f"input, but got other.ndim equal to {other.ndim} and input.ndim is equal to {self.ndim}")
    for name, batch in ("tau", tau.shape[:-1]), ("other", batch_of(other)):
        check(batch == batch_of(self), lambda: f"torch.ormqr: Expected batch dimensions of {name} to be equal to "  # noqa: B023
              f"input.shape[:-2], but got {list(batch)}")  # noqa: B023
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


def lstsq(self: Tensor, b: Any, rcond: float | None = None, driver: str | None = None) -> Specs:
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


def _scalar(self: Tensor, value: Any) -> Any:
    """Return a tolerance as a tensor of the singular values' dtype."""
    if hasattr(value, "dtype"):
        return value
    return full((), value, dtype=self.dtype.to_real(), device=self.device)


def _tolerances(self: Tensor, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """Return tolerances as tensors; by default, and without an absolute one, eps * max(rows, columns) relative."""
    default = 0.0 if rtol is not None else finfo(self.dtype.to_real()).eps * max(self.shape[-2:])
    if rtol is None and hasattr(atol, "dtype"):
        rtol = where(atol > 0, _scalar(self, 0.0), _scalar(self, default))
    elif rtol is None:
        rtol = 0.0 if atol is not None and atol > 0 else default
    return _scalar(self, 0.0 if atol is None else atol), _scalar(self, rtol)


def _above(values: Any, largest: Any, atol: Any, rtol: Any) -> Any:
    """Mark the singular values that count as not zero."""
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


def pinv_with_rcond(self: Tensor, rcond: Any = 1e-15, hermitian: bool = False) -> Any:
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


def det_grad(grad: Tensor, result: Any, A: Any, LU: Any, pivots: Any) -> Any:
    if not A.numel():
        return A.new_zeros(A.shape)
    scale = (grad * conj(result)).unsqueeze(-1)
    if differentiates(grad, A):
        if not A.is_meta and (result == 0).any():
            return singular_det_grad(grad, A)
        return solve(adjoint(A), diagonal_matrix(scale.expand(A.shape[:-1])), True)
    if has_values(result) and result.all():
        return lu_solve(LU, pivots, diagonal_matrix(scale.expand(A.shape[:-1])), True, True)
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


def singular_det_grad(grad: Tensor, A: Any) -> Any:
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
    return solve(adjoint(A), scaled, True) if differentiates(scaled, A) else lu_solve(LU, pivots, scaled, True, True)


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


def lu_factor_grad(grad: Tensor, LU: Any, pivots: Any) -> Any:
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
    """Add rows and columns of zeros to matrices."""
    if x.shape[-2] < n:
        x = cat([x, x.new_zeros((*x.shape[:-2], n - x.shape[-2], x.shape[-1]))], -2)
    return cat([x, x.new_zeros((*x.shape[:-1], m - x.shape[-1]))], -1) if x.shape[-1] < m else x


def cholesky_grad(grad: Tensor, L: Any, upper: bool) -> Tensor:
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


def _qr_grad(gQ: Any, gR: Any, Q: Any, R: Any) -> Tensor:
    middle: Any = gR @ adjoint(R) if gR is not None else 0
    if gQ is not None:
        middle = middle - adjoint(Q) @ gQ
    middle = middle.triu()  # copied to below the diagonal
    middle = middle + adjoint(middle) - diagonal_matrix(real(diagonal_of(middle)))
    g = Q @ middle if gQ is None else gQ + Q @ middle
    return solve_triangular(adjoint(R), g, False, False)


def householder_product_grad(grad: Tensor, input: Tensor, tau: Any) -> Pair:
    """Return the gradient of H1 ... Hk with H = I - tau v v^H by products of matrices: the reflections together are
    I - V T V^H with T = D (I + S D)^-1, where D has tau on its diagonal and S is V^H V above it.
    """
    k, (n, m) = tau.shape[-1], input.shape[-2:]
    if not input.numel() or not tau.numel():
        return None, None
    rows, columns = tau.unsqueeze(-1), tau.unsqueeze(-2)
    vectors = input.narrow(-1, 0, k).tril(-1) + _first_columns(input, n, k)
    products, one = (adjoint(vectors) @ vectors).triu(1), _first_columns(input, k, k)
    inverse = solve_triangular(products * columns + one, one, True, True, True)
    t, first = rows * inverse, vectors.narrow(-2, 0, m)
    through = -(adjoint(vectors) @ grad)
    g_t = through @ first
    g_inverse = -(adjoint(inverse) @ (conj(rows) * g_t) @ adjoint(inverse))
    g_products = (g_inverse * conj(columns)).triu(1)
    g_vectors = vectors @ (g_products + adjoint(g_products)) - grad @ first @ adjoint(t)
    g_vectors = g_vectors + widened(adjoint(through) @ t, n, k)
    g_tau = (g_t * conj(inverse)).sum(-1) + (conj(products) * g_inverse).sum(-2)
    return widened(g_vectors.tril(-1), n, m), g_tau


def _first_columns(x: Any, n: int, m: int) -> Any:
    """Return the first columns of identity matrices like ``x``, in its batch's shape."""
    return diagonal_matrix(x.new_ones((*x.shape[:-2], n))).narrow(-1, 0, m)


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


def eig_grad(grads: Any, eigenvalues: Any, eigenvectors: Any, self_dtype: Any) -> Tensor:
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


def pinv_grad(grad: Tensor, result: Any, self: Tensor) -> Any:
    A, P, Ph, Gh = self, result, adjoint(result), adjoint(grad)
    if A.shape[-2] <= A.shape[-1]:
        K = Gh @ P
        KPh = K @ Ph
        return KPh - adjoint(P @ K) - (A @ P) @ KPh + (Ph @ P) @ (Gh - K @ A)
    K = P @ Gh
    PhK = Ph @ K
    return PhK - adjoint(K @ P) - (PhK @ P) @ A + ((Gh - A @ K) @ P) @ Ph


def lstsq_grad(grads: Any, self: Tensor, b: Any, solution: Any) -> Pair:
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

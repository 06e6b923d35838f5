"""Meta kernels of matrix factorizations and of what is computed by them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...._base.errors import NAMES, check
from ...._base.layout import Ints, Spec, broadcast_shapes
from ...._dtype import COMPLEX, INTEGER, int32, int64
from ...common.matrices import (
    check_floating, check_lapack, check_matrix, check_same_dtype, check_square, column_major, columns, strided,
)
from . import META_KERNELS

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
    """The specification of a factor that has A's shape and dtype."""
    return column_major(A.shape, A._dtype)


def status(A: Any) -> Spec:
    """The specification of LAPACK's status, one integer for each matrix."""
    return Spec(batch_of(A), int32)


def like_and_status(A: Any, *options: Any) -> Specs:
    return like(A), status(A)


def solution(A: Any, B: Any) -> Spec:
    """The specification of the solutions of the systems A X = B."""
    return column_major((*broadcast_shapes(A.shape[:-2], B.shape[:-2]), *B.shape[-2:]), B._dtype)


def check_equation(function: str, A: Any, shape: Sequence[int], left: bool) -> None:
    """Raise PyTorch's error unless a right-hand side of this shape goes with the square matrix A."""
    n = A.shape[-1]
    check(n == shape[-2 if left else -1], lambda: f"{function}: Incompatible shapes of A and B for the equation "
          f"{'AX = B' if left else 'XA = B'} ({n}x{n} and {shape[-2]}x{shape[-1]})")


def check_pivots(function: str, matrix: str, pivots: Any, shape: Sequence[int]) -> None:
    check(tuple(pivots.shape) == tuple(shape), lambda: f"{function}: Expected {matrix}.shape[:-1] and pivots.shape to "
          f"be the same, but got pivots with shape {list(pivots.shape)} instead")


# -- LU ------------------------------------------------------------------------------------------------------

def _lu(A: Any) -> Specs:
    """LU and pivots."""
    return like(A), Spec((*batch_of(A), min(A.shape[-2:])), int32)


def lu_factor_ex(A: Any, pivot: bool = True, check_errors: bool = False, function: str = "torch.lu_factor") -> Specs:
    check(A.ndim >= 2,
          lambda: f"{function}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    check_lapack("lu_cpu", A._dtype)
    check(pivot or not A.numel(), "linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    return *_lu(A), status(A)


def linalg_lu(A: Any, pivot: bool = True) -> Specs:
    lu_factor_ex(A, pivot, False, "linalg.lu")
    return _unpacked(A, pivot)


def _unpacked(A: Any, with_p: bool = True, with_lu: bool = True) -> Specs:
    """P, L and U; what is not wanted is empty."""
    (n, m), batch, dtype = A.shape[-2:], batch_of(A), A._dtype
    k, nothing = min(n, m), Spec((0,), dtype)
    return (Spec((*batch, n, n), dtype) if with_p else nothing,
            Spec((*batch, n, k), dtype) if with_lu else nothing,
            Spec((*batch, k, m), dtype) if with_lu else nothing)


def lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Specs:
    check_matrix("torch.lu_unpack", LU_data, "LU_data")
    check(not unpack_pivots or LU_pivots._dtype is int32,
          "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: "
          "this function is intended to be used with the output produced by torch.linalg.lu_factor")
    return _unpacked(LU_data, unpack_pivots, unpack_data)


def lu_solve(LU: Any, pivots: Any, B: Any, left: bool = True, adjoint: bool = False) -> Spec:
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


def slogdet(A: Any) -> Specs:
    return Spec(batch_of(A), A._dtype), Spec(batch_of(A), A._dtype.to_real()), *_lu(A)


def is_vector(A: Any, B: Any) -> bool:
    """Whether the right-hand side of a system is a batch of vectors."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])


def solve_ex(A: Any, B: Any, left: bool = True, check_errors: bool = False) -> Specs:
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


# -- triangular systems and Cholesky -------------------------------------------------------------------------

def solve_triangular(self: Any, B: Any, upper: bool, left: bool = True, unitriangular: bool = False) -> Spec:
    function = "linalg.solve_triangular"
    check_square(function, self)
    check_matrix(function, B, "B")
    check_same_dtype(function, self, B)
    check_equation(function, self, B.shape, left)
    check_lapack("triangular_solve_cpu", self._dtype)
    return solution(self, B)


def triangular_solve(self: Any, A: Any, upper: bool = True, transpose: bool = False,
                     unitriangular: bool = False) -> Specs:
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


_cholesky = Factorization("cholesky", like, "cholesky_cpu", floating=False)


def cholesky(self: Any, upper: bool = False) -> Spec:
    return _cholesky(self) if self.numel() else Spec(tuple(self.shape), self._dtype)


def cholesky_solve(self: Any, input2: Any, upper: bool = False) -> Spec:
    for name, matrix in (("b", self), ("u", input2)):
        if matrix.ndim < 2:
            raise RuntimeError(f"cholesky_solve: {name} should have at least 2 dimensions, but has {matrix.ndim} "
                               "dimensions instead")
    _check_system("cholesky_solve", self, input2)
    check_lapack("cholesky_solve_cpu", self._dtype)
    return solution(input2, self)


def ldl_factor_ex(self: Any, hermitian: bool = False, check_errors: bool = False) -> Specs:
    return like(self), Spec(tuple(self.shape[:-1]), int32), status(self)


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


# -- QR ------------------------------------------------------------------------------------------------------

def qr(A: Any, mode: str = "reduced") -> Specs:
    check(mode in ("reduced", "complete", "r"),
          lambda: f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    (n, m), batch, dtype = A.shape[-2:], batch_of(A), A._dtype
    k = n if mode == "complete" else min(n, m)
    q = Spec((0,), dtype) if mode == "r" else column_major((*batch, n, k), dtype)
    return q, column_major((*batch, k, m), dtype)


def geqrf(self: Any) -> Specs:
    check(self.ndim >= 2, "torch.geqrf: input must have at least 2 dimensions.")
    check_lapack("geqrf_cpu", self._dtype)
    return like(self), Spec((*batch_of(self), min(self.shape[-2:])), self._dtype)


def householder_product(input: Any, tau: Any) -> Spec:
    check(input.ndim < 2 or input.shape[-2] >= input.shape[-1],
          "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]")
    _check_reflectors("torch.linalg.householder_product", input, tau)
    check_lapack("orgqr_cpu", input._dtype)
    return like(input)


def ormqr(self: Any, input2: Any, input3: Any, left: bool = True, transpose: bool = False) -> Spec:
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


# -- singular values and eigenvalues -------------------------------------------------------------------------

def svd(A: Any, full_matrices: bool = False, compute_uv: bool = True, driver: str | None = None) -> Specs:
    check(driver is None, "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
                          "cuSOLVER backend.")
    (n, m), batch, dtype = A.shape[-2:], batch_of(A), A._dtype
    k = min(n, m)
    values, nothing = Spec((*batch, k), dtype.to_real()), Spec((0,), dtype)
    if not compute_uv:
        return nothing, values, nothing
    return (column_major((*batch, n, n if full_matrices else k), dtype), values,
            column_major((*batch, m if full_matrices else k, m), dtype))


def eigh(A: Any, UPLO: str = "L", compute_v: bool = True) -> Specs:
    check(UPLO.upper() in ("L", "U"), lambda: f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return Spec(tuple(A.shape[:-1]), A._dtype.to_real()), like(A) if compute_v else Spec((0,), A._dtype)


def eig(A: Any) -> Specs:
    check(A._dtype.category > INTEGER, lambda: f"Unknown Complex ScalarType for {NAMES[A._dtype.name]}")
    dtype = A._dtype if A._dtype.category == COMPLEX else A._dtype.to_complex()
    return Spec(tuple(A.shape[:-1]), dtype), column_major(A.shape, dtype)


# -- least squares -------------------------------------------------------------------------------------------

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


META_KERNELS.add(linalg_lu, lu_unpack, triangular_solve, cholesky, cholesky_solve, geqrf, ormqr)
META_KERNELS.update({
    "linalg_lu_factor_ex": lu_factor_ex,
    "linalg_lu_solve": lu_solve,
    "_linalg_det": Factorization("linalg.det", lambda A: (Spec(batch_of(A), A._dtype), *_lu(A)), "lu_cpu"),
    "_linalg_slogdet": Factorization("linalg.slogdet", slogdet, half=False),
    "_linalg_solve_ex": Factorization("linalg.solve", solve_ex),
    "linalg_inv_ex": Factorization("linalg.inv", like_and_status, half=False),
    "linalg_solve_triangular": solve_triangular,
    "linalg_cholesky_ex": Factorization("linalg.cholesky", like_and_status, "cholesky_cpu"),
    "cholesky_inverse": Factorization("cholesky_inverse", like, "cholesky_inverse_out_cpu", floating=False),
    "linalg_ldl_factor_ex": Factorization("torch.linalg.ldl_factor_ex", ldl_factor_ex, "ldl_factor_kernel_cpu"),
    "linalg_ldl_solve": Factorization("torch.linalg.ldl_solve", ldl_solve),
    "linalg_qr": Factorization("linalg.qr", qr, "geqrf_cpu", square=False),
    "linalg_householder_product": householder_product,
    "_linalg_svd": Factorization("linalg.svd", svd, "linalg_svd_cpu", square=False),
    "_linalg_eigh": Factorization("linalg.eigh", eigh, "linalg_eigh_cpu", floating=False),
    "linalg_eig": Factorization("linalg.eig", eig, "linalg_eig_out_cpu", floating=False),
    "linalg_lstsq": lstsq,
    "linalg_matrix_exp": Factorization("linalg.matrix_exp", lambda self: Spec(tuple(self.shape), self._dtype)),
})

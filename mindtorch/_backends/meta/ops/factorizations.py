"""Meta kernels of matrix factorizations and of what is computed by them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._dtype import COMPLEX, INTEGER, DType, int32, int64
from ...._errors import NAMES, check
from ...._layout import Ints, Spec, broadcast_shapes
from ...common.matrices import (
    check_floating, check_lapack, check_matrix, check_same_dtype, check_square, column_major, columns,
    strided,
)  # fmt: skip

Specs = tuple[Spec, ...]


def batch_of(matrix: Any) -> Ints:
    return tuple(matrix.shape[:-2])


def broadcast_batches(a: Any, b: Any) -> Ints:
    return broadcast_shapes(a.shape[:-2], b.shape[:-2])


# -- LU ------------------------------------------------------------------------------------------------------


def _lu(A: Any) -> Specs:
    """LU and pivots."""
    (n, m), batch = A.shape[-2:], batch_of(A)
    return column_major(A.shape, A._dtype), Spec((*batch, min(n, m)), int32)


def lu_factor_ex(A: Any, pivot: bool = True, check_errors: bool = False,
                 function: str = "torch.lu_factor") -> Specs:
    check(A.ndim >= 2,
          lambda: f"{function}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    check_lapack("lu_cpu", A._dtype)
    check(pivot or not A.numel(), "linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    return *_lu(A), Spec(batch_of(A), int32)


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
    n = B.shape[-2 if left else -1]
    check(LU.shape[-1] == n,
          lambda: f"{function}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
                  f"({LU.shape[-2]}x{LU.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})")
    check(pivots.shape[-1:] == (LU.shape[-1],),
          lambda: f"{function}: Number of pivots per batch should be same as the dimension of the matrix")
    check(pivots.shape[:-1] == LU.shape[:-2],
          lambda: f"{function}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
                  f"{list(pivots.shape)} instead")
    shape = (*broadcast_batches(LU, B), *B.shape[-2:])
    return column_major(shape, B._dtype) if left else Spec(shape, B._dtype)


def linalg_det(A: Any) -> Specs:
    check_square("linalg.det", A)
    check_floating("linalg.det", A)
    check_lapack("lu_cpu", A._dtype)
    return Spec(batch_of(A), A._dtype), *_lu(A)


def linalg_slogdet(A: Any) -> Specs:
    check_square("linalg.slogdet", A)
    check_floating("linalg.slogdet", A, low_precision=False)
    return Spec(batch_of(A), A._dtype), Spec(batch_of(A), A._dtype.to_real()), *_lu(A)


def is_vector(A: Any, B: Any) -> bool:
    """Whether the right-hand side of a system is a batch of vectors."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])


def linalg_solve_ex(A: Any, B: Any, left: bool = True, check_errors: bool = False) -> Specs:
    check_square("linalg.solve", A)
    check_floating("linalg.solve", A)
    check_lapack("lu_cpu", A._dtype)
    check_same_dtype("linalg.solve", A, B)
    vector = is_vector(A, B)
    check(left or not vector, "linalg.solve: Vector broadcasting of the left hand side is not supported for "
                              "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)")
    shape = (*B.shape, 1) if vector else tuple(B.shape)
    check(len(shape) >= 2,
          lambda: f"linalg.solve: The input tensor B must have at least 2 dimensions, got shape {list(B.shape)}")
    n, size = A.shape[-1], shape[-2 if left else -1]
    check(n == size,
          lambda: f"linalg.solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
                  f"({n}x{n} and {shape[-2]}x{shape[-1]})")
    batch = broadcast_shapes(A.shape[:-2], shape[:-2])
    result: Ints = (*batch, *shape[-2:])
    if vector:
        result = result[:-1]
    solution = column_major(result, B._dtype) if left and len(result) > 1 else Spec(result, B._dtype)
    return solution, column_major((*batch, n, n), A._dtype), Spec((*batch, n), int32), Spec(batch, int32)


def linalg_inv_ex(A: Any, check_errors: bool = False) -> Specs:
    check_square("linalg.inv", A)
    check_floating("linalg.inv", A, low_precision=False)
    return column_major(A.shape, A._dtype), Spec(batch_of(A), int32)


# -- triangular systems and Cholesky -------------------------------------------------------------------------


def solve_triangular(self: Any, B: Any, upper: bool, left: bool = True, unitriangular: bool = False) -> Spec:
    check_square("linalg.solve_triangular", self)
    check_matrix("linalg.solve_triangular", B, "B")
    check_same_dtype("linalg.solve_triangular", self, B)
    n, size = self.shape[-1], B.shape[-2 if left else -1]
    check(n == size,
          lambda: "linalg.solve_triangular: Incompatible shapes of A and B for the equation "
                  f"{'AX = B' if left else 'XA = B'} ({n}x{n} and {B.shape[-2]}x{B.shape[-1]})")
    check_lapack("triangular_solve_cpu", self._dtype)
    return column_major((*broadcast_batches(self, B), *B.shape[-2:]), B._dtype)


def triangular_solve(self: Any, A: Any, upper: bool = True, transpose: bool = False,
                     unitriangular: bool = False) -> Specs:
    for name, matrix in (("b", self), ("A", A)):
        if matrix.ndim < 2:
            raise RuntimeError(f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has "
                               f"{matrix.ndim} dimensions instead")
    _check_system("triangular_solve", self, A)
    check_lapack("triangular_solve_cpu", A._dtype)
    batch = broadcast_batches(self, A)
    solution = column_major((*batch, *self.shape[-2:]), self._dtype)
    return solution, column_major((*batch, *A.shape[-2:]), A._dtype)


def _check_system(function: str, B: Any, A: Any) -> None:
    n, m = A.shape[-2:]
    check(n == m, lambda: f"{function}: A must be batches of square matrices, but they are {n} by {m} matrices")
    check(m == B.shape[-2],
          lambda: f"Incompatible matrix sizes for {function}: each A matrix is {m} by {m} but each b matrix is "
                  f"{B.shape[-2]} by {B.shape[-1]}")
    check(A._dtype is B._dtype,
          lambda: f"Expected b and A to have the same dtype, but found b of type {NAMES[B._dtype.name]} and A of type "
                  f"{NAMES[A._dtype.name]} instead in {function}")


def cholesky_ex(self: Any, upper: bool = False, check_errors: bool = False) -> Specs:
    check_square("linalg.cholesky", self)
    check_floating("linalg.cholesky", self)
    check_lapack("cholesky_cpu", self._dtype)
    return column_major(self.shape, self._dtype), Spec(batch_of(self), int32)


def cholesky(self: Any, upper: bool = False) -> Spec:
    if not self.numel():
        return Spec(tuple(self.shape), self._dtype)
    check_square("cholesky", self)
    check_lapack("cholesky_cpu", self._dtype)
    return column_major(self.shape, self._dtype)


def cholesky_solve(self: Any, input2: Any, upper: bool = False) -> Spec:
    for name, matrix in (("b", self), ("u", input2)):
        if matrix.ndim < 2:
            raise RuntimeError(f"cholesky_solve: {name} should have at least 2 dimensions, but has {matrix.ndim} "
                               "dimensions instead")
    _check_system("cholesky_solve", self, input2)
    check_lapack("cholesky_solve_cpu", self._dtype)
    return column_major((*broadcast_batches(self, input2), *self.shape[-2:]), self._dtype)


def cholesky_inverse(self: Any, upper: bool = False) -> Spec:
    check_square("cholesky_inverse", self)
    check_lapack("cholesky_inverse_out_cpu", self._dtype)
    return column_major(self.shape, self._dtype)


def ldl_factor_ex(self: Any, hermitian: bool = False, check_errors: bool = False) -> Specs:
    check_square("torch.linalg.ldl_factor_ex", self)
    check_floating("torch.linalg.ldl_factor_ex", self)
    check_lapack("ldl_factor_kernel_cpu", self._dtype)
    factor, pivots = column_major(self.shape, self._dtype), Spec(tuple(self.shape[:-1]), int32)
    return factor, pivots, Spec(batch_of(self), int32)


def ldl_solve(LD: Any, pivots: Any, B: Any, hermitian: bool = False) -> Spec:
    function = "torch.linalg.ldl_solve"
    check_square(function, LD)
    check_floating(function, LD)
    check_matrix(function, B, "B")
    check(LD.shape[-1] == B.shape[-2],
          lambda: f"{function}: Incompatible matrix sizes: each A matrix is {LD.shape[-1]} by {LD.shape[-1]} but each "
                  f"b matrix is {B.shape[-2]} by {B.shape[-1]}")
    check(pivots.shape == LD.shape[:-1],
          lambda: f"{function}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
                  f"{list(pivots.shape)} instead")
    check(pivots._dtype.category == INTEGER,
          lambda: f"{function}: Expected pivots to be integers. Got {NAMES[pivots._dtype.name]}")
    check(LD._dtype is B._dtype,
          lambda: f"{function}: LD and B are expected to have the same dtype, but got {LD.dtype} and {B.dtype}")
    return column_major((*broadcast_batches(LD, B), *B.shape[-2:]), B._dtype)


# -- QR ------------------------------------------------------------------------------------------------------


def linalg_qr(A: Any, mode: str = "reduced") -> Specs:
    check_matrix("linalg.qr", A)
    check_floating("linalg.qr", A)
    check(mode in ("reduced", "complete", "r"),
          lambda: f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    check_lapack("geqrf_cpu", A._dtype)
    (n, m), batch, dtype = A.shape[-2:], batch_of(A), A._dtype
    k = n if mode == "complete" else min(n, m)
    q = Spec((0,), dtype) if mode == "r" else column_major((*batch, n, k), dtype)
    return q, column_major((*batch, k, m), dtype)


def geqrf(self: Any) -> Specs:
    check(self.ndim >= 2, "torch.geqrf: input must have at least 2 dimensions.")
    check_lapack("geqrf_cpu", self._dtype)
    return column_major(self.shape, self._dtype), Spec((*batch_of(self), min(self.shape[-2:])), self._dtype)


def householder_product(input: Any, tau: Any) -> Spec:
    _check_reflectors("torch.linalg.householder_product", input, tau)
    check(input.shape[-2] >= input.shape[-1],
          "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to "
          "input.shape[-1]")
    check_lapack("orgqr_cpu", input._dtype)
    return column_major(input.shape, input._dtype)


def ormqr(self: Any, input2: Any, input3: Any, left: bool = True, transpose: bool = False) -> Spec:
    tau, other = input2, input3
    _check_reflectors("torch.ormqr", self, tau)
    check(other.ndim >= 2, "torch.ormqr: other must have at least 2 dimensions.")
    size = other.shape[-2 if left else -1]
    check(size >= tau.shape[-1] and size == self.shape[-2],
          lambda: f"torch.ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2] and not less than "
                  f"tau.shape[-1], got other {list(other.shape)}, input {list(self.shape)}, tau {list(tau.shape)}")
    check(tau.shape[-1] <= self.shape[-1], "torch.ormqr: tau.shape[-1] must be less than or equal to "
                                           "input.shape[-1]")
    check(other.ndim == self.ndim and batch_of(other) == batch_of(self),
          lambda: "torch.ormqr: batch dimensions of other.shape to be equal to input.shape[:-2], but got "
                  f"{list(other.shape)}")
    check(other._dtype is self._dtype,
          lambda: "torch.ormqr: Expected input and other to have the same dtype, but input has dtype "
                  f"{NAMES[self._dtype.name]} and other has dtype {NAMES[other._dtype.name]}")
    check_lapack("ormqr_cpu", self._dtype)
    return column_major(other.shape, other._dtype)


def _check_reflectors(function: str, matrix: Any, tau: Any) -> None:
    check(matrix.ndim >= 2, lambda: f"{function}: input must have at least 2 dimensions.")
    check(matrix.shape[-1] >= tau.shape[-1] if tau.ndim else True,
          lambda: f"{function}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    check(matrix.ndim - tau.ndim == 1,
          lambda: f"{function}: Expected tau to have one dimension less than input, but got tau.ndim equal to "
                  f"{tau.ndim} and input.ndim is equal to {matrix.ndim}")
    check(batch_of(matrix) == tuple(tau.shape[:-1]),
          lambda: f"{function}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
                  f"{list(tau.shape[:-1])}")
    check(tau._dtype is matrix._dtype,
          lambda: f"{function}: tau dtype {NAMES[tau._dtype.name]} does not match input dtype "
                  f"{NAMES[matrix._dtype.name]}")


# -- singular values and eigenvalues -------------------------------------------------------------------------


def linalg_svd(A: Any, full_matrices: bool = False, compute_uv: bool = True,
               driver: str | None = None) -> Specs:
    check_matrix("linalg.svd", A)
    check_floating("linalg.svd", A)
    check_lapack("linalg_svd_cpu", A._dtype)
    check(driver is None, "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs "
                          "with cuSOLVER backend.")
    (n, m), batch, dtype = A.shape[-2:], batch_of(A), A._dtype
    k = min(n, m)
    values, nothing = Spec((*batch, k), dtype.to_real()), Spec((0,), dtype)
    if not compute_uv:
        return nothing, values, nothing
    return (column_major((*batch, n, n if full_matrices else k), dtype), values,
            column_major((*batch, m if full_matrices else k, m), dtype))


def linalg_eigh(A: Any, UPLO: str = "L", compute_v: bool = True) -> Specs:
    check_square("linalg.eigh", A)
    check(UPLO.upper() in ("L", "U"), lambda: f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    check_lapack("linalg_eigh_cpu", A._dtype)
    vectors = column_major(A.shape, A._dtype) if compute_v else Spec((0,), A._dtype)
    return Spec(tuple(A.shape[:-1]), A._dtype.to_real()), vectors


def complex_of(dtype: DType) -> DType:
    check(dtype.category > INTEGER, lambda: f"Unknown Complex ScalarType for {NAMES[dtype.name]}")
    return dtype if dtype.category == COMPLEX else dtype.to_complex()


def linalg_eig(self: Any) -> Specs:
    check_square("linalg.eig", self)
    dtype = complex_of(self._dtype)
    check_lapack("linalg_eig_out_cpu", self._dtype)
    return Spec(tuple(self.shape[:-1]), dtype), column_major(self.shape, dtype)


# -- least squares, exponential ------------------------------------------------------------------------------


def lstsq(self: Any, b: Any, rcond: float | None = None, driver: str | None = None) -> Specs:
    check(self.ndim >= 2, "torch.linalg.lstsq: input must have at least 2 dimensions.")
    check(b.ndim >= 1, "torch.linalg.lstsq: other must have at least 1 dimension.")
    check(0 <= self.ndim - b.ndim <= 1,
          lambda: "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - "
                  f"other.dim()) <= 1, got {self.ndim} and {b.ndim}")
    check(driver in (None, "gels", "gelsy", "gelsd", "gelss"),
          lambda: "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got "
                  f"'{driver}'")
    vector = self.ndim - b.ndim == 1 and b.shape == self.shape[:-1]
    right = (*b.shape, 1) if vector else tuple(b.shape)
    rows = right[-2] if len(right) > 1 else right[-1]
    check(rows == self.shape[-2],
          lambda: f"torch.linalg.lstsq: input.size(-2) should match other.size({-1 if vector else -2})")
    check(self._dtype is b._dtype,
          lambda: "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
                  f"{NAMES[self._dtype.name]} and other's dtype {NAMES[b._dtype.name]}")
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


def matrix_exp(self: Any) -> Spec:
    check_square("linalg.matrix_exp", self)
    check_floating("linalg.matrix_exp", self)
    return Spec(tuple(self.shape), self._dtype)


ROWS: dict[str, Callable[..., Any]] = {
    "linalg_lu_factor_ex": lu_factor_ex,
    "linalg_lu": linalg_lu,
    "lu_unpack": lu_unpack,
    "linalg_lu_solve": lu_solve,
    "_linalg_det": linalg_det,
    "_linalg_slogdet": linalg_slogdet,
    "_linalg_solve_ex": linalg_solve_ex,
    "linalg_inv_ex": linalg_inv_ex,
    "linalg_solve_triangular": solve_triangular,
    "triangular_solve": triangular_solve,
    "linalg_cholesky_ex": cholesky_ex,
    "cholesky": cholesky,
    "cholesky_solve": cholesky_solve,
    "cholesky_inverse": cholesky_inverse,
    "linalg_ldl_factor_ex": ldl_factor_ex,
    "linalg_ldl_solve": ldl_solve,
    "linalg_qr": linalg_qr,
    "geqrf": geqrf,
    "linalg_householder_product": householder_product,
    "ormqr": ormqr,
    "_linalg_svd": linalg_svd,
    "_linalg_eigh": linalg_eigh,
    "linalg_eig": linalg_eig,
    "linalg_lstsq": lstsq,
    "linalg_matrix_exp": matrix_exp,
}

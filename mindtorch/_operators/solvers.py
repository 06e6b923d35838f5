"""Systems of linear equations; inverses, norms, ranks and other functions of factored matrices."""
from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod
from typing import Any

from .._backends.common.matrices import (
    check_floating, check_lapack, check_matrix, check_same_dtype, check_square, column_major,
)
from .._base.call_site import warn_once
from .._base.errors import NAMES, check
from .._base.layout import Ints, Spec, broadcast_shapes
from .._creation.sizes import full, zeros
from .._dispatch.aten import (
    _linalg_det as det, _linalg_eigh as eigh, _linalg_slogdet as slogdet, _linalg_solve_ex as solve_ex,
    _linalg_svd as svd, cat, cholesky_solve, linalg_cholesky_ex as cholesky_ex, linalg_eig as eig,
    linalg_householder_product as householder_product, linalg_inv_ex as inv_ex, linalg_ldl_factor_ex as ldl_factor_ex,
    linalg_lu_factor_ex as lu_factor_ex, linalg_lu_solve as lu_solve, linalg_matrix_exp as matrix_exp, linalg_qr as qr,
    linalg_solve as solve, linalg_solve_triangular as solve_triangular, linalg_vector_norm as vector_norm, lu_unpack,
    where_self as where,
)
from .._dtype import INTEGER, int32
from .._tensor import Tensor
from .._transforms.batching.rules import trailing
from . import composites, differentiates, operator, schemas
from .factorizations import (
    Factorization, Pair, Specs, batch_of, checked, inf, like, linalg_matrix_norm, linalg_svdvals, packed, records,
    solution,
)
from .linalg import adjoint, adjoint as _adjoint, conj

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
    """Return True if the right-hand side of a system is a batch of vectors."""
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


def meta_solve_triangular(self: Tensor, B: Any, upper: bool, left: bool = True, unitriangular: bool = False) -> Spec:
    function = "linalg.solve_triangular"
    check_square(function, self)
    check_matrix(function, B, "B")
    check_equation(function, self, B.shape, left)
    check_lapack("triangular_solve_cpu", self._dtype)
    return solution(self, B)._replace(dtype=self._dtype)  # B is converted


def meta_triangular_solve(self: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool =
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


def meta_cholesky_solve(self: Tensor, input2: Tensor, upper: bool = False) -> Spec:
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


def solve_grad(grad: Tensor, A: Any, B_shape: Any, result: Tensor, LU: Any, pivots: Any, left: bool) -> Pair:
    vector = len(B_shape) == 1 or (A.ndim - 1 == len(B_shape) and tuple(B_shape) == tuple(A.shape[:-1]))
    if vector:
        grad, result = grad.unsqueeze(-1), result.unsqueeze(-1)
    # the factors found before serve again, unless the gradient shall have a derivative
    g_b = solve(adjoint(A), grad, left) if differentiates(grad, A) else lu_solve(LU, pivots, grad, left, True)
    g_a = -(g_b @ adjoint(result) if left else adjoint(result) @ g_b)
    return g_a, g_b.squeeze(-1) if vector else g_b


def lu_solve_grad(grad: Tensor, LU: Any, pivots: Any, result: Any, left: bool, adjoint: bool) -> Any:
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


def solve_triangular_grad(grad: Any, self: Any, result: Tensor, upper: bool, left: bool, unitriangular: bool) -> Pair:
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


def cholesky_solve_grad(grad: Tensor, input2: Any, result: Tensor, upper: bool) -> Pair:
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


def meta_geqrf(self: Tensor) -> Specs:
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


def cholesky_inverse_grad(grad: Tensor, self: Tensor, result: Any, upper: bool) -> Any:
    common = result @ (grad + adjoint(grad)) @ result
    return -(self @ common if upper else common @ self)


def matrix_exp_grad(grad: Tensor, self: Tensor) -> Tensor:
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


def deprecated_lu_solve(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Any:
    """``torch.lu_solve``: what ``torch.linalg.lu_solve`` returns."""
    warn_once("torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch "
              "release.\nNote that torch.linalg.lu_solve has its arguments reversed.\n"
              "X = torch.lu_solve(B, LU, pivots)\nshould be replaced with\nX = torch.linalg.lu_solve(LU, pivots, B)")
    return lu_solve(LU_data, LU_pivots, self)


def deprecated_qr(self: Tensor, some: bool = True) -> Any:
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
operator("lu_solve", composite=deprecated_lu_solve, autocast="cpu float32")
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


def svd_of(self: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
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
    warn_once("at::nuclear_norm is deprecated and it is just left for JIT compatibility. It will be removed in a "
              "future PyTorch release. Please use `linalg.matrix_norm(A, 'nuc', dim, keepdim)` instead")
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

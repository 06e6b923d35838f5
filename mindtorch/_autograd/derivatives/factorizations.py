"""Derivatives of matrix factorizations and of what is computed by them.

Notation: a prefix ``g`` is a gradient, ``adjoint(A)`` is A^H. For the formulas see Giles, *Collected matrix
derivative results* (2008), and Seeger et al., *Auto-differentiating linear algebra* (2017).
"""
from __future__ import annotations

from typing import Any

from ..._base.errors import check
from ..._dispatch.aten import (
    cat, cholesky_solve, linalg_det as det, linalg_lu_solve as lu_solve, linalg_matrix_exp as matrix_exp,
    linalg_pinv_atol_rtol_tensor as pinv, linalg_solve as solve, linalg_solve_triangular as solve_triangular,
    linalg_svd as svd, lu_unpack, ormqr,
)
from ..._dispatch.local import local
from ..derivative import derivative
from .linalg import adjoint, adjoint as _adjoint, conj  # where an operator has a parameter of that name

Pair = tuple[Any, Any]


def diagonal_of(x: Any) -> Any:
    return x.diagonal(0, -2, -1)


def diagonal_matrix(x: Any) -> Any:
    return x.diag_embed()


def real(x: Any) -> Any:
    return x.real if x.is_complex() else x


# -- systems, inverses, determinants -------------------------------------------------------------------------


def solve_grad(grad: Any, A: Any, B_shape: Any, result: Any, LU: Any, pivots: Any, left: bool) -> Pair:
    vector = len(B_shape) == 1 or (A.ndim - 1 == len(B_shape) and tuple(B_shape) == tuple(A.shape[:-1]))
    if vector:
        grad, result = grad.unsqueeze(-1), result.unsqueeze(-1)
    # the factors found before serve again, unless the gradient shall have a derivative
    g_b = solve(adjoint(A), grad, left) if local.grad_enabled else lu_solve(LU, pivots, grad, left, True)
    g_a = -(g_b @ adjoint(result) if left else adjoint(result) @ g_b)
    return g_a, g_b.squeeze(-1) if vector else g_b


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
    """The sign of the permutation that LAPACK's pivots stand for."""
    moved = pivots != pivots.new_tensor(list(range(1, pivots.shape[-1] + 1)))
    return 1 - 2 * (moved.sum(-1) % 2)


def singular_det_grad(grad: Any, A: Any) -> Any:
    """The gradient by singular values, of which one or more are 0: the cofactors are products of the others."""
    U, S, Vh = svd(A, True)
    n = S.shape[-1]
    itself = diagonal_matrix(S.detach() * 0 + 1) != 0
    others = S.unsqueeze(-2).expand((*S.shape, n)).masked_fill(itself, 1).prod(-1)
    scale = (grad * conj(det(U) * det(Vh))).unsqueeze(-1)
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


derivative("_linalg_solve_ex", None, (0,), **{"A, B": solve_grad})
derivative("_linalg_det", None, (0,), A=det_grad)
derivative("_linalg_slogdet", None, (0, 1), A=slogdet_grad)
derivative("linalg_inv_ex", A=lambda grad, inverse: -(adjoint(inverse) @ (grad @ adjoint(inverse))))


# -- LU ------------------------------------------------------------------------------------------------------


def lu_grad(gL: Any, gU: Any, P: Any, L: Any, U: Any) -> Any:
    """The gradient of A = P L U."""
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


def lu_solve_grad(grad: Any, LU: Any, pivots: Any, result: Any, left: bool, adjoint: bool) -> Any:
    """The gradient of the packed factors."""
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


derivative("linalg_lu_factor_ex", None, (0,), A=lu_factor_grad)
derivative("linalg_lu", None, (1, 2), A=lambda grads, P, L, U: lu_grad(grads[1], grads[2], P, L, U))
derivative("lu_unpack", None, (1, 2), LU_data=lu_unpack_grad)
derivative("linalg_lu_solve", LU=lu_solve_grad,
           B=lambda grad, LU, pivots, left, adjoint: lu_solve(LU, pivots, grad, left, not adjoint))


# -- triangular systems and Cholesky -------------------------------------------------------------------------


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


def cholesky_grad(grad: Any, L: Any, upper: bool) -> Any:
    if upper:
        grad, L = adjoint(grad), adjoint(L)
    lower = (adjoint(L) @ grad).tril()
    g = solve_triangular(adjoint(L), 0.5 * (lower + adjoint(lower.tril(-1))), True)
    return solve_triangular(L, g, False, False)


def cholesky_solve_grad(grad: Any, input2: Any, result: Any, upper: bool) -> Pair:
    g_b = cholesky_solve(grad, input2, upper)
    common = g_b @ adjoint(result)
    common = common + adjoint(common)
    return g_b, -(input2 @ common if upper else common @ input2)


def cholesky_inverse_grad(grad: Any, self: Any, result: Any, upper: bool) -> Any:
    common = result @ (grad + adjoint(grad)) @ result
    return -(self @ common if upper else common @ self)


derivative("linalg_solve_triangular", **{"self, B": solve_triangular_grad})
derivative("triangular_solve", **{"self, A": triangular_solve_grad})
derivative("linalg_cholesky_ex", self=cholesky_grad)
derivative("cholesky", self=lambda grad, result, upper: cholesky_grad(grad, result, upper))
derivative("cholesky_solve", **{"self, input2": cholesky_solve_grad})
derivative("cholesky_inverse", self=cholesky_inverse_grad)


# -- QR ------------------------------------------------------------------------------------------------------


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
    """The gradient of Q = H1 H2 ... Hk, with reflections H = I - tau v v^H: from the right, the partial products; from
    the left, what arrives at each of them.
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
    """The vector of a reflection, as a column: zeros, a one, and what the matrix holds below the diagonal."""
    n = x.shape[-2]
    head = x.new_tensor([0.0] * i + [1.0]).unsqueeze(-1).expand((*x.shape[:-2], i + 1, 1))
    return cat([head, x.narrow(-1, i, 1).narrow(-2, i + 1, n - i - 1)], -2)


def _below(column: Any, i: int) -> Any:
    """A column without what is above and on the diagonal."""
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


derivative("linalg_qr", A=qr_grad)
derivative("linalg_householder_product", **{"input, tau": householder_product_grad})
derivative("ormqr", **{"self, input2, input3": ormqr_grad})


# -- singular values and eigenvalues -------------------------------------------------------------------------


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


derivative("_linalg_svd", A=svd_grad)
derivative("_linalg_eigh", A=eigh_grad)
derivative("linalg_eig", self=eig_grad)


# -- pseudo-inverse, least squares, exponential --------------------------------------------------------------


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


def matrix_exp_grad(grad: Any, self: Any) -> Any:
    """The upper right block of the exponential of [[A^H, grad], [0, A^H]]."""
    n = self.shape[-1]
    A = adjoint(self)
    block = cat([cat([A, grad], -1), cat([A.new_zeros(A.shape), A], -1)], -2)
    return matrix_exp(block).narrow(-2, 0, n).narrow(-1, n, n)


derivative("linalg_pinv.atol_rtol_tensor", self=pinv_grad)
derivative("linalg_lstsq", None, (0, 1), **{"self, b": lstsq_grad})
derivative("linalg_matrix_exp", self=matrix_exp_grad)

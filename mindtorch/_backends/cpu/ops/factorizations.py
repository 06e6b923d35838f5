"""CPU kernels of matrix factorizations: LAPACK, by NumPy if it takes batches and fails alike, else by SciPy."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ...._base.call_site import warn_once
from ...._base.errors import LinAlgError, check, first_failure
from ...._base.layout import Ints
from .. import one_matrix
from ..one_matrix import lapack, of_one
from . import AT_ONCE, CPU_KERNELS

#: Rows of a small matrix; and how many such matrices, a row, make a batch that NumPy computes at once.
FEW, MANY = 16, 8
COLUMNS = 64  #: which LAPACK factors at a time, given the workspace; else one by one
ndarray = np.ndarray
Arrays = tuple[ndarray, ...]
Kernel = Callable[..., Any]


def missing() -> ndarray:
    """Return a placeholder for an output that was not requested."""
    return np.empty(0)


def each(outputs: Arrays, function: Callable[..., Any], *inputs: ndarray) -> Arrays:
    """Apply a function to each matrix of batches and write its results into the outputs, unless matrices are empty."""
    if 0 not in [x.size for x in inputs]:
        batch = inputs[0].shape[:-2]
        for index in np.ndindex(batch) if batch else ((),):
            for out, result in zip(outputs, function(*[x[index] for x in inputs]), strict=True):
                out[index] = result
    return outputs


def are_many(a: ndarray) -> bool:
    """Return True for a batch of small matrices, which NumPy's calls for all of them compute sooner than LAPACK's."""
    return a.size > 0 and max(a.shape[-2:]) <= FEW and a.size >= MANY * max(a.shape[-2:]) ** 3


def batch_last(a: ndarray) -> ndarray:
    """Return a copy of a batch with one dimension for the batch, which is the last and contiguous."""
    return np.moveaxis(a.reshape(-1, *a.shape[-2:]), 0, -1).copy()


def batch_first(a: ndarray, batch: Ints) -> ndarray:
    """Return a contiguous array with the batch's dimensions before the others, the inverse of ``batch_last``."""
    return np.ascontiguousarray(np.moveaxis(a, -1, 0)).reshape(*batch, *a.shape[:-1])


def by_lapack(routine: str, call: Callable[..., Any], outputs: Arrays, *inputs: ndarray) -> Arrays:
    """Apply ``call(routine, *matrices)``, with the routine for their dtype, to each matrix of batches."""
    if all(batch.size for batch in inputs):
        each(outputs, partial(call, lapack(routine, inputs[0].dtype)), *inputs)
    return outputs


def broadcast(a: ndarray, b: ndarray) -> tuple[ndarray, ndarray]:
    """Broadcast the batch dimensions of two batches of matrices."""
    if a.shape[:-2] == b.shape[:-2]:
        return a, b
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return np.broadcast_to(a, batch + a.shape[-2:]), np.broadcast_to(b, batch + b.shape[-2:])


def check_info(info: ndarray, function: str, message: str) -> None:
    """Raise LinAlgError for a nonzero status, naming the batch element; ``{}`` in the message is the status."""
    failure = first_failure(info)
    if failure is not None:
        raise LinAlgError(f"{function}: {failure[0]}{message.format(failure[1])}")


def check_without_nan(a: ndarray, function: str) -> None:
    check_info(np.isnan(a).any((-2, -1)), function,
               "The algorithm failed to converge because the input matrix contained non-finite values.")


@contextmanager
def converging(function: str, a: ndarray) -> Iterator[None]:
    """Convert NumPy's convergence error for a batch of matrices to PyTorch's."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        check_without_nan(a, function)
        raise LinAlgError(f"{function}: The algorithm failed to converge because the input matrix is ill-conditioned, "
                          f"has too many repeated eigenvalues or non-finite values ({error}).") from None


# -- LU ------------------------------------------------------------------------------------------------------

def lu_factor_ex(a: ndarray, pivot: bool = True, check_errors: bool = False) -> Arrays:
    """Compute LU, pivots counted from 1, and the status."""
    batch, k = a.shape[:-2], min(a.shape[-2:])
    outputs: Arrays = np.empty_like(a), np.zeros((*batch, k), np.int32), np.zeros(batch, np.int32)
    if a.size:
        total = np.add.reduce(a, axis=None)
        if are_many(a) or total != total:
            outputs = lu_at_once(a)
        else:
            each(outputs, lapack("getrf", a.dtype), a)
        outputs[1][...] += 1
    if check_errors:
        check_info(outputs[2], "torch.linalg.lu_factor_ex",
                   "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero.")
    return outputs


def lu_at_once(a: ndarray) -> Arrays:
    """Compute LU, pivots counted from 0, and the status of all matrices at once, as LAPACK's getrf does of one.

    Also for matrices with NaN: OpenBLAS skips products with zero, even of NaN. The resulting zeros and pivots make a
    matrix seem singular or regular.
    """
    lu, which = batch_last(a), np.arange(prod(a.shape[:-2]))
    pivots, info = np.empty((min(a.shape[-2:]), len(which)), np.int32), np.zeros(len(which), np.int32)
    for k in range(len(pivots)):
        below = lu[k:, k]
        sizes = np.abs(below.real) + np.abs(below.imag) if below.dtype.kind == "c" else np.abs(below)
        unknown = np.isnan(sizes)
        sizes[unknown] = -1
        sizes[0, unknown[0]] = np.inf  # a NaN stays the pivot: nothing compares greater
        pivots[k] = sizes.argmax(0)
        pivots[k] += k
        row = lu[pivots[k], :, which].T
        lu[pivots[k], :, which] = lu[k].T
        lu[k] = row
        regular = row[k] != 0
        np.copyto(info, k + 1, where=~regular & (info == 0))
        np.divide(lu[k + 1:, k], row[k], out=lu[k + 1:, k], where=regular)
        lu[k + 1:, k + 1:] -= lu[k + 1:, k, None] * lu[k, k + 1:]
    batch = a.shape[:-2]
    return batch_first(lu, batch), batch_first(pivots, batch), info.reshape(batch)


def permutation(pivots: ndarray, n: int) -> ndarray:
    """Return the row order that results from the interchanges of LAPACK's pivots."""
    order = np.broadcast_to(np.arange(n), (*pivots.shape[:-1], n)).copy()
    for index in np.ndindex(pivots.shape[:-1]):
        rows = order[index]
        for i, j in enumerate((pivots[index] - 1).tolist()):
            rows[i], rows[j] = rows[j], rows[i]
    return order


def lu_unpack(lu: ndarray, pivots: ndarray, unpack_data: bool = True, unpack_pivots: bool = True) -> Arrays:
    n, k = lu.shape[-2], min(lu.shape[-2:])
    p = lower = upper = missing()
    if unpack_pivots:
        check(not ((pivots < 1) | (pivots > n)).any(),
              "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
              "Did you properly pass the result of lu_factor?")
        p = np.eye(n, dtype=lu.dtype)[permutation(pivots, n)].swapaxes(-1, -2)
    if unpack_data:
        lower, upper = np.tril(lu[..., :k], -1) + np.eye(n, k, dtype=lu.dtype), np.triu(lu[..., :k, :])
    return p, lower, upper


def linalg_lu(a: ndarray, pivot: bool = True) -> Arrays:
    lu, pivots, _ = lu_factor_ex(a)
    return lu_unpack(lu, pivots, True, pivot)


def solve_factored(lu: ndarray, pivots: ndarray, b: ndarray, adjoint: bool = False) -> ndarray:
    """Solve ``A X = B``, or ``A^H X = B`` with ``adjoint``, given A's LU and pivots."""
    lu, b = broadcast(lu, b)
    rows = pivots[..., None] - 1
    if rows.shape[:-2] != lu.shape[:-2]:
        rows = np.broadcast_to(rows, (*lu.shape[:-2], *rows.shape[-2:]))
    if are_many(lu):
        return solve_at_once(lu, rows, b, adjoint)
    return by_lapack("getrs", lambda getrs, lu, rows, b: getrs(lu, rows[:, 0], b, 2 * adjoint)[:1],
                     (np.empty(b.shape, b.dtype),), lu, rows, b)[0]


def solve_at_once(lu: ndarray, rows: ndarray, b: ndarray, adjoint: bool) -> ndarray:
    """Solve the systems of all matrices at once, as LAPACK's getrs does one."""
    factors, places, x = batch_last(lu), batch_last(rows)[:, 0], batch_last(b)
    which, exchanges = np.arange(x.shape[-1]), range(len(places))
    if adjoint:
        factors = factors.conj().swapaxes(0, 1)
    else:
        exchange(x, places, which, exchanges)
    substitute(factors, x, True, not adjoint)
    substitute(factors, x, False, adjoint)
    if adjoint:
        exchange(x, places, which, exchanges[::-1])
    return batch_first(x, b.shape[:-2])


def exchange(x: ndarray, places: ndarray, which: ndarray, order: range) -> None:
    """Exchange rows with those at LAPACK's pivots, in this order."""
    for k in order:
        row = x[places[k], :, which].T
        x[places[k], :, which] = x[k].T
        x[k] = row


def substitute(a: ndarray, x: ndarray, lower: bool, unit: bool) -> None:
    """Solve triangular systems in place; of ``a`` only that triangle is read. The batch is the last dimension."""
    for k in range(len(a)) if lower else reversed(range(len(a))):
        if not unit:
            x[k] /= a[k, k]
        rest = slice(k + 1, None) if lower else slice(k)
        x[rest] -= a[rest, k, None] * x[k]


def lu_solve(lu: ndarray, pivots: ndarray, b: ndarray, left: bool = True, adjoint: bool = False) -> ndarray:
    message = "Pivots given to lu_solve must all be {} or equal to {}. Did you properly pass the result of lu_factor?"
    check(not (pivots < 1).any(), message.format("greater", 1))  # LAPACK would exchange rows out of bounds
    check(not (pivots > lu.shape[-2]).any(), message.format("smaller", "LU.size(-2)"))
    return solve_with(lu, pivots, b, left, adjoint)


def solve_with(lu: ndarray, pivots: ndarray, b: ndarray, left: bool = True, adjoint: bool = False) -> ndarray:
    """Solve ``A X = B`` or ``X A = B``, with ``adjoint`` for A^H, given A's LU and pivots."""
    if left:
        return solve_factored(lu, pivots, b, adjoint)
    transposed = b.conj().swapaxes(-1, -2)  # X A = B is A^H X^H = B^H
    return solve_factored(lu, pivots, transposed, not adjoint).conj().swapaxes(-1, -2)


def factored(a: ndarray) -> Arrays:
    """Return the diagonal of U, the sign of the permutation, LU and pivots."""
    lu, pivots, _ = lu_factor_ex(a)
    exchanges = np.count_nonzero(pivots != np.arange(1, pivots.shape[-1] + 1), axis=-1)
    return np.diagonal(lu, axis1=-2, axis2=-1), (1 - 2 * (exchanges % 2)).astype(a.dtype), lu, pivots


def linalg_det(a: ndarray) -> Arrays:
    diagonal, sign, *factors = factored(a)
    return np.prod(diagonal, axis=-1) * sign, *factors


def linalg_slogdet(a: ndarray) -> Arrays:
    diagonal, sign, *factors = factored(a)
    signs = np.sign(diagonal)
    if not np.iscomplexobj(a):
        signs[np.isnan(diagonal)] = 0  # as torch.sgn does
    return np.prod(signs, axis=-1) * sign, np.sum(np.log(np.abs(diagonal)), axis=-1), *factors


def linalg_solve_ex(a: ndarray, b: ndarray, left: bool = True, check_errors: bool = False) -> Arrays:
    vector = b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])
    right = b[..., None] if vector else b
    lu, pivots, info = lu_factor_ex(broadcast(a, right)[0])
    if check_errors:
        check_info(info, "torch.linalg.solve", "The solver failed because the input matrix is singular.")
    result = solve_with(lu, pivots, right, left)
    return result[..., 0] if vector else result, lu, pivots, info


def linalg_inv_ex(a: ndarray, check_errors: bool = False) -> Arrays:
    lu, pivots, info = lu_factor_ex(a)
    if check_errors:
        check_info(info, "linalg.inv", "The diagonal element {} is zero, the inversion could not be "
                                       "completed because the input matrix is singular.")
    return solve_factored(lu, pivots, np.eye(a.shape[-1], dtype=a.dtype)), info


# -- triangular systems and Cholesky -------------------------------------------------------------------------

def solve_triangular(a: ndarray, b: ndarray, upper: bool, left: bool = True, unitriangular: bool = False,
                     trans: int = 0) -> ndarray:
    """Solve ``op(A) X = B`` or ``X op(A) = B`` for a triangular A; ``trans``: 0 for A, 1 for A^T, 2 for A^H."""
    from scipy.linalg import get_blas_funcs

    a, b = broadcast(a, b if b.dtype == a.dtype else b.astype(a.dtype))
    if left and are_many(a):
        matrix, x = batch_last(a), batch_last(b)
        if trans:
            matrix = (matrix.conj() if trans == 2 else matrix).swapaxes(0, 1)
        substitute(matrix, x, upper == bool(trans), unitriangular)
        return batch_first(x, b.shape[:-2])
    trsm = get_blas_funcs("trsm", dtype=a.dtype)
    return each((np.empty(b.shape, b.dtype),),
                lambda a, b: (trsm(1, a, b, not left, not upper, trans, unitriangular),), a, b)[0]


def triangular_solve(b: ndarray, a: ndarray, upper: bool = True, transpose: bool = False,
                     unitriangular: bool = False) -> Arrays:
    result = solve_triangular(a, b, upper, True, unitriangular, int(transpose))
    return result, np.broadcast_to(a, (*result.shape[:-2], *a.shape[-2:]))


def cholesky_ex(a: ndarray, upper: bool = False, check_errors: bool = False,
                function: str = "linalg.cholesky") -> Arrays:
    if are_many(a):
        with suppress(np.linalg.LinAlgError):  # which does not report the matrix
            return np.linalg.cholesky(a, upper=upper), np.zeros(a.shape[:-2], np.int32)
    outputs = by_lapack("potrf", lambda potrf, a: potrf(a, not upper),
                        (np.empty_like(a), np.zeros(a.shape[:-2], np.int32)), a)
    total = np.add.reduce(outputs[0], axis=None)
    if total != total:  # OpenBLAS continues past a NaN pivot, which does not compare as negative
        broken = np.isnan(np.diagonal(outputs[0], axis1=-2, axis2=-1))
        np.copyto(outputs[1], broken.argmax(-1) + 1, "unsafe", where=broken.any(-1) & (outputs[1] == 0))
    if check_errors:
        check_info(outputs[1], function, "The factorization could not be completed because the input is not "
                                         "positive-definite (the leading minor of order {} is not positive-definite).")
    return outputs


def deprecated(message: str, row: Kernel, settle: Kernel) -> tuple[Kernel, Kernel]:
    """Return the row and the plans for one matrix of an operator that is deprecated, which say so."""
    def told(*args: Any) -> Any:
        warn_once(message)
        return row(*args)

    def prepare(*args: Any) -> Kernel | None:
        def run(*arrays: ndarray) -> Any:
            if (found := compute(*arrays)) is not None:  # else the row computes it
                warn_once(message)
            return found

        return run if (compute := settle(*args)) is not None else None

    return told, prepare


def cholesky_of_one(a: ndarray, upper: bool = False) -> Kernel:
    factor = one_matrix.cholesky(a, upper)
    return lambda a: (found := factor(a)) and found[0]


#: The row and the plans of ``torch.cholesky``, and of ``torch.triangular_solve``.
cholesky = deprecated(
    "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch release.\n"
    "L = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\n"
    "U = torch.cholesky(A, upper=True)\nshould be replaced with\nU = torch.linalg.cholesky(A).mH\n"
    "This transform will produce equivalent results for all valid (symmetric positive definite) inputs.",
    lambda a, upper=False: cholesky_ex(a, upper, True, "cholesky")[0], cholesky_of_one)
old_triangular_solve = deprecated(
    "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future "
    "PyTorch release.\ntorch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of "
    "the inputs.\nX = torch.triangular_solve(B, A).solution\nshould be replaced with\n"
    "X = torch.linalg.solve_triangular(A, B).", triangular_solve, one_matrix.triangular_and_copy)


def cholesky_solve(b: ndarray, factor: ndarray, upper: bool = False) -> ndarray:
    b, factor = broadcast(b, factor)
    return by_lapack("potrs", lambda potrs, b, factor: potrs(factor, b, not upper)[:1],
                     (np.empty(b.shape, b.dtype),), b, factor)[0]


def cholesky_inverse(factor: ndarray, upper: bool = False) -> ndarray:
    return cholesky_solve(np.eye(factor.shape[-1], dtype=factor.dtype), factor, upper)


def ldl_factor_ex(a: ndarray, hermitian: bool = False, check_errors: bool = False) -> Arrays:
    """Compute LD, pivots and status of LAPACK's Bunch-Kaufman factorization of the lower triangle."""
    outputs = np.empty_like(a), np.zeros(a.shape[:-1], np.int32), np.zeros(a.shape[:-2], np.int32)
    by_lapack("hetrf" if hermitian and a.dtype.kind == "c" else "sytrf",
              lambda factor, a: (np.tril((result := factor(a, 1, COLUMNS * len(a)))[0]), *result[1:]), outputs, a)
    if check_errors:
        check_info(outputs[2], "torch.linalg.ldl_factor_ex", "the factorization could not be completed "
                                                             "because D[{0},{0}] is zero.")
    return outputs


def ldl_solve(ld: ndarray, pivots: ndarray, b: ndarray, hermitian: bool = False) -> ndarray:
    ld, b = broadcast(ld, b)
    rows = np.broadcast_to(pivots[..., None], (*ld.shape[:-1], 1))
    return by_lapack("hetrs" if hermitian and b.dtype.kind == "c" else "sytrs",
                     lambda solve, ld, rows, b: solve(ld, rows[:, 0], b, 1)[:1],
                     (np.empty(b.shape, b.dtype),), ld, rows, b)[0]


# -- QR ------------------------------------------------------------------------------------------------------

def linalg_qr(a: ndarray, mode: Any = "reduced") -> Arrays:
    if mode == "r":
        triangle: Any = np.linalg.qr(a, "r")
        return missing(), triangle
    return tuple(np.linalg.qr(a, mode))


def geqrf(a: ndarray) -> Arrays:
    outputs = np.empty_like(a), np.empty((*a.shape[:-2], min(a.shape[-2:])), a.dtype)
    return by_lapack("geqrf", lambda geqrf, a: geqrf(a)[:2], outputs, a)


def householder_product(a: ndarray, tau: ndarray) -> ndarray:
    out = np.empty(a.shape, a.dtype)
    if not a.size:
        return out
    if not tau.shape[-1]:
        out[...] = np.eye(*a.shape[-2:], dtype=a.dtype)
        return out
    work = 64 * a.shape[-1]  # for as many columns at once
    return by_lapack("ungqr" if a.dtype.kind == "c" else "orgqr",
                     lambda orgqr, a, tau: orgqr(a, tau[:, 0], lwork=work)[:1], (out,), a, tau[..., None])[0]


def ormqr(a: ndarray, tau: ndarray, other: ndarray, left: bool = True, transpose: bool = False) -> ndarray:
    if not tau.shape[-1]:
        return other.copy()
    is_complex = a.dtype.kind == "c"
    side, trans = b"L" if left else b"R", (b"C" if is_complex else b"T") if transpose else b"N"
    k, work = tau.shape[-1], 64 * max(other.shape[-2:])
    return by_lapack("unmqr" if is_complex else "ormqr",
                     lambda ormqr, a, tau, c: ormqr(side, trans, a[:, :k], tau[:, 0], c, work)[:1],
                     (np.empty(other.shape, other.dtype),), a, tau[..., None], other)[0]


# -- singular values and eigenvalues -------------------------------------------------------------------------

def linalg_svd(a: ndarray, full_matrices: bool = False, compute_uv: bool = True, driver: str | None = None) -> Arrays:
    """Compute SVD. The values of a matrix with an infinity are NaN: LAPACK does not return for some of them."""
    infinite = ~np.isfinite(a).all((-2, -1))
    if infinite.any():
        check_without_nan(a, "linalg.svd")
        a = np.where(infinite[..., None, None], a.dtype.type(0), a)
    with converging("linalg.svd", a):
        u, values, vh = np.linalg.svd(a, full_matrices) if compute_uv else (
            missing(), np.linalg.svd(a, compute_uv=False), missing())
    values[infinite] = np.nan
    return u, values, vh


def linalg_eigh(a: ndarray, uplo: Any = "L", compute_v: bool = True) -> Arrays:
    with converging("linalg.eigh", a):
        if compute_v:
            return tuple(np.linalg.eigh(a, uplo.upper()))
        return np.linalg.eigvalsh(a, uplo.upper()), missing()


def linalg_eig(a: ndarray) -> Arrays:
    if not np.isfinite(a).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    with converging("linalg.eig", a):
        return tuple(np.linalg.eig(a))


# -- least squares, exponential ------------------------------------------------------------------------------

def lstsq(a: ndarray, b: ndarray, rcond: float | None = None, driver: str | None = None) -> Arrays:
    """Return solution, residuals (if every matrix has full rank), rank and singular values, by LAPACK's gelsd.

    gelsd ignores a tolerance of 1 or more; gelss then finds rank 0.
    """
    (n, m), driver = a.shape[-2:], driver or "gelsy"
    strange = ~np.isfinite(a).all((-2, -1))  # LAPACK may not terminate with these
    check_info(strange, "torch.linalg.lstsq", "The input matrix contains NaNs or infinite values.")
    vector = a.ndim - b.ndim == 1 and b.shape == a.shape[:-1]
    rank, values = np.zeros(a.shape[:-2], np.int64), np.zeros((*a.shape[:-2], min(n, m)), a.real.dtype)
    each((rank, values), lambda a: np.linalg.lstsq(a, a[:, :0], rcond)[2:], a)
    left, right = broadcast(a, b[..., None] if vector else b)
    solution = np.zeros((*left.shape[:-2], m, right.shape[-1]), a.dtype)
    if driver == "gelss" and rcond is not None and rcond >= 1:
        rank[...] = 0
    else:
        each((solution,), lambda a, b: np.linalg.lstsq(a, b, rcond)[:1], left, right)
    residuals = missing()
    if n > m and driver != "gelsy" and (rank == m).all():
        residuals = np.sum(np.abs(left @ solution - right) ** 2, axis=-2)
    return (solution[..., 0] if vector else solution, residuals, missing() if driver == "gels" else rank,
            values if driver in ("gelsd", "gelss") else missing())


def matrix_exp(a: ndarray) -> ndarray:
    """Compute ``scipy.linalg.expm`` in double precision."""
    if not a.size:
        return a.copy()
    from scipy.linalg import expm

    return expm(a.astype(np.complex128 if a.dtype.kind == "c" else np.float64))


# -- composites --------------------------------------------------------------------------------------------------------

def values_of(x: ndarray, hermitian: bool, vectors: bool = False) -> Callable[[ndarray], Arrays]:
    """Return a function that computes the singular values of arrays like the first, or Hermitian ones' eigenvalues."""
    row = CPU_KERNELS["_linalg_eigh"] if hermitian else CPU_KERNELS["_linalg_svd"]
    settings = ("L", vectors) if hermitian else (False, vectors, None)
    return row.prepare(x, *settings) or (lambda x: row(x, *settings))


def tolerances(x: ndarray, atol: float | None, rtol: float | None) -> tuple[Any, Any]:
    """Return the absolute and the relative tolerance; by default, eps times the greater size."""
    default = np.finfo(x.dtype).eps * max(x.shape[-2:]) if rtol is None and not (atol or 0) > 0 else 0
    kind = x.real.dtype.type
    return kind(atol or 0), kind(default if rtol is None else rtol)


def above(values: ndarray, atol: Any, rtol: Any) -> ndarray:
    """Return whether each singular value counts as not zero."""
    kept: ndarray = values > np.maximum(atol, rtol * values.max(-1, keepdims=True))
    return kept


def pinv(x: ndarray, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """Prepare ``linalg_pinv`` with numbers for tolerances, if any."""
    if not x.size or x.dtype.char not in "fdFD" or ndarray in (atol.__class__, rtol.__class__):
        return None
    compute, limits = values_of(x, hermitian, True), tolerances(x, atol, rtol)

    def run(x: ndarray, *_: Any) -> ndarray:
        if hermitian:
            values, right = compute(x)
            left = right = right.swapaxes(-1, -2).conj()
            kept = above(np.abs(values), *limits)
        else:
            left, values, right = compute(x)
            left, kept = left.swapaxes(-1, -2).conj(), above(values, *limits)
        inverse = np.divide(1, values, out=np.zeros_like(values), where=kept)
        result: ndarray = right.swapaxes(-1, -2).conj() @ (inverse[..., None] * left)
        return result

    return run


def matrix_rank(x: ndarray, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """Prepare ``linalg_matrix_rank`` with numbers for tolerances, if any."""
    if not x.size or x.dtype.char not in "fdFD" or ndarray in (atol.__class__, rtol.__class__):
        return None
    compute, limits = values_of(x, hermitian), tolerances(x, atol, rtol)

    def run(x: ndarray, *_: Any) -> ndarray:
        found = compute(x)
        rank: ndarray = np.add.reduce(above(np.abs(found[0]) if hermitian else found[1], *limits), -1, np.int64)
        return rank

    return run


def logdet(x: ndarray) -> Any:
    """Prepare ``logdet`` of real matrices."""
    if not x.size or x.dtype.char not in "fd":
        return None
    row = CPU_KERNELS["_linalg_slogdet"]
    compute = row.prepare(x) or row

    def run(x: ndarray) -> ndarray:
        sign, logarithm = compute(x)[:2]
        return np.where(sign == -1, x.dtype.type(np.nan), logarithm)

    return run


AT_ONCE.add(logdet)
AT_ONCE.update({
    **dict.fromkeys(("linalg_pinv.atol_rtol_float", "linalg_pinv.atol_rtol_tensor"), pinv),
    **dict.fromkeys(("linalg_pinv", "pinverse"), lambda x, rcond=1e-15, *hermitian: pinv(x, 0.0, rcond, *hermitian)),
    **dict.fromkeys(("linalg_matrix_rank.atol_rtol_float", "linalg_matrix_rank.atol_rtol_tensor"), matrix_rank),
    "linalg_matrix_rank": lambda x, tol, *hermitian: matrix_rank(x, tol, 0.0, *hermitian),
})
CPU_KERNELS.add(cholesky_solve, cholesky_inverse, geqrf, ormqr, linalg_eig)
CPU_KERNELS.update({
    "linalg_lu": of_one(linalg_lu, one_matrix.both_factors),
    "lu_unpack": of_one(lu_unpack, one_matrix.unpacked, 2),
    "linalg_inv_ex": of_one(linalg_inv_ex, one_matrix.inverse),
    "linalg_qr": of_one(linalg_qr, one_matrix.qr, small=True),
    "linalg_lu_factor_ex": of_one(lu_factor_ex, one_matrix.lu),
    "linalg_lu_solve": of_one(lu_solve, one_matrix.solution_by_lu, 3),
    "_linalg_det": of_one(linalg_det, one_matrix.determinant),
    "_linalg_slogdet": of_one(linalg_slogdet, partial(one_matrix.determinant, logarithm=True)),
    "_linalg_solve_ex": of_one(linalg_solve_ex, one_matrix.solution, 2),
    "triangular_solve": of_one(*old_triangular_solve, 2),
    "linalg_solve_triangular": of_one(solve_triangular, one_matrix.triangular, 2),
    "linalg_cholesky_ex": of_one(cholesky_ex, one_matrix.cholesky),
    "cholesky": of_one(*cholesky),
    "linalg_ldl_factor_ex": of_one(ldl_factor_ex, one_matrix.ldl, small=True),
    "linalg_ldl_solve": ldl_solve,
    "linalg_householder_product": householder_product,
    "_linalg_svd": of_one(linalg_svd, one_matrix.singular_values, small=True),
    "_linalg_eigh": of_one(linalg_eigh, one_matrix.eigenvalues, small=True),
    "linalg_lstsq": lstsq,
    "linalg_matrix_exp": matrix_exp,
})

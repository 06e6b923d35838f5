"""LAPACK on one small matrix: the routine, its options and the masks of triangles are settled by the plan of a call."""
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from .rows import Prepared, Rows

ndarray = np.ndarray
Arrays = tuple[ndarray, ...]
#: Rows and columns up to which workspaces for single columns take no longer than those for blocks.
SMALL = 32
#: Matrices of a batch that are computed one by one.
FEW = 4


@cache
def lapack(routine: str, dtype: np.dtype) -> Callable[..., Any]:
    """Return a LAPACK routine for a dtype."""
    from scipy.linalg import get_lapack_funcs

    return get_lapack_funcs(routine, dtype=dtype)


def of_one(row: Rows, settle: Callable[..., Rows | None], count: int = 1, small: bool = False) -> Prepared:
    """Return a row whose plans for one matrix, or each of ``FEW``, are made by ``settle``, with at most ``SMALL`` rows
    and columns if ``small``. ``row`` computes all else, and the values for which the settled function returns None:
    LAPACK reports a failure, or finds NaN.
    """
    def prepare(*args: Any) -> Rows | None:
        (a, *others), settings = args[:count], args[count:]
        batch = a.shape[:-2]
        if not a.size or a.dtype.char not in "fdFD" or prod(batch) > FEW or (small and max(a.shape[-2:]) > SMALL):
            return None
        for x in others:  # pivots, vectors and matrices
            alike = x.ndim == a.ndim - 1 if x.dtype.kind == "i" else x.dtype == a.dtype and (
                x.ndim == a.ndim or x.shape == a.shape[:-1])
            if not x.size or not alike or x.shape[:len(batch)] != batch:
                return None
        places = [*np.ndindex(batch)]
        found = settle(*[x[places[0]] for x in args[:count]], *settings)
        if found is None:
            return None

        def run(*arrays: ndarray) -> Any:
            result = found(*arrays) if not batch else each(*arrays)
            return row(*arrays, *settings) if result is None else result

        def each(*arrays: ndarray) -> Any:
            results = [found(*[x[place] for x in arrays]) for place in places]
            if any([result is None for result in results]):  # noqa: C419
                return None
            if results[0].__class__ is ndarray:
                return np.array(results).reshape(*batch, *results[0].shape)
            # an output that was not requested stays empty
            return tuple([np.array(parts).reshape(*batch, *parts[0].shape) if parts[0].size else parts[0]
                          for parts in zip(*results, strict=True)])

        return run

    return Prepared(prepare, count, row)


def regular() -> ndarray:
    """Return the status of a matrix that was factored."""
    return np.zeros((), np.int32)


def has_nan(a: ndarray) -> bool:
    total = np.add.reduce(a, None)
    return bool(total != total)


def lu(a: ndarray, pivot: bool = True, check_errors: bool = False) -> Rows | None:
    """``linalg_lu_factor_ex``."""
    getrf = lapack("getrf", a.dtype)

    def run(a: ndarray) -> Arrays | None:
        if has_nan(a):
            return None
        factors, pivots, info = getrf(a)
        pivots += 1
        return None if info else (factors, pivots, regular())

    return run


def determinant(a: ndarray, logarithm: bool = False) -> Rows | None:
    """``_linalg_det``; with ``logarithm``, ``_linalg_slogdet``."""
    factor, unmoved = lu(a), np.arange(1, len(a) + 1, dtype=np.int32)

    def run(a: ndarray) -> Arrays | None:
        if (found := factor(a)) is None:  # type: ignore[misc]
            return None
        factors, pivots, _ = found
        diagonal = factors.diagonal()
        product = np.multiply.reduce(np.sign(diagonal) if logarithm else diagonal)
        product = np.asarray(-product if np.count_nonzero(pivots != unmoved) % 2 else product)
        if not logarithm:
            return product, factors, pivots
        return product, np.asarray(np.add.reduce(np.log(np.absolute(diagonal)))), factors, pivots

    return run


def solution(a: ndarray, b: ndarray, left: bool = True, check_errors: bool = False) -> Rows | None:
    """``_linalg_solve_ex``."""
    gesv, vector = lapack("gesv", a.dtype), b.ndim == 1
    if not left or b.ndim > 2:
        return None

    def run(a: ndarray, b: ndarray) -> Arrays | None:
        if has_nan(a):
            return None
        factors, pivots, x, info = gesv(a, b[:, None] if vector else b)
        pivots += 1
        return None if info else (x[:, 0] if vector else x, factors, pivots, regular())

    return run


def inverse(a: ndarray, check_errors: bool = False) -> Rows | None:
    """``linalg_inv_ex``."""
    solve, identity = solution(a, a), np.eye(len(a), dtype=a.dtype)

    def run(a: ndarray) -> Arrays | None:
        found = solve(a, identity)  # type: ignore[misc]
        return found and (found[0], found[-1])

    return run


def solution_by_lu(factors: ndarray, pivots: ndarray, b: ndarray, left: bool = True, adjoint: bool = False) -> (
        Rows | None):
    """``linalg_lu_solve``."""
    getrs, n = lapack("getrs", factors.dtype), len(factors)
    if not left or b.ndim != 2 or pivots.ndim != 1:
        return None

    def run(factors: ndarray, pivots: ndarray, b: ndarray) -> ndarray | None:
        if pivots.min() < 1 or pivots.max() > n:
            return None
        result: ndarray = getrs(factors, pivots - 1, b, 2 * adjoint)[0]
        return result

    return run


def unpacked(factors: ndarray, pivots: ndarray, unpack_data: bool = True, unpack_pivots: bool = True) -> Rows | None:
    """``lu_unpack``."""
    n, k = len(factors), min(factors.shape)
    lower, upper = np.tri(n, k, -1, bool), ~np.tri(k, factors.shape[1], -1, bool)
    ones, identity = np.eye(n, k, dtype=factors.dtype), np.eye(n, dtype=factors.dtype)
    if pivots.ndim != 1:
        return None

    def run(factors: ndarray, pivots: ndarray) -> Arrays | None:
        p = left = right = np.empty(0)
        if unpack_pivots:
            order = list(range(n))
            for i, j in enumerate(pivots.tolist()):
                if not 1 <= j <= n:
                    return None
                order[i], order[j - 1] = order[j - 1], order[i]
            p = identity[order].T
        if unpack_data:
            left, right = np.where(lower, factors[:, :k], ones), np.where(upper, factors[:k], 0)
        return p, left, right

    return run


def both_factors(a: ndarray, pivot: bool = True) -> Rows | None:
    """``linalg_lu``."""
    factor, unpack = lu(a), unpacked(a, np.empty(0), True, pivot)

    def run(a: ndarray) -> Arrays | None:
        found = factor(a)  # type: ignore[misc]
        return found and unpack(*found[:2])  # type: ignore[misc]

    return run


def cholesky(a: ndarray, upper: bool = False, check_errors: bool = False) -> Rows:
    """``linalg_cholesky_ex``."""
    potrf = lapack("potrf", a.dtype)

    def run(a: ndarray) -> Arrays | None:
        factor, info = potrf(a, not upper)
        return None if info or has_nan(factor) else (factor, regular())

    return run


def ldl(a: ndarray, hermitian: bool = False, check_errors: bool = False) -> Rows | None:
    """``linalg_ldl_factor_ex``."""
    factor = lapack("hetrf" if hermitian and a.dtype.kind == "c" else "sytrf", a.dtype)
    lower = np.tri(len(a), dtype=bool)

    def run(a: ndarray) -> Arrays | None:
        factors, pivots, info = factor(a, 1)
        return None if info else (np.where(lower, factors, 0), pivots, regular())

    return run


def triangular(a: ndarray, b: ndarray, upper: bool, left: bool = True, unitriangular: bool = False,
               transposed: bool = False) -> Rows | None:
    """``linalg_solve_triangular``."""
    from scipy.linalg import get_blas_funcs

    trsm = get_blas_funcs("trsm", dtype=a.dtype)
    return None if b.ndim != 2 else lambda a, b: trsm(1, a, b, not left, not upper, transposed, unitriangular)


def triangular_and_copy(b: ndarray, a: ndarray, upper: bool = True, transpose: bool = False,
                        unitriangular: bool = False) -> Rows | None:
    """``triangular_solve``."""
    solve = triangular(a, b, upper, True, unitriangular, transpose)
    return None if solve is None or a.ndim != 2 else lambda b, a: (solve(a, b), a)


def qr(a: ndarray, mode: Any = "reduced") -> Rows | None:
    """``linalg_qr``."""
    (n, m), k = a.shape, min(a.shape)
    if mode == "complete" and n > m:
        return None
    geqrf, orgqr = lapack("geqrf", a.dtype), lapack("ungqr" if a.dtype.kind == "c" else "orgqr", a.dtype)
    upper = ~np.tri(k, m, -1, bool)

    def run(a: ndarray) -> Arrays:
        factors, tau, *_ = geqrf(a)
        q = np.empty(0) if mode == "r" else orgqr(factors[:, :k], tau)[0]
        return q, np.where(upper, factors[:k], 0)

    return run


def eigenvalues(a: ndarray, uplo: Any = "L", compute_v: bool = True) -> Rows | None:
    """``_linalg_eigh``."""
    evd, lower = lapack("heevd" if a.dtype.kind == "c" else "syevd", a.dtype), uplo.upper() == "L"

    def run(a: ndarray) -> Arrays | None:
        values, vectors, info = evd(a, compute_v, lower)
        return None if info or has_nan(values) else (values, vectors if compute_v else np.empty(0))

    return run


def singular_values(a: ndarray, full_matrices: bool = False, compute_uv: bool = True, driver: str | None = None) -> (
        Rows | None):
    """``_linalg_svd``."""
    gesdd = lapack("gesdd", a.dtype)

    def run(a: ndarray) -> Arrays | None:
        if not np.isfinite(a).all():
            return None
        u, values, vh, info = gesdd(a, compute_uv, full_matrices)
        if info or has_nan(values):
            return None
        return (u, values, vh) if compute_uv else (np.empty(0), values, np.empty(0))

    return run

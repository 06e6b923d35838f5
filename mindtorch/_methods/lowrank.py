"""Approximate factorizations of matrices of low rank, by subspace iteration (Halko et al., 2011)."""
from __future__ import annotations

from .._creation.random import randn
from .._dispatch.aten import _linalg_svd as _svd, linalg_qr as _qr
from .._tensor import Tensor


def get_approximate_basis(A: Tensor, q: int, niter: int = 2, M: Tensor | None = None) -> Tensor:
    """Return an orthonormal basis, ``(..., m, q)``, of nearly the range of ``A - M``, both ``(..., m, n)``."""
    dtype = A.dtype if A.dtype.is_floating_point or A.dtype.is_complex else None
    matrix = A if M is None else A - M
    basis = _qr(matrix @ randn(A.shape[-1], q, dtype=dtype, device=A.device))[0]
    for _ in range(niter):
        basis = _qr(matrix.mH @ basis)[0]
        basis = _qr(matrix @ basis)[0]
    return basis


def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2,
                M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Return U (..., m, q), S (..., q), V (..., n, q) that approximate ``A - M`` (``torch.svd_lowrank``)."""
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    wide = A.shape[-2] < A.shape[-1]
    if M is not None:
        M = M.broadcast_to(A.shape)
    if wide:  # the basis is the smaller one
        A, M = A.mH, None if M is None else M.mH
    basis = get_approximate_basis(A, q, niter, M)
    U, S, Vh = _svd(basis.mH @ (A if M is None else A - M), False)
    U, V = basis @ U, Vh.mH
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Apply ``svd_lowrank`` to a matrix whose columns are centered first (``torch.pca_lowrank``). Raises ValueError if
    q is not in [0, min(m, n)], or niter is negative.
    """
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean((-2,), True) if center else A, q, niter)

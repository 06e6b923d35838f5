"""Some eigenvalues and eigenvectors of symmetric matrices (``torch.lobpcg``)."""
from __future__ import annotations

from typing import Any

from .._base.formats import strided
from .._dispatch.aten import linalg_cholesky as cholesky, linalg_eigh as eigh, linalg_solve_triangular as solve
from .._tensor import Tensor


def lobpcg(A: Tensor, k: int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: int | None = None,
           iK: Tensor | None = None, niter: int | None = None, tol: float | None = None, largest: bool | None = None,
           method: str | None = None, tracker: Any = None, ortho_iparams: dict[str, int] | None = None,
           ortho_fparams: dict[str, float] | None = None,
           ortho_bparams: dict[str, bool] | None = None) -> tuple[Tensor, Tensor]:
    """Return the ``k`` largest, or smallest, eigenvalues, ``(..., k)``, and eigenvectors, ``(..., m, k)``, of symmetric
    matrices ``A``, ``(..., m, m)``, dense or sparse: of ``A x = e x``, or ``A x = e B x`` (``torch.lobpcg``).

    PyTorch comes close to them by steps; here, all are computed, so no method, preconditioner, tolerance or number
    of steps changes the result, of which gradients are taken as of ``linalg.eigh``. ``X`` says no more than ``k``.

    Raises:
        ValueError: if there are fewer than three times as many rows as eigenvalues are asked for.
        AssertionError: if ``A`` is not square, or ``X`` does not fit it.
        NotImplementedError: if a ``tracker`` is to be called at each step.
    """
    if tracker is not None:
        raise NotImplementedError("torch.lobpcg computes without steps that a tracker could be told of")
    assert A.shape[-2] == A.shape[-1], f"A must be square, got shape {A.shape}"
    rows = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    if rows < 3 * k:
        raise ValueError(f"LOBPCG algorithm is not applicable when the number of A rows (={rows}) is smaller than 3 x "
                         f"the number of requested eigenpairs (={k})")
    assert X is None or X.shape[-2] == rows, f"X shape mismatch: got {X.shape}, expected {(rows, X.shape[-1])}"
    A = A if A.layout is strided else A.to_dense()
    if B is None:
        values, vectors = eigh(A)
    else:
        factor = cholesky(B if B.layout is strided else B.to_dense())
        half = solve(factor, A, False, True, False)
        values, vectors = eigh(solve(factor.mH, half, True, False, False))
        vectors = solve(factor.mH, vectors, True, True, False)
    if largest is None or largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :k].contiguous(), vectors[..., :k].contiguous()

"""Sparse tensors under PyTorch's names: ``torch.sparse``."""
from __future__ import annotations

from .._base.left_out import ROWS as _ROWS, refusing_class as _refusing_class
from .functions import (
    addmm as addmm, log_softmax as log_softmax, mm as mm, sampled_addmm as sampled_addmm, softmax as softmax,
    spdiags as spdiags, sum as sum,
)
from .invariants import (
    as_sparse_gradcheck as as_sparse_gradcheck, check_sparse_tensor_invariants as check_sparse_tensor_invariants,
)

__all__ = ["addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm",
           "softmax", "spdiags", "sum"]
_only_cuda = next(names for names in _ROWS if "sparse.solve" in names).replace("sparse.", "").split()
globals().update({_name: _refusing_class(f"sparse.{_name}") for _name in _only_cuda})

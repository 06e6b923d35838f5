"""The settings for deterministic algorithms and for filling uninitialised memory."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._dtype import BOOL, FLOATING
from .call_site import outside


class Determinism:
    """The settings, shared by all threads."""

    enabled = False
    warn_only = False  #: warn about nondeterministic functions instead of raising
    fill_uninitialized = True  #: ``torch.utils.deterministic.fill_uninitialized_memory``


def alert_not_deterministic(function: str) -> None:
    """Report, by error or warning, a function that may vary (ATen's ``alertNotDeterministic``)."""
    if not Determinism.enabled:
        return
    said = (f"{function} does not have a deterministic implementation, but you set "
            f"'torch.use_deterministic_algorithms(True{', warn_only=True' if Determinism.warn_only else ''})'.")
    wish = ("file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic "
            "support for this operation.")
    if not Determinism.warn_only:
        raise RuntimeError(f"{said} You can turn off determinism just for this operation, or you can use the "
                           f"'warn_only=True' option, if that's acceptable for your application. You can also {wish}")
    warnings.warn(f"{said} You can {wish}", stacklevel=outside())



def filled(tensor: Any, start: int = 0) -> Any:
    """Fill new storage from element ``start`` with NaN, True or the largest integer if determinism is asked for."""
    if Determinism.enabled and Determinism.fill_uninitialized and not tensor.is_meta:
        dtype, new = tensor._dtype, tensor.data
        new._set_layout(None, (tensor.untyped_storage().nbytes() // dtype.itemsize - start,), (1,), start)
        new.fill_(True if dtype.category == BOOL else float("nan") if dtype.category >= FLOATING
                  else int(np.iinfo(dtype.np).max))
    return tensor

"""The CPU backend: NumPy does the arithmetic.

A row (``ops.ROWS``) is a function of arrays that returns arrays; here it becomes a kernel on tensors. What it has to
return, the meta kernel says; the adapters see to dtype and layout.
"""
from __future__ import annotations

import warnings

from ..._dispatch.dispatcher import registry
from . import creation, ops
from .adapt import find

registry.add_finder(find)
# The fast lanes do without np.errstate, which costs more than the arithmetic; PyTorch does not warn of inf and nan.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"mindtorch\._backends\.")
__all__ = ["creation", "ops"]

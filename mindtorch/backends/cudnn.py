"""``torch.backends.cudnn``: there is none. Its settings may be set, and change nothing."""
from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from ._flags import flags_of

enabled, benchmark, deterministic, allow_tf32 = True, False, False, True
benchmark_limit: int | None = None
fp32_precision = "none"


def is_available() -> bool:
    """Return False: there is no cuDNN (``torch.backends.cudnn.is_available``)."""
    return False


def version() -> int | None:
    """Return None: there is no cuDNN (``torch.backends.cudnn.version``)."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """Return False: there is no cuDNN (``torch.backends.cudnn.is_acceptable``)."""
    return False


def flags(enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False,
          allow_tf32: bool = True) -> AbstractContextManager[None]:
    """Return a block with these settings (``torch.backends.cudnn.flags``)."""
    return flags_of(__name__, {"enabled": enabled, "benchmark": benchmark, "benchmark_limit": benchmark_limit,
                               "deterministic": deterministic, "allow_tf32": allow_tf32})

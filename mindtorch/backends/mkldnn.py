"""``torch.backends.mkldnn``: mindtorch does not use oneDNN. Its settings may be set, and change nothing."""
from __future__ import annotations

from contextlib import AbstractContextManager

from ._flags import flags_of

enabled, deterministic, allow_tf32 = True, False, True
fp32_precision = "none"


def is_available() -> bool:
    """Return False: mindtorch does not use oneDNN (``torch.backends.mkldnn.is_available``)."""
    return False


def flags(enabled: bool = False, deterministic: bool = False,
          allow_tf32: bool = True) -> AbstractContextManager[None]:
    """Return a block with these settings (``torch.backends.mkldnn.flags``)."""
    return flags_of(__name__, {"enabled": enabled, "deterministic": deterministic, "allow_tf32": allow_tf32})

"""Counters of the compiler (``torch._dynamo.utils``)."""
from __future__ import annotations

import collections
import functools
import warnings

#: What was compiled and why not, by kind: ``frames``, ``stats``, ``graph_break``.
counters: collections.defaultdict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)


def is_compile_supported(device_type: str | object) -> bool:
    """Return True if the compiler makes programs for a device (``torch._dynamo.utils.is_compile_supported``)."""
    return str(device_type).partition(":")[0] in ("cpu", "npu", "meta")


@functools.cache
def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warn, once for each message (``torch._dynamo.utils.warn_once``)."""
    warnings.warn(msg, stacklevel=stacklevel + 1)

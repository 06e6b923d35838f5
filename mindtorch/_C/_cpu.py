"""``torch._C._cpu``: questions about the processor's instructions, of which NumPy decides by itself."""
from __future__ import annotations


def _init_amx() -> bool:
    """Return False: there are no products of tiles to prepare (``torch._C._cpu._init_amx``)."""
    return False

"""``torch._C._cpu``: queries of the processor's instruction sets, which NumPy chooses by itself."""
from __future__ import annotations


def _init_amx() -> bool:
    """Return False: there are no products of tiles to prepare (``torch._C._cpu._init_amx``)."""
    return False

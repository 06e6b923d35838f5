"""``torch._inductor``: its decompositions. Its other names can be imported, and raise the reason when called."""
from __future__ import annotations

from .._base.left_out import Absent

__getattr__ = Absent("_inductor").__getattr__

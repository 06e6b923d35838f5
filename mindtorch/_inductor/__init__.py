"""``torch._inductor``: decompositions and settings. Its other names can be imported; when called, they raise why."""
from __future__ import annotations

from .._base.left_out import Absent
from . import config as config
from .options import list_mode_options as list_mode_options, list_options as list_options

__getattr__ = Absent("_inductor").__getattr__

"""An NPU behind CANN's interface and nowhere else: pyACL's module (``acl``), the C functions (``find``), and the controls.

``torch.npu.simulator`` is this package.
"""
from __future__ import annotations

from . import faults
from .acl import acl
from .faults import slow
from .library import find

__all__ = ["acl", "faults", "find", "slow"]

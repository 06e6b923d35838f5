"""``torch.nn.parallel``: modules on several devices, and in several processes."""
from __future__ import annotations

from .data_parallel import DataParallel
from .distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel"]

"""``torch.nn.parallel``: modules on several devices, and in several processes."""
from __future__ import annotations

from . import scatter_gather
from .data_parallel import DataParallel
from .distributed import DistributedDataParallel
from .scatter_gather import gather, scatter

__all__ = ["DataParallel", "DistributedDataParallel", "gather", "scatter", "scatter_gather"]

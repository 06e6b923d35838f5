"""``torch.distributed.algorithms``: ranks with fewer batches, and hooks of ``DistributedDataParallel``."""
from .join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]

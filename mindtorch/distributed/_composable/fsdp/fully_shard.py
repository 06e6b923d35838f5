"""``torch.distributed._composable.fsdp.fully_shard``: the old name of ``torch.distributed.fsdp``."""
from ...fsdp import FSDPModule as FSDPModule, fully_shard as fully_shard

"""``torch.distributed._composable``: the old name of ``torch.distributed.fsdp.fully_shard``."""
from ..fsdp import fully_shard as fully_shard

"""``torch.distributed._composable``: functions that change how a module runs, and leave its names as they are."""
from ..fsdp import fully_shard as fully_shard
from .contract import contract as contract
from .replicate import replicate as replicate

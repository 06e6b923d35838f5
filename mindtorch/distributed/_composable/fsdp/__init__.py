"""``torch.distributed._composable.fsdp``: the old name of ``torch.distributed.fsdp``."""
from ...fsdp import (
    CPUOffloadPolicy as CPUOffloadPolicy, FSDPModule as FSDPModule, MixedPrecisionPolicy as MixedPrecisionPolicy,
    OffloadPolicy as OffloadPolicy, fully_shard as fully_shard,
    register_fsdp_forward_method as register_fsdp_forward_method,
)

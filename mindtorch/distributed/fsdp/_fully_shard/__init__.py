"""``torch.distributed.fsdp._fully_shard``: parameters that are divided one by one."""

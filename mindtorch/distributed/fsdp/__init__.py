"""``torch.distributed.fsdp``: parameters that are divided among processes, and whole while a module runs.

``fully_shard`` makes each parameter a DTensor under its own name. Before a module's forward pass its parameters are
gathered together, and freed after it, even if the graph saved them: the backward pass gathers them again. Gradients are
reduced and scattered: each process gets its part of the average gradient.

A process moves a model's parameters three times (two all-gathers, one reduce-scatter); ``DistributedDataParallel``
moves them twice (an all-reduce). In return it holds only its part of parameters, gradients and optimizer state.
"""
from ._fully_shard._fsdp_api import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from ._fully_shard._fully_shard import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method
from .fully_sharded_data_parallel import (
    BackwardPrefetch, CPUOffload, FullOptimStateDictConfig, FullStateDictConfig, FullyShardedDataParallel,
    LocalStateDictConfig, MixedPrecision, ShardedStateDictConfig, ShardingStrategy, StateDictType,
)

__all__ = [
    "BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "FSDPModule", "FullOptimStateDictConfig",
    "FullStateDictConfig", "FullyShardedDataParallel", "LocalStateDictConfig", "MixedPrecision", "MixedPrecisionPolicy",
    "OffloadPolicy", "ShardedStateDictConfig", "ShardingStrategy", "StateDictType", "UnshardHandle", "fully_shard",
    "register_fsdp_forward_method",
]

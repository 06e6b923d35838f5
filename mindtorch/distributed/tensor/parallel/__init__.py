"""``torch.distributed.tensor.parallel``: modules whose parameters are divided, in the styles of tensor parallelism.

Between a layer that is divided by columns and one that is divided by rows each process has a part of the features, and
computes with it alone: ``y = relu(x @ A) @ B`` is the sum over processes of ``relu(x @ A_r) @ B_r``.
"""
from .api import parallelize_module
from .loss import loss_parallel
from .style import (
    ColwiseParallel, ParallelStyle, PrepareModuleInput, PrepareModuleInputOutput, PrepareModuleOutput, RowwiseParallel,
    SequenceParallel,
)

__all__ = ["ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
           "RowwiseParallel", "SequenceParallel", "loss_parallel", "parallelize_module"]

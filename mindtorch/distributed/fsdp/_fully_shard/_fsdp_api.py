"""How ``fully_shard`` computes and stores."""
from __future__ import annotations

from dataclasses import dataclass

from ...._dtype import DType


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of whole parameters and of the computation, of the reduction of gradients, and of outputs; None leaves
    them (``torch.distributed.fsdp.MixedPrecisionPolicy``). Parts, and what the optimizer updates, keep their dtype.
    """

    param_dtype: DType | None = None
    reduce_dtype: DType | None = None
    output_dtype: DType | None = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Parts stay where they are (``torch.distributed.fsdp.OffloadPolicy``)."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parts are kept on the CPU, as they are here anyway (``torch.distributed.fsdp.CPUOffloadPolicy``)."""

    pin_memory: bool = True

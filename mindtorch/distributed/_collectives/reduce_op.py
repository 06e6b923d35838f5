"""The reductions of collectives."""
from __future__ import annotations

from enum import Enum


class ReduceOp(Enum):
    """How elements of several ranks become one (``torch.distributed.ReduceOp``). AVG divides the sum by the number of
    ranks; of bool tensors, SUM and MAX are "or", PRODUCT and MIN "and".
    """

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {self.value}>"

"""``torch.distributed.checkpoint.api``: the error of a checkpoint."""
from __future__ import annotations

from typing import Any

__all__ = ["CheckpointException"]


class CheckpointException(BaseException):
    """A checkpoint failed in some processes (``torch.distributed.checkpoint.CheckpointException``): ``failures`` has
    their errors by rank.
    """

    def __init__(self, msg: str, failures: dict[int, Any]):
        super().__init__(msg, failures)
        self.failures = failures

    def __str__(self) -> str:
        return f"CheckpointException ranks:{self.failures.keys()}\n" + "".join(
            f"Traceback (most recent call last): (RANK {rank})\n{trace}{type(error).__name__}: {error}\n"
            for rank, (error, trace) in self.failures.items())

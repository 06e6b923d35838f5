"""``torch.distributed.tensor.parallel.loss``: cross entropy where every process has some of the classes."""
from __future__ import annotations

from collections.abc import Iterator

from ...._base.interrupts import contextmanager
from .._ops.nn import classes_divided

__all__ = ["loss_parallel"]


@contextmanager
def loss_parallel() -> Iterator[None]:
    """Compute ``cross_entropy`` of logits that are divided by classes where they lie, in the block
    (``torch.distributed.tensor.parallel.loss_parallel``). The block has the forward and the backward pass.
    """
    before = classes_divided.set(True)
    try:
        yield
    finally:
        classes_divided.reset(before)

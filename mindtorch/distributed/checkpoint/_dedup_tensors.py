"""``torch.distributed.checkpoint._dedup_tensors``: the older name of plans in which everything is written once."""
from __future__ import annotations

from ._dedup_save_plans import dedup_save_plans
from .planner import SavePlan

__all__ = ["dedup_tensors"]


def dedup_tensors(all_plans: list[SavePlan]) -> list[SavePlan]:
    """Return plans in which the first process that has something writes it."""
    return dedup_save_plans(all_plans, to_lowest_rank=True)

"""``torch.distributed.checkpoint._dedup_save_plans``: what several processes have is written once."""
from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence

from .metadata import MetadataIndex
from .planner import SavePlan, WriteItem

__all__ = ["dedup_save_plans"]


def dedup_save_plans(plans: Sequence[SavePlan], to_lowest_rank: bool = False) -> list[SavePlan]:
    """Return plans in which everything is written once: by the process that writes the fewest bytes so far."""
    owners: dict[MetadataIndex, list[int]] = defaultdict(list)
    items: dict[MetadataIndex, WriteItem] = {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            owners[item.index].append(rank)
            items[item.index] = item
    kept: list[list[WriteItem]] = [[] for _ in plans]
    sizes = [0] * len(plans)
    for index, ranks in owners.items():
        chosen = min(ranks) if to_lowest_rank else min(ranks, key=lambda rank: sizes[rank])
        sizes[chosen] += items[index].tensor_storage_size() or 1
        kept[chosen].append(items[index])
    return [dataclasses.replace(plan, items=mine) for plan, mine in zip(plans, kept, strict=True)]

"""``torch.distributed.distributed_c10d``: groups, collectives and what programs reach for beside the public names."""
from __future__ import annotations

from . import *  # noqa: F403
from ._collectives.groups import default_group as _get_default_group, group_of_name as _resolve_process_group, is_member

__all__ = ["_get_default_group", "_get_group_size_by_name", "_rank_not_in_group", "_resolve_process_group"]


def _get_group_size_by_name(group_name: str) -> int:
    """Return the number of processes of a group."""
    return _resolve_process_group(group_name).size()


def _rank_not_in_group(group: object) -> bool:
    """Return whether this process is not in a group."""
    return not is_member(group)

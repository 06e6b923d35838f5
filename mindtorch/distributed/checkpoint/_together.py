"""Steps that processes make together: if one fails, all raise the same error."""
from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from .._collectives.groups import is_initialized, resolve
from .._collectives.objects import all_gather_object
from .api import CheckpointException


class Together:
    """The processes that write or read a checkpoint; one without a group is alone."""

    def __init__(self, group: Any, coordinator: int, alone: bool):
        self.group = None if alone or not is_initialized() else resolve(group)
        self.rank = 0 if self.group is None else self.group.rank()
        self.size = 1 if self.group is None else self.group.size()
        self.is_coordinator = self.rank == coordinator
        self.coordinator = coordinator

    def _shared(self, step: str, function: Callable[[], Any]) -> list[Any]:
        """Return every process's result of a function.

        Raises:
            CheckpointException: if it fails somewhere.
        """
        try:
            mine: Any = (True, function())
        except BaseException as error:
            mine = (False, (error, "".join(traceback.format_tb(error.__traceback__))))
        everyone = [mine]
        if self.group is not None:
            everyone = [None] * self.size
            all_gather_object(everyone, mine, self.group)
        failures = {rank: why for rank, (fine, why) in enumerate(everyone) if not fine}
        if failures:
            raise CheckpointException(step, failures)
        return [result for _, result in everyone]

    def plan(self, step: str, local: Callable[[], Any], all_of_them: Callable[[list[Any]], list[Any]]) -> Any:
        """Return this process's of the results that the coordinator computes from those of all."""
        found = self._shared(step, local)
        plans = self._shared(step, lambda: all_of_them(found) if self.is_coordinator else None)[self.coordinator]
        return plans[self.rank]

    def finish(self, step: str, local: Callable[[], Any], at_last: Callable[[list[Any]], Any]) -> Any:
        """Let the coordinator finish with the results of all; return what it returns."""
        found = self._shared(step, local)
        return self._shared(step, lambda: at_last(found) if self.is_coordinator else None)[self.coordinator]

"""How tensors of devices that keep their values off the host are looked at."""
from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np


class Pending(NamedTuple):
    """What a tensor without values waits for: an operator, and those ``before`` it in its queue.

    ``queue`` says where they are: "in the pipeline", or on a stream: "on npu:0 stream 3". ``file`` and ``line``
    recorded it ('' and 0 if that is not known); ``error`` says why the values will never come.
    """

    operator: str
    file: str
    line: int
    before: tuple[str, ...]
    error: str | None = None
    queue: str = "in the pipeline"


class Source(Protocol):
    """How tensors of a device that keeps their values off the host are looked at, without waiting for the device."""

    def pending(self, tensor: Any) -> Pending | None:
        """Return the work on a stream that the values wait for; None if they are there."""

    def values(self, tensor: Any) -> np.ndarray | None:
        """Return the values as a fresh array of the tensor's shape, or None if they are not there yet."""

    def sample(self, tensor: Any) -> np.ndarray | None:
        """Return the values for statistics: all, or an even sample of a large tensor, in any shape."""
        return self.values(tensor)

    def elements(self, tensor: Any, indices: list[tuple[int, ...]]) -> list[Any] | None:
        """Return the values at some indices as Python numbers."""
        values = self.values(tensor)
        return None if values is None else [values[index].item() for index in indices]


sources: dict[str, Source] = {}  #: by device type; a device whose values NumPy can read needs none

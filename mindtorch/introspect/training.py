"""How a training goes: numbers by step, kept in bounded memory."""
from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

POINTS = 600  #: that a series keeps at most; when they are too many, every second of them goes


@dataclass(frozen=True)
class Series:
    """Numbers by step, with the last one; ``points`` may be fewer than were recorded."""

    name: str
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class TrainingFacts:
    """The last ``step`` of ``total`` (None if unknown), ``elapsed`` seconds from the start to it, what was recorded.

    ``series`` holds loss, lr and other single numbers, ``norms`` the gradients' norms by module.
    """

    step: int | None
    first: int | None
    total: int | None
    elapsed: float
    series: tuple[Series, ...]
    norms: tuple[Series, ...]


class TrainingRecord:
    """Collects what is recorded at each step."""

    def __init__(self, total: int | None = None):
        if total is not None and total < 0:
            raise ValueError(f"total cannot be negative: {total}")
        self.total = total
        self.first: int | None = None
        self.step: int | None = None
        self._started = time.monotonic()
        self._elapsed = 0.0
        self._tables: tuple[dict[str, list[tuple[int, float]]], ...] = ({}, {})  # of numbers, and of norms

    def record(self, step: int, numbers: Mapping[str, Any], norms: Mapping[str, Any]) -> None:
        """Note numbers at a step; ValueError unless steps grow, TypeError for no number."""
        if self.step is not None and step <= self.step:
            raise ValueError(f"step {step} comes after step {self.step}: steps must grow; another run needs another "
                             "monitor")
        found = [{name: float(value) for name, value in given.items()} for given in (numbers, norms)]
        self.first = step if self.first is None else self.first
        self.step = step
        self._elapsed = time.monotonic() - self._started
        for table, values in zip(self._tables, found, strict=True):
            for name, value in values.items():
                points = table.setdefault(name, [])
                if len(points) >= POINTS:
                    points[:] = points[::2]
                points.append((step, value))

    def facts(self) -> TrainingFacts:
        """Return the record so far."""
        series, norms = (tuple(Series(name, tuple(points)) for name, points in table.items()) for table in self._tables)
        return TrainingFacts(self.step, self.first, self.total, self._elapsed, series, norms)


def gradient_norms(module: Any) -> dict[str, float]:
    """Compute the 2-norms of the gradients in each child of a module, and of its own parameters. It waits for them."""
    squares: dict[str, float] = {}
    for path, parameter in module.named_parameters():
        if parameter.grad is not None:
            name = path.partition(".")[0]
            squares[name] = squares.get(name, 0.0) + float(parameter.grad.detach().norm()) ** 2
    return {name: math.sqrt(value) for name, value in squares.items()}

"""Recorded outcomes: what right parts and usual mistakes do in a lab's cases, so that no solution is at hand.

``outcomes/<lesson>.json`` has for each lab the right outcomes, case by case, and for each mistake its hint and its
outcomes; null means "as the right one". ``python -m tests.course.record`` writes the files.
"""
from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .limits import Outcome
from .wire import decode, encode

FOLDER = Path(__file__).parent / "outcomes"


@dataclass(frozen=True)
class Mistake:
    """A usual mistake: the hint that names it, and its outcome in each case."""

    hint: str
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True)
class Recorded:
    """The outcomes of a lab: the right value of each case, and the mistakes in the order in which they are tried."""

    right: tuple[Any, ...]
    mistakes: tuple[Mistake, ...]


@cache
def recorded(task: str) -> Recorded:
    """Return the record of a lab."""
    lesson, _, lab = task.partition(".")
    found = json.loads((FOLDER / f"{lesson}.json").read_text("utf-8"))[lab]
    right = [from_json(one) for one in found["right"]]
    mistakes = [Mistake(hint, tuple(as_right if one is None else from_json(one)
                                    for one, as_right in zip(outcomes, right, strict=True)))
                for hint, outcomes in found["mistakes"]]
    return Recorded(tuple(outcome.value for outcome in right), tuple(mistakes))


def to_json(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as JSON."""
    if outcome.failure:
        return {"failure": outcome.failure, "endless": outcome.endless}
    return {"value": encode(outcome.value)}


def from_json(found: Any) -> Outcome:
    """Return the outcome of some JSON. Raise ValueError if it is not one."""
    match found:
        case {"value": value}:
            return Outcome(decode(value))
        case {"failure": str(failure), "endless": bool(endless)} if failure:
            return Outcome(None, failure, endless)
    raise ValueError("this is not an outcome")

"""Checks of a reader's part: the lab's cases, one by one, and the mistake that explains them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .compare import Difference, difference
from .limits import UNWRITTEN, Outcome
from .recorded import recorded
from .tasks import Lab

Case = tuple[Any, ...]


@dataclass(frozen=True)
class Verdict:
    """The result of a check: the number of cases; the first failing call, the difference and the mistake."""

    task: str
    cases: int
    call: str = ""
    difference: Difference | None = None
    mistake: str = ""

    @property
    def passed(self) -> bool:
        return self.difference is None

    def __str__(self) -> str:
        if self.passed:
            return f"{self.task}: right, in all {self.cases} cases"
        assert self.difference is not None
        said = f"{self.call}: {self.difference.text}" if self.call else self.difference.text
        return f"{said}{'' if said[-1] in '.?!' else '.'} {self.mistake}".strip()


def judge(task: str, lab: Lab, mine: Any, hidden: Sequence[tuple[Case, Any]] = ()) -> Verdict:
    """Check a part of this process. ``hidden`` are more cases, with their right values."""
    said = unwritten(mine)
    if said:
        hint = lab.hints[0] if callable(mine) else ""
        return Verdict(task, len(lab.cases) + len(hidden), "", Difference(said), hint)
    return compare(task, lab, lambda case: lab.observe(mine, case), hidden)


def unwritten(mine: Any) -> str:
    """Return in a sentence why there is nothing to check, or nothing."""
    if not callable(mine):
        return "it is still to be written" if mine is ... or mine is None else f"it must be a function, not {mine!r}"
    return "it is still to be written" if _is_empty(mine) else ""


def compare(task: str, lab: Lab, observe: Callable[[Case], Outcome],
            hidden: Sequence[tuple[Case, Any]] = ()) -> Verdict:
    """Observe a part in all cases, and name the mistake if a usual one explains the first that is wrong."""
    known = recorded(task)
    outcomes: list[Outcome] = []
    wrong = None
    for case, right in (*zip(lab.cases, known.right, strict=True), *hidden):
        if wrong is not None and (wrong[2].endless or len(outcomes) >= len(lab.cases)):
            break  # the rest of the lab's own cases serve to find the mistake
        outcome = observe(case)
        outcomes.append(outcome)
        found = Difference(outcome.failure) if outcome.failure else difference(right, outcome.value)
        if found is not None and wrong is None:
            wrong = case, found, outcome
    count = len(lab.cases) + len(hidden)
    if wrong is None:
        return Verdict(task, count)
    case, found, outcome = wrong
    return Verdict(task, count, lab.call_text(case), found, _why(task, lab, outcome, outcomes))


def _why(task: str, lab: Lab, outcome: Outcome, outcomes: Sequence[Outcome]) -> str:
    """Return the hint that names the mistake, or the lab's first if nothing is written; nothing if none is known."""
    if outcome.failure == UNWRITTEN:
        return lab.hints[0]
    found = "" if outcome.endless else _mistake(task, outcomes)
    return found or ("Is the return missing?" if outcome == Outcome() else "")


def _documented() -> None:
    """Compile to the code of a function that has a docstring alone."""


def _bare() -> None:
    pass


def _is_empty(function: Callable[..., Any]) -> bool:
    """Return True if a function has no body."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_code in (_documented.__code__.co_code, _bare.__code__.co_code) and all(
        value is None or value == function.__doc__ for value in code.co_consts)


def _mistake(task: str, outcomes: Sequence[Outcome]) -> str:
    """Return the hint of the mistake with the same outcomes so far, by most agreement: readers may make two."""
    known = recorded(task)
    wrong = next((i for i, (outcome, right) in enumerate(zip(outcomes, known.right, strict=False))
                  if outcome.failure or difference(right, outcome.value) is not None), None)
    if wrong is None:
        return ""
    found = []
    for mistake in known.mistakes:
        alike = [_alike(one, other) for one, other in zip(mistake.outcomes, outcomes, strict=False)]
        if all(alike[:wrong + 1]):
            found.append((sum(alike), mistake.hint))
    return max(found, key=lambda pair: pair[0])[1] if found else ""


def _alike(one: Outcome, other: Outcome) -> bool:
    """Return True if two calls returned the same value, or failed by an error of the same type."""
    if one.failure or other.failure:
        return one.failure.partition(":")[0] == other.failure.partition(":")[0]
    return difference(one.value, other.value) is None

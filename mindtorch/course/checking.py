"""What is right or wrong with a reader's part: the lab's cases, one by one, and the mistake that explains them."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .compare import Difference, difference
from .limits import UNWRITTEN, Outcome, attempt
from .tasks import Lab


@dataclass(frozen=True)
class Verdict:
    """What came of checking a part: of how many cases, and where one failed, what is wrong there and why."""

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


def judge(task: str, lab: Lab, mine: Any, hidden: bool = False) -> Verdict:
    """Run a part on a lab's cases, and name the mistake if one explains what it did."""
    cases = [*lab.cases, *(lab.hidden if hidden else ())]
    if not callable(mine):
        said = "it is still to be written" if mine is ... or mine is None else f"a function is asked for, not {mine!r}"
        return Verdict(task, len(cases), "", Difference(said))
    if _is_empty(mine):
        return Verdict(task, len(cases), "", Difference("it is still to be written"), lab.hints[0])
    for case in cases:
        expected = lab.run(lab.right, *case)
        outcome = attempt(lab.run, mine, *case)
        wrong = Difference(outcome.failure) if outcome.failure else difference(expected, outcome.value)
        if wrong is not None:
            return Verdict(task, len(cases), lab.call_text(case), wrong, _why(lab, mine, cases, outcome))
    return Verdict(task, len(cases))


def _why(lab: Lab, mine: Callable[..., Any], cases: list[tuple[Any, ...]], outcome: Outcome) -> str:
    """What the reader may have got wrong, or where to begin; nothing if that is not known."""
    if outcome.failure == UNWRITTEN:
        return lab.hints[0]
    found = "" if outcome.endless else _mistake(lab, mine, cases)
    return found or ("Is the return missing?" if outcome == Outcome() else "")


def _documented() -> None:
    """What a function compiles to that holds nothing but this."""


def _bare() -> None:
    pass


def _is_empty(function: Callable[..., Any]) -> bool:
    """Whether there is nothing in a function's body."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_code in (_documented.__code__.co_code, _bare.__code__.co_code) and all(
        value is None or value == function.__doc__ for value in code.co_consts)


def _mistake(lab: Lab, mine: Callable[..., Any], cases: list[tuple[Any, ...]]) -> str:
    """The hint of the mistake that does what the reader's part does, up to and including the first case that is wrong;
    of several such the one that agrees in most of the others, since a reader may have made two.
    """
    outcomes = [attempt(lab.run, mine, *case, seconds=1) for case in cases]
    wrong = next((i for i, (outcome, case) in enumerate(zip(outcomes, cases, strict=True))
                  if outcome.failure or difference(lab.run(lab.right, *case), outcome.value) is not None), 0)
    found = []
    for mistake in lab.mistakes:
        count = 0
        for i, (outcome, case) in enumerate(zip(outcomes, cases, strict=True)):
            alike = _alike(attempt(lab.run, mistake.function, *case), outcome)
            if not alike and i <= wrong:
                break
            count += alike
        else:
            found.append((count, mistake.hint))
    return max(found, key=lambda pair: pair[0])[1] if found else ""


def _alike(one: Outcome, other: Outcome) -> bool:
    """Whether two calls did the same: gave the same value, or failed by an error of the same type."""
    if one.failure or other.failure:
        return one.failure.partition(":")[0] == other.failure.partition(":")[0]
    return difference(one.value, other.value) is None

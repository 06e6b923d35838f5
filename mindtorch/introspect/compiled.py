"""What ``torch.compile`` makes of a function: the facts behind ``%%compile``."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from .._compile.explain import Compiled, Explanation, ProgramFacts, explanation_of
from .._compile.function import CompiledFunction

LONGEST = 0.2  #: seconds that are spent on timing each


@dataclass
class CompileFacts:
    """What was compiled, and how long (in seconds of one call) the function takes as it is written and compiled; None
    where that was not measured: a graph break, or a program that writes into its inputs or draws random numbers.
    """

    explanation: Explanation = field(default_factory=lambda: Explanation(""))
    value: Any = None
    written: float | None = None
    compiled: float | None = None

    @property
    def latest(self) -> Compiled | None:
        """What was compiled last."""
        return self.explanation.compiled[-1] if self.explanation.compiled else None


def compile_facts(function: Callable[[], Any], timed: bool = True) -> CompileFacts:
    """Compile a function without arguments, run it, and time it beside itself."""
    compiled = CompiledFunction(function)
    facts = CompileFacts(value=compiled())
    entry = compiled.entries[-1] if compiled.entries else None
    if timed and entry is not None and entry.forward is not None and not entry.written and not any(
            step.is_random for step in entry.recorded.steps):  # type: ignore[union-attr]
        facts.compiled, facts.written = _fastest(compiled), _fastest(function)
    facts.explanation = explanation_of(compiled)
    return facts


def _fastest(function: Callable[[], Any]) -> float:
    """The seconds that a call takes at best."""
    function()
    end, best, count = perf_counter() + LONGEST, float("inf"), 1
    while perf_counter() < end:
        start = perf_counter()
        for _ in range(count):
            function()
        spent = perf_counter() - start
        best = min(best, spent / count)
        count = count * 2 if spent < 0.002 else count
    return best


__all__ = ["CompileFacts", "Compiled", "Explanation", "ProgramFacts", "compile_facts"]

"""What ``torch.compile`` makes of a function: the facts behind ``%%compile``."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from traceback import walk_tb
from typing import Any

from .._base.call_site import PACKAGE, cell_of
from .._base.interrupts import contextmanager
from .._compile.explain import Compiled, Explanation, ProgramFacts, explanation_of
from .._compile.function import CompiledFunction, stance

LONGEST = 0.2  #: seconds that are spent on timing each


@dataclass
class CompileFacts:
    """What was compiled, and how long (in seconds of one call) the function takes as it is written and compiled; None
    where that was not measured: a graph break, or a program that writes into its inputs or draws random numbers.

    ``is_reached`` says whether the function was called at all. Where something failed, ``failure`` is the error's type
    and message, ``file`` and ``line`` the place ('' and 0 if it is not known), and ``unfinished`` are the operators
    that were recorded before the function failed.
    """

    explanation: Explanation = field(default_factory=lambda: Explanation(""))
    value: Any = None
    written: float | None = None
    compiled: float | None = None
    is_reached: bool = False
    failure: str = ""
    file: str = ""
    line: int = 0
    unfinished: tuple[str, ...] = ()

    @property
    def latest(self) -> Compiled | None:
        """What was compiled last."""
        return self.explanation.compiled[-1] if self.explanation.compiled else None


@contextmanager
def watch_compile() -> Iterator[CompileFacts]:
    """Watch a block that calls ``compile_facts``, and note its failure in the facts that it yields."""
    facts = CompileFacts()
    try:
        yield facts
    except BaseException as error:
        said = error.msg if isinstance(error, SyntaxError) else error
        facts.failure = f"{type(error).__name__}: {said}".removesuffix(": ")
        sites = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
        sites += [(error.filename or "", error.lineno or 0)] if isinstance(error, SyntaxError) else []
        of_cells = [site for site in sites if cell_of(site[0]) is not None]
        outside = [site for site in sites if not site[0].startswith(PACKAGE)]
        facts.file, facts.line = (of_cells or outside or [("", 0)])[-1]
        raise


def compile_facts(function: Callable[[], Any], timed: bool = True, facts: CompileFacts | None = None) -> CompileFacts:
    """Compile and run a function, and time it beside itself; ``facts`` are filled as far as that comes."""
    compiled, facts = CompiledFunction(function), CompileFacts() if facts is None else facts
    facts.is_reached = True
    try:
        facts.value = compiled()
        entry = compiled.entries[-1] if compiled.entries else None
        if timed and entry is not None and entry.forward is not None and not entry.written and not any(
                step.is_random for step in entry.recorded.steps):  # type: ignore[union-attr]
            facts.compiled, facts.written = _fastest(compiled), _fastest(function, eagerly=True)
    finally:
        facts.explanation, facts.unfinished = explanation_of(compiled), tuple(compiled.unfinished)
    return facts


def _fastest(function: Callable[[], Any], eagerly: bool = False) -> float:
    """Return the seconds of the fastest call; ``eagerly`` runs compiled functions inside as they are written."""
    before, stance.name = stance.name, "force_eager" if eagerly else stance.name
    try:
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
    finally:
        stance.name = before


__all__ = ["CompileFacts", "Compiled", "Explanation", "ProgramFacts", "compile_facts", "watch_compile"]

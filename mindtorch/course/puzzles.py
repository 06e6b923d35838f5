"""Puzzles: small steps before a lab, each a program with a question, a picture and instant feedback."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

from .. import introspect, viz
from ..viz.html import Markup
from . import lessons
from .compare import difference, shown
from .limits import Outcome, attempt


@dataclass(frozen=True)
class Puzzle:
    """A question about a ``program`` that takes any number of answers.

    The answer is the value of the expression ``value``. A puzzle that asks for a function has ``cases`` in its place,
    an expression for pairs (arguments, right result). ``draw`` is an expression for the picture, of the program's names
    and of ``PICTURES``. ``wrong`` has usual wrong answers, as expressions, each with its hint; any other gets ``hint``.
    ``own`` programs run in this library alone: the others have the same answer in PyTorch.
    """

    name: str
    question: str
    program: str
    reason: str
    hint: str
    draw: str
    value: str = ""
    cases: str = ""
    wrong: tuple[tuple[str, str], ...] = ()
    own: bool = False

    @property
    def is_table(self) -> bool:
        """True if the picture is a table of values, which may show the answer."""
        return self.draw.startswith("rows(")

    def names(self, torch: Any = lessons.torch) -> dict[str, Any]:
        """Run the program with a library, and return its names."""
        names: dict[str, Any] = {"torch": torch}
        exec(compile(self.program, f"puzzle {self.name}", "exec"), names)
        return names

    def answer(self, names: dict[str, Any]) -> Any:
        """Return the right answer, or for a puzzle that asks for a function its cases."""
        return eval(self.value or self.cases, names)

    def picture(self, names: dict[str, Any]) -> Markup:
        """Draw the picture."""
        return eval(self.draw, names | {name: partial(draw, names) for name, draw in PICTURES.items()})

    def judge(self, given: Any, names: dict[str, Any]) -> str:
        """Return the hint for a wrong answer, and nothing for a right one."""
        right = self.answer(names)
        said = self._differs(right, given)
        if not said:
            return ""
        made = self._outcomes(right, given)
        usual = (hint for text, hint in self.wrong if _alike(made, self._outcomes(right, eval(text, dict(names)))))
        return f"{f'{said} ' if self.cases else ''}{next(usual, self.hint)}"

    def _outcomes(self, right: Any, given: Any) -> list[Outcome]:
        """Return the outcome of an answer: its value, or that of the function in each case."""
        if not self.cases:
            return [Outcome(tuple(given) if isinstance(given, list) else given)]  # parentheses or brackets
        return [attempt(given, *deepcopy(arguments), seconds=1.0) for arguments, _ in right]

    def _differs(self, right: Any, given: Any) -> str:
        """Return in a sentence how an answer differs from the right one, or nothing."""
        if not self.cases:
            return "It differs." if difference(right, given) is not None else ""
        if not callable(given):
            return f"The answer is a function, not {shown(given)}."
        for (arguments, expected), outcome in zip(right, self._outcomes(right, given), strict=True):
            found = outcome.failure or getattr(difference(expected, outcome.value), "text", "")
            if found:
                return f"For {', '.join(map(shown, arguments))}: {found}."
        return ""


def _alike(one: Sequence[Outcome], other: Sequence[Outcome]) -> bool:
    """Return True if two answers are the same, or two functions do the same in all cases."""
    return all(bool(a.failure and b.failure) if a.failure or b.failure
               else type(a.value) is type(b.value) and difference(b.value, a.value) is None
               for a, b in zip(one, other, strict=True))


def _storage(names: Mapping[str, Any], tensor: Any) -> Markup:
    return viz.storage_page(introspect.storage_facts(tensor, introspect.names_of(names)))


def _card(names: Mapping[str, Any], tensor: Any) -> Markup:
    return viz.tensor_card(tensor, introspect.names_of(names), compact=True)


def _graph(names: Mapping[str, Any], tensor: Any) -> Markup:
    return viz.graph_page(introspect.graph_facts(tensor, dict(introspect.named_tensors(names))))


def _dispatch(names: Mapping[str, Any], run: Callable[[], Any]) -> Markup:
    with introspect.watch_dispatch() as trace:
        run()
    return viz.dispatch_page(trace.events, trace.asked, (), trace.modules)


def _broadcast(names: Mapping[str, Any], *shapes: Sequence[int]) -> Markup:
    return viz.broadcast_page(introspect.broadcast_facts(*shapes))


def _pipeline(names: Mapping[str, Any], run: Callable[[], Any]) -> Markup:
    with introspect.watch_pipeline() as facts:
        run()
    return viz.pipeline_page(facts)


def _timeline(names: Mapping[str, Any], run: Callable[[], Any]) -> Markup:
    with introspect.timeline(names) as found:
        run()
    return viz.timeline_page(found)


def _module(names: Mapping[str, Any], module: Any) -> Markup:
    return viz.module_page(introspect.module_facts(module))


def _check(names: Mapping[str, Any], *values: Any) -> Markup:
    return viz.check_page(introspect.check(*values))


def _table(names: Mapping[str, Any], head: Sequence[Any], *rows: Sequence[Any]) -> Markup:
    from ..viz.course import rows_page

    return rows_page(head, rows)


#: The pictures that a puzzle may have, each a function of the program's names and of values.
PICTURES: dict[str, Callable[..., Markup]] = {
    "storage": _storage, "card": _card, "graph": _graph, "dispatch": _dispatch, "broadcast": _broadcast,
    "pipeline": _pipeline, "timeline": _timeline, "module": _module, "check": _check, "rows": _table}

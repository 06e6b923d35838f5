"""Side effects: writes into objects that existed before the call, repeated after the graph
(``torch._dynamo.side_effects``).
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .variables.base import Variable

if TYPE_CHECKING:
    from .codegen import Codegen


def check(condition: Any, message: str) -> None:
    """Raise a RuntimeError if a tensor of one element is false (``torch._assert_async``)."""
    if not bool(condition):
        raise RuntimeError(message)


class SideEffects:
    """Writes of the interpreted program."""

    def __init__(self) -> None:
        self.noted: dict[int, Variable] = {}  #: objects with a ``replay``
        self.attributes: dict[int, tuple[Variable, dict[str, Variable]]] = {}  #: of functions, modules and tensors
        self.asserted: list[tuple[Variable, str]] = []  #: conditions that the graph computes, and messages
        self.globals: dict[tuple[int, str], tuple[dict[str, Any], Variable | None]] = {}
        self.writes = self.touched = 0  #: how often objects were written: those that existed before, and all

    def __bool__(self) -> bool:
        return bool(self.noted or self.attributes or self.globals or self.asserted)

    def note(self, variable: Any) -> None:
        """Note that an object is written."""
        self.touched += 1
        if variable.source is not None or getattr(variable, "real", None) is not None:
            self.noted[id(variable)] = variable
            self.writes += 1

    def write(self, owner: Variable, name: str, value: Variable) -> None:
        """Set an attribute of an object without variables of its own."""
        self.attributes.setdefault(id(owner), (owner, {}))[1][name] = value
        self.writes += 1
        self.touched += 1

    def state(self) -> tuple[Any, ...]:
        """Return a value that changes with every write."""
        return self.writes, len(self.asserted), tuple([(key, id(value)) for key, (_, value) in self.globals.items()])

    def read(self, owner: Variable, name: str) -> Variable | None:
        """Return an attribute that was set before, or None."""
        found = self.attributes.get(id(owner))
        return None if found is None else found[1].get(name)

    def replay(self, cg: Codegen) -> list[str]:
        """Return the lines that repeat the writes; the values are computed before them."""
        lines = [f"{cg.object(check)}({cg.value(condition)}, {text!r})" for condition, text in self.asserted]
        for variable in self.noted.values():
            made: Any = variable
            lines += made.replay(cg, cg.value(variable))
        for owner, named in self.attributes.values():
            at = cg.value(owner)
            lines += [f"{cg.object(setattr)}({at}, {name!r}, {cg.value(value)})" for name, value in named.items()]
        for (_, name), (space, written) in self.globals.items():
            if written is None:
                lines.append(f"del {cg.object(space)}[{name!r}]")
            else:
                lines.append(f"{cg.object(space)}[{name!r}] = {cg.value(written)}")
        return lines

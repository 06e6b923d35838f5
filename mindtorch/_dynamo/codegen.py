"""Generated code: Python that calls the graphs, makes the results, and repeats the side effects
(``torch._dynamo.codegen``).
"""
from __future__ import annotations

from typing import Any

from .guards import Namespace
from .variables.base import ConstantVariable, Variable

LITERALS = (int, str, bool, bytes, type(None))


class Codegen:
    """The lines of a function; each object with an identity is made once."""

    def __init__(self, space: Namespace) -> None:
        self.space = space
        self.lines: list[str] = []
        self.outputs: list[Any] = []  #: tensors that the graph returns
        self._made: dict[int, str] = {}
        self._kept: list[Variable] = []
        self._count = 0

    def line(self, text: str) -> None:
        """Write a line."""
        self.lines.append(text)

    def name(self) -> str:
        """Return a new name."""
        self._count += 1
        return f"_t{self._count}"

    def object(self, value: Any) -> str:
        """Return a literal or a name for an object."""
        if type(value) in LITERALS:
            return repr(value)
        return self.space.name(value)

    def begin(self, variable: Variable, expression: str) -> str:
        """Assign an object with an identity to a name, before its contents, which may contain it."""
        made = self.name()
        self._remember(variable, made)
        self.line(f"{made} = {expression}")
        return made

    def _remember(self, variable: Variable, name: str) -> None:
        self._made[id(variable)] = name
        self._kept.append(variable)

    def value(self, variable: Variable) -> str:
        """Return an expression for a value."""
        found = self._made.get(id(variable))
        if found is not None:
            return found
        if isinstance(variable, ConstantVariable):
            return variable.reconstruct(self)
        if variable.source is not None:
            expression = variable.source.expression
            if expression.isidentifier():
                return expression
        else:
            expression = variable.reconstruct(self)
            if id(variable) in self._made or not variable.has_identity:
                return expression
            if expression.isidentifier():
                self._remember(variable, expression)
                return expression
        return self.begin(variable, expression)

    def output(self, variable: Any) -> str:
        """Return an expression for a tensor that the graph computes."""
        for number, other in enumerate(self.outputs):
            if other is variable:
                return f"_out[{number}]"
        self.outputs.append(variable)
        return f"_out[{len(self.outputs) - 1}]"

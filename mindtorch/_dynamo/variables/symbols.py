"""Sizes that are symbols: numbers that the graph takes or computes (``torch._dynamo.variables.SymNodeVariable``)."""
from __future__ import annotations

from typing import Any

from .base import SYMBOLIC, Codegen, ConstantVariable, Translator, Variable, specialised


class SymbolVariable(ConstantVariable):
    """A symbolic number. Python that needs its value becomes a guard on sizes; in the graph it is a node."""

    def __init__(self, output: Any, value: Any) -> None:
        super().__init__(value)
        self.output = output

    def python_type(self) -> type:
        return SYMBOLIC[type(self._value)]

    def argument(self) -> Any:
        return self.output.sizes.node(self._value)

    def key(self) -> Any:
        return specialised(self._value)

    def attribute(self, tx: Translator, name: str) -> Variable:
        return tx.made(specialised(self._value)).attribute(tx, name)

    def method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        return tx.made(specialised(self._value)).method(tx, name, args, kwargs)

    def truth(self, tx: Translator) -> bool:
        return bool(specialised(self._value))

    def reconstruct(self, cg: Codegen) -> str:
        if self.output.sizes.is_computed(self._value):
            return cg.output(self)
        text: str = self.output.sizes.code(self._value)
        return text

    def __str__(self) -> str:
        return f"the size {self._value}"


class SymbolSlice(ConstantVariable):
    """A slice with symbolic bounds among its numbers."""

    def __init__(self, parts: list[Variable]) -> None:
        super().__init__(slice(*[part.value for part in parts]))
        self.parts = parts

    def argument(self) -> Any:
        return slice(*[part.argument() for part in self.parts])

    def reconstruct(self, cg: Codegen) -> str:
        return f"{cg.object(slice)}({', '.join(map(cg.value, self.parts))})"


def slice_of(parts: list[Variable]) -> Variable:
    """Return a slice of constants."""
    if any(isinstance(part, SymbolVariable) for part in parts):
        return SymbolSlice(parts)
    return ConstantVariable(slice(*[part.value for part in parts]))

"""What a row of the NPU's tables is: which ACLNN operator an ATen operator is, and with which values."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...._dispatch.dispatcher import TENSOR_TYPES

Arguments = Callable[..., tuple[Any, ...]]


def in_order(*values: Any) -> tuple[Any, ...]:
    """The operator's arguments, then its outputs."""
    return values


@dataclass(frozen=True)
class Aclnn:
    """An ATen operator by an ACLNN operator.

    ``arguments`` makes the values of the ACLNN operator's parameters from the ATen operator's canonical arguments, followed
    by the outputs; without it they are the same, in the same order. ``scalar`` is the ACLNN operator for a number as second
    operand. ``when(*args)`` says for which arguments ACLNN does the same as ATen; the CPU does the others.
    """

    name: str
    arguments: Arguments = in_order
    scalar: str | None = None
    when: Callable[..., bool] | None = None

    @property
    def origin(self) -> Any:
        """The function that a reader wants to see: this row."""
        return self.arguments

    def call(self, args: Any, outs: list[Any]) -> tuple[str, tuple[Any, ...]]:
        """The ACLNN operator to call, and the values of its parameters."""
        scalar = self.scalar is not None and args[1].__class__ not in TENSOR_TYPES
        return self.scalar if scalar else self.name, self.arguments(*args, *outs)  # type: ignore[return-value]

    def calls(self, args: Any) -> list[tuple[str, tuple[Any, ...]]]:
        """The ACLNN operators of an operator that writes into its arguments."""
        return [self.call(args, [])]


@dataclass(frozen=True)
class Each(Aclnn):
    """An ATen operator on lists of tensors by one ACLNN operator an item, or several: ``arguments`` returns (name, values)
    pairs.
    """

    def calls(self, args: Any) -> list[tuple[str, tuple[Any, ...]]]:
        return list(self.arguments(*args))

"""The rows of the NPU's tables: which ACLNN operator computes an ATen operator, and with which values."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ...._dispatch.dispatcher import TENSOR_TYPES

#: An ACLNN operator, and the values of its parameters.
Call = tuple[str, tuple[Any, ...]]
Arguments = Callable[..., Any]


def in_order(*values: Any) -> tuple[Any, ...]:
    """Return the operator's arguments, then its outputs."""
    return values


class Origin:
    """A row as the origin of a kernel: it has a name and a place in this package's tables, and no code of its own."""

    backend = "npu"

    def __init__(self, name: str):
        self.__name__ = name

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{self.__name__} is called through its binding")


@dataclass(frozen=True)
class Aclnn:
    """An ATen operator by an ACLNN operator.

    ``arguments`` makes the values of the ACLNN operator's parameters from the ATen operator's canonical arguments,
    followed by the outputs; without it they are the same, in the same order. ``scalar`` is the ACLNN operator for a
    number as second operand. ``when(*args)`` says for which arguments ACLNN does the same as ATen; the CPU does the
    others. ``spec(*args)`` describes the output where no meta kernel can, since it depends on data.
    """

    name: str
    arguments: Arguments = in_order
    scalar: str | None = None
    when: Callable[..., bool] | None = None
    spec: Callable[..., Any] | None = None

    @property
    def origin(self) -> Any:
        """The ACLNN operator's name and this row, for readers."""
        return Origin(self.name or self.arguments.__name__)

    def call(self, args: Any, outs: list[Any]) -> Call:
        """Return the ACLNN operator to call and the values of its parameters."""
        scalar = self.scalar is not None and args[1].__class__ not in TENSOR_TYPES
        name = self.scalar if scalar and self.scalar is not None else self.name
        return name, self.arguments(*args, *outs)

    def calls(self, args: Any, outs: list[Any]) -> Iterable[Call]:
        """Return the ACLNN operators to call with the values of their parameters: one, except for some rows."""
        return (self.call(args, outs),)


@dataclass(frozen=True)
class OnCopy(Aclnn):
    """An ATen operator by one of ACLNN's that writes in place: into a copy of the first argument."""

    def calls(self, args: Any, outs: list[Any]) -> Iterable[Call]:
        out = outs[0]
        return ("aclnnInplaceCopy", (out, args[0])), (self.name, self.arguments(out, *args[1:]))


@dataclass(frozen=True)
class Counted(Aclnn):
    """An ATen operator whose outputs depend on the data; ``room`` returns their largest shapes."""

    when: Callable[..., bool] = lambda *args: True
    room: Callable[..., Iterable[tuple[int, ...]]] = lambda *args: ()


@dataclass(frozen=True)
class Lists(Aclnn):
    """An ATen operator on lists of tensors; ``shape`` is that of the results, by default that of the tensors."""

    shape: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Each(Aclnn):
    """An ATen operator on lists of tensors by several of ACLNN's: ``arguments`` returns (name, values) pairs."""

    def calls(self, args: Any, outs: list[Any]) -> Iterable[Call]:
        return self.arguments(*args, *outs)

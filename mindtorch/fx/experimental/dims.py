"""How sizes become symbols: the choice for each dimension, and what the user requires of it."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ..._guards import Source
from ...utils._sympy.value_ranges import ValueRanges


class ConstraintViolationError(RuntimeError):
    """A size that the user wants to be free, and that the program needs to be a number, or in a smaller range
    (``torch.fx.experimental.symbolic_shapes.ConstraintViolationError``).
    """


class DimDynamic(Enum):
    """How a size becomes part of a program (``torch.fx.experimental.symbolic_shapes.DimDynamic``)."""

    DYNAMIC = 0  #: a symbol of its own
    DUCK = 1  #: a symbol, the same for all equal sizes
    STATIC = 2  #: the number
    UNBACKED = 3  #: a symbol without a value, on which nothing can be guarded
    INFER_STRIDE = 4  #: a stride: computed from the sizes


@dataclass(frozen=True)
class Constraint:
    """A user's requirement of a size; with ``warn_only``, only a wish."""

    warn_only: bool = False


@dataclass(frozen=True)
class StrictMinMaxConstraint(Constraint):
    """The program must hold for all sizes of a range (``torch.export.Dim``)."""

    vr: ValueRanges = field(default_factory=ValueRanges.unknown_int)

    def render(self, source: Source) -> str:
        """Return the requirement as text."""
        return f"{self.vr.lower} <= {source.name} <= {self.vr.upper}"


@dataclass(frozen=True)
class RelaxedUnspecConstraint(Constraint):
    """The size must not become a number (``torch._dynamo.mark_dynamic``)."""

    def render(self, source: Source) -> str:
        """Return the requirement as text."""
        return f"RelaxedUnspecConstraint({source.name})"


@dataclass(frozen=True)
class EqualityConstraint(Constraint):
    """Sizes that must stay equal, as pairs of sources; and sizes that are functions of others."""

    source_pairs: tuple[tuple[Source, Source], ...] = ()
    derived_equalities: tuple[Any, ...] = ()
    phantom_symbols: tuple[Any, ...] = ()


class SymbolicContext:
    """How a value's numbers become symbols."""


@dataclass
class StatelessSymbolicContext(SymbolicContext):
    """The choice for each size and stride of a tensor, with the requirements on them
    (``torch.fx.experimental.symbolic_shapes.StatelessSymbolicContext``).
    """

    dynamic_sizes: Sequence[DimDynamic]
    dynamic_strides: Sequence[DimDynamic] | None = None
    constraint_sizes: Sequence[Any] | None = None
    constraint_strides: Sequence[Any] | None = None
    view_base_context: SymbolicContext | None = None

    def __post_init__(self) -> None:
        ndim = len(self.dynamic_sizes)
        self.dynamic_sizes = list(self.dynamic_sizes)
        self.dynamic_strides = list(self.dynamic_strides or [DimDynamic.INFER_STRIDE] * ndim)
        self.constraint_sizes = list(self.constraint_sizes or [None] * ndim)
        self.constraint_strides = list(self.constraint_strides or [None] * ndim)


@dataclass
class StatefulSymbolicContext(StatelessSymbolicContext):
    """A choice that is remembered by source: the same source gets the same symbols again
    (``torch.fx.experimental.symbolic_shapes.StatefulSymbolicContext``).
    """

    tensor_source: Source | None = None
    shape_env_to_source_to_symbol_cache: dict[int, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tensor_source is None:
            raise AssertionError("StatefulSymbolicContext needs the tensor's source, by which symbols are remembered")

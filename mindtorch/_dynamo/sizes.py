"""Sizes that change from call to call: which become symbols, where they are read, and the guards on them
(automatic dynamic shapes).
"""
from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._base.symbolic import SymInt
from .._compile import config
from .._dispatch.keys import NONCONTIGUOUS
from .._guards import Source
from .exc import Break, UserError

if TYPE_CHECKING:
    from .guards import Guards

OPERATORS: dict[str, Callable[..., Any]] = {
    "Add": operator.add, "Mul": operator.mul, "FloorDiv": operator.floordiv, "CleanDiv": operator.floordiv,
    "Mod": operator.mod, "PythonMod": operator.mod, "Pow": operator.pow, "PowByNatural": operator.pow,
    "Max": max, "Min": min, "FloatTrueDiv": operator.truediv, "IntTrueDiv": operator.truediv,
    "GreaterThan": operator.ge, "StrictGreaterThan": operator.gt, "LessThan": operator.le,
    "StrictLessThan": operator.lt, "Equality": operator.eq, "Unequality": operator.ne}


class History:
    """The sizes that a frame has seen: those that changed are symbols from then on."""

    def __init__(self, dynamic: bool | None) -> None:
        self.dynamic = dynamic
        self.seen: dict[str, tuple[int, ...]] = {}
        self.changed: dict[str, set[int]] = {}

    def dimensions(self, source: Source, value: Any) -> set[int]:
        """Return the dimensions of an input that are symbols, and note its sizes."""
        shape, name = tuple(value.shape), source.name
        before = self.seen.get(name)
        self.seen[name] = shape
        if before is not None and len(before) == len(shape):
            self.changed.setdefault(name, set()).update(d for d in range(len(shape)) if before[d] != shape[d])
        marks = vars(value)
        chosen = {*marks.get("_dynamo_dynamic_indices", ()), *marks.get("_dynamo_weak_dynamic_indices", ())}
        if self.dynamic or not config.assume_static_by_default:
            chosen.update(range(len(shape)))
        elif self.dynamic is None and config.automatic_dynamic_shapes:
            chosen |= self.changed.get(name, set())
        if value._keys & NONCONTIGUOUS:  # its strides are guarded as numbers
            return set()
        return {d for d in chosen if shape[d] > 1 and d not in marks.get("_dynamo_static_indices", ())}


@dataclass
class SizeInput:
    """A size that the graph takes: as an input it is read from a tensor."""

    source: Source
    real: int
    symbol: Any
    _node: Any = None


class Sizes:
    """The symbols of one capture, with the places of their values."""

    def __init__(self, output: Any, history: History) -> None:
        self.output, self.history = output, history
        self.inputs: dict[Any, SizeInput] = {}  #: by symbol
        #: By symbol: the nodes of numbers that depend on data, or the node of a tensor with such a size, and its
        #: dimension.
        self.computed: dict[Any, Any] = {}
        self.required: list[tuple[Any, Source, Any]] = []  #: what ``mark_dynamic`` forbids to become a number
        self.same: list[tuple[Any, Source]] = []  #: further places of known symbols

    def note(self, source: Source, value: Any, example: Any, dynamic: set[int]) -> None:
        """Note where the symbols of an input's sizes are read."""
        marked = vars(value).get("_dynamo_dynamic_indices", ())
        for d in sorted(dynamic):
            size = example.shape[d]
            at = Source(f".shape[{d}]", source)
            symbol = getattr(getattr(size, "node", None), "_expr", None)
            if d in marked:
                self.required.append((size, at, vars(value).get("_dynamo_dynamic_range", ())))
            if symbol is not None:
                self.inputs.setdefault(symbol, SizeInput(at, int(value.shape[d]), symbol))

    def note_result(self, node: Any, example: Any) -> None:
        """Note the sizes of a result that depend on data."""
        for d, size in enumerate(example.shape):
            if size.__class__ is SymInt and not size.node.has_hint():
                self.computed.setdefault(size.node.expr, (node, d))

    def node(self, value: Any) -> Any:
        """Return the node of a symbolic number in the graph, or the number if it is known."""
        return self._node(value.node.expr)

    def is_computed(self, value: Any) -> bool:
        """Return whether a symbolic number depends on data."""
        return not self.computed.keys().isdisjoint(value.node.expr.free_symbols)

    def _node(self, expr: Any) -> Any:
        if expr.is_number:
            return int(expr) if expr.is_integer else float(expr)
        if expr in self.inputs:
            found = self.inputs[expr]
            if found._node is None:
                found._node = self.output.size_placeholder(found)
            return found._node
        if expr in self.computed:
            found = self.computed[expr]
            if found.__class__ is tuple:
                found = self.computed[expr] = self.output.node(
                    "call_method", "size", found, {}, found[0].meta["example_value"].shape[found[1]])
            return found
        function = OPERATORS.get(type(expr).__name__)
        if function is None:
            raise Break(f"a size that no operator of the graph gives: {expr}")
        return functools.reduce(lambda left, right: self.output.node("call_function", function, (left, right), {}, (
            function(*[one.meta["example_value"] if hasattr(one, "meta") else one for one in (left, right)]))),
            map(self._node, expr.args))

    def code(self, value: Any) -> str:
        """Return a symbolic number as Python code over the sources."""
        return self._print(value.node.expr, lambda source: source.expression)

    def _print(self, expr: Any, name: Callable[[Source], str]) -> str:
        from ..fx.experimental.size_guards import GuardPrinter

        text: str = GuardPrinter({symbol: name(one.source) for symbol, one in self.inputs.items()}).doprint(expr)
        return text

    def guard(self, guards: Guards) -> None:
        """Add the guards that the capture made on symbols.

        Raises:
            UserError: if a size that ``mark_dynamic`` marks became a number.
        """
        env = self.output.mode.shape_env
        if env is None:
            return
        for size, at, _ in self.required:
            if not hasattr(size, "node") or env.replace(size.node.expr).is_number:
                raise UserError(f"Constraints violated ({at.name})! You marked {at.name} as dynamic but your code "
                                "specialized it to be a constant. If you're using mark_dynamic, either remove it or "
                                "use maybe_mark_dynamic.")
        for _, at, ranges in self.required:
            for marked in ranges:
                least, most = marked.min, marked.max
                if at.form == f".shape[{marked.dim}]":
                    read = guards.at(at)
                    if least is not None:
                        guards.add(f"{least} <= {read}", f"{least} <= {at.name}", "SHAPE_ENV")
                    if most is not None:
                        guards.add(f"{read} <= {most}", f"{at.name} <= {most}", "SHAPE_ENV")
        for one in self.inputs.values():
            guards.add(f"{guards.at(one.source)} > 1", f"2 <= {one.source.name}", "SHAPE_ENV")
        for guard in env.guards:
            guards.add(self._print(guard.expr, guards.at), self._print(guard.expr, lambda source: source.name),
                       "SHAPE_ENV")

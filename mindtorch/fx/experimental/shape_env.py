"""The knowledge about the sizes of one traced program: its symbols, their values, and what was guarded on."""
from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import sympy
from sympy import S

from ..._base.call_site import call_site
from ..._base.symbolic import GuardOnDataDependentSymNode, SymBool, SymFloat, SymInt
from ..._guards import Source, TensorProperty, TensorPropertySource
from ...utils._sympy.functions import CleanDiv, FloorDiv, Mod
from ...utils._sympy.numbers import int_oo
from ...utils._sympy.solve import integral, try_solve
from ...utils._sympy.value_ranges import ValueRanges, bound_sympy
from . import size_guards
from .dims import (
    ConstraintViolationError, DimDynamic, StatefulSymbolicContext, StatelessSymbolicContext, StrictMinMaxConstraint,
)
from .sym_node import SymNode

RELATIONS = (sympy.Eq, sympy.Ne, sympy.Lt, sympy.Le, sympy.Gt, sympy.Ge)


class ShapeGuard(NamedTuple):
    """A condition that holds for the sizes of this trace, and the line that asked for it."""

    expr: Any
    sloc: Any
    size_oblivious: bool = False


class RuntimeAssert(NamedTuple):
    """A condition on data that the program checks when it runs."""

    expr: Any
    msg: str
    stack: Any


class ShapeEnvSettings(NamedTuple):
    """The settings of a ``ShapeEnv``."""

    allow_scalar_outputs: bool
    allow_dynamic_output_shape_ops: bool
    assume_static_by_default: bool
    specialize_zero_one: bool
    duck_shape: bool
    prefer_deferred_runtime_asserts_over_guards: bool
    trace_asserts: bool


class _ShapeEnvGuardError(RuntimeError):
    """A guard where none may be added."""


def split_constant(expr: Any) -> tuple[Any, Any, int]:
    """Return an expression as ``factor * (term + constant)``, with the smallest integers in ``term``, whose sign is
    chosen so that equal terms are found again; the factor has that sign.
    """
    constant, term = sympy.expand(expr).as_coeff_Add()
    content = term.as_content_primitive()[0]
    factor = content if content.is_Integer and content > 0 else S.One
    if term.could_extract_minus_sign():
        factor = -factor
    return sympy.expand(term / factor), constant / factor, factor


class ShapeEnv:
    """The symbols of a traced program, and what is known about them
    (``torch.fx.experimental.symbolic_shapes.ShapeEnv``).

    What is known is the range of each symbol, and of each linear combination that was compared; which combinations are
    not equal; and which symbols equal an expression in others.
    """

    def __init__(self, *, allow_scalar_outputs: bool = True, allow_dynamic_output_shape_ops: bool = True,
                 assume_static_by_default: bool = False, specialize_zero_one: bool = True,
                 duck_shape: bool | None = None, prefer_deferred_runtime_asserts_over_guards: bool = False,
                 trace_asserts: bool = False, should_record_events: bool | None = None,
                 tracked_fakes: list[Any] | None = None, **unknown: Any) -> None:
        if unknown:
            raise TypeError(f"ShapeEnv() got an unexpected keyword argument {next(iter(unknown))!r}")
        self.settings = ShapeEnvSettings(
            allow_scalar_outputs, allow_dynamic_output_shape_ops, assume_static_by_default, specialize_zero_one,
            duck_shape is None or duck_shape, prefer_deferred_runtime_asserts_over_guards, trace_asserts)
        self.tracked_fakes = tracked_fakes
        self.guards: list[ShapeGuard] = []
        self.var_to_val: dict[Any, Any] = {}
        self.unbacked_var_to_val: dict[Any, Any] = {}
        self.var_to_range: dict[Any, ValueRanges] = {}
        self.var_to_sources: dict[Any, list[Source]] = {}
        self.source_to_var: dict[str, Any] = {}
        self.replacements: dict[Any, Any] = {}
        self.divisible: set[Any] = set()
        self.size_like: set[Any] = set()
        self.unequal: set[Any] = set()
        self.deferred_runtime_asserts: dict[Any, list[RuntimeAssert]] = {}
        self.pending_fresh_unbacked_symbols: list[Any] = []
        self.unbacked_symint_counter = self.unbacked_symfloat_counter = 0
        self.frozen = self.runtime_asserts_frozen = False
        self._val_to_var: dict[int, Any] = {}
        self._ids: set[int] = set()
        self._suppressed = self._errors_on_guards = 0
        self._version = 0
        self._known: dict[Any, Any] = {}  # answers, until something new is known

    def __getattr__(self, name: str) -> Any:
        if name in ShapeEnvSettings._fields:
            return getattr(self.settings, name)
        raise AttributeError(f"'ShapeEnv' object has no attribute {name!r}")

    @property
    def backed_var_to_val(self) -> dict[Any, Any]:
        """The values of the symbols of inputs."""
        return self.var_to_val

    def __deepcopy__(self, memo: dict[int, Any]) -> ShapeEnv:
        out = object.__new__(ShapeEnv)
        memo[id(self)] = out
        for name, value in vars(self).items():
            out.__dict__[name] = value.copy() if isinstance(value, (dict, list, set)) else value
        return out

    def _changed(self) -> None:
        self._version += 1
        self._known.clear()

    # -- symbols ---------------------------------------------------------------------------------------------------

    def _new_name(self, source: Source) -> int:
        """Return a number for a symbol: PyTorch's, which depends on the source's name."""
        number = int(hashlib.sha256(source.name.encode()).hexdigest(), 16) % 100
        while number in self._ids:
            number += 1
        self._ids.add(number)
        return number

    def create_symbol(self, val: Any, source: Source, dynamic_dim: DimDynamic = DimDynamic.DUCK,
                      constraint_dim: Any = None, positive: bool | None = True,
                      do_not_specialize_zero_one: bool = False, symbolic_context: Any = None) -> Any:
        """Return the symbol of an input's size, or the number if it is static, or 0 or 1.

        Raises:
            ConstraintViolationError: if the value does not satisfy the constraint.
        """
        if isinstance(symbolic_context, StatefulSymbolicContext):
            cache = symbolic_context.shape_env_to_source_to_symbol_cache.setdefault(id(self), {})
            if source.name not in cache:
                cache[source.name] = self.create_symbol(val, source, dynamic_dim, constraint_dim, positive,
                                                        do_not_specialize_zero_one)
            return cache[source.name]
        if isinstance(constraint_dim, StrictMinMaxConstraint) and constraint_dim.vr.is_singleton():
            if constraint_dim.vr.lower != val:
                raise ConstraintViolationError(f"Static shape constraint of {constraint_dim.vr.lower} does not match "
                                               f"input size of {val}, for {source.name}")
            dynamic_dim = DimDynamic.STATIC
        if dynamic_dim is DimDynamic.UNBACKED:
            symbol = self.create_unbacked_symint().node.expr
            self._constrain_range_for_size(symbol)
            return symbol
        if positive and val < 0:
            raise AssertionError(f"positive set for negative value: {val}")
        if dynamic_dim is DimDynamic.STATIC:
            return sympy.Integer(val)
        if val in (0, 1) and self.specialize_zero_one and not do_not_specialize_zero_one and not isinstance(val, float):
            return sympy.Integer(val)
        duck = dynamic_dim is DimDynamic.DUCK and self.duck_shape and constraint_dim is None
        symbol = self._val_to_var.get(val) if duck else None
        if symbol is None:
            symbol = self._fresh_symbol(val, source, positive, not do_not_specialize_zero_one, constraint_dim)
            if duck:
                self._val_to_var[val] = symbol
        sources = self.var_to_sources[symbol]
        sources.append(source)
        if not source.is_ephemeral() and sources[0].is_ephemeral():  # the first is the one that guards read
            sources[0], sources[-1] = sources[-1], sources[0]
        self.source_to_var[source.name] = symbol
        return symbol

    def _fresh_symbol(self, val: Any, source: Source, positive: bool | None, not_01: bool, constraint: Any) -> Any:
        number = self._new_name(source)
        self._changed()
        if isinstance(val, float):
            symbol = sympy.Symbol(f"zf{number}", real=True)
            self.var_to_val[symbol], self.var_to_range[symbol] = sympy.Float(val), ValueRanges(-math.inf, math.inf)
        else:
            symbol = sympy.Symbol(f"s{number}", positive=positive, integer=True)
            least = (2 if self.specialize_zero_one and not_01 else 0) if positive else -int_oo
            values = ValueRanges(least, int_oo)
            if isinstance(constraint, StrictMinMaxConstraint):
                values = values & constraint.vr
            if val not in values:
                raise ConstraintViolationError(f"{val} not in range [{values.lower}, {values.upper}]")
            self.var_to_val[symbol], self.var_to_range[symbol] = sympy.Integer(val), values
        self.var_to_sources[symbol] = []
        return symbol

    def create_unspecified_symbol(self, val: Any, source: Source, dynamic_dim: DimDynamic = DimDynamic.DUCK,
                                  constraint_dim: Any = None, symbolic_context: Any = None) -> Any:
        """Return the symbol of a number that may be 0, 1 or negative, as a Python argument may be."""
        return self.create_symbol(val, source, dynamic_dim, constraint_dim, None, True, symbolic_context)

    def create_unspecified_symint_and_symbol(self, value: int, source: Source, dynamic_dim: DimDynamic) -> Any:
        """Return a SymInt of a Python argument."""
        return self.create_symintnode(self.create_unspecified_symbol(value, source, dynamic_dim), hint=value,
                                      source=source)

    def create_symintnode(self, sym: Any, *, hint: int | None = None, source: Source | None = None) -> Any:
        """Return a symbol as a SymInt; a number as an int."""
        return int(sym) if sym.is_Integer else SymInt(SymNode(sym, self, int, hint))

    def create_symfloatnode(self, sym: Any, *, hint: Any = None, source: Source | None = None) -> Any:
        """Return a symbol as a SymFloat; a number as a float."""
        return float(sym) if sym.is_Float else SymFloat(SymNode(sym, self, float, hint))

    def create_symboolnode(self, sym: Any) -> SymBool:
        """Return a condition as a SymBool."""
        return SymBool(SymNode(sym, self, bool))

    def create_unbacked_symint(self, source: Source | None = None) -> SymInt:
        """Return a SymInt whose value depends on data."""
        symbol = sympy.Symbol(f"u{self.unbacked_symint_counter}", integer=True)
        self.unbacked_symint_counter += 1
        self.pending_fresh_unbacked_symbols.append(symbol)
        self.var_to_range[symbol] = ValueRanges.unknown_int()
        return SymInt(SymNode(symbol, self, int))

    def create_unbacked_symfloat(self) -> SymFloat:
        """Return a SymFloat whose value depends on data."""
        symbol = sympy.Symbol(f"zuf{self.unbacked_symfloat_counter}", real=True)
        self.unbacked_symfloat_counter += 1
        self.pending_fresh_unbacked_symbols.append(symbol)
        self.var_to_range[symbol] = ValueRanges.unknown()
        return SymFloat(SymNode(symbol, self, float))

    def create_unbacked_symbool(self) -> SymBool:
        """Return a SymBool whose truth depends on data."""
        symbol = sympy.Symbol(f"u{self.unbacked_symint_counter}", integer=True)
        self.unbacked_symint_counter += 1
        self.pending_fresh_unbacked_symbols.append(symbol)
        self.var_to_range[symbol] = ValueRanges(0, 1)
        return SymBool(SymNode(sympy.Eq(symbol, 1), self, bool))

    def is_unbacked_symint(self, symbol: Any) -> bool:
        """Return True if a symbol's value depends on data."""
        return symbol not in self.var_to_val

    def set_unbacked_var_to_val(self, k: Any, v: float) -> None:
        """Answer questions about a symbol that depends on data by an example value, without a guard."""
        self.unbacked_var_to_val[k] = sympy.sympify(v)
        self._changed()

    @contextmanager
    def ignore_fresh_unbacked_symbols(self) -> Iterator[None]:
        """Make symbols in a block that no output needs to bind."""
        before = list(self.pending_fresh_unbacked_symbols)
        try:
            yield
        finally:
            self.pending_fresh_unbacked_symbols = before

    def create_symbolic_sizes_strides_storage_offset(self, ex: Any, source: Source, *,
                                                     symbolic_context: Any = None) -> tuple[Any, Any, Any]:
        """Return a tensor's sizes, strides and storage offset as SymInts, or ints where they are static."""
        if symbolic_context is None:
            kind = DimDynamic.STATIC if self.assume_static_by_default else DimDynamic.DUCK
            symbolic_context = StatelessSymbolicContext([kind] * ex.dim())
        context = symbolic_context
        sizes, strides, offset = tuple(ex.shape), tuple(ex.stride()), ex.storage_offset()
        size = [self.create_symbol(number, TensorPropertySource(source, TensorProperty.SIZE, i), kind, constraint,
                                   symbolic_context=context)
                for i, (number, kind, constraint) in enumerate(zip(sizes, context.dynamic_sizes,
                                                                   context.constraint_sizes, strict=True))]
        stride = self._symbolic_strides(source, size, sizes, strides, context)
        place = self.create_symbol(offset, TensorPropertySource(source, TensorProperty.STORAGE_OFFSET),
                                   DimDynamic.DUCK if any(s.free_symbols for s in size) else DimDynamic.STATIC,
                                   symbolic_context=context)
        return (tuple([self.create_symintnode(s, hint=n) for s, n in zip(size, sizes, strict=True)]),
                tuple([self.create_symintnode(s, hint=n) for s, n in zip(stride, strides, strict=True)]),
                self.create_symintnode(place, hint=offset))

    def _symbolic_strides(self, source: Source, size: list[Any], sizes: Any, strides: Any, context: Any) -> list[Any]:
        """Return strides as products of inner sizes where they are such products, else as symbols."""
        found: list[Any] = [None] * len(size)
        for i, step in enumerate(strides):
            if step in (0, 1):
                found[i] = sympy.Integer(step)
        while None in found:
            products = {sizes[i] * strides[i]: size[i] * found[i] for i in reversed(range(len(size)))
                        if found[i] is not None and strides[i] >= 0}
            rest = sorted((step, -i) for i, step in enumerate(strides) if found[i] is None)
            for step, i in rest:
                if context.dynamic_strides[-i] is DimDynamic.INFER_STRIDE and step in products:
                    found[-i] = products[step]
                    break
            else:
                step, i = rest[0]
                kind = context.dynamic_strides[-i]
                found[-i] = self.create_symbol(
                    step, TensorPropertySource(source, TensorProperty.STRIDE, -i),
                    DimDynamic.DUCK if kind is DimDynamic.INFER_STRIDE else kind, symbolic_context=context)
        return found

    # -- what is known ---------------------------------------------------------------------------------------------

    def replace(self, expr: Any) -> Any:
        """Return an expression in which symbols that equal others, or numbers, are replaced."""
        if not self.replacements:
            return expr
        key = ("replace", expr)
        found = self._known.get(key)
        if found is None:
            mapping = {symbol: self._find(symbol) for symbol in expr.free_symbols if symbol in self.replacements}
            found = self._known[key] = sympy.expand(expr.xreplace(mapping)) if mapping else expr
        return found

    def _find(self, symbol: Any) -> Any:
        target = self.replacements.get(symbol)
        if target is None:
            return symbol
        inner = {s: self._find(s) for s in target.free_symbols if s in self.replacements}
        if inner:
            target = self.replacements[symbol] = sympy.expand(target.xreplace(inner))
        return target

    def simplify(self, expr: Any, size_oblivious: bool = False) -> Any:
        """Return an expression with known equalities, remainders and maxima used."""
        expr = self.replace(expr)
        if expr.has(Mod):
            expr = expr.xreplace(dict.fromkeys(self.divisible, S.Zero))
        if self.divisible and expr.has(FloorDiv):
            clean = {part: CleanDiv(part.base, part.divisor) for part in expr.atoms(FloorDiv)
                     if not isinstance(part, CleanDiv)
                     and Mod(part.base, part.divisor).xreplace(dict.fromkeys(self.divisible, S.Zero)) == 0}
            expr = expr.xreplace(clean)
        if expr.has(sympy.Max):
            kept = {}
            for part in expr.atoms(sympy.Max):
                number, others = part.args[0], part.args[1:]
                if number in (0, 1) and len(others) == 1 and self.bound_sympy(others[0]).lower >= number:
                    kept[part] = others[0]
            expr = expr.xreplace(kept)
        return expr

    def bound_sympy(self, expr: Any, size_oblivious: bool = False) -> ValueRanges:
        """Return a range that holds all values of an expression."""
        ranges = self.var_to_range
        if size_oblivious:
            ranges = {**ranges, **{s: ValueRanges(max(2, ranges[s].lower), max(2, ranges[s].upper))
                                   for s in self.size_like}}
        return bound_sympy(expr, ranges)

    def _maybe_evaluate_static(self, expr: Any, *, unbacked_only: bool = False, compute_hint: bool = False,
                               size_oblivious: bool = False) -> Any:
        """Return the value of an expression that is the same for all sizes, else None."""
        key = (expr, unbacked_only, compute_hint, size_oblivious)
        if key not in self._known:
            self._known[key] = self._static_value(expr, unbacked_only, compute_hint, size_oblivious)
        return self._known[key]

    def _static_value(self, expr: Any, unbacked_only: bool, compute_hint: bool, size_oblivious: bool) -> Any:
        expr = self.simplify(expr)
        if compute_hint:
            expr = expr.xreplace(self.var_to_val).xreplace(self.unbacked_var_to_val)
        if isinstance(expr, (sympy.And, sympy.Or, sympy.Not)):
            parts = [self._maybe_evaluate_static(arg, size_oblivious=size_oblivious) for arg in expr.args]
            expr = expr.func(*[arg if part is None else part for arg, part in zip(expr.args, parts, strict=True)])
        if not expr.free_symbols:
            return expr.doit() if expr.is_Boolean or expr.is_number else expr
        if isinstance(expr, RELATIONS):
            truth = self._truth(expr, size_oblivious)
            if truth is not None:
                return truth
        found = self.bound_sympy(expr, size_oblivious)
        if found.is_singleton():
            value = found.lower
            return (S.true if value else S.false) if found.is_bool else sympy.sympify(value)
        return expr if unbacked_only else None

    def _truth(self, relation: Any, size_oblivious: bool) -> Any:
        """Return whether a comparison holds for all sizes: by what is known of the compared combination, or by sympy,
        which knows that what remains of a symbol above its least value is positive.
        """
        difference = sympy.expand(relation.lhs - relation.rhs)
        if not difference.free_symbols:
            return type(relation)(difference, 0)
        term, constant, factor = split_constant(difference)
        compared = type(relation) if factor > 0 else relation.reversed.func
        known = self.var_to_range.get(term)
        if known is not None and not term.is_Symbol:
            stand_in = sympy.Dummy(integer=True)
            truth = bound_sympy(compared(stand_in + constant, 0, evaluate=False), {stand_in: known})
            if truth.is_singleton():
                return S.true if truth.lower else S.false
        if isinstance(relation, (sympy.Eq, sympy.Ne)) and sympy.expand(term + constant) in self.unequal:
            return S.true if isinstance(relation, sympy.Ne) else S.false
        above = {}
        for symbol in difference.free_symbols:
            least = self.var_to_range[symbol].lower if symbol in self.var_to_range else -int_oo
            if size_oblivious and symbol in self.size_like:
                least = max(2, least)
            if symbol.is_integer and math.isfinite(least):
                above[symbol] = sympy.Symbol(f"{symbol.name}_above", positive=True, integer=True) + (least - 1)
        truth = type(relation)(sympy.expand(difference.xreplace(above)), 0)
        return truth if truth in (S.true, S.false) else None

    def value_of(self, expr: Any, pytype: type) -> Any:
        """Return the value for the inputs that the symbols were made from; None if it depends on data."""
        value = self.replace(expr).xreplace(self.var_to_val)
        return None if value.free_symbols else pytype(value)

    def size_hint(self, expr: Any, *, allow_none: bool = False) -> Any:
        """Return the value for the inputs that the symbols were made from. Raises the data-dependent error if it
        depends on data, unless ``allow_none``.
        """
        value = self.replace(sympy.sympify(expr)).xreplace(self.var_to_val)
        if value.free_symbols:
            static = self._maybe_evaluate_static(value, compute_hint=True)
            if static is not None:
                return static
            if allow_none:
                return None
            raise self._data_dependent(value, expr)
        return value

    def has_hint(self, expr: Any) -> bool:
        """Return True if a value does not depend on data."""
        return self.size_hint(expr, allow_none=True) is not None

    # -- guards ----------------------------------------------------------------------------------------------------

    def evaluate_sym_node(self, node: SymNode, size_oblivious: bool = False, fallback_value: bool | None = None) -> Any:
        """Return a node's value, and guard on it."""
        return self.evaluate_expr(node.expr, node._hint, size_oblivious=size_oblivious, fallback_value=fallback_value)

    def evaluate_expr(self, orig_expr: Any, hint: Any = None, fx_node: Any = None, size_oblivious: bool = False,
                      fallback_value: Any = None, *, forcing_spec: bool = False) -> Any:
        """Return the value of an expression; add a guard unless it is the same for all sizes.

        Raises:
            GuardOnDataDependentSymNode: if it depends on data, and there is no ``fallback_value``.
        """
        if orig_expr.is_number or orig_expr in (S.true, S.false):
            return orig_expr
        static = self._maybe_evaluate_static(orig_expr, size_oblivious=size_oblivious)
        if static is None and fallback_value is None and not orig_expr.free_symbols <= self.var_to_val.keys() and (
                asked_by_the_library()):
            static = self._maybe_evaluate_static(orig_expr, size_oblivious=True)
            if static is None and isinstance(orig_expr, (sympy.Eq, sympy.Ne)) and not self.unbacked_var_to_val:
                static = S.false if isinstance(orig_expr, sympy.Eq) else S.true
        if static is not None:
            return static
        expr = self.simplify(orig_expr)
        if not expr.free_symbols <= self.var_to_val.keys():
            if fallback_value is not None:
                return fallback_value
            value = expr.xreplace(self.unbacked_var_to_val).xreplace(self.var_to_val)
            if value.free_symbols:
                raise self._data_dependent(expr.xreplace(self.var_to_val), expr)
            self.defer_runtime_assert(_condition(expr, value), f"example value: {orig_expr} == {value}")
            return value
        value = expr.xreplace(self.var_to_val) if hint is None else sympy.sympify(hint)
        if value.free_symbols:
            raise self._data_dependent(value, expr)
        if not self._suppressed:
            self._add_guard(_condition(expr, value), size_oblivious)
        return value

    def _add_guard(self, condition: Any, size_oblivious: bool) -> None:
        if self._errors_on_guards:
            raise _ShapeEnvGuardError(f"Guard attempted while guards are an error: {condition}")
        self._learn(condition)
        self.guards.append(ShapeGuard(condition, call_site(), size_oblivious))
        self._changed()

    def defer_runtime_assert(self, orig_expr: Any, msg: str, fx_node: Any = None) -> bool:
        """Require a condition: by a guard if it is about sizes of inputs, else when the program runs. Return False if
        it holds for no size.
        """
        static = self._maybe_evaluate_static(orig_expr)
        if static is not None:
            return bool(static)
        expr = self.simplify(orig_expr)
        if not self.prefer_deferred_runtime_asserts_over_guards and expr.free_symbols <= self.var_to_val.keys():
            return bool(self.evaluate_expr(expr))
        if not self._suppressed:
            self._learn(expr)
            unbacked = sorted((symbol for symbol in expr.free_symbols if symbol not in self.var_to_val),
                              key=lambda symbol: int(symbol.name.lstrip("zuf")))  # u0, and uf0 or zuf0 of floats
            last = unbacked[-1] if unbacked else None
            self.deferred_runtime_asserts.setdefault(last, []).append(RuntimeAssert(expr, msg, call_site()))
            self._changed()
        return True

    guard_or_defer_runtime_assert = defer_runtime_assert

    @property
    def num_deferred_runtime_asserts(self) -> int:
        """The number of conditions that the program checks when it runs."""
        return sum(map(len, self.deferred_runtime_asserts.values()))

    def _learn(self, condition: Any) -> None:
        """Use a condition that holds: for ranges of the compared combination and its symbols, and for equalities."""
        if isinstance(condition, sympy.And):
            for part in condition.args:
                self._learn(part)
        if not isinstance(condition, RELATIONS):
            return
        term, constant, factor = split_constant(condition.lhs - condition.rhs)
        if not (term.is_integer and constant.is_number):
            return
        if isinstance(condition, sympy.Ne):
            self.unequal.add(sympy.expand(term + constant))
            for symbol in term.free_symbols:  # the end of a range that is excluded
                if term == symbol and symbol in self.var_to_range and constant.is_Integer:
                    old, gone = self.var_to_range[symbol], -int(constant)
                    if gone in (old.lower, old.upper) and not old.is_singleton():
                        self.var_to_range[symbol] = ValueRanges(old.lower + (gone == old.lower),
                                                                old.upper - (gone == old.upper))
            return
        compared = type(condition) if factor > 0 else condition.reversed.func
        self._narrow(term, _solutions(compared, -constant))
        for symbol in term.free_symbols:
            solved = try_solve(condition, symbol)
            if solved is not None and solved[1].is_integer and symbol in self.var_to_range:
                relation, rest = solved
                around = self.bound_sympy(rest)
                ends = _solutions(type(relation), around.lower), _solutions(type(relation), around.upper)
                self._narrow(symbol, ends[0] | ends[1])
        if isinstance(condition, sympy.Eq):
            self._learn_equality(condition)
        for symbol in term.free_symbols:
            if symbol in self.var_to_range and self.var_to_range[symbol].is_singleton():
                self._set_replacement(symbol, sympy.Integer(self.var_to_range[symbol].lower))

    def _narrow(self, term: Any, values: ValueRanges) -> None:
        old = self.var_to_range.get(term, None) or self.bound_sympy(term)
        if term in self.size_like and values.upper < 2:
            values = ValueRanges(min(values.lower, 2), 2)
        if not (old.issubset(values) and term in self.var_to_range):
            lower, upper = max(old.lower, values.lower), min(old.upper, values.upper)
            if lower <= upper:
                self.var_to_range[term] = ValueRanges(lower, upper)
                self._changed()

    def _learn_equality(self, equation: Any) -> None:
        if equation.has(Mod):
            part = next(iter(equation.atoms(Mod)))
            solved = try_solve(equation, part)
            if solved is not None and solved[1] == 0:
                self.divisible.add(part)
            return

        def rank(symbol: Any) -> tuple[int, Any, str]:
            sources = self.var_to_sources.get(symbol, ())
            ephemeral = bool(sources) and all(source.is_ephemeral() for source in sources)
            return int(ephemeral), self.var_to_val.get(symbol, math.inf), symbol.name

        for symbol in sorted(equation.free_symbols, key=rank, reverse=True):
            solved = try_solve(equation, symbol)
            if solved is None or not integral(solved[1]):
                continue
            if all(other in self.var_to_val for other in solved[1].free_symbols):
                self._set_replacement(symbol, solved[1])
                return

    def _set_replacement(self, symbol: Any, target: Any) -> None:
        target = self.replace(target)
        if symbol in target.free_symbols or self.replacements.get(symbol) == target:
            return
        if symbol in self.var_to_range and not self.bound_sympy(target).issubset(self.var_to_range[symbol]):
            return
        if symbol in self.size_like and isinstance(target, sympy.Symbol):
            self.size_like.add(target)
        self.replacements[symbol] = target
        self._changed()

    def _constrain_range_for_size(self, a: Any, min: int | None = None, max: int | None = None) -> None:
        lower, upper = 0 if min is None else min, int_oo if max is None else max
        if upper <= 2:
            raise ValueError(f"Maximum value to constrain_as_size must be greater than 2, but was {upper}")
        self.constrain_symbol_range(a, compiler_min=lower, compiler_max=upper)
        self.size_like.add(a)

    def constrain_symbol_range(self, s: Any, compiler_min: Any, compiler_max: Any) -> None:
        """Give a symbol a smaller range."""
        self.var_to_range[s] = self.var_to_range.get(s, ValueRanges.unknown_int()) & ValueRanges(compiler_min,
                                                                                               compiler_max)
        self._changed()

    def _data_dependent(self, expr: Any, unhinted: Any) -> GuardOnDataDependentSymNode:
        """Return the error for a question that data decides."""
        sizes = ", ".join(sorted(str(s) for s in expr.free_symbols if s in self.size_like)) or "none"
        what = ("Could not extract specialized integer from data-dependent expression" if expr.is_integer
                else "Could not guard on data-dependent expression")
        return GuardOnDataDependentSymNode(expr, (
            f"{what} {expr} (unhinted: {unhinted}).  (Size-like symbols: {sizes})\n\n"
            "consider using data-dependent friendly APIs such as guard_or_false, guard_or_true and "
            f"statically_known_true, or promise the answer with torch._check.\nCaused by: {call_site()}"))

    # -- guards on new inputs, see ``size_guards`` -------------------------------------------------------------------

    produce_guards = produce_guards_verbose = size_guards.produce_guards
    produce_guards_expression = size_guards.produce_guards_expression
    evaluate_guards_for_args = size_guards.evaluate_guards_for_args
    evaluate_guards_expression = staticmethod(size_guards.evaluate_guards_expression)
    guards_in_words = size_guards.guards_in_words
    bind_symbols = size_guards.bind_symbols

    def get_nontrivial_guards(self) -> list[Any]:
        """Return the guards' conditions that the ranges of symbols do not hold (``ShapeEnv.get_nontrivial_guards``)."""
        known = [self.replace(guard.expr) for guard in self.guards]
        return [self.simplify(expr) for expr in known if expr.free_symbols and not size_guards.is_a_range(expr)]

    def format_guards(self, verbose: bool = False) -> str:
        """Return the guards, one a line, ``verbose`` with the line that asked for each (``ShapeEnv.format_guards``)."""
        return "\n".join(f" - {guard.expr}{f' {guard.sloc}' if verbose else ''}" for guard in self.guards)

    @contextmanager
    def suppress_guards(self) -> Iterator[None]:
        """Answer questions in a block without guards."""
        self._suppressed += 1
        try:
            yield
        finally:
            self._suppressed -= 1

    @contextmanager
    def error_on_new_guards(self) -> Iterator[None]:
        """Raise an error if a question in a block needs a guard."""
        self._errors_on_guards += 1
        try:
            yield
        finally:
            self._errors_on_guards -= 1

    def freeze(self) -> None:
        """Note that the guards are complete."""
        self.frozen = True

    def freeze_runtime_asserts(self) -> None:
        """Note that the conditions that the program checks are complete."""
        self.runtime_asserts_frozen = True

    def cleanup(self) -> None:
        """Forget cached answers."""
        self._known.clear()


PACKAGE = __name__.partition(".")[0]
#: Modules that pass a question on.
PASSING = (f"{PACKAGE}._base.symbolic", f"{PACKAGE}._methods.symbolic", f"{PACKAGE}._methods.checks",
           f"{PACKAGE}.fx.experimental.")


def asked_by_the_library() -> bool:
    """Return True if a rule of the library asks about a size, and not the program. There, sizes that depend on data
    count as neither 0 nor 1 (PyTorch's ``guard_size_oblivious``), and as equal to no other (``guard_or_false``). The
    truth of a tensor is no size.
    """
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(PASSING):
        frame = frame.f_back  # type: ignore[assignment]
    name = "" if frame is None else frame.f_globals.get("__name__", "")
    return name.partition(".")[0] == PACKAGE and name != f"{PACKAGE}._tensor.values"


def _condition(expr: Any, value: Any) -> Any:
    """Return the condition that an expression has a value."""
    if value in (S.true, True):
        return expr
    return sympy.Not(expr) if value in (S.false, False) else sympy.Eq(expr, value)


def _solutions(relation: type, number: Any) -> ValueRanges:
    """Return the integers ``n`` with ``n RELATION number``."""
    infinite = isinstance(number, float)
    low = number if infinite else int(sympy.floor(number))
    high = number if infinite else int(sympy.ceiling(number))
    if relation is sympy.Eq:
        return ValueRanges(low, high)
    if relation in (sympy.Ge, sympy.Gt):
        return ValueRanges(high if relation is sympy.Ge else low + 1, int_oo)
    return ValueRanges(-int_oo, low if relation is sympy.Le else high - 1)

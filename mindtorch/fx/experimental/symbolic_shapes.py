"""``torch.fx.experimental.symbolic_shapes``: questions about numbers that may be symbolic.

``bool(x == 2)`` of a SymInt leaves a guard. The functions here ask in other ways: what is known for all sizes, what to
assume where data decides, what to promise.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import sympy

from ..._base.symbolic import (
    SYMBOLIC, GuardOnDataDependentSymNode as GuardOnDataDependentSymNode, SymBool, SymFloat, SymInt,
)
from ..._methods.symbolic import sym_not
from ..._tensor import Tensor
from ..._transforms.pytree import tree_leaves
from ...utils._sympy.numbers import int_oo
from .dims import (
    Constraint as Constraint, ConstraintViolationError as ConstraintViolationError, DimDynamic as DimDynamic,
    EqualityConstraint as EqualityConstraint, RelaxedUnspecConstraint as RelaxedUnspecConstraint,
    StatefulSymbolicContext as StatefulSymbolicContext, StatelessSymbolicContext as StatelessSymbolicContext,
    StrictMinMaxConstraint as StrictMinMaxConstraint, SymbolicContext as SymbolicContext,
)
from .shape_env import (
    RuntimeAssert as RuntimeAssert, ShapeEnv as ShapeEnv, ShapeEnvSettings as ShapeEnvSettings,
    ShapeGuard as ShapeGuard, _ShapeEnvGuardError as _ShapeEnvGuardError,
)
from .sym_node import SymNode as SymNode


def is_symbolic(val: Any) -> bool:
    """Return True for a symbolic number whose value is an expression."""
    return val.__class__ in SYMBOLIC and val.node.is_symbolic()


def is_nested_int(val: Any) -> bool:
    """Return True for the size of a nested tensor's irregular dimension."""
    return isinstance(val, SymInt) and val.node.is_nested_int()


def has_symbolic_sizes_strides(elem: Any) -> bool:
    """Return True if a tensor has symbolic sizes, strides or offset."""
    return any(is_symbolic(number) for number in (*elem.shape, *elem.stride(), elem.storage_offset()))


def guard_int(a: Any) -> int:
    """Return an integer's value, and guard on it."""
    return a.node.guard_int("", 0) if isinstance(a, SymInt) else _checked(a, int)


def guard_float(a: Any) -> float:
    """Return a float's value, and guard on it."""
    return a.node.guard_float("", 0) if isinstance(a, SymFloat) else _checked(a, float)


def guard_bool(a: Any) -> bool:
    """Return a condition's truth, and guard on it."""
    return a.node.guard_bool("", 0) if isinstance(a, SymBool) else _checked(a, bool)


def _checked(a: Any, kind: type) -> Any:
    if type(a) is not kind:
        raise AssertionError(f"expected a {kind.__name__}, or a symbolic one, got {a!r}")
    return a


def guard_scalar(a: Any) -> Any:
    """Return a number's value, and guard on it."""
    if a.__class__ in SYMBOLIC:
        return a.node.evaluate()
    return a


def guard_size_oblivious(expr: Any) -> bool:
    """Return a condition's truth, in which sizes that depend on data count as neither 0 nor 1."""
    return expr.node.guard_size_oblivious("", 0) if isinstance(expr, SymBool) else _checked(expr, bool)


def guard_or_false(a: Any) -> bool:
    """Return a condition's truth, False where data decides."""
    return a.node.guard_or_false("", 0) if isinstance(a, SymBool) else bool(a)


def guard_or_true(a: Any) -> bool:
    """Return a condition's truth, True where data decides."""
    return a.node.guard_or_true("", 0) if isinstance(a, SymBool) else bool(a)


def statically_known_true(x: Any) -> bool:
    """Return True if a condition holds for all sizes; no guard is added."""
    return x.node.statically_known_true("", 0) if isinstance(x, SymBool) else bool(x)


def statically_known_false(x: Any) -> bool:
    """Return True if a condition holds for no size; no guard is added."""
    return statically_known_true(sym_not(x))


def expect_true(a: Any, skip: int = 0) -> bool:
    """Promise a condition: guard on it, or check it when the program runs if data decides."""
    return a.node.expect_true("", 0) if isinstance(a, SymBool) else _checked(a, bool)


def is_concrete_int(a: Any) -> bool:
    """Return True for an int, and a SymInt that is known to be a number."""
    return isinstance(a, int) or isinstance(a.node.expr, sympy.Integer)


def is_concrete_float(a: Any) -> bool:
    """Return True for a float, and a SymFloat that is known to be a number."""
    return isinstance(a, float) or isinstance(a.node.expr, sympy.Float)


def is_concrete_bool(a: Any) -> bool:
    """Return True for a bool, and a SymBool that is known to be true or false."""
    return isinstance(a, bool) or a.node.expr in (sympy.true, sympy.false)


def has_static_value(a: Any) -> bool:
    """Return True for a number that is the same for all sizes."""
    return a.__class__ not in SYMBOLIC or a.node.shape_env.bound_sympy(a.node.expr).is_singleton()


def has_hint(a: Any) -> bool:
    """Return True if a number does not depend on data."""
    return a.node.has_hint() if a.__class__ in SYMBOLIC else True


def hint_int(a: Any, fallback: int | None = None) -> int:
    """Return an integer's value for the inputs of the trace, without a guard."""
    return int(a.node.require_hint(fallback)) if isinstance(a, SymInt) else _checked(a, int)


size_hint = optimization_hint = hint_int


def constrain_range(a: Any, *, min: int | None, max: int | None = None) -> None:
    """Promise that an integer that depends on data lies in a range.

    Raises:
        ValueError: if a number does not, or the range is empty.
    """
    lower, upper = -int_oo if min is None else min, int_oo if max is None else max
    if upper < lower:
        raise ValueError("Maximum value to constrain_as_size can't be less than the specified min value, received "
                         f"min={min} and max={max}")
    if isinstance(a, int):
        if not lower <= a <= upper:
            raise ValueError(f"Invalid value {a} for range [{lower}:{upper}]")
        return
    a.node.shape_env.constrain_symbol_range(a.node.expr, compiler_min=lower, compiler_max=upper)


def _constrain_range_for_size(a: Any, min: int | None = None, max: int | None = None) -> None:
    """Promise that an integer that depends on data is a size."""
    if isinstance(a, (SymFloat, SymBool)):
        raise ValueError("Constraining SymFloat/SymBool is nyi")
    if isinstance(a.node.expr, sympy.Symbol):
        a.node.shape_env._constrain_range_for_size(a.node.expr, min, max)


def _advise_is_size(a: Any) -> None:
    """Promise that an integer is not negative, and that it is a size."""
    if isinstance(a, SymInt):
        a.node.advise_is_size()


def constrain_unify(a: Any, b: Any) -> None:
    """Promise that two integers are equal."""
    if not expect_true(a == b):
        raise AssertionError(f"{a} and {b} are not equal")


def _combined(name: str, all_of: bool) -> Callable[..., Any]:
    def combine(x: Any, *others: Any) -> Any:
        for other in others:
            if not (isinstance(x, SymBool) or isinstance(other, SymBool)):
                x = (x and other) if all_of else (x or other)
            else:
                x = (x & other) if all_of else (x | other)
        return x

    combine.__name__ = combine.__qualname__ = name
    combine.__doc__ = f"Return whether {'all' if all_of else 'some'} of the conditions hold, as a condition."
    return combine


sym_and, sym_or = _combined("sym_and", True), _combined("sym_or", False)


def sym_eq(x: Any, y: Any) -> Any:
    """Return whether numbers, or sequences of numbers, are equal, as a condition."""
    if isinstance(x, (tuple, list)):
        return sym_and(True, *map(sym_eq, x, y)) if len(x) == len(y) else False
    return x == y


def _expressions(val: Any) -> Iterator[Any]:
    for leaf in tree_leaves(val):
        if leaf.__class__ in SYMBOLIC:
            yield leaf.node.expr
        elif isinstance(leaf, sympy.Basic):
            yield leaf
        elif isinstance(leaf, Tensor):
            yield from _expressions([*leaf.shape, *leaf.stride(), leaf.storage_offset()])


def free_symbols(val: Any) -> set[Any]:
    """Return the symbols in numbers, tensors, and containers of these."""
    return set().union(*[expr.free_symbols for expr in _expressions(val)])


def has_free_symbols(val: Any) -> bool:
    """Return True if there is a symbol in numbers, tensors, and containers of these."""
    return bool(free_symbols(val))


def free_unbacked_symbols(x: Any) -> set[Any]:
    """Return the symbols whose value depends on data."""
    return {symbol for symbol in free_symbols(x) if symbol.name.startswith(("u", "zuf"))}


def has_free_unbacked_symbols(x: Any) -> bool:
    """Return True if there is a symbol whose value depends on data."""
    return bool(free_unbacked_symbols(x))


def create_contiguous(shape: Any) -> list[Any]:
    """Return the strides of a contiguous tensor."""
    strides = [1]
    for dim in reversed(shape[:-1]):
        strides.append(dim * strides[-1])
    return strides[::-1]


def fx_placeholder_vals(gm: Any) -> list[Any]:
    """Return the example values of a graph's inputs."""
    return [node.meta["val"] for node in gm.graph.nodes if node.op == "placeholder"]


def fx_placeholder_targets(gm: Any) -> list[str]:
    """Return the names of a graph's inputs."""
    return [node.target for node in gm.graph.nodes if node.op == "placeholder"]


def eval_guards(gm: Any, *args: Any, ignore_static: bool = True) -> bool:
    """Return whether the guards of a traced graph hold for new arguments."""
    return gm.shape_env.evaluate_guards_for_args(fx_placeholder_vals(gm), args, ignore_static=ignore_static)


def bind_symbols(gm: Any, *args: Any) -> dict[Any, int]:
    """Return the values of a traced graph's symbols for new arguments."""
    return gm.shape_env.bind_symbols(fx_placeholder_vals(gm), args)

"""``torch.fx.experimental.sym_node``: the expression behind a symbolic number.

A node's operators are one table: a name, Python's operator, and what it makes of sympy expressions. While a tracer is
active (``tracers``), it records the call instead, and its result is the program's.
"""
from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import sympy

from ..._base.symbolic import MATHS, OF_TYPE, as_float, to_node as _to_node, wrap
from ..._methods.symbolic import sym_float, sym_ite, sym_max, sym_min, sym_not
from ...utils._sympy import functions
from ...utils._sympy.functions import Mod, PythonMod

if TYPE_CHECKING:
    from .shape_env import ShapeEnv

__all__ = ["METHOD_TO_OPERATOR", "SymNode", "magic_methods", "method_to_operator", "to_node", "unary_methods",
           "wrap_node"]

#: Functions ``tracer(operator, args)`` of traces that record calls, innermost last. ``proxy_tensor`` puts them here.
tracers: list[Callable[[Callable[..., Any], tuple[Any, ...]], Any]] = []


class SymNode:
    """An expression, the ``ShapeEnv`` that knows its symbols, and the Python type of its value."""

    def __init__(self, expr: Any, shape_env: ShapeEnv | None, pytype: type, hint: Any = None, constant: Any = None,
                 fx_node: Any = None, optimized_summation: bool = False) -> None:
        self._expr = sympy.sympify(expr)
        self.shape_env: Any = shape_env
        self.pytype = pytype
        self._hint, self.constant, self.fx_node = hint, constant, fx_node

    @property
    def expr(self) -> Any:
        """The expression, in which known equalities are used."""
        return self._expr if self.shape_env is None else self.shape_env.replace(self._expr)

    @property
    def hint(self) -> Any:
        """The value for the inputs that the symbols were made from; None if it depends on data."""
        if self._hint is None and self.shape_env is not None:
            self._hint = self.shape_env.value_of(self._expr, self.pytype)
        return self._hint

    def has_hint(self) -> bool:
        """Return True if the value is known for the inputs that the symbols were made from."""
        return self.hint is not None

    def require_hint(self, fallback: Any = None) -> Any:
        """Return the hint, or ``fallback`` if there is none; without that, raise the data-dependent error."""
        if self.hint is not None:
            return self.hint
        return fallback if fallback is not None else self.shape_env.size_hint(self.expr)

    def maybe_as_int(self) -> int | None:
        """Return the number if the expression is one."""
        expr = self.expr
        return int(expr) if expr.is_Integer else None

    def maybe_as_float(self) -> float | None:
        """Return the number if the expression is one."""
        expr = self.expr
        return float(expr) if expr.is_Float else None

    def maybe_as_bool(self) -> bool | None:
        """Return the truth value if the expression is one."""
        expr = self.expr
        return bool(expr) if expr in (sympy.true, sympy.false) else None

    def is_int(self) -> bool:
        """Return True for the node of a SymInt."""
        return self.pytype is int

    def is_float(self) -> bool:
        """Return True for the node of a SymFloat."""
        return self.pytype is float

    def is_bool(self) -> bool:
        """Return True for the node of a SymBool."""
        return self.pytype is bool

    def is_symbolic(self) -> bool:
        """Return True: the value is an expression."""
        return True

    def is_constant(self) -> bool:
        """Return True for a node whose value is Python's and not a symbolic number's."""
        return False

    def is_nested_int(self) -> bool:
        """Return False: nested tensors have nodes of their own."""
        return False

    def nested_int(self) -> None:
        """Return None: nested tensors have nodes of their own."""

    def wrap_int(self, num: int) -> SymNode:
        """Return a number's node in the same ``ShapeEnv``."""
        return SymNode(sympy.Integer(num), self.shape_env, int, num, num)

    def wrap_float(self, num: float) -> SymNode:
        """Return a number's node in the same ``ShapeEnv``."""
        return SymNode(sympy.Float(num), self.shape_env, float, num, num)

    def wrap_bool(self, num: bool) -> SymNode:
        """Return a truth value's node in the same ``ShapeEnv``."""
        return SymNode(sympy.true if num else sympy.false, self.shape_env, bool, num, num)

    def clone(self) -> SymNode:
        """Return the node itself, which does not change."""
        return self

    def with_shape_env(self, shape_env: Any) -> SymNode:
        """Return the same expression in another ``ShapeEnv``."""
        return SymNode(self._expr, shape_env, self.pytype, self._hint, self.constant)

    def __deepcopy__(self, memo: dict[int, Any]) -> SymNode:
        return self

    def str(self) -> builtins.str:
        """Return the expression as text."""
        return f"{self.expr}"

    __str__ = _graph_repr = str

    def __repr__(self) -> builtins.str:
        return f"SymNode({self.expr}, shape_env={self.shape_env!r}, pytype={self.pytype}, hint={self._hint})"

    # -- questions that leave a guard ------------------------------------------------------------------------------

    def evaluate(self, size_oblivious: bool = False) -> Any:
        """Return the value, and guard on it."""
        return self.pytype(self.shape_env.evaluate_expr(self.expr, self._hint, size_oblivious=size_oblivious))

    def guard_int(self, file: builtins.str = "", line: int = 0) -> int:
        """Return the value of an integer, and guard on it."""
        return int(self.evaluate())

    int_ = guard_int

    def guard_float(self, file: builtins.str = "", line: int = 0) -> float:
        """Return the value of a float, and guard on it."""
        return float(self.evaluate())

    def guard_bool(self, file: builtins.str = "", line: int = 0) -> bool:
        """Return the value of a condition, and guard on it."""
        return bool(self.evaluate())

    bool_ = guard_bool

    def guard_size_oblivious(self, file: builtins.str = "", line: int = 0) -> bool:
        """Return a condition's value, in which sizes that depend on data count as neither 0 nor 1."""
        return bool(self.evaluate(size_oblivious=True))

    def guard_or_false(self, file: builtins.str = "", line: int = 0) -> bool:
        """Return a condition's value, False if it depends on data."""
        return bool(self.shape_env.evaluate_expr(self.expr, self._hint, fallback_value=False))

    def guard_or_true(self, file: builtins.str = "", line: int = 0) -> bool:
        """Return a condition's value, True if it depends on data."""
        return bool(self.shape_env.evaluate_expr(self.expr, self._hint, fallback_value=True))

    def statically_known_true(self, file: builtins.str = "", line: int = 0) -> bool:
        """Return True if a condition holds for all sizes."""
        return self.shape_env._maybe_evaluate_static(self.expr) == sympy.true

    def expect_true(self, file: builtins.str = "", line: int = 0) -> bool:
        """Return a condition's value; one that depends on data is True, and is checked when the program runs."""
        if self.has_hint() and not self.shape_env.prefer_deferred_runtime_asserts_over_guards:
            return self.guard_bool(file, line)
        return self.shape_env.defer_runtime_assert(self.expr, f"{file}:{line}")

    def advise_is_size(self) -> None:
        """Note that an integer that depends on data is a size: where that matters, it is neither 0 nor 1."""
        if self.expr.is_Symbol and self.shape_env.is_unbacked_symint(self.expr):
            self.shape_env._constrain_range_for_size(self.expr)

    # -- operators -------------------------------------------------------------------------------------------------

    def round(self, ndigits: int | None = None) -> SymNode:
        """Return the rounded number: an integer, or with ``ndigits`` a float."""
        if ndigits is None:
            return self._made("round", functions.RoundToInt(self.expr), int, (wrap(self),))
        return self._made("round", functions.RoundDecimal(self.expr, ndigits), float, (wrap(self), ndigits))

    def sym_ite(self, then: SymNode, other: SymNode) -> SymNode:
        """Return one of two numbers by this condition."""
        args = wrap(self), wrap(then), wrap(other)
        return self._made("sym_ite", sympy.Piecewise((then.expr, self.expr), (other.expr, True)), then.pytype, args)

    def sym_sum(self, args: list[SymNode]) -> SymNode:
        """Return the sum of many numbers."""
        return SymNode(sympy.Add(*[arg.expr for arg in args]), self.shape_env, int)

    def _made(self, method: builtins.str, expr: Any, pytype: type, args: tuple[Any, ...]) -> SymNode:
        """Return the node of a result, or that of an active tracer's record of the call."""
        if tracers:
            return to_node(self, tracers[-1](METHOD_TO_OPERATOR[method], args))
        return SymNode(expr, self.shape_env, pytype)


def to_node(like: SymNode, value: Any) -> Any:
    """Return a number's node (``torch.fx.experimental.sym_node.to_node``)."""
    return _to_node(like, value)


def wrap_node(node: SymNode) -> Any:
    """Return a node as a symbolic number, or as the number that it is known to be."""
    return wrap(node)


def _remainder(shape_env: Any, a: Any, b: Any) -> Any:
    nonnegative = all(side.is_nonnegative or shape_env.bound_sympy(side).lower >= 0 for side in (a, b))
    return (Mod if nonnegative else PythonMod)(a, b)


def _to_float(a: Any) -> Any:
    return functions.ToFloat(a) if a.is_integer else a


def _whole(function: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda a: a if a.is_integer else function(a)


#: By name: Python's operator, the type of the result (None: a float if an operand is one), the result's expression.
BINARY: dict[str, tuple[Callable[..., Any], type | None, Callable[..., Any]]] = {
    "add": (operator.add, None, operator.add), "sub": (operator.sub, None, operator.sub),
    "mul": (operator.mul, None, operator.mul), "mod": (operator.mod, None, PythonMod),
    "int_truediv": (operator.truediv, float, functions.IntTrueDiv),
    "float_truediv": (operator.truediv, float, functions.FloatTrueDiv),
    "int_floordiv": (operator.floordiv, int, functions.FloorDiv),
    "pow_by_natural": (operator.pow, int, functions.PowByNatural),
    "float_pow": (operator.pow, float, functions.FloatPow),
    "lshift": (operator.lshift, int, functions.LShift), "rshift": (operator.rshift, int, functions.RShift),
    "and": (operator.and_, bool, sympy.And), "or": (operator.or_, bool, sympy.Or),
    "bitwise_and": (operator.and_, int, functions.BitwiseFn_bitwise_and),
    "bitwise_or": (operator.or_, int, functions.BitwiseFn_bitwise_or),
    "bitwise_xor": (operator.xor, int, functions.BitwiseFn_bitwise_xor),
    "sym_max": (sym_max, None, sympy.Max), "sym_min": (sym_min, None, sympy.Min),
    "eq": (operator.eq, bool, sympy.Eq), "ne": (operator.ne, bool, sympy.Ne), "lt": (operator.lt, bool, sympy.Lt),
    "le": (operator.le, bool, sympy.Le), "gt": (operator.gt, bool, sympy.Gt), "ge": (operator.ge, bool, sympy.Ge),
}
UNARY: dict[str, tuple[Callable[..., Any], type | None, Callable[..., Any]]] = {
    "abs": (abs, None, sympy.Abs), "neg": (operator.neg, None, operator.neg), "pos": (operator.pos, None, lambda a: a),
    "floor": (math.floor, int, _whole(functions.FloorToInt)), "ceil": (math.ceil, int, _whole(functions.CeilToInt)),
    "trunc": (math.trunc, int, _whole(functions.TruncToInt)),
    "sym_int": (lambda a: math.trunc(a), int, _whole(functions.TruncToInt)),
    "sym_float": (sym_float, float, _to_float), "sym_not": (sym_not, bool, sympy.Not),
    "is_integer": (lambda a: a.is_integer(), bool, lambda a: sympy.Eq(functions.ToFloat(functions.TruncToInt(a)), a)),
    **{f"sym_{name}": (lambda a, method=f"__sym_{name}__": getattr(as_float(a), method)(), float,
                       functions.opaque_unary(name)) for name in MATHS},
}
METHOD_TO_OPERATOR: dict[str, Callable[..., Any]] = {
    name: row[0] for name, row in {**BINARY, **UNARY}.items()} | {"round": round, "sym_ite": sym_ite}
magic_methods = {name: row[2] for name, row in {**BINARY, **UNARY}.items() if name not in ("pos", "is_integer")}
unary_methods = {*UNARY}
unary_magic_methods = unary_methods - {"is_integer"}
only_bool_magic_methods = {"and", "or", "sym_not", "sym_ite"}
bool_magic_methods = only_bool_magic_methods | {"eq"}
only_float_magic_methods = {"is_integer", "round", "sym_int", "sym_log2"}
bitwise_ops = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}
reflectable_magic_methods = {name for name in BINARY if name not in ("eq", "ne", "lt", "le", "gt", "ge")}


def method_to_operator(method: str) -> Callable[..., Any]:
    """Return Python's operator of a node's method (``torch.fx.experimental.sym_node.method_to_operator``)."""
    return METHOD_TO_OPERATOR[method]


def _put_operators() -> None:
    """Give nodes the operators of the tables."""

    def binary(name: str, kind: type | None, expression: Callable[..., Any]) -> Callable[..., SymNode]:
        def method(self: SymNode, other: SymNode) -> SymNode:
            pytype = kind or (float if float in (self.pytype, other.pytype) else self.pytype)
            args = wrap_or_constant(self), wrap_or_constant(other)
            if tracers:
                return to_node(self, tracers[-1](METHOD_TO_OPERATOR[name], args))
            left, right = self.expr, other.expr
            made = _remainder(self.shape_env, left, right) if name == "mod" else expression(left, right)
            return SymNode(made, self.shape_env, pytype)

        return method

    def unary(name: str, kind: type | None, expression: Callable[..., Any]) -> Callable[[SymNode], SymNode]:
        return lambda self: self._made(name, expression(self.expr), kind or self.pytype, (wrap_or_constant(self),))

    for name, (_, kind, expression) in BINARY.items():
        attribute = f"{name}_" if name in ("and", "or") else name
        setattr(SymNode, attribute, binary(name, kind, expression))
    for name, (_, kind, expression) in UNARY.items():
        setattr(SymNode, name, unary(name, kind, expression))


def wrap_or_constant(node: SymNode) -> Any:
    """Return a node as an argument of a recorded call."""
    return node.constant if node.constant is not None else OF_TYPE[node.pytype](node)


_put_operators()


def _binary_search_insert_arg(ordered_args: list[Any], new_arg: Any) -> list[Any] | None:
    """Insert a term into a sum's, in sympy's order; None if it is there already."""
    if new_arg in ordered_args:
        return None
    return sorted([*ordered_args, new_arg], key=lambda arg: arg.sort_key())

"""``torch.SymInt``, ``SymFloat`` and ``SymBool``: numbers that are expressions over the sizes of a program's inputs.

A symbolic number holds a node (``fx.experimental.sym_node.SymNode``) with the expression, and calls a method of it for
each operator. Sizes and strides may be SymInts. None of them can be hashed, so that they never enter the tables of
interned layouts; a question that needs a Python value (``bool``, ``int``, ``index``) leaves a guard.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


class GuardOnDataDependentSymNode(RuntimeError):
    """A question about a size that depends on data, which no guard can answer
    (``torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode``).
    """

    def __init__(self, cond: Any, *args: Any) -> None:
        super().__init__(*args)
        self.cond = cond


class _Number:
    """A number that a node computes."""

    __slots__ = ("__weakref__", "node")

    def __init__(self, node: Any) -> None:
        self.node = node

    def __repr__(self) -> str:
        return self.node._graph_repr()

    def _sympy_(self) -> Any:
        return self.node.expr


class SymInt(_Number):
    """An integer expression that is computed with like an int (``torch.SymInt``)."""

    __slots__ = ()
    __module__ = "mindtorch"  # where pickles find it

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __int__(self) -> int:
        return self.node.int_()

    __index__ = __int__

    def __float__(self) -> float:
        return float(self.node.int_())

    def __round__(self, ndigits: int | None = None) -> SymInt:
        return self

    def __floor__(self) -> SymInt:
        return self

    __ceil__ = __trunc__ = __pos__ = __sym_int__ = __floor__

    def __hash__(self) -> int:
        if self.node.is_nested_int():
            return hash(self.node.nested_int())
        raise TypeError("unhashable type: non-nested SymInt")

    def as_integer_ratio(self) -> tuple[SymInt, int]:
        """Return the number as a fraction (``torch.SymInt.as_integer_ratio``)."""
        return self, 1

    def bit_length(self) -> int:
        """Return the number of bits of the value, which leaves a guard (``torch.SymInt.bit_length``)."""
        return self.node.int_().bit_length()

    def conjugate(self) -> SymInt:
        """Return the number itself (``torch.SymInt.conjugate``)."""
        return self


class SymFloat(_Number):
    """A floating point expression that is computed with like a float (``torch.SymFloat``)."""

    __slots__ = ()
    __module__ = "mindtorch"  # where pickles find it

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __float__(self) -> float:
        return self.node.guard_float("", 0)

    def __int__(self) -> int:
        return int(self.__trunc__())  # type: ignore[attr-defined]  # put here below

    def __sym_float__(self) -> SymFloat:
        return self

    __pos__ = conjugate = __sym_float__

    def __hash__(self) -> int:
        return hash(float(self))

    def as_integer_ratio(self) -> tuple[int, int]:
        """Return the value as a fraction, which leaves a guard (``torch.SymFloat.as_integer_ratio``)."""
        return float(self).as_integer_ratio()

    def is_integer(self) -> Any:
        """Return whether the value is a whole number (``torch.SymFloat.is_integer``)."""
        return wrap(self.node.is_integer())

    def hex(self) -> str:
        """Return the value in hexadecimal, which leaves a guard (``torch.SymFloat.hex``)."""
        return float(self).hex()


class SymBool(_Number):
    """A condition on sizes. Its truth leaves a guard (``torch.SymBool``)."""

    __slots__ = ()
    __module__ = "mindtorch"  # where pickles find it

    def __bool__(self) -> bool:
        return self.node.bool_()

    def __int__(self) -> int:
        return int(self.node.bool_())

    def __sym_not__(self) -> Any:
        """Return the opposite condition (``torch.sym_not``)."""
        return wrap(self.node.sym_not())

    def __sym_ite__(self, then: Any, other: Any) -> Any:
        """Return one of two numbers of a type, by this condition (``torch.sym_ite``)."""
        nodes = [to_node(self.node, value) for value in (then, other)]
        if nodes[0].pytype is not nodes[1].pytype:
            raise AssertionError(f"sym_ite: {then!r} and {other!r} must be of one type")
        return wrap(self.node.sym_ite(*nodes))

    def __hash__(self) -> int:
        return hash(bool(self))


SYMBOLIC: frozenset[Any] = frozenset({SymInt, SymFloat, SymBool})
#: Types of which sizes, strides and offsets can be.
SIZES: frozenset[Any] = frozenset({int, SymInt})
INTS: Any = int, SymInt
FLOATS: Any = float, SymFloat
NUMBERS: Any = int, float, SymInt, SymFloat, SymBool
OF_TYPE: dict[Any, Any] = {int: SymInt, float: SymFloat, bool: SymBool}


def wrap(node: Any) -> Any:
    """Return a node as a symbolic number, or as the number that it is known to be."""
    if node.is_constant():
        return node.constant
    return OF_TYPE[node.pytype](node)


def to_node(like: Any, value: Any) -> Any:
    """Return a number's node; one of a Python number is made by the node ``like``."""
    if value.__class__ in SYMBOLIC:
        return value.node
    if isinstance(value, bool):
        return like.wrap_bool(value)
    return like.wrap_int(value) if isinstance(value, int) else like.wrap_float(value)


def as_float(value: Any) -> Any:
    """Return a number as a float, symbolic if it is (``torch.sym_float``)."""
    return value.__sym_float__() if hasattr(value, "__sym_float__") else float(value)


def _call(method: str, left: Any, right: Any) -> Any:
    """Call a method of two nodes: a float on either side makes both floats."""
    if isinstance(left, FLOATS) or isinstance(right, FLOATS):
        left, right = as_float(left), as_float(right)
    node = left.node if left.__class__ in SYMBOLIC else right.node
    return wrap(getattr(to_node(node, left), method)(to_node(node, right)))


def _arithmetic(left: Any, right: Any, name: str) -> Any:
    """Compute with numbers; conditions count as 0 and 1."""
    node = left.node if left.__class__ in SYMBOLIC else right.node
    ones = [SymInt(node.wrap_int(int(value))) if value.__class__ is SymBool else int(value)
            if value.__class__ is bool else value for value in (left, right)]
    return _call(name, *ones)


def _bits(left: Any, right: Any, name: str) -> Any:
    """Combine conditions, or the bits of integers. A condition beside an integer counts as 0 or 1."""
    kinds = [isinstance(value, (bool, SymBool)) for value in (left, right)]
    if all(kinds) and name != "bitwise_xor":
        return _call({"bitwise_and": "and_", "bitwise_or": "or_"}[name], left, right)
    if any(isinstance(value, FLOATS) for value in (left, right)):
        return NotImplemented
    return _arithmetic(left, right, name)


def _shift(left: Any, right: Any, name: str) -> Any:
    if not (isinstance(left, INTS) and isinstance(right, INTS)):
        return NotImplemented
    if right < 0:
        raise ValueError("negative shift count")
    return _call(name, left, right)


def _divide(left: Any, right: Any, name: str) -> Any:
    of_ints = isinstance(left, INTS) and isinstance(right, INTS)
    return _call("int_truediv" if of_ints else "float_truediv", left, right)


def _divide_floor(left: Any, right: Any, name: str) -> Any:
    if isinstance(left, INTS) and isinstance(right, INTS):
        return _call("int_floordiv", left, right)
    return as_float(math.floor(as_float(left) / as_float(right)))


def _power(left: Any, right: Any, name: str) -> Any:
    """Raise to a power. An integer's exponent is guarded on its sign, which decides the type of the result."""
    if isinstance(left, INTS) and isinstance(right, INTS) and right >= 0:
        return _call("pow_by_natural", left, right)
    return _call("float_pow", as_float(left), as_float(right))


#: Python's binary operators: the node's method, and the function that chooses it by the operands' types.
BINARY: dict[str, tuple[str, Callable[[Any, Any, str], Any]]] = {
    "add": ("add", _arithmetic), "sub": ("sub", _arithmetic), "mul": ("mul", _arithmetic), "mod": ("mod", _arithmetic),
    "truediv": ("", _divide), "floordiv": ("", _divide_floor), "pow": ("", _power),
    "and": ("bitwise_and", _bits), "or": ("bitwise_or", _bits), "xor": ("bitwise_xor", _bits),
    "lshift": ("lshift", _shift), "rshift": ("rshift", _shift),
    **{name: (name, lambda left, right, method: _call(method, left, right))
       for name in ("eq", "ne", "lt", "le", "gt", "ge", "sym_max", "sym_min")},
}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
#: The operators of each type; conditions have few.
OPERATORS = {
    SymInt: (*BINARY,),
    SymFloat: tuple(name for name in BINARY if name not in ("and", "or", "xor", "lshift", "rshift")),
    SymBool: ("add", "sub", "mul", "and", "or", "eq", "ne"),
}
UNARY = {SymInt: ("abs", "neg", "sym_float"), SymFloat: ("abs", "neg", "trunc", "floor", "ceil")}
MATHS = ("sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "log2")


def _put_operators() -> None:
    """Give the types their operators, and those of swapped operands."""

    def binary(name: str, choose: Callable[[Any, Any, str], Any]) -> tuple[Any, Any]:
        def operator(self: Any, other: Any) -> Any:
            return choose(self, other, name) if isinstance(other, NUMBERS) else NotImplemented

        def swapped(self: Any, other: Any) -> Any:
            return choose(other, self, name) if isinstance(other, NUMBERS) else NotImplemented

        return operator, swapped

    def unary(name: str) -> Any:
        return lambda self: wrap(getattr(self.node, name)())

    for kind, names in OPERATORS.items():
        for name in names:
            operator, swapped = binary(*BINARY[name])
            setattr(kind, f"__{name}__", operator)
            if name not in COMPARISONS and not name.startswith("sym_"):
                setattr(kind, f"__r{name}__", swapped)
    for kind, names in UNARY.items():
        for name in names:
            setattr(kind, f"__{name}__", unary(name))
    for name in MATHS:
        setattr(SymInt, f"__sym_{name}__", lambda self, name=name: getattr(as_float(self), f"__sym_{name}__")())
        setattr(SymFloat, f"__sym_{name}__", unary(f"sym_{name}"))
    SymFloat.__round__ = lambda self, ndigits=None: wrap(self.node.round(ndigits))  # type: ignore[attr-defined]


_put_operators()


def promised(condition: Any) -> bool:
    """Return a condition's value; one that depends on data is True, and is checked when the program runs."""
    return condition.node.expect_true("", 0) if condition.__class__ is SymBool else condition


def is_symbolic(values: Any) -> bool:
    """Return True if some of the values are SymInts."""
    for value in values:  # noqa: SIM110 (a generator takes thrice as long)
        if value.__class__ is SymInt:
            return True
    return False


def has_unknown(values: Any) -> bool:
    """Return True if some of the values are SymInts that depend on data."""
    return is_symbolic(values) and any(value.__class__ is SymInt and value.node.hint is None for value in values)

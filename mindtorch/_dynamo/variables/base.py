"""Variables: what the interpreter knows about the values of the interpreted program
(``torch._dynamo.variables.base``).
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, Protocol

from ..._base.symbolic import GuardOnDataDependentSymNode, SymBool, SymFloat, SymInt
from ..._guards import Source
from ..exc import Break, Raised


class Translator(Protocol):
    """The interpreter as variables use it (``symbolic_convert.Translator``)."""

    output: Any  #: the graph that is made, its guards and side effects

    def made(self, value: Any) -> Variable:
        """Return the variable of a value that the interpreted program made."""

    def wrap(self, value: Any, source: Source) -> Variable:
        """Return the variable of a value that is read from a source."""

    def binary(self, function: Callable[..., Any], left: Variable, right: Variable) -> Variable:
        """Return the result of an operator."""

    def bound(self, function: Any, owner: Variable) -> Variable:
        """Return a method of an object."""

    def sorted(self, items: list[Variable], kwargs: dict[str, Variable]) -> list[Variable]:
        """Return ``sorted(items, **kwargs)``."""

    def super_arguments(self) -> tuple[Variable, Variable]:
        """Return the class and the object of ``super()`` without arguments."""

    def inline(self, function: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        """Interpret a call of a function."""


class Codegen(Protocol):
    """The writer of generated code as variables use it (``codegen.Codegen``)."""

    def value(self, variable: Variable) -> str:
        """Return an expression for a value."""

    def object(self, value: Any) -> str:
        """Return a name for an object."""

    def begin(self, variable: Variable, expression: str) -> str:
        """Assign an object with an identity to a name, before its contents."""

    def line(self, text: str) -> None:
        """Write a line."""

    def output(self, variable: Variable) -> str:
        """Return an expression for a tensor that the graph computes."""


class Variable:
    """A value of the interpreted program. ``source`` is the place from which the running call reads it, if it existed
    before the call.
    """

    source: Source | None = None
    is_constant = False
    #: Whether the object has an identity that a program can observe: it is made only once.
    has_identity = True

    def python_type(self) -> type:
        """Return the type of the value."""
        raise Break(f"the type of {self} is not known")

    @property
    def value(self) -> Any:
        """The value itself, where it is known and constant."""
        raise Break(f"{self} is not a constant")

    def argument(self) -> Any:
        """Return the value as an argument of a node."""
        raise Break(f"{self} cannot be an argument of a node in the graph")

    def attribute(self, tx: Translator, name: str) -> Variable:
        """Return an attribute."""
        raise Break(f"reading attribute {name!r} of {self}")

    def set_attribute(self, tx: Translator, name: str, value: Variable) -> None:
        """Set an attribute."""
        raise Break(f"setting attribute {name!r} of {self}")

    def delete_attribute(self, tx: Translator, name: str) -> None:
        """Delete an attribute."""
        raise Break(f"deleting attribute {name!r} of {self}")

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        """Call the value."""
        raise Break(f"calling {self}")

    def method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        """Call a method."""
        return self.attribute(tx, name).call(tx, args, kwargs)

    def truth(self, tx: Translator) -> bool:
        """Return whether the value is true."""
        return True

    def items(self, tx: Translator) -> list[Variable]:
        """Return all that iterating gives."""
        return [*iterate(tx, self)]

    def iterator(self, tx: Translator) -> Variable:
        """Return an iterator over the value."""
        throw(tx, TypeError, f"{self.python_type().__name__!r} object is not iterable")

    def next(self, tx: Translator) -> Variable:
        """Return an iterator's next value."""
        throw(tx, TypeError, f"{self.python_type().__name__!r} object is not an iterator")

    def reconstruct(self, cg: Codegen) -> str:
        """Return an expression that makes the value anew, in generated code."""
        raise Break(f"{self} is needed outside of the graph, and cannot be made there")

    def key(self) -> Any:
        """Return the stand-in for the value as a key of a dictionary."""
        return Identity(self)

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.source.name if self.source else ''})"


class Identity:
    """The key of a variable, or of an object behind it, which is equal to nothing else."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)


class Known(Variable):
    """An object of Python's that is known, and that the compiler takes as it is."""

    is_constant = True
    has_identity = False

    def python_type(self) -> type:
        return type(self.value)

    def key(self) -> Any:
        return self.value

    def reconstruct(self, cg: Codegen) -> str:
        return cg.object(self.value)


class ConstantVariable(Known):
    """A value that is known, and that guards compare: numbers, strings, dtypes, devices, types of slices, ..."""

    def __init__(self, value: Any, source: Source | None = None) -> None:
        self._value, self.source = value, source

    @property
    def value(self) -> Any:
        return self._value

    def argument(self) -> Any:
        return self._value

    def attribute(self, tx: Translator, name: str) -> Variable:
        return tx.made(fold(tx, getattr, self._value, name))

    def method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if name == "join" and args:
            parts = args[0].items(tx)
            return ConstantVariable(fold(tx, self._value.join, [part.value for part in parts]))
        function = fold(tx, getattr, self._value, name)
        if all(arg.is_constant for arg in (*args, *kwargs.values())):
            return tx.made(fold(tx, function, *[arg.value for arg in args],
                                **{key: arg.value for key, arg in kwargs.items()}))
        if name == "format" and isinstance(self._value, str):
            return ConstantVariable(fold(tx, self._value.format, *[text_of(tx, arg) for arg in args],
                                         **{key: text_of(tx, arg) for key, arg in kwargs.items()}))
        raise Break(f"the method {name!r} of {self} with arguments that are no constants")

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        throw(tx, TypeError, f"{type(self._value).__name__!r} object is not callable")

    def truth(self, tx: Translator) -> bool:
        return bool(self._value)

    def iterator(self, tx: Translator) -> Variable:
        return IteratorVariable([tx.made(item) for item in fold(tx, list, self._value)])

    def key(self) -> Any:
        if type(self._value).__hash__ is None:  # a slice, before Python 3.12
            raise Break(f"{self} has no hash")
        return self._value

    def __str__(self) -> str:
        return repr(self._value)


class IteratorVariable(Variable):
    """An iterator over a list of variables, which may grow."""

    def __init__(self, items: list[Variable], source: Source | None = None) -> None:
        self.list, self.position, self.source = items, 0, source

    def python_type(self) -> type:
        return type(iter([]))

    def iterator(self, tx: Translator) -> Variable:
        return self

    def next(self, tx: Translator) -> Variable:
        if self.position >= len(self.list):
            throw(tx, StopIteration)
        self.position += 1
        return self.list[self.position - 1]

    def attribute(self, tx: Translator, name: str) -> Variable:
        return bound_builtin(tx, self, name)

    def method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if name == "__next__":
            return self.next(tx)
        if name == "__iter__":
            return self
        raise Break(f"the method {name!r} of an iterator")

    def reconstruct(self, cg: Codegen) -> str:
        return f"{cg.object(iter)}([{', '.join(map(cg.value, self.list[self.position:]))}])"

    def __str__(self) -> str:
        return "an iterator"


class BoundBuiltin(Variable):
    """A method of a container or a tensor that is not called yet."""

    def __init__(self, owner: Variable, name: str) -> None:
        self.owner, self.name = owner, name

    def python_type(self) -> type:
        return type([].append)

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        return self.owner.method(tx, self.name, args, kwargs)

    def attribute(self, tx: Translator, name: str) -> Variable:
        if name == "__self__":
            return self.owner
        if name == "__name__":
            return ConstantVariable(self.name)
        return super().attribute(tx, name)

    def reconstruct(self, cg: Codegen) -> str:
        return f"{cg.value(self.owner)}.{self.name}"

    def __str__(self) -> str:
        return f"the method {self.name!r} of {self.owner}"


class ExceptionVariable(Variable):
    """An exception: its class, arguments and attributes."""

    def __init__(self, kind: type[BaseException], args: list[Variable]) -> None:
        self.kind, self.args = kind, args
        self.attributes: dict[str, Variable] = {}

    def python_type(self) -> type:
        return self.kind

    def attribute(self, tx: Translator, name: str) -> Variable:
        if name in self.attributes:
            return self.attributes[name]
        if name == "args":
            return tx.made((*self.args,))
        if name == "value" and issubclass(self.kind, StopIteration):
            return self.args[0] if self.args else ConstantVariable(None)
        if name in ("__cause__", "__context__", "__traceback__"):
            return ConstantVariable(None)
        if name == "__class__":
            return tx.made(self.kind)
        if name == "with_traceback":
            return BoundBuiltin(self, name)
        found = getattr(self.kind, name, None)
        if hasattr(found, "__code__"):
            return tx.bound(found, self)
        no_attribute(tx, self, name)

    def set_attribute(self, tx: Translator, name: str, value: Variable) -> None:
        self.attributes[name] = value

    def method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        return self if name == "with_traceback" else super().method(tx, name, args, kwargs)

    def reconstruct(self, cg: Codegen) -> str:
        arguments = "".join(f"{cg.value(arg)}, " for arg in self.args)
        named = ", ".join(f"{name!r}: {cg.value(value)}" for name, value in self.attributes.items())
        return f"{cg.object(_exception)}({cg.object(self.kind)}, ({arguments}), {{{named}}})"

    def __str__(self) -> str:
        return f"{self.kind.__name__}({', '.join(map(str, self.args))})"


def _exception(kind: Any, args: Any, attributes: dict[str, Any]) -> Any:
    made = kind.__new__(kind, *args)
    vars(made).update(attributes)
    return made


class NullVariable(Variable):
    """The place on the stack below a callable that has no ``self``."""

    def reconstruct(self, cg: Codegen) -> str:
        return "None"


def iterate(tx: Translator, value: Variable) -> Iterator[Variable]:
    """Yield the items of a value that is iterated over."""
    iterator = value.iterator(tx)
    while True:
        try:
            item = iterator.next(tx)
        except Raised as raised:
            if is_exception(raised.value, StopIteration):
                return
            raise
        yield item


def is_exception(value: Variable, kind: type[BaseException] | tuple[type[BaseException], ...]) -> bool:
    """Return whether a raised value is an exception of a class."""
    return issubclass(value.python_type(), kind)


def text_of(tx: Translator, value: Variable) -> Any:
    """Return a value for formatting, if its text is known."""
    if value.is_constant:
        return specialised(value.value)
    raise Break(f"the text of {value} is not known")


def throw(tx: Translator, kind: type[BaseException], *args: Any) -> NoReturn:
    """Raise an exception in the interpreted program."""
    raise Raised(ExceptionVariable(kind, [ConstantVariable(arg) for arg in args]))


def bound_builtin(tx: Translator, owner: Variable, name: str) -> Variable:
    """Return a method in C of an object; raise AttributeError in the interpreted program if there is none."""
    if not gives(owner.python_type(), name):
        no_attribute(tx, owner, name)
    return BoundBuiltin(owner, name)


def gives(kind: type, name: str) -> bool:
    """Return True if objects of a class have an attribute through it, which its metaclass's are not."""
    return any(name in vars(base) for base in kind.__mro__)


def no_attribute(tx: Translator, owner: Variable, name: str) -> NoReturn:
    """Raise AttributeError in the interpreted program, if the class has no such attribute; else break."""
    kind = owner.python_type()
    if gives(kind, name):
        raise Break(f"reading attribute {name!r} of {owner}")
    throw(tx, AttributeError, f"{kind.__name__!r} object has no attribute {name!r}")


def fold(tx: Translator, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function on constants; its exception becomes one of the interpreted program."""
    if any(map(is_symbolic, (*args, *kwargs.values()))) and (function not in OF_SYMBOLS or isinstance(args[0], str)):
        args, kwargs = specialised(args), {name: specialised(arg) for name, arg in kwargs.items()}
    try:
        return function(*args, **kwargs)
    except GuardOnDataDependentSymNode as error:
        raise Break(f"Data-dependent branching: {error}") from error
    except Exception as error:
        throw(tx, type(error), *error.args)


#: The types of symbolic numbers, and the types that they stand for.
SYMBOLIC: dict[type, type] = {SymInt: int, SymFloat: float, SymBool: bool}
#: Functions of symbolic numbers whose results are symbolic; other functions get the numbers, which are then guarded.
OF_SYMBOLS = frozenset({getattr(operator, name) for name in (
    "add", "sub", "mul", "floordiv", "truediv", "mod", "neg", "pos", "pow", "eq", "ne", "lt", "le", "gt", "ge", "iadd",
    "isub", "imul", "ifloordiv", "not_", "getitem", "contains", "concat", "truth")}
    | {max, min, abs, sum, len, tuple, list, bool, reversed})


def is_symbolic(value: Any) -> bool:
    """Return whether there are symbolic numbers in a value."""
    if isinstance(value, (tuple, list)):
        return any(map(is_symbolic, value))
    return value.__class__ in SYMBOLIC


def specialised(value: Any) -> Any:
    """Replace symbolic numbers in a value by their values, with a guard for each."""
    if isinstance(value, (tuple, list)) and is_symbolic(value):
        items = [specialised(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if value.__class__ not in SYMBOLIC:
        return value
    try:
        return SYMBOLIC[value.__class__](value)
    except GuardOnDataDependentSymNode as error:
        raise Break(f"Data-dependent branching: {error}") from error

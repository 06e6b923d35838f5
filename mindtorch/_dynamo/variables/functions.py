"""Functions of the interpreted program: inlined when they are called (``torch._dynamo.variables.functions``)."""
from __future__ import annotations

import functools
import inspect
import types
from typing import Any

from ..._guards import Source
from .. import polyfills
from ..exc import Break, Raised
from .base import (
    BoundBuiltin, Codegen, ConstantVariable, ExceptionVariable, IteratorVariable, Translator, Variable, bound_builtin,
    is_exception, iterate, no_attribute, throw,
)
from .containers import DictVariable, TupleVariable

#: Iterators in ``polyfills`` that may never end.
ENDLESS = ("cycle_", "repeat_", "call_until")


class CellVariable(Variable):
    """A variable that a function shares with functions inside it. ``content`` is unknown until it is read."""

    def __init__(self, content: Variable | None = None, real: Any = None, source: Source | None = None) -> None:
        self.content, self.real, self.source = content, real, source

    def read(self, tx: Translator, name: str) -> Variable:
        """Return the content."""
        if self.content is None and self.real is not None and self.source is not None:
            try:
                value = self.real.cell_contents
            except ValueError:
                throw(tx, NameError, f"cannot access free variable {name!r} where it is not associated with a value in "
                                     "enclosing scope")
            self.content = tx.wrap(value, Source(".cell_contents", self.source, shown=f"L[{name!r}]"))
        if self.content is None:
            throw(tx, NameError, f"free variable {name!r} referenced before assignment in enclosing scope")
        return self.content

    def write(self, tx: Translator, value: Variable | None) -> None:
        """Set the content."""
        self.content = value
        tx.output.side_effects.note(self)

    def reconstruct(self, cg: Codegen) -> str:
        made = cg.begin(self, f"{cg.object(types.CellType)}()")
        if self.content is not None:
            cg.line(f"{made}.cell_contents = {cg.value(self.content)}")
        return made

    def replay(self, cg: Codegen, target: str) -> list[str]:
        """Return the line that writes the content."""
        if self.content is None:
            return [f"del {target}.cell_contents"]
        return [f"{target}.cell_contents = {cg.value(self.content)}"]


class FunctionVariable(Variable):
    """A function in Python: its code, globals, defaults and cells."""

    code: types.CodeType
    globals: dict[str, Any]

    def python_type(self) -> type:
        return types.FunctionType

    def default(self, tx: Translator, number: int) -> Variable:
        """Return the default of a positional parameter, counted from the last."""
        raise NotImplementedError

    @property
    def default_count(self) -> int:
        """How many positional parameters have a default."""
        raise NotImplementedError

    def keyword_default(self, tx: Translator, name: str) -> Variable | None:
        """Return the default of a keyword-only parameter."""
        raise NotImplementedError

    def cells(self, tx: Translator) -> list[CellVariable]:
        """Return the cells of the closure."""
        raise NotImplementedError

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        return tx.inline(self, args, kwargs)

    def method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if name == "__call__":
            return self.call(tx, args, kwargs)
        if name == "__get__":
            return MethodVariable(self, args[0])
        return super().method(tx, name, args, kwargs)

    def bind(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> dict[str, Variable]:
        """Return the parameters' values for a call."""
        code, given = self.code, dict(kwargs)
        count = code.co_argcount
        names = code.co_varnames
        bound: dict[str, Variable] = dict(zip(names[:count], args, strict=False))
        if len(args) > count and not code.co_flags & inspect.CO_VARARGS:
            throw(tx, TypeError, f"{code.co_name}() takes {count} positional arguments but {len(args)} were given")
        for number, name in enumerate(names[:count]):
            if name in given and number >= code.co_posonlyargcount:
                if name in bound:
                    throw(tx, TypeError, f"{code.co_name}() got multiple values for argument {name!r}")
                bound[name] = given.pop(name)
            elif name not in bound:
                if count - number > self.default_count:
                    throw(tx, TypeError, f"{code.co_name}() missing 1 required positional argument: {name!r}")
                bound[name] = self.default(tx, number - count)
        end = count + code.co_kwonlyargcount
        for name in names[count:end]:
            value = given.pop(name, None) or self.keyword_default(tx, name)
            if value is None:
                throw(tx, TypeError, f"{code.co_name}() missing 1 required keyword-only argument: {name!r}")
            bound[name] = value
        if code.co_flags & inspect.CO_VARARGS:
            bound[names[end]] = TupleVariable([*args[count:]])
            end += 1
        if code.co_flags & inspect.CO_VARKEYWORDS:
            bound[names[end]] = DictVariable([(ConstantVariable(key), value) for key, value in given.items()])
        elif given:
            throw(tx, TypeError, f"{code.co_name}() got an unexpected keyword argument {next(iter(given))!r}")
        return bound


class UserFunction(FunctionVariable):
    """A function that exists."""

    def __init__(self, real: Any, source: Source | None = None) -> None:
        self.real, self.source = real, source
        self.code, self.globals = real.__code__, real.__globals__
        self._cells: list[CellVariable] | None = None

    @property
    def value(self) -> Any:
        return self.real

    def key(self) -> Any:
        return self.real

    @property
    def default_count(self) -> int:
        return len(self.real.__defaults__ or ())

    def _read(self, tx: Translator, value: Any, source: Source | None) -> Variable:
        return tx.made(value) if source is None else tx.wrap(value, source)

    def default(self, tx: Translator, number: int) -> Variable:
        source = self.source and self.source.attribute("__defaults__").item(str(number))
        return self._read(tx, self.real.__defaults__[number], source)

    def keyword_default(self, tx: Translator, name: str) -> Variable | None:
        defaults = self.real.__kwdefaults__ or {}
        if name not in defaults:
            return None
        source = self.source and self.source.attribute("__kwdefaults__").item(repr(name))
        return self._read(tx, defaults[name], source)

    def cells(self, tx: Translator) -> list[CellVariable]:
        if self._cells is None:
            self._cells = []
            for number, real in enumerate(self.real.__closure__ or ()):
                source = (self.source.attribute("__closure__").item(str(number)) if self.source is not None
                          else Source(tx.output.object(real)))
                self._cells.append(tx.output.cell(real, source))
        return self._cells

    def attribute(self, tx: Translator, name: str) -> Variable:
        if (found := tx.output.side_effects.read(self, name)) is not None:
            return found
        if not hasattr(self.real, name):
            if self.source is not None:
                tx.output.guards.absent(self.source, self.real, name)
            no_attribute(tx, self, name)
        if name == "__get__":
            return BoundBuiltin(self, name)
        return self._read(tx, getattr(self.real, name), self.source and self.source.attribute(name))

    def set_attribute(self, tx: Translator, name: str, value: Variable) -> None:
        tx.output.side_effects.write(self, name, value)

    def reconstruct(self, cg: Codegen) -> str:
        return cg.object(self.real)

    def __str__(self) -> str:
        return f"the function {self.real.__qualname__}"


class NestedFunction(FunctionVariable):
    """A function that the interpreted program defines."""

    def __init__(self, code: types.CodeType, space: dict[str, Any], defaults: list[Variable],
                 keyword_defaults: dict[str, Variable], cells: list[CellVariable],
                 annotations: Variable | None) -> None:
        self.code, self.globals, self.defaults = code, space, defaults
        self.keyword_defaults, self._cells, self.annotations = keyword_defaults, cells, annotations
        self.attributes: dict[str, Variable] = {}

    @property
    def default_count(self) -> int:
        return len(self.defaults)

    def default(self, tx: Translator, number: int) -> Variable:
        return self.defaults[number]

    def keyword_default(self, tx: Translator, name: str) -> Variable | None:
        return self.keyword_defaults.get(name)

    def cells(self, tx: Translator) -> list[CellVariable]:
        return self._cells

    def attribute(self, tx: Translator, name: str) -> Variable:
        if name in self.attributes:
            return self.attributes[name]
        known = {"__name__": self.code.co_name, "__qualname__": self.code.co_qualname, "__doc__": None,
                 "__module__": self.globals.get("__name__"), "__code__": self.code}
        if name in known:
            return ConstantVariable(known[name])
        if name in ("__dict__", "__annotations__"):
            return DictVariable([])
        if name == "__defaults__":
            return TupleVariable([*self.defaults]) if self.defaults else ConstantVariable(None)
        if name in ("__get__", "__call__"):
            return BoundBuiltin(self, name)
        no_attribute(tx, self, name)

    def set_attribute(self, tx: Translator, name: str, value: Variable) -> None:
        self.attributes[name] = value

    def reconstruct(self, cg: Codegen) -> str:
        cells = "".join(f"{cg.value(cell)}, " for cell in self._cells)
        defaults = "".join(f"{cg.value(value)}, " for value in self.defaults)
        made = cg.begin(self, f"{cg.object(types.FunctionType)}({cg.object(self.code)}, {cg.object(self.globals)}, "
                        f"{self.code.co_name!r}, ({defaults}), ({cells}))")
        if self.keyword_defaults:
            inner = ", ".join(f"{name!r}: {cg.value(value)}" for name, value in self.keyword_defaults.items())
            cg.line(f"{made}.__kwdefaults__ = {{{inner}}}")
        for name, value in self.attributes.items():
            cg.line(f"{made}.{name} = {cg.value(value)}")
        return made

    def __str__(self) -> str:
        return f"the function {self.code.co_qualname}"


class MethodVariable(Variable):
    """A function bound to its first argument."""

    def __init__(self, function: Variable, owner: Variable, source: Source | None = None) -> None:
        self.function, self.owner, self.source = function, owner, source

    def python_type(self) -> type:
        return types.MethodType

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        return self.function.call(tx, [self.owner, *args], kwargs)

    def attribute(self, tx: Translator, name: str) -> Variable:
        if name == "__self__":
            return self.owner
        if name == "__func__":
            return self.function
        return self.function.attribute(tx, name)

    def method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if name == "__call__":
            return self.call(tx, args, kwargs)
        return super().method(tx, name, args, kwargs)

    def key(self) -> Any:
        return ("method", self.function.key(), self.owner.key())

    def reconstruct(self, cg: Codegen) -> str:
        return f"{cg.object(types.MethodType)}({cg.value(self.function)}, {cg.value(self.owner)})"

    def __str__(self) -> str:
        return f"the method {self.function}"


class PartialVariable(Variable):
    """``functools.partial``."""

    def __init__(self, function: Variable, args: list[Variable], kwargs: dict[str, Variable],
                 source: Source | None = None) -> None:
        self.function, self.args, self.kwargs, self.source = function, args, kwargs, source

    def python_type(self) -> type:
        return functools.partial

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        return self.function.call(tx, [*self.args, *args], {**self.kwargs, **kwargs})

    def attribute(self, tx: Translator, name: str) -> Variable:
        if name == "func":
            return self.function
        if name == "args":
            return TupleVariable([*self.args])
        if name == "keywords":
            return DictVariable([(ConstantVariable(key), value) for key, value in self.kwargs.items()])
        if name == "__call__":
            return self
        if name == "__class__":
            return tx.made(functools.partial)
        return bound_builtin(tx, self, name)

    def reconstruct(self, cg: Codegen) -> str:
        args = "".join(f", {cg.value(arg)}" for arg in self.args)
        kwargs = "".join(f", {name}={cg.value(arg)}" for name, arg in self.kwargs.items())
        return f"{cg.object(functools.partial)}({cg.value(self.function)}{args}{kwargs})"

    def __str__(self) -> str:
        return f"a partial of {self.function}"


class GeneratorVariable(Variable):
    """A generator: a frame of the interpreter that waits at a ``yield``."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.running = self.finished = False

    def python_type(self) -> type:
        return types.GeneratorType

    def iterator(self, tx: Translator) -> Variable:
        return self

    def next(self, tx: Translator) -> Variable:
        return self.send(tx, ConstantVariable(None))

    def send(self, tx: Translator, value: Variable, error: Variable | None = None) -> Variable:
        """Run until the next ``yield``; with an exception, raise it there first."""
        if self.running:
            throw(tx, ValueError, "generator already executing")
        if self.finished or (error is not None and not self.frame.started):
            self.finished = True
            if error is not None:
                raise Raised(error)
            throw(tx, StopIteration)
        self.running = True
        try:
            result = self.frame.resume(tx, value, error)
        except Raised as raised:
            self.finished = True
            if is_exception(raised.value, StopIteration):
                throw(tx, RuntimeError, "generator raised StopIteration")
            raise
        finally:
            self.running = False
        if self.frame.returned is not None:
            self.finished = True
            raise Raised(ExceptionVariable(StopIteration, [self.frame.returned]
                                           if not is_none(self.frame.returned) else []))
        return result

    def attribute(self, tx: Translator, name: str) -> Variable:
        return bound_builtin(tx, self, name)

    def method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if name == "__next__":
            return self.next(tx)
        if name == "__iter__":
            return self
        if name == "send":
            return self.send(tx, args[0])
        if name == "throw":
            error = args[1] if len(args) > 1 and not is_none(args[1]) else args[0]
            if not isinstance(error, ExceptionVariable):
                error = error.call(tx, [], {})
            return self.send(tx, ConstantVariable(None), error)
        if name == "close":
            if not self.finished and self.frame.started:
                try:
                    self.send(tx, ConstantVariable(None), ExceptionVariable(GeneratorExit, []))
                except Raised as raised:
                    if not is_exception(raised.value, (GeneratorExit, StopIteration)):
                        raise
                else:
                    throw(tx, RuntimeError, "generator ignored GeneratorExit")
            self.finished = True
            return ConstantVariable(None)
        raise Break(f"the method {name!r} of a generator")

    def reconstruct(self, cg: Codegen) -> str:
        if self.finished:
            return "iter(())"
        if self.frame.globals.get("__name__") == polyfills.__name__ and self.frame.code.co_name not in ENDLESS:
            return IteratorVariable([*iterate(self.frame.parent, self)]).reconstruct(cg)
        raise Break("a generator that has not ended is needed outside of the graph")

    def __str__(self) -> str:
        return f"the generator {self.frame.code.co_qualname}"


def is_none(value: Variable) -> bool:
    """Return whether a value is None."""
    return value.is_constant and value.value is None

"""Objects of classes in Python, classes, modules: attributes are found as Python finds them
(``torch._dynamo.variables.user_defined``, ``nn_module``).
"""
from __future__ import annotations

import enum
import functools
import types
from collections import OrderedDict, defaultdict, deque
from typing import Any

from ..._creation import empty
from ..._guards import Source
from ..._tensor import Tensor
from ...nn._hooks import GLOBAL_HOOKS
from ...nn.module import Module
from ..exc import Break, Restart
from ..trace_rules import is_library, of_numpy
from .base import (
    BoundBuiltin, Codegen, ConstantVariable, ExceptionVariable, Identity, Known, Translator, Variable, throw,
)
from .containers import DictVariable, ListVariable, TupleVariable
from .functions import MethodVariable, UserFunction, is_none
from .tensor import TensorVariable

MISSING = object()
#: Tables of a module that its attributes lead to.
TABLES = ("_parameters", "_buffers", "_modules")
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
#: The class of written data behind a class of Python's that users derive from.
BASES: dict[type, Any] = {list: ListVariable, deque: ListVariable, dict: DictVariable, OrderedDict: DictVariable,
                          tuple: TupleVariable}


def static(kind: type, name: str) -> Any:
    """Return a class's attribute without calling its descriptor, or MISSING."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), MISSING)


class UserObject(Variable):
    """An object of a class in Python: one that exists (``real``), or one that the interpreted program makes.

    ``written`` has the attributes that the program set; None for those that it deleted.
    """

    def __init__(self, kind: type, real: Any = None, source: Source | None = None, base: Any = None) -> None:
        self.kind, self.real, self.source, self.base = kind, real, source, base
        self.written: dict[str, Variable | None] = {}
        self.arguments: list[Variable] = []  #: of ``__new__``, for a new object

    def python_type(self) -> type:
        return self.kind

    @property
    def value(self) -> Any:
        if self.real is not None and not self.written and self.source is None:
            return self.real
        return super().value

    def key(self) -> Any:
        return super().key() if self.real is None else Identity(self.real)

    # -- attributes ------------------------------------------------------------------------------------------------

    def attribute(self, tx: Translator, name: str) -> Variable:
        found = self.find(tx, name)
        if found is not None:
            return found
        custom = static(self.kind, "__getattr__")
        if isinstance(custom, types.FunctionType) and not is_library(custom):
            return tx.made(custom).call(tx, [self, ConstantVariable(name)], {})
        if self.source is not None:
            tx.output.guards.absent(self.source, self.real, name)
        throw(tx, AttributeError, f"{self.kind.__name__!r} object has no attribute {name!r}")

    def find(self, tx: Translator, name: str) -> Variable | None:
        """Return an attribute, or None if there is none."""
        if name in self.written:
            return self.written[name]
        if name == "__class__":
            return tx.made(self.kind)
        if name == "__dict__":
            return self._dictionary(tx)
        custom = static(self.kind, "__getattribute__")
        if isinstance(custom, types.FunctionType):
            return tx.made(custom).call(tx, [self, ConstantVariable(name)], {})
        of_class = static(self.kind, name)
        if isinstance(of_class, property):
            if of_class.fget is None:
                throw(tx, AttributeError, f"unreadable attribute {name!r}")
            return self._function(tx, of_class.fget, name, ".fget").call(tx, [self], {})
        space = getattr(self.real, "__dict__", {}) if self.real is not None else {}
        if name in space:
            return self._read(tx, space[name], name, f".__dict__[{name!r}]" if of_class is not MISSING else None)
        if isinstance(self.real, Module) and of_class is MISSING:
            for table in TABLES:
                if name in space.get(table, ()):
                    source = self.source and self.source.attribute(table).item(repr(name))
                    return tx.made(space[table][name]) if source is None else tx.wrap(space[table][name], source)
        if of_class is MISSING:
            return None
        return self._of_class(tx, of_class, name)

    def _dictionary(self, tx: Translator) -> Variable:
        if self.real is not None and self.source is not None and not self.written:
            return tx.wrap(vars(self.real), self.source.attribute("__dict__"))
        if self.real is not None:
            raise Break("the __dict__ of an object that was changed")
        return DictVariable([(ConstantVariable(key), value) for key, value in self.written.items()
                             if value is not None])

    def _read(self, tx: Translator, value: Any, name: str, form: str | None = None) -> Variable:
        if self.source is None:
            return tx.made(value)
        return tx.wrap(value, self.source.attribute(name) if form is None else Source(form, self.source))

    def class_source(self, tx: Translator) -> Source | None:
        """Return where the class is read, for classes that may change."""
        return None if is_library(self.kind) else Source(tx.output.object(self.kind), shown=self.kind.__qualname__)

    def _function(self, tx: Translator, function: Any, name: str, behind: str = "") -> Variable:
        source = self.class_source(tx)
        if source is None or is_library(function) or not isinstance(function, types.FunctionType):
            return tx.made(function)
        if behind:  # of a property
            return tx.wrap(function, Source(f".__dict__[{name!r}]{behind}", source) if name in vars(self.kind) else
                           Source(tx.output.object(function)))
        if self.source is not None:  # an attribute of the object would come first
            return tx.wrap(function, self.source.attribute(name).attribute("__func__"))
        return tx.wrap(function, source.attribute(name))

    def _of_class(self, tx: Translator, found: Any, name: str) -> Variable:
        if isinstance(found, types.FunctionType):
            return MethodVariable(self._function(tx, found, name), self)
        if isinstance(found, classmethod):
            inner = found.__func__
            return MethodVariable(tx.made(inner), tx.made(self.kind))
        if isinstance(found, staticmethod):
            return tx.made(found.__func__)
        if isinstance(found, (types.MemberDescriptorType, types.GetSetDescriptorType)) and self.real is not None:
            value = getattr(self.real, name, MISSING)
            return None if value is MISSING else self._read(tx, value, name)  # type: ignore[return-value]
        if isinstance(found, types.MemberDescriptorType):
            return None  # type: ignore[return-value]
        if isinstance(found, (types.WrapperDescriptorType, types.MethodDescriptorType,
                              types.BuiltinFunctionType, types.ClassMethodDescriptorType)):
            return BoundBuiltin(self, name)
        if isinstance(found, functools.cached_property):  # whose own ``__get__`` takes a lock before Python 3.12
            made = tx.made(found.func).call(tx, [self], {})
            self.write(tx, name, made)
            return made
        getter = static(type(found), "__get__")
        if isinstance(getter, types.FunctionType):
            return tx.made(getter).call(tx, [tx.made(found), self, tx.made(self.kind)], {})
        if getter is not MISSING and not isinstance(found, type):
            raise Break(f"attribute {name!r} of {self} is a {type(found).__name__}")
        source = self.class_source(tx)
        if source is None:
            return tx.made(found)
        return tx.wrap(found, (self.source or source).attribute(name))

    def write(self, tx: Translator, name: str, value: Variable | None) -> None:
        """Set or delete an attribute, without descriptors."""
        self.written[name] = value
        tx.output.side_effects.note(self)

    def set_attribute(self, tx: Translator, name: str, value: Variable) -> None:
        custom = static(self.kind, "__setattr__")
        if isinstance(custom, types.FunctionType) and custom is not Module.__setattr__:
            tx.made(custom).call(tx, [self, ConstantVariable(name), value], {})
            return
        descriptor = static(self.kind, name)
        if isinstance(descriptor, property):
            if descriptor.fset is None:
                throw(tx, AttributeError, f"property {name!r} of {self.kind.__name__!r} object has no setter")
            tx.made(descriptor.fset).call(tx, [self, value], {})
            return
        setter = static(type(descriptor), "__set__")
        if isinstance(setter, types.FunctionType):
            tx.made(setter).call(tx, [tx.made(descriptor), self, value], {})
            return
        if name == "__class__":
            raise Break("the class of an object is set")
        self.write(tx, name, value)

    def delete_attribute(self, tx: Translator, name: str) -> None:
        if self.find(tx, name) is None:
            throw(tx, AttributeError, f"{self.kind.__name__!r} object has no attribute {name!r}")
        self.write(tx, name, None)

    # -- calls -----------------------------------------------------------------------------------------------------

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if self.real is not None and isinstance(self.real, Module) and self.kind.__call__ is Module.__call__:
            return self._call_module(tx, args, kwargs)
        found = static(self.kind, "__call__")
        if found is MISSING:
            throw(tx, TypeError, f"{self.kind.__name__!r} object is not callable")
        return self._of_class(tx, found, "__call__").call(tx, args, kwargs)

    def _call_module(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        module = self.real
        if "_initialize_hook" in vars(module):
            # As in PyTorch, the compiler gives the parameters their shapes, and keeps the hook out of the program.
            module._infer_parameters(module, [_sketch(arg) for arg in args],
                                     {name: _sketch(arg) for name, arg in kwargs.items()})
            raise Restart
        compiled = vars(module).get("_compiled_call_impl")
        if self.source is not None:
            tx.output.guards.empty(self.source, HOOKS, module)
        hooked = any(getattr(module, name) for name in HOOKS) or any(GLOBAL_HOOKS)
        if compiled is not None and not hooked:
            raise Break("a module that is compiled by itself")
        with tx.output.inside(module, self.source):
            if hooked:
                return tx.made(Module._hooked_call).call(tx, [self, *args], kwargs)
            return self.attribute(tx, "forward").call(tx, args, kwargs)

    def method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        found = self.find(tx, name)
        if found is not None and not isinstance(found, BoundBuiltin):
            return found.call(tx, args, kwargs)
        handler = _OBJECT.get(name)
        if handler is not None:
            return handler(self, tx, *args, **kwargs)
        if self.base is not None:
            return self._of_base(tx, name, args, kwargs)
        if found is None:
            return self.attribute(tx, name).call(tx, args, kwargs)
        raise Break(f"the method {name!r} of {self}, which is written in C")

    def _of_base(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if name == "__init__":
            if (args or kwargs) and isinstance(self.base, DictVariable):
                return self.base.update(tx, *args, **kwargs)
            return self.base.method(tx, "extend", args, {}) if args else ConstantVariable(None)
        tx.output.side_effects.note(self)
        return self.base.method(tx, name, args, kwargs)

    def truth(self, tx: Translator) -> bool:
        for name in ("__bool__", "__len__"):
            if isinstance(static(self.kind, name), types.FunctionType):
                found = self.method(tx, name, [], {})
                if name == "__bool__" and found.python_type() is not bool:
                    throw(tx, TypeError, f"__bool__ should return bool, returned {found.python_type().__name__}")
                return found.truth(tx)
        return self.base.truth(tx) if self.base is not None else True

    def iterator(self, tx: Translator) -> Variable:
        if isinstance(static(self.kind, "__iter__"), types.FunctionType):
            return self.method(tx, "__iter__", [], {})
        if self.base is not None:
            return self.base.iterator(tx)
        if isinstance(static(self.kind, "__getitem__"), types.FunctionType):
            return tx.made(_by_index).call(tx, [self], {})
        return super().iterator(tx)

    def next(self, tx: Translator) -> Variable:
        if isinstance(static(self.kind, "__next__"), types.FunctionType):
            return self.method(tx, "__next__", [], {})
        return super().next(tx)

    # -- generated code --------------------------------------------------------------------------------------------

    def reconstruct(self, cg: Codegen) -> str:
        if self.real is not None:
            return cg.object(self.real)
        arguments = "".join(f", {cg.value(arg)}" for arg in self.arguments)
        made = cg.begin(self, f"{cg.object(self.kind)}.__new__({cg.object(self.kind)}{arguments})")
        for name, value in self.written.items():
            if value is not None:
                cg.line(f"{cg.object(object)}.__setattr__({made}, {name!r}, {cg.value(value)})")
        if isinstance(self.base, (ListVariable, DictVariable)):
            for line in self.base.replay(cg, made):
                cg.line(line)
        return made

    def replay(self, cg: Codegen, target: str) -> list[str]:
        """Return the lines that set the attributes of the object that existed before."""
        lines = []
        for name, value in self.written.items():
            setter = static(self.kind, "__setattr__")
            if value is None:
                lines += [f"{cg.object(delattr)}({target}, {name!r})"] if hasattr(self.real, name) else []
            elif setter is object.__setattr__ or (isinstance(setter, types.FunctionType)
                                                  and not isinstance(self.real, Module)):
                lines.append(f"{cg.object(object.__setattr__)}({target}, {name!r}, {cg.value(value)})")
            else:
                lines.append(f"{cg.object(setattr)}({target}, {name!r}, {cg.value(value)})")
        if isinstance(self.base, (ListVariable, DictVariable)):
            lines += self.base.replay(cg, target)
        return lines

    def __str__(self) -> str:
        return f"a {self.kind.__module__}.{self.kind.__qualname__} object"


def _sketch(argument: Variable) -> Any:
    """Return an argument as a lazy module needs it: tensors without data, constants, and their containers."""
    if isinstance(argument, TensorVariable):
        shape = [int(size) for size in argument.example.shape]
        return empty(shape, dtype=argument.example.dtype, device="meta")
    if argument.is_constant:
        return argument.value
    if isinstance(argument, (ListVariable, TupleVariable)):
        items = [_sketch(item) for item in argument.list]
        return argument.kind(*items) if hasattr(argument.kind, "_fields") else argument.kind(items)
    if isinstance(argument, DictVariable):
        return {name.value: _sketch(item) for name, item in argument.entries.values()}
    raise Break(f"a lazy module is called for the first time with {argument}")


def _by_index(owner: Any) -> Any:
    """Iterate over an object that has ``__getitem__`` alone; this is interpreted."""
    number = 0
    while True:
        try:
            item = owner[number]
        except IndexError:
            return
        yield item
        number += 1


def _set(self: UserObject, tx: Translator, name: Variable, value: Variable) -> Variable:
    self.write(tx, name.value, value)
    return ConstantVariable(None)


def _delete(self: UserObject, tx: Translator, name: Variable) -> Variable:
    self.write(tx, name.value, None)
    return ConstantVariable(None)


def _get(self: UserObject, tx: Translator, name: Variable) -> Variable:
    found = self.written.get(name.value)
    if found is not None:
        return found
    space = getattr(self.real, "__dict__", {})
    if name.value in space and not isinstance(static(self.kind, name.value), property):
        return self._read(tx, space[name.value], name.value, f".__dict__[{name.value!r}]")
    of_class = static(self.kind, name.value)
    if of_class is MISSING:
        throw(tx, AttributeError, f"{self.kind.__name__!r} object has no attribute {name.value!r}")
    if isinstance(of_class, property):
        return tx.made(of_class.fget).call(tx, [self], {})
    return self._of_class(tx, of_class, name.value)


#: Methods of ``object``.
_OBJECT: dict[str, Any] = {
    "__init__": lambda o, tx, *args, **kwargs: ConstantVariable(None),
    "__init_subclass__": lambda o, tx, *args, **kwargs: ConstantVariable(None),
    "__setattr__": _set, "__delattr__": _delete, "__getattribute__": _get,
    "__eq__": lambda o, tx, other: ConstantVariable(o is other),
    "__ne__": lambda o, tx, other: ConstantVariable(not tx.binary(_equals, o, other).truth(tx)),
    "__hash__": lambda o, tx: ConstantVariable(id(o)),
}


def _equals(one: Any, other: Any) -> Any:
    return one == other


class ClassVariable(Known):
    """A class."""

    def __init__(self, kind: type, source: Source | None = None) -> None:
        self.kind, self.source = kind, source
        self.written: dict[str, Variable | None] = {}

    @property
    def value(self) -> Any:
        return self.kind

    def argument(self) -> Any:
        return self.kind

    def attribute(self, tx: Translator, name: str) -> Variable:
        if name in self.written and (written := self.written[name]) is not None:
            return written
        if name == "__class__":
            return tx.made(type(self.kind))
        found = static(self.kind, name)
        if found is MISSING:
            of_type = static(type(self.kind), name)
            if isinstance(of_type, types.FunctionType):
                return MethodVariable(tx.made(of_type), self)
            if hasattr(self.kind, name):
                return tx.made(getattr(self.kind, name))
            throw(tx, AttributeError, f"type object {self.kind.__name__!r} has no attribute {name!r}")
        if isinstance(found, classmethod):
            if self.kind.__module__.startswith("mindtorch") or not isinstance(found.__func__, types.FunctionType):
                return tx.made(getattr(self.kind, name))
            return MethodVariable(tx.made(found.__func__), self)
        if isinstance(found, staticmethod):
            found = found.__func__
        elif isinstance(found, types.ClassMethodDescriptorType) or name in ("__dict__", "__mro__", "__name__"):
            found = getattr(self.kind, name)
        elif isinstance(static(type(found), "__get__"), types.FunctionType) and not isinstance(found, type):
            return tx.made(static(type(found), "__get__")).call(tx, [tx.made(found), ConstantVariable(None), self], {})
        if is_library(self.kind) or isinstance(found, (property, types.MemberDescriptorType)):
            return tx.made(found)
        return tx.wrap(found, Source(tx.output.object(self.kind), shown=self.kind.__qualname__).attribute(name))

    def set_attribute(self, tx: Translator, name: str, value: Variable) -> None:
        raise Break(f"setting attribute {name!r} of the class {self.kind.__qualname__}")

    def method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if issubclass(self.kind, enum.Enum) and name in ("__getitem__", "__iter__", "__len__", "__contains__"):
            if name == "__iter__":
                return self.iterator(tx)
            return tx.made(getattr(type(self.kind), name)(self.kind, *[arg.value for arg in args]))
        if (name == "__new__" and static(self.kind, "__new__") is MISSING) or (
                name == "__new__" and not isinstance(static(self.kind, "__new__"), (types.FunctionType, staticmethod))):
            return self.new(tx, args[0], args[1:])
        if name in ("__subclasses__", "mro"):
            return tx.made(getattr(self.kind, name)())
        if args and isinstance(static(self.kind, name), (types.WrapperDescriptorType, types.MethodDescriptorType)):
            owner = args[0]
            if isinstance(owner, UserObject) and owner.base is not None and self.kind is not object and name not in (
                    "__setattr__", "__getattribute__"):
                return owner._of_base(tx, name, args[1:], kwargs)
            if isinstance(owner, UserObject):
                return _OBJECT[name](owner, tx, *args[1:], **kwargs) if name in _OBJECT else owner.method(
                    tx, name, args[1:], kwargs)
            return owner.method(tx, name, args[1:], kwargs)
        return super().method(tx, name, args, kwargs)

    def new(self, tx: Translator, kind: Variable, args: list[Variable]) -> Variable:
        """Return a new object without attributes: ``object.__new__(kind)``."""
        wanted = kind.value
        base = next((BASES[one](*([[*args[0].items(tx)]] if one is tuple and args else [[]]), kind=one)
                     for one in wanted.__mro__ if one in BASES), None)
        made = UserObject(wanted, base=base)
        made.arguments = args if base is not None and isinstance(base, TupleVariable) else []
        return made

    def iterator(self, tx: Translator) -> Variable:
        if issubclass(self.kind, enum.Enum):
            return tx.made([*self.kind]).iterator(tx)
        return super().iterator(tx)

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        kind = self.kind
        if issubclass(kind, BaseException):
            return self._exception(tx, args, kwargs)
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            return self._named(tx, args, kwargs)
        if issubclass(kind, enum.Enum):
            return tx.made(kind(*[arg.value for arg in args]))
        if issubclass(kind, (Module, Tensor)):
            raise Break(f"a {kind.__name__} is made in the function")
        if isinstance(static(type(kind), "__call__"), types.FunctionType):
            raise Break(f"calling the class {kind.__qualname__}, whose metaclass has a __call__")
        new = static(kind, "__new__")
        inner = new.__func__ if isinstance(new, staticmethod) else new
        if isinstance(inner, types.FunctionType):
            made = tx.made(inner).call(tx, [self, *args], kwargs)
            if not issubclass(made.python_type(), kind):
                return made
        elif kind.__flags__ & 1 << 9:  # a class made by a class statement
            if any(base not in (object, *BASES) and not base.__flags__ & 1 << 9 for base in kind.__mro__):
                raise Break(f"an object of {kind.__module__}.{kind.__qualname__} is made, which is written in C")
            made = self.new(tx, self, args)
        else:
            raise Break(of_numpy(kind) or f"calling {kind.__module__}.{kind.__qualname__}, which is written in C")
        init = static(kind, "__init__")
        if isinstance(init, types.FunctionType):
            made.attribute(tx, "__init__").call(tx, args, kwargs)
        elif isinstance(made, UserObject) and made.base is not None and not isinstance(made.base, TupleVariable):
            made._of_base(tx, "__init__", args, kwargs)
        elif (args or kwargs) and not isinstance(inner, types.FunctionType) and getattr(made, "base", None) is None:
            throw(tx, TypeError, f"{kind.__name__}() takes no arguments")
        return made

    def _exception(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        made = ExceptionVariable(self.kind, args)
        init = static(self.kind, "__init__")
        if isinstance(init, types.FunctionType):
            tx.made(init).call(tx, [made, *args], kwargs)
        return made

    def _named(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        kind: Any = self.kind
        items, fields = [*args], kind._fields
        for name in fields[len(args):]:
            if name in kwargs:
                items.append(kwargs[name])
            elif name in kind._field_defaults:
                items.append(tx.made(kind._field_defaults[name]))
            else:
                throw(tx, TypeError, f"{kind.__name__}.__new__() missing 1 required positional argument: {name!r}")
        if len(items) > len(fields):
            throw(tx, TypeError, f"{kind.__name__}.__new__() takes {len(fields) + 1} positional arguments")
        return TupleVariable(items, kind=kind)

    def __str__(self) -> str:
        return f"the class {self.kind.__module__}.{self.kind.__qualname__}"


class PythonModule(Known):
    """A module of Python's."""

    has_identity = True

    def __init__(self, module: types.ModuleType, source: Source | None = None) -> None:
        self.module, self.source = module, source

    @property
    def value(self) -> Any:
        return self.module

    def python_type(self) -> type:
        return types.ModuleType

    def attribute(self, tx: Translator, name: str) -> Variable:
        written = tx.output.side_effects.globals.get((id(vars(self.module)), name))
        if written is not None and written[1] is not None:
            return written[1]
        if written is not None or not hasattr(self.module, name):
            throw(tx, AttributeError, f"module {self.module.__name__!r} has no attribute {name!r}")
        value = getattr(self.module, name)
        if is_library(self.module) or isinstance(value, types.ModuleType):
            return tx.made(value)
        return tx.wrap(value, Source(tx.output.object(self.module), shown=self.module.__name__).attribute(name))

    def set_attribute(self, tx: Translator, name: str, value: Variable) -> None:
        space = vars(self.module)
        tx.output.side_effects.globals[id(space), name] = (space, value)

    def __str__(self) -> str:
        return f"the module {self.module.__name__}"


class SuperVariable(Variable):
    """``super()``."""

    def __init__(self, kind: type, owner: Variable) -> None:
        self.kind, self.owner = kind, owner

    def python_type(self) -> type:
        return super

    def attribute(self, tx: Translator, name: str) -> Variable:
        of = self.owner.value if isinstance(self.owner, ClassVariable) else self.owner.python_type()
        bases = of.__mro__[of.__mro__.index(self.kind) + 1:]
        found = next((vars(base)[name] for base in bases if name in vars(base)), MISSING)
        if isinstance(found, types.FunctionType):
            return MethodVariable(tx.made(found), self.owner)
        if isinstance(found, classmethod):
            owner = self.owner if isinstance(self.owner, ClassVariable) else tx.made(of)
            return MethodVariable(tx.made(found.__func__), owner)
        if isinstance(found, staticmethod):
            return tx.made(found.__func__)
        if isinstance(found, property):
            return tx.made(found.fget).call(tx, [self.owner], {})
        if found is MISSING:
            throw(tx, AttributeError, f"'super' object has no attribute {name!r}")
        return _SuperMethod(self, name)

    def __str__(self) -> str:
        return f"super() of {self.kind.__qualname__}"


class _SuperMethod(Variable):
    """A method in C that ``super()`` finds."""

    def __init__(self, found: SuperVariable, name: str) -> None:
        self.found, self.name = found, name

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        owner, name = self.found.owner, self.name
        if name == "__new__":
            return ClassVariable(object).new(tx, args[0], args[1:])
        if isinstance(owner, ExceptionVariable):
            if name == "__init__":
                owner.args = [*args]
            return ConstantVariable(None)
        if isinstance(owner, UserObject):
            if owner.base is not None and name not in ("__setattr__", "__getattribute__", "__delattr__"):
                return owner._of_base(tx, name, args, kwargs)
            if name in _OBJECT:
                result: Variable = _OBJECT[name](owner, tx, *args, **kwargs)
                return result
        if isinstance(owner, DictVariable):
            return DictVariable.method(owner, tx, name, args, kwargs)
        if isinstance(owner, ListVariable):
            return ListVariable.method(owner, tx, name, args, kwargs)
        raise Break(f"super().{name} of {owner}")


__all__ = ["ClassVariable", "PythonModule", "SuperVariable", "UserFunction", "UserObject", "defaultdict", "is_none"]

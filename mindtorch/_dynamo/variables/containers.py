"""Containers: Python's own, with variables as items (``torch._dynamo.variables.lists``, ``dicts``, ``sets``)."""
from __future__ import annotations

import inspect
import operator
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any, ClassVar

from ..._base.size import Size
from ..._guards import Source
from ..exc import Break
from .base import (
    BoundBuiltin, Codegen, ConstantVariable, IteratorVariable, Translator, Variable, fold, gives, no_attribute, throw,
)


def of_class(tx: Translator, owner: Any, name: str) -> Variable:
    """Return an attribute of a container that its class has."""
    if not gives(owner.kind, name):
        no_attribute(tx, owner, name)
    found = inspect.getattr_static(owner.kind, name)
    if isinstance(found, staticmethod):
        return tx.made(found.__func__)
    if isinstance(found, classmethod) and hasattr(found.__func__, "__code__"):
        return tx.bound(found.__func__, tx.made(owner.kind))
    if isinstance(found, property) and found.fget is not None:
        return tx.bound(found.fget, owner).call(tx, [], {})
    if hasattr(found, "__code__"):
        return tx.bound(found, owner)
    if hasattr(found, "__get__") or isinstance(found, classmethod):
        return BoundBuiltin(owner, name)
    return tx.made(found)


class SequenceVariable(Variable):
    """Items in a row."""

    kind: type = list

    def __init__(self, items: list[Variable], source: Source | None = None, kind: type | None = None) -> None:
        self.list, self.source = items, source
        self.kind = kind or type(self).kind

    def python_type(self) -> type:
        return self.kind

    @property
    def is_constant(self) -> bool:  # type: ignore[override]
        return all(item.is_constant for item in self.list)

    @property
    def value(self) -> Any:
        values = [item.value for item in self.list]
        return self.kind(*values) if hasattr(self.kind, "_fields") else self.kind(values)

    def argument(self) -> Any:
        values = [item.argument() for item in self.list]
        if self.kind is Size:
            return Size(values) if all(isinstance(value, int) for value in values) else tuple(values)
        return self.kind(*values) if hasattr(self.kind, "_fields") else (
            values if self.kind is deque else self.kind(values))

    def truth(self, tx: Translator) -> bool:
        return bool(self.list)

    def items(self, tx: Translator) -> list[Variable]:
        return [*self.list]

    def iterator(self, tx: Translator) -> Variable:
        return IteratorVariable(self.list)

    def attribute(self, tx: Translator, name: str) -> Variable:
        if name == "__class__":
            return tx.made(self.kind)
        return of_class(tx, self, name)

    def method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if name == "__getitem__":
            return self.item(tx, args[0])
        if name == "__len__":
            return ConstantVariable(len(self.list))
        if name == "__contains__":
            return ConstantVariable(contains(tx, self.list, args[0]))
        if name == "__iter__":
            return self.iterator(tx)
        if name == "index":
            for number, item in enumerate(self.list):
                if equal(tx, item, args[0]):
                    return ConstantVariable(number)
            throw(tx, ValueError, f"{args[0]} is not in {self.kind.__name__}")
        if name == "count":
            return ConstantVariable(sum(equal(tx, item, args[0]) for item in self.list))
        if name in ("numel",) and self.kind is Size:
            return ConstantVariable(self.value.numel())
        if name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__add__", "__mul__", "__iadd__"):
            return tx.binary(getattr(operator, name.strip("_")), self, args[0])
        found = self.attribute(tx, name)
        if isinstance(found, BoundBuiltin):
            raise Break(f"the method {name!r} of a {self.kind.__name__}")
        return found.call(tx, args, kwargs)

    def item(self, tx: Translator, index: Variable) -> Variable:
        """Return ``self[index]``."""
        number = index.value
        if isinstance(number, slice):
            return type(self)(self.list[number], kind=tuple if hasattr(self.kind, "_fields") else self.kind)
        return fold(tx, operator.getitem, self.list, number)

    def __str__(self) -> str:
        return f"a {self.kind.__name__} of {len(self.list)}"


class TupleVariable(SequenceVariable):
    """A tuple, a named tuple, or a ``torch.Size``."""

    kind = tuple

    @property
    def has_identity(self) -> bool:  # type: ignore[override]
        return not self.is_constant

    def attribute(self, tx: Translator, name: str) -> Variable:
        fields = getattr(self.kind, "_fields", ())
        if name in fields:
            return self.list[fields.index(name)]
        if fields and name in ("_replace", "_asdict"):
            return BoundBuiltin(self, name)
        return super().attribute(tx, name)

    def method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        fields = getattr(self.kind, "_fields", ())
        if fields and name == "_replace":
            return TupleVariable([kwargs.get(field, item) for field, item in zip(fields, self.list, strict=True)],
                                 kind=self.kind)
        if fields and name == "_asdict":
            return DictVariable([(ConstantVariable(field), item)
                                 for field, item in zip(fields, self.list, strict=True)])
        return super().method(tx, name, args, kwargs)

    def key(self) -> Any:
        return tuple(item.key() for item in self.list)

    def reconstruct(self, cg: Codegen) -> str:
        inner = "".join(f"{cg.value(item)}, " for item in self.list)
        if self.kind is tuple:
            return f"({inner})"
        return f"{cg.object(self.kind)}({inner if hasattr(self.kind, '_fields') else f'({inner})'})"


class ListVariable(SequenceVariable):
    """A list or a deque; writes to one that existed before are repeated after the graph."""

    kind = list
    maxlen: int | None = None

    @property
    def is_constant(self) -> bool:  # type: ignore[override]
        return self.kind is list and super().is_constant

    #: Methods that write.
    WRITES = frozenset(["append", "extend", "insert", "pop", "remove", "clear", "reverse", "appendleft", "popleft",
                        "extendleft", "rotate"])

    def method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if name == "copy":
            return type(self)([*self.list], kind=self.kind)
        if name == "sort":
            tx.output.side_effects.note(self)
            self.list[:] = tx.sorted(self.list, kwargs)
            return ConstantVariable(None)
        if name == "remove":
            index = self.method(tx, "index", args, {})
            tx.output.side_effects.note(self)
            del self.list[index.value]
            return ConstantVariable(None)
        if name in ("__setitem__", "__delitem__"):
            tx.output.side_effects.note(self)
            if name == "__delitem__":
                fold(tx, operator.delitem, self.list, args[0].value)
            elif isinstance(args[0].value, slice):
                fold(tx, operator.setitem, self.list, args[0].value, args[1].items(tx))
            else:
                fold(tx, operator.setitem, self.list, args[0].value, args[1])
            return ConstantVariable(None)
        if name not in self.WRITES or hasattr(getattr(self.kind, name, None), "__code__"):
            return super().method(tx, name, args, kwargs)
        tx.output.side_effects.note(self)
        if name in ("extend", "extendleft"):
            given: list[Any] = [args[0].items(tx)]
        elif name in ("append", "appendleft"):
            given = [args[0]]
        elif name == "insert":
            given = [args[0].value, args[1]]
        else:
            given = [arg.value for arg in args]
        items = deque(self.list, self.maxlen) if issubclass(self.kind, deque) else self.list
        result = fold(tx, getattr(items, name), *given)
        self.list[:] = items
        return ConstantVariable(None) if result is None else result

    def reconstruct(self, cg: Codegen) -> str:
        made = cg.begin(self, "[]" if self.kind is list else f"{cg.object(self.kind)}(maxlen={self.maxlen})"
                        if issubclass(self.kind, deque) else f"{cg.object(self.kind)}()")
        if self.list:
            cg.line(f"{made} += [{', '.join(map(cg.value, self.list))}]")
        return made

    def replay(self, cg: Codegen, target: str) -> list[str]:
        """Return the lines that write the items into the list that existed before."""
        inner = f"[{', '.join(map(cg.value, self.list))}]"
        if issubclass(self.kind, deque):
            return [f"{cg.object(deque)}.clear({target})", f"{cg.object(deque)}.extend({target}, {inner})"]
        return [f"{cg.object(list.__setitem__)}({target}, {cg.object(slice(None))}, {inner})"]


class DictVariable(Variable):
    """A dictionary; ``entries`` has pairs of key and value by what stands for the key."""

    def __init__(self, pairs: list[tuple[Variable, Variable]], source: Source | None = None, kind: type = dict,
                 factory: Variable | None = None) -> None:
        self.entries = {key.key(): (key, value) for key, value in pairs}
        self.source, self.kind, self.factory = source, kind, factory

    def python_type(self) -> type:
        return self.kind

    @property
    def is_constant(self) -> bool:  # type: ignore[override]
        return self.kind is dict and all(key.is_constant and value.is_constant for key, value in self.entries.values())

    @property
    def value(self) -> Any:
        return self.kind((key.value, value.value) for key, value in self.entries.values())

    def argument(self) -> Any:
        return {key.value: value.argument() for key, value in self.entries.values()}

    def truth(self, tx: Translator) -> bool:
        return bool(self.entries)

    def iterator(self, tx: Translator) -> Variable:
        return IteratorVariable([key for key, _ in self.entries.values()])

    def copied(self) -> DictVariable:
        """Return a copy."""
        return DictVariable([*self.entries.values()], kind=self.kind, factory=self.factory)

    def attribute(self, tx: Translator, name: str) -> Variable:
        if name == "__class__":
            return tx.made(self.kind)
        return of_class(tx, self, name)

    def item(self, tx: Translator, key: Variable) -> Variable:
        """Return ``self[key]``."""
        found = self.entries.get(hashed(tx, key))
        if found is not None:
            return found[1]
        if self.factory is not None and not (self.factory.is_constant and self.factory.value is None):
            made = self.factory.call(tx, [], {})
            self.method(tx, "__setitem__", [key, made], {})
            return made
        missing = getattr(self.kind, "__missing__", None)
        if missing is not None and self.kind is not defaultdict:
            return tx.made(missing).call(tx, [self, key], {})
        throw(tx, KeyError, key.value if key.is_constant else str(key))

    def method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        handler = _DICT.get(name)
        if handler is not None:
            return handler(self, tx, *args, **kwargs)
        found = self.attribute(tx, name)
        if isinstance(found, BoundBuiltin):
            raise Break(f"the method {name!r} of a {self.kind.__name__}")
        return found.call(tx, args, kwargs)

    def update(self, tx: Translator, other: Variable | None = None, **kwargs: Variable) -> Variable:
        """Do ``self.update(other, **kwargs)``."""
        tx.output.side_effects.note(self)
        if other is not None:
            self.entries.update({hashed(tx, key): (key, value) for key, value in pairs_of(tx, other)})
        self.entries.update({key: (ConstantVariable(key), value) for key, value in kwargs.items()})
        return ConstantVariable(None)

    def reconstruct(self, cg: Codegen) -> str:
        start = "{}" if self.kind is dict else f"{cg.object(self.kind)}()"
        if self.kind is defaultdict and self.factory is not None:
            start = f"{cg.object(self.kind)}({cg.value(self.factory)})"
        made = cg.begin(self, start)
        for key, value in self.entries.values():
            cg.line(f"{made}[{cg.value(key)}] = {cg.value(value)}")
        return made

    def replay(self, cg: Codegen, target: str) -> list[str]:
        """Return the lines that write the entries into the dictionary that existed before."""
        inner = ", ".join(f"({cg.value(key)}, {cg.value(value)})" for key, value in self.entries.values())
        owner = cg.object(OrderedDict if issubclass(self.kind, OrderedDict) else dict)
        return [f"{owner}.clear({target})", f"{owner}.update({target}, [{inner}])"]

    def __str__(self) -> str:
        return f"a {self.kind.__name__} of {len(self.entries)}"


def hashed(tx: Translator, key: Variable) -> Any:
    """Return the stand-in for a key, which has to have a hash."""
    if isinstance(key, (ListVariable, DictVariable)) or (isinstance(key, SetVariable) and key.kind is set):
        throw(tx, TypeError, f"unhashable type: {key.python_type().__name__!r}")
    return key.key()


def pairs_of(tx: Translator, other: Variable) -> list[tuple[Variable, Variable]]:
    """Return the entries of a mapping, or of an iterable of pairs."""
    if isinstance(other, DictVariable):
        return [*other.entries.values()]
    if hasattr(other.python_type(), "keys"):
        return [(key, other.method(tx, "__getitem__", [key], {})) for key in other.method(tx, "keys", [], {}).items(tx)]
    pairs = [pair.items(tx) for pair in other.items(tx)]
    return [(pair[0], pair[1]) for pair in pairs]


def _get(self: DictVariable, tx: Translator, key: Variable, default: Variable | None = None) -> Variable:
    found = self.entries.get(hashed(tx, key))
    return found[1] if found is not None else default or ConstantVariable(None)


def _set(self: DictVariable, tx: Translator, key: Variable, value: Variable) -> Variable:
    tx.output.side_effects.note(self)
    kept = self.entries.get(hashed(tx, key))
    self.entries[hashed(tx, key)] = (kept[0] if kept else key, value)
    return ConstantVariable(None)


def _setdefault(self: DictVariable, tx: Translator, key: Variable, default: Variable | None = None) -> Variable:
    if hashed(tx, key) not in self.entries:
        _set(self, tx, key, default or ConstantVariable(None))
    return self.entries[hashed(tx, key)][1]


def _pop(self: DictVariable, tx: Translator, key: Variable, default: Variable | None = None) -> Variable:
    found = self.entries.get(hashed(tx, key))
    if found is None:
        if default is not None:
            return default
        throw(tx, KeyError, key.value if key.is_constant else str(key))
    tx.output.side_effects.note(self)
    del self.entries[hashed(tx, key)]
    return found[1]


def _popitem(self: DictVariable, tx: Translator, last: Variable | None = None) -> Variable:
    if not self.entries:
        throw(tx, KeyError, "popitem(): dictionary is empty")
    tx.output.side_effects.note(self)
    at = -1 if last is None or last.value else 0
    return TupleVariable([*self.entries.pop([*self.entries][at])])


def _clear(self: DictVariable, tx: Translator) -> Variable:
    tx.output.side_effects.note(self)
    self.entries.clear()
    return ConstantVariable(None)


def _move(self: DictVariable, tx: Translator, key: Variable, last: Variable | None = None) -> Variable:
    tx.output.side_effects.note(self)
    moved = OrderedDict(self.entries)
    fold(tx, moved.move_to_end, hashed(tx, key), last is None or last.value)
    self.entries = {**moved}
    return ConstantVariable(None)


def _equal(self: DictVariable, tx: Translator, other: Variable) -> bool:
    return isinstance(other, DictVariable) and self.entries.keys() == other.entries.keys() and all(
        equal(tx, value, other.entries[key][1]) for key, (_, value) in self.entries.items())


_DICT: dict[str, Callable[..., Variable]] = {
    "__getitem__": DictVariable.item, "__setitem__": _set, "__delitem__": lambda d, tx, key: (
        _pop(d, tx, key), ConstantVariable(None))[1],
    "__contains__": lambda d, tx, key: ConstantVariable(hashed(tx, key) in d.entries),
    "__len__": lambda d, tx: ConstantVariable(len(d.entries)), "__iter__": lambda d, tx: d.iterator(tx),
    "get": _get, "setdefault": _setdefault, "pop": _pop, "popitem": _popitem, "clear": _clear, "move_to_end": _move,
    "update": DictVariable.update, "copy": lambda d, tx: d.copied(),
    "keys": lambda d, tx: ViewVariable(d, "keys"), "values": lambda d, tx: ViewVariable(d, "values"),
    "items": lambda d, tx: ViewVariable(d, "items"),
    "__eq__": lambda d, tx, other: ConstantVariable(_equal(d, tx, other)),
    "__ne__": lambda d, tx, other: ConstantVariable(not _equal(d, tx, other)),
    "__or__": lambda d, tx, other: _merged(d, tx, other), "__ior__": lambda d, tx, other: (d.update(tx, other), d)[1],
    "__reversed__": lambda d, tx: IteratorVariable([key for key, _ in d.entries.values()][::-1]),
}


def _merged(self: DictVariable, tx: Translator, other: Variable) -> Variable:
    made = self.copied()
    made.update(tx, other)
    return made


class ViewVariable(Variable):
    """The keys, values or items of a dictionary."""

    TYPES: ClassVar[dict[str, type]] = {"keys": type({}.keys()), "values": type({}.values()), "items": type({}.items())}

    def __init__(self, owner: DictVariable, which: str) -> None:
        self.owner, self.which = owner, which

    def python_type(self) -> type:
        return self.TYPES[self.which]

    @property
    def is_constant(self) -> bool:  # type: ignore[override]
        return False

    def truth(self, tx: Translator) -> bool:
        return bool(self.owner.entries)

    def items(self, tx: Translator) -> list[Variable]:
        return [key if self.which == "keys" else value if self.which == "values" else TupleVariable([key, value])
                for key, value in self.owner.entries.values()]

    def iterator(self, tx: Translator) -> Variable:
        return IteratorVariable(self.items(tx))

    def method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if name == "__len__":
            return ConstantVariable(len(self.owner.entries))
        if name == "__contains__" and self.which == "keys":
            return ConstantVariable(hashed(tx, args[0]) in self.owner.entries)
        if name == "__contains__":
            return ConstantVariable(contains(tx, self.items(tx), args[0]))
        if name == "__iter__":
            return self.iterator(tx)
        if self.which == "keys":
            return SetVariable(self.items(tx)).method(tx, name, args, kwargs)
        raise Break(f"the method {name!r} of a dictionary's {self.which}")

    def reconstruct(self, cg: Codegen) -> str:
        return f"{cg.value(self.owner)}.{self.which}()"

    def __str__(self) -> str:
        return f"the {self.which} of {self.owner}"


class SetVariable(Variable):
    """A set or a frozenset; ``members`` has the items by what stands for them."""

    def __init__(self, items: list[Variable], source: Source | None = None, kind: type = set) -> None:
        self.members = {item.key(): item for item in items}
        self.source, self.kind = source, kind

    def python_type(self) -> type:
        return self.kind

    @property
    def is_constant(self) -> bool:  # type: ignore[override]
        return all(item.is_constant for item in self.members.values())

    @property
    def value(self) -> Any:
        return self.kind(item.value for item in self.members.values())

    def argument(self) -> Any:
        return {item.argument() for item in self.members.values()}

    def key(self) -> Any:
        return frozenset(self.members)

    def truth(self, tx: Translator) -> bool:
        return bool(self.members)

    def iterator(self, tx: Translator) -> Variable:
        return IteratorVariable([*self.members.values()])

    def attribute(self, tx: Translator, name: str) -> Variable:
        return of_class(tx, self, name)

    def method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if name == "__contains__":
            return ConstantVariable(hashed(tx, args[0]) in self.members)
        if name == "__len__":
            return ConstantVariable(len(self.members))
        if name == "__iter__":
            return self.iterator(tx)
        if name in ("add", "discard", "remove"):
            tx.output.side_effects.note(self)
            key = hashed(tx, args[0])
            if name == "add":
                self.members.setdefault(key, args[0])
            elif self.members.pop(key, None) is None and name == "remove":
                throw(tx, KeyError, args[0].value if args[0].is_constant else str(args[0]))
            return ConstantVariable(None)
        known, others = dict(self.members), []
        for arg in args:
            items = arg.members if isinstance(arg, SetVariable) else {hashed(tx, i): i for i in arg.items(tx)}
            known = {**items, **known}
            others.append(set(items))
        if not hasattr(set, name):
            return self.attribute(tx, name).call(tx, args, kwargs)
        now = set(self.members)
        result = fold(tx, getattr(now, name), *others)
        if now != set(self.members):
            tx.output.side_effects.note(self)
            self.members = {key: known[key] for key in known if key in now}
        if isinstance(result, set):
            if name.startswith("__i"):
                return self
            return SetVariable([known[key] for key in known if key in result], kind=self.kind)
        return ConstantVariable(result) if result is None or isinstance(result, bool) else known[result]

    def reconstruct(self, cg: Codegen) -> str:
        return f"{cg.object(self.kind)}([{', '.join(map(cg.value, self.members.values()))}])"

    def replay(self, cg: Codegen, target: str) -> list[str]:
        """Return the lines that write the items into the set that existed before."""
        return [f"{target}.clear()", f"{target}.update([{', '.join(map(cg.value, self.members.values()))}])"]

    def __str__(self) -> str:
        return f"a {self.kind.__name__} of {len(self.members)}"


class CountVariable(Variable):
    """``itertools.count``."""

    def __init__(self, start: Any, step: Any) -> None:
        self.now, self.step = start, step

    def python_type(self) -> type:
        import itertools

        return itertools.count

    def iterator(self, tx: Translator) -> Variable:
        return self

    def next(self, tx: Translator) -> Variable:
        self.now += self.step
        return ConstantVariable(self.now - self.step)

    def reconstruct(self, cg: Codegen) -> str:
        return f"{cg.object(self.python_type())}({self.now!r}, {self.step!r})"


class SliceVariable(Variable):
    """A slice, some of whose parts are not constants."""

    has_identity = False

    def __init__(self, parts: list[Variable]) -> None:
        self.parts = parts

    def python_type(self) -> type:
        return slice

    def argument(self) -> Any:
        return slice(*[part.argument() for part in self.parts])

    def reconstruct(self, cg: Codegen) -> str:
        return f"{cg.object(slice)}({', '.join(map(cg.value, self.parts))})"


def equal(tx: Translator, one: Variable, other: Variable) -> bool:
    """Return whether two values are identical or equal, as ``in`` and ``index`` ask."""
    return one is other or any(tx.binary(compare, one, other).truth(tx) for compare in (operator.is_, operator.eq))


def contains(tx: Translator, items: list[Variable], wanted: Variable) -> bool:
    """Return whether a value is among items."""
    return any(equal(tx, item, wanted) for item in items)


class FormatVariable(Variable):
    """A string with a part that is unknown until the graph runs."""

    has_identity = False

    def __init__(self, parts: list[tuple[Variable, str]]) -> None:
        self.parts = parts  #: with what stands behind each value: ``!r:>8``

    def python_type(self) -> type:
        return str

    def reconstruct(self, cg: Codegen) -> str:
        pattern = "".join(f"{{{form}}}" for _, form in self.parts)
        return f"{pattern!r}.format({', '.join(cg.value(value) for value, _ in self.parts)})"

    def __str__(self) -> str:
        return "a formatted string"

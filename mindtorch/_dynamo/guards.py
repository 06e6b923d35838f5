"""Guards: the conditions under which a compiled frame does what its function would (``torch._dynamo.guards``).

Each condition is a line of one generated function that takes the frame's arguments and returns whether all hold.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from types import CodeType, MethodType
from typing import Any

from .._base.generated import define
from .._base.size import Size
from .._device import get_default_device
from .._dispatch.keys import NONCONTIGUOUS
from .._dispatch.local import local
from .._dtype import get_default_dtype
from .._guards import Source
from ..nn.module import Module

numbers = count()
missed: Any = type("missed", (), {})()  #: what a program returns whose guards do not hold
#: Types whose values never change, and are compared by type and value.
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...), range, slice, Size)


def same(old: Any, new: Any) -> bool:
    """Return whether two values are the same object, or equal numbers or strings of one type."""
    if old is new:
        return True
    kind = old.__class__
    if kind is not new.__class__:
        return False
    if kind in (float, complex):
        return repr(old) == repr(new)
    if kind is tuple:
        return len(old) == len(new) and all(map(same, old, new))
    if kind is MethodType:
        return old.__self__ is new.__self__ and old.__func__ is new.__func__
    return kind in PLAIN and bool(old == new)


def run_source(source: str, name: str, space: dict[str, Any], file: str) -> Any:
    """Run generated source whose lines tracebacks can show, and return what it names ``name``."""
    return define(name, source, f"<torch.compile {file} {next(numbers)}>", space)


class Namespace:
    """Names for the objects that generated code needs."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self._names: dict[int, str] = {}

    def name(self, value: Any) -> str:
        """Return the name of an object."""
        found = self._names.get(id(value))
        if found is None:
            called = getattr(value, "__name__", None) or type(value).__name__
            called = called if isinstance(called, str) and called.isidentifier() else "c"
            found = self._names[id(value)] = f"_{called}_{len(self.objects)}"
            self.objects[found] = value
        return found


@dataclass
class Guard:
    """Conditions on one value, or on a mode of the thread, and what PyTorch calls their kind."""

    kind: str
    source: Source | None = None
    value: Any = None
    conditions: list[str] = field(default_factory=list)
    module: Module | None = None  #: the innermost module through which the value is read


@dataclass(frozen=True)
class GuardFilterEntry:
    """A guard as ``options["guard_filter_fn"]`` is given it (``torch._dynamo.types.GuardFilterEntry``)."""

    name: str
    has_value: bool
    value: object
    guard_type: str
    derived_guard_types: tuple[str, ...]
    is_global: bool
    orig_guard: Guard


class Guards:
    """The conditions of one compiled frame, in the order in which they were found."""

    def __init__(self, space: Namespace) -> None:
        self.space = space
        self.conditions: dict[str, str] = {}  #: in Python, and as they are printed
        self.found: dict[tuple[str, Source | None], Guard] = {}
        self.asserted: list[tuple[str, str]] = []  #: conditions whose failure is an error, with what it says
        self.is_filtered = False
        self._modules: dict[Source, Module] = {}
        self._sources: dict[Source, str] = {}
        self.tensors: list[Source] = []
        self.lines: list[tuple[str, str]] = []  #: assignments and conditions; the latter with their printed form

    def read(self, source: Source) -> str:
        """Return the expression that reads a source behind the guards, which may have read it."""
        return self._sources.get(source) or source.expression

    # -- kinds of guards -------------------------------------------------------------------------------------------

    def add(self, condition: str, said: str, kind: str, source: Source | None = None, value: Any = None) -> None:
        """Add a condition, to the guard of a kind at a source."""
        if condition not in self.conditions:
            self.conditions[condition] = said
            self.lines.append((condition, said))
            if isinstance(value, Module) and source is not None:
                self._modules[source] = value
            self.found.setdefault((kind, source), Guard(kind, source, value)).conditions.append(condition)

    def at(self, source: Source) -> str:
        """Return the name of the value at a source, in the guard's function."""
        if source.base is None and source.form.isidentifier():
            return source.form
        found = self._sources.get(source)
        if found is None:
            inner = source.form if source.base is None else f"{source.before}{self.at(source.base)}{source.form}"
            found = self._sources[source] = f"_v{len(self._sources)}"
            self.lines.append((f"{found} = {inner}", ""))
        return found

    def type(self, source: Source, value: Any) -> None:
        """Guard the type of a value."""
        kind = type(value)
        self.add(self._is_of(source, kind),
                 f"type({source.name}) is {kind.__qualname__}", "TYPE_MATCH", source, value)

    def _is_of(self, source: Source, kind: Any) -> str:
        """Return the condition that a value has a type, which takes less time to ask for than for an attribute."""
        return f"{self.space.name(type)}({self.at(source)}) is {self.space.name(kind)}"

    def constant(self, source: Source, value: Any) -> None:
        """Guard the value of a constant, and its type."""
        at = self.at(source)
        if value is None or value is True or value is False or value is ...:
            self.add(f"{at} is {value}", f"{source.name} is {value}", "CONSTANT_MATCH", source, value)
        elif type(value) in (int, str):
            self.add(f"{self._is_of(source, type(value))} and {at} == {value!r}", f"{source.name} == {value!r}",
                     "CONSTANT_MATCH", source, value)
        else:
            self.add(f"{self.space.name(same)}({self.space.name(value)}, {at})", f"{source.name} == {value!r}",
                     "EQUALS_MATCH", source, value)

    def members(self, source: Source, value: Any) -> None:
        """Guard the members of a set, which may change, in the order in which it gives them."""
        self.add(f"{self._is_of(source, type(value))} and {self.space.name(same)}({self.space.name((*value,))}, "
                 f"(*{self.at(source)},))", f"{source.name} == {value!r}", "EQUALS_MATCH", source, value)

    def identity(self, source: Source, value: Any) -> None:
        """Guard the identity of an object."""
        self.add(f"{self.at(source)} is {self.space.name(value)}",
                 f"{source.name} is {getattr(value, '__qualname__', None) or type(value).__name__}", "ID_MATCH", source,
                 value)

    def code(self, source: Source, code: CodeType) -> None:
        """Guard the code of a function."""
        at = self.at(source)
        self.add(f"{self.at(source.attribute('__code__'))} is {self.space.name(code)}",
                 f"{source.name}.__code__ is {code.co_qualname}, line {code.co_firstlineno}", "CLOSURE_MATCH", source,
                 code)
        del at

    def length(self, source: Source, value: Any) -> None:
        """Guard the length of a container."""
        self.add(f"{self.space.name(len)}({self.at(source)}) == {len(value)}",
                 f"len({source.name}) == {len(value)}", "SEQUENCE_LENGTH", source, value)

    def keys(self, source: Source, value: Any) -> None:
        """Guard the keys of a dictionary, in their order."""
        keys = [*value]
        self.add(f"[*{self.at(source)}] == {self.space.name(keys)}", f"list({source.name}) == {keys!r:.200}",
                 "DICT_KEYS_MATCH", source, value)

    def twins(self, source: Source, other: Source) -> None:
        """Guard that one object stands at two places."""
        self.add(f"{self.at(source)} is {self.at(other)}", f"{source.name} is {other.name}", "DUPLICATE_INPUT", source)

    def absent(self, source: Source, value: Any, name: str) -> None:
        """Guard that an object has no such attribute."""
        self.add(f"not {self.space.name(hasattr)}({self.at(source)}, {name!r})",
                 f"not hasattr({source.name}, {name!r})", "HASATTR", source, value)

    def empty(self, source: Source, names: Iterable[str], owner: Any) -> None:
        """Guard which of an object's tables are empty."""
        at = self.at(source)
        for name in names:
            if getattr(owner, name):
                self.add(f"{at}.{name}", f"{source.name}.{name} is not empty", "EMPTY_NN_MODULE_HOOKS_DICT", source,
                         owner)
        without = [name for name in names if not getattr(owner, name)]
        if without:
            self.add(f"not ({' or '.join(f'{at}.{name}' for name in without)})", f"{source.name} has no hooks",
                     "EMPTY_NN_MODULE_HOOKS_DICT", source, owner)

    def tensor(self, source: Source, value: Any, dynamic: set[int]) -> None:
        """Guard the type, keys, shape, dtype and strides of a tensor, but no sizes of ``dynamic`` dimensions."""
        at, shape = self.at(source), tuple(value.shape)
        where = f"{at}._array" if value._array is not None else at
        kind, known = type(value), ""
        if value._array is not None and not dynamic:  # the layout, if it was looked up, is one object for all its facts
            known = f"{at}._layout is {self.space.name(value._layout or value._layout_of_plans())} or "
        parts = [(self._is_of(source, kind), f"type({source.name}) is {kind.__name__}"),
                 (f"{at}._keys == {value._keys}", f"device, layout and requires_grad={value.requires_grad} of "
                                                  f"{source.name}"),
                 *self._shape(where, source, shape, dynamic),
                 (f"{at}._dtype is {self.space.name(value._dtype)}", f"{source.name}.dtype is {value.dtype}")]
        if value._keys & NONCONTIGUOUS:
            parts.append((f"{at}._strides() == {value._strides()}", f"{source.name}.stride() == {value.stride()}"))
        for number, (condition, said) in enumerate(parts):
            self.add(f"{known * (number > 1)}{condition}", said, "TENSOR_MATCH", source, value)
        if value._array is None:
            self.add(f"{at}.device == {self.space.name(value.device)}", f"{source.name}.device == {value.device}",
                     "TENSOR_MATCH", source, value)
        self.tensors.append(source)

    def leaf(self, source: Source, value: Any) -> None:
        """Guard whether a tensor is a leaf."""
        self.add(f"{self.at(source)}.is_leaf is {value.is_leaf}", f"{source.name}.is_leaf is {value.is_leaf}",
                 "TENSOR_MATCH", source, value)

    def not_a_leaf_view(self, source: Source) -> None:
        """Guard that a tensor that requires grad does not do so only because its base does."""
        at = self.at(source)
        self.add(f"{at}._base is None or not {at}.is_leaf", f"{source.name} is no view that is a leaf",
                 "TENSOR_MATCH", source)

    def base(self, source: Source, value: Any) -> None:
        """Guard whether views of a tensor that requires grad do so even if they are taken without grad mode."""
        base, at = value._base, self.at(source)
        requires = base is None or base.requires_grad
        self.add(f"({at}._base is None or {at}._base.requires_grad) is {requires}",
                 f"{source.name} is {'no view' if requires else 'a view'} of a tensor without grad", "TENSOR_MATCH",
                 source, value)

    def _shape(self, where: str, source: Source, shape: tuple[int, ...], dynamic: set[int]) -> list[tuple[str, str]]:
        if not dynamic:
            return [(f"{where}.shape == {shape}", f"{source.name}.shape == {[*shape]}")]
        return [(f"{self.space.name(len)}({where}.shape) == {len(shape)}", f"len({source.name}.shape) == {len(shape)}"),
                *[(f"{where}.shape[{d}] == {size}", f"{source.name}.shape[{d}] == {size}")
                  for d, size in enumerate(shape) if d not in dynamic]]

    def state(self) -> None:
        """Guard the modes of the thread."""
        at = self.space.name(local)
        self.add(f"{at}.grad_enabled is {local.grad_enabled}", f"torch.is_grad_enabled() is {local.grad_enabled}",
                 "GRAD_MODE")
        self.add(f"{at}.autocast == {local.autocast!r}" if local.autocast is None else
                 f"{at}.autocast == {self.space.name(dict(local.autocast))}", f"autocast is {local.autocast}",
                 "GLOBAL_STATE")
        self.add(f"{at}.inference is {local.inference}", f"torch.is_inference_mode_enabled() is {local.inference}",
                 "GLOBAL_STATE")
        dtype, device = get_default_dtype(), get_default_device()
        self.add(f"{self.space.name(get_default_dtype)}() is {self.space.name(dtype)}",
                 f"torch.get_default_dtype() is {dtype}", "GLOBAL_STATE")
        self.add(f"{self.space.name(get_default_device)}() is {self.space.name(device)} or "
                 f"{self.space.name(get_default_device)}() == {self.space.name(device)}",
                 f"torch.get_default_device() == {device}", "DEFAULT_DEVICE")

    # -- the function ----------------------------------------------------------------------------------------------

    def filter(self, function: Callable[[list[GuardFilterEntry]], Iterable[bool]]) -> None:
        """Keep the guards for which a function of all of them returns True. Those of tensors become assertions: a
        program for another layout would read other memory.

        Raises:
            AssertionError: if it does not return a bool for each guard.
        """
        found, self.is_filtered = [*self.found.values()], True
        kept = [*function([self._entry(guard) for guard in found])]
        if len(kept) != len(found) or not all(one is True or one is False for one in kept):
            raise AssertionError(f"guard_filter_fn returned {len(kept)} values for {len(found)} guards, which have to "
                                 "be True or False")
        dropped = [guard for guard, is_kept in zip(found, kept, strict=True) if not is_kept]
        for guard in dropped:
            for condition in guard.conditions:
                said = self.conditions.pop(condition)
                self.lines.remove((condition, said))
                if guard.kind == "TENSOR_MATCH":
                    self.asserted.append((condition, said))
        sources = [guard.source for guard in dropped if guard.kind == "TENSOR_MATCH"]
        self.tensors = [source for source in self.tensors if source not in sources]

    def _entry(self, guard: Guard) -> GuardFilterEntry:
        root = source = guard.source
        while root is not None:
            guard.module = guard.module or self._modules.get(root)
            if root.base is None:
                break
            root = root.base
        name = "" if source is None else re.sub(r"^L\['(\w+)'\]", r"\1", source.name)
        is_global = root is not None and (not root.form.isidentifier() or root.form in self.space.objects) and (
            not root.form.startswith("_C["))
        return GuardFilterEntry(name, source is not None, guard.value, guard.kind, (guard.kind,), is_global, guard)

    def finish(self) -> None:
        """Add the last guard: which tensors are one object."""
        if len(self.tensors) > 1:
            names = [self.at(source) for source in self.tensors]
            count, identity = self.space.name(len), self.space.name(id)
            ids = ", ".join(f"{identity}({name})" for name in names)
            self.add(" is not ".join(names) if len(names) == 2 else f"{count}({{{ids}}}) == {len(names)}",
                     "no two tensors are one", "TENSOR_MATCH")

    def forget(self) -> None:
        """Release the values that are guarded."""
        self.found, self._modules = {}, {}

    def before(self, signature: str, name: str, lines: list[str]) -> str:
        """Return the source of a function that runs ``lines`` if the guards hold, and else returns ``missed``."""
        asserted = [f"if not ({condition}): raise AssertionError({f'a guard that was dropped fails: {said}'!r})"
                    for condition, said in self.asserted]
        return self._source(signature, name, f"return {self.space.name(missed)}", [*asserted, *lines])

    def left_out(self, signature: str, name: str, lines: list[str]) -> str:
        """Return the source of a function that runs ``lines`` whether the guards hold or not."""
        read = [text for text, _ in self._needed(lines, checks=False)]
        return "\n".join([f"def {name}({signature}):", *[f"    {line}" for line in (*read, *lines)], ""])

    def alone(self, signature: str, name: str) -> str:
        """Return the source of a function that returns whether the guards hold."""
        return self._source(signature, name, "return False", ["return True"])

    def explaining(self, signature: str, name: str) -> str:
        """Return the source of a function that returns the first condition that fails, as it is printed, or None."""
        return self._source(signature, name, "return {said!r}", ["return None"])

    def _needed(self, held: list[str], checks: bool = True) -> list[tuple[str, str]]:
        """Return the conditions, and the assignments that they or the lines behind them need."""
        if checks and not self.is_filtered:
            return self.lines
        needed, lines = {*re.findall(r"\b_v\d+\b", "\n".join(held))}, list[tuple[str, str]]()
        for text, said in reversed(self.lines):
            name, _, value = text.partition(" = ")
            if (said and checks) or (not said and name in needed):
                needed.update(re.findall(r"\b_v\d+\b", text if said else value))
                lines.append((text, said))
        return lines[::-1]

    def _source(self, signature: str, name: str, failed: str, held: list[str]) -> str:
        lines = [f"def {name}({signature}):", "    try:"]
        said_before = "the arguments have another structure"
        for text, said in self._needed(held):
            if said:
                lines.append(f"        if not ({text}): {failed.format(said=said)}")
                said_before = said
            else:
                lines.append(f"        {text}")
        if len(lines) == 2:
            lines.append("        pass")
        lines += ["    except (AttributeError, KeyError, IndexError, TypeError, ValueError):",
                  f"        {failed.format(said=said_before)}", *[f"    {line}" for line in held]]
        return "\n".join(lines) + "\n"



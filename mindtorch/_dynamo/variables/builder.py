"""From values to variables: with guards for those that are read from a source, without for those that the program made
(``torch._dynamo.variables.builder``).
"""
from __future__ import annotations

import enum
import functools
import itertools
import types
from collections import OrderedDict, defaultdict, deque
from typing import Any

import numpy as np

from ..._base.size import Size
from ..._device import device
from ..._dispatch.overloads import OpOverload, OpOverloadPacket
from ..._dtype import DType
from ..._guards import Source
from ..._higher_order_ops._operator import GraphOperator
from ..._tensor import Tensor
from ...library import CustomOpDef
from ...nn.module import Module
from ..exc import Break
from ..trace_rules import PACKAGE, is_in_graph, module_of, substitutes, why_skipped
from .base import SYMBOLIC, BoundBuiltin, Codegen, ConstantVariable, Translator, Variable, fold
from .builtin import HANDLERS, POLYFILLS, SPECIAL, BuiltinVariable
from .containers import CountVariable, DictVariable, ListVariable, SetVariable, TupleVariable
from .contexts import MODES, ContextVariable
from .control_flow import CONTROL_FLOW
from .functions import MethodVariable, PartialVariable, UserFunction
from .higher_order import TransformVariable, wrapper
from .objects import ClassVariable, PythonModule, UserObject
from .symbols import SymbolVariable
from .torch_functions import KNOWN, TorchFunction

PLAIN = (int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented))
#: Values that are compared when they are guarded.
COMPARED = (int, float, complex, str, bytes, range, slice, device, np.dtype)
HEAP_TYPE = 1 << 9  #: ``Py_TPFLAGS_HEAPTYPE``: the class was made by a class statement
BUILTINS = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
            types.MethodWrapperType, types.ClassMethodDescriptorType, np.ufunc, type(np.mean))


class Opaque(Variable):
    """An object that the interpreter does not know; it may be passed on."""

    def __init__(self, real: Any, source: Source | None = None) -> None:
        self.real, self.source = real, source

    @property
    def value(self) -> Any:
        return super().value if self.source is not None else self.real

    def python_type(self) -> type:
        return type(self.real)

    def key(self) -> Any:
        return self.real if type(self.real).__hash__ is not None else super().key()

    def reconstruct(self, cg: Codegen) -> str:
        return cg.object(self.real)

    def iterator(self, tx: Translator) -> Variable:
        raise Break(f"iteration over {self}, which may change unseen")

    def next(self, tx: Translator) -> Variable:
        raise Break(f"iteration over {self}, which may change unseen")

    def __str__(self) -> str:
        return f"a {type(self.real).__module__}.{type(self.real).__qualname__}"


class SkippedFunction(Variable):
    """A function that is called outside of the graph."""

    def __init__(self, real: Any, reason: str) -> None:
        self.real, self.reason = real, reason

    @property
    def value(self) -> Any:
        return self.real

    def python_type(self) -> type:
        return type(self.real)

    def attribute(self, tx: Translator, name: str) -> Variable:
        return tx.made(fold(tx, getattr, self.real, name))

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        raise Break(self.reason)

    def key(self) -> Any:
        return self.real

    def reconstruct(self, cg: Codegen) -> str:
        return cg.object(self.real)

    def __str__(self) -> str:
        return f"the function {getattr(self.real, '__qualname__', self.real)}"

SPECIAL.update({id(function): handler for function, handler in CONTROL_FLOW.items()})


def made(tx: Translator, value: Any) -> Variable:
    """Return the variable of a value that needs no guards."""
    if isinstance(value, Variable):
        return value
    kind = type(value)
    if kind in PLAIN or isinstance(value, (DType, device, enum.Enum, range, slice, np.dtype, types.CodeType)) or (
            kind.__module__ == f"{PACKAGE}._base.layout" or kind.__name__ in ("layout", "memory_format", "finfo",
                                                                               "iinfo")):
        return ConstantVariable(value)
    if kind in SYMBOLIC:
        return SymbolVariable(tx.output, value)
    if isinstance(value, type):
        return BuiltinVariable(value) if value in HANDLERS or value in POLYFILLS else ClassVariable(value)
    if isinstance(value, Tensor):
        return tx.output.attribute(value)
    if isinstance(value, tuple) and (kind is tuple or kind is Size or hasattr(kind, "_fields")
                                     or kind.__module__.startswith((PACKAGE, "torch"))):
        return TupleVariable([made(tx, item) for item in value], kind=kind if kind is Size or hasattr(kind, "_fields")
                             else tuple)
    if kind in (list, deque):
        return ListVariable([made(tx, item) for item in value], kind=kind)
    if kind in (dict, OrderedDict, defaultdict, types.MappingProxyType):
        factory = made(tx, value.default_factory) if kind is defaultdict else None
        return DictVariable([(made(tx, key), made(tx, item)) for key, item in value.items()],
                            kind=dict if kind is types.MappingProxyType else kind, factory=factory)
    if kind in (set, frozenset):
        return SetVariable([made(tx, item) for item in value], kind=kind)
    return _callable(tx, value, None) or _other(tx, value)


def _other(tx: Translator, value: Any) -> Variable:
    if isinstance(value, types.ModuleType):
        return PythonModule(value)
    if isinstance(value, MODES):
        return ContextVariable.of(value)
    if isinstance(value, itertools.count):
        return Opaque(value)
    if type(value).__flags__ & HEAP_TYPE:
        known = tx.output.known.get(id(value))
        return known or tx.output.remember(value, UserObject(type(value), value))
    return Opaque(value)


def _callable(tx: Translator, value: Any, source: Source | None) -> Variable | None:
    """Return the variable of a function; with a source, guard it."""
    if id(value) in substitutes:
        return made(tx, substitutes[id(value)])
    if isinstance(value, types.FunctionType):
        inner = vars(value).get("_torchdynamo_orig_callable")
        if inner is not None and not getattr(value, "_torchdynamo_disable", False):
            return made(tx, inner)
        special = BuiltinVariable.special(value)
        if (of_transform := wrapper(tx, value, source)) is not None:
            return of_transform
        if (not special and is_in_graph(value)) or (value.__name__ in KNOWN
                                                    and module_of(value).startswith(PACKAGE)):
            return TorchFunction(value)
        reason = why_skipped(value)
        return BuiltinVariable(value) if special else SkippedFunction(value, reason) if reason else UserFunction(
            value, source)
    if isinstance(value, types.MethodType):
        owner, function = value.__self__, value.__func__
        if isinstance(owner, type) and is_in_graph(value):
            return TorchFunction(value)
        if source is None:
            return MethodVariable(made(tx, function), made(tx, owner))
        return MethodVariable(wrap(tx, function, source.attribute("__func__")),
                              wrap(tx, owner, source.attribute("__self__")), source)
    if isinstance(value, functools.partial):
        if source is None:
            return PartialVariable(made(tx, value.func), [made(tx, arg) for arg in value.args],
                                   {key: made(tx, arg) for key, arg in value.keywords.items()})
        at = source.attribute("args"), source.attribute("keywords")
        tx.output.guards.length(at[0], value.args)
        tx.output.guards.keys(at[1], value.keywords)
        return PartialVariable(
            wrap(tx, value.func, source.attribute("func")),
            [wrap(tx, arg, at[0].item(str(number))) for number, arg in enumerate(value.args)],
            {key: wrap(tx, arg, at[1].item(repr(key))) for key, arg in value.keywords.items()}, source)
    if isinstance(value, GraphOperator):
        return BuiltinVariable(value)
    if isinstance(value, (OpOverload, OpOverloadPacket)):
        return TorchFunction(value)
    if isinstance(value, CustomOpDef):
        return TorchFunction(value._opoverload)
    if isinstance(value, functools._lru_cache_wrapper):
        return made(tx, value.__wrapped__)
    if isinstance(value, types.BuiltinMethodType) and not isinstance(
            value.__self__, (types.ModuleType, type, type(None))) and source is None:
        return BoundBuiltin(made(tx, value.__self__), value.__name__)
    if isinstance(value, BUILTINS):
        return BuiltinVariable(value)
    return None


def wrap(tx: Translator, value: Any, source: Source) -> Variable:
    """Return the variable of a value that the call reads from a source, and guard it."""
    guards, output = tx.output.guards, tx.output
    kind = type(value)
    known = output.known.get(id(value))
    if known is not None and not isinstance(value, (types.ModuleType, type)):
        if known.source is not None and known.source != source:
            guards.twins(source, known.source)
        return known
    if kind in PLAIN or isinstance(value, COMPARED):
        guards.constant(source, value)
        return ConstantVariable(value, source)
    if isinstance(value, Tensor):
        return output.input(value, source)
    if isinstance(value, (type, types.ModuleType)):
        guards.identity(source, value)
        return made(tx, value)
    if isinstance(value, (tuple, list, dict, set, frozenset, deque)) and (
            kind in _WRAPPERS or kind.__module__ in (PACKAGE, "torch") or hasattr(kind, "_fields")):
        guards.type(source, value)
        handler = _WRAPPERS.get(kind) or _sequence
        return handler(tx, value, source)
    function = _function(tx, value, source)
    if function is not None:
        return function
    if isinstance(value, (enum.Enum, DType)) or type(made(tx, value)) is ConstantVariable:
        guards.identity(source, value)
        return made(tx, value)
    if isinstance(value, MODES):
        guards.identity(source, value)
        return ContextVariable.of(value)
    if isinstance(value, Module) and "_orig_mod" in value._modules and type(value).__name__ == "OptimizedModule" and (
            not hasattr(value._compiled, "_torchdynamo_disable_msg")):
        return wrap(tx, value._orig_mod, source.attribute("_orig_mod"))
    guards.type(source, value)
    if not kind.__flags__ & HEAP_TYPE and kind is not types.SimpleNamespace:
        return output.remember(value, Opaque(value, source))
    base = next((one for one in kind.__mro__ if one in _WRAPPERS), None)
    inside = None
    if base is not None:
        inside = _WRAPPERS[base](tx, value, source)
        output.known.pop(id(value), None)
    return output.remember(value, UserObject(kind, value, source, inside))


def _function(tx: Translator, value: Any, source: Source) -> Variable | None:
    found = _callable(tx, value, source)
    if found is None:
        return None
    if isinstance(found, UserFunction) and found.source is source:
        if module_of(value).startswith(PACKAGE):
            tx.output.guards.identity(source, value)
            found.source = None
            return found
        tx.output.guards.code(source, value.__code__)
        return tx.output.remember(value, found)
    if not isinstance(found, (MethodVariable, PartialVariable, TransformVariable)) or found.source is None:
        tx.output.guards.identity(source, value)
    return found


def _sequence(tx: Translator, value: Any, source: Source) -> Variable:
    tx.output.guards.length(source, value)
    items: list[Variable] = []
    kind = type(value)
    if isinstance(value, tuple):
        made_one: Any = TupleVariable(items, source, kind if kind is Size or hasattr(kind, "_fields") else tuple)
    else:
        made_one = ListVariable(items, source, kind if kind in (list, deque) else list)
        if isinstance(value, deque):
            made_one.maxlen = value.maxlen
    tx.output.remember(value, made_one)
    plain = kind.__getitem__ in (tuple.__getitem__, list.__getitem__, deque.__getitem__, Size.__getitem__)
    for number, item in enumerate(tuple.__iter__(value) if isinstance(value, tuple) else value):
        own = Source(f", {number})", source, "tuple.__getitem__(")  # past the method of a user's class
        items.append(wrap(tx, item, source.item(str(number)) if plain else own))
    return made_one


def _dictionary(tx: Translator, value: Any, source: Source) -> Variable:
    kind = type(value)
    plain = all(isinstance(key, (*PLAIN, enum.Enum)) for key in value)
    if plain:
        tx.output.guards.keys(source, value)
    else:
        tx.output.guards.length(source, value)
    found = DictVariable([], source, kind if kind in (OrderedDict, defaultdict) else dict)
    tx.output.remember(value, found)
    if isinstance(value, defaultdict):
        found.factory = wrap(tx, value.default_factory, source.attribute("default_factory"))
    keys = Source("]", source, "[*")
    for number, (key, item) in enumerate(value.items()):
        if plain:
            name, at = ConstantVariable(key), source.item(repr(key) if type(key) in PLAIN else tx.output.object(key))
        else:
            spot = keys.item(str(number))
            name, at = wrap(tx, key, spot), Source(f"[{spot.expression}]", source)  # type: ignore[assignment]
        found.entries[name.key()] = (name, wrap(tx, item, at))
    return found


def _set(tx: Translator, value: Any, source: Source) -> Variable:
    if not all(isinstance(item, (*PLAIN, enum.Enum, DType, type, tuple)) for item in value):
        raise Break("a set of objects that guards do not compare")
    tx.output.guards.members(source, value)
    return tx.output.remember(
        value, SetVariable([made(tx, item) for item in value], source, type(value)))


_WRAPPERS: dict[type, Any] = {tuple: _sequence, list: _sequence, deque: _sequence, Size: _sequence, dict: _dictionary,
                              OrderedDict: _dictionary, defaultdict: _dictionary, set: _set, frozenset: _set}
__all__ = ["CountVariable", "made", "wrap"]

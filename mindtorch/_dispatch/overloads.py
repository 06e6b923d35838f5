"""``torch.ops``: the operators as objects, under ATen's names: ``torch.ops.aten.add.Tensor``.

A ``__torch_dispatch__`` receives these objects. An overload stands for one ``Operator``, a packet for all overloads of
a name, a namespace for the operators of one library.
"""
from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from .._base import formats
from .._base.about import about
from .._base.backend import by_key
from .binding import Mismatch, asks_handlers, bind, by_types, check_out, keep_binder, resolve_overload, settled
from .dispatcher import has_derivative, keys_of, resolve
from .keys import AUTOGRAD, BACKENDS, CPU, META, NPU, PYTHON, DispatchKeySet
from .registry import Operator
from .schema import REQUIRED, Parameter
from .schemas import registry
from .tags import Tag, tags_of
from .torch_function import asked, handle

#: ATen's overload names where they differ from the tables', by ``packet`` or ``packet.overload``.
ATEN_NAMES = {
    "add.Tensor_out": "out", "sub.Tensor_out": "out", "mul.Tensor_out": "out",
    "div.Tensor_out": "out", "subtract.Tensor_out": "out", "multiply.Tensor_out": "out", "divide.Tensor_out": "out",
    "div.Tensor_mode_out": "out_mode", "divide.Tensor_mode_out": "out_mode", "true_divide.Tensor_out": "out",
    "copysign.Tensor_out": "out", "ldexp.Tensor_out": "out", "xlogy.Tensor_out": "OutTensor",
    "xlogy.Scalar_Other_out": "OutScalar_Other", "xlogy.Scalar_Self_out": "OutScalar_Self",
    "sum.dim_IntList_out": "IntList_out", "prod.dim_int_out": "int_out", "mean.dim_out": "out", "var.dim_out": "out",
    "std.dim_out": "out", "all.dim_out": "out", "any.dim_out": "out", "max.other_out": "out", "min.other_out": "out",
    "max.dim_out": "dim_max", "min.dim_out": "dim_min", "sort.out": "values", "sort.stable_out": "values_stable",
    "topk.out": "values", "kthvalue.out": "values", "mode.out": "values", "median.dim_out": "dim_values",
    "nanmedian.dim_out": "dim_values", "norm.ScalarOpt_dim_out": "out", "linalg_inv_ex.out": "inverse",
    "linalg_cholesky_ex.out": "L", "triangular_solve.out": "X", "geqrf.out": "a", "linalg_svd.out": "U",
    "linalg_eigh.out": "eigvals", "qr.out": "Q", "svd.out": "U", "linalg_pinv.rcond_tensor_out": "out_rcond_tensor",
    "linalg_matrix_rank.tol_tensor_out": "out_tol_tensor", "fractional_max_pool2d.out": "output",
    "fractional_max_pool3d.out": "output", "pow_.Tensor_Scalar": "Scalar", "pow_.Tensor_Tensor": "Tensor",
    "float_power_.Tensor_Scalar": "Scalar", "float_power_.Tensor_Tensor": "Tensor", "floor_divide_": "Tensor",
}
OURS = {f"{name.partition('.')[0]}.{there}": name for name, there in ATEN_NAMES.items()}


class AliasInfo(NamedTuple):
    """The memory of an argument or a result, by letters, and whether it is written."""

    before_set: frozenset[str]
    after_set: frozenset[str]
    is_write: bool


class Argument:
    """A parameter or a result of a schema (``torch._C.Argument``)."""

    def __init__(self, name: str, kind: str, parameter: Parameter | None = None, alias: AliasInfo | None = None):
        self.name, self.type, self._parameter, self.alias_info = name, kind, parameter, alias
        self.kwarg_only = parameter is not None and parameter.kwarg_only
        self.is_write = alias is not None and alias.is_write
        self.is_out = self.is_write and self.kwarg_only
        self.N = None if parameter is None else parameter.size

    def has_default_value(self) -> bool:
        """Return True if the argument may be omitted."""
        return self._parameter is not None and self._parameter.default is not REQUIRED

    @property
    def default_value(self) -> Any:
        return self._parameter.default if self._parameter is not None and self.has_default_value() else None

    def __repr__(self) -> str:
        return f"Argument(name={self.name!r}, type={self.type})"


class FunctionSchema:
    """An operator's schema, as a ``__torch_dispatch__`` receives it (``torch._C.FunctionSchema``)."""

    def __init__(self, op: Operator, namespace: str, overload: str):
        self._op, self.overload_name = op, overload
        self.name = f"{namespace}::{op.packet.rpartition('::')[2]}"
        kernel = op.kernel(CPU)
        self._is_view = kernel is not None and kernel.makes_view
        written = set(op.writes)
        parameters = list(op.schema.parameters)
        if op.is_out:
            parameters += [Parameter("out", "Tensor", kwarg_only=True)]
            written = {len(parameters) - 1}
        self.arguments = [Argument(p.name, _type_text(p), p, self._alias(i, p, i in written))
                          for i, p in enumerate(parameters)]
        returned = op.text.rpartition("-> ")[2]
        kinds = [part.split()[0] for part in returned.strip("()").split(", ") if part]
        shared = next((a.alias_info for a in self.arguments if a.alias_info is not None), None)
        self.returns = [Argument(name, kind.partition("(")[0], None, shared)
                        for name, kind in zip(op.schema.returns, kinds, strict=False)]

    def _alias(self, position: int, parameter: Parameter, written: bool) -> AliasInfo | None:
        if not written and not (self._is_view and parameter.is_tensor and not position):
            return None
        return AliasInfo(frozenset("a"), frozenset("a"), written)

    @property
    def is_mutable(self) -> bool:
        """True if an argument is written."""
        return any(argument.is_write for argument in self.arguments)

    def __str__(self) -> str:
        def marked(kind: str, alias: AliasInfo | None) -> str:
            if alias is None or not kind.startswith("Tensor"):
                return kind
            return f"Tensor(a{'!' * alias.is_write}){kind[6:]}"

        parts: list[str] = []
        for argument in self.arguments:
            if argument.kwarg_only and "*" not in parts:
                parts.append("*")
            default = f"={_default_text(argument.default_value)}" if argument.has_default_value() else ""
            parts.append(f"{marked(argument.type, argument.alias_info)} {argument.name}{default}")
        returns = [marked(r.type, r.alias_info) + (f" {r.name}" if r.name else "") for r in self.returns]
        dotted = f".{self.overload_name}" if self.overload_name else ""
        result = returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
        return f"{self.name}{dotted}({', '.join(parts)}) -> {result}"

    __repr__ = __str__


def _type_text(parameter: Parameter) -> str:
    brackets = f"[{parameter.size or ''}]" if parameter.is_list else ""
    return f"{parameter.base}{'?' * parameter.inner_optional}{brackets}{'?' * parameter.optional}"


def _default_text(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


class OpOverload:
    """One overload of an operator (``torch._ops.OpOverload``); calling it dispatches."""

    def __init__(self, packet: OpOverloadPacket, op: Operator, overload: str):
        self._overloadpacket, self._operator = packet, op
        self._overloadname = overload or "default"
        self.namespace, self._opname = packet._namespace, packet._opname
        self.__name__ = f"{self._opname}.{self._overloadname}"
        self.__qualname__ = f"{self.namespace}.{self.__name__}"
        self.__module__ = packet.__module__
        self.py_kernels: dict[Any, Callable[..., Any]] = {}
        self._binders: dict[Any, Callable[..., Any]] = {}
        self._call = by_types(self._binders, self._first_call)

    @cached_property
    def _schema(self) -> FunctionSchema:
        return FunctionSchema(self._operator, self.namespace,
                              "" if self._overloadname == "default" else self._overloadname)

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """All overloads of this name."""
        return self._overloadpacket

    @property
    def _called(self) -> Operator:
        """The operator that is called: that of tensors takes numbers, too, but its node is another."""
        return registry[self.__name__] if self.__name__ in OF_NUMBERS and self.namespace == "aten" else self._operator

    @property
    def op(self) -> Callable[..., Any]:
        return self._called.call

    @property
    def tags(self) -> list[Tag]:
        """The operator's tags (``torch.Tag``)."""
        return tags_of(self._operator, self._overloadpacket.__name__, self._overloadname)

    @property
    def is_view(self) -> bool:
        """True if the output is a view of the first input."""
        return self._schema._is_view

    def name(self) -> str:
        """Return the name in the dispatcher: ``aten::add.Tensor``."""
        return self._schema.name + (f".{self._overloadname}" if self._overloadname != "default" else "")

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def _first_call(self, args: tuple[Any, ...], kwargs: dict[str, Any], kinds: Any = None) -> Any:
        if (found := asked(args, kwargs)) is not None:
            return handle(self, found, args, kwargs)
        canonical, op = settled(self._canonical(args, kwargs)), self._called
        names = {*op.schema.positions, *["out"] * (op.is_out and len(op.schema.returns) == 1)}
        if kinds and kwargs.keys() <= names and not asks_handlers(args, kwargs):
            keep_binder(self._binders, kinds, args, kwargs, canonical, op, self._first_call)
        return op.call(*canonical)

    def _canonical(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Convert arguments to the schema's order and types. Raises PyTorch's RuntimeError if they do not fit."""
        op = self._operator
        out: list[Any] = []
        if op.is_out:
            kwargs, given = _without_out(op, kwargs)
            if given is None:
                raise RuntimeError(f"{self._schema.name}() is missing value for argument 'out'. Declaration: "
                                   f"{self._schema}")
            out = [given]
        kwargs = {key: value for key, value in kwargs.items()
                  if key in op.schema.positions or key not in ("layout", "pin_memory", "device")}
        try:
            for given in out:
                check_out(op, given)
            return (*bind(op, args, kwargs), *out)
        except (Mismatch, TypeError) as reason:
            raise RuntimeError(f"{self.name()}() {reason}") from None

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """Run the operator by its composite definition, or return ``NotImplemented`` if it has none
        (``torch._ops.OpOverload.decompose``).
        """
        if not self.is_composite:
            return NotImplemented
        composite: Any = self._operator.kernel(CPU)
        return composite.fn(*self._canonical(args, kwargs))

    @property
    def is_composite(self) -> bool:
        """True if autograd and modes receive the operators that this one calls ("CompositeImplicitAutograd")."""
        kernel = self._operator.kernel(CPU)
        return (kernel is not None and kernel.composite and not self._operator.is_explicit
                and not has_derivative(self._operator))

    def redispatch(self, keyset: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        """Run the operator's function for a set of dispatch keys (``torch._ops.OpOverload.redispatch``)."""
        canonical = self._canonical(args, kwargs)
        keys = keyset.bits & (AUTOGRAD | PYTHON | BACKENDS) | keys_of(canonical) & ~(AUTOGRAD | PYTHON | BACKENDS)
        return (self._operator.table.get(keys) or resolve(self._operator, keys))(*canonical)

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        """Return True if the operator has a kernel for the key 'CPU', 'Meta' or 'NPU', or is of the kind
        'CompositeImplicitAutograd' or 'CompositeExplicitAutograd'.
        """
        name = getattr(key, "name", key)
        if name == "CompositeImplicitAutograd":
            return self.is_composite
        if name == "CompositeExplicitAutograd":
            kernel = self._operator.kernel(CPU)
            return kernel is not None and kernel.composite and not self.is_composite
        backend = {"CPU": CPU, "Meta": META, "NPU": NPU}.get(name)
        found = None if backend not in by_key or backend is None else self._operator.kernel(backend)
        return name in self.py_kernels or (found is not None and not found.composite)

    def py_impl(self, key: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorate a function that replaces ``__torch_dispatch__`` for a ``TorchDispatchMode`` class or a tensor
        subclass (``torch._ops.OpOverload.py_impl``).
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.py_kernels[key] = function
            return function

        return register

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return self.__qualname__

    def __hash__(self) -> int:
        return hash(self._operator)

    def __copy__(self) -> OpOverload:
        return self

    def __deepcopy__(self, memo: Any = None) -> OpOverload:
        return self

    def __reduce__(self) -> Any:
        return _overload_named, (self.namespace, self._opname, self._overloadname)


def _without_out(op: Operator, kwargs: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Separate the keywords from the outputs among them: a tensor, a tuple of several, or None."""
    returns = op.schema.returns
    unnamed = (f"out{i}" for i in range(len(returns)))  # ATen's names for unnamed results
    names = [name for name in ("out", *returns, *unnamed) if name in kwargs]
    given = tuple(kwargs[name] for name in names)
    rest = {name: value for name, value in kwargs.items() if name not in names}
    return rest, given if len(given) > 1 else given[0] if given else None


def _overload_named(namespace: str, name: str, overload: str) -> Any:
    return getattr(getattr(getattr(ops, namespace), name), overload)


class OpOverloadPacket:
    """All overloads of one name (``torch._ops.OpOverloadPacket``); calling it chooses the overload that fits."""

    def __init__(self, namespace: str, name: str):
        self._namespace, self._opname = namespace, name
        self._name = name if namespace == "aten" else f"{namespace}::{name}"
        self._qualified_op_name = f"{namespace}::{name}"
        self.__name__, self.__module__ = name, f"torch._ops.{namespace}"
        self._dir: list[str] = []
        self._binders: dict[Any, Callable[..., Any]] = {}
        self._call = by_types(self._binders, self._first_call)

    def overloads(self) -> list[str]:
        """Return the names of the overloads; the unnamed one is 'default'."""
        found = [op for name, op in registry.operators.items() if op.packet == self._name]
        return [ATEN_NAMES.get(op.name, op.overload) or "default" for op in found]

    def __getattr__(self, overload: str) -> Any:
        if overload.startswith("__"):
            raise AttributeError(overload)
        dotted = self._name if overload == "default" else f"{self._name}.{overload}"
        op = registry.operators.get(OURS.get(dotted, dotted))
        by_number = op is None and overload == "Scalar"
        if by_number:
            op = registry.operators.get(f"{self._name}.Tensor")
        if op is None or (not by_number and ATEN_NAMES.get(op.name, overload) != overload):
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{overload}'")
        found = self.__dict__[overload] = overload_of(op, by_number)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.overloads())

    @property
    def op(self) -> OpOverloadPacket:
        return self

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def _first_call(self, args: tuple[Any, ...], kwargs: dict[str, Any], kinds: Any = None) -> Any:
        if (found := asked(args, kwargs)) is not None:
            return handle(self, found, args, kwargs)
        named, out = _without_out(registry[self._name], kwargs)
        try:
            op, canonical = resolve_overload(self._name, args, named, out=out is not None)
            if out is not None:
                check_out(op, out)
        except TypeError as error:
            raise RuntimeError("Overloaded torch operator invoked from Python failed to match any schema:\n"
                               f"{error}") from error
        if out is not None:
            return op.out_form.call(*canonical, out)
        if kinds and not asks_handlers(args, kwargs):
            keep_binder(self._binders, kinds, args, kwargs, canonical, op, self._first_call)
        return op.call(*canonical)

    def _forget(self) -> None:
        """Look for the overloads anew, of which a library removes some."""
        self._binders.clear()
        for overload in [name for name, value in vars(self).items() if isinstance(value, OpOverload)]:
            delattr(self, overload)

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self) -> str:
        return f"{self._namespace}.{self._opname}"

    def __reduce__(self) -> Any:
        return packet_of, (self._namespace, self._opname)

    def __hash__(self) -> int:
        return hash(self._name)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, OpOverloadPacket) and other._name == self._name


#: Operators whose overload that of tensors stands for, which takes numbers.
OF_NUMBERS = frozenset({"add.Scalar", "sub.Scalar", "mul.Scalar", "div.Scalar"})
_overloads: weakref.WeakKeyDictionary[Operator, dict[str, OpOverload]] = weakref.WeakKeyDictionary()
_packets: dict[str, OpOverloadPacket] = {}


def packet_of(namespace: str, name: str) -> OpOverloadPacket:
    """Return the packet of a name, always the same object."""
    if (found := _packets.get(f"{namespace}::{name}")) is None:
        found = _packets[f"{namespace}::{name}"] = OpOverloadPacket(namespace, name)
    return found


def overload_of(op: Operator, by_number: bool = False) -> OpOverload:
    """Return an operator's overload; ``by_number`` its ``Scalar`` overload. It is always the same object."""
    if op.name in OF_NUMBERS:
        op, by_number = registry[f"{op.packet}.Tensor"], True
    made = _overloads.setdefault(op, {})
    name = "Scalar" if by_number else ATEN_NAMES.get(op.name, op.overload)
    if name not in made:
        namespace, _, packet = op.packet.rpartition("::")
        made[name] = OpOverload(packet_of(namespace or "aten", packet), op, name)
    return made[name]


class _OpNamespace(ModuleType):
    """The operators of one library: ``torch.ops.aten``."""

    def __init__(self, name: str):
        super().__init__(f"torch.ops.{name}")
        self.name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        packet = name if self.name == "aten" else f"{self.name}::{name}"
        if packet not in registry.packets:
            raise about(AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'"),
                        "unknown operator", name=name)
        found = self.__dict__[name] = packet_of(self.name, name)
        return found

    def __dir__(self) -> list[str]:
        prefix = "" if self.name == "aten" else f"{self.name}::"
        return sorted(packet[len(prefix):] for packet in registry.packets
                      if packet.startswith(prefix) and ("::" in packet) == bool(prefix))


#: Libraries in C++ by the end of their path, and the modules that define their operators in Python.
LIBRARIES: dict[str, Callable[[], None]] = {}


class _Ops(ModuleType):
    """Finds every operator by its names, as in ``torch.ops.aten.add.Tensor``."""

    def __getattr__(self, name: str) -> _OpNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        found = _OpNamespace(name)
        setattr(self, name, found)
        return found

    def load_library(self, path: Any) -> None:
        """Define the operators of a library in C++ that mindtorch has in Python (``torch.ops.load_library``).

        Raises:
            OSError: PyTorch's type, for another library: mindtorch runs no C++.
        """
        file = Path(path)
        define = LIBRARIES.get(f"{file.parent.name}/{file.name.partition('.')[0]}")  # of X.so, as of X.abi3.so
        if define is not None:
            return define()
        raise OSError(f"Could not load this library: {path}: mindtorch runs no operators in C++; torch.library takes "
                      "operators in Python")


ops = _Ops("torch.ops")


def forget(packet: str) -> None:
    """Look for a packet anew, of which a library removes overloads."""
    namespace, _, name = packet.rpartition("::")
    packet_of(namespace or "aten", name)._forget()
    vars(getattr(ops, namespace or "aten")).pop(name, None)


registry.on_undefine.append(forget)


def shown_arguments(op: Operator, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return canonical arguments as a ``__torch_dispatch__`` receives them: keyword-only by name, without defaults."""
    given, keywords = [], {}
    for value, parameter in zip(args, op.schema.parameters, strict=False):
        if parameter.base == "MemoryFormat" and isinstance(value, str):
            value = getattr(formats, value)
        elif parameter.is_list and isinstance(value, tuple):
            value = list(value)
        if not parameter.kwarg_only:
            given.append(value)
        elif not _is_default(value, parameter):
            keywords[parameter.name] = value
    while given and _is_default(given[-1], op.schema.parameters[len(given) - 1]):
        given.pop()
    if op.is_out:
        out, names = args[-1], op.schema.returns
        keywords.update({"out": out} if len(names) == 1 else dict(zip(names, out, strict=True)))
        if len(args) - 1 < len(given):
            given.pop()
    return tuple(given), keywords


def _is_default(value: Any, parameter: Parameter) -> bool:
    default = parameter.default
    if value is default:
        return True
    if isinstance(value, list) and isinstance(default, tuple):
        return value == list(default)
    return value.__class__ is default.__class__ and value.__class__ in (int, float, bool, str) and value == default

"""Bind a user's call to an operator: choose the overload, convert the arguments, fill in defaults, report errors.

A packet (all overloads of one name) becomes one function. It caches the overload by the types of the positional
arguments, so a call such as ``x.sum(1)`` is bound once per combination of types.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from inspect import Signature
from typing import Any, cast

import numpy as np

from .._base.about import about, wrong_argument
from .._base.formats import layout, memory_format
from .._base.generated import define
from .._base.size import Size
from .._base.symbolic import INTS, SYMBOLIC, as_float
from .._device import CPU, device, device_named
from .._dtype import INTEGER, PYTHON_DTYPES, DType
from . import dispatcher, return_types as return_types
from .dispatcher import TENSOR_TYPES
from .keys import AUTOGRAD, BATCHED, CPU as ON_CPU, DUAL, FUNCTION, META, PYTHON
from .local import local
from .registry import Operator, registry
from .schema import REQUIRED, Parameter
from .signature import annotations_of, document, merged, returned
from .torch_function import MISSING, PLAIN, asked, handle, overridable, overriding, present, remembered

NUMBERS = (bool, int, float, complex)
ALIASES = {"input": "self", "axis": "dim", "axes": "dim", "keepdims": "keepdim", "x1": "self", "x2": "other",
           "ord": "p", "self": "input"}
Packet = list[Operator] | None
Tensor: Any = None  #: the class, for annotations; set by ``_wiring``
#: Types whose values never affect the choice of overload or the conversion.
DECIDING_TYPES: set[type] = {bool, int, float, complex, type(None), DType, str, device, memory_format, layout}


class Mismatch(Exception):
    """The arguments do not fit this overload. Carries the kind and the facts for a later error."""

    def __init__(self, message: str = "", kind: str = "", **facts: Any):
        super().__init__(message)
        self.kind, self.facts = kind, facts


def convert(parameter: Parameter, value: Any, numbers: bool) -> Any:
    """Convert a value to the parameter's type. Raises Mismatch if it does not fit."""
    if value is None:
        if parameter.optional or parameter.default in (None, ()):
            return parameter.default if parameter.default == () else None
        raise Mismatch
    if parameter.is_list:
        return _convert_list(parameter, value)
    return _convert_one(parameter.base, value, numbers)


def _convert_one(base: str, value: Any, numbers: bool) -> Any:
    kind = value.__class__
    if kind in SYMBOLIC:
        return _convert_symbolic(base, value, numbers)
    if base == "Tensor":
        if kind in TENSOR_TYPES:
            return value
        if numbers and (kind in NUMBERS or isinstance(value, np.number)):
            return value if kind in NUMBERS else value.item()
    elif base == "Scalar":
        if kind in NUMBERS:
            return value
        if isinstance(value, (np.number, np.bool_)):
            return value.item()
        if kind in TENSOR_TYPES and not value.ndim and not value._keys & (AUTOGRAD | DUAL | BATCHED):
            return value.item()
        if isinstance(value, NUMBERS):
            return value
    elif base == "int":
        if kind is int:
            return value
        if kind is not bool and (isinstance(value, (int, np.integer)) or (kind in TENSOR_TYPES and not value.ndim
                                 and value._dtype.category <= 1 and value._dtype.name != "bool")
                                 or (kind is np.ndarray and not value.ndim and value.dtype.kind in "iu")):
            return int(value)
    elif base == "float":
        if kind is float or kind is int or isinstance(value, (float, np.number, np.bool_, int)):
            return float(value)
        if kind in TENSOR_TYPES and not value.ndim and not value._keys & AUTOGRAD:
            return float(value.item())
    elif base == "bool":
        if kind is bool:
            return value
    elif base == "ScalarType":
        if kind is DType:
            return value
        if kind is type and value in PYTHON_DTYPES:
            return PYTHON_DTYPES[value]
    elif base == "Device":
        if isinstance(value, (device, str, int)) and kind is not bool:
            return device(value)
    elif base in ("Any", kind.__name__) if base not in _TAKEN else _TAKEN[base](value):
        return value
    raise Mismatch


def _convert_symbolic(base: str, value: Any, numbers: bool) -> Any:
    """Convert a SymInt, SymFloat or SymBool, which stays symbolic."""
    if base == "Scalar" or (base == "Tensor" and numbers) or (base == "int" and isinstance(value, INTS)):
        return value
    if base == "float":
        return as_float(value)
    if base == "bool":
        return bool(value)
    raise Mismatch


def settled(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of a call that computes, with symbolic numbers replaced by their values, which leaves
    guards. A mode, a class or the meta device takes them as they are.
    """
    if (SYMBOLIC.isdisjoint(map(type, dispatcher.flattened(args))) or (local.dispatch_modes and not local.dispatch_off)
            or dispatcher.keys_of(args) & (PYTHON | META)
            or any(arg.__class__ is device and arg.type == "meta" for arg in args)):
        return args
    return tuple([tuple(map(_value_of, arg)) if arg.__class__ is tuple else _value_of(arg) for arg in args])


def _value_of(value: Any) -> Any:
    return value.node.evaluate() if value.__class__ in SYMBOLIC else value


#: Types whose values are accepted unchanged, by ATen's name.
_TAKEN: dict[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str),
    "Generator": lambda value: hasattr(value, "manual_seed"),
    "MemoryFormat": lambda value: value.__class__ is memory_format,
    "Layout": lambda value: value.__class__ is layout,
    "Storage": lambda value: hasattr(value, "data_ptr") and value.__class__ not in TENSOR_TYPES,
}


def _fits(base: str, value: Any) -> bool:
    try:
        _convert_one(base, value, False)
    except Mismatch:
        return False
    return True


def _convert_list(parameter: Parameter, value: Any) -> Any:
    if parameter.size is not None and not isinstance(value, (list, tuple)):
        item = _convert_one(parameter.base, value, False)
        return (item,) * parameter.size
    if not isinstance(value, (list, tuple)):
        raise Mismatch
    if parameter.base == "Tensor":
        for i, item in enumerate(value):
            if item.__class__ not in TENSOR_TYPES and not (item is None and parameter.inner_optional):
                raise Mismatch(f"expected Tensor as element {i} in argument {{}}, but got {type(item).__name__}",
                               "no tensor in a list", number=i, given=type(item).__name__)
        return list(value)
    return tuple([_convert_one(parameter.base, item, False) for item in value])


def bind(op: Operator, args: tuple[Any, ...], kwargs: dict[str, Any], method: bool = False) -> tuple[Any, ...]:
    """Return the canonical arguments of this overload. Raises Mismatch, with the reason, if the given ones do not fit.
    """
    schema = op.schema
    parameters = schema.parameters
    numbers = "wrapped numbers" in op.flags
    positional = schema.positional
    varargs = 1 if parameters and parameters[0].name == "self" else 0
    sizes: tuple[Any, ...] | None = None
    if ((method or not varargs) and positional == varargs + 1 < len(args) + 1
            and parameters[varargs].is_list and parameters[varargs].base == "int" and parameters[varargs].size is None
            and all(not isinstance(a, (list, tuple, type(None))) for a in args[varargs:])):
        args = (*args[:varargs], sizes := args[varargs:])  # x.view(2, 3), torch.zeros(2, 3)
    if len(args) > positional:
        takes, given = positional - method, len(args) - method
        raise Mismatch(f"{op.packet}() takes {takes} positional argument{'s' * (takes != 1)} but {given} "
                       f"{'was' if given == 1 else 'were'} given")
    values = []
    used = 0
    for i, parameter in enumerate(parameters):
        if i < len(args):
            value = args[i]
        elif parameter.name in kwargs:
            value = kwargs[parameter.name]
            used += 1
        else:
            alias = next((a for a, real in ALIASES.items() if real == parameter.name and a in kwargs), None)
            if alias is not None:
                value = kwargs[alias]
                used += 1
            elif parameter.default is REQUIRED:
                name = "input" if parameter.name == "self" else parameter.name
                raise Mismatch(f'{op.packet}() missing 1 required positional arguments: "{name}"')
            else:
                values.append(parameter.default)
                continue
        try:
            values.append(convert(parameter, value, numbers and i > 0))
        except Mismatch as mismatch:
            if str(mismatch):
                raise Mismatch(str(mismatch).format(i - method), mismatch.kind, **mismatch.facts) from None
            name = "input" if parameter.name == "self" else parameter.name
            where = f" (position {i + (0 if method else 1)})" if i < len(args) else ""
            found = f", not {value.__class__.__name__}"
            if parameter.base == "int" and parameter.is_list and value.__class__ in _LISTS:
                place, item = next(pair for pair in enumerate(value) if not _fits("int", pair[1]))
                found = (f", not {item.__class__.__name__}" if value is sizes else
                         f", but found element of type {item.__class__.__name__} at pos {place}")
            raise Mismatch(f"{op.packet}(): argument '{name}'{where} must be {parameter.type_name()}{found}",
                           "no tensor" if parameter.type_name() == "Tensor" else "", function=op.packet,
                           argument=name, given=value.__class__.__name__) from None
    if used < len(kwargs):
        known = {p.name for p in parameters} | {a for a, real in ALIASES.items() if real in schema.positions}
        extra = next((k for k in kwargs if k not in known), next(iter(kwargs)))
        raise Mismatch(f"{op.packet}() got an unexpected keyword argument '{extra}'",
                       "unknown argument", function=op.packet, keyword=extra)
    return tuple(values)


def resolve_overload(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], method: bool = False,
                     out: bool = False, packet: Packet = None) -> tuple[Operator, tuple[Any, ...]]:
    """Return the first overload that accepts these arguments (and has an ``out=`` form, if ``out``) and its canonical
    arguments. ``packet`` replaces the overloads of that name. Raises PyTorch's TypeError if none does.
    """
    overloads = [op for op in packet or registry.packets[name] if not op.is_out and (not out or "out" in op.flags)]
    if not overloads:
        raise about(TypeError(f"{name}() got an unexpected keyword argument 'out'"),
                    "unknown argument", function=name, keyword="out")
    reasons = []
    for op in overloads:
        try:
            return op, settled(bind(op, args, kwargs, method))
        except Mismatch as reason:
            reasons.append((str(reason), reason.kind, reason.facts))
    other = _older_form(name, args, kwargs, method)
    if other is not None:
        return resolve_overload(name, *other, out=out, packet=packet)
    count = len(args) + len(kwargs)
    plausible = [reason for reason, op in zip(reasons, overloads, strict=True)
                 if sum(p.default is REQUIRED for p in op.schema.parameters) <= count
                 <= len(op.schema.parameters) + ("out" in op.flags)]
    if len(overloads) == 1 or len(plausible) == 1:
        message, kind, facts = (plausible or reasons)[0]
        raise about(TypeError(message), kind, **facts)
    got = ", ".join([*[a.__class__.__name__ for a in args[method:]],
                     *[f"{k}={v.__class__.__name__}" for k, v in kwargs.items()]])
    choices = [_spelled(op, method) for op in overloads]
    raise about(TypeError(f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:"
                          + "".join(f"\n * {choice}" for choice in choices) + "\n"),
                "arguments", function=name, given=got, choices=choices)


def _is_single(op: Operator) -> bool:
    return len(op.schema.returns) == 1 and not op.schema.returns_list


def check_out(op: Operator, out: Any) -> None:
    """Refuse an ``out`` that is no tensor or, of an operator with several results, no tuple of tensors."""
    single = _is_single(op)
    if out.__class__ not in TENSOR_TYPES if single else not isinstance(out, (tuple, list)):
        raise wrong_argument(op.packet, "out", "Tensor" if single else "tuple of Tensors", out)
    for i, part in enumerate(() if single else out):
        if part.__class__ not in TENSOR_TYPES:
            raise TypeError(f"expected Tensor as element {i} in argument {len(op.schema.parameters)}, but got "
                            f"{type(part).__name__}")


def _spelled(op: Operator, method: bool) -> str:
    """Return an overload's parameters as PyTorch's errors spell them; those of a method without ``self``."""
    parameters = [p for p in op.schema.parameters if not (method and p.name == "self")]
    if "out" in op.flags and not method:
        place = op.schema.positions["dtype"] if "device" in op.schema.positions else len(parameters)
        parameters.insert(place, Parameter("out", "Tensor", not _is_single(op), default=None, kwarg_only=True))
    texts = [str(replace(p, name="input") if p.name == "self" else p) for p in parameters]
    if (keywords := [p.kwarg_only for p in parameters]) and any(keywords):
        texts.insert(keywords.index(True), "*")
    return f"({', '.join(texts)})"


#: Deprecated argument orders of these operators.
DEPRECATED = {"add": ("self alpha other",), "sub": ("self alpha other",), "addcdiv": ("self value tensor1 tensor2",),
              "addcmul": ("self value tensor1 tensor2",),
              **{name: (f"beta self alpha {factors}", f"beta self {factors}") for name, factors in (
                  ("addmm", "mat1 mat2"), ("addmv", "mat vec"), ("addr", "vec1 vec2"), ("addbmm", "batch1 batch2"),
                  ("baddbmm", "batch1 batch2"))}}
FACTORS = {"alpha", "beta", "value"}  #: the numbers among their arguments, or tensors without dimensions
#: Functions that accept numbers in place of all tensors.
OF_NUMBERS = {"add", "sub", "mul", "multiply", "div", "divide", "true_divide", "floor_divide"}


def _older_form(name: str, args: tuple[Any, ...], kwargs: dict[str, Any],
                method: bool) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Rewrite arguments that no overload accepts: a deprecated order (with a warning), or a number in place of the
    first tensor or of a copy's source. Return None for other arguments.
    """
    for form in DEPRECATED.get(name.removesuffix("_"), ()):
        names = form.split()
        if method:
            names = ["self", *(n for n in names if n != "self")]
        if len(args) == len(names) and not kwargs and all(
                (arg.__class__ in TENSOR_TYPES and (n not in FACTORS or not (arg.ndim or arg.requires_grad))) or
                ((n in FACTORS or n == "other") and arg.__class__ in NUMBERS)
                for n, arg in zip(names, args, strict=True)):
            op = registry.packets[name][0]
            was = [f"{'Number' if n in FACTORS else 'Tensor'} {'input' if n == 'self' else n}" for n in names[method:]]
            warnings.warn(f"This overload of {name} is deprecated:\n\t{name}({', '.join(was)})\nConsider using one of "
                          f"the following signatures instead:\n\t{name}{_spelled(op, method)}", stacklevel=5)
            return (), {n: arg.item() if n in FACTORS and arg.__class__ in TENSOR_TYPES else arg
                        for n, arg in zip(names, args, strict=True)}
    if name in OF_NUMBERS and args and (args[0].__class__ in NUMBERS or args[0].__class__ in SYMBOLIC) and not method:
        return (registry["full"].call((), args[0], None, None, CPU), *args[1:]), kwargs
    if name == "copy_" and len(args) > 1 and isinstance(args[1], (*NUMBERS, np.number)):
        source = args[1].item() if isinstance(args[1], np.number) else args[1]
        return (args[0], registry["full"].call((), source, None, None, CPU), *args[2:]), kwargs
    return None


_LISTS = {tuple, list, Size}
LONG = range(-(1 << 63), 1 << 63)  #: the range of 64-bit integers


def _shortcut(args: tuple[Any, ...], kwargs: dict[str, Any], canonical: tuple[Any, ...], op: Operator,
              otherwise: Callable[..., Any]) -> Callable[..., Any] | None:
    """Build a binder for later calls with the same argument names and types, or return None if binding depends on
    values. It takes the positional arguments, then the values of the keywords; calls that it cannot bind are left to
    ``otherwise``.
    """
    parameters, positions = op.schema.parameters, op.schema.positions
    varargs = 1 if parameters and parameters[0].name == "self" else 0
    numbers = args[varargs:]
    are_sizes = len(numbers) > 1 and _are_ints(numbers) and canonical[varargs] == numbers  # x.view(2, 3)
    if are_sizes and not kwargs:
        call = op.entry("tn" if varargs else "n")
        return (lambda self, *given: call(self, given)) if varargs else lambda *given: call(given)
    if len(args) > len(canonical) and not are_sizes:
        return None
    positions = {**positions, "out": len(parameters)}  # ``out`` follows the schema's parameters
    at = [min(i, varargs) if are_sizes else i for i in range(len(args))]
    where: Any = [*at, *(positions.get(name, positions.get(ALIASES.get(name, ""))) for name in kwargs)]
    checks: list[str] = []
    spelled = {position: f"constant_{position}" for position in range(max(where, default=-1) + 1)}
    for i, (position, given) in enumerate(zip(where, (*args, *kwargs.values()), strict=True)):
        kind, bound, name = given.__class__, canonical[position], f"given_{i}"
        spelled[position] = name
        if are_sizes and position == varargs:
            spelled[position] = f"({', '.join([f'given_{i}' for i in range(varargs, len(args))])},)"
        elif kind in _LISTS:
            written = position == len(parameters)
            of_tensors = kind is not Size and (written or (parameters[position].base == "Tensor"
                                                           and parameters[position].is_list))
            if not (of_tensors or parameters[position].base == "int") or not (
                    _are_tensors if of_tensors else _are_ints)(given):
                return None
            checks.append(f"_are_tensors({name})" if of_tensors else f"INT.issuperset(map(type, {name}))")
            if not written and (of_tensors or kind is list):
                spelled[position] = f"[*{name}]" if of_tensors else f"(*{name},)"
        elif bound.__class__ is device and kind is str:
            spelled[position] = f"device_named({name})"
        elif bound.__class__ is DType and kind is type:
            checks.append(f"{name} in PYTHON_DTYPES")
            spelled[position] = f"PYTHON_DTYPES[{name}]"
        elif kind not in TENSOR_TYPES and kind not in DECIDING_TYPES:
            return None
        elif given is not bound:
            if kind in TENSOR_TYPES and bound.__class__ is int and _is_int(given):
                checks.append(f"_is_int({name})")
                spelled[position] = f"{name}.item()"
            elif kind is not int:
                return None
            elif bound.__class__ is float:
                spelled[position] = f"float({name})"
            elif isinstance(bound, tuple):
                spelled[position] = f"({', '.join([name] * len(bound))},)"
            else:
                return None
    has_lists = any(value.__class__ in _LISTS and not _are_ints(value) for value in canonical)
    kinds = "".join(["t" if value.__class__ in TENSOR_TYPES else "n" for value in canonical[:len(spelled)]])
    call = op.call if has_lists else op.entry(kinds)
    if not checks and [*spelled.values()] == [f"given_{i}" for i in range(len(where))]:
        return call
    constants = tuple([canonical[position] for position, text in spelled.items() if text.startswith("constant")])
    made: Callable[..., Any] = _binder(len(args), (*kwargs,), tuple(checks), (*spelled.values(),))(
        call, otherwise, *constants)
    return made


@lru_cache(None)
def _binder(count: int, names: tuple[str, ...], checks: tuple[str, ...], values: tuple[str, ...]) -> Any:
    """Write out the function that makes a binder: of ``count`` positional arguments and the values of keywords, which
    it checks, to an operator's. (A loop over them takes as long as a small operator.)
    """
    given = [f"given_{i}" for i in range(count + len(names))]
    named = ", ".join([f"{name!r}: {value}" for name, value in zip(names, given[count:], strict=True)])
    lines = [f"def make({', '.join(['call', 'otherwise', *[v for v in values if v.startswith('constant')]])}):",
             f"    def binder({', '.join(given)}):"]
    if checks:
        lines += [f"        if not ({' and '.join(checks)}):",
                  f"            return otherwise(({''.join([f'{value}, ' for value in given[:count]])}), {{{named}}})"]
    lines += [f"        return call({', '.join(values)})", "    return binder"]
    call = ", ".join([f"{name}={value}" for name, value in zip((*given[:count], *names), given, strict=True)])
    return define("make", "\n".join(lines), f"{__file__}: ({call}) as ({', '.join(values)}) if {' and '.join(checks)}",
                  {"INT": INT, "PYTHON_DTYPES": PYTHON_DTYPES, "_are_tensors": _are_tensors, "_is_int": _is_int,
                   "device_named": device_named})


INT = {int}


def _are_ints(values: Any) -> bool:
    return INT.issuperset(map(type, values))


def _is_int(tensor: Any) -> bool:
    """Return True if a tensor holds one integer and nothing is recorded or pending."""
    return bool(tensor._keys == ON_CPU and tensor._array.shape == () and tensor._dtype.category == INTEGER)


def _are_tensors(values: Any) -> bool:
    """Return True if there are values, and all are tensors of classes without a ``__torch_function__``."""
    for value in values:
        if (kind := value.__class__) is not Tensor and (kind not in TENSOR_TYPES or kind not in PLAIN):
            return False
    return bool(values)


def check_countable(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], method: bool, packet: Packet) -> None:
    """Raise PyTorch's error if an integer argument has more than 64 bits. Called only after an operator has failed, so
    successful calls do not pay for the check.

    Raises:
        ValueError: for an integer.
        TypeError: for an integer in a list.
    """
    if not any(number.__class__ is int and number not in LONG for value in (*args, *kwargs.values())
               for number in (value if value.__class__ in _LISTS else (value,))):
        return
    named = {key: value for key, value in kwargs.items() if key != "out"}
    op, canonical = resolve_overload(name, args, named, method, packet=packet)
    for parameter, value in zip(op.schema.parameters, canonical, strict=True):
        if parameter.base != "int" or value is None:
            continue
        numbers = value if parameter.is_list else (value,)
        wrong = next((i for i, number in enumerate(numbers) if number not in LONG), None)
        if wrong is None:
            continue
        if not parameter.is_list or (parameter.size is not None and any(number is value[wrong] for number in args)):
            raise ValueError(f"Overflow when unpacking long long: {numbers[wrong]}") from None
        raise TypeError(f"{name}(): argument '{parameter.name}' failed to unpack the object at pos {wrong + 1} with "
                        'error "Overflow when unpacking long long') from None


def _place(name: str, end: str) -> int:
    """Return the position of the parameter among a packet's that is written with this end; 0 if there is none."""
    text = registry.packets[name][0].text
    if end not in text:
        return 0
    parameters = text[text.index("(") + 1:text.rindex(") ->")].split(", ")
    return next((i for i, parameter in enumerate(parameters) if parameter.endswith(end)), 0)


def _as_method(function: Callable[..., Any], place: int) -> Callable[..., Any]:
    """Return a method for a function whose first parameter is not ``self``: ``x.where(condition, other)``."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) < place:
            return function(*args, self=self, **kwargs)
        return function(*args[:place], self, *args[place:], **kwargs)

    return method


def _unreduced(function: Callable[..., Any], place: int) -> Callable[..., Any]:
    """Return the function of a loss whose ``reduction`` is 'none' unless it is given: the parser of PyTorch's functions
    reads the schemas' default, ``Mean``, as 0. Calls by ``torch.nn.functional`` and ``torch.ops`` are not concerned.
    """

    def loss(*args: Any, **kwargs: Any) -> Any:
        if len(args) <= place:
            kwargs.setdefault("reduction", 0)
        return function(*args, **kwargs)

    return loss


def by_types(resolved: dict[Any, Callable[..., Any]], first_call: Callable[..., Any],
             failed: Callable[..., None] | None = None) -> Callable[..., Any]:
    """Return a function that calls the binder that ``resolved`` has for the type of a single argument (``x.relu()``),
    or for the types of several arguments and the names of the keywords; without one, ``first_call`` with the arguments,
    the keywords, and the key to keep a binder by. ``failed`` learns of errors.
    """

    def function(first: Any = MISSING, second: Any = MISSING, third: Any = MISSING, /, *more: Any,
                 **kwargs: Any) -> Any:
        kinds: Any
        try:  # spelled out for few arguments: to pack and unpack them takes as long as the look-up
            if second is MISSING and not kwargs:
                if (call := resolved.get(kinds := first.__class__)) is not None:
                    return call(first)
            elif third is MISSING and not kwargs:
                if (call := resolved.get(kinds := (first.__class__, second.__class__))) is not None:
                    return call(first, second)
            elif kwargs:
                args = (first, second, third, *more) if third is not MISSING else (first, second) if (
                    second is not MISSING) else (first,) if first is not MISSING else ()
                given = (*args, *kwargs.values())
                if (call := resolved.get(kinds := (*map(type, given), *kwargs))) is not None:
                    return call(*given)
            elif not more:
                if (call := resolved.get(kinds := (first.__class__, second.__class__, third.__class__))) is not None:
                    return call(first, second, third)
            elif (call := resolved.get(kinds := tuple(map(type, (first, second, third, *more))))) is not None:
                return call(first, second, third, *more)
        except Exception:
            if failed is not None:
                failed(present(first, second, third, *more), kwargs)
            raise
        return first_call(present(first, second, third, *more), kwargs, kinds)

    return function


def asks_handlers(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return True if a mode is active, or an argument's class has a ``__torch_function__``."""
    return bool(dispatcher.mode & FUNCTION or overriding((*args, *kwargs.values())))


def keep_binder(resolved: dict[Any, Callable[..., Any]], kinds: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
                canonical: tuple[Any, ...], op: Operator, first_call: Callable[..., Any]) -> None:
    """Keep a binder for later calls with arguments of these types, unless binding depends on values."""
    call = _shortcut(args, kwargs, canonical, op, first_call)
    if call is not None:
        if not resolved:
            remembered.append(resolved)
        resolved[kinds] = call


def make_function(name: str, method: bool = False, packet: Packet = None) -> Callable[..., Any]:
    """Return the function, or the method, that calls a packet; ``packet`` replaces the overloads of that name."""
    resolved: dict[Any, Callable[..., Any]] = {}

    def failed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        check_countable(name, args, kwargs, method, packet)

    def first_call(args: tuple[Any, ...], kwargs: dict[str, Any], kinds: Any = None) -> Any:
        """Call the overload that takes the arguments, and keep its binder for arguments of these kinds."""
        asks = asks_handlers(args, kwargs)
        if asks and (whom := asked(args, kwargs)) is not None:
            return handle(made, whom, args, kwargs)
        named = {**kwargs}
        out = None if method else named.pop("out", None)
        op, canonical = resolve_overload(name, args, named, method, out is not None, packet)
        if out is not None:
            check_out(op, out)
            op, canonical = op.out_form, (*canonical, out)
        if kinds and not asks and (out is not None or "out" not in kwargs):
            keep_binder(resolved, kinds, args, kwargs, canonical, op, first_call)
        try:
            return op.call(*canonical)
        except Exception:
            failed(args, kwargs)
            raise

    function = by_types(resolved, first_call, failed)
    place = _place(name, " self" if method else " reduction=1")
    made: Any = overridable((_as_method if method else _unreduced)(function, place)) if place else function
    made.__name__ = made.packet = name
    made.__qualname__ = f"Tensor.{name}" if method else name
    made.__module__ = "mindtorch._tensor" if method else "mindtorch._methods.functions"  # for pickles
    made.__doc__ = document(name, packet or registry.packets[name], method)
    made.__signature__ = LazySignature(name, method, packet)
    made.__annotations__ = annotations_of(packet or registry.packets[name])
    return cast(Callable[..., Any], made)


def make_namespace(module: str, packets: dict[str, str]) -> dict[str, Callable[..., Any]]:
    """Return the functions of a module such as ``torch.linalg``, by their names there, which pickles use."""
    functions = {name: make_function(packet) for name, packet in packets.items()}
    for name, function in functions.items():
        function.__module__, function.__qualname__ = module, name
    return functions


class LazySignature(Signature):
    """The signature of a packet's function or method, built on first access."""

    __slots__ = ("_method", "_name", "_packet")

    def __init__(self, name: str, method: bool, packet: Packet):
        self._name, self._method, self._packet = name, method, packet

    @property
    def _overloads(self) -> list[Operator]:
        return self._packet or registry.packets[self._name]

    @property
    def _parameters(self) -> dict[str, Any]:
        parameters = merged(self._overloads, self._method)
        return {name: parameter.replace(annotation=Tensor) if parameter.annotation == "Tensor" else parameter
                for name, parameter in parameters.items()}

    @property
    def _return_annotation(self) -> Any:
        return eval(returned(self._overloads), globals())  # only values of RETURNS

    def replace(self, **changes: Any) -> Any:
        """Return a signature with other ``parameters`` or another ``return_annotation``."""
        return Signature([*self.parameters.values()], return_annotation=self.return_annotation).replace(**changes)

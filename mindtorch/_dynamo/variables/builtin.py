"""Python's builtin functions and operators on variables (``torch._dynamo.variables.builtin``)."""
from __future__ import annotations

import functools
import itertools
import operator
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._base.size import Size
from ..._device import device
from ..._dtype import DTYPES, finfo, iinfo
from .. import polyfills
from ..exc import Break, Raised
from ..trace_rules import PACKAGE, of_numpy
from .base import (
    Codegen, ConstantVariable, ExceptionVariable, IteratorVariable, Known, Translator, Variable, bound_builtin, fold,
    is_exception, throw,
)
from .containers import (
    CountVariable, DictVariable, ListVariable, SequenceVariable, SetVariable, SliceVariable, TupleVariable,
)
from .contexts import MODES, context
from .functions import FunctionVariable, MethodVariable, PartialVariable, UserFunction, is_none
from .objects import ClassVariable, PythonModule, SuperVariable, UserObject, static
from .symbols import slice_of
from .tensor import TensorVariable

#: Modules of functions in C whose results depend on their arguments alone.
PURE_MODULES = ("math", "cmath", "_operator", "operator", "_struct", "_bisect", "_heapq", "itertools", "_functools")
PURE = frozenset(["abs", "bin", "bool", "bytes", "callable", "chr", "complex", "divmod", "float", "format", "frozenset",
                  "hash", "hex", "int", "len", "max", "min", "oct", "ord", "pow", "range", "repr", "ascii", "round",
                  "slice", "sorted", "str", "sum", "tuple", "issubclass", "bytearray"])
POLYFILLS: dict[Any, Any] = {
    all: polyfills.all_, any: polyfills.any_, sum: polyfills.sum_, max: polyfills.max_, min: polyfills.min_,
    functools.reduce: polyfills.reduce_, itertools.chain: polyfills.chain_, itertools.repeat: polyfills.repeat_,
    itertools.cycle: polyfills.cycle_, itertools.islice: polyfills.islice_,
    itertools.accumulate: polyfills.accumulate_, itertools.product: polyfills.product_,
    itertools.combinations: polyfills.combinations_, itertools.permutations: polyfills.permutations_,
    itertools.zip_longest: polyfills.zip_longest_, itertools.pairwise: polyfills.pairwise_,
    itertools.starmap: polyfills.starmap_, itertools.takewhile: polyfills.takewhile_,
    itertools.dropwhile: polyfills.dropwhile_, itertools.filterfalse: polyfills.filterfalse_,
    itertools.compress: polyfills.compress_, itertools.groupby: polyfills.groupby_, itertools.tee: polyfills.tee_,
    itertools.chain.from_iterable: polyfills.chain_from_iterable, reversed: polyfills.reversed_,
}
REFLECTED = {"add": "radd", "sub": "rsub", "mul": "rmul", "truediv": "rtruediv", "floordiv": "rfloordiv", "mod": "rmod",
             "pow": "rpow", "matmul": "rmatmul", "and_": "rand", "or_": "ror", "xor": "rxor", "lshift": "rlshift",
             "rshift": "rrshift", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
INPLACE = {getattr(operator, name): getattr(operator, name[1:] if hasattr(operator, name[1:]) else f"{name[1:]}_")
           for name in ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "iand", "ior",
                        "ixor", "ilshift", "irshift")}


def binary(tx: Translator, function: Callable[..., Any], left: Variable, right: Variable) -> Variable:
    """Return the result of an operator: of tensors a node, of constants a constant, else of methods in Python."""
    if isinstance(left, TensorVariable) or isinstance(right, TensorVariable):
        if function in (operator.eq, operator.ne) and not (_numeric(left) and _numeric(right)):
            return ConstantVariable(function is operator.ne)
        if isinstance(right, TensorVariable) and isinstance(left, (ListVariable, UserObject)):
            return _methods(tx, function, left, right)
        if not isinstance(left, TensorVariable):
            function = INPLACE.get(function, function)  # a number is not written
        return tx.output.call(tx, "call_function", function, [left, right], {})
    if isinstance(left, SequenceVariable) or isinstance(right, SequenceVariable):
        found = _sequences(tx, function, left, right)
        if found is not None:
            return found
    if isinstance(left, (DictVariable, SetVariable)) or isinstance(right, (DictVariable, SetVariable)):
        return _methods(tx, function, left, right)
    if left.is_constant and right.is_constant and not isinstance(left, UserObject):
        return tx.made(fold(tx, function, left.value, right.value))
    if function is operator.mod and left.python_type() is str:
        return ConstantVariable(fold(tx, function, left.value, right.value))
    return _methods(tx, function, left, right)


def _numeric(value: Variable) -> bool:
    return isinstance(value, TensorVariable) or issubclass(value.python_type(), (int, float, complex))


def _sequences(tx: Translator, function: Any, left: Variable, right: Variable) -> Variable | None:
    if isinstance(left, SequenceVariable) and isinstance(right, SequenceVariable):
        alike = issubclass(left.kind, tuple) is issubclass(right.kind, tuple)
        if function is operator.iadd and isinstance(left, ListVariable):
            left.method(tx, "extend", [right], {})
            return left
        if function in (operator.add, operator.iadd) and alike:
            return type(left)([*left.list, *right.list], kind=Size if Size in (
                left.kind, right.kind) else left.kind if left.kind in (list, tuple) or (
                left.kind is right.kind and not hasattr(left.kind, "_fields")) else tuple)
        if function in (operator.eq, operator.ne):
            equal = alike and len(left.list) == len(right.list) and all(
                one is other or binary(tx, operator.eq, one, other).truth(tx)
                for one, other in zip(left.list, right.list, strict=True))
            return ConstantVariable(equal is (function is operator.eq))
        if function in (operator.lt, operator.le, operator.gt, operator.ge) and alike:
            for one, other in zip(left.list, right.list, strict=False):
                if not binary(tx, operator.eq, one, other).truth(tx):
                    return binary(tx, function, one, other)
            return ConstantVariable(function(len(left.list), len(right.list)))
    if function in (operator.mul, operator.imul):
        items, count = (left, right) if isinstance(left, SequenceVariable) else (right, left)
        if isinstance(items, SequenceVariable) and count.is_constant and isinstance(count.value, int):
            if function is operator.imul and isinstance(items, ListVariable):
                tx.output.side_effects.note(items)
                items.list[:] = items.list * count.value
                return items
            return type(items)(items.list * count.value, kind=items.kind)
    if function is operator.iadd and isinstance(left, ListVariable):
        left.method(tx, "extend", [right], {})
        return left
    return None


def _methods(tx: Translator, function: Any, left: Variable, right: Variable) -> Variable:
    """Call the methods that an operator stands for."""
    name = function.__name__.strip("_")
    if function in INPLACE:
        if has(tx, left, f"__{name}__"):
            result = left.method(tx, f"__{name}__", [right], {})
            if not _not_implemented(result):
                return result
        function = INPLACE[function]
        name = function.__name__.strip("_")
        return binary(tx, function, left, right)
    reflected = REFLECTED.get(function.__name__, REFLECTED.get(f"{name}_", ""))
    attempts = [(left, f"__{name}__", right), (right, f"__{reflected}__", left)]
    kinds = left.python_type(), right.python_type()
    if kinds[0] is not kinds[1] and issubclass(kinds[1], kinds[0]):
        attempts.reverse()
    for owner, method, other in attempts:
        if has(tx, owner, method):
            result = owner.method(tx, method, [other], {})
            if not _not_implemented(result):
                return result
    if name == "ne":
        return ConstantVariable(not _methods(tx, operator.eq, left, right).truth(tx))
    if name == "eq":
        return ConstantVariable(left is right)
    throw(tx, TypeError, f"unsupported operand type(s) for {name}: {kinds[0].__name__!r} and {kinds[1].__name__!r}")


def _not_implemented(value: Variable) -> bool:
    return isinstance(value, ConstantVariable) and value.value is NotImplemented


def has(tx: Translator, value: Variable, name: str) -> bool:
    """Return whether a value's class has a method that is more than ``object``'s."""
    if isinstance(value, ConstantVariable):
        return False
    found = getattr(value.python_type(), name, None)
    return found is not None and found is not getattr(object, name, None)


def unary(tx: Translator, function: Callable[..., Any], value: Variable) -> Variable:
    """Return the result of an operator of one operand."""
    if isinstance(value, TensorVariable):
        return tx.output.call(tx, "call_function", function, [value], {})
    if value.is_constant:
        return tx.made(fold(tx, function, value.value))
    return value.method(tx, f"__{function.__name__.strip('_')}__", [], {})


def item(tx: Translator, owner: Variable, index: Variable) -> Variable:
    """Return ``owner[index]``."""
    if isinstance(owner, TensorVariable):
        return tx.output.call(tx, "call_function", operator.getitem, [owner, index], {})
    if isinstance(owner, (SequenceVariable, DictVariable)) and not hasattr(
            getattr(owner.kind, "__getitem__", None), "__code__"):
        if isinstance(owner, SequenceVariable) and isinstance(index, UserObject):
            index = index.method(tx, "__index__", [], {})
        return owner.item(tx, index)
    if isinstance(owner, ClassVariable):
        return tx.made(fold(tx, operator.getitem, owner.value, index.value))
    if owner.is_constant and index.is_constant and not isinstance(owner, UserObject):
        return tx.made(fold(tx, operator.getitem, owner.value, index.value))
    return owner.method(tx, "__getitem__", [index], {})


def is_same(tx: Translator, left: Variable, right: Variable) -> bool:
    """Return ``left is right``."""
    if isinstance(left, TensorVariable) and isinstance(right, TensorVariable):
        return left is right or left.example is right.example
    if left is right:
        return True
    if left.is_constant and right.is_constant and not (left.has_identity or right.has_identity):
        one, other = left.value, right.value
        return one is other or (type(one) is type(other) and isinstance(one, (int, str)) and one == other)
    if (type(left) is type(right) and type(left) in (UserFunction, MethodVariable, PythonModule, UserObject)) or (
            hasattr(left, "real") and hasattr(right, "real")):
        real = getattr(left, "real", None)
        return real is not None and real is getattr(right, "real", MISSING)
    if isinstance(left, BuiltinVariable) or (left.is_constant and right.is_constant):
        one, other = left.value if left.is_constant else left, right.value if right.is_constant else right
        return one is other and not isinstance(left, SequenceVariable)
    return False


MISSING = object()
#: The dtypes that Python's types stand for, as arguments of operators.
AS_DTYPES: dict[Any, Any] = {bool: DTYPES["bool"], int: DTYPES["int64"], float: DTYPES["float64"]}


class BuiltinVariable(Known):
    """A function in C, or one that the compiler knows by itself."""

    def __init__(self, function: Any) -> None:
        self.function = function

    @staticmethod
    def special(function: Any) -> bool:
        """Return whether the compiler knows a function of the library by itself."""
        return id(function) in SPECIAL

    @property
    def value(self) -> Any:
        return self.function

    def argument(self) -> Any:
        return AS_DTYPES.get(self.function, self.function) if isinstance(self.function, type) else self.function

    def attribute(self, tx: Translator, name: str) -> Variable:
        return tx.made(fold(tx, getattr, self.function, name))

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        return call(tx, self.function, args, kwargs)

    def __str__(self) -> str:
        return f"the builtin {getattr(self.function, '__qualname__', self.function)}"


#: Functions that the compiler knows by itself, by id: filled by ``_dynamo.decorators``.
SPECIAL: dict[int, Callable[..., Variable]] = {}


def call(tx: Translator, function: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """Call a builtin function or type."""
    special = SPECIAL.get(id(function))
    if special is not None:
        return special(tx, *args, **kwargs)
    given = (*args, *kwargs.values())
    handler = HANDLERS.get(function) if _hashable(function) else None
    if handler is not None:
        return handler(tx, *args, **kwargs)
    constant = all(arg.is_constant for arg in given)
    module = getattr(function, "__module__", None)
    name = getattr(function, "__name__", "")
    if constant and function in POLYFILLS and function in (max, min, sum) and all(
            _plain(arg) for arg in given):
        return tx.made(fold(tx, function, *[arg.value for arg in args], **{k: v.value for k, v in kwargs.items()}))
    if function in POLYFILLS:
        return tx.inline(UserFunction(POLYFILLS[function]), args, kwargs)
    if constant and _pure(function, module, name):
        return tx.made(fold(tx, function, *[arg.value for arg in args], **{k: v.value for k, v in kwargs.items()}))
    if module == "_operator" and len(args) in (1, 2) and not kwargs:
        return (binary if len(args) == 2 else unary)(tx, function, *args)
    if name.startswith("__") and hasattr(function, "__objclass__") and args:
        return args[0].method(tx, name, args[1:], kwargs)
    if isinstance(function, (types.MethodDescriptorType, types.WrapperDescriptorType)) and args:
        return args[0].method(tx, name, args[1:], kwargs)
    if module == "math" and args and isinstance(args[0], TensorVariable):
        raise Break(f"math.{name} reads the data of a tensor")
    raise Break(of_numpy(function) or
                f"call of {module or 'a builtin'}.{getattr(function, '__qualname__', name)}, which no graph has")


def _hashable(function: Any) -> bool:
    return type(function).__hash__ is not None


def _plain(value: Variable) -> bool:
    return not isinstance(value, (ClassVariable, BuiltinVariable)) and not isinstance(value, FunctionVariable)


#: Types whose methods depend on their arguments alone.
PURE_TYPES = (str, int, float, bytes, complex, dict, list, tuple, frozenset, bool)


def _pure(function: Any, module: Any, name: str) -> bool:
    if module in PURE_MODULES and module not in ("itertools",):
        return True
    if module == "builtins":
        return name in PURE
    owner = getattr(function, "__objclass__", None) or getattr(function, "__self__", None)
    return isinstance(owner, type) and owner in PURE_TYPES and name != "__new__"


def _isinstance(tx: Translator, value: Variable, kinds: Variable) -> Variable:
    wanted = kinds.value
    kind = value.python_type()
    flat = wanted if isinstance(wanted, tuple) else (wanted,)
    if isinstance(value, TensorVariable):
        return ConstantVariable(any(isinstance(value.example if value.real is None else value.real, one)
                                    for one in flat))
    custom = [one for one in flat if isinstance(static(type(one), "__instancecheck__"), types.FunctionType)
              and not type(one).__module__.startswith(("abc", "typing", "enum", PACKAGE))]
    if custom:
        return tx.made(static(type(custom[0]), "__instancecheck__")).call(tx, [tx.made(custom[0]), value], {})
    real = getattr(value, "real", None)
    if real is not None:
        return ConstantVariable(isinstance(real, wanted))
    return ConstantVariable(fold(tx, issubclass, kind, wanted))


def _len(tx: Translator, value: Variable) -> Variable:
    if isinstance(value, TensorVariable):
        if not value.example.dim():
            throw(tx, TypeError, "len() of a 0-d tensor")
        return tx.made(value.example.shape[0])
    if isinstance(value, (SequenceVariable,)):
        return ConstantVariable(len(value.list))
    if isinstance(value, ConstantVariable):
        return ConstantVariable(fold(tx, len, value.value))
    if isinstance(value, UserObject) and value.find(tx, "__len__") is None:
        throw(tx, TypeError, f"object of type {value.kind.__name__!r} has no len()")
    return value.method(tx, "__len__", [], {})


def _getattr(tx: Translator, owner: Variable, name: Variable, default: Variable | None = None) -> Variable:
    try:
        return owner.attribute(tx, name.value)
    except Raised as raised:
        if default is None or not is_exception(raised.value, AttributeError):
            raise
        return default


def _hasattr(tx: Translator, owner: Variable, name: Variable) -> Variable:
    try:
        owner.attribute(tx, name.value)
    except Raised as raised:
        if not is_exception(raised.value, AttributeError):
            raise
        return ConstantVariable(False)
    return ConstantVariable(True)


def _setattr(tx: Translator, owner: Variable, name: Variable, value: Variable) -> Variable:
    owner.set_attribute(tx, name.value, value)
    return ConstantVariable(None)


def _delattr(tx: Translator, owner: Variable, name: Variable) -> Variable:
    owner.delete_attribute(tx, name.value)
    return ConstantVariable(None)


def _iter(tx: Translator, value: Variable, end: Variable | None = None) -> Variable:
    if end is not None:
        return tx.inline(UserFunction(polyfills.call_until), [value, end], {})
    return value.iterator(tx)


def _next(tx: Translator, value: Variable, default: Variable | None = None) -> Variable:
    try:
        return value.next(tx)
    except Raised as raised:
        if default is None or not is_exception(raised.value, StopIteration):
            raise
        return default


def _type(tx: Translator, value: Variable, *more: Variable) -> Variable:
    if more:
        raise Break("a class is made in the function")
    return tx.made(value.python_type())


def _super(tx: Translator, kind: Variable | None = None, owner: Variable | None = None) -> Variable:
    if kind is None or owner is None:
        kind, owner = tx.super_arguments()
    return SuperVariable(kind.value, owner)


def _to_list(tx: Translator, value: Variable | None = None) -> Variable:
    return ListVariable([] if value is None else value.items(tx))


def _to_tuple(tx: Translator, value: Variable | None = None) -> Variable:
    if isinstance(value, TupleVariable) and value.kind is tuple:
        return value
    return TupleVariable([] if value is None else value.items(tx))


def _to_set(kind: type) -> Callable[..., Variable]:
    def make(tx: Translator, value: Variable | None = None) -> Variable:
        items = [] if value is None else value.items(tx)
        for one in items:
            if isinstance(one, (ListVariable, DictVariable)):
                throw(tx, TypeError, f"unhashable type: {one.python_type().__name__!r}")
        return SetVariable(items, kind=kind)

    return make


def _to_dict(kind: type) -> Callable[..., Variable]:
    def make(tx: Translator, *args: Variable, **kwargs: Variable) -> Variable:
        factory = None
        if kind is defaultdict:
            factory, args = args[0] if args else ConstantVariable(None), args[1:]
        found = DictVariable([], kind=kind, factory=factory)
        found.update(tx, *args, **kwargs)
        return found

    return make


def _to_deque(tx: Translator, value: Variable | None = None, maxlen: Variable | None = None) -> Variable:
    found = ListVariable([], kind=deque)
    found.maxlen = None if maxlen is None else maxlen.value
    if value is not None:
        found.method(tx, "extend", [value], {})
    return found


def _counter(tx: Translator, *args: Variable, **kwargs: Variable) -> Variable:
    found = UserObject(Counter, base=DictVariable([], kind=Counter))
    tx.inline(UserFunction(polyfills.counter_init), [found, *args], kwargs)
    return found


def _slice(tx: Translator, *parts: Variable) -> Variable:
    if all(part.is_constant for part in parts):
        return slice_of([ConstantVariable(None), *parts] if len(parts) == 1 else [*parts])
    return SliceVariable([ConstantVariable(None), *parts] if len(parts) == 1 else [*parts])


def _number(kind: type) -> Callable[..., Variable]:
    def convert(tx: Translator, *args: Variable, **kwargs: Variable) -> Variable:
        if args and isinstance(args[0], TensorVariable):
            raise Break(f"{kind.__name__}() of a tensor reads data")
        if args and isinstance(args[0], UserObject):
            name = f"__{kind.__name__}__"
            return args[0].method(tx, name if has(tx, args[0], name) else "__index__", [], {})
        return tx.made(fold(tx, kind, *[arg.value for arg in args], **{k: v.value for k, v in kwargs.items()}))

    return convert


def _bool(tx: Translator, value: Variable | None = None) -> Variable:
    return ConstantVariable(value is not None and value.truth(tx))


def text(tx: Translator, value: Variable, function: Any = str) -> Variable:
    """Return ``str`` or ``repr`` of a value."""
    if isinstance(value, ExceptionVariable):
        shown = value.kind(*[arg.value for arg in value.args]) if value.kind.__module__ == "builtins" else Exception(
            *[arg.value for arg in value.args])
        return ConstantVariable(function(shown))
    if isinstance(value, UserObject):
        for name in ("__str__", "__repr__")[function is repr:]:
            if isinstance(static(value.kind, name), types.FunctionType):
                return value.method(tx, name, [], {})
    if isinstance(value, (ClassVariable, ConstantVariable)) or (value.is_constant and not isinstance(value, UserObject)
                                                                ):
        return ConstantVariable(fold(tx, function, value.value))
    raise Break(f"the text of {value} is needed")


def _str(tx: Translator, *args: Variable, **kwargs: Variable) -> Variable:
    return text(tx, *args) if args and not kwargs else ConstantVariable("")


def _sorted(tx: Translator, values: Variable, **kwargs: Variable) -> Variable:
    return ListVariable(sorted_list(tx, values.items(tx), kwargs))


def sorted_list(tx: Translator, items: list[Variable], kwargs: dict[str, Variable]) -> list[Variable]:
    """Return ``sorted(items, **kwargs)``."""
    key, reverse = kwargs.get("key"), kwargs.get("reverse")
    without = key is None or (key.is_constant and key.value is None)
    keyed = [(one if without else key.call(tx, [one], {}), one) for one in items]  # type: ignore[union-attr]

    def compare(one: Any, other: Any) -> int:
        if binary(tx, operator.lt, one[0], other[0]).truth(tx):
            return -1
        return 1 if binary(tx, operator.lt, other[0], one[0]).truth(tx) else 0

    found = sorted(keyed, key=functools.cmp_to_key(compare), reverse=reverse is not None and bool(reverse.value))
    return [one for _, one in found]


def _range(tx: Translator, *args: Variable) -> Variable:
    numbers = [arg if arg.is_constant else arg.method(tx, "__index__", [], {}) for arg in args]
    return ConstantVariable(fold(tx, range, *[number.value for number in numbers]))


def _count(tx: Translator, start: Variable | None = None, step: Variable | None = None) -> Variable:
    return CountVariable(0 if start is None else start.value, 1 if step is None else step.value)


def _partial(tx: Translator, function: Variable, *args: Variable, **kwargs: Variable) -> Variable:
    if isinstance(function, PartialVariable):
        return PartialVariable(function.function, [*function.args, *args], {**function.kwargs, **kwargs})
    return PartialVariable(function, [*args], kwargs)


def _callable(tx: Translator, value: Variable) -> Variable:
    if isinstance(value, UserObject):
        return ConstantVariable(static(value.kind, "__call__") is not static(object, "__call__"))
    return ConstantVariable(not isinstance(value, (ConstantVariable, TensorVariable, SequenceVariable, DictVariable)))


def _id(tx: Translator, value: Variable) -> Variable:
    real = getattr(value, "real", None)
    if real is None or isinstance(value, TensorVariable):
        raise Break(f"id() of {value}")
    if value.source is not None:
        tx.output.guards.identity(value.source, real)
    return ConstantVariable(id(real))


def _reversed(tx: Translator, value: Variable) -> Variable:
    if isinstance(value, UserObject) and has(tx, value, "__reversed__"):
        return value.method(tx, "__reversed__", [], {})
    if isinstance(value, UserObject) and value.base is None:
        return tx.inline(UserFunction(polyfills.reversed_), [value], {})
    return IteratorVariable(value.items(tx)[::-1])


def _abs(tx: Translator, value: Variable) -> Variable:
    if isinstance(value, TensorVariable):
        return value.method(tx, "abs", [], {})
    return unary(tx, operator.abs, value)


def _pow(tx: Translator, base: Variable, exponent: Variable, modulus: Variable | None = None) -> Variable:
    if modulus is not None:
        return tx.made(pow(base.value, exponent.value, modulus.value))
    return binary(tx, operator.pow, base, exponent)


def _round(tx: Translator, value: Variable, digits: Variable | None = None) -> Variable:
    if isinstance(value, TensorVariable):
        return value.method(tx, "round", [], {} if digits is None else {"decimals": digits})
    return ConstantVariable(fold(tx, round, value.value, None if digits is None else digits.value))


def _vars(tx: Translator, value: Variable) -> Variable:
    return value.attribute(tx, "__dict__")


def _format(tx: Translator, value: Variable, spec: Variable | None = None) -> Variable:
    return ConstantVariable(fold(tx, format, text(tx, value).value if not value.is_constant else value.value,
                                 "" if spec is None else spec.value))


def _breaks(name: str) -> Callable[..., Variable]:
    def stop(tx: Translator, *args: Variable, **kwargs: Variable) -> Variable:
        raise Break(f"call of builtins.{name}, which no graph has")

    return stop


def _itemgetter(kind: Any) -> Callable[..., Variable]:
    def make(tx: Translator, *args: Variable) -> Variable:
        return Getter(kind, [arg.value for arg in args])

    return make


class Getter(Variable):
    """``operator.itemgetter`` and ``attrgetter``."""

    def __init__(self, kind: Any, names: list[Any]) -> None:
        self.kind, self.names = kind, names

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        found = []
        for name in self.names:
            one = args[0]
            if self.kind is operator.itemgetter:
                one = item(tx, one, tx.made(name))
            else:
                for part in name.split("."):
                    one = one.attribute(tx, part)
            found.append(one)
        return found[0] if len(found) == 1 else TupleVariable(found)

    def reconstruct(self, cg: Codegen) -> str:
        return f"{cg.object(self.kind)}({', '.join(map(cg.object, self.names))})"


def _fromkeys(kind: type) -> Callable[..., Variable]:
    def make(tx: Translator, keys: Variable, value: Variable | None = None) -> Variable:
        return DictVariable([(key, value or ConstantVariable(None)) for key in keys.items(tx)], kind=kind)

    return make


class Zip(Variable):
    """``zip``, ``map``, ``filter`` or ``enumerate``: the iterators that it draws from, and what it makes of them."""

    def __init__(self, kind: Any, iterators: list[Variable], function: Variable | None = None, start: int = 0,
                 strict: bool = False) -> None:
        self.kind, self.iterators, self.function, self.start, self.strict = kind, iterators, function, start, strict

    def python_type(self) -> type:
        return self.kind

    def iterator(self, tx: Translator) -> Variable:
        return self

    def next(self, tx: Translator) -> Variable:
        if not self.iterators:
            throw(tx, StopIteration)
        if self.kind is filter:
            while not self._passes(tx, item := self.iterators[0].next(tx)):
                pass
            return item
        items: list[Variable] = []
        for number, one in enumerate(self.iterators):
            try:
                items.append(one.next(tx))
            except Raised as raised:
                if self.strict and is_exception(raised.value, StopIteration):
                    self._check(tx, number)
                raise
        if self.function is not None:
            return self.function.call(tx, items, {})
        if self.kind is enumerate:
            items.insert(0, ConstantVariable(self.start))
            self.start += 1
        return TupleVariable(items)

    def _passes(self, tx: Translator, item: Variable) -> bool:
        assert self.function is not None
        return (item if is_none(self.function) else self.function.call(tx, [item], {})).truth(tx)

    def _check(self, tx: Translator, number: int) -> None:
        if number:
            throw(tx, ValueError, f"zip() argument {number + 1} is shorter than argument 1")
        for place, other in enumerate(self.iterators[1:], 2):
            try:
                other.next(tx)
            except Raised:
                continue
            throw(tx, ValueError, f"zip() argument {place} is longer than argument 1")

    def attribute(self, tx: Translator, name: str) -> Variable:
        return bound_builtin(tx, self, name)

    def method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        return self.next(tx) if name == "__next__" else self

    def reconstruct(self, cg: Codegen) -> str:
        given = [*([cg.value(self.function)] if self.function is not None else []), *map(cg.value, self.iterators)]
        given += [str(self.start)] if self.kind is enumerate else ["strict=True"] if self.strict else []
        return f"{cg.object(self.kind)}({', '.join(given)})"

    def __str__(self) -> str:
        return f"a {self.kind.__name__}"


def _zip(tx: Translator, *values: Variable, strict: Variable | None = None) -> Variable:
    return Zip(zip, [value.iterator(tx) for value in values], strict=strict is not None and strict.truth(tx))


def _map(tx: Translator, function: Variable, *values: Variable) -> Variable:
    return Zip(map, [value.iterator(tx) for value in values], function)


def _filter(tx: Translator, function: Variable, values: Variable) -> Variable:
    return Zip(filter, [values.iterator(tx)], function)


def _enumerate(tx: Translator, iterable: Variable, start: Variable | None = None) -> Variable:
    return Zip(enumerate, [iterable.iterator(tx)], start=0 if start is None else start.value)


HANDLERS: dict[Any, Callable[..., Variable]] = {
    zip: _zip, map: _map, filter: _filter, enumerate: _enumerate, dict.fromkeys: _fromkeys(dict),
    OrderedDict.fromkeys: _fromkeys(OrderedDict), defaultdict.fromkeys: _fromkeys(defaultdict),
    isinstance: _isinstance, len: _len, getattr: _getattr, hasattr: _hasattr, setattr: _setattr, delattr: _delattr,
    iter: _iter, next: _next, type: _type, super: _super, list: _to_list, tuple: _to_tuple, set: _to_set(set),
    frozenset: _to_set(frozenset), dict: _to_dict(dict), OrderedDict: _to_dict(OrderedDict),
    defaultdict: _to_dict(defaultdict), deque: _to_deque, Counter: _counter, slice: _slice, bool: _bool,
    int: _number(int), float: _number(float), complex: _number(complex), str: _str, repr: functools.partial(
        lambda function, tx, value: text(tx, value, function), repr), sorted: _sorted, range: _range,
    itertools.count: _count, functools.partial: _partial, callable: _callable, id: _id, reversed: _reversed, abs: _abs,
    pow: _pow, round: _round, vars: _vars, format: _format, print: _breaks("print"), input: _breaks("input"),
    open: _breaks("open"), operator.itemgetter: _itemgetter(operator.itemgetter),
    operator.attrgetter: _itemgetter(operator.attrgetter), operator.getitem: item,
    operator.is_: lambda tx, one, other: ConstantVariable(is_same(tx, one, other)),
    operator.is_not: lambda tx, one, other: ConstantVariable(not is_same(tx, one, other)),
    operator.not_: lambda tx, value: ConstantVariable(not value.truth(tx)),
    operator.truth: lambda tx, value: ConstantVariable(value.truth(tx)),
    operator.contains: lambda tx, owner, one: owner.method(tx, "__contains__", [one], {}),
    operator.setitem: lambda tx, owner, index, value: owner.method(tx, "__setitem__", [index, value], {}),
    divmod: lambda tx, one, other: TupleVariable([binary(tx, operator.floordiv, one, other),
                                                 binary(tx, operator.mod, one, other)]),
}


def _mode(kind: Any) -> Callable[..., Variable]:
    def make(tx: Translator, *args: Variable, **kwargs: Variable) -> Variable:
        if args and isinstance(args[0], (FunctionVariable, MethodVariable)):  # the mode decorates a function
            return context(kind, [], {}).call(tx, [*args], {})
        made = context(kind, [*args], kwargs)
        made.made(tx)
        return made

    return make


def _folded(function: Any) -> Callable[..., Variable]:
    def make(tx: Translator, *args: Variable, **kwargs: Variable) -> Variable:
        return tx.made(fold(tx, function, *[arg.value for arg in args], **{k: v.value for k, v in kwargs.items()}))

    return make


HANDLERS.update({kind: _mode(kind) for kind in MODES})
HANDLERS.update({kind: _folded(kind) for kind in (device, finfo, iinfo, np.dtype, np.finfo, np.iinfo)})
HANDLERS.update({Size: lambda tx, value=None: TupleVariable(
    [] if value is None else value.items(tx), kind=Size)})

"""The tensor's methods and Python operators, and the functions of the namespace, made from the operators."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._backends.common.pointwise import result_type as common_result_type
from .._base.symbolic import SYMBOLIC
from .._creation.interop import from_numpy
from .._dispatch.aten import bitwise_not, reciprocal
from .._dispatch.binding import make_function, settled
from .._dispatch.dispatcher import TENSOR_TYPES, make_entry
from .._dispatch.registry import inplace_name
from .._dispatch.schemas import registry
from .._dispatch.signature import attached_names
from .._dispatch.torch_function import asked, handle, offered, overridable, overrides
from .._dtype import FLOATING, DType
from .._tensor import Tensor, tensor_method
from . import functions

FUNCTIONS: dict[str, Callable[..., Any]] = {}
NUMBERS = {int, float, bool, complex}


def attach(packet: str) -> None:
    """Make a packet's functions and methods, if its flags ask for them."""
    for name in attached_names(registry, packet, "function"):
        if name == packet or name not in FUNCTIONS:
            FUNCTIONS[name] = make_function(name)
            setattr(functions, name, FUNCTIONS[name])
    for name in attached_names(registry, packet, "method"):
        if name not in Tensor.__dict__:
            setattr(Tensor, name, make_function(name, method=True))


for _packet in list(registry.packets):
    attach(_packet)
registry.on_define.append(attach)


def _number(value: Any, beside: Any) -> Any:
    """Return a number (NumPy's scalars included) as Python's, symbolic ones as they are where nothing computes."""
    if value.__class__ in SYMBOLIC:
        return settled((beside, value))[1]
    if isinstance(value, np.generic):
        return value.item() if isinstance(value, (np.number, np.bool_)) else None
    return value if isinstance(value, (int, float, complex)) else None


def asking(name: str, operator: str) -> Callable[..., Any]:
    """Return an operator's entry that asks ``__torch_function__`` first, as ``Tensor.name`` does."""
    return make_entry(registry[operator], offered(name, lambda: getattr(Tensor, name)))


def beside_other(name: str, self: Any, other: Any) -> Any:
    """Call a foreign operand's ``__torch_function__``; without one, ask tensors if PyTorch's method is Python."""
    found = asked((self, other), {})
    if found is None or not (name.startswith("__") or overrides(other.__class__)):
        return NotImplemented
    try:
        return handle(getattr(Tensor, name), found, (self, other), {})
    except TypeError:  # PyTorch leaves any TypeError to the other operand, and Python
        return NotImplemented


def binary(name: str, with_tensor: str, with_number: str | None = None) -> Callable[[Any, Any], Any]:
    """Make the method ``name``, ``self op other``, from these operators."""
    call = asking(name, with_tensor)
    call_number = asking(name, with_number or with_tensor)

    def method(self: Any, other: Any) -> Any:
        kind = other.__class__
        if kind in TENSOR_TYPES:
            return call(self, other)
        number = other if kind in NUMBERS else _number(other, self)
        return beside_other(name, self, other) if number is None else call_number(self, number)

    return method


def equal_to(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Make ``self == other`` accept arrays: of all operators, PyTorch accepts them only here."""

    def equality(self: Any, other: Any) -> Any:
        return method(self, from_numpy(other) if other.__class__ is np.ndarray else other)

    return equality


def commuted(name: str, method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Make ``other op self`` of a commutative ``self op other``."""

    def reflection(self: Any, other: Any) -> Any:
        if self.__class__ not in TENSOR_TYPES:
            raise TypeError(f"descriptor '__r{name}__' for 'Tensor' objects doesn't apply to a "
                            f"'{type(self).__name__}' object")
        return method(self, other)

    return reflection


def reflected(name: str, with_tensor: str, with_number: str) -> Callable[[Any, Any], Any]:
    """Make ``other op self`` from operators that take ``other`` first."""
    offer = offered(name, lambda: getattr(Tensor, name), swapped=True)
    call, call_number = make_entry(registry[with_tensor], offer), make_entry(registry[with_number], offer)

    def method(self: Any, other: Any) -> Any:
        if other.__class__ in TENSOR_TYPES:
            return call(other, self)
        number = _number(other, self)
        return beside_other(name, self, other) if number is None else call_number(number, self)

    return method


def among_tensors(name: str, operator: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    """Make the method ``name``, ``self op other`` (or ``other op self``) for tensors only."""
    call = make_entry(registry[operator], offered(name, lambda: getattr(Tensor, name), swapped))

    def method(self: Any, other: Any) -> Any:
        if other.__class__ not in TENSOR_TYPES:
            return beside_other(name, self, other)
        return call(*((other, self) if swapped else (self, other)))

    return method


@overridable
def invert(self: Any) -> Any:
    """Compute ``~self``."""
    if self._dtype.category >= FLOATING:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(self)


def reflected_division(self: Any, other: Any) -> Any:
    """Compute ``other / self``."""
    if _number(other, self) is None and not isinstance(other, np.ndarray) and other.__class__ not in TENSOR_TYPES:
        return beside_other("__rdiv__", self, other)
    found = asked((self, other), {})
    return reciprocal(self) * other if found is None else handle(Tensor.__rdiv__, found, (self, other), {})


#: What an operator of Python stands for: beside a tensor and, where it is another operator, beside a number.
#: All but comparisons have an in-place form; the ``COMMUTATIVE`` are their own reflection.
OPERATORS = {
    "add": ("add.Tensor",), "sub": ("sub.Tensor",), "mul": ("mul.Tensor",), "truediv": ("div.Tensor",),
    "div": ("div.Tensor",), "floordiv": ("floor_divide",), "mod": ("remainder.Tensor", "remainder.Scalar"),
    "pow": ("pow.Tensor_Tensor", "pow.Tensor_Scalar"), "and": ("bitwise_and.Tensor",),
    "or": ("bitwise_or.Tensor",), "xor": ("bitwise_xor.Tensor",), "lshift": ("bitwise_left_shift.Tensor",),
    "rshift": ("bitwise_right_shift.Tensor",), "eq": ("eq.Tensor",), "ne": ("ne.Tensor",), "lt": ("lt.Tensor",),
    "le": ("le.Tensor",), "gt": ("gt.Tensor",), "ge": ("ge.Tensor",),
}
COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge"}
COMMUTATIVE = {"add", "mul", "and", "or", "xor"}
REFLECTED = {"floordiv": ("floor_divide", "floor_divide.Scalar_Tensor"), "pow": ("pow.Tensor_Tensor", "pow.Scalar"),
             "mod": ("remainder.Tensor", "remainder.Scalar_Tensor"),
             "lshift": ("bitwise_left_shift.Tensor", "bitwise_left_shift.Scalar_Tensor"),
             "rshift": ("bitwise_right_shift.Tensor", "bitwise_right_shift.Scalar_Tensor")}
#: The operators that are other names of methods; the others are methods of their own to ``__torch_function__``.
METHOD_OF = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "div": "div", "mod": "remainder", "ne": "ne",
             "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
INPLACE_METHOD_OF = {"floordiv": "floor_divide_", **{name: f"{method}_" for name, method in METHOD_OF.items()}}
for _name, _operators in OPERATORS.items():
    tensor_method(f"__{_name}__")(binary(METHOD_OF.get(_name, f"__{_name}__"), *_operators))
    if _name not in COMPARISONS:
        _method = binary(INPLACE_METHOD_OF.get(_name, f"__i{_name}__"), *map(inplace_name, _operators))
        tensor_method(f"__i{_name}__")(_method)
    if _name in COMMUTATIVE:
        _method = getattr(Tensor, f"__{_name}__") if _name in METHOD_OF else binary(f"bitwise_{_name}", *_operators)
        tensor_method(f"__r{_name}__")(commuted(_name, _method))
tensor_method("__eq__")(equal_to(Tensor.__eq__))
Tensor.__pow__.__name__, Tensor.__ipow__.__name__ = "pow", "pow_"  # as of PyTorch's, which wrap these
for _name, _operators in REFLECTED.items():
    tensor_method(f"__r{_name}__")(reflected(f"__r{_name}__", *_operators))
METHODS: dict[str, Callable[..., Any]] = {
    "rsub": binary("__rsub__", "rsub.Tensor", "rsub.Scalar"),
    "rtruediv": reflected_division, "rdiv": reflected_division,
    "matmul": among_tensors("matmul", "matmul"), "rmatmul": among_tensors("__rmatmul__", "matmul", swapped=True),
    "neg": asking("neg", "neg"), "pos": asking("positive", "positive"), "abs": asking("abs", "abs"), "invert": invert,
}
for _name, _method in METHODS.items():
    tensor_method(f"__{_name}__")(_method)


def view_property(name: str, operator: str, what: str) -> property:
    """Return an attribute that is a view; assigning to the real or imaginary part writes into it."""
    call = registry[operator].call

    def read(self: Tensor) -> Tensor:
        return call(self)

    def write(self: Tensor, value: Any) -> None:
        part = call(self)
        part.fill_(value) if _number(value, self) is not None else part.copy_(value)

    doc = f"{what} (``torch.Tensor.{name}``)."
    return property(read, write if name in ("real", "imag") else None, doc=doc)


VIEWS = {
    "T": ("numpy_T", "A view with the dimensions in reverse order"),
    "mT": ("mT", "A view with the last two dimensions swapped"),
    "H": ("matrix_H", "The matrix, conjugated and transposed"), "mH": ("mH", "The matrices, conjugated and transposed"),
    "real": ("real", "A view of the real parts"), "imag": ("imag", "A view of the imaginary parts"),
}
for _name, (_operator, _what) in VIEWS.items():
    setattr(Tensor, _name, view_property(_name, _operator, _what))


def result_type(tensor1: Any, tensor2: Any) -> DType:
    """Return the dtype of an operation on two tensors or numbers (``torch.result_type``). Raises TypeError if an
    operand is neither.
    """
    for operand in (tensor1, tensor2):
        if operand.__class__ not in TENSOR_TYPES and _number(operand, None) is None:
            got = f"{tensor1.__class__.__name__}, {tensor2.__class__.__name__}"
            raise TypeError(f"result_type() received an invalid combination of arguments - got ({got}), but expected "
                            "tensors or numbers")
    return common_result_type((tensor1, tensor2))

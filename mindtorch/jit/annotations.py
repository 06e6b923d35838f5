"""``torch.jit.annotations``: types in the annotations of programs for TorchScript."""
from __future__ import annotations

from typing import Any, List as List  # noqa: UP035 -- timm imports it from here


class _BroadcastingList:
    """A list, or one number for all of its items; as an annotation only: ``BroadcastingList2[int]``."""

    def __getitem__(self, kind: Any) -> Any:
        return kind | list[kind]


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = _BroadcastingList()


class Type:
    """A type in the schemas of TorchScript (``torch.Type``), here for annotations and to be printed."""

    annotation_str = ""  #: as TorchScript writes it

    def kind(self) -> str:
        """Return the name of the class."""
        return type(self).__name__

    def __str__(self) -> str:
        return self.annotation_str

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str(self) == str(other)

    __hash__ = None  # type: ignore[assignment]


class _Single(Type):
    @classmethod
    def get(cls) -> Type:
        """Return the only instance of the type."""
        return cls()


class _Of(Type):
    form = ""

    def __init__(self, element: Type):
        self.element = element
        self.annotation_str = f"{self.form}[{element}]"

    def getElementType(self) -> Type:
        """Return the type of the elements."""
        return self.element


def _single(name: str, annotation_str: str) -> type[_Single]:
    return type(name, (_Single,), {"annotation_str": annotation_str, "__module__": __name__,
                                   "__doc__": f"TorchScript's ``{annotation_str}`` (``torch.{name}``)."})


AnyType = _single("AnyType", "Any")
BoolType = _single("BoolType", "bool")
ComplexType = _single("ComplexType", "complex")
DeviceObjType = _single("DeviceObjType", "Device")
FloatType = _single("FloatType", "float")
IntType = _single("IntType", "int")
NoneType = _single("NoneType", "NoneType")
NumberType = _single("NumberType", "number")
PyObjectType = _single("PyObjectType", "PyObject")
StreamObjType = _single("StreamObjType", "Stream")
StringType = _single("StringType", "str")
SymBoolType = _single("SymBoolType", "bool")
SymIntType = _single("SymIntType", "int")
TensorType = _single("TensorType", "Tensor")


class ListType(_Of):
    """A list of a type (``torch.ListType``)."""

    form = "List"


class OptionalType(_Of):
    """A type or None (``torch.OptionalType``)."""

    form = "Optional"


class FutureType(_Of):
    """A future of a type (``torch.FutureType``)."""

    form = "Future"


class TupleType(Type):
    """A tuple of types (``torch.TupleType``)."""

    def __init__(self, elements: list[Type]):
        self._elements = elements
        self.annotation_str = f"Tuple[{', '.join(map(str, elements))}]"

    def elements(self) -> list[Type]:
        """Return the types of the elements."""
        return list(self._elements)


class DictType(Type):
    """A dictionary from one type to another (``torch.DictType``)."""

    def __init__(self, key: Type, value: Type):
        self.key, self.value = key, value
        self.annotation_str = f"Dict[{key}, {value}]"

    def getKeyType(self) -> Type:
        """Return the type of the keys."""
        return self.key

    def getValueType(self) -> Type:
        """Return the type of the values."""
        return self.value


class UnionType(Type):
    """One of several types (``torch.UnionType``)."""

    def __init__(self, types: list[Type]):
        self.annotation_str = f"Union[{', '.join(sorted(map(str, types)))}]"

"""Data types: ``torch.dtype``, promotion, ``finfo``/``iinfo`` and the default dtype."""
from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ._base.about import wrong_argument
from ._base.call_site import warn_once
from ._base.symbolic import SYMBOLIC

BOOL, INTEGER, FLOATING, COMPLEX = range(4)


class DType:
    """A data type (``torch.dtype``). There is one instance of each, so that ``is`` compares them.

    ``category`` orders bool < integer < floating < complex, as type promotion does; ``itemsize`` is in bytes; ``np`` is
    the NumPy dtype that holds the elements.
    """

    def __init__(self, name: str, category: int, itemsize: int, rank: int, numpy_name: str | None = None):
        self.name = name
        self.category = category
        self.itemsize = itemsize
        self._rank = rank
        self.is_floating_point = category == FLOATING
        self.is_complex = category == COMPLEX
        self.is_signed = category >= FLOATING or (category == INTEGER and not name.startswith("u"))
        if numpy_name is not None:
            self.np = np.dtype(numpy_name)
            _FROM_NUMPY[self.np] = self

    if not TYPE_CHECKING:

        def __getattr__(self, attribute: str) -> Any:
            # the NumPy dtypes of those in WIDER come from ml_dtypes, which is imported on first use only
            if attribute == "np" and self.name in QUANTIZED:
                raise RuntimeError(f"a tensor of {self!r} has a scale and a zero point: it is made by "
                                   "torch.quantize_per_tensor and its like, not by factories or conversions")
            if attribute == "np" and self.name in NARROW:
                raise NotImplementedError(f"{self!r} is the name of a format and no operator takes it: keep such "
                                          "numbers in torch.uint8 or torch.int8, as libraries that pack them do")
            if attribute == "np":
                import ml_dtypes

                found = np.dtype(getattr(ml_dtypes, self.name))
                _FROM_NUMPY[found] = self
                if self.name == "complex32":  # each time, for programs that ask for all warnings
                    warn_once("ComplexHalf support is experimental and many operators don't support it yet.")
                else:
                    self.np = found
                return found
            raise AttributeError(f"'torch.dtype' object has no attribute '{attribute}'")

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (dtype_named, (self.name,))

    def __deepcopy__(self, memo: dict[int, Any]) -> DType:
        return self

    @property
    def abbr(self) -> str:
        """A short name, such as 'f32' (``torch.dtype.abbr``)."""
        if self.name.startswith("float8"):
            return f"f{self.name.removeprefix('float')}".replace("_", "")
        if self.name in NARROW:
            return self.name
        letters = "bf" if self.name == "bfloat16" else self.name[0]
        return f"{letters}{8 * self.itemsize}"

    def to_real(self) -> DType:
        """Return the real dtype of the same precision, ``float32`` for ``complex64`` (``torch.dtype.to_real``)."""
        return _TO_REAL.get(self, self)

    def to_complex(self) -> DType:
        """Return the complex dtype of the same precision, ``complex64`` for ``float32`` (``torch.dtype.to_complex``).
        Raises RuntimeError for integers and bool.
        """
        if self.category < FLOATING:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.name}")
        return _TO_COMPLEX.get(self, self)


def dtype_named(name: str) -> DType:
    """Return the dtype of a name."""
    return DTYPES.get(name) or RARE.get(name) or QUANTIZED.get(name) or NARROW[name]


_FROM_NUMPY: dict[np.dtype, DType] = {}

bool_ = DType("bool", BOOL, 1, 0, "bool")
uint8 = DType("uint8", INTEGER, 1, 1, "uint8")
int8 = DType("int8", INTEGER, 1, 1, "int8")
int16 = DType("int16", INTEGER, 2, 2, "int16")
int32 = DType("int32", INTEGER, 4, 3, "int32")
int64 = DType("int64", INTEGER, 8, 4, "int64")
uint16 = DType("uint16", INTEGER, 2, 4, "uint16")
uint32 = DType("uint32", INTEGER, 4, 4, "uint32")
uint64 = DType("uint64", INTEGER, 8, 4, "uint64")
float16 = DType("float16", FLOATING, 2, 5, "float16")
bfloat16 = DType("bfloat16", FLOATING, 2, 5)
float32 = DType("float32", FLOATING, 4, 6, "float32")
float64 = DType("float64", FLOATING, 8, 7, "float64")
float8_e5m2 = DType("float8_e5m2", FLOATING, 1, 5)
float8_e4m3fn = DType("float8_e4m3fn", FLOATING, 1, 5)
float8_e5m2fnuz = DType("float8_e5m2fnuz", FLOATING, 1, 5)
float8_e4m3fnuz = DType("float8_e4m3fnuz", FLOATING, 1, 5)
float8_e8m0fnu = DType("float8_e8m0fnu", FLOATING, 1, 5)
complex32 = DType("complex32", COMPLEX, 4, 8)
complex64 = DType("complex64", COMPLEX, 8, 8, "complex64")
complex128 = DType("complex128", COMPLEX, 16, 9, "complex128")

DTYPES: dict[str, DType] = {d.name: d for d in (bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32,
                                                float64, complex64, complex128)}
#: Dtypes that memory may have, which few operators take.
RARE = {d.name: d for d in (uint16, uint32, uint64, complex32, float8_e5m2, float8_e4m3fn, float8_e5m2fnuz,
                            float8_e4m3fnuz, float8_e8m0fnu)}
#: Dtypes of quantised tensors.
QUANTIZED = {name: DType(name, INTEGER, itemsize, 0)
             for name, itemsize in {"qint8": 1, "quint8": 1, "qint32": 4, "quint4x2": 1, "quint2x4": 1}.items()}
#: Formats of less than a byte, or of plain bits, by whose names libraries describe what they pack.
NARROW = {name: DType(name, INTEGER, 1, 0) for width in range(1, 8) for name in (f"int{width}", f"uint{width}")}
NARROW["float4_e2m1fn_x2"] = DType("float4_e2m1fn_x2", FLOATING, 1, 5)
#: Those that NumPy has from ml_dtypes, and in which dtype of its own it computes with them otherwise.
WIDER: dict[str, Any] = {"bfloat16": np.float32, "complex32": np.complex64,
                         **{name: np.float32 for name in RARE if name.startswith("float8")}}
_UNPROMOTED = {uint16, uint32, uint64}
#: ATen's names of the dtypes, as its error messages spell them.
NAMES = {"bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
         "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double",
         "complex64": "ComplexFloat", "complex128": "ComplexDouble"}
NAMES |= {"uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "complex32": "ComplexHalf",
          **{name: name.capitalize() for name in RARE if name.startswith("float8")},
          **{name: f"{name[:2].upper()}{name[2:]}" if name[0] == "u" else name.capitalize() for name in NARROW}}
_TO_REAL = {complex32: float16, complex64: float32, complex128: float64}
_TO_COMPLEX = {float16: complex32, bfloat16: complex64, float32: complex64, float64: complex128}
DTYPE_ALIASES = {"half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64,
                 "chalf": complex32, "cfloat": complex64, "cdouble": complex128}
#: Groups of dtypes, in the words of ATen's dispatch macros: AT_DISPATCH_INTEGRAL_TYPES, REDUCED_FLOATING_TYPES (half
#: precision), FLOATING_TYPES, COMPLEX_TYPES, BAREBONES_UNSIGNED_TYPES and FLOAT8_TYPES; and what is made of them.
GROUPS = {"integral": "uint8|int8|int16|int32|int64", "reduced": "float16|bfloat16", "floating": "float32|float64",
          "complex": "complex64|complex128", "real": "integral|reduced|floating", "all": "bool|real|complex",
          "unsigned": "uint16|uint32|uint64",
          "float8": "float8_e5m2|float8_e4m3fn|float8_e5m2fnuz|float8_e4m3fnuz|float8_e8m0fnu"}


@cache
def dtypes(words: str) -> frozenset[DType]:
    """Return the dtypes of words such as ``bool|integral|float32``, groups or names; ValueError for others."""
    found: set[DType] = set()
    for word in words.split("|"):
        if word not in GROUPS and word not in DTYPES and word not in RARE:
            raise ValueError(f"expected dtypes, or groups of them ({', '.join(GROUPS)}), but got {word!r}")
        found |= dtypes(GROUPS[word]) if word in GROUPS else {dtype_named(word)}
    return frozenset(found)


def from_numpy_dtype(dtype: np.dtype) -> DType:
    """Return the dtype of a NumPy dtype's elements; TypeError if no tensor can hold them (objects, strings)."""
    found = _FROM_NUMPY.get(dtype)
    if found is not None:
        return found
    if dtype.name in WIDER:
        own = dtype_named(dtype.name)
        return own.np and own
    found = _FROM_NUMPY.get(dtype.newbyteorder("="))
    if found is not None:
        raise ValueError(f"given numpy array has byte order different from the native byte order: {dtype.str}")
    raise TypeError(f"can't convert np.ndarray of type numpy.{dtype.type.__name__}. The only supported types are: "
                    "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, "
                    "uint16, uint8, and bool.")


def before_rounding(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return what is rounded to a dtype: numbers of float64 that become float16 as float32, from which C++ rounds them
    to ``c10::Half``; else the array.
    """
    return array.astype(np.float32) if dtype.char == "e" and array.dtype.char == "d" else array


def promote_types(a: DType, b: DType) -> DType:
    """Return the smallest dtype that both can be promoted to (``torch.promote_types``). Raises TypeError for anything
    but a dtype, and RuntimeError for uint16, uint32 and uint64 beside other integers or complex numbers.
    """
    if a is b and a.__class__ is DType:
        return a
    if a.__class__ is not DType or b.__class__ is not DType:
        _check_dtypes("promote_types", type1=a, type2=b)
    return _promoted(a, b)


@cache
def _promoted(a: DType, b: DType) -> DType:
    if (a in _UNPROMOTED or b in _UNPROMOTED) and not (a.is_floating_point or b.is_floating_point):
        raise RuntimeError("Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
                           f"{NAMES[a.name]} and {NAMES[b.name]}")
    for dtype in (a, b):
        if dtype.name.startswith("float8"):
            raise RuntimeError("Promotion for Float8 Types is not supported, attempted to promote "
                               f"{NAMES[a.name]} and {NAMES[b.name]}")
    if a.category < b.category:
        a, b = b, a
    if a.category == COMPLEX:
        if a is complex32 and (b.category < FLOATING or b is float16):
            return complex32
        return complex128 if float64 in (a, b) or complex128 in (a, b) else complex64
    if a.category == FLOATING:
        if b.category < FLOATING:
            return a
        if {a, b} == {float16, bfloat16}:
            return float32
    if a.category == INTEGER and b.category == INTEGER and uint8 in (a, b) and int8 in (a, b):
        return int16
    return a if a._rank >= b._rank else b


#: The types of Python that may be given as a dtype.
PYTHON_DTYPES: dict[Any, DType] = {bool: bool_, int: int64, float: float64, complex: complex128}


def as_dtype(function: str, dtype: Any) -> Any:
    """Convert a ``dtype`` argument (None, a dtype, or one of Python's number types) to a dtype. Raises TypeError for
    anything else.
    """
    if dtype is None or dtype.__class__ is DType:
        return dtype
    if isinstance(dtype, type) and dtype in PYTHON_DTYPES:
        return PYTHON_DTYPES[dtype]
    raise wrong_argument(function, "dtype", "torch.dtype", dtype)


def dtype_of_number(value: Any) -> DType:
    """Return the dtype that a Python number has as an operand (default dtypes for float and complex). Raises
    OverflowError for an int that neither int64 nor uint64 holds, and TypeError if it is not a number.
    """
    kind = type(value)
    if kind is bool or kind is np.bool_:
        return bool_
    if kind is float:
        return _default
    if kind is int or isinstance(value, (int, np.integer)):
        if not -1 << 63 <= value < 1 << 64:
            raise OverflowError("int too big to convert" if value > 0 else "can't convert negative int to unsigned")
        return int64
    if isinstance(value, (float, np.floating)):
        return _default
    if isinstance(value, (complex, np.complexfloating)):
        return _default.to_complex()
    if kind in SYMBOLIC:
        return {"SymInt": int64, "SymBool": bool_}.get(kind.__name__, _default)
    raise TypeError(f"expected a number, but got {kind.__name__}")


def _check_dtypes(function: str, **given: Any) -> None:
    for position, (name, value) in enumerate(given.items(), 1):
        if value.__class__ is not DType:
            raise wrong_argument(function, name, "torch.dtype", value, position)


def can_cast(from_: DType, to: DType) -> bool:
    """Return True if PyTorch's casting rules allow a conversion: never to a lower category (``torch.can_cast``). Raises
    TypeError for anything but dtypes.
    """
    _check_dtypes("can_cast", from_=from_, to=to)
    return from_.category <= to.category


_default = float32


def get_default_dtype() -> DType:
    """Return the dtype that Python floats get (``torch.get_default_dtype``)."""
    return _default


def set_default_dtype(d: DType) -> None:
    """Set the dtype that Python floats get (``torch.set_default_dtype``). Raises TypeError if ``d`` is not a floating
    point dtype.
    """
    global _default
    if not isinstance(d, DType) or not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, but got {d!r}")
    _default = d


class finfo:
    """Numerical properties of a floating point dtype (``torch.finfo``)."""

    def __init__(self, type: DType | None = None):
        dtype = get_default_dtype() if type is None else type
        if not isinstance(dtype, DType):
            raise TypeError(f"finfo(): argument 'type' must be torch.dtype, not {dtype.__class__.__name__}")
        if dtype.category < FLOATING:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{dtype}'")
        dtype = dtype.to_real()
        if dtype.name in WIDER:
            import ml_dtypes

            info: Any = ml_dtypes.finfo(dtype.np)
        else:
            info = np.finfo(dtype.np)
        self.dtype = dtype.name
        self.bits = dtype.itemsize * 8
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        digits = 0 if self.bits == 8 else int(info.precision)  # as C++ counts the decimals that eight bits hold
        self.resolution = 10.0 ** -digits  # ml_dtypes rounds its resolution to the dtype
        if self.dtype == "float8_e5m2fnuz":
            self.eps = 0.125  # PyTorch's number; the next one after 1 is 1.25

    def __eq__(self, other: object) -> bool:
        return self.dtype == other.dtype if isinstance(other, finfo) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as in PyTorch

    def __repr__(self) -> str:
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")


class iinfo:
    """Numerical properties of an integer dtype (``torch.iinfo``)."""

    def __init__(self, type: DType):
        if not isinstance(type, DType) or type.category >= FLOATING:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type}'")
        if type is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        info = np.iinfo(type.np)
        self.dtype, self.bits, self.min, self.max = type.name, info.bits, int(info.min), int(info.max)

    def __eq__(self, other: object) -> bool:
        return self.dtype == other.dtype if isinstance(other, iinfo) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

"""The unpickler of ``weights_only=True``: it makes tensors, containers and numbers, and calls nothing else.

It refuses the files that PyTorch's unpickler refuses, with its messages. It also bounds the cost of a file: copying
constructors together take no more than a multiple of the file's size, and keys can be hashed quickly.
"""
from __future__ import annotations

import _compat_pickle
import pickle
import pickletools
import reprlib
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from io import BytesIO
from typing import Any

from .. import _utils
from .._base.size import Size
from .._creation.legacy import LEGACY_TENSORS
from .._device import device
from .._dtype import DTYPES, RARE
from .._storage import NAMES as STORAGE_NAMES, TypedStorage, UntypedStorage
from .._tensor import Tensor
from ..nn.parameter import Parameter
from .names import _get_layout, find, path_of

BLOCKED_MODULES = ("sys", "os", "posix", "nt")  # never allowed, even if the user adds something of theirs
_marked_safe: set[Any] = set()


def add(safe_globals: Iterable[Any]) -> None:
    """Allow classes and functions, or pairs of one and its path in files."""
    _marked_safe.update(safe_globals)


def remove(safe_globals: Iterable[Any]) -> None:
    """Stop allowing classes and functions."""
    _marked_safe.difference_update(safe_globals)


def marked() -> list[Any]:
    """Return the classes and functions that users allowed."""
    return list(_marked_safe)


def user_globals() -> dict[str, Any]:
    """Return the allowed globals by path; ValueError for a tuple that is not a pair, TypeError for other paths."""
    found = {}
    for item in _marked_safe:
        if not isinstance(item, tuple):
            found[path_of(item)] = item
            continue
        if len(item) != 2:
            raise ValueError("Expected tuple of length 2 (global, str of callable full path), but got tuple of length: "
                             f"{len(item)}")
        if type(item[1]) is not str:
            raise TypeError(f"Expected second item in tuple to be str of callable full path, but got: {type(item[1])}")
        found[item[1]] = item[0]
    return found


class StorageType:
    """A class of storages as the unpickler sees it: a dtype."""

    def __init__(self, name: str):
        self.dtype = _STORAGE_DTYPES[name]

    def __repr__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


_STORAGE_DTYPES = {name: dtype for dtype, name in STORAGE_NAMES.items()}


def _encode(text: str, encoding: str) -> bytes:
    """Return bytes, which pickle's old protocols write as text."""
    if encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError(f"bytes are encoded as latin1, but got {encoding!r}")
    return text.encode("latin1")


def _bytearray(data: Any = b"", encoding: str | None = None) -> bytearray:
    """Return a bytearray of bytes or text; a number, which would be a size, is refused."""
    if not isinstance(data, (bytes, str)):
        raise pickle.UnpicklingError(f"a bytearray is made of bytes, but got {type(data).__name__}")
    return bytearray(data if isinstance(data, bytes) else _encode(data, encoding or "latin1"))


_REBUILDERS = ("_rebuild_parameter", "_rebuild_parameter_with_state", "_rebuild_tensor", "_rebuild_tensor_v2",
               "_rebuild_tensor_v3", "_rebuild_meta_tensor_no_storage", "_rebuild_device_tensor_from_cpu_tensor",
               "_rebuild_device_tensor_from_numpy", "_rebuild_sparse_tensor")

REBUILDS_NESTED = "torch.nested._internal.nested_tensor._rebuild_njt"
#: Allowed as well, and imported when a file names them, as few files do.
RARE_GLOBALS = ("torch.nested._internal.nested_tensor.NestedTensor", REBUILDS_NESTED,
                "torch._dynamo.decorators._DimRange")


@cache
def allowed_globals() -> dict[str, Any]:
    """Return the classes and functions that a file may hold without a user's consent, by path."""
    return {
        "collections.OrderedDict": OrderedDict, "collections.Counter": Counter,
        "torch.nn.parameter.Parameter": Parameter, "torch.serialization._get_layout": _get_layout, "torch.Size": Size,
        "torch.Tensor": Tensor, "torch.device": device, "_codecs.encode": _encode, "builtins.bytearray": _bytearray,
        "builtins.set": set,
        "builtins.complex": complex, "torch._tensor._rebuild_from_type_v2": _utils._rebuild_from_type_v2,
        "torch.storage.UntypedStorage": UntypedStorage, "torch.storage.TypedStorage": TypedStorage,
        **{f"torch.{name}": dtype for name, dtype in (DTYPES | RARE).items()},
        **{f"torch.{name}": kind for name, kind in LEGACY_TENSORS.items()},
        **{f"torch.{name}": StorageType(name) for name in _STORAGE_DTYPES},
        **{f"torch._utils.{name}": getattr(_utils, name) for name in _REBUILDERS},
    }


def _is_one_of(thing: Any, allowed: Iterable[Any]) -> bool:
    return any(thing is other for other in allowed)


class _Whole:
    """A file that raises if it has fewer bytes than requested."""

    def __init__(self, file: Any):
        self._file, self.count = file, 0

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self.count += len(data)
        if len(data) < size:
            raise EOFError("Ran out of input")
        return data

    def readline(self) -> bytes:
        line = self._file.readline()
        self.count += len(line)
        return line


class _Opcodes(dict[int, Callable[[Any], None]]):
    def __missing__(self, key: int) -> Any:
        raise pickle.UnpicklingError(f"Unsupported operand {key}")


_ALLOWED_OPCODES = (
    "PROTO", "STOP", "MARK", "GLOBAL", "NEWOBJ", "REDUCE", "BUILD", "APPEND", "APPENDS", "SETITEM", "SETITEMS",
    "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "NONE", "NEWFALSE", "NEWTRUE", "EMPTY_TUPLE", "EMPTY_LIST", "EMPTY_DICT",
    "EMPTY_SET", "BININT", "BININT1", "BININT2", "BINFLOAT", "BINUNICODE", "SHORT_BINSTRING", "BINPERSID", "BINGET",
    "LONG_BINGET", "BINPUT", "LONG_BINPUT", "LONG1",
)
_MAX_KEY = 10_000  #: how many parts a key may have: shared ones count each time, since hashing visits them each time
_COPIES, _SPARE = 64, 2**20  #: what constructors may copy: so many times the pickle read so far, and this
#: What a pickle raises that is not well formed.
MALFORMED = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError, AssertionError)


_Base: Any = pickle._Unpickler  # written in Python, with a method for each instruction


class Unpickler(_Base):
    """Reads one pickle. ``persistent_load`` gives storages; without it they are refused."""

    dispatch = _Opcodes()
    stack: list[Any]
    _from_outside: Exception | None = None

    def __init__(self, file: Any, *, encoding: str = "utf-8"):
        self._whole = _Whole(file)
        super().__init__(self._whole, encoding=encoding)
        self._copied = 0
        self._allowed = allowed_globals()
        self._user = user_globals()

    def load(self) -> Any:
        try:
            return super().load()
        except MALFORMED as error:
            if error is self._from_outside:
                raise
            raise pickle.UnpicklingError(f"the pickle is malformed: {type(error).__name__}: {error}") from error

    def find_class(self, module: str, name: str) -> Any:
        module, name = current_name(module, name)
        path = f"{module}.{name}"
        if module in BLOCKED_MODULES:
            raise pickle.UnpicklingError(f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked.")
        if path in RARE_GLOBALS and path not in self._allowed:
            self._allowed[path] = find(module, name)
        if path in self._allowed:
            return self._allowed[path]
        if path in self._user:
            return self._user[path]
        path = path.removeprefix("builtins.")
        raise pickle.UnpicklingError(
            f"Unsupported global: GLOBAL {path} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{path}])` or the `torch.serialization.safe_globals([{path}])` "
            "context manager to allowlist this global if you trust this class/function.")

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("unsupported persistent id encountered")

    def load_proto(self) -> None:
        self.proto = self.read(1)[0]
        if self.proto != 2:
            warnings.warn(f"Detected pickle protocol {self.proto} in the checkpoint, which was not the default pickle "
                          "protocol used by `torch.load` (2). The weights_only Unpickler might not support all "
                          "instructions implemented by this protocol, please file an issue for adding support if you "
                          "encounter this.", stacklevel=2)

    def load_newobj(self) -> None:
        args = self.stack.pop()
        cls = self.stack.pop()
        if _is_one_of(cls, self._user.values()):
            self.append(cls.__new__(cls, *args))
        elif isinstance(cls, type) and _is_one_of(cls, self._allowed.values()):
            self.append(self._called(cls, args))
        else:
            raise pickle.UnpicklingError("Can only create new object for nn.Parameter or classes allowlisted via "
                                         f"`add_safe_globals` but got {shown(cls)}")

    def load_reduce(self) -> None:
        args = self.stack.pop()
        function = self.stack[-1]
        if not _is_one_of(function, self._allowed.values()) and not _is_one_of(function, self._user.values()):
            said = f"Trying to call reduce for unrecognized function {shown(function)}"
            if hasattr(function, "__self__"):
                said += f" which belongs to {shown(function.__self__)}"
            raise pickle.UnpicklingError(said)
        self.stack[-1] = self._called(function, args)

    def _called(self, function: Any, args: tuple[Any, ...]) -> Any:
        """Return the result of an allowed function, if its arguments are of a form that pickles have."""
        if function in (Tensor, UntypedStorage, TypedStorage, *LEGACY_TENSORS.values()) and args:
            raise pickle.UnpicklingError(f"Can only create an empty {function.__name__}")
        if function is _utils._rebuild_from_type_v2 and not _is_one_of(
                args[0], [*(getattr(_utils, name) for name in _REBUILDERS), self._allowed.get(REBUILDS_NESTED),
                          *self._user.values()]):
            raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {shown(args[0])}")
        if function in (_encode, _bytearray, set, OrderedDict, Counter, Size, complex):
            self._copied += sum(len(arg) for arg in args if hasattr(arg, "__len__"))
            if self._copied > _COPIES * self._whole.count + _SPARE:
                raise pickle.UnpicklingError("the pickle copies again and again what it has")
        if function in (set, Counter, OrderedDict):
            for key in args[0] if args else ():
                _check_key(key[0] if function is OrderedDict and isinstance(key, (list, tuple)) else key)
        return function(*args)

    def load_build(self) -> None:
        state = self.stack.pop()
        made = self.stack[-1]
        kind = type(made)
        if kind is Tensor:
            _utils.set_within(made, *state)
        elif kind is Parameter:
            made.__setstate__(state)
        elif kind is OrderedDict:
            made.__dict__.update(state)
        elif not _is_one_of(kind, self._user.values()) and not _is_one_of(kind, self._allowed.values()):
            raise pickle.UnpicklingError("Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                                         f"`add_safe_globals`, but got {kind}")
        elif hasattr(made, "__setstate__"):
            made.__setstate__(state)
        else:
            attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
            made.__dict__.update(attributes or {})
            for name, value in (slots or {}).items():
                setattr(made, name, value)

    def _list(self, verb: str) -> list[Any]:
        found = self.stack[-1]
        if type(found) is not list:
            raise pickle.UnpicklingError(f"Can only {verb} lists, but got {type(found)}")
        return found

    def load_append(self) -> None:
        item = self.stack.pop()
        self._list("append to").append(item)

    def load_appends(self) -> None:
        items = self.pop_mark()
        self._list("extend").extend(items)

    def _set(self, opcode: str, items: Sequence[Any]) -> None:
        target = self.stack[-1]
        if type(target) not in (dict, OrderedDict, Counter):
            raise pickle.UnpicklingError(f"Can only {opcode} for dict, collections.OrderedDict, collections.Counter, "
                                         f"but got {type(target)}")
        for key, value in zip(items[::2], items[1::2], strict=True):
            _check_key(key)
            target[key] = value

    def load_setitem(self) -> None:
        value = self.stack.pop()
        key = self.stack.pop()
        self._set("SETITEM", (key, value))

    def load_setitems(self) -> None:
        items = self.pop_mark()
        self._set("SETITEMS", items)

    def load_binpersid(self) -> None:
        pid = self.stack.pop()
        if type(pid) is not tuple and type(pid) is not int:
            raise pickle.UnpicklingError(f"persistent_load id must be tuple or int, but got {type(pid)}")
        if type(pid) is tuple and pid and decoded(pid[0]) != "storage":
            raise pickle.UnpicklingError(f"Only persistent_load of storage is allowed, but got {type(pid[0])}")
        try:
            self.append(self.persistent_load(pid))
        except Exception as error:  # a user's ``map_location`` may have raised it
            self._from_outside = error
            raise

    for _name in _ALLOWED_OPCODES:
        _method = f"load_{_name.lower()}"
        dispatch[getattr(pickle, _name)[0]] = (locals()[_method] if _method in locals() else
                                               _Base.dispatch[getattr(pickle, _name)[0]])


def current_name(module: str, name: str) -> tuple[str, str]:
    """Return the present module and name for a name of Python 2, as in pickles of protocol 2."""
    return _compat_pickle.NAME_MAPPING.get((module, name), (_compat_pickle.IMPORT_MAPPING.get(module, module), name))


def shown(value: Any) -> str:
    """Return a value for a message, as short text even if the value holds another many times over."""
    return str(value) if callable(value) else reprlib.repr(value)


def decoded(text: Any) -> Any:
    """Return a string of PyTorch's, which pickles of Python 2 hold as bytes."""
    return text.decode("ascii") if isinstance(text, bytes) else text


def _check_key(key: Any) -> None:
    """Refuse a key that takes long to hash, nested tuples many times over, with UnpicklingError."""
    if not isinstance(key, tuple):
        return
    rest, count = [key], 0
    while rest:
        items = rest.pop()
        count += len(items)
        if count > _MAX_KEY:
            raise pickle.UnpicklingError(f"a key of a dictionary has more than {_MAX_KEY} parts")
        rest.extend(item for item in items if isinstance(item, tuple))


def load(file: Any, *, encoding: str = "utf-8", **options: Any) -> Any:
    """Load the next pickle in a file, if its content is allowed."""
    return Unpickler(file, encoding=encoding).load()


def globals_in(data: bytes) -> set[str]:
    """Return the paths that a pickle names, without loading it; UnpicklingError for forbidden instructions."""
    found = set()
    try:
        for opcode, argument, _ in pickletools.genops(BytesIO(data)):
            if opcode.name not in _ALLOWED_OPCODES:
                raise pickle.UnpicklingError(f"Unsupported operand {ord(opcode.code)}")
            if opcode.name == "GLOBAL":
                module, _, name = str(argument).partition(" ")
                found.add(".".join(current_name(module, name)))
    except ValueError as error:
        raise pickle.UnpicklingError(f"the pickle is malformed: {error}") from error
    return found

"""Shared by the tests: carry PyTorch's values over to the library under test, and compare in one call.

`lib` is the library under test everywhere (mindtorch, or torch itself when the tests test themselves).
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

# Whatever imports this module is left out, with the reason, where PyTorch is not installed.
torch = pytest.importorskip("torch", reason="PyTorch, the reference of these tests, is not installed")


class Unportable(Exception):
    """The value has no counterpart in the library under test (a sparse tensor, a float8, ...)."""


def port(value: Any, lib: types.ModuleType, device: str = "cpu") -> Any:
    """Carry `value` (a PyTorch tensor, or any nesting of arguments) over to `lib`.

    Tensors keep dtype, shape, stride, storage offset, `requires_grad` and being a `Parameter`; tensors that
    share a storage share one afterwards, and a tensor met twice is the same object twice. All become leaves
    and none a view, so that both libraries start from the same state when both are ported to.
    """
    return Porter(lib, device)(value)


def seed_all(lib: types.ModuleType, seed: int) -> None:
    """Seed the generators of either library. PyTorch's own ``manual_seed`` remembers every call for CUDA."""
    (lib.default_generator if lib is torch else lib).manual_seed(seed)


class Porter:
    """One call of `port`: remembers storages and tensors, so that aliasing survives."""

    def __init__(self, lib: types.ModuleType, device: str = "cpu") -> None:
        self.lib, self.device = lib, device
        self.storages: dict[int, Any] = {}
        self.tensors: dict[int, tuple[torch.Tensor, Any]] = {}
        self.generators: dict[int, tuple[torch.Generator, Any]] = {}

    def __call__(self, value: Any) -> Any:
        match value:
            case torch.Tensor():
                return self.tensor(value)
            case torch.Size():
                return self.lib.Size(value)
            case tuple():
                return tuple(map(self, value))
            case list():
                return list(map(self, value))
            case dict():
                return {key: self(item) for key, item in value.items()}
            case slice():
                return slice(self(value.start), self(value.stop), self(value.step))
            case torch.dtype() | torch.memory_format() | torch.layout():
                return self.named(str(value).removeprefix("torch."))
            case torch.device():
                return self.lib.device(self.device if value.type == "cpu" else str(value))
            case "cpu":
                return self.device
            case torch.Generator():
                return self.generator(value)
            case np.ndarray():
                return value.copy()
            case None | bool() | int() | float() | complex() | str() | np.generic() | type():
                return value
            case types.EllipsisType():
                return value
        return self.other(value)

    def other(self, value: Any) -> Any:
        raise Unportable(f"an argument of type {type(value).__name__}")

    def named(self, name: str) -> Any:
        if not hasattr(self.lib, name):
            raise Unportable(f"torch.{name}")
        return getattr(self.lib, name)

    def generator(self, value: torch.Generator) -> Any:
        if id(value) not in self.generators:
            ours = self.lib.Generator(self.device if self.device == "npu" else "cpu")
            ours.manual_seed(value.initial_seed())
            self.generators[id(value)] = value, ours
        return self.generators[id(value)][1]

    def tensor(self, theirs: torch.Tensor) -> Any:
        if id(theirs) in self.tensors:
            return self.tensors[id(theirs)][1]
        if theirs.layout is not torch.strided or theirs.is_quantized:
            raise Unportable(f"a tensor of layout {theirs.layout}")
        if theirs.device.type not in ("cpu", "meta"):
            raise Unportable(f"a tensor on {theirs.device}")
        if theirs.is_conj() or theirs.is_neg():
            raise Unportable("a lazily conjugated or negated tensor")
        with self.lib.no_grad():
            flat = self.flat(theirs.detach())
            ours = flat.as_strided(tuple(theirs.shape), theirs.stride(), theirs.storage_offset()).data
        if isinstance(theirs, torch.nn.Parameter):
            ours = self.lib.nn.Parameter(ours, requires_grad=theirs.requires_grad)
        elif theirs.requires_grad:
            ours.requires_grad_()
        self.tensors[id(theirs)] = theirs, ours
        return ours

    def flat(self, theirs: torch.Tensor) -> Any:
        """Return the whole storage under `theirs`, as a one-dimensional tensor of its dtype."""
        storage, dtype = theirs.untyped_storage(), self(theirs.dtype)
        device = self.device if theirs.device.type == "cpu" else "meta"
        if device == "meta":
            return self.lib.empty(storage.nbytes() // theirs.itemsize, dtype=dtype, device="meta")
        if storage.data_ptr() not in self.storages or not storage.nbytes():
            content = torch.empty(0, dtype=theirs.dtype).set_(storage)
            content = content.view(BITS.get(theirs.dtype, theirs.dtype))
            # A clone, as a storage that belongs to NumPy could not be resized.
            self.storages[storage.data_ptr()] = self.lib.from_numpy(content.numpy()).clone().to(device)
        flat = self.storages[storage.data_ptr()]
        return flat if flat.dtype == dtype else flat.view(dtype)


@dataclass(frozen=True)
class Difference:
    """One disagreement: its kind (value, dtype, shape, ...), where, ours and theirs."""

    kind: str
    ours: Any
    theirs: Any
    where: str = ""

    def __str__(self) -> str:
        place = f" of {self.where}" if self.where else ""
        return f"{self.kind}{place}: {self.ours}, torch {self.theirs}"


def array(tensor: Any) -> np.ndarray:
    """Return the values of a tensor of either library (widened if NumPy lacks the dtype)."""
    wider = WIDER_FOR_NUMPY.get(name_of(tensor.dtype))
    return (getattr(tensor.detach(), wider)() if wider else tensor).numpy(force=True)


#: What NumPy has no dtype for: the methods that widen it, and the integers of its size.
WIDER_FOR_NUMPY = {"bfloat16": "float", "complex32": "cfloat"}
BITS = {torch.bfloat16: torch.int16, torch.complex32: torch.int32}


def is_conj(tensor: Any) -> bool:
    return hasattr(tensor, "is_conj") and tensor.is_conj()


def is_neg(tensor: Any) -> bool:
    return hasattr(tensor, "is_neg") and tensor.is_neg()


def name_of(dtype: Any) -> str:
    """`torch.float32` -> 'float32', for the dtypes (devices, layouts, ...) of either library."""
    return str(dtype).rpartition(".")[2]


def is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor) or hasattr(value, "storage_offset")


def tensors_in(value: Any) -> list[Any]:
    """All tensors in a nesting of lists, tuples and dicts, in order."""
    if is_tensor(value):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return []
    return [tensor for item in value for tensor in tensors_in(item)]


def differences(
    ours: Any, theirs: Any, *, rtol: float | None = None, atol: float | None = None,
    values: bool = True, strides: bool = True, grads: bool = True, device: str = "cpu", where: str = "",
) -> Iterator[Difference]:
    """Everything in which `ours` differs from PyTorch's `theirs`: tensors, numbers, or nestings of them.

    Tensors are compared in dtype, shape, device type, `requires_grad` (unless not `grads`), stride and
    storage offset (unless not `strides`), lazy conjugation, and values (unless not `values`), with the
    tolerances of `torch.testing` where none are given.
    """
    check = functools.partial(differences, rtol=rtol, atol=atol, values=values, strides=strides, grads=grads,
                              device=device)
    if isinstance(theirs, torch.Tensor):
        if not is_tensor(ours):
            yield Difference("type", type(ours).__name__, "Tensor", where)
            return
        yield from tensor_differences(ours, theirs, rtol, atol, values, strides, grads, device, where)
    elif isinstance(theirs, (tuple, list)):
        if not isinstance(ours, (tuple, list)) or isinstance(ours, tuple) != isinstance(theirs, tuple):
            yield Difference("type", type(ours).__name__, type(theirs).__name__, where)
        elif len(ours) != len(theirs):
            yield Difference("type", f"{len(ours)} items", f"{len(theirs)} items", where)
        else:
            for name in getattr(theirs, "__match_args__", ()):
                if not hasattr(ours, name):
                    yield Difference("type", f"no field '{name}'", type(theirs).__name__, where)
            for i, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
                yield from check(mine, other, where=f"{where}[{i}]")
    elif isinstance(theirs, dict):
        if not isinstance(ours, dict) or ours.keys() != theirs.keys():
            yield Difference("type", ours, theirs, where)
        else:
            for key, other in theirs.items():
                yield from check(ours[key], other, where=f"{where}[{key!r}]")
    elif isinstance(theirs, (torch.dtype, torch.device, torch.layout, torch.memory_format)):
        if name_of(ours) != name_of(theirs) or type(ours).__name__ in ("str", "NoneType"):
            yield Difference("value", ours, theirs, where)
    elif isinstance(theirs, (bool, int, float, complex)):
        if type(ours) is not type(theirs):
            yield Difference("type", type(ours).__name__, type(theirs).__name__, where)
        elif values and not close(np.asarray(ours), np.asarray(theirs),
                                  *tolerances(torch.float32, rtol, atol)):
            yield Difference("value", ours, theirs, where)
    elif isinstance(theirs, np.ndarray):
        nans = theirs.dtype.kind in "fc"
        if ours.dtype != theirs.dtype or not np.array_equal(ours, theirs, equal_nan=nans):
            yield Difference("value", ours, theirs, where)
    elif type(ours).__name__ != type(theirs).__name__:
        yield Difference("type", type(ours).__name__, type(theirs).__name__, where)
    elif ours != theirs:
        yield Difference("value", ours, theirs, where)


def tensor_differences(
    ours: Any, theirs: torch.Tensor, rtol: float | None, atol: float | None,
    values: bool, strides: bool, grads: bool, device: str, where: str,
) -> Iterator[Difference]:
    if theirs.layout is not torch.strided:
        raise Unportable(f"a result of layout {theirs.layout}")
    facts = [("dtype", name_of(ours.dtype), name_of(theirs.dtype)),
             ("shape", tuple(ours.shape), tuple(theirs.shape)),
             ("device", ours.device.type, theirs.device.type if theirs.device.type != "cpu" else device),
             ("conj", is_conj(ours), theirs.is_conj()),
             ("neg", is_neg(ours), theirs.is_neg())]
    if grads:
        facts.append(("requires_grad", ours.requires_grad, theirs.requires_grad))
    if strides:
        facts.append(("stride", tuple(ours.stride()), theirs.stride()))
        facts.append(("offset", ours.storage_offset(), theirs.storage_offset()))
    found = [Difference(kind, mine, other, where) for kind, mine, other in facts if mine != other]
    yield from found
    comparable = not {"shape", "dtype", "device"} & {d.kind for d in found}
    if values and comparable and "meta" not in (device, theirs.device.type):
        mine, other = array(ours), array(theirs)
        if not close(mine, other, *tolerances(theirs.dtype, rtol, atol)):
            yield Difference("value", *worst(mine, other), where)


def tolerances(dtype: torch.dtype, rtol: float | None, atol: float | None) -> tuple[float, float]:
    default = torch.testing._comparison.default_tolerances(dtype)
    return default[0] if rtol is None else rtol, default[1] if atol is None else atol


def close(ours: np.ndarray, theirs: np.ndarray, rtol: float, atol: float) -> bool:
    """Compare as `torch.testing.assert_close` does: NaNs equal each other, infinities their like."""
    if theirs.dtype.kind not in "fc":
        return bool((ours == theirs).all())
    with np.errstate(all="ignore"):
        return np.array_equal(ours, theirs) or np.allclose(ours, theirs, rtol, atol, equal_nan=True)


def worst(ours: np.ndarray, theirs: np.ndarray) -> tuple[str, str]:
    """Return the two elements furthest apart, with their place."""
    with np.errstate(all="ignore"):
        wide = complex if theirs.dtype.kind == "c" else float
        distance = np.array(np.abs(ours.astype(wide) - theirs.astype(wide)))
        if theirs.dtype.kind in "fc":
            distance[(ours == theirs) | np.isnan(ours) & np.isnan(theirs)] = -1
    place = np.unravel_index(np.argmax(np.nan_to_num(distance, nan=np.inf)), distance.shape)
    return f"{ours[place]} at {list(map(int, place))}", f"{theirs[place]}"


def alias_signature(outputs: Sequence[Any], inputs: Sequence[Any]) -> list[dict[str, Any]]:
    """How each output hangs together with the inputs and the outputs before it.

    For each output: which tensor it *is*, with which ones it shares a storage, whether it is a view, and of
    which. The signatures of both libraries for the same call are equal.
    """
    known = [(f"input {i}", t) for i, t in enumerate(inputs)]
    signature = []
    for j, out in enumerate(outputs):
        base = out._base
        signature.append({
            "is": [name for name, t in known if t is out],
            "storage": [name for name, t in known if share_storage(out, t)],
            "view": out._is_view(),
            "base": base if base is None else [name for name, t in known if t is base] or ["another tensor"],
        })
        known.append((f"output {j}", out))
    return signature


def share_storage(a: Any, b: Any) -> bool:
    """Whether two tensors have one storage; storages of no bytes count as not shared, having no address."""
    first, second = a.untyped_storage(), b.untyped_storage()
    return first.data_ptr() == second.data_ptr() != 0


def alias_differences(ours: Sequence[Any], our_inputs: Sequence[Any], theirs: Sequence[Any],
                      their_inputs: Sequence[Any]) -> Iterator[Difference]:
    """Differences between the two `alias_signature`s."""
    pairs = zip(alias_signature(ours, our_inputs), alias_signature(theirs, their_inputs), strict=False)
    for j, (mine, other) in enumerate(pairs):
        for kind in mine:
            if mine[kind] != other[kind]:
                yield Difference(f"alias {kind}", mine[kind], other[kind], f"output {j}")


def assert_same(ours: Any, theirs: Any, rtol: float | None = None, atol: float | None = None, *,
                values: bool = True, strides: bool = True, alias: tuple[Any, Any] | None = None,
                device: str = "cpu") -> None:
    """Assert that `ours` equals PyTorch's `theirs` in every respect that `differences` names.

    `alias` is the pair (our inputs, PyTorch's inputs): the results must then also share storages with
    their inputs, and be views of them, in the same way.
    """
    found = list(differences(ours, theirs, rtol=rtol, atol=atol, values=values, strides=strides,
                             device=device))
    if alias is not None:
        ours, our_inputs, theirs, inputs = map(tensors_in, (ours, alias[0], theirs, alias[1]))
        found += alias_differences(ours, our_inputs, theirs, inputs)
    assert not found, "; ".join(map(str, found))


@dataclass
class Outcome:
    """What a call gave: a value or an exception."""

    value: Any = None
    error: Exception | None = None

    @classmethod
    def of(cls, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Outcome:
        try:
            return cls(value=function(*args, **kwargs))
        except Exception as error:  # which exception it is, is what is compared
            return cls(error=error)

    def kind(self) -> str:
        return type(self.error).__name__ if self.error else "no error"


def error_differences(ours: Outcome, theirs: Outcome, where: str = "") -> Iterator[Difference]:
    """Both raise the same type of exception, or neither raises."""
    if ours.kind() != theirs.kind():
        yield Difference("error", *(f"{o.kind()} ({first_line(o.error)})" if o.error else o.kind()  # type: ignore[call-arg]
                                    for o in (ours, theirs)), where)


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:120]

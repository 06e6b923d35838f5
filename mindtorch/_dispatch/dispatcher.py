"""The dispatcher: from an operator and its arguments to the function that runs.

The hot path is one line: the arguments' keys are or-ed into an int, and the operator's table maps that int to a
function. A miss is resolved once for the key set and cached.
"""
from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import cache, reduce
from itertools import chain, compress
from operator import attrgetter, or_
from typing import Any

from .._base import forks
from .._base.about import about, note
from .._base.call_site import call_site
from .._base.generated import define
from .._base.interrupts import Undo, attributes, leaving
from .._device import CPU as HOST, resolve_device
from .keys import (
    ADDED, AUTOGRAD, BACKEND_OF_DEVICE, BACKENDS, BATCHED, CPU, DUAL, FUNCTION, INFERENCE, MATH_BITS, META,
    NONCONTIGUOUS, OBSERVED, ONE_BY_ONE, PIPELINE, PYTHON, REDIRECTING, SPARSES, THREAD_STATE, UNINITIALIZED,
    DispatchKeySet, kernels_key,
)
from .local import local
from .registry import Operator, registry as registry

#: Keys that hold for every call: ``THREAD_STATE`` while some thread has a pipeline or is in inference mode,
#: ``OBSERVED`` while there is an observer, ``FUNCTION`` while some thread has a ``TorchFunctionMode``, ``ADDED`` while
#: some thread has added its own keys. A module global, so that reading it costs next to nothing.
mode = 0
_lock = forks.lock()  # reentrant: a signal handler may change the mode while its thread does
_unusual: set[int] = set()  #: the threads that need ``THREAD_STATE``
#: The attributes of the thread's state that a call checks while ``THREAD_STATE`` is set.
LOOKED_AT = ("pipeline", "inference", "autocast", "frames", "dispatch_modes", "below_autograd")
KEYS = attrgetter("_keys")
#: Tensor and its subclasses. Looking up an argument's class here is the cheapest reliable test.
TENSOR_TYPES: set[Any] = set()
#: The wrapper of each key around the backend's kernel. ``_wiring`` fills it in, so the dispatcher need not import them.
key_handlers: dict[int, Callable[[Operator, int], Callable[..., Any]]] = {}


def _after_fork() -> None:
    """Forget the parent's other threads in a forked process."""
    _unusual.intersection_update({threading.get_ident()})
    set_mode(THREAD_STATE, bool(_unusual))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def set_mode(key: int, on: bool) -> None:
    """Add a key to the key set of every call, or remove it."""
    global mode
    with _lock:
        mode = mode | key if on else mode & ~key


def set_locals(values: dict[str, Any]) -> None:
    """Set attributes of this thread's state, and the key ``THREAD_STATE`` if any of ``LOOKED_AT`` is now unusual."""
    known, thread = local.__dict__, threading.get_ident()
    state = {**known, **values}
    unusual = state.get("pipeline") is not None or any(map(state.get, LOOKED_AT))
    if unusual is not (thread in _unusual) or bool(mode & THREAD_STATE) is not bool(_unusual):
        with _lock:
            (_unusual.add if unusual else _unusual.discard)(thread)
            set_mode(THREAD_STATE, bool(_unusual))
    known.update(values)  # last: an interrupt before it leaves the state unchanged


def set_local(name: str, value: Any) -> None:
    """Set an attribute of this thread's state, as ``set_locals`` does."""
    set_locals({name: value})


def state_of(*names: str) -> Callable[[Any], Undo]:
    """Return the ``undo_of`` for ``leaving`` that restores these attributes of the thread's state."""
    return attributes(local, *names, put=lambda holder, name, value: set_local(name, value))


class switched:
    """A block with other values in this thread's state."""

    __slots__ = ("values", "before")

    def __init__(self, **values: Any) -> None:
        self.values = values

    def _restoring(self) -> Undo:
        before = {name: getattr(local, name) for name in self.values}
        return lambda gone: set_locals(before)

    def __enter__(self) -> None:
        self.before = {name: getattr(local, name) for name in self.values}
        set_locals(self.values)

    @leaving(_restoring)
    def __exit__(self, *exc: object) -> None:
        set_locals(self.before)


def is_seen(tensor: Any) -> bool:
    """Return True if a ``__torch_dispatch__`` receives the operators called with a tensor."""
    return bool(tensor._keys & PYTHON or (mode & THREAD_STATE and local.dispatch_modes))


def is_unseen(*tensors: Any) -> bool:
    """Return True if operators called with these tensors go straight to the CPU's kernels: nothing is recorded or
    pending, and no mode or class intercepts a composite's operators.
    """
    keys = mode & REDIRECTING
    for tensor in tensors:
        keys |= tensor._keys
    return not keys & ~(CPU | NONCONTIGUOUS)


def has_values(tensor: Any) -> bool:
    """Return True if a tensor's values can be read: it is neither on the meta device, nor batched by ``vmap``, nor of a
    class that has none.
    """
    return not tensor._keys & (META | BATCHED) and not (tensor._keys & PYTHON and tensor._array is None)


def flattened(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the values, with lists and tuples replaced by their items."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def tensors_of(values: Iterable[Any]) -> list[Any]:
    """Return the tensors among values and in lists among them."""
    return [value for value in flattened(values) if value.__class__ in TENSOR_TYPES]


def written_of(op: Operator, args: tuple[Any, ...]) -> list[Any]:
    """Return the tensors that a call writes: in place, or as ``out``."""
    return tensors_of(args[:1] if op.is_inplace else args[-1:] if op.is_out else ())


def keys_of(args: tuple[Any, ...]) -> int:
    """Return the union of the keys of all tensors in canonical arguments, without the mode."""
    keys = 0
    for arg in args:
        kind = arg.__class__
        if kind in TENSOR_TYPES:
            keys |= arg._keys
        elif kind is list or kind is tuple:
            for item in arg:
                if item.__class__ in TENSOR_TYPES:
                    keys |= item._keys
    return keys


#: ATen's argument types that never hold a tensor once bound.
OF_NO_TENSOR = {"int", "float", "bool", "Scalar", "str", "ScalarType", "Layout", "Device", "MemoryFormat", "Generator"}

Entry = Callable[..., Any]
Offer = Callable[..., Any] | None


def make_entry(op: Operator, offer: Offer = None, kinds: str = "") -> Entry:
    """Return the function that dispatches calls of ``op``: calls with arguments of exactly these ``kinds``, as
    ``entry_for`` has them, or else all calls.

    An error records the call as it propagates; a ``try`` that does not raise is free. ``offer`` wraps the resolved
    function in one that asks ``__torch_function__`` first, for calls by users.
    """
    written = op.text[op.text.index("(") + 1:].split(") ->")[0]
    if "Tensor" not in written and "Device? device" in written and not op.is_out:
        return entry("a factory", "*args", *OF_FACTORY)(op, op.table, offer, op.schema.positions["device"])
    first, *_ = types = [part.split()[0] for part in written.split(", ")[:3] if part] or [""]
    tensors = 0 if op.is_out else written.count("Tensor")
    leading = ""
    if tensors == 1 and first.startswith("Tensor") and "?" not in first:
        if first.endswith("[]"):
            return entry("a list", "tensors, *args", *OF_LIST)(op, op.table, offer, None)
        leading = "t"
    elif tensors == 2 and types[:2] == ["Tensor", "Tensor"]:
        leading = "to"
    elif tensors == 3 and "wrapped numbers" not in op.flags and (
            types in (["Tensor", "Tensor", "Tensor"], ["Tensor", "Tensor", "Tensor?"])):
        leading = "ttd"
    if kinds or leading:
        has_defaults = "=" in written or "*" in written
        further = "*" if has_defaults else "n" * (written.count(", ") + 1 - len(leading))
        return entry_for(kinds or leading + further)(op, op.table, offer, None)
    parameters = op.schema.parameters
    lists = next((i for i, p in enumerate(parameters) if not (p.is_tensor and p.is_list) or p.inner_optional
                  or p.optional), 0)
    if lists > 1 and not op.is_out:
        return entry("lists", "*args", *OF_LISTS)(op, op.table, offer, lists)
    may_be_tensors = [*(parameter.base not in OF_NO_TENSOR for parameter in parameters), op.is_out]
    return entry("any", "*args", *OF_ANY)(op, op.table, offer, may_be_tensors)


#: The function that dispatches calls, written out for their arguments: fixed ones are cheaper than ``*args``.
ENTRY = """
def make(op, table, offer, fact):
    def call({parameters}):
        keys = {keys}
        try:
            return (table.get(keys) or resolve(op, keys, offer))({args})
        except Exception as error:
            note(error, op, ({args},), site=call_site())
            raise
    return call
"""
#: The keys of calls, and statements that add to them. ``fact`` is the place of the device, how many lists of tensors
#: lead, or for each argument whether it may be a tensor.
OF_FACTORY = ("dispatcher.mode | (CPU if (device := args[fact] if len(args) > fact else None) is HOST else "
              "BACKEND_OF_DEVICE[resolve_device(device).type])",)
OF_LIST = "dispatcher.mode", "for tensor in tensors:", "    keys |= tensor._keys"
OF_LISTS = ("reduce(or_, map(KEYS, chain.from_iterable(args[:fact])), dispatcher.mode)", "others = args[fact:]",
            "if not TENSOR_TYPES.isdisjoint(map(type, others)):", "    keys |= keys_of(others)")
OF_ANY = ("dispatcher.mode", "for arg in compress(args, fact):", "    if (kind := arg.__class__) in TENSOR_TYPES:",
          "        keys |= arg._keys", "    elif kind is list or kind is tuple:", "        keys |= keys_of(arg)")
MakeEntry = Callable[[Operator, dict[int, Entry], Offer, Any], Entry]


@cache
def entry(of: str, parameters: str, *keys: str) -> MakeEntry:
    """Return the function that makes the entry of calls ``of`` such arguments, by statements that find their keys."""
    args = ", ".join([parameter.partition("=")[0] for parameter in parameters.split(", ")])
    source = ENTRY.format(parameters=parameters, keys="\n        ".join(keys), args=args)
    made: MakeEntry = define("make", source.strip(), f"{__file__}: {parameters} of {of}", {
        "BACKEND_OF_DEVICE": BACKEND_OF_DEVICE, "CPU": CPU, "HOST": HOST, "KEYS": KEYS, "TENSOR_TYPES": TENSOR_TYPES,
        "call_site": call_site, "chain": chain, "compress": compress, "dispatcher": sys.modules[__name__],
        "keys_of": keys_of, "note": note, "or_": or_, "reduce": reduce, "resolve": resolve,
        "resolve_device": resolve_device})
    return made


def entry_for(kinds: str) -> MakeEntry:
    """Return the function that makes the entry of calls with arguments of these kinds: ``t`` is a tensor, ``n`` never
    one, ``o`` may be one, ``d`` is one or None, by default before ``*``, which stands for any number of further ``n``.
    """
    names = ["self", "other", *(f"value_{i}" for i in range(2, len(kinds)))]
    named = dict(zip(names, kinds.removesuffix("*"), strict=False))
    further = ["*args"] * kinds.endswith("*")
    is_tensor = {"o": "if {0}.__class__ in TENSOR_TYPES:", "d": "if {0} is not None:"}
    keys = " | ".join([*[f"{name}._keys" for name, kind in named.items() if kind == "t"], "dispatcher.mode"])
    more = [f"{is_tensor[kind].format(name)} keys |= {name}._keys" for name, kind in named.items() if kind in is_tensor]
    parameters = [f"{name}=None" if kind == "d" and further else name for name, kind in named.items()]
    return entry(kinds, ", ".join([*parameters, *further]), keys, *more)


registry.make_entry = make_entry


def resolve(op: Operator, keys: int, offer: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Build the function for a key set, outermost wrapper first, and cache it in the operator's table. A function that
    asks ``__torch_function__`` is not cached, because it differs between an operator's entries.
    """
    if keys & FUNCTION:
        keys &= ~FUNCTION
        function = op.table.get(keys) or resolve(op, keys)
        return function if offer is None else offer(function)
    if keys & ONE_BY_ONE:  # meaningful only to functions that compute several operators at once
        function = op.table[keys] = op.table.get(keys & ~ONE_BY_ONE) or resolve(op, keys & ~ONE_BY_ONE)
        return function
    if keys & UNINITIALIZED:
        function = key_handlers[UNINITIALIZED](op, keys & ~UNINITIALIZED)
    elif keys & OBSERVED:
        function = key_handlers[OBSERVED](op, keys)
    elif keys & (BATCHED | DUAL):
        key = BATCHED if keys & BATCHED else DUAL
        function = key_handlers[key](op, keys & ~key)
    elif keys & ADDED:
        function = _look_at_added_keys(op, keys & ~ADDED)
    elif keys & THREAD_STATE:
        function = _look_at_thread(op, keys & ~THREAD_STATE)
    elif keys & PIPELINE:
        function = key_handlers[PIPELINE](op, keys & ~PIPELINE)
    elif keys & INFERENCE:
        function = key_handlers[INFERENCE](op, keys & ~INFERENCE)
    else:
        function = _resolve_backend(op, keys)
    op.table[keys] = function
    return function


def _look_at_thread(op: Operator, keys: int) -> Callable[..., Any]:
    """Return a function that checks the calling thread's state, then dispatches without the ``THREAD_STATE`` key."""
    table = op.table

    def call(*args: Any) -> Any:
        if local.frames and op.family == "random" and not op.packet.endswith("_backward"):
            return key_handlers[BATCHED](op, keys)(*args)
        if (local.pipeline is not None or local.inference or local.autocast is not None or local.dispatch_modes
                or local.below_autograd):
            return key_handlers[THREAD_STATE](op, keys)(*args)
        return (table.get(keys) or resolve(op, keys))(*args)

    return call


def _look_at_added_keys(op: Operator, keys: int) -> Callable[..., Any]:
    """Return a function that calls the outermost key added by the calling thread, or dispatches without ``ADDED``."""
    table = op.table

    def call(*args: Any) -> Any:
        if local.added:
            return local.added[-1](op, *args)
        return (table.get(keys) or resolve(op, keys))(*args)

    return call


def refuse_random(frame: Any) -> None:
    """Raise RuntimeError if ``vmap``'s randomness does not allow one random result for the whole batch."""
    if frame.randomness == "error":
        raise RuntimeError("vmap: called random operation while in randomness error mode. Please either use the 'same' "
                           "or 'different' randomness flags on vmap or perform the randomness operation out of vmap")
    if frame.randomness == "different":
        raise RuntimeError("vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear "
                           "like same randomness. If this is necessary for your usage, please file an issue with "
                           "functorch.")


def refuse_random_out() -> None:
    """Raise RuntimeError inside ``vmap``, where random numbers are drawn for new tensors alone."""
    if local.frames:
        raise RuntimeError("vmap: We do not support calling out variants of random operations inside of vmap. Please "
                           "use non-out variants as a workaround")


def _resolve_backend(op: Operator, keys: int) -> Callable[..., Any]:
    backend = keys & BACKENDS or CPU  # a call without tensors, such as ``cat([])``
    if backend & (backend - 1) and not keys & PYTHON:
        return key_handlers[BACKENDS](op, keys)
    if keys & AUTOGRAD and op.autograd is not None:
        return op.autograd
    kernel = op.kernel(kernels_key(keys))
    if kernel is None:
        if not keys & PYTHON:
            raise missing_kernel(op, keys)
    elif kernel.composite and not has_derivative(op):
        if not keys & PYTHON or kernel.registered:
            strides = keys & NONCONTIGUOUS
            if keys == CPU | AUTOGRAD | strides and op.name in registry.folds and not kernel.registered:
                return registry.folds[op.name](op, kernel.fn, keys)
            if kernel.fast is None or keys & ~AUTOGRAD != CPU | strides or (strides and not kernel.strided):
                return kernel.fn
            return _unless_recorded(kernel.fast, kernel.fn) if keys & AUTOGRAD else kernel.fast
        decomposed = in_cpp(kernel.fn)
        if not op.is_explicit:
            return decomposed
        if keys & AUTOGRAD:
            shown = op.table.get(keys & ~AUTOGRAD) or resolve(op, keys & ~AUTOGRAD)
            return lambda *args: (decomposed if local.grad_enabled else shown)(*args)
    if keys & AUTOGRAD:
        inner = op.table.get(keys & ~AUTOGRAD) or resolve(op, keys & ~AUTOGRAD)
        if kernel is None or keys & PYTHON or not kernel.composite:
            recorded: Entry = key_handlers[AUTOGRAD](op, 0)(inner)
            return recorded
        alone = inner is kernel.fast and kernel.records_none
        recording = key_handlers[AUTOGRAD](op, 0)(inner if alone else outside_graph(inner))
        return lambda *args: (recording if local.grad_enabled else inner)(*args)
    if keys & MATH_BITS:
        return key_handlers[MATH_BITS](op, keys)
    if kernel is None or keys & PYTHON:
        return key_handlers[PYTHON](op, keys & ~PYTHON)
    function = kernel.fn
    if kernel.fast is not None and (kernel.strided or not keys & NONCONTIGUOUS):
        function = kernel.fast
    if not op.is_inplace or kernel.counts:
        return function
    return _counting_list_writes(op, function) if op.writes_lists else counting_writes(function)


def _unless_recorded(fast: Callable[..., Any], composite: Callable[..., Any]) -> Callable[..., Any]:
    """Return a composite's function of tensors that require grad, which is fast where nothing is recorded."""

    def call(*args: Any) -> Any:
        return (composite if local.grad_enabled else fast)(*args)

    return call


def has_derivative(op: Operator) -> bool:
    """Return True if an operator, or its functional form, has its own derivative."""
    return op.name in registry.derivatives or (op.functional is not None and op.functional.name in registry.derivatives)


def in_cpp(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function that PyTorch implements in C++, so that its calls are shown as C++ makes them."""

    def call(*args: Any) -> Any:
        before, local.formula = local.formula, True
        try:
            return function(*args)
        finally:
            local.formula = before

    return call


def outside_graph(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a composite that has its own derivative, so that its inner operators are not recorded."""

    def outside(value: Any) -> Any:
        if value.__class__ in TENSOR_TYPES:
            return value._saved_alias() if value._keys & AUTOGRAD else value
        if (kind := value.__class__) is list or kind is tuple:
            return kind([outside(item) for item in value])
        return value

    def call(*args: Any) -> Any:
        return function(*[outside(arg) for arg in args])

    return call


def counting_writes(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an in-place kernel to bump the tensor's version."""

    def call(self: Any, *args: Any) -> Any:
        kernel(self, *args)
        (self._version_counter or self._start_counter())[0] += 1
        return self

    return call


def count_writes(*lists: Iterable[Any]) -> None:
    """Bump the versions of tensors that were written."""
    for tensor in chain(*lists):
        (tensor._version_counter or tensor._start_counter())[0] += 1


def _counting_list_writes(op: Operator, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a kernel that writes lists of tensors, as optimizer steps do, to bump their versions."""
    written = op.writes

    def call(*args: Any) -> Any:
        result = kernel(*args)
        count_writes(*map(args.__getitem__, written))
        return result

    return call


def missing_kernel(op: Operator, keys: int) -> NotImplementedError:
    """Return PyTorch's error for a missing kernel: the operator, the key set, and the backends that have one."""
    key_set = DispatchKeySet(keys)
    highest = [name for name, key in key_set.names() if key & (BACKENDS | SPARSES)] or ["(no tensor argument)"]
    full = op.name if "::" in op.name else f"aten::{op.name}"
    return about(NotImplementedError(f"Could not run '{full}' with arguments from the '{highest[0]}' backend "
                                     f"(key set {key_set}). '{full}' is only available for these backends: "
                                     f"[{', '.join(op.backends())}]."),
                 "missing kernel", name=op.name, backend=highest[0], there=op.backends())


def call_on(op: Operator, device_type: str, *args: Any) -> Any:
    """Call an operator on a device's backend. Factories need it: none of their arguments is a tensor."""
    keys = keys_of(args) | BACKEND_OF_DEVICE[device_type] | mode
    try:
        return (op.table.get(keys) or resolve(op, keys))(*args)
    except Exception as error:
        note(error, op, args, site=call_site())
        raise


def dispatch(name: str, device: Any, *args: Any, **kwargs: Any) -> Any:
    """Call the operator ``name`` with these arguments on ``device`` (a device, its type, or None for the inputs').

    Raises:
        AttributeError: if there is no operator of that name.
        NotImplementedError: if it has no kernel for the key set.
    """
    op = registry[name]
    if kwargs:
        args = op.canonical(args, kwargs)
    if device is None:
        return op.call(*args)
    return call_on(op, getattr(device, "type", device), *args)

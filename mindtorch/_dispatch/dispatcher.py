"""The dispatcher: from an operator and its arguments to the function that runs.

The hot path is one line: the keys of the arguments are or-ed into an int, and the operator's table maps it
to a function. What the table lacks is resolved once for that key set, and remembered.
"""
from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import compress
from typing import Any

from .._base import forks
from .._base.about import about, note
from .._base.call_site import call_site
from .._base.interrupts import Undo, attributes, contextmanager
from .._device import CPU as HOST, resolve_device
from .keys import (
    ADDED, AUTOGRAD, BACKEND_OF_DEVICE, BACKENDS, BATCHED, CPU, DUAL, FUNCTION, INFERENCE, MATH_BITS, META,
    NONCONTIGUOUS, OBSERVED, ONE_BY_ONE, PIPELINE, PYTHON, REDIRECTING, THREAD_STATE, UNINITIALIZED, DispatchKeySet,
)
from .local import local
from .registry import Operator, registry

#: Keys that hold for every call: ``THREAD_STATE`` while some thread has a pipeline or is in inference mode,
#: ``OBSERVED`` while there is an observer, ``FUNCTION`` while some thread has a ``TorchFunctionMode``, ``ADDED`` while
#: some thread has keys of its own. A module global, so that reading it costs next to nothing.
mode = 0
_lock = forks.lock()  # reentrant, because a signal handler may change the mode while its thread does
_unusual: set[int] = set()  #: the threads on whose account ``THREAD_STATE`` is set
#: What a call looks for in its thread's state while ``THREAD_STATE`` is set.
LOOKED_AT = ("pipeline", "inference", "autocast", "frames", "dispatch_modes", "below_autograd")
#: Tensor and its subclasses. Membership of an argument's class is the cheapest sure test.
TENSOR_TYPES: set[Any] = set()
#: What each key wraps around the backend's kernel; ``_wiring`` fills it in, so that the dispatcher need not know them.
key_handlers: dict[int, Callable[[Operator, int], Callable[..., Any]]] = {}


def _after_fork() -> None:
    """In a forked process, of the threads only this one is left."""
    _unusual.intersection_update({threading.get_ident()})
    set_mode(THREAD_STATE, bool(_unusual))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def set_mode(key: int, on: bool) -> None:
    """Have a key added to, or no longer added to, the key set of every call."""
    global mode
    with _lock:
        mode = mode | key if on else mode & ~key


def set_local(name: str, value: Any) -> None:
    """Set this thread's state, and have every call look at the thread while it has one of ``LOOKED_AT``."""
    state = {key: value if key == name else getattr(local, key) for key in LOOKED_AT}
    with _lock:
        if not any(state.values()) and state["pipeline"] is None:
            _unusual.discard(threading.get_ident())
        else:
            _unusual.add(threading.get_ident())
        set_mode(THREAD_STATE, bool(_unusual))
        setattr(local, name, value)  # last: if anything before it is interrupted, the state is the one from before


def state_of(*names: str) -> Callable[[Any], Undo]:
    """For ``leaving``: what puts back this of the thread's state, as it was before the block."""
    return attributes(local, *names, put=lambda holder, name, value: set_local(name, value))


@contextmanager
def switched(**values: Any) -> Iterator[None]:
    """A block with another state of this thread."""
    before = {name: getattr(local, name) for name in values}
    try:
        for name, value in values.items():
            set_local(name, value)
        yield
    finally:
        for name, value in before.items():
            set_local(name, value)


def is_seen(tensor: Any) -> bool:
    """Whether a ``__torch_dispatch__`` sees the operators that are called with a tensor."""
    return bool(tensor._keys & PYTHON or (mode & THREAD_STATE and local.dispatch_modes))


def is_unseen(*tensors: Any) -> bool:
    """Whether operators that are called with these tensors go to the CPU's kernels at once: nothing is recorded or
    pending, and nobody sees which operators a composite is written in.
    """
    keys = mode & REDIRECTING
    for tensor in tensors:
        keys |= tensor._keys
    return not keys & ~(CPU | NONCONTIGUOUS)


def has_values(tensor: Any) -> bool:
    """Whether one can look at a tensor's values: it is not on the meta device, and not one of a batch in ``vmap``."""
    return not tensor._keys & (META | BATCHED)


def flattened(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the values, and in the place of a list or a tuple what it holds."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def tensors_of(values: Iterable[Any]) -> list[Any]:
    """The tensors among values and in lists among them."""
    return [value for value in flattened(values) if value.__class__ in TENSOR_TYPES]


def keys_of(args: tuple[Any, ...]) -> int:
    """The union of the keys of all tensors in canonical arguments, without the mode."""
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


#: The types of arguments, in ATen's words, that are never tensors once they are bound.
OF_NO_TENSOR = {"int", "float", "bool", "Scalar", "str", "ScalarType", "Layout", "Device", "MemoryFormat", "Generator"}


def make_entry(op: Operator, offer: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """The function that dispatches calls of ``op``, for its number of leading Tensor arguments. An error takes note of
    the call on its way out; a ``try`` that nothing is raised in costs nothing. ``offer`` makes of what would run a
    function that asks ``__torch_function__`` first: for calls by users, which come under the name of some function.
    """
    table = op.table

    def call_alone(self: Any) -> Any:
        keys = self._keys | mode
        try:
            return (table.get(keys) or resolve(op, keys, offer))(self)
        except Exception as error:
            note(error, op, (self,), site=call_site())
            raise

    def call_with(self: Any, setting: Any) -> Any:
        keys = self._keys | mode
        try:
            return (table.get(keys) or resolve(op, keys, offer))(self, setting)
        except Exception as error:
            note(error, op, (self, setting), site=call_site())
            raise

    def call_one(self: Any, *args: Any) -> Any:
        keys = self._keys | mode
        try:
            return (table.get(keys) or resolve(op, keys, offer))(self, *args)
        except Exception as error:
            note(error, op, (self, *args), site=call_site())
            raise

    def call_two(self: Any, other: Any, *args: Any) -> Any:
        keys = self._keys | mode
        if other.__class__ in TENSOR_TYPES:
            keys |= other._keys
        try:
            return (table.get(keys) or resolve(op, keys, offer))(self, other, *args)
        except Exception as error:
            note(error, op, (self, other, *args), site=call_site())
            raise

    def call_three(self: Any, second: Any, third: Any = None, *args: Any) -> Any:
        keys = self._keys | second._keys | mode
        if third is not None:
            keys |= third._keys
        try:
            return (table.get(keys) or resolve(op, keys, offer))(self, second, third, *args)
        except Exception as error:
            note(error, op, (self, second, third, *args), site=call_site())
            raise

    def call_list(tensors: Any, *args: Any) -> Any:
        keys = mode
        for tensor in tensors:
            keys |= tensor._keys
        try:
            return (table.get(keys) or resolve(op, keys, offer))(tensors, *args)
        except Exception as error:
            note(error, op, (tensors, *args), site=call_site())
            raise

    def call_lists(*args: Any) -> Any:
        keys = mode
        for tensors in args[:lists]:
            for tensor in tensors:
                keys |= tensor._keys
        others = args[lists:]
        if not TENSOR_TYPES.isdisjoint(map(type, others)):
            keys |= keys_of(others)
        try:
            return (table.get(keys) or resolve(op, keys, offer))(*args)
        except Exception as error:
            note(error, op, args, site=call_site())
            raise

    def call_any(*args: Any) -> Any:
        keys = mode
        for arg in compress(args, may_be_tensors):
            if (kind := arg.__class__) in TENSOR_TYPES:
                keys |= arg._keys
            elif kind is list or kind is tuple:
                keys |= keys_of(arg)
        try:
            return (table.get(keys) or resolve(op, keys, offer))(*args)
        except Exception as error:
            note(error, op, args, site=call_site())
            raise

    def call_factory(*args: Any) -> Any:
        device = args[place] if len(args) > place else None
        keys = (CPU if device is HOST else BACKEND_OF_DEVICE[resolve_device(device).type]) | mode
        try:
            return (table.get(keys) or resolve(op, keys, offer))(*args)
        except Exception as error:
            note(error, op, args, site=call_site())
            raise

    written = op.text[op.text.index("(") + 1:].split(") ->")[0]
    if "Tensor" not in written and "Device? device" in written and not op.is_out:
        place = op.schema.positions["device"]
        return call_factory
    may_be_tensors = [*(parameter.base not in OF_NO_TENSOR for parameter in op.schema.parameters), op.is_out]
    lists = next((i for i, p in enumerate(op.schema.parameters) if not (p.is_tensor and p.is_list) or p.inner_optional
                  or p.optional), 0)
    kinds = [part.split()[0] for part in written.split(", ")[:3] if part]
    tensors = 0 if op.is_out else written.count("Tensor")
    if tensors == 1 and kinds[0].startswith("Tensor") and kinds[0][-1] not in "]?":
        if ", " not in written:  # a call of as many arguments as are named costs less than one of any number
            return call_alone
        return call_one if written.count(", ") > 1 or "=" in written or "*" in written else call_with
    if tensors == 1 and kinds[0] == "Tensor[]":
        return call_list
    if tensors == 2 and kinds[:2] == ["Tensor", "Tensor"]:
        return call_two
    if (tensors == 3 and "wrapped numbers" not in op.flags
            and kinds in (["Tensor", "Tensor", "Tensor"], ["Tensor", "Tensor", "Tensor?"])):
        return call_three
    if lists > 1 and not op.is_out:
        return call_lists
    return call_any


registry.make_entry = make_entry


def resolve(op: Operator, keys: int, offer: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """The function for a key set, outermost wrapper first, remembered in the operator's table; but what asks
    ``__torch_function__`` is not, since it differs between the entries of an operator.
    """
    if keys & FUNCTION:
        keys &= ~FUNCTION
        function = op.table.get(keys) or resolve(op, keys)
        return function if offer is None else offer(function)
    if keys & ONE_BY_ONE:  # it is for functions that compute several operators at once
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
    """Look at the calling thread's state, then go on without the ``THREAD_STATE`` key."""
    table = op.table

    def call(*args: Any) -> Any:
        if (local.pipeline is not None or local.inference or local.autocast is not None or local.dispatch_modes
                or local.below_autograd):
            return key_handlers[THREAD_STATE](op, keys)(*args)
        if local.frames and op.family == "random" and (op.is_inplace or op.schema.parameters[0].base != "Tensor"):
            return key_handlers[BATCHED](op, keys)(*args)
        return (table.get(keys) or resolve(op, keys))(*args)

    return call


def _look_at_added_keys(op: Operator, keys: int) -> Callable[..., Any]:
    """Call the outermost of the keys that the calling thread has added; without one, go on without ``ADDED``."""
    table = op.table

    def call(*args: Any) -> Any:
        if local.added:
            return local.added[-1](op, *args)
        return (table.get(keys) or resolve(op, keys))(*args)

    return call


def refuse_random(frame: Any) -> None:
    """Refuse random numbers where they would be the same for all elements of a batch and should not be."""
    if frame.randomness == "error":
        raise RuntimeError("vmap: called random operation while in randomness error mode. Please either use the 'same' "
                           "or 'different' randomness flags on vmap or perform the randomness operation out of vmap")
    if frame.randomness == "different":
        raise RuntimeError("vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear "
                           "like same randomness. If this is necessary for your usage, please file an issue with "
                           "functorch.")


def _resolve_backend(op: Operator, keys: int) -> Callable[..., Any]:
    backend = keys & BACKENDS or CPU  # a call without tensors, such as ``cat([])``
    if backend & (backend - 1) and not keys & PYTHON:
        return key_handlers[BACKENDS](op, keys)
    if keys & AUTOGRAD and op.autograd is not None:
        return op.autograd
    kernel = op.kernel(backend & -backend)
    if kernel is None:
        if not keys & PYTHON:
            raise missing_kernel(op, keys)
    elif kernel.composite and not has_derivative(op):
        if not keys & PYTHON or kernel.registered:
            if keys == CPU | AUTOGRAD and op.name in registry.folds and not kernel.registered:
                return registry.folds[op.name](op, kernel.fn)
            return kernel.fast if kernel.fast is not None and keys == CPU else kernel.fn
        decomposed = in_cpp(kernel.fn)
        if not op.is_explicit:
            return decomposed
        if keys & AUTOGRAD:
            shown = op.table.get(keys & ~AUTOGRAD) or resolve(op, keys & ~AUTOGRAD)
            return lambda *args: (decomposed if local.grad_enabled else shown)(*args)
    if keys & AUTOGRAD:
        inner = op.table.get(keys & ~AUTOGRAD) or resolve(op, keys & ~AUTOGRAD)
        if kernel is None or keys & PYTHON or not kernel.composite:
            return key_handlers[AUTOGRAD](op, 0)(inner)
        recording = key_handlers[AUTOGRAD](op, 0)(outside_graph(inner))
        return lambda *args: (recording if local.grad_enabled else inner)(*args)
    if keys & MATH_BITS:
        return key_handlers[MATH_BITS](op, keys)
    if kernel is None or keys & PYTHON:
        return key_handlers[PYTHON](op, keys & ~PYTHON)
    function = kernel.fast if kernel.fast is not None and not keys & NONCONTIGUOUS else kernel.fn
    if not op.is_inplace:
        return function
    return _counting_list_writes(op, function) if op.writes_lists else _counting_writes(function)


def has_derivative(op: Operator) -> bool:
    """Whether an operator, or the one that it is a form of, has a derivative of its own."""
    return op.name in registry.derivatives or (op.functional is not None and op.functional.name in registry.derivatives)


def in_cpp(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that PyTorch has in C++: its calls are shown as those that C++ makes there."""

    def call(*args: Any) -> Any:
        before, local.formula = local.formula, True
        try:
            return function(*args)
        finally:
            local.formula = before

    return call


def outside_graph(function: Callable[..., Any]) -> Callable[..., Any]:
    """A composite's function without the derivatives of what it is written in, for one that has its own."""

    def outside(value: Any) -> Any:
        if value.__class__ in TENSOR_TYPES:
            return value._saved_alias() if value._keys & AUTOGRAD else value
        if (kind := value.__class__) is list or kind is tuple:
            return kind([outside(item) for item in value])
        return value

    def call(*args: Any) -> Any:
        return function(*[outside(arg) for arg in args])

    return call


def _counting_writes(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """An in-place kernel that also counts the write in the tensor's version."""

    def call(self: Any, *args: Any) -> Any:
        kernel(self, *args)
        cell = self._version_counter
        if cell is None:
            self._version_counter = [1, self._storage]
        else:
            cell[0] += 1
        return self

    return call


def _counting_list_writes(op: Operator, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The same for an operator that writes lists of tensors, as optimizer steps do."""
    written = op.writes

    def call(*args: Any) -> Any:
        result = kernel(*args)
        for i in written:
            for tensor in args[i]:
                cell = tensor._version_counter
                if cell is None:
                    tensor._version_counter = [1, tensor._storage]
                else:
                    cell[0] += 1
        return result

    return call


def missing_kernel(op: Operator, keys: int) -> NotImplementedError:
    """PyTorch's error for an operator without a kernel: which operator, which key set, which keys have one."""
    key_set = DispatchKeySet(keys)
    highest = [key.name for key in key_set if key & BACKENDS] or ["(no tensor argument)"]
    return about(NotImplementedError(f"Could not run 'aten::{op.name}' with arguments from the '{highest[0]}' backend "
                                     f"(key set {key_set}). 'aten::{op.name}' is only available for these backends: "
                                     f"[{', '.join(op.backends())}]."),
                 "missing kernel", name=op.name, backend=highest[0], there=op.backends())


def call_on(op: Operator, device_type: str, *args: Any) -> Any:
    """Call an operator on a device's backend, as factories do, since no argument is a tensor."""
    keys = keys_of(args) | BACKEND_OF_DEVICE[device_type] | mode
    try:
        return (op.table.get(keys) or resolve(op, keys))(*args)
    except Exception as error:
        note(error, op, args, site=call_site())
        raise


def dispatch(name: str, device: Any, *args: Any, **kwargs: Any) -> Any:
    """Call the operator ``name`` with these arguments on ``device`` (a device, its name, or None for the inputs').

    Raises:
        AttributeError: if there is no operator of that name.
        NotImplementedError: if it has no kernel for the key set.
    """
    op = registry[name]
    if kwargs:
        args = op.canonical(args, kwargs)
    if device is None:
        return op.call(*args)
    return call_on(op, getattr(device, "type", None) or str(device).partition(":")[0], *args)

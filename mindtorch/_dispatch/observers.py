"""Observers: functions that are notified of dispatched calls.

While one is subscribed, every call has the ``Observed`` key and runs through ``observed``; without one, this module
costs nothing. Traces, the profiler and the timeline use only this mechanism.
"""
from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter_ns
from typing import Any, NamedTuple, TypeVar

from .._base import forks
from .._base.backend import by_key
from .._base.call_site import call_site
from .._base.durations import time_text
from .._base.interrupts import contextmanager, uninterrupted
from .._base.layout import Layout
from .._device import CPU as HOST, device as Device
from .dispatcher import TENSOR_TYPES, resolve, set_mode, tensors_of
from .keys import (
    ADDED, AUTOGRAD, BACKENDS, CPU, META, NONCONTIGUOUS, OBSERVED, ONE_BY_ONE, SPARSES, THREAD_STATE, DispatchKeySet,
    kernels_key,
)
from .local import local
from .registry import Operator, registry
from .sites import kernel_site

numbered = itertools.count().__next__  #: returns the next call's number, across all threads


@dataclass(frozen=True, slots=True)
class TensorMeta:
    """A tensor's metadata. Strides count elements, ``version`` counts writes, and ``counter`` identifies the tensors
    that share that count (0 until the memory is written or viewed).
    """

    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...]
    device: str
    requires_grad: bool
    identity: int
    version: int = 0
    counter: int = 0

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


class PlanUse(NamedTuple):
    """The plan by which a call ran: ``made`` by this call or found, the layouts by which it is looked up, the function
    of arrays that computed, at ``file`` and ``line``, and the names of the values that autograd keeps.
    """

    made: bool
    layouts: tuple[str, ...]
    function: str
    file: str
    line: int
    recorded: tuple[str, ...]


class Move(NamedTuple):
    """A step of a redistribution of a DTensor: its type, the mesh's dimension, placements before and after, the
    ``collective`` that is called for it ('' if none is), and the ``bytes`` that this rank sends for it around a ring.
    """

    tensor: str
    mesh_dim: str
    source: str
    target: str
    collective: str
    bytes: int


@dataclass(slots=True)
class DispatchEvent:
    """One dispatched call. Times are in nanoseconds of ``perf_counter_ns``; ``depth`` counts enclosing calls.

    ``path`` names the keys handled, the kernel's last; ``kernel`` is the function that computed, at ``file`` and
    ``line``; ``site`` is the user's file, line and function. The call began at ``called``; describing it took until
    ``start``. A ``part`` did not run by itself: it is one of several PyTorch operators that a function computed at
    once. A part takes no time, except the last part of a function that is not an operator. ``plan`` is None for calls
    without one. ``moves`` are the steps by which the call redistributed DTensors.
    """

    sequence: int
    op: str
    key_set: DispatchKeySet
    path: tuple[str, ...]
    kernel: str
    file: str
    line: int
    composite: bool
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    called: int
    start: int
    duration: int
    thread: int
    thread_name: str
    stream: Any
    depth: int
    site: tuple[str, int, str]
    error: str | None = None
    pending: bool = False
    part: bool = False
    plan: PlanUse | None = None
    moves: tuple[Move, ...] = ()


@dataclass(slots=True)
class ActivityEvent:
    """An event on a device, or on the host on its behalf, in nanoseconds of ``perf_counter_ns``.

    ``kind`` is ``run`` or ``copy`` (by the device, in a stream), ``wait`` (of a stream for another one), ``sync`` (the
    host waits) or ``free`` (memory after its last use). The device ``network`` has ``exchange`` (processes send each
    other data) and ``wait`` (for other processes to make the same call); ``detail`` adds more. ``number`` counts the
    stream's operators. The host enqueued the event at ``queued``, 0 if the host did not enqueue it. A ``wait`` is for
    the other stream's operator ``after``: (stream, number). ``phases`` are the durations of the two calls that launched
    the operator, ``cores`` its cores ('' if the device does not report them).
    """

    kind: str
    name: str
    device: str
    stream: int
    start: int
    duration: int
    thread: int
    number: int = 0
    queued: int = 0
    after: tuple[int, int] | None = None
    detail: str = ""
    phases: tuple[int, int] = (0, 0)
    cores: str = ""


#: An event's fields about keys and kernel, from ``key_set`` to ``composite``.
Path = tuple[DispatchKeySet, tuple[str, ...], str, str, int, bool]
Observer = Callable[[DispatchEvent], None]
ValueObserver = Callable[[DispatchEvent, tuple[Any, ...], Any], None]
ActivityObserver = Callable[[ActivityEvent], None]
#: The observers of activities; devices check this first.
activity_observers: tuple[ActivityObserver, ...] = ()
_observers: tuple[Observer, ...] = ()
#: Observers that also receive each call's arguments and result, which they must not keep.
_value_observers: tuple[ValueObserver, ...] = ()
_lock = forks.lock()  # a signal handler may subscribe, too


def _begin() -> None:
    """Have calls observed. The depth that an interrupted call may have left counts anew with the first observer."""
    if not (_observers or _value_observers):
        local.depth = 0
    set_mode(OBSERVED, True)


def subscribe(observer: Observer) -> Callable[[], None]:
    """Call ``observer(event)`` after each dispatched call; return a function that stops (compare ``torch.profiler``).
    """
    global _observers
    with uninterrupted(), _lock:
        _begin()
        _observers = (*_observers, observer)
    return partial(_unsubscribe, observer)


def _unsubscribe(observer: Observer) -> None:
    global _observers
    with uninterrupted(), _lock:
        _observers = tuple(o for o in _observers if o is not observer)
        set_mode(OBSERVED, bool(_observers or _value_observers))


def subscribe_activities(observer: ActivityObserver) -> Callable[[], None]:
    """Call ``observer(activity)`` for devices' activities, reported at synchronisations; return a function that stops.
    """
    global activity_observers
    with uninterrupted(), _lock:
        activity_observers = (*activity_observers, observer)
    return partial(_unsubscribe_activities, observer)


def _unsubscribe_activities(observer: ActivityObserver | None) -> None:
    global activity_observers
    with uninterrupted(), _lock:
        activity_observers = tuple(o for o in activity_observers if o is not observer)


@contextmanager
def subscribed(observer: Observer, activities: ActivityObserver | None = None) -> Iterator[None]:
    """Run a block with an observer subscribed, and optionally one of activities."""
    try:
        subscribe(observer)
        if activities is not None:
            subscribe_activities(activities)
        yield
    finally:
        _unsubscribe(observer)
        _unsubscribe_activities(activities)


@contextmanager
def subscribed_values(observer: ValueObserver) -> Iterator[None]:
    """Run a block that calls ``observer(event, arguments, result)`` after each dispatched call of this thread. The
    observer must neither keep tensors nor call operators.
    """
    global _value_observers
    thread = threading.get_ident()

    def shown(event: DispatchEvent, args: tuple[Any, ...], result: Any) -> None:
        if event.thread == thread:
            observer(event, args, result)

    try:
        with uninterrupted(), _lock:
            _begin()
            _value_observers = (*_value_observers, shown)
        yield
    finally:
        with uninterrupted(), _lock:
            _value_observers = tuple(o for o in _value_observers if o is not shown)
            set_mode(OBSERVED, bool(_observers or _value_observers))


@dataclass
class Trace:
    """The events of a block, in the order in which the calls began."""

    events: list[DispatchEvent] = field(default_factory=list)

    def __iter__(self) -> Iterator[DispatchEvent]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def note(self, event: DispatchEvent) -> None:
        """Add a call that has just returned."""
        self.events.append(event)

    def __str__(self) -> str:
        rows = [(f"{'  ' * e.depth}{e.op}", " > ".join(e.path), f"{e.kernel} ({e.file}:{e.line})",
                 f"-> {', '.join(str(o) for o in e.outputs if isinstance(o, TensorMeta))} "
                 f"{'at once' if e.part and not e.duration else time_text(e.duration)}")
                for e in self.events]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


AnyTrace = TypeVar("AnyTrace", bound=Trace)


@contextmanager
def tracing(trace: AnyTrace, watch: Callable[[Observer], AbstractContextManager[Any]]) -> Iterator[AnyTrace]:
    """Run a block whose dispatched calls in this thread are added to the trace; ``watch`` subscribes the observer."""
    thread = threading.get_ident()

    def note(event: DispatchEvent) -> None:
        if event.thread == thread:
            trace.note(event)

    try:
        with watch(note):
            yield trace
    finally:
        trace.events.sort(key=lambda event: event.sequence)


def observe(one_by_one: bool = False) -> AbstractContextManager[Trace]:
    """Run a block and yield the trace of this thread's dispatched calls (compare ``torch.profiler``). It has the calls
    that run without it, with PyTorch's operators as parts of a function that computes several at once. With
    ``one_by_one``, all operators run by themselves, as in PyTorch.
    """
    return tracing(Trace(), one_at_a_time if one_by_one else subscribed)


_asked_for = 0  #: the number of blocks in which operators run one by one


@contextmanager
def one_by_one() -> Iterator[None]:
    """Run a block in which every operator of PyTorch runs by itself."""
    global _asked_for
    try:
        with uninterrupted(), _lock:
            _asked_for += 1
            set_mode(ONE_BY_ONE, True)
        yield
    finally:
        with uninterrupted(), _lock:
            _asked_for -= 1
            set_mode(ONE_BY_ONE, _asked_for > 0)


@contextmanager
def one_at_a_time(observer: Observer) -> Iterator[None]:
    """Run a block with an observer subscribed in which every operator of PyTorch runs by itself."""
    with subscribed(observer), one_by_one():
        yield


def is_observed() -> bool:
    """Return whether something observes calls."""
    return bool(_observers or _value_observers)


def describe(value: Any) -> Any:
    """Return a tensor's metadata, a tuple of them for a list, and any other value unchanged."""
    if value.__class__ in TENSOR_TYPES:
        cell = value._version_counter
        version, counter = (0, 0) if cell is None else (cell[0], id(cell))
        return TensorMeta(tuple(value.shape), value._dtype.name, value._strides(), str(value._device),
                          value.requires_grad, id(value), version, counter)
    if isinstance(value, (list, tuple)):
        return tuple(describe(item) for item in value)
    return value


def observed(op: Operator, keys: int) -> Callable[..., Any]:
    inner_keys = keys & ~OBSERVED
    shown = inner_keys & ~THREAD_STATE & ~ONE_BY_ONE
    communicates = op.name.startswith("_c10d_functional::")
    paths: dict[int, Path] = {}  # a table with another kernel gets another function

    def call(*args: Any) -> Any:
        called = perf_counter_ns()
        function = op.table.get(inner_keys) or resolve(op, inner_keys)
        effective = shown if local.grad_enabled else shown & ~AUTOGRAD
        effective = effective if local.added else effective & ~ADDED
        if local.parts is not None and effective & META:
            effective = effective & ~META | CPU  # the call that it stands in for is on the CPU
        path = paths.get(effective)
        if path is None:
            path = paths[effective] = _path(op, effective)
        sequence, depth, events, inputs = numbered(), local.depth, local.events, tuple(map(describe, args))
        error, result, before = None, (), plan_of(op, effective, args)
        start = perf_counter_ns()
        outer, moves = local.moves, []
        if communicates and local.coming is not None:
            moves, local.coming = [local.coming], None
        # no call between these and the ``try``, so an interrupt cannot leave them changed
        local.moves, local.depth = moves, depth + 1
        try:
            result = function(*args)
            return result
        except BaseException as raised:
            error = f"{type(raised).__name__}: {raised}"
            raise
        finally:
            duration = perf_counter_ns() - start
            try:
                if path[-1] and error is None and local.events == events and effective & CPU and not local.pipeline:
                    tell_parts(_composed(op), args, result, start, duration, inside=True)
            finally:
                local.depth, local.moves = depth, outer
            event = _event(op, path, sequence, inputs, result, called, start, duration, error)
            event.moves = tuple(moves)
            event.plan = _plan_use(before, plan_of(op, effective, args), op, args, effective)
            _tell(event, args, result)

    return call


#: The keys of calls that go straight to the CPU's kernels.
STRAIGHT = CPU | AUTOGRAD | NONCONTIGUOUS


def plan_of(op: Operator, keys: int, args: tuple[Any, ...]) -> Any:
    """Return the plan by which the CPU's kernel computes a call; None without one, or on another way."""
    if keys & ~STRAIGHT or local.parts is not None or local.pipeline is not None:
        return None
    kernel = op.kernel(CPU)
    if kernel is None or kernel.plans is None:
        return None
    tensors = [tensor for tensor in tensors_of(args) if tensor._layout is None]
    plan = kernel.plans.find(*args)
    for tensor in tensors:  # else the call itself would find another state than without an observer
        tensor._layout = None
    return plan


def _plan_use(before: Any, plan: Any, op: Operator, args: tuple[Any, ...], keys: int) -> PlanUse | None:
    """Describe the plan that a call had, given the one that it would have found."""
    if plan is None:
        return None
    layouts = [Layout(tuple(tensor.shape), tensor._strides() if tensor._keys & NONCONTIGUOUS else None, tensor._dtype)
               for tensor in tensors_of(args)]
    recorded: tuple[str, ...] = ()
    if keys & AUTOGRAD and hasattr(op.derivative, "plan"):  # it is differentiable
        mask = sum(bit for bit, at in op.derivative.inputs
                   if at < len(args) and getattr(args[at], "requires_grad", False))
        recorded = tuple(op.derivative.plan(mask).names)
    function, file, line = plan.site()
    return PlanUse(plan is not before, tuple(map(str, layouts)), function, file, line, recorded)


def _event(op: Operator, path: Path, sequence: int, inputs: tuple[Any, ...], result: Any, called: int, start: int,
           duration: int, error: str | None) -> DispatchEvent:
    outputs = describe(result) if isinstance(result, (list, tuple)) else (describe(result),)
    thread, backend = threading.current_thread(), by_key.get(path[0].bits & BACKENDS)
    stream = None if backend is None else backend.stream_name()
    return DispatchEvent(sequence, op.name, *path, inputs, outputs, called, start, duration, thread.ident or 0,
                         thread.name, stream, local.depth, call_site(), error, local.pipeline is not None)


def _tell(event: DispatchEvent, args: tuple[Any, ...], result: Any) -> None:
    local.events += 1
    if local.parts is not None:
        local.parts.append((event, args, result))
        return
    for observer in _observers:
        observer(event)
    for value_observer in _value_observers:
        value_observer(event, args, result)


# -- functions that compute several operators at once ----------------------------------------------------------------

def told(at_once: Callable[..., Any], composed: Callable[..., Any], *args: Any) -> Any:
    """Call ``at_once``, which computes all operators of ``composed``, and report these operators to observers."""
    start = perf_counter_ns()
    result = at_once(*args)
    tell_parts(composed, args, result, start, perf_counter_ns() - start)
    return result


@contextmanager
def untold() -> Iterator[None]:
    """Hide a block's operators from observers: they prepare a call and are not part of it."""
    before, local.parts = local.parts, []
    try:
        yield
    finally:
        local.parts = before


def _composed(op: Operator) -> Callable[..., Any]:
    """Return a composite's function, with its device argument, if any, replaced by meta."""
    kernel = op.kernel(META)
    assert kernel is not None
    place = op.schema.positions.get("device")
    if place is None:
        return kernel.fn

    def composed(*args: Any) -> Any:
        filled = [*args, *(p.default for p in op.schema.parameters[len(args):])]
        filled[place] = Device("meta")
        return kernel.fn(*filled)

    return composed


def tell_parts(composed: Callable[..., Any], args: tuple[Any, ...], result: Any, start: int = 0, duration: int = 0,
               inside: bool = False) -> None:
    """Report the operators that ``composed`` calls to observers: run it on meta tensors that stand in for the
    arguments. Report nothing if its operators depend on values.
    """
    start = start or perf_counter_ns()
    if (found := parts_of(composed, args)) is None:
        return
    stand_ins, made, parts = found
    known = dict(zip(map(id, tensors_of(stand_ins)), map(describe, tensors_of(args)), strict=True))
    several = result.__class__ is list
    if several or (made.__class__ in TENSOR_TYPES and result.__class__ in TENSOR_TYPES):
        known.update(zip(map(id, tensors_of([made])), map(describe, tensors_of([result])), strict=True))

    def shown(value: Any) -> Any:
        if value.__class__ is TensorMeta:
            return known.get(value.identity) or replace(value, device="cpu")
        if value.__class__ is Device and value.type == "meta":
            return HOST
        return tuple([shown(item) for item in value]) if value.__class__ is tuple else value

    actual = dict(zip(map(id, tensors_of(stand_ins)), tensors_of(args), strict=True)) if _value_observers else {}
    last = len(parts) - 1
    for number, (event, given, made) in enumerate(parts):
        if actual:
            given, made = _as_given(given, actual), _as_made(made, actual)
        alone = number == last and not (inside and last)  # of several parts of a call, none has its time
        event.part, event.start, event.duration = True, start, duration if alone else 0
        event.called = perf_counter_ns() - event.duration if inside else start
        event.inputs, event.outputs = shown(event.inputs), shown(event.outputs)
        _tell(event, given, result if number == last and not several else made)


def parts_of(composed: Callable[..., Any], args: tuple[Any, ...]) -> tuple[list[Any], Any, list[Any]] | None:
    """Run ``composed`` on meta tensors that stand in for the arguments, while something is subscribed. Return these,
    its result, and the events of its operators, with arguments and results; None if its operators depend on values.
    """
    stand_ins = [_stand_in(arg) for arg in args]
    outer, graph, depth, parts = local.parts, local.grad_enabled, local.depth, []  # type: ignore[var-annotated]
    local.parts, local.grad_enabled = parts, False
    try:
        return stand_ins, composed(*stand_ins), parts
    except Exception:
        return None
    finally:
        local.parts, local.grad_enabled, local.depth = outer, graph, depth


def _as_given(value: Any, actual: dict[int, Any]) -> Any:
    """Return arguments of a part with the tensors that are known instead of their stand-ins."""
    if isinstance(value, (list, tuple)):
        return value.__class__([_as_given(item, actual) for item in value])
    return actual.get(id(value), value)


def _as_made(made: Any, actual: dict[int, Any]) -> Any:
    """Return the result of a part, and note it, if it is a view of a tensor that is known; else its stand-in."""
    base = actual.get(id(made._base)) if made.__class__ in TENSOR_TYPES and made._base is not None else None
    if base is None or base.__class__ not in TENSOR_TYPES or base._keys & ~(CPU | AUTOGRAD | NONCONTIGUOUS):
        return made
    view = registry["as_strided"]
    actual[id(made)] = found = (view.table.get(CPU) or resolve(view, CPU))(
        base, tuple(made.shape), made._strides(), base.storage_offset() + made.storage_offset())
    return found


def _stand_in(value: Any) -> Any:
    """Return a meta tensor with a tensor's layout, a list of them for a list, and any other value unchanged."""
    if value.__class__ in TENSOR_TYPES:
        empty = registry["empty_strided"]
        return (empty.table.get(META) or resolve(empty, META))(
            tuple(value.shape), value._strides(), value._dtype, None, Device("meta"), None)
    if isinstance(value, (list, tuple)):
        return value.__class__([_stand_in(item) for item in value])
    return value


def _path(op: Operator, keys: int) -> Path:
    kernel = op.kernel(kernels_key(keys)) if keys & BACKENDS in (1, 2, 4) else None
    name, file, line = "(none)", "", 0
    if kernel is not None:
        name = getattr(kernel.origin, "__name__", "<lambda>")
        name = (op.functional or op).name if name == "<lambda>" else name
        file, line = kernel_site(kernel, (op.functional or op).name)
    key_set = DispatchKeySet(keys)
    composite = kernel is not None and kernel.composite
    path = tuple(name for name, key in key_set.names() if not composite or key & (BACKENDS | ADDED | SPARSES))
    return key_set, path, name, file, line, composite

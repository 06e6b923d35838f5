"""Compiled functions, each with the programs that were made for it so far."""
from __future__ import annotations

import inspect
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from .._base import forks
from .._base.interrupts import contextmanager
from .._dispatch import dispatcher
from .._dispatch.keys import ADDED, AUTOGRAD, FUNCTION, OBSERVED, THREAD_STATE
from .._dispatch.local import local, shared
from . import config
from .breaks import CannotCompile, FailOnRecompileLimitHit, GraphBreak, break_here
from .entry import Entry
from .guards import Guards
from .logs import log
from .recording import FirstCall, unsupported
from .state import plainly
from .watch import Watch

STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile")


class Stance(threading.local):
    """The stance of this thread, as ``set_stance`` sets it."""

    name = "default"


stance = Stance()
_lock = forks.lock()  # one call is recorded at a time


class CompiledFunction:
    """A function that runs the program whose guards hold for a call, or else records the call."""

    _torchdynamo_disable = True  #: guards skip its attributes

    def __init__(self, function: Callable[..., Any], fullgraph: bool = False) -> None:
        self.function, self.fullgraph = function, fullgraph
        self.entries: list[Entry] = []
        self.unfinished: list[str] = []  #: the recorded steps of the last call, if it failed
        self.warned = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program that fits, or record the call."""
        mode = dispatcher.mode
        if stance.name == "force_eager":
            return self.function(*args, **kwargs)
        if mode & ~OBSERVED and (mode & ~(OBSERVED | THREAD_STATE | FUNCTION | ADDED) or not _plain_thread()):
            return self.function(*args, **kwargs)
        for entry in self.entries:
            inputs = entry.guards.check(args, kwargs)
            if inputs is not None:
                return self._run(entry, inputs, args, kwargs)
        return self._missed(args, kwargs)

    def _run(self, entry: Entry, inputs: list[Any], args: Any, kwargs: Any) -> Any:
        entry.calls += 1
        if entry.forward is None or (entry.written and _overlapping(inputs, entry.written)):
            return self.function(*args, **kwargs)
        return entry.run(inputs)

    def _missed(self, args: Any, kwargs: Any) -> Any:
        if config.disable:
            return self.function(*args, **kwargs)
        with _lock:
            for entry in self.entries:  # another thread may have been here
                inputs = entry.guards.check(args, kwargs)
                if inputs is not None:
                    break
            else:
                now = stance.name
                if self.entries and now == "eager_on_recompile":
                    return self.function(*args, **kwargs)
                if self.entries and now == "fail_on_recompile":
                    raise RuntimeError("Detected recompile when torch.compile stance is 'fail_on_recompile'")
                if len(self.entries) >= config.recompile_limit:
                    return self._too_many(args, kwargs)
                return self.record(args, kwargs)
        return self._run(entry, inputs, args, kwargs)

    def _too_many(self, args: Any, kwargs: Any) -> Any:
        name = getattr(self.function, "__qualname__", type(self.function).__name__)
        message = f"torch._dynamo hit config.recompile_limit ({config.recompile_limit}) with {name}"
        if self.fullgraph:
            raise FailOnRecompileLimitHit(message)
        if not self.warned:
            self.warned = True
            warnings.warn(f"{message}: calls that none of its programs fits run as they are written", stacklevel=4)
        return self.function(*args, **kwargs)

    def record(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function once, recorded, and compile what it did."""
        guards = Guards()
        entry = Entry(self.function, guards)
        first = FirstCall(self.fullgraph)
        state = guards.state
        given: list[tuple[Any, str]] = []

        def give(tensor: Any, name: str) -> None:
            if id(tensor) not in first.values:
                given.append((tensor, name))
                first.give(tensor, plainly(name).replace(".", "_"))
                before[id(tensor)] = _facts(tensor)

        before: dict[int, Any] = {}
        grad_mode = local.grad_enabled
        with self._noting_failure(first), first:
            try:
                state.on_tensor = lambda tensor: give(tensor, state.tensors[-1][1])
                guards.arguments(args, kwargs, _parameter_names(self.function))
                for _, tensor, name in guards.inputs:
                    give(tensor, name)
                state.visit(self.function, _name_of(self.function))
            except CannotCompile as error:
                first.stop(break_here(str(error)))
            with Watch(state, first.stop):
                result = self.function(*args, **kwargs)
        if first.interrupted:
            return result
        start = perf_counter()
        try:
            if first.reason is not None:
                raise CannotCompile
            if local.grad_enabled is not grad_mode:
                raise CannotCompile("the function switches the grad mode for what follows")
            changed = next((place.path for place in state.places if not place.holds()), None)
            if changed is not None:
                raise CannotCompile(f"the function changes Python state: {changed}")
            for tensor, name in given:
                if _facts(tensor) != before[id(tensor)]:
                    raise CannotCompile(f"the function changes what {name} is")
            guards.finish([pair for pair in given if all(pair[0] is not t for _, t, _ in guards.inputs)])
            inputs = guards.check(args, kwargs)
            if inputs is None:
                raise CannotCompile("the guards do not hold after the call")
            entry.compile(first, inputs, result)
        except (CannotCompile, RuntimeError, NotImplementedError) as error:
            entry.broken = first.reason or GraphBreak(str(error) or type(error).__name__, *_place_of(self.function))
            entry.forward = entry.backward = None
            if self.fullgraph:
                raise unsupported(entry.broken) from None
            if not guards.source:
                try:
                    guards.finish([])
                except CannotCompile:  # tensors without arrays: none of the arguments is guarded
                    guards.check = lambda args, kwargs: []
        finally:  # what the call made is freed with it, not when the garbage is collected
            state.on_tensor = lambda tensor: None
            first.forget()
        entry.seconds = perf_counter() - start
        for program in (entry.forward, entry.backward):
            if program is not None:
                log("output_code", partial(getattr, program, "source"))
        self.entries.append(entry)
        return result

    @contextmanager
    def _noting_failure(self, first: FirstCall) -> Iterator[None]:
        self.unfinished = []
        try:
            yield
        except BaseException:
            self.unfinished = [*map(str, first.steps)]
            raise

    def __reduce__(self) -> tuple[Any, ...]:
        return CompiledFunction, (self.function, self.fullgraph)  # a copy makes its own programs

    def reset(self) -> None:
        """Forget all programs."""
        self.entries, self.unfinished, self.warned = [], [], False


def _plain_thread() -> bool:
    """Return whether nothing records, transforms or replaces operators in this thread."""
    return not (local.pipeline is not None or local.inference or local.autocast is not None or local.dispatch_modes
                or local.below_autograd or local.function_modes or local.added or local.frames or shared.dual_levels
                or local.saved_tensor_hooks)


def _facts(tensor: Any) -> Any:
    return (tensor.shape, tensor._strides(), tensor._dtype, tensor._keys & AUTOGRAD, id(tensor._grad),
            id(tensor._grad_fn), id(tensor._hooks), id(tensor._storage))


def _parameter_names(function: Any) -> list[str]:
    try:
        return [*inspect.signature(function).parameters]
    except (TypeError, ValueError):
        return []


def _name_of(function: Any) -> str:
    return "self" if not inspect.isfunction(function) else function.__name__


def _place_of(function: Any) -> tuple[str, int]:
    function = inspect.unwrap(getattr(function, "forward", function))
    code = getattr(function, "__code__", None)
    return ("", 0) if code is None else (code.co_filename, code.co_firstlineno)


def _overlapping(inputs: list[Any], written: Iterable[int]) -> bool:
    """Return whether the program writes into memory that belongs to two inputs."""
    return any(np.may_share_memory(inputs[number]._array, other._array)
               for number in written for i, other in enumerate(inputs) if i != number)


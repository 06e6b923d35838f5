"""Events of compiled calls: observers see a fused kernel as one event that names its operators."""
from __future__ import annotations

import threading
from collections.abc import Callable
from inspect import unwrap
from time import perf_counter_ns
from typing import Any

from .._base.call_site import call_site
from .._dispatch import observers
from .._dispatch.keys import CPU, DispatchKeySet
from .._dispatch.local import local
from .running import ndarray, tensor_of


def told(kernel: Callable[..., Any], name: str, group: Any, program: Any) -> Callable[..., Any]:
    """Return a fused kernel that reports its calls to observers."""
    operators = " -> ".join(step.op.name for step in group.steps)
    count = len(group.inputs)
    line = unwrap(kernel).__code__.co_firstlineno

    def call(*arrays: Any) -> None:
        called = perf_counter_ns()
        inputs = tuple(observers.describe(tensor_of(array)) for array in arrays[:count])
        sequence, depth, error = observers.numbered(), local.depth, None
        start = perf_counter_ns()
        try:
            kernel(*arrays)
        except BaseException as raised:
            error = f"{type(raised).__name__}: {raised}"
            raise
        finally:
            duration = perf_counter_ns() - start
            outputs = tuple(observers.describe(tensor_of(array)) for array in arrays[count:]
                            if array.__class__ is ndarray)  # sizes follow
            current = threading.current_thread()
            event = observers.DispatchEvent(
                sequence, f"fused({operators})", DispatchKeySet(CPU), ("CPU",), name, program.file, line, False, inputs,
                outputs, called, start, duration, current.ident or 0, current.name, None, depth, call_site(), error)
            for observer in observers._observers:
                observer(event)

    return call

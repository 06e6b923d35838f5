"""Derivatives computed at once: one plan on arrays for the operators that a node's formulas call.

A formula is a function that calls operators, each of which looks for its own plan and makes a tensor. For few numbers
that costs several times what NumPy takes. After some calls of the same layouts and settings, the formulas run on meta
tensors, which have no values to depend on; the calls that observers are told of are looked up on the CPU, and what they
compute of arrays is written out as one function. It has to return the same bits as the formulas; they compute wherever
it does not fit: gradients that are recorded, batched or seen by a mode, other devices, many numbers.
"""
from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import numpy as np

from ...._base.quiet import silent
from ...._dispatch import dispatcher
from ...._dispatch.dispatcher import TENSOR_TYPES
from ...._dispatch.keys import CPU, OBSERVED
from ...._dispatch.local import local
from ...._dispatch.observers import tell_parts, untold
from ...._dispatch.registry import Operator
from ...._dispatch.schemas import registry
from ...._dtype import get_default_dtype
from ...._tensor import Tensor, new
from ..plans import MISSES, SETTINGS, UNFIT, Plans
from .steps import MANY, PLAIN
from .tape import Replay, replay_of

CALLS = 2  #: a plan is made at the call after so many of its layouts, since it costs as much as a dozen of them


def at_once(formulas: Callable[..., list[Any]], op: Operator, abandon: Callable[[], None]) -> Callable[..., list[Any]]:
    """Return a node's formulas with plans. ``abandon`` is called if the first calls do not allow one: no plan that is
    looked for in vain costs anything from then on.
    """
    plans = Plans()

    def planned(*values: Any) -> list[Any]:
        if dispatcher.mode & ~OBSERVED or local.grad_enabled or (plans.missed > MISSES and plans.skip()):
            return formulas(*values)
        key: list[Any] = [get_default_dtype()]
        arrays = []
        for value in values:
            kind = value.__class__
            if kind in TENSOR_TYPES:
                if value._keys & ~PLAIN or (array := value._array).size > MANY:
                    return formulas(*values)
                arrays.append(array)
                key.append(value._layout or value._layout_of_plans())
            elif kind in SETTINGS:
                key += kind, value
            elif kind is float:
                key += kind, value or str(value)
            elif kind is tuple:
                key += value
            else:
                return formulas(*values)
        try:
            plan = plans.get(found := tuple(key))
        except TypeError:  # a setting that is not hashable
            return formulas(*values)
        if plan.__class__ is not Replay or plan.changes != registry.changes:
            plans.missed += 1
            return formulas(*values) if plan is UNFIT else learn(found, plan, values)
        plans.missed, start = 0, perf_counter_ns() if dispatcher.mode & OBSERVED else 0
        try:
            results = silent().run(plan.run, *arrays)
        except Exception:  # the operators raise it again, in their names
            results = None
        if results is None:
            return formulas(*values)
        gradients = [part and (values[part[0]] if part[1] is None else tensor_of(results[part[0]], *part[1:]))
                     for part in plan.gradients]
        if start:
            tell_parts(formulas, values, gradients, start, perf_counter_ns() - start)
        return gradients

    def learn(key: Any, known: Any, values: tuple[Any, ...]) -> list[Any]:
        count, reads = known if known.__class__ is int else 0, local.reads
        expected = formulas(*values)
        if local.reads != reads:  # other values may ask for other operators, or be refused
            plans.keep(key, UNFIT)
            return expected
        if count < CALLS:
            plans.keep(key, count + 1)
            return expected
        try:
            with untold():
                plan = replay_of(formulas, op, values, expected)
        except Exception:  # an operator refuses a stand-in, or the function of its plan its arrays
            plan = None
        if plan is None and not any(kept.__class__ is Replay for kept in plans.values()):
            abandon()
        plans.keep(key, plan or UNFIT)
        return expected

    return planned


def tensor_of(result: Any, layout: Any, version: int) -> Tensor:
    """Return a tensor of a result."""
    out = new(Tensor)
    if version:
        out._start_counter()[0] = version
    out._array = result if result.__class__ is np.ndarray else np.asarray(result)
    out._dtype, out._keys, out._layout = layout.dtype, CPU, layout
    return out

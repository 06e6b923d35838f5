"""Lesson 18: when is a compiled function compiled again?"""
from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..._base.interrupts import contextmanager
from ..limits import LOADING
from ..tasks import Lab, lesson
from . import torch


def follow(function: Callable[..., Any], *calls: tuple[Any, ...]) -> list[Any]:
    """Call a compiled function, print for each call whether it was compiled and which guards failed, and return the
    graphs. Sizes are constants.
    """
    graphs: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(function, backend=backend, dynamic=False)
    compiler = compiled._compiled.compiler
    for number, call in enumerate(calls, 1):
        before = len(graphs)
        frame = next(iter(compiler.frames.values()), None)
        reasons = frame.reasons(getattr(function, "__closure__", None) or (), call, {}) if frame is not None else []
        compiled(*call)
        made = len(graphs) - before
        failed = [reason for reason in reasons if reason != "None"]  # of a program that fits nothing has failed
        why = f" because not: {'; '.join(failed)}" if made and failed else ""
        print(f"call {number}: {f'{made} compiled' if made else 'nothing compiled'}{why}")
    return graphs


def _x():
    return torch.arange(4.0).reshape(2, 2)


def _other():
    return torch.ones(2, 2)


def _pair(later):
    """Return both calls of a function of two tensors, in which the later one may have the tensors of the first."""
    x, y = _x(), _other()
    return (x, y), later(x, y)


def _longer():
    numbers = [1, 2]
    return (_x(), numbers), lambda: (numbers.append(3), (_x(), numbers))[1]


def _written():
    x = _x()
    return (x,), lambda: (x.add_(1), (x,))[1]


def _without_grad():
    return (_x(),), lambda: (torch.set_grad_enabled(False), (_x(),))[1]


#: For each case the arguments of the first call, and of a later one or a function that returns them.
CALLS = {
    "f(x), then another tensor like x": lambda: ((_x(),), (_other(),)),
    "f(x), then x again, written in between": _written,
    "f(x), then a tensor of another shape": lambda: ((_x(),), (torch.ones(3, 2),)),
    "f(x), then a tensor of another dtype": lambda: ((_x(),), (_x().double(),)),
    "f(x), then x.t()": lambda: ((_x(),), (_x().t(),)),
    "f(x), then a tensor that requires grad": lambda: ((_x(),), (_x().requires_grad_(),)),
    "f(x), then a tensor on another device": lambda: ((_x(),), (_x().to("meta"),)),
    "f(x), then a Parameter that does not require grad": lambda: ((_x(),), (torch.nn.Parameter(_x(), False),)),
    "f(x), then f(x, 1)": lambda: ((_x(),), (_x(), 1)),
    "f(x), then f(x) without grad mode": _without_grad,
    "f(x, 2), then f(x, 2)": lambda: ((_x(), 2), (_x(), 2)),
    "f(x, 2), then f(x, 3)": lambda: ((_x(), 2), (_x(), 3)),
    "f(x, 1), then f(x, True)": lambda: ((_x(), 1), (_x(), True)),
    "f(x, 2), then f(x, 2.0)": lambda: ((_x(), 2), (_x(), 2.0)),
    "f(x, None), then f(x, x)": lambda: ((_x(), None), (_x(), _x())),
    "f(x, 'relu'), then f(x, 'tanh')": lambda: ((_x(), "relu"), (_x(), "tanh")),
    "f(x, torch.relu), then f(x, torch.relu)": lambda: ((_x(), torch.relu), (_x(), torch.relu)),
    "f(x, torch.relu), then f(x, torch.tanh)": lambda: ((_x(), torch.relu), (_x(), torch.tanh)),
    "f(x, y), then f(y, x)": lambda: _pair(lambda x, y: (y, x)),
    "f(x, y), then f(x, x)": lambda: _pair(lambda x, y: (x, x)),
    "f(x, x), then f(x, y)": lambda: ((one := _x(), one), (_x(), _other())),
    "f([x, y]), then a list of other tensors": lambda: (([_x(), _other()],), ([_other(), _x()],)),
    "f([x, y]), then a list with another shape in it": lambda: (([_x(), _x()],), ([_x(), torch.ones(3)],)),
    "f([x, y]), then f((x, y))": lambda: (([_x(), _x()],), ((_x(), _x()),)),
    "f(x, [1, 2]), then the list has a third item": _longer,
    "f({'a': x}), then f({'b': x})": lambda: (({"a": _x()},), ({"b": _x()},)),
    "f({'a': 1}), then f({'a': 2})": lambda: (({"a": 1},), ({"a": 2},)),
}


def _run(function, case):
    """Return whether the guard of the first call holds in the later one, and how many tensors it keeps alive."""
    first, later = CALLS[case]()
    alive = [weakref.ref(value) for value in first if isinstance(value, torch.Tensor)]
    holds = function(first)
    if not callable(holds):
        return {"what guard returns": "no function"}
    grad_mode = torch.is_grad_enabled()
    try:
        later = later() if callable(later) else later
        said = holds(later)
    finally:
        torch.set_grad_enabled(grad_mode)
    seen = {"whether the program may run": said if isinstance(said, bool) else f"a {type(said).__name__}"}
    del first, later, said
    return {**seen, "tensors of the first call that the guard keeps": sum(one() is not None for one in alive)}


@contextmanager
def replace_guards(guard: Callable[[tuple[Any, ...]], Callable[[tuple[Any, ...]], bool]]) -> Iterator[None]:
    """Have functions that are compiled in a block decide by ``guard(args)(later_args)`` whether a program may run."""
    from ..._dynamo.convert_frame import Frame
    from ..._dynamo.guards import missed

    frame: Any = Frame
    own = frame.compile

    def arguments(args: Any, kwargs: Any) -> tuple[Any, ...]:
        return (*args, kwargs) if kwargs else tuple(args)

    def mine(self: Any, closure: Any, args: Any, kwargs: Any) -> Any:
        holds = guard(arguments(args, kwargs))
        entry = own(self, closure, args, kwargs)
        if entry is not None:
            run = entry.without_guards()
            entry.check = lambda closure, *later, **more: bool(holds(arguments(later, more)))
            entry.run = lambda closure, *later, **more: run(closure, *later, **more) if entry.check(
                closure, *later, **more) else missed
        return entry

    frame.compile = mine
    try:
        yield
    finally:
        frame.compile = own


LESSON = lesson(
    "dynamo", guard=partial(
        Lab, cases=tuple((name,) for name in CALLS), run=_run, describe=str, seconds=LOADING,
        refuses=("_dynamo.guards.Guards.before",)))

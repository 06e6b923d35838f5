"""Lesson 17: how does a program become a graph?"""
from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..._base.interrupts import contextmanager
from ..limits import LOADING
from ..tasks import Lab, lesson
from . import torch

ENDLESS = "the loop over x never ends"


def _rows(x):
    total = 0
    for count, row in enumerate(x):
        if count == 50:  # x has three rows; a proxy has none
            raise RuntimeError(ENDLESS)
        total = total + row
    return total


def _three_times(x):
    for factor in (1, 2, 3):
        x = x * factor
    return x


#: What is traced; x and y have three rows of two.
PROGRAMS = {
    "x + 1": lambda x: x + 1,
    "torch.relu(x)": lambda x: torch.relu(x),
    "x.relu()": lambda x: x.relu(),
    "x - y": lambda x, y: x - y,
    "2 - x": lambda x: 2 - x,
    "-x": lambda x: -x,
    "x.sum(0, keepdim=True)": lambda x: x.sum(0, keepdim=True),
    "torch.sum(x * y, dim=1)": lambda x, y: torch.sum(x * y, dim=1),
    "torch.cat([x, y], dim=1)": lambda x, y: torch.cat([x, y], dim=1),
    "x @ y.t()": lambda x, y: x @ y.t(),
    "x[1:, 0]": lambda x: x[1:, 0],
    "torch.where(x > 0, x, y)": lambda x, y: torch.where(x > 0, x, y),
    "x for each of three factors: x = x * factor": _three_times,
    "(x + y, [x, 1])": lambda x, y: (x + y, [x, 1]),
    "x, with y not used": lambda x, y: x,
    "-x if x.sum() > 0 else x": lambda x: -x if x.sum() > 0 else x,
    "the sum of row over `for row in x`": _rows,
}
#: The programs that depend on values: no graph is right for them.
REFUSED = ("-x if x.sum() > 0 else x", "the sum of row over `for row in x`")


def _text(node, strangers):
    """Return a node as a sentence, with a value that a graph cannot hold by its type, which joins ``strangers``."""
    def plain(leaf):
        if leaf is None or isinstance(leaf, torch.fx.Node | bool | int | float | str):
            return leaf
        strangers.append(leaf)
        return "a proxy" if hasattr(leaf, "node") else f"a {type(leaf).__name__}"

    args = torch.fx.node.map_aggregate(node.args, plain)
    kwargs = torch.fx.node.map_aggregate(node.kwargs, plain)
    target = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))
    given = ", ".join([*map(str, args), *(f"{name}={value}" for name, value in kwargs.items())])
    return f"{node.op} {target}({given})"


def _run(function, program):
    """Return the nodes that a tracer records of a program, and the value of the graph; or that it refused."""
    called = PROGRAMS[program] if program in PROGRAMS else eval(program, {"torch": torch})
    try:
        graph = function(called)
    except (ValueError, TypeError):
        if program in REFUSED:
            return {"the tracer": "refuses"}
        raise
    except RuntimeError as error:
        if str(error) != ENDLESS:
            raise
        return {"the tracer": ENDLESS}
    if not isinstance(graph, torch.fx.Graph):
        return {"what trace returns": f"a {type(graph).__name__}"}
    if program in REFUSED:
        return {"the tracer": "returns a graph, which is right for some values alone"}
    strangers: list[Any] = []
    seen = {f"node {number}": _text(node, strangers) for number, node in enumerate(graph.nodes)}
    if strangers:
        return seen
    x, y = torch.tensor([[1.0, -2.0], [3.0, -4.0], [-5.0, 6.0]]), torch.tensor([[0.5, 1.0], [2.0, -1.0], [1.0, 3.0]])
    given = (x, y)[:len(inspect.signature(called).parameters)]
    value = torch.fx.Interpreter(torch.nn.Module(), graph=graph).run(*given)
    return {**seen, "the graph's value": value}


@contextmanager
def replace_tracer(trace: Callable[[Callable[..., Any]], Any]) -> Iterator[None]:
    """Have ``torch.fx.Tracer`` trace functions by ``trace(function)`` in a block; modules stay with its own."""
    tracer: Any = torch.fx.Tracer
    own = tracer.trace

    def mine(self: Any, root: Any, concrete_args: Any = None) -> Any:
        if isinstance(root, torch.nn.Module) or concrete_args is not None:
            return own(self, root, concrete_args)
        self.root, self.graph = torch.nn.Module(), trace(root)
        return self.graph

    tracer.trace = mine
    try:
        yield
    finally:
        tracer.trace = own


LESSON = lesson(
    "fx", trace=partial(
        Lab, cases=tuple((name,) for name in PROGRAMS), run=_run, describe=str,
        seconds=LOADING, refuses=("fx.Tracer.trace", "fx.symbolic_trace", "fx.proxy.TracerBase.create_proxy")))

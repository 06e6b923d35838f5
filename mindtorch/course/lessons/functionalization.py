"""Lesson 20: what becomes of a write?"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from ..._base.interrupts import contextmanager
from ..limits import LOADING
from ..tasks import Lab, lesson
from . import torch

#: Thirty programs that write into x, a float tensor of three rows and four columns, or into something made of it.
PROGRAMS = (
    "x.add_(1); return x * 2",
    "y = x[0]; y.add_(1); return x * 2",
    "y = x[0]; y.add_(1); return y * 2",
    "x[1] = 5.; return x + 1",
    "x[:, 1] = 0.; return x.sum(0)",
    "x[1:].mul_(2); return x.sum(1)",
    "x[:, ::2].zero_(); return x.sum(0)",
    "x[:, 1:3].neg_(); return x.sum(0)",
    "x[-1].neg_(); return x.sum(0)",
    "x[0][1:3].add_(1); return x.sum(0)",
    "x[1:][:, 2].mul_(3); return x.sum(0)",
    "x.t()[0].add_(1); return x.sum(0)",
    "x.view(-1)[5] = 1.; return x.sum(0)",
    "x.view(4, 3)[0].fill_(7); return x.sum(0)",
    "y = x[0]; x.add_(1); return y * 2",
    "y = x[0]; z = x[:, 0]; y.mul_(2); return z + 1",
    "y = x.t(); z = x.view(-1); y[1].add_(1); return z * 2",
    "x.diagonal().zero_(); return x.sum(0)",
    "x.diagonal(1).copy_(torch.ones(3)); return x.sum(0)",
    "x.transpose(0, 1)[1:3].mul_(3); return x.sum(0)",
    "x.unsqueeze(1)[:, 0, 2].add_(1); return x.sum(0)",
    "x.view(3, 1, 4).squeeze(1)[2].add_(1); return x.sum(0)",
    "x.view(3, 2, 2).permute(2, 0, 1)[1].add_(1); return x.sum(0)",
    "a, b, c = x.unbind(0); b.add_(a); return c + b",
    "a, b = x.split(2, 1); a.add_(b); return x.sum(0)",
    "y = x[0]; y += y; y[1:] += 1; return y * x",
    "y = x.clone(); y[0].add_(1); return x + y",
    "y = x[0].clone(); y.add_(1); return x + y",
    "y = x * 2; z = y[1]; z.add_(x[0]); return y + 1",
    "y = x[0]; y.zero_(); x[0] = 3.; return y + 1",
)
#: The steps that a part undoes; others stay with the library.
NAMES = ("select", "slice", "diagonal", "transpose", "permute", "view", "unsqueeze", "squeeze")


class Step(NamedTuple):
    """A step from a tensor to a view of it: the operator's name and arguments; called, it returns the view of a value.
    """

    name: str
    args: tuple[Any, ...]
    of: Callable[[Any], Any]

    def __call__(self, base: Any) -> Any:
        return self.of(base)


def _step(view: Any, base: Any, copies: bool) -> Step:
    """Return a step of the library as a reader's: a part of ``unbind`` or ``split`` as ``select`` or ``slice``."""
    from ..._subclasses.view_inverses import piece

    name, _, _ = view.op.name.partition(".")
    args: Any = view.args
    match name:
        case "unbind":
            name, args = "select", (*(args or (0,)), view.number)
        case "split":
            name, args = "slice", piece(base, view.number, *args)
        case "t":
            name, args = "transpose", (0, 1)
    return Step(name, args, lambda value: view.of(value, copies))


@contextmanager
def replace_write_back(write_back: Callable[[Any, list[Step], Any], Any]) -> Iterator[None]:
    """Have functionalization compute what a write through views makes of the whole by ``write_back`` in a block."""
    from ..._subclasses import functional_tensor

    seam: Any = functional_tensor
    own = seam.written_back

    def mine(base: Any, views: Any, value: Any, copies: bool) -> Any:
        steps, at = [], base
        for view in views:
            steps.append(_step(view, at, copies))
            at = steps[-1](at)
        if any(step.name not in NAMES for step in steps):
            return own(base, views, value, copies)
        return write_back(base, steps, value)

    seam.written_back = mine
    try:
        yield
    finally:
        seam.written_back = own


def compiled(program: str) -> Callable[[Any], Any]:
    """Return a program as a function of x."""
    space: dict[str, Any] = {"torch": torch}
    lines = program.replace("; ", "\n    ")
    exec(f"def program(x):\n    {lines}\n", space)
    function: Callable[[Any], Any] = space["program"]
    return function


def _run(function, program):
    """Return the result of a program and x after it, functionalized; and whether the part has written."""
    x, wrote = torch.arange(12.0).reshape(3, 4), []

    def watched(base, views, value):
        before = base._version, value._version
        new = function(base, views, value)
        if (base._version, value._version) != before:
            wrote.append(True)
        if not isinstance(new, torch.Tensor) or new.shape != base.shape:
            raise Returned(f"{list(new.shape)}" if isinstance(new, torch.Tensor) else f"a {type(new).__name__}")
        return new

    try:
        with replace_write_back(watched):
            result = torch.func.functionalize(compiled(program))(x)
    except Returned as returned:
        return {"the shape of the new base": str(returned)}
    return {"whether the part writes into a tensor that it was given": bool(wrote), "the result": result,
            "x afterwards": x}


class Returned(Exception):
    """A value of a part that is no new base."""


LESSON = lesson(
    "functionalization", write_back=partial(
        Lab, cases=tuple((program,) for program in PROGRAMS), run=_run, describe=str, seconds=LOADING,
        refuses=("_subclasses.functional_tensor.View.undone",)))

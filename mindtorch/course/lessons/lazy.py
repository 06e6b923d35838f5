"""Lesson 10: what is known before anything is computed?"""
from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from ..tasks import Lab, lesson
from . import torch

POINTWISE = frozenset(("add", "sub", "mul", "div", "exp", "relu", "tanh", "neg", "sigmoid", "sqrt"))


@dataclass(frozen=True)
class Step:
    """An operator of a program: name, arguments (tensors' names, numbers), output's name and shape."""

    op: str
    args: tuple[str | float, ...]
    writes: str
    shape: tuple[int, ...]

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of the tensors that it reads."""
        return tuple(arg for arg in self.args if isinstance(arg, str))

    @property
    def pointwise(self) -> bool:
        """True if it treats each element by itself."""
        return self.op.removesuffix("_") in POINTWISE


def record(pipeline, names):
    """Return the calls that a pipeline has recorded, as steps; ``names`` are the tensors that existed before."""
    known = {id(tensor.untyped_storage()): name for name, tensor in names.items()}
    steps = []
    for entry in pipeline.pending:
        args = [known.setdefault(id(arg.untyped_storage()), f"t{len(known)}") if isinstance(arg, torch.Tensor) else arg
                for arg in entry.args if isinstance(arg, torch.Tensor | int | float) and not isinstance(arg, bool)]
        out = known.setdefault(id(entry.storages[0]), f"t{len(known)}") if entry.storages else args[0]
        steps.append(Step(entry.op.packet, tuple(args), out, entry.shapes[0]))
    return steps


def run_groups(steps, groups, memory, rows=1):
    """Run groups of steps on named tensors in ``memory``, ``rows`` at a time, and return the last step's result."""
    for group in groups:
        whole = steps[group[0]].shape
        fused = [steps[i] for i in group]
        if not fused[0].pointwise or not whole:
            _run_steps(fused, memory, slice(None), ())
            continue
        for start in range(0, whole[0], rows):
            _run_steps(fused, memory, slice(start, start + rows), whole)
    return memory[steps[-1].writes]


def _run_steps(steps, memory, block, whole):
    for step in steps:
        given = []
        for arg in step.args:
            if isinstance(arg, str) and arg not in memory:
                raise KeyError(arg)
            value = memory[arg] if isinstance(arg, str) else arg
            given.append(value[block] if whole and isinstance(arg, str) and tuple(value.shape) == whole else value)
        found = getattr(torch, step.op.removesuffix("_"))(*given)
        if not whole:
            memory[step.writes] = found
            continue
        if step.writes not in memory:
            memory[step.writes] = torch.zeros(step.shape)
        target = memory[step.writes]
        if tuple(target.shape) == whole:
            target[block] = found
        else:
            target.copy_(found)


#: The programs, with a line for each step, as readers would write them.
PROGRAMS = {
    "a = x.exp(); b = a * y; c = b + 1": (
        ("exp", ("x",), "a", (4, 3)), ("mul", ("a", "y"), "b", (4, 3)), ("add", ("b", 1), "c", (4, 3))),
    "a = x.relu(); s = a.sum(); b = a / s": (
        ("relu", ("x",), "a", (4, 3)), ("sum", ("a",), "s", ()), ("div", ("a", "s"), "b", (4, 3))),
    "a = x.exp(); s = x.sum(); b = a * y": (
        ("exp", ("x",), "a", (4, 3)), ("sum", ("x",), "s", ()), ("mul", ("a", "y"), "b", (4, 3))),
    "x.mul_(2); a = x.relu(); a.add_(x)": (
        ("mul_", ("x", 2), "x", (4, 3)), ("relu", ("x",), "a", (4, 3)), ("add_", ("a", "x"), "a", (4, 3))),
    "a = x.exp(); s = x.sum(); x.add_(1)": (
        ("exp", ("x",), "a", (4, 3)), ("sum", ("x",), "s", ()), ("add_", ("x", 1), "x", (4, 3))),
    "a = x.exp(); b = z.exp(); c = a * 2; d = b * 2, with z of another shape": (
        ("exp", ("x",), "a", (4, 3)), ("exp", ("z",), "b", (2, 5)), ("mul", ("a", 2), "c", (4, 3)),
        ("mul", ("b", 2), "d", (2, 5))),
    "a = y.exp(); s = x.sum(); t = y.sum(); x.add_(1)": (
        ("exp", ("y",), "a", (4, 3)), ("sum", ("x",), "s", ()), ("sum", ("y",), "t", ()),
        ("add_", ("x", 1), "x", (4, 3))),
    "a = x.exp(); b = z.exp(); c = z.neg(); s = c.sum(); d = a * s, with z of another shape": (
        ("exp", ("x",), "a", (4, 3)), ("exp", ("z",), "b", (2, 5)), ("neg", ("z",), "c", (2, 5)),
        ("sum", ("c",), "s", ()), ("mul", ("a", "s"), "d", (4, 3))),
    "s = x.cumsum(0); a = s + 1": (("cumsum", ("x", 0), "s", (4, 3)), ("add", ("s", 1), "a", (4, 3))),
    "s = x.sum(); t = y.sum()": (("sum", ("x",), "s", ()), ("sum", ("y",), "t", ())),
}


def _start():
    return {"x": torch.linspace(-1, 1, 12).view(4, 3), "y": torch.linspace(1, 2, 12).view(4, 3),
            "z": torch.linspace(0, 1, 10).view(2, 5)}


def _run(function, program):
    """Check that the groups are groups, run them, and count them."""
    steps = [Step(*row) for row in (PROGRAMS[program] if isinstance(program, str) else program)]
    groups = function(list(steps))
    if not isinstance(groups, list | tuple) or not all(isinstance(group, list | tuple) for group in groups):
        return {"the groups": groups}
    groups = [list(group) for group in groups if len(group)]
    flat = [i for group in groups for i in group]
    if not all(type(i) is int for i in flat):
        return {"the groups": [[getattr(i, "op", i) for i in group] for group in groups]}
    seen = {"how often each step runs": [flat.count(i) for i in range(len(steps))]}
    if seen["how often each step runs"] != [1] * len(steps):
        return seen
    seen["groups with steps that cannot be run together"] = [
        group for group in groups if len(group) > 1 and (
            not all(steps[i].pointwise for i in group) or len({steps[i].shape for i in group}) > 1)]
    if seen["groups with steps that cannot be run together"]:
        return seen
    memory = _start()
    try:
        run_groups(steps, groups, memory)
    except KeyError as missing:
        return {**seen, "a tensor that is read before it is written": str(missing).strip("'")}
    expected = _start()
    run_groups(steps, [[i] for i in range(len(steps))], expected, rows=99)
    return {**seen, "tensors with wrong values": [
        name for name in expected if not torch.allclose(memory[name], expected[name])],
        "the number of groups": len(groups)}


LESSON = lesson(
    "lazy", fuse=partial(Lab, cases=tuple((name,) for name in PROGRAMS), run=_run, describe=str))

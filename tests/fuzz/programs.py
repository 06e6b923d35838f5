"""Random programs with aliases, threads, interrupts and faults: `python -m tests.fuzz.programs 100000 0` runs so
many, of a seed. Each can be had again by its number: a third number says with which to begin.

A program is a list of steps on up to ``LIVE`` tensors, of which many share memory. It runs in PyTorch, and here in one
of the ``WAYS``: as it is; recorded first; beside others in threads; with an interrupt at some line of the library; on
an NPU whose calls fail, or that has no memory. What each step gives or raises, and at the end all values and who shares
memory, is the same; a step that was interrupted or failed leaves alone what it does not write, and is taken again.
"""
from __future__ import annotations

import random
import signal
import sys
import threading
import types
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import mindtorch
from mindtorch._backends.npu.errors import AclError
from tests.fuzz import offline
from tests.fuzz.offline import Case
from tests.support import torch

LIVE = 6
PATIENCE = 120  #: seconds for which threads are waited for
LIBRARY = str(Path(mindtorch.__file__).parent)
Tensors = list[Any]


class Step(NamedTuple):
    """An operation, and random numbers by which it chooses its operands and whatever else it needs."""

    name: str
    numbers: tuple[int, ...]


def part(t: Any, n: int, m: int) -> Any:
    """Return some rows of a tensor, as a view."""
    rows = t.shape[0] if t.dim() else 0
    return t[n % (rows + 1):][: 1 + m % 3] if rows else t.view(1)


def fresh(lib: types.ModuleType, device: str, numbers: tuple[int, ...]) -> Any:
    shape = [(4,), (2, 3), (3, 3), (2, 2, 2), (6,), ()][numbers[0] % 6]
    values = [(n * 7 % 11 - 5) / 4 for n in range(numbers[1], numbers[1] + int(np.prod(shape)))]
    made = lib.tensor(values).reshape(shape).clone().to(device)
    return made.requires_grad_() if numbers[2] % 4 == 0 else made


#: name: what makes new tensors of two operands and numbers
READS: dict[str, Callable[..., Any]] = {
    "t": lambda lib, a, b, n, m: a.t(),
    "part": lambda lib, a, b, n, m: part(a, n, m),
    "flat": lambda lib, a, b, n, m: a.view(-1),
    "reshape": lambda lib, a, b, n, m: a.reshape(2, -1),
    "expand": lambda lib, a, b, n, m: a.expand(2, *a.shape),
    "strided": lambda lib, a, b, n, m: a.as_strided((2, 2), (1, 2) if m % 2 else (2, 1)),
    "detach": lambda lib, a, b, n, m: a.detach(),
    "split": lambda lib, a, b, n, m: a.split(1 + n % 3)[0],
    "clone": lambda lib, a, b, n, m: a.clone(),
    "add": lambda lib, a, b, n, m: a + b,
    "mul": lambda lib, a, b, n, m: a * b * 0.5,
    "relu": lambda lib, a, b, n, m: a.relu(),
    "less": lambda lib, a, b, n, m: lib.where(a < b, a, b),
    "sum": lambda lib, a, b, n, m: a.sum(0, keepdim=bool(n % 2)) * 0.5,
    "matmul": lambda lib, a, b, n, m: a @ b * 0.25,
    "cat": lambda lib, a, b, n, m: lib.cat([a, b], 0),
    "softmax": lambda lib, a, b, n, m: a.softmax(-1),
    "grad": lambda lib, a, b, n, m: lib.autograd.grad((a * a).sum(), b, retain_graph=True)[0],
}
#: name: what writes into its first operand
WRITES: dict[str, Callable[..., Any]] = {
    "add_": lambda lib, a, b, n, m: a.add_(b),
    "mul_": lambda lib, a, b, n, m: a.mul_(0.5),
    "copy_": lambda lib, a, b, n, m: a.copy_(b),
    "fill_": lambda lib, a, b, n, m: part(a, n, m).fill_(m % 5),
    "set item": lambda lib, a, b, n, m: a.__setitem__(n % 3, m % 7),
    "add to part": lambda lib, a, b, n, m: part(a, n, m).add_(part(b, m, n)),
    "relu_": lambda lib, a, b, n, m: a.relu_(),
    "masked_fill_": lambda lib, a, b, n, m: a.masked_fill_(a > 0, 0.25),
    "out=": lambda lib, a, b, n, m: None if shares(a, b) and a.shape != b.shape else lib.add(b, 1, out=a),
    "zero_": lambda lib, a, b, n, m: part(a, m, n).zero_(),
}


def program(drawn: random.Random) -> list[Step]:
    """Draw steps that begin with new tensors; one in three writes."""
    names = [*READS, *WRITES, *[*WRITES] * (len(READS) // (2 * len(WRITES))), "new"]
    chosen = ["new", "new", *(drawn.choice(names) for _ in range(drawn.randrange(4, 14)))]
    return [Step(name, tuple(drawn.randrange(1000) for _ in range(4))) for name in chosen]


class Run:
    """A program under way in one library."""

    def __init__(self, lib: types.ModuleType, device: str = "cpu") -> None:
        self.lib, self.device = lib, device
        self.live: Tensors = []
        self.told: list[str] = []  #: of each step, what it raised

    def take(self, step: Step) -> None:
        """One step. Operands are found by number; a result takes the place of a tensor where there are too many."""
        first, second, n, m = step.numbers
        if step.name == "new":
            result = fresh(self.lib, self.device, step.numbers)
        else:
            a, b = (self.live[i % len(self.live)] for i in (first, second))
            if step.name in WRITES and shares(a, b) and not (a.is_contiguous() and b.is_contiguous()):
                b = b.clone()  # PyTorch does not see that it would read what it writes
            with self.lib.set_grad_enabled(step.name in READS):
                result = (READS | WRITES)[step.name](self.lib, a, b, n, m)
        if step.name not in WRITES:
            self.live = [*self.live, result] if len(self.live) < LIVE else [
                result if i == n % LIVE else t for i, t in enumerate(self.live)]

    def step(self, step: Step) -> None:
        """One step, whose error is told."""
        try:
            self.take(step)
        except Exception as error:
            self.told.append(f"{step.name}: {type(error).__name__}")
        else:
            self.told.append(step.name)

    def values(self) -> list[np.ndarray]:
        return [t.detach().clone().cpu().numpy() for t in self.live]  # a storage of NumPy's could not be resized

    def sharing(self) -> list[list[int]]:
        """Of each tensor, which ones share its memory."""
        return [[j for j, other in enumerate(self.live) if shares(t, other)] for t in self.live]


def shares(a: Any, b: Any) -> bool:
    first, second = a.untyped_storage(), b.untyped_storage()
    if isinstance(a, torch.Tensor):
        return first.data_ptr() == second.data_ptr() != 0
    return first is second and first.nbytes() > 0  # what is recorded only has no address yet


def compare(ours: Run, theirs: Run) -> list[str]:
    """In what two runs of a program differ."""
    found = [f"step {i} of {len(theirs.told)}: {mine}, torch {other}"
             for i, (mine, other) in enumerate(zip(ours.told, theirs.told, strict=True)) if mine != other]
    if found:
        return found
    if ours.sharing() != theirs.sharing():
        found.append(f"memory shared: {ours.sharing()}, torch {theirs.sharing()}")
    for i, (mine, other) in enumerate(zip(ours.values(), theirs.values(), strict=True)):
        if mine.shape != other.shape or not np.allclose(mine, other, 1e-4, 1e-5, equal_nan=True):
            found.append(f"tensor {i}: {mine.tolist()}, torch {other.tolist()}")
    return found


def reference(steps: list[Step]) -> Run:
    run = Run(torch)
    for step in steps:
        run.step(step)
    return run


# -- ways to run a program ---------------------------------------------------------------------------------------------

def plainly(steps: list[Step], drawn: random.Random) -> list[str]:
    run = Run(mindtorch)
    for step in steps:
        run.step(step)
    return compare(run, reference(steps))


def in_pipeline(steps: list[Step], drawn: random.Random) -> list[str]:
    """Record the steps; they run when a value is read, or at the end."""
    run = Run(mindtorch)
    with mindtorch.pipeline():
        for step in steps:
            run.step(step)
    return compare(run, reference(steps))


def in_threads(steps: list[Step], drawn: random.Random) -> list[str]:
    """Beside two other programs; the switches between threads come often, so that they come anywhere."""
    programs = [steps, program(drawn), program(drawn)]
    runs = [Run(mindtorch) for _ in programs]

    def work(run: Run, steps: list[Step]) -> None:
        for step in steps:
            run.step(step)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=pair, daemon=True) for pair in zip(runs, programs, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
    finally:
        sys.setswitchinterval(interval)
    if any(thread.is_alive() for thread in threads):
        return [f"a thread did not end in {PATIENCE} s"]
    return [text for run, steps in zip(runs, programs, strict=True) for text in compare(run, reference(steps))]


def again(run: Run, step: Step, attempt: Callable[[], None], failures: tuple[type[BaseException], ...]) -> list[str]:
    """Take a step that may fail. If it does, what it does not write is as before; the rest is put back, and the step is
    taken again without failures.
    """
    live, before, sharing = run.live, run.values(), run.sharing()
    try:
        attempt()
    except failures:
        run.live = live
        run.lib.set_grad_enabled(True)  # which acts at once: an interrupt may have come before its block
    else:
        return []
    written = sharing[step.numbers[0] % len(live)] if step.name in WRITES else []
    after = run.values()
    found = [f"{step.name} failed and changed tensor {i}: {after[i].tolist()}, before {value.tolist()}"
             for i, value in enumerate(before) if i not in written and not np.array_equal(after[i], value, True)]
    for i in written:
        if live[i].shape != before[i].shape:  # ``out=`` had changed it
            live[i].resize_(before[i].shape)
        values = mindtorch.tensor(before[i]).to(run.device)
        if not overlapping(live[i]) and not np.array_equal(after[i], before[i], True):  # a write, which counts
            live[i].detach().copy_(values)
    run.step(step)
    return found


def overlapping(t: Any) -> bool:
    """Whether some elements of a tensor lie in the same place."""
    return any(n > 1 and not s for n, s in zip(t.shape, t.stride(), strict=True))


def interrupted(steps: list[Step], drawn: random.Random) -> list[str]:
    """With an interrupt at a line of the library that a step runs."""
    run, found, where = Run(mindtorch), [], drawn.randrange(2, len(steps))
    for i, step in enumerate(steps):
        if i != where:
            run.step(step)
            continue
        found += again(run, step, partial(interrupt, run, step, drawn.randrange(int(10 ** (3 * drawn.random())))),
                       (KeyboardInterrupt,))
    return found + compare(run, reference(steps))


def interrupt(run: Run, step: Step, lines: int) -> None:
    """Take a step, and interrupt it after so many lines of the library."""
    left = lines

    def each_line(frame: types.FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if event == "line" and frame.f_code.co_filename.startswith(LIBRARY):
            left -= 1
            if left == 0:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
        return each_line

    handler, tracer = signal.signal(signal.SIGINT, signal.default_int_handler), sys.gettrace()
    sys.settrace(each_line)
    try:
        run.step(step)
    finally:
        sys.settrace(tracer)
        signal.signal(signal.SIGINT, handler)


CALLS = ["malloc", "aclCreateTensor", "memcpy_async", "memcpy", "*"]


def with_faults(steps: list[Step], drawn: random.Random) -> list[str]:
    """On a simulated NPU of which one call fails in one step, or that has no memory then."""
    run, found, where = Run(mindtorch, "npu"), [], drawn.randrange(2, len(steps))
    faults = mindtorch.npu.simulator.faults

    def attempt() -> None:
        name = drawn.choice(CALLS)
        if name == "*":
            faults.fail("*", drawn.choice([1, 2]), probability=0.5, seed=drawn.randrange(1000))
        else:
            faults.fail_next(name)
        try:
            run.take(steps[where])
            mindtorch.npu.synchronize()
        except RuntimeError as error:
            if "a fault was asked for" in str(error) or isinstance(error, AclError | mindtorch.OutOfMemoryError):
                raise Failed from error
            raise
        finally:
            faults.clear()
            with suppress(RuntimeError):
                mindtorch.npu.synchronize()

    for i, step in enumerate(steps):
        if i != where:
            run.step(step)
            continue
        try:
            problems = again(run, step, attempt, (Failed,))
            if len(run.told) == i:
                run.told.append(step.name)
            found += problems
        except Exception as error:
            run.told.append(f"{step.name}: {type(error).__name__}")
    return found + compare(run, reference(steps))


class Failed(Exception):
    """A call of the device failed, as was asked for."""


WAYS = {"plainly": plainly, "in a pipeline": in_pipeline, "in threads": in_threads, "interrupted": interrupted,
        "with faults": with_faults}


def case(number: int, seed: int = 0) -> Case:
    """One program, run in the way that its number says, and in what it differs."""
    drawn = random.Random(seed * 10**9 + number)
    way = [*WAYS][number % len(WAYS)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        steps = program(drawn)
        found = WAYS[way](steps, drawn)
    return Case(way, f"{way}: {', '.join(step.name for step in steps)}", found)


def main(count: int = 1000, seed: int = 0, start: int = 0) -> None:
    warnings.simplefilter("ignore")
    offline.run((case(number, seed) for number in range(start, start + count)), count, start, f"programs, seed {seed}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

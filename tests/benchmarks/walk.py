"""Count what a program walks through: ``python -m tests.benchmarks.walk [name part ...] [--list] [--functions]``.

Each row is a program with the number of Python functions of mindtorch that one call of it enters, the number of files
in which these stand, and how often a debugger that steps through it stops there, once everything that is made on first
use is there. ``--list`` names the functions in order, ``--functions`` those at which the debugger stops most.
"""
from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import mindtorch
from mindtorch import nn

ROOT = mindtorch.__path__[0] + "/"
Call = tuple[str, int, str]


def walk(program: Callable[[], Any]) -> list[Call]:
    """List the functions of mindtorch that a program enters, in order: file, line and name."""
    calls: list[Call] = []

    def note(frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT):
            calls.append((code.co_filename[len(ROOT):], code.co_firstlineno, code.co_qualname))

    sys.setprofile(note)
    try:
        program()
    finally:
        sys.setprofile(None)
    return calls


def stops(program: Callable[[], Any]) -> Counter[str]:
    """Count the lines, calls and returns of mindtorch at which a debugger stops, by function."""
    counts: Counter[str] = Counter()

    def note(frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(ROOT):
            return None
        counts[f"{code.co_filename[len(ROOT):]} {code.co_qualname}"] += 1
        return note

    sys.settrace(note)
    try:
        program()
    finally:
        sys.settrace(None)
    return counts


def add() -> Callable[[], Any]:
    a, b = mindtorch.ones(8), mindtorch.ones(8)
    return lambda: a + b


def forward(backward: bool) -> Callable[[], Any]:
    x, w = mindtorch.ones(4, 3), mindtorch.ones(3, 2, requires_grad=True)

    def run() -> Any:
        loss = (x @ w).relu().sum()
        return loss.backward() if backward else loss

    return run


def linear() -> Callable[[], Any]:
    x, w = mindtorch.ones(4, 5), mindtorch.ones(3, 5, requires_grad=True)
    return lambda: nn.functional.linear(x, w).sum().backward()


def convolutions() -> Callable[[], Any]:
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 13 * 13, 10))
    x = mindtorch.ones(2, 1, 28, 28)
    return lambda: model(x)


def index(*key: Any, requires_grad: bool = False) -> Callable[[], Any]:
    x = mindtorch.ones(4, 3, requires_grad=requires_grad)
    at = key if len(key) > 1 else key[0]
    return lambda: x[at]


def npu() -> Callable[[], Any]:
    x, w = mindtorch.ones(4, 3), mindtorch.ones(3, 2, device="npu")
    return lambda: x.npu() @ w


def step(name: str, **settings: Any) -> Callable[[], Any]:
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    model(mindtorch.ones(2, 64)).sum().backward()
    return getattr(mindtorch.optim, name)(model.parameters(), **settings).step


#: Each makes its program, and what this works on, when it is measured.
PROGRAMS: dict[str, Callable[[], Callable[[], Any]]] = {
    "a + b": add,
    "(x @ w).relu().sum()": lambda: forward(False),
    "(x @ w).relu().sum() and backward": lambda: forward(True),
    "x[1:]": lambda: index(slice(1, None)),
    "x[1:, None]": lambda: index(slice(1, None), None),
    "x[1:, None] with grad": lambda: index(slice(1, None), None, requires_grad=True),
    "F.linear(x, w).sum().backward()": linear,
    "forward pass of a CNN": convolutions,
    "SGD.step() with momentum": lambda: step("SGD", lr=0.1, momentum=0.9),
    "AdamW.step()": lambda: step("AdamW"),
    "x.npu() @ w": npu,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only rows whose name contains one of these")
    parser.add_argument("--list", action="store_true", help="name the functions in the order of the calls")
    parser.add_argument("--functions", action="store_true", help="count the stops in each function")
    options = parser.parse_args()
    print(f"{'program':<36}{'calls':>7}{'files':>7}{'stops':>7}")
    for name, make in PROGRAMS.items():
        if options.names and not any(part in name for part in options.names):
            continue
        program = make()
        for _ in range(40):  # plans are made, and no layout seems to change at every call
            program()
        calls, counts = walk(program), stops(program)
        print(f"{name:<36}{len(calls):>7}{len({file for file, _, _ in calls}):>7}{counts.total():>7}")
        for file, line, function in calls if options.list else ():
            print(f"    {file}:{line} {function}")
        for place, count in counts.most_common() if options.functions else ():
            print(f"{count:>9} {place}")


if __name__ == "__main__":
    main()

"""Count what a program walks through: ``python -m tests.benchmarks.walk [name part ...] [--list]``.

Each row is a program with the number of Python functions of mindtorch that one call of it enters, and the number of
files in which these stand, once everything that is made on first use is there. ``--list`` names the functions in order.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import mindtorch

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


def add() -> Callable[[], Any]:
    a, b = mindtorch.ones(8), mindtorch.ones(8)
    return lambda: a + b


def forward(backward: bool) -> Callable[[], Any]:
    x, w = mindtorch.ones(4, 3), mindtorch.ones(3, 2, requires_grad=True)

    def run() -> Any:
        loss = (x @ w).relu().sum()
        return loss.backward() if backward else loss

    return run


def index(requires_grad: bool) -> Callable[[], Any]:
    x = mindtorch.ones(4, 3, requires_grad=requires_grad)
    return lambda: x[1:, None]


def npu() -> Callable[[], Any]:
    x, w = mindtorch.ones(4, 3), mindtorch.ones(3, 2, device="npu")
    return lambda: x.npu() @ w


def step(name: str) -> Callable[[], Any]:
    param = mindtorch.ones(4, requires_grad=True)
    param.grad = mindtorch.ones(4)
    return getattr(mindtorch.optim, name)([param]).step


PROGRAMS = {
    "a + b": add(),
    "(x @ w).relu().sum()": forward(False),
    "(x @ w).relu().sum() and backward": forward(True),
    "x[1:, None]": index(False),
    "x[1:, None] with grad": index(True),
    "SGD.step()": step("SGD"),
    "Adam.step()": step("Adam"),
    "x.npu() @ w": npu(),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only rows whose name contains one of these")
    parser.add_argument("--list", action="store_true", help="name the functions in the order of the calls")
    options = parser.parse_args()
    print(f"{'program':<36}{'calls':>7}{'files':>7}")
    for name, program in PROGRAMS.items():
        if options.names and not any(part in name for part in options.names):
            continue
        for _ in range(3):
            program()
        calls = walk(program)
        print(f"{name:<36}{len(calls):>7}{len({file for file, _, _ in calls}):>7}")
        for file, line, function in calls if options.list else ():
            print(f"    {file}:{line} {function}")


if __name__ == "__main__":
    main()

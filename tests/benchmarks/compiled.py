"""Time compiled programs beside PyTorch eager: ``python -m tests.benchmarks.compiled [name part ...]``.

Each library runs alone in its process. Rounds alternate between the two processes; the least processor time a call
counts. The rows without PyTorch's time are the compiler's own: what a call costs whose guards hold, how long the GPT
takes to compile, and how many programs twelve sizes make.
"""
from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from .alone import Library, alternated, times
from .programs import _compiled, gpt, mlp_sgd, pointwise_chain

ROUNDS, SECONDS = 20, 0.03  #: of a row; of a round of one library


def gelu_bias(t: Any) -> Callable[[], Any]:
    t.manual_seed(0)
    x, bias = t.randn(256, 512), t.randn(512)
    function = _compiled(t, lambda x, bias: t.nn.functional.gelu(x + bias))
    return lambda: function(x, bias)


def rms_norm(t: Any) -> Callable[[], Any]:
    t.manual_seed(0)
    x, weight = t.randn(256, 512), t.randn(512)
    function = _compiled(t, lambda x, weight: x * t.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight)
    return lambda: function(x, weight)


def softmax_mask(t: Any) -> Callable[[], Any]:
    t.manual_seed(0)
    x, mask = t.randn(8, 64, 64), t.ones(64, 64).tril() == 0
    function = _compiled(t, lambda x: (x * 0.125).masked_fill(mask, float("-inf")).softmax(-1))
    return lambda: function(x)


def mse(t: Any, size: tuple[int, ...] = (256, 256)) -> Callable[[], Any]:
    t.manual_seed(0)
    x, y = t.randn(size), t.randn(size)
    function = _compiled(t, lambda x, y: ((x - y) ** 2).mean())
    return lambda: function(x, y)


def mse_step(t: Any) -> Callable[[], Any]:
    """Mean squared error with a penalty on the weights, forward and backward."""
    t.manual_seed(0)
    x, y, w = t.randn(256, 256), t.randn(256, 256), t.randn(256, 256, requires_grad=True)
    function = _compiled(t, lambda x, y, w: t.nn.functional.mse_loss(x * w, y) + 1e-3 * (w * w).sum())

    def step() -> None:
        w.grad = None
        function(x, y, w).backward()

    return step


#: name, program, and the ratio to PyTorch that it should not exceed
PROGRAMS: list[tuple[str, Callable[[Any], Callable[[], Any]], float]] = [
    ("MLP training step, SGD", partial(mlp_sgd, compiled=True), 0.4),
    ("GPT training step, AdamW", partial(gpt, compiled=True), 0.8),
    ("chain of 6, 4M elements", pointwise_chain, 0.4),
    ("gelu + bias, 256 x 512", gelu_bias, 1.0),
    ("root mean square norm, 256 x 512", rms_norm, 1.0),
    ("softmax + mask, 8 x 64 x 64", softmax_mask, 1.0),
    ("mse, 64 elements", partial(mse, size=(64,)), 1.0),
    ("mse, 256 x 256", mse, 1.0),
    ("mse + penalty, forward and backward", mse_step, 1.0),
]


def call_of(t: Any, row: str) -> Callable[[], Any]:
    """Return the program of a row, called as often as compiling takes."""
    run = next(program for name, program, _ in PROGRAMS if name == row)(t)
    for _ in range(5):
        run()
    return run


def guarded_call(t: Any) -> float:
    """Measure the seconds that a compiled function of a number takes beyond the function's own."""
    def plain(x: Any) -> Any:
        return x

    x, function = t.ones(1), t.compile(plain)
    best = [min(times(partial(run, x), 1000)["cpu"] for _ in range(ROUNDS)) for run in (function, plain)]
    return best[0] - best[1]


def compiling(t: Any) -> float:
    """Measure the seconds that the first step of the GPT takes beyond a later one."""
    run = gpt(t, compiled=True)
    start = time.process_time()
    run()
    middle = time.process_time()
    run()
    return 2 * middle - start - time.process_time()


def programs_of_sizes(t: Any) -> int:
    """Count the programs that an MLP's training step makes for twelve batch sizes."""
    from mindtorch._dynamo.testing import CompileCounter

    counter = CompileCounter()
    model = t.nn.Sequential(t.nn.Linear(8, 16), t.nn.ReLU(), t.nn.Linear(16, 4))
    function = t.compile(lambda x, y: t.nn.functional.cross_entropy(model(x), y), backend=counter)
    for size in range(3, 15):
        function(t.randn(size, 8), t.randint(0, 4, (size,))).backward()
    return counter.frame_count


def main() -> None:
    wanted = sys.argv[1:]
    libraries = tuple(Library(name, __spec__.name, 1) for name in ("mindtorch", "torch"))
    print(f"{'program':<40}{'mindtorch':>13}{'torch':>13}{'ratio':>8}{'limit':>7}")
    for name, _, limit in PROGRAMS:
        if not wanted or any(part in name for part in wanted):
            mine, other = (found["cpu"] for found in alternated(libraries, name, ROUNDS * SECONDS, ROUNDS))
            print(f"{name:<40}{mine * 1e6:10.1f} us{other * 1e6:10.1f} us{mine / other:8.2f}{limit:7}", flush=True)
    if not wanted:
        t = importlib.import_module("mindtorch")
        print(f"a guarded call {guarded_call(t) * 1e6:.1f} us, compiling the GPT {compiling(t):.2f} s, "
              f"{programs_of_sizes(t)} programs for 12 sizes")


if __name__ == "__main__":
    main()

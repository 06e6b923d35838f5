"""How cost grows: ``python -m tests.benchmarks.growth [--plot growth.png] [--threads 1] [curve ...]``.

A curve is a program of one size: elements, nodes of a graph, tokens, parameters, tensors. Each library runs it alone in
its process, for sizes that double twice or more; a table shows the time per unit beside PyTorch's, and ``--plot`` draws
all curves. A *step* is a size at which mindtorch takes over twice as long per unit as at the size before, and PyTorch
does not: a change of algorithm that comes too early, or memory that grows too fast. Times are printed, never asserted.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .alone import Library, alternated, leave_out_pins

Call = Callable[[], Any]
Program = Callable[[Any, int], Call]
STEP = 2.0  #: how much longer a unit takes at a step
#: Milliseconds below which a time is that of a call, not of its units.
FLAT = 0.05


def of_elements(expression: str) -> Program:
    """Return the program that computes an expression of two tensors of so many random numbers, ``x`` and ``y``."""
    def program(t: Any, size: int) -> Call:
        names = {"t": t, "x": t.rand(size), "y": t.rand(size) + 0.5}
        call: Call = eval(f"lambda: {expression}", names)
        return call
    return program


def graph(t: Any, size: int) -> Call:
    """Chain operators, and go back through all of them."""
    x, one = t.ones(4, requires_grad=True), t.ones(4)

    def run() -> None:
        out = x
        for _ in range(size):
            out = out * one
        out.sum().backward()

    return run


def sums(t: Any, size: int) -> Call:
    """Use one leaf again and again: its gradients are added."""
    x = t.ones(4, requires_grad=True)

    def run() -> None:
        x.grad = None
        out = x * 1.0
        for _ in range(size):
            out = out + x
        out.sum().backward()

    return run


def attention(t: Any, size: int) -> Call:
    q, k, v = (t.randn(1, 2, size, 32, requires_grad=True) for _ in range(3))
    return lambda: t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()


def recurrence(t: Any, size: int) -> Call:
    lstm, x = t.nn.LSTM(16, 32), t.randn(size, 4, 16)
    return lambda: lstm(x)[0].sum().backward()


def optimizer(kind: str) -> Program:
    """Return the program that steps an optimizer of so many parameters."""
    def program(t: Any, size: int) -> Call:
        parameters = [t.nn.Parameter(t.ones(8)) for _ in range(size)]
        for parameter in parameters:
            parameter.grad = t.ones(8)
        step: Call = getattr(t.optim, kind)(parameters, lr=1e-3).step
        return step
    return program


def modules(t: Any, size: int) -> Call:
    net, x = t.nn.Sequential(*(t.nn.Linear(8, 8) for _ in range(size))), t.randn(4, 8)
    return lambda: net(x).sum().backward()


def tensors(expression: str) -> Program:
    """Return the program that computes an expression of a list of so many tensors, ``x``."""
    def program(t: Any, size: int) -> Call:
        call: Call = eval(f"lambda: {expression}", {"t": t, "x": [t.ones(4) for _ in range(size)]})
        return call
    return program


def rows_of(expression: str) -> Program:
    """Return the program that computes an expression of a matrix with so many rows, ``x``."""
    def program(t: Any, size: int) -> Call:
        call: Call = eval(f"lambda: {expression}", {"t": t, "x": t.rand(size, 4)})
        return call
    return program


def product(t: Any, size: int) -> Call:
    a, b = t.rand(size, size), t.rand(size, size)
    return lambda: a @ b


ELEMENTS = [10**power for power in range(9)]
COUNTS = [1, 10, 100, 1000, 10_000]
#: name: the program, its sizes, and how many units a size has.
CURVES: dict[str, tuple[Program, Sequence[int], Callable[[int], float]]] = {
    **{expression: (of_elements(expression), ELEMENTS, float) for expression in (
        "x + y", "x.exp()", "x.sum()", "x.cumsum(0)", "x.softmax(0)", "x[x > 0.5]", "t.cat([x, y])", "t.rand_like(x)")},
    "x.sort()": (of_elements("x.sort()"), ELEMENTS[:-1], lambda n: n * max(1, n.bit_length())),
    "a @ b": (product, [1, 4, 16, 64, 256, 1024, 4096], lambda n: float(n)**3),
    "chain of nodes, backward": (graph, [*COUNTS, 100_000], float),
    "sum of one leaf, backward": (sums, [*COUNTS, 100_000], float),
    "attention, backward": (attention, [32, 128, 512, 2048, 8192], lambda n: float(n)**2),
    "LSTM, backward": (recurrence, [1, 8, 64, 512, 4096, 8192], float),
    "SGD.step()": (optimizer("SGD"), COUNTS, float),
    "AdamW.step()": (optimizer("AdamW"), COUNTS, float),
    "Linear layers, backward": (modules, [*COUNTS[:-1], 5000], float),
    "t.stack(list)": (tensors("t.stack(x)"), [*COUNTS, 100_000], float),
    "x.unbind()": (rows_of("x.unbind()"), [*COUNTS, 100_000], float),
    "x.tolist()": (rows_of("x.tolist()"), [*COUNTS, 100_000], float),
}
ROW = "{0}: {1}"
NAMES = [ROW.format(name, size) for name, (_, sizes, _) in CURVES.items() for size in sizes]


def call_of(t: Any, row: str) -> Call:
    """Return the program of a row: a curve and a size."""
    name, size = row.rsplit(": ", 1)
    return CURVES[name][0](t, int(size))


def steps(sizes: Sequence[int], ours: Sequence[float], theirs: Sequence[float],
          units: Callable[[int], float]) -> Iterator[int]:
    """Yield the sizes at which a unit takes over ``STEP`` times as long as at the size before, and in PyTorch does not.
    Times are milliseconds.
    """
    for at in range(1, len(sizes)):
        longer, as_well = (times[at] / max(times[at - 1], FLAT) / (units(sizes[at]) / units(sizes[at - 1]))
                           for times in (ours, theirs))
        if longer > STEP and longer > STEP * as_well:
            yield sizes[at]


def measured(names: list[str], seconds: float, threads: int) -> Iterator[tuple[str, list[list[float]]]]:
    """Yield the milliseconds that both libraries take for each size of a curve; a size that either of them cannot run
    ends it.
    """
    for name in names:
        libraries = tuple(Library(library, __spec__.name, threads) for library in ("mindtorch", "torch"))
        times: list[list[float]] = [[], []]
        for size in CURVES[name][1]:
            both = alternated(libraries, ROW.format(name, size), seconds, 3)
            if any("error" in one for one in both):
                print(f"{name} of {size:,}: {[one.get('error') for one in both]}", flush=True)
                break
            for line, one in zip(times, both, strict=True):
                line.append(1e3 * one.get("wall", one["cold"]))
        for library in libraries:
            library.end()
        yield name, times


def draw(curves: dict[str, list[list[float]]], path: str) -> None:
    """Draw all curves as small multiples: time by size, on logarithmic axes."""
    from matplotlib.figure import Figure  # of which the processes that measure have no use

    columns = 4
    lines = -(-len(curves) // columns)
    figure = Figure(figsize=(3.2 * columns, 2.4 * lines), layout="constrained")
    for place, (name, (ours, theirs)) in zip(figure.subplots(lines, columns).flat, curves.items(), strict=False):
        sizes = CURVES[name][1][:len(ours)]
        place.loglog(sizes, theirs, "o-", color="#b0b0b0", markersize=3, label="PyTorch")
        place.loglog(sizes, ours, "o-", color="#0a7d6c", markersize=3, label="mindtorch")
        place.set_title(name, fontsize=9)
        place.tick_params(labelsize=7)
        place.grid(alpha=0.2)
    for place in figure.axes[len(curves):]:
        place.set_axis_off()
    figure.axes[0].legend(fontsize=7, frameon=False)
    figure.supylabel("milliseconds", fontsize=9)
    figure.supxlabel("size: elements, nodes, tokens, parameters or tensors", fontsize=9)
    figure.savefig(path, dpi=140)


def main() -> None:
    """Print a table of all curves and the steps among them, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only curves whose name contains one of these")
    parser.add_argument("--seconds", type=float, default=0.15, help="time a library and size")
    parser.add_argument("--threads", type=int, default=0, help="threads of both (default: their own choice)")
    parser.add_argument("--plot", metavar="FILE", help="draw the curves")
    options = parser.parse_args()
    leave_out_pins("tests.benchmarks.growth")
    names = [name for name in CURVES if not options.names or any(part in name for part in options.names)]
    curves: dict[str, list[list[float]]] = {}
    for name, (ours, theirs) in measured(names, options.seconds, options.threads):
        curves[name] = [ours, theirs]
        sizes = CURVES[name][1][:len(ours)]
        print(name)
        for size, mine, other in zip(sizes, ours, theirs, strict=True):
            print(f"  {size:>13,}{mine:12.3f} ms{other:12.3f} ms{mine / other:8.2f}")
        for size in steps(sizes, ours, theirs, CURVES[name][2]):
            print(f"  a step at {size:,}")
    if options.plot:
        draw(curves, options.plot)


if __name__ == "__main__":
    main()

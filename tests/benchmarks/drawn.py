"""Expressions drawn from PyTorch's operator database, each library alone in its process.

``python -m tests.benchmarks.compare --drawn 1000 --seed 11``. A row is a sample of an entry in a dtype. Its sizes,
which the database counts in S, M and L, are set so that the largest tensor has about 1, 100, 10,000 or 1,000,000
elements. A fourth of the rows have their tensors transposed in memory; every second differentiable one includes its
backward pass. The seed alone decides what is drawn. A library's process loads the arguments, which PyTorch's format
keeps.
"""
from __future__ import annotations

import io
import itertools
import random
import signal
import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .alone import Library, alternated

SIZES = (1, 100, 10_000, 1_000_000)
DTYPES = ("float32", "float32", "float64", "float16", "bfloat16", "int64", "int32", "bool", "complex64")
#: Samples of an entry to choose from. SECONDS: of a library and row.
SAMPLES, SECONDS = 6, 0.04
#: Entries that read no memory, or that end the process.
LEFT_OUT = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_",
            "resize_as_", "svd_lowrank", "pca_lowrank"}
WORST = 50
MOST = 1 << 19  #: kilobytes of a row that is measured
PATIENCE = 2  #: seconds for the samples of an entry: at a million elements, some take minutes
#: What makes tensors of a given size.
FACTORIES = ("arange", "empty", "eye", "full", "linspace", "logspace", "ones", "rand", "randint", "randn", "randperm",
             "zeros")


# -- drawing, in a process with PyTorch --------------------------------------------------------------------------------

class TooLarge(Exception):
    """A sample has a larger tensor than is asked for, or takes too long to make."""


def give_up(*_: Any) -> None:
    raise TooLarge


def samples(op: Any, dtype: Any, grad: bool, unit: int, most: int, patience: int = PATIENCE) -> Iterator[Any]:
    """Yield samples with S, M and L set to ``unit``, until one has more than ``most`` elements in a tensor, or so many
    seconds have passed.
    """
    import torch
    from torch.overrides import TorchFunctionMode

    class Limited(TorchFunctionMode):
        """Ask of each factory how large its result is before it is called: no signal ends a call in C."""

        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if function in factories and function(*args, **kwargs | {"device": "meta"}).numel() > most:
                raise TooLarge
            return function(*args, **kwargs)

    factories = {getattr(torch, name) for name in FACTORIES}
    names = {"S": unit, "M": unit, "L": unit}
    held = [(vars(module), name, vars(module)[name]) for key, module in list(sys.modules.items())
            if key.startswith("torch.testing._internal.") and ("opinfo" in key or "common_methods" in key)
            for name in names if name in vars(module)]
    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(patience)
    try:
        for space, name, _ in held:
            space[name] = names[name]
        with Limited():
            yield from itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=grad), SAMPLES)
    except (TooLarge, RuntimeError, ValueError, TypeError, IndexError, AssertionError):
        return  # the database assumes its own sizes here and there
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        for space, name, value in held:
            space[name] = value


def transposed(value: Any) -> Any:
    """Return the arguments with matrices, and larger tensors, transposed in memory."""
    import torch

    if isinstance(value, torch.Tensor) and value.ndim > 1 and value.layout is torch.strided:
        moved = value.detach().transpose(0, -1).contiguous().transpose(0, -1)
        return moved.requires_grad_(value.requires_grad)
    return type(value)(map(transposed, value)) if type(value) in (list, tuple) else value


def family_of(op: Any) -> str:
    """Return the family of an entry: the kind that the database has it in, or the namespace of its name."""
    kind = type(op).__name__.removesuffix("Info").removesuffix("Op").removesuffix("Ufunc")
    return kind if kind else op.name.rpartition(".")[0] or "tensor"


def draw(count: int, seed: int, parts: list[str], directory: Path) -> Iterator[dict[str, Any]]:
    """Write the arguments of rows into a directory, and yield what is known of each row."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    from tests.parity.resolve import path_of

    entries = [(op, path) for op in op_db if (path := path_of(op.op, op.name)) and op.name not in LEFT_OUT
               and (not parts or any(part in op.name for part in parts))]
    drawn, order, number = random.Random(seed), [], 0
    for _ in range(20 * count):
        if number == count:
            break
        if not order:
            order = drawn.sample(entries, len(entries))
        op, path = order.pop()
        size, dtype = drawn.choice(SIZES), getattr(torch, drawn.choice(DTYPES))
        turned, backward, at = drawn.random() < 0.25, drawn.random() < 0.5, drawn.random()
        if dtype not in op.supported_dtypes("cpu"):
            continue
        backward = backward and op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
        torch.manual_seed(seed)
        found = []
        for power in (1, 2, 3):
            for sample in samples(op, dtype, backward, max(1, round(size ** (1 / power))), 4 * size):
                tree = (sample.input, list(sample.args), dict(sample.kwargs))
                sizes = [t.numel() for t in torch.utils._pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)]
                if sizes and size / 4 <= max(sizes) <= 4 * size:
                    found.append(tree)
        if not found:
            continue
        tree = found[int(at * len(found))]
        if turned:
            tree = (transposed(tree[0]), transposed(tree[1]), tree[2])
        buffer = io.BytesIO()
        try:
            torch.save(tree, buffer)
        except Exception:
            continue  # a lambda among the arguments
        file = directory / f"{number}.pt"
        file.write_bytes(buffer.getvalue())
        shapes = [tuple(t.shape) for t in torch.utils._pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)]
        others = [str(x) for x in torch.utils._pytree.tree_leaves(tree) if not isinstance(x, torch.Tensor)]
        words = [op.formatted_name, str(dtype)[6:], "transposed" * turned, "backward" * bool(backward)]
        number += 1
        yield {"file": str(file), "path": path, "backward": bool(backward), "family": family_of(op),
               "name": " ".join(filter(None, [*words, *map(str, shapes), *others]))[:100]}


# -- in a library's process --------------------------------------------------------------------------------------------

def call_of(lib: Any, row: dict[str, Any]) -> Callable[[], Any]:
    """Load the arguments of a row, and return its call."""
    function: Any = lib
    for name in row["path"].split("."):
        function = getattr(function, name)
    first, args, kwargs = lib.load(row["file"], weights_only=False)
    if not row["backward"]:
        return lambda: function(first, *args, **kwargs)

    def tensors(value: Any) -> list[Any]:
        if isinstance(value, lib.Tensor):
            return [value]
        inner = value if isinstance(value, (list, tuple)) else ()
        return [t for item in inner for t in tensors(item)]

    leaves = [t for t in tensors([first, args, list(kwargs.values())]) if t.requires_grad]
    outs = [t for t in tensors(function(first, *args, **kwargs)) if t.requires_grad]
    grads = [lib.ones_like(t) for t in outs]

    def call() -> None:
        outs = [t for t in tensors(function(first, *args, **kwargs)) if t.requires_grad]
        lib.autograd.grad(outs, leaves, grads, allow_unused=True)

    return call


# -- the table ---------------------------------------------------------------------------------------------------------

def line_of(row: dict[str, Any]) -> str:
    return (f"{row['ratio']:8.2f}  cold {row['cold']:6.1f}  wall {row['wall']:5.1f} {row['cpu'] * 1e6:10.1f} us"
            f" {row['more'] / 1024:+7.1f} MB  {row['name']}")


def report(rows: list[dict[str, Any]]) -> None:
    """Print how the ratios are distributed, in all and by family, and the worst rows by family."""
    rows.sort(key=lambda row: (-row["ratio"], row["name"]))
    print(f"\n{'family':<24}{'rows':>6}{'median':>8}{'over 2':>8}{'over 5':>8}{'cold':>8}{'wall':>8}{'peak':>8}")
    families = sorted({row["family"] for row in rows})
    for family in (*families, "in all"):
        some = [row for row in rows if family in ("in all", row["family"])]
        ratios = [row["ratio"] for row in some]
        medians = [statistics.median(row[kind] for row in some) for kind in ("cold", "wall")]
        peaks = sum(row["more"] > 8192 for row in some)
        print(f"{family:<24}{len(some):>6}{statistics.median(ratios):8.2f}{sum(r > 2 for r in ratios):8}"
              f"{sum(r > 5 for r in ratios):8}{medians[0]:8.2f}{medians[1]:8.2f}{peaks:8}")
    print("(cold, wall: median ratios; peak: rows with over 8 MB more than PyTorch)\n")
    for family in families:
        for row in rows[:WORST]:
            if row["family"] == family:
                print(f"{family:<22}{line_of(row)}")


def compare_drawn(count: int, seed: int, parts: list[str]) -> None:
    """Draw rows, measure each with both libraries in turn, and report."""
    warnings.simplefilter("ignore")
    found, refused = [], []
    with tempfile.TemporaryDirectory() as directory:
        libraries = tuple(Library(name, __name__) for name in ("mindtorch", "torch"))
        for row in draw(count, seed, parts, Path(directory)):
            mine, other = alternated(libraries, row, SECONDS)
            Path(row["file"]).unlink()  # a thousand of them would fill a disk
            if other.get("error", "").startswith("torch "):
                refused.append(f"{row['name']}: {other['error']}")
            if "error" in other or other["peak"] > MOST:
                continue
            if "error" in mine:
                refused.append(f"{row['name']}: {mine['error']}")
                continue
            found.append(row | {kind: mine[kind] / max(other[kind], 1e-7) for kind in ("cold", "wall")} | {
                "ratio": mine["cpu"] / other["cpu"], "cpu": mine["cpu"], "more": mine["peak"] - other["peak"]})
            print(line_of(found[-1]), flush=True)
        for library in libraries:
            library.end()
    report(found)
    print(*refused[:WORST], sep="\n")


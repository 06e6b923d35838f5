"""Random writes by index, reductions by segments and outputs given: `python -m tests.fuzz.writes 100000 0` runs so
many, of a seed; a third number is the one to begin with.

NumPy has traps there: ``ufunc.at`` reads past values that it broadcasts, buffers are cast and written back, indexing
makes numbers of views without dimensions. The tensor that is written is drawn from all layouts (transposed, strided, at
an offset, without dimensions or elements) and dtypes; the whole memory under it holds afterwards what PyTorch's holds.
"""
from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable
from typing import Any

import mindtorch
from tests.fuzz import offline
from tests.fuzz.functions import tensor
from tests.fuzz.offline import Case, explained, explanation
from tests.support import Outcome, differences, error_differences, port, torch

SHAPES = [(), (1,), (0,), (4,), (3, 3), (2, 3), (3, 0), (1, 3), (2, 3, 2), (3, 1)]
DTYPES = ["float32", "float32", "float64", "float16", "bfloat16", "int64", "uint8", "int8", "bool", "complex64"]
REDUCTIONS = ["sum", "prod", "mean", "amax", "amin"]
Draw = random.Random
Tensors = list[torch.Tensor]


def places(drawn: Draw, size: int, shape: tuple[int, ...]) -> torch.Tensor:
    """Draw indices of a dimension, many of them equal, now and then one beyond its end."""
    beyond = drawn.random() < 0.03
    values = [drawn.randrange(max(size, 1) + beyond) for _ in range(torch.Size(shape).numel())]
    return torch.tensor(values, dtype=torch.int64).reshape(shape)


def along(drawn: Draw, x: torch.Tensor, size: int) -> tuple[int, ...]:
    """Return the dimension that is written, and the shape of what is written there at ``size`` places."""
    dim = drawn.randrange(x.dim()) if x.dim() else 0
    return dim, *(size if d == dim else n for d, n in enumerate(x.shape))


def by_rows(drawn: Draw, x: torch.Tensor, dtype: torch.dtype) -> list[Any]:
    count = drawn.randrange(5)
    dim, *shape = along(drawn, x, count)
    index = places(drawn, x.shape[dim] if x.dim() else 1, (count,) if x.dim() else (1,))
    return [dim, index, tensor(drawn, dtype, tuple(shape))]


def by_element(drawn: Draw, x: torch.Tensor, dtype: torch.dtype) -> list[Any]:
    dim, *shape = along(drawn, x, drawn.randrange(4))
    index = places(drawn, x.shape[dim] if x.dim() else 1, tuple(shape))
    return [dim, index, tensor(drawn, dtype, tuple(shape))]


def by_position(drawn: Draw, x: torch.Tensor, dtype: torch.dtype) -> list[Any]:
    index = places(drawn, x.numel(), drawn.choice(SHAPES))
    return [index, tensor(drawn, dtype, tuple(index.shape)), True]


def by_keys(drawn: Draw, x: torch.Tensor, dtype: torch.dtype) -> list[Any]:
    """Draw indices of some leading dimensions, that broadcast, and values that broadcast to what they choose."""
    shape = drawn.choice([(2,), (3, 2), (1,), (2, 1), (0,), (2, 2, 2)])
    given = [places(drawn, n, shape if drawn.random() < 0.7 else shape[-1:])
             for n in x.shape[:drawn.randrange(1, x.dim() + 1)]] if x.dim() else []
    chosen = (*torch.broadcast_shapes(*(g.shape for g in given)), *x.shape[len(given):]) if given else ()
    values = chosen[drawn.randrange(len(chosen) + 1):] if drawn.random() < 0.5 else chosen
    values = tuple(1 if drawn.random() < 0.2 else n for n in values)
    return [given, tensor(drawn, dtype, values), True]


def by_mask(drawn: Draw, x: torch.Tensor, dtype: torch.dtype) -> list[Any]:
    mask = tensor(drawn, torch.bool, tuple(x.shape))
    return [mask, tensor(drawn, dtype, (x.numel(),))]


def method(name: str, *more: Any) -> Callable[..., Any]:
    return lambda lib, drawn, x, *arguments: getattr(x, name)(*arguments, *more)


def reduced(name: str) -> Callable[..., Any]:
    def call(lib: Any, drawn: Draw, x: Any, dim: int, index: Any, source: Any) -> Any:
        return getattr(x, name)(dim, index, source, drawn.choice(REDUCTIONS if name == "scatter_reduce_" else
                                                                 REDUCTIONS[1:]), include_self=drawn.random() < 0.6)
    return call


def to_out(name: str, operands: int, *more: Any) -> Callable[..., Any]:
    """Return a call with ``out=x``: a tensor of the result's shape, or of another, which is resized."""
    def call(lib: Any, drawn: Draw, x: Any, *values: Any) -> Any:
        return getattr(lib, name)(*values[:operands], *more, out=x)
    return call


def operands(drawn: Draw, x: torch.Tensor, dtype: torch.dtype) -> list[Any]:
    return [tensor(drawn, dtype, tuple(x.shape)) for _ in range(2)]


#: name: what draws the arguments, what calls the operator
CALLS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "index_add_": (by_rows, method("index_add_")), "index_copy_": (by_rows, method("index_copy_")),
    "index_reduce_": (by_rows, reduced("index_reduce_")), "scatter_add_": (by_element, method("scatter_add_")),
    "scatter_reduce_": (by_element, reduced("scatter_reduce_")), "put_": (by_position, method("put_")),
    "index_put_": (by_keys, method("index_put_")), "masked_scatter_": (by_mask, method("masked_scatter_")),
    "index_put": (by_keys, method("index_put")), "index_add": (by_rows, method("index_add")),
    "add_": (operands, lambda lib, drawn, x, a, b: x.add_(a, alpha=2)),
    "mul_ itself": (operands, lambda lib, drawn, x, a, b: x.mul_(x)),
    "addcmul_": (operands, lambda lib, drawn, x, a, b: x.addcmul_(a, x)),
    "add to part": (operands, lambda lib, drawn, x, a, b: x[..., :1].add_(a[..., :1])),
    "add number to element": (operands, lambda lib, drawn, x, a, b: x.view(x.shape)[(0,) * x.dim()].add_(3)),
    "out= add": (operands, to_out("add", 2)), "out= mul": (operands, to_out("mul", 2)),
    "out= exp": (operands, to_out("exp", 1)), "out= sum": (operands, to_out("sum", 1, 0)),
    "out= cumsum": (operands, to_out("cumsum", 1, 0)), "out= maximum": (operands, to_out("maximum", 2)),
    "out= where": (operands, lambda lib, drawn, x, a, b: lib.where(a.bool(), a, b, out=x)),
    "bincount": (operands, lambda lib, drawn, x, a, b: lib.bincount(a.reshape(-1).long().abs() % 7, b.reshape(-1))),
}


#: Where the two libraries are meant to differ: operators and text, by patterns, and the reason.
EXPLAINED = explained(
    ("index_reduce_|scatter_reduce_", "no error, torch NotImplementedError", "PyTorch has no kernel for the dtype."),
    ("index_reduce_|scatter_reduce_", "not implemented for .(ComplexFloat|Bool)", "Which dtypes PyTorch's kernels take "
     "depends on the shapes, here it does not."),
    ("index_reduce_", "INTERNAL ASSERT", "PyTorch's fails in an assertion of its own for half precision."),
    ("add.*|mul.*", r"nan.*j\)", "Of complex numbers that are not finite PyTorch's vector loop makes other NaNs."),
    ("index_put_?", "INTERNAL ASSERT|masked_fill_ only supports boolean", "Without any index PyTorch fails in an "
     "assertion of its own."),
    ("index_.*", "setStorage", "PyTorch finds an index beyond an empty tensor when it makes a view."),
    ("out= .*", "more than one element of the written-to tensor", "Here no output overlaps itself; PyTorch's "
     "reductions do not look."),
    ("index_copy_", "^value", "Which of several values at an index stays depends on the layout."),
    ("scatter_reduce_", "not implemented for .ComplexFloat.*torch RuntimeError", "PyTorch looks at the indices, and at "
     "the memory that is written, first."),
)


def case(number: int, seed: int = 0) -> Case:
    """One write, and in what the written tensor, the memory under it, and the result differ from PyTorch's."""
    name = [*CALLS][number % len(CALLS)]
    arguments, call = CALLS[name]
    drawn = random.Random(seed * 10**9 + number)
    dtype = getattr(torch, drawn.choice(DTYPES))
    x = tensor(drawn, dtype, drawn.choice(SHAPES))
    given = arguments(drawn, x, dtype if drawn.random() < 0.9 else getattr(torch, drawn.choice(DTYPES)))
    state, outcomes = drawn.getstate(), []
    for lib, times in ((mindtorch, 1 + number // len(CALLS) % 4), (torch, 1)):  # plans compute later calls
        for _ in range(times):
            drawn.setstate(state)
            held, values = port([x, given], lib)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outcome = Outcome.of(call, lib, drawn, held, *values)
        whole = held.as_strided((held.untyped_storage().nbytes() // held.itemsize,), (1,), 0)
        outcomes.append(Outcome([outcome.value, held, whole], outcome.error))
    ours, theirs = outcomes
    found = [*map(str, error_differences(ours, theirs))]
    if not found and theirs.error is None:  # PyTorch may have written a part before it raises
        found = [*map(str, differences(ours.value, theirs.value, rtol=2e-2 if dtype.itemsize == 2 else None,
                                       atol=2e-2 if dtype.itemsize == 2 else None))]
    described = ", ".join(f"{t.dtype} {tuple(t.shape)} {t.stride()} {t.tolist()}" if isinstance(t, torch.Tensor) else
                          str(t) for t in [x, *given])
    reasons = {text: explanation(EXPLAINED, name, text) for text in found}
    return Case(name, f"{name}: {described}", [text for text, reason in reasons.items() if reason is None],
                [reason for reason in reasons.values() if reason is not None])


def main(count: str = "1000", seed: str = "0", start: str = "0") -> None:
    warnings.simplefilter("ignore")
    first = int(start)
    offline.run((case(number, int(seed)) for number in range(first, first + int(count))), int(count), first,
                f"writes, seed {seed}")


if __name__ == "__main__":
    main(*sys.argv[1:])

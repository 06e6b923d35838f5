"""Compare the rounding errors of float32 with PyTorch's: ``python -m tests.benchmarks.exactness [name part ...]``.

Each operator is computed by both libraries in float32, and by PyTorch in float64, over sizes and kinds of numbers. The
error is the largest difference from float64, in units of float32's precision of the largest result. The errors of a row
are medians over seeds, since a sum that is almost zero would rule a mean. Rows whose error is over LIMIT times
PyTorch's, and over one unit, are marked, and the exit status is 1 if there are any.
"""
from __future__ import annotations

import argparse
import importlib
import math
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

LIMIT, SEEDS = 2.0, 7
SIZES = (10, 900, 90_000, 1_000_000)
EPS = float(np.finfo(np.float32).eps)

#: Numbers of a kind, from normal ones: centred, far from zero, of very different sizes, nearly cancelling in pairs.
KINDS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "normal": lambda x: x,
    "offset": lambda x: x + 1000,
    "spread": lambda x: np.sign(x) * np.exp(4 * np.abs(x)),
    "cancelling": lambda x: np.where(np.arange(x.size) % 2, 100 + x, -100 + x),
}


def matrix(x: Any) -> Any:
    """Return the numbers as a square, or ten as a line."""
    return x.view(-1, max(10, math.isqrt(x.numel())))


Call = Callable[[Any, Any], Any]
CASES: dict[str, Call] = {
    **{f"{name} {way}": (lambda t, x, name=name, dim=dim: getattr(matrix(x), name)(*dim))
       for name in ("sum", "mean", "var", "std", "logsumexp")
       for way, dim in (("of all", ((0, 1),)), ("of lines", (1,)), ("of columns", (0,)))},
    **{f"norm {p} {way}": (lambda t, x, p=p, dim=dim: t.linalg.vector_norm(matrix(x), p, dim))
       for p in (1, 2, 3) for way, dim in (("of all", None), ("of lines", 1), ("of columns", 0))},
    "sum of a view": lambda t, x: matrix(x).t()[:, ::2].sum(),
    "prod of lines": lambda t, x: (1 + matrix(x).tanh() / 100).prod(1),
    "prod of all": lambda t, x: (1 + x.tanh() / 1000).prod(),
    "cumsum": lambda t, x: matrix(x).cumsum(1),
    "cumprod": lambda t, x: (1 + matrix(x).tanh() / 100).cumprod(0),
    "logcumsumexp": lambda t, x: matrix(x).logcumsumexp(1),
    "softmax": lambda t, x: matrix(x).softmax(1),
    "softmax of columns": lambda t, x: matrix(x).softmax(0),
    "log_softmax": lambda t, x: matrix(x).log_softmax(1),
    "matmul": lambda t, x: matrix(x)[:300] @ matrix(x)[:300].t(),
    "dot": lambda t, x: x.dot(x.flip(0)),
    "conv1d": lambda t, x: t.nn.functional.conv1d(x.view(1, 1, -1), x[:9].view(1, 1, -1)),
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(matrix(x), matrix(x).shape[1:]),
    "cosine_similarity": lambda t, x: t.nn.functional.cosine_similarity(matrix(x), matrix(x).flip(0)),
    "mse_loss": lambda t, x: t.nn.functional.mse_loss(x, x.flip(0)),
    "huber_loss": lambda t, x: t.nn.functional.huber_loss(x, x.flip(0)),
    "cov": lambda t, x: matrix(x)[:50].cov(),
    "cdist": lambda t, x: t.cdist(matrix(x)[:40], matrix(x)[-40:]),
    **{name: (lambda t, x, name=name: getattr(t, name)(x)) for name in (
        "exp", "sigmoid", "tanh", "erf", "erfc", "expm1", "log1p", "sin", "lgamma", "digamma")},
    "gelu": lambda t, x: t.nn.functional.gelu(x), "erfinv": lambda t, x: (x / (1 + x.abs())).erfinv(),
}


def error(result: np.ndarray, exact: np.ndarray) -> float:
    """Return the largest difference in units of the largest result that is finite; 0 if there is none."""
    kept = np.isfinite(exact) & (np.abs(exact) < np.finfo(np.float32).max)
    if not kept.any() or not np.abs(exact[kept]).max():
        return 0.0
    return float(np.nan_to_num(np.abs(result[kept] - exact[kept]), nan=np.inf).max() / np.abs(exact[kept]).max() / EPS)


def errors_of(call: Call, size: int, kind: str) -> tuple[float, float]:
    """Return the median errors of mindtorch and of PyTorch."""
    mindtorch, torch = importlib.import_module("mindtorch"), importlib.import_module("torch")
    found = []
    for seed in range(SEEDS):
        x = KINDS[kind](np.random.default_rng(seed).standard_normal(size)).astype(np.float32)
        exact = call(torch, torch.from_numpy(x).double()).numpy()
        found.append([error(call(lib, lib.from_numpy(x)).numpy(), exact) for lib in (mindtorch, torch)])
    ours, theirs = np.median(found, 0)
    return float(ours), float(theirs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only operators whose name contains one of these")
    parser.add_argument("--most", type=int, default=SIZES[-1], help="the largest size")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    worse = rows = 0
    print(f"{'operator':<24}{'numbers':<12}{'size':>9}{'mindtorch':>11}{'torch':>9}")
    for name, call in CASES.items():
        if options.names and not any(part in name for part in options.names):
            continue
        for kind in KINDS:
            for size in (size for size in SIZES if size <= options.most):
                ours, theirs = errors_of(call, size, kind)
                marked = ours > max(LIMIT * theirs, 1)
                worse, rows = worse + marked, rows + 1
                if marked or options.names:
                    print(f"{name:<24}{kind:<12}{size:>9}{ours:11.2f}{theirs:9.2f}{' !' * marked}", flush=True)
    print(f"{worse} of {rows} rows over {LIMIT} times PyTorch's error")
    return int(worse > 0)


if __name__ == "__main__":
    sys.exit(main())

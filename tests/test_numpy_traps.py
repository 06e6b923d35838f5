"""Operators on NumPy's unbuffered functions (``ufunc.at``, ``reduceat``), each beside a loop in Python."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch as torch
from mindtorch._backends.cpu.ops.writes import update_at

Array = np.ndarray
UFUNCS = (np.add, np.multiply, np.maximum, np.minimum)
#: Shapes of what is written, and of one index into it: NumPy has loops of its own for vectors.
PLACES = [((7,), shape) for shape in [(3,), (2, 3), (1,), (0,), (2, 1), ()]] + [((3, 4), (3,)), ((3, 4), (2, 2))]


def one_by_one(ufunc: np.ufunc, x: Array, key: tuple[Array, ...], values: Array) -> Array:
    """Apply a ufunc to an element or row at a time, in the order of the index."""
    x, at = x.copy(), np.broadcast_arrays(*key)
    values = np.broadcast_to(values, at[0].shape + x.shape[len(key):])
    for place in np.ndindex(at[0].shape):
        row = tuple(int(index[place]) for index in at)
        x[row] = ufunc(x[row], values[place])
    return x


def drawn(seed: int, shape: tuple[int, ...], dtype: str = "f", high: int = 4) -> Array:
    return np.random.default_rng(seed).integers(0, high, shape).astype(dtype)


@pytest.mark.parametrize("ufunc", UFUNCS)
@pytest.mark.parametrize("dtype", "?Biqefd")
def test_repeated_places_are_updated_once_for_each_value(ufunc: np.ufunc, dtype: str) -> None:
    for (shape, index), kind, layout in itertools.product(PLACES, "iq", range(3)):
        full = index + shape[1:]
        ones = tuple(n if d % 2 else 1 for d, n in enumerate(full))
        for given in {full, full[1:], full[-1:], (), ones, tuple(1 for _ in full)}:
            x, at, values = drawn(1, shape, dtype), drawn(2, index, kind, shape[0]), drawn(3, given, dtype)
            x = np.repeat(x, 2, 0)[::2] if layout == 1 else x
            values = values[::-1] if layout == 2 and values.ndim else values
            expected = one_by_one(ufunc, x, (at,), values)
            update_at(ufunc, x, (at,), values)
            assert np.array_equal(x, expected), (shape, index, given, kind, layout)


def add(x: Array, key: tuple[Array, ...], values: Array) -> Array:
    return one_by_one(np.add, x, key, values)


def bags(weight: Array, at: Array, starts: list[int]) -> Array:
    parts = [weight[at[a:b]] for a, b in itertools.pairwise([*starts, len(at)])]
    return np.stack([part.max(0) if len(part) else np.zeros_like(weight[0]) for part in parts])


def gradient(function: Callable[[Any], Any], x: Array) -> Array:
    """Return the gradient of an output of which each element has a weight of its own."""
    leaf = torch.tensor(x).requires_grad_()
    out = function(leaf)
    (out * torch.arange(1, out.numel() + 1).reshape(out.shape)).sum().backward()
    return leaf.grad.numpy()


def weights(*shape: int) -> Array:
    return np.arange(1, np.prod(shape) + 1, dtype="f").reshape(shape)


X, ROWS, AT, STARTS = drawn(4, (4, 3)), drawn(5, (6, 3)), drawn(6, (6,), "q"), [0, 2, 2, 5, 6]
WINDOWS = torch.nn.functional.unfold(torch.arange(16.0).reshape(1, 1, 4, 4), 2).long().numpy()[0]
IMAGE = np.arange(16, dtype="f")[::-1].reshape(1, 4, 4).copy()  # of which each window has its first element for maximum
F = torch.nn.functional
#: name: (by an operator, by a loop)
OPERATORS: dict[str, tuple[Callable[[], Any], Callable[[], Array]]] = {
    "index_add": (lambda: torch.tensor(X).index_add(0, torch.tensor(AT), torch.tensor(ROWS)),
                  lambda: add(X, (AT,), ROWS)),
    "put_": (lambda: torch.tensor(X).put_(torch.tensor(AT), torch.tensor(ROWS[:, 0]), True),
             lambda: add(X.reshape(-1), (AT,), ROWS[:, 0]).reshape(4, 3)),
    "index_put": (lambda: torch.tensor(X).index_put((torch.tensor(AT).view(2, 3),), torch.tensor(ROWS[:1]), True),
                  lambda: add(X, (AT.reshape(2, 3),), ROWS[:1])),
    "mean": (lambda: torch.tensor(X[:, 0]).scatter_reduce(0, torch.tensor(AT), torch.tensor(ROWS[:, 0]), "mean"),
             lambda: add(X[:, 0], (AT,), ROWS[:, 0]) / add(np.ones(4), (AT,), np.ones(6))),
    "fold": (lambda: F.fold(torch.tensor(weights(1, 4, 9)), (4, 4), 2)[0, 0],
             lambda: add(np.zeros(16), (WINDOWS,), weights(4, 9)).reshape(4, 4)),
    "max_pool2d backward": (lambda: gradient(lambda x: F.max_pool2d(x, 2, 1), IMAGE)[0],
                            lambda: add(np.zeros(16), (WINDOWS[0],), weights(9)).reshape(4, 4)),
    "histogramdd": (lambda: torch.histogramdd(torch.tensor(ROWS[:, :1]), [4], range=[0.0, 4.0],
                                              weight=torch.tensor(weights(6))).hist,
                    lambda: add(np.zeros(4), (ROWS[:, 0].astype(int),), weights(6))),
    "embedding_bag": (lambda: F.embedding_bag(torch.tensor(AT), torch.tensor(X), torch.tensor(STARTS), mode="max"),
                      lambda: bags(X, AT, STARTS)),
    "embedding backward": (lambda: gradient(lambda x: F.embedding(torch.tensor(AT), x), X),
                           lambda: add(np.zeros((4, 3)), (AT,), weights(6, 3))),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_on_unbuffered_functions_is_a_loop(name: str) -> None:
    by_operator, by_loop = OPERATORS[name]
    assert np.allclose(np.asarray(by_operator()), by_loop(), 1e-6)

"""NumPy and tensors in one expression: what PyTorch makes of them."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import mindtorch
from tests.support import Outcome, name_of, torch

EXPRESSIONS = """
t * a; a * t; t + i; i + t; t - a; a - t; t / a; a / t; t ** a; t // a; t % a; a % t; t == a; a == t; t != a; t < a
a < t; np.add(t, a); np.add(a, t); np.multiply(t, 2); np.sin(t); np.negative(t); np.isnan(t); np.less(t, a)
np.maximum(t, a); np.exp(torch.tensor(1.)); np.exp(torch.tensor(2)); np.add.reduce(t); np.cumsum(t)
np.concatenate([t, a]); np.stack([t, t]); np.transpose(torch.ones(2, 3)); np.reshape(torch.ones(2, 3), (3, 2))
np.matmul(m, m); np.dot(t, a); np.where(t > 0, t, a); t @ a; a @ t; t + np.float64(2); np.float64(2) + t
np.float32(2) * t; np.int64(2) * t; torch.tensor([1, 2]) * np.float64(2.5); t + np.array(3); np.array(3) * t
torch.tensor([True, True]) & np.array([True, False]); i << torch.tensor([1, 2]); a | t; np.asarray(t)
np.array(t, dtype=np.int32); np.array([t, t]); np.asarray(r); np.sin(r); r * a; a * r; t.add(a); torch.add(t, a)
np.ones((2, 2))[torch.tensor([0, 1])]; t[np.array([0, 1])]; t[np.array([True, False])]; t[np.int64(1)]
np.linalg.norm(t); torch.tensor([a, a]); torch.tensor([np.float32(1), 2]); torch.tensor([np.int8(1), np.int16(2)])
torch.tensor(np.float32(3)); torch.zeros(np.int64(2)); torch.ones(2, 3).sum(np.int64(1))
torch.full((2,), np.float64(3)); torch.clamp(t, np.float32(0)); t in a; a in t; np.allclose(t, a)
np.array_equal(t, a); np.histogram(torch.arange(5.))[0]; np.einsum('i,i', t, a)
""".replace("\n", ";").split(";")


def evaluated(expression: str, t: Any) -> Any:
    names = {"np": np, "torch": t, "t": t.ones(2), "a": np.ones(2), "i": np.array([1, 2]), "m": t.ones(2, 2),
             "r": t.ones(2, requires_grad=True)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, about PyTorch's older form of the protocol
        return eval(expression, names)


def described(value: Any) -> Any:
    if isinstance(value, (torch.Tensor, mindtorch.Tensor)):
        return "tensor", name_of(value.dtype), value.tolist()
    return type(value).__name__, getattr(value, "dtype", None), np.asarray(value).tolist()


@pytest.mark.parametrize("expression", [expression.strip() for expression in EXPRESSIONS if expression.strip()])
def test_mixed_expressions_give_what_pytorchs_give(expression: str) -> None:
    ours, theirs = (Outcome.of(lambda t: evaluated(expression, t), t) for t in (mindtorch, torch))
    assert ours.kind() == theirs.kind()
    if theirs.error is None:
        assert described(ours.value) == described(theirs.value)


def test_an_array_that_is_not_writable_gives_a_warning_and_cannot_be_written_through() -> None:
    array = np.zeros(2)
    array.flags.writeable = False
    for make in (mindtorch.from_numpy, mindtorch.as_tensor):
        with pytest.warns(UserWarning, match="The given NumPy array is not writable"):
            tensor = make(array)
    with pytest.raises(ValueError, match="read-only"):
        tensor.add_(1)
    with pytest.warns(UserWarning, match="The given buffer is not writable"):
        assert mindtorch.frombuffer(b"ab", dtype=mindtorch.uint8).tolist() == [97, 98]


def test_a_list_of_arrays_gives_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"Creating a tensor from a list of numpy.ndarrays is extremely slow"):
        assert mindtorch.tensor([np.ones(2), np.zeros(2)]).tolist() == [[1, 1], [0, 0]]

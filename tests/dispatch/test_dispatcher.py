"""What the keys of a call's arguments decide: each of them counts, wherever it stands."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch as torch
from mindtorch import course, library
from mindtorch._dispatch.dispatcher import dispatch, registry


def seeded() -> Any:
    return torch.Generator().manual_seed(3)


#: Calls of the same types, of which a way is remembered that is none for the others.
ALIKE: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "view": (lambda size: torch.ones(6).view(size).shape, [[2, 3], [2, torch.tensor(3)], [np.int64(3), 2], [3, -1]]),
    "sum": (lambda dim: torch.ones(2, 3).sum(dim).shape, [(0,), (1,), (np.int64(0),), ()]),
    "cat": (lambda tensors: torch.cat(tensors).shape, [[torch.ones(2)], [torch.nn.Parameter(torch.ones(3))], []]),
    "permute": (lambda dims: torch.ones(2, 3).permute(dims).shape, [[1, 0], [0, 1], [torch.tensor(1), 0], [-1, -2]]),
    "normal_": (lambda std: torch.ones(3).normal_(0, std, generator=seeded()).tolist(),
                [1, 2, 0, 2.0, -1, True, 10**400]),
    "full": (lambda size: torch.full(size, 2).shape, [(2, 3), (2,), [3, 2], [torch.tensor(2), 1]]),
    "sum by name": (lambda dim: torch.ones(2, 3).sum(dim=dim).tolist(), [0, 1, (0, 1), [1], (1.0,), 2]),
    "clone": (lambda order: torch.ones(1, 2, 2, 2).clone(memory_format=order).stride(),
              [torch.channels_last, torch.contiguous_format, torch.channels_last, torch.strided]),
}
#: Operators by their number of tensors: those of one, two and three go through entries of their own.
CALLS: dict[str, tuple[int, Callable[..., Any]]] = {
    "neg": (1, torch.neg), "add": (2, torch.add), "mul of a number": (1, lambda x: torch.mul(x, 2)),
    "addcmul": (3, torch.addcmul), "lerp": (3, torch.lerp),
    "where": (2, lambda x, y: torch.where(torch.ones(2) > 0, x, y)),
    "linear": (3, lambda x, w, b: torch.nn.functional.linear(x, w.expand(2, 2), b)),
    "clamp": (3, torch.clamp), "cat": (3, lambda *tensors: torch.cat(tensors)), "stack": (2, lambda *t: torch.stack(t)),
    "an index": (2, lambda x, y: torch.stack([x, y])[torch.tensor([0, 1])]),
}
EACH = [(name, i) for name, (count, _) in CALLS.items() for i in range(count)]


@pytest.mark.parametrize("name", ALIKE)
def test_a_remembered_call_looks_at_what_lists_hold(name: str) -> None:
    call, given = ALIKE[name]

    def outcome(value: Any) -> Any:
        try:
            return call(value)
        except Exception as error:
            return type(error), str(error)

    first = {i: outcome(value) for i, value in enumerate(given)}
    assert {i: outcome(given[i]) for i in reversed(range(len(given)))} == first


@pytest.mark.parametrize(("name", "position"), EACH)
def test_every_tensor_argument_may_be_the_one_that_requires_grad(name: str, position: int) -> None:
    count, call = CALLS[name]
    tensors = [torch.ones(2, requires_grad=i == position) for i in range(count)]
    out = call(*tensors)
    assert out.requires_grad
    out.sum().backward()
    assert tensors[position].grad is not None


@pytest.mark.parametrize(("name", "position"), EACH)
def test_every_tensor_argument_may_be_the_one_that_is_pending(name: str, position: int) -> None:
    count, call = CALLS[name]
    tensors = [torch.full((2,), 2.0 + i) for i in range(count)]
    expected = call(*tensors).tolist()
    with torch.pipeline():
        tensors[position] = tensors[position] + 0
        assert call(*tensors).tolist() == expected


@pytest.mark.parametrize(("name", "node"), [
    ("roll", "RollBackward0"), ("trace", "TraceBackward0"), ("index_add", "IndexAddBackward0"),
    ("diag_embed", "DiagEmbedBackward0")])
def test_an_operator_of_other_operators_with_a_derivative_of_its_own_is_one_node(name: str, node: str) -> None:
    further = {"roll": (1,), "index_add": (0, torch.tensor([0]), torch.ones(1, 2))}
    x = torch.ones(2, 2, requires_grad=True)
    out = getattr(x, name)(*further.get(name, ()))
    assert out.grad_fn.name() == node
    assert out.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"


def test_tensors_count_in_a_call_on_a_device_by_name() -> None:
    x = torch.full((2,), 3.0, requires_grad=True)
    assert dispatch("mul.Tensor", "cpu", x, x).requires_grad
    assert dispatch("cat", "cpu", [torch.ones(2), x], 0).requires_grad


def test_a_call_without_tensors_and_without_a_device_is_the_cpus() -> None:
    out = registry["full"].call((2,), 3.0)
    assert out.device.type == "cpu" and out.tolist() == [3.0, 3.0]
    with library._scoped_library("test_dispatcher", "DEF") as lib:
        lib.define("counted(int n) -> Tensor")
        lib.impl("counted", torch.arange, "CPU")
        lib.impl("counted", lambda n: torch.empty(n, device="meta"), "Meta")
        assert torch.ops.test_dispatcher.counted(3).tolist() == [0, 1, 2]


@pytest.mark.parametrize("fresh", [True, False], ids=["first write", "later write"])
def test_each_tensor_of_a_written_list_counts_the_write(fresh: bool) -> None:
    tensors = [torch.ones(2), torch.ones(3)]
    if not fresh:
        torch._foreach_add_(tensors, 1)
    before = [tensor._version for tensor in tensors]
    torch._foreach_mul_(tensors, 2)
    assert [tensor._version for tensor in tensors] == [count + 1 for count in before] == [1 if fresh else 2] * 2


@pytest.mark.parametrize("call", [
    lambda: torch.ones(2, 3).permute(0),
    lambda: torch.ones(2).sum(5),
    lambda: torch.ones(2) + torch.ones(3),
    lambda: torch.addcmul(torch.ones(2), torch.ones(3), torch.ones(2)),
    lambda: torch.cat([torch.ones(2), torch.ones(2, 2)]),
    lambda: torch.zeros(-1),
    lambda: dispatch("add.Tensor", "cpu", torch.ones(2), torch.ones(3)),
])
def test_an_error_of_any_form_of_call_in_a_module_tells_the_programs_line(call: Callable[[], Any]) -> None:
    module = torch.nn.Module()
    module.forward = lambda x: call()  # type: ignore[method-assign]
    with pytest.raises((RuntimeError, IndexError)) as caught:
        torch.nn.Sequential(module)(torch.ones(1))
    where = f"called at {__file__}:{call.__code__.co_firstlineno} in <lambda>"
    assert any(where in note for note in caught.value.__notes__)


def test_a_key_that_a_thread_has_added_is_for_its_own_calls() -> None:
    seen, sums = [], []

    def kernel(op: Any, *args: Any) -> Any:
        seen.append(op.name)
        with course.excluded("Seen"):
            return op(*args)

    def work() -> None:
        sums.append((torch.ones(2) + torch.ones(2)).tolist())

    with course.add_key("Seen", kernel):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
        product = torch.full((2,), 3.0) * 2
    assert sums == [[2, 2]] and product.tolist() == [6, 6]
    assert "mul.Tensor" in seen and "add.Tensor" not in seen


def outcomes(call: Callable[[Any], Any], values: list[Any]) -> list[Any]:
    """Return the result of a call for each value, or its error."""
    found: list[Any] = []
    for value in values:
        try:
            out = call(value)
            found.append((out.dtype, out.shape, tuple(out.stride()), out.tolist()))
        except Exception as error:
            found.append((type(error), str(error)))
    return found


SQUARE = [[4.0, 1.0], [1.0, 3.0]]
#: Calls that differ in one thing only, on which the result or the refusal depends.
DIFFERENT: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "equal numbers": (lambda value: torch.zeros(2, dtype=torch.int64).scatter(0, torch.tensor([0]), value),
                      [1, 1.0, True, 1e30, 1 << 70, 1]),
    "dtypes": (lambda dtype: torch.linalg.cholesky(torch.tensor(SQUARE).to(dtype)),
               [torch.float32, torch.float64, torch.float16, torch.int64, torch.float32]),
    "strides": (lambda swap: torch.nn.functional.batch_norm(
        torch.arange(24.0).view(1, 2, 3, 4).to(memory_format=swap), None, None, training=True),
        [torch.contiguous_format, torch.channels_last, torch.contiguous_format]),
    "dimensions": (lambda dim: torch.ones(2, 3).var(dim), [0, (0,), 1, 2, (0, 0), None, 0]),
    "dtypes of indices": (lambda dtype: torch.ones(2, 2).gather(0, torch.zeros(1, 2, dtype=dtype)),
                          [torch.int64, torch.int32, torch.float32, torch.int64]),
    "default dtypes": (lambda dtype: with_default(dtype, lambda: torch.arange(3).logsumexp(0)),
                       [torch.float32, torch.float64, torch.float32]),
}


def with_default(dtype: Any, call: Callable[[], Any]) -> Any:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        return call()
    finally:
        torch.set_default_dtype(before)


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_is_kept_of_a_call_is_not_taken_for_a_different_one(name: str) -> None:
    call, values = DIFFERENT[name]
    first = outcomes(call, values)
    assert outcomes(call, values[::-1]) == first[::-1]
    assert len({repr(outcome) for outcome in first}) > 1


def test_a_call_that_warns_does_so_each_time() -> None:
    columns = torch.ones(2, 2).t()
    for _ in range(2):
        with pytest.warns(UserWarning, match="non-contiguous"):
            torch.searchsorted(torch.arange(2.0), columns)
        with pytest.warns(UserWarning, match="uint8"):
            torch.ones(2)[torch.tensor([1, 0], dtype=torch.uint8)]

"""Readers' parts in the running library: put in, used, taken back; and what is refused."""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mindtorch as torch
from mindtorch import course
from mindtorch._autograd import engine
from mindtorch._backends.npu.allocator import Allocator
from mindtorch._dispatch import dispatcher
from mindtorch._dispatch.local import local

a, b = torch.ones(2, 3), torch.arange(3.)


def counting(function: Callable[..., Any]) -> Any:
    """A function that counts its calls."""

    def call(*args: Any) -> Any:
        call.calls += 1
        return function(*args)

    call.calls = 0
    return call


def add(x: Any, y: Any, alpha: Any = 1) -> Any:
    return torch.from_numpy(np.add(x.detach().numpy(), np.asarray(y, "float32") * np.float32(alpha)))


@pytest.fixture(autouse=True)
def all_is_as_before() -> Iterator[None]:
    op = torch.registry["add.Tensor"]
    before = engine.execute, Allocator.fit, op.kernel(1), dispatcher.mode, local.added
    yield
    assert before == (engine.execute, Allocator.fit, op.kernel(1), dispatcher.mode, local.added)
    assert (a + b).tolist() == [[1, 2, 3]] * 2


# -- kernels -----------------------------------------------------------------------------------------------------------


def test_a_kernel_computes_in_the_librarys_place() -> None:
    mine = counting(add)
    with course.replace("add.Tensor", "cpu", mine):
        assert (a + b).tolist() == [[1, 2, 3]] * 2 and (a + 1).tolist() == [[2] * 3] * 2
        assert torch.add(a, b, alpha=2).tolist() == [[1, 3, 5]] * 2
    assert mine.calls == 3


def test_in_place_and_out_forms_use_it_and_autograd_records_around_it() -> None:
    mine = counting(add)
    w = torch.ones(3, requires_grad=True)
    with course.replace("add.Tensor", "cpu", mine):
        torch.zeros(3).add_(b)
        torch.add(b, b, out=torch.empty(3))
        (a + w).sum().backward()
    assert mine.calls == 3 and w.grad.tolist() == [2, 2, 2]


def test_what_a_kernel_calls_is_what_it_replaces() -> None:
    outer, inner = counting(lambda x, y, alpha=1: x + y), counting(lambda x, y, alpha=1: x + y)
    with course.replace("add.Tensor", "cpu", inner), course.replace("add.Tensor", "cpu", outer):
        assert (a + b).tolist() == [[1, 2, 3]] * 2
    assert (outer.calls, inner.calls) == (1, 1)


def test_blocks_may_end_in_any_order() -> None:
    first, second = counting(add), counting(add)
    one, other = course.replace("add.Tensor", "cpu", first), course.replace("add.Tensor", "cpu", second)
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    _ = a + b
    other.__exit__(None, None, None)
    assert (first.calls, second.calls) == (0, 1)


def test_it_is_gone_after_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), course.replace("add.Tensor", "cpu", lambda x, y, alpha=1: 1 / 0):
        _ = a + b
    with course.replace("add.Tensor", "cpu", add):  # and the next one works
        assert (a + b).tolist() == [[1, 2, 3]] * 2


def test_other_threads_keep_the_librarys_own() -> None:
    mine, found = counting(add), []
    with course.replace("add.Tensor", "cpu", mine):
        thread = threading.Thread(target=lambda: found.append((a + b).tolist()))
        thread.start()
        thread.join()
    assert found == [[[1, 2, 3]] * 2] and mine.calls == 0


def test_traces_show_its_file_and_line_and_not_what_checks_it() -> None:
    def multiply(x: Any, y: Any, alpha: Any = 1) -> Any:
        return x * y

    with course.replace("add.Tensor", "cpu", multiply), torch.observe() as trace:
        _ = a + b
    assert [event.op for event in trace] == ["add.Tensor", "mul.Tensor"]
    assert trace.events[0].file == __file__ and trace.events[0].line == multiply.__code__.co_firstlineno


@pytest.mark.parametrize(("operator", "device", "function", "said"), [
    ("add.Tensor", "cpu", 3, "cannot be called"),
    ("add.Tensor", "cpu", lambda x, y: x, "def mine(self, other, alpha=1)"),
    ("relu", "cpu", lambda: None, "def mine(self)"),
    ("plus", "cpu", add, "no operator of that name"),
    ("add.Tensor", "gpu", add, "there are cpu, meta, npu"),
    ("add_.Tensor", "cpu", add, "replace add.Tensor"),
    ("matmul", "cpu", lambda x, y: x, "written in other operators"),
    ("expand", "cpu", lambda x, size, implicit=False: x, "only makes a view"),
])
def test_what_cannot_stand_in_a_kernels_place_is_refused_at_once(operator, device, function, said) -> None:
    with pytest.raises(course.Refused, match="replace") as refused, course.replace(operator, device, function):
        raise AssertionError("was put in")
    assert said in str(refused.value)


@pytest.mark.parametrize(("function", "said"), [
    (lambda x, y, alpha=1: None, "returned nothing: write return"),
    (lambda x, y, alpha=1: x.numpy() + 1, "an ndarray: torch.from_numpy"),
    (lambda x, y, alpha=1: (x + y).double(), "returned float64[2, 3], but the meta kernel says float32[2, 3]"),
    (lambda x, y, alpha=1: (x + y).sum(0), "returned float32[3], but the meta kernel says float32[2, 3]"),
    (lambda x, y, alpha=1: (x, y), "must return a tensor, but returned 2 tensors"),
    (lambda x, y, alpha=1: x, "returned an argument, or a view of one"),
    (lambda x, y, alpha=1: x[:], "returned an argument, or a view of one"),
    (lambda x, y, alpha=1: (x + y).to("meta"), "a tensor on meta, but its arguments are on cpu"),
])
def test_a_result_that_others_cannot_go_on_with_is_refused(function, said) -> None:
    with pytest.raises(course.Refused) as refused, course.replace("add.Tensor", "cpu", function):
        _ = a + b
    assert said in str(refused.value)


def test_a_meta_kernel_is_held_against_the_librarys_own() -> None:
    x = a.to("meta")
    with course.replace("add.Tensor", "meta", lambda s, o, alpha=1: torch.empty(s.shape, device="meta")):
        assert (x + x).shape == (2, 3)
    with pytest.raises(course.Refused, match=r"says float32\[2, 3\]"), course.replace(
            "add.Tensor", "meta", lambda s, o, alpha=1: torch.empty(3, device="meta")):
        _ = x + x


def test_an_npus_kernel_can_be_replaced_too() -> None:
    x = torch.ones(3, device="npu")
    mine = counting(lambda s: s * 0 + 7)
    with course.replace("relu", "npu", mine):
        assert x.relu().tolist() == [7, 7, 7]
    assert x.relu().tolist() == [1, 1, 1] and mine.calls == 1


# -- the engine --------------------------------------------------------------------------------------------------------


def run_all_paths(roots: Any, gradients: Any) -> None:
    """A slow engine that is right: it runs every path of the graph by itself."""
    todo = [(node, number, gradient) for (node, number), gradient in zip(roots, gradients, strict=True)]
    while todo:
        node, number, gradient = todo.pop()
        found = node(*[gradient if i == number else None for i in range(len(node._input_metadata))])
        for (below, i), g in zip(node.next_functions, found if isinstance(found, tuple) else (found,), strict=False):
            if below is not None and g is not None:
                todo.append((below, i, g.sum_to_size(below._input_metadata[i].shape)))


def test_an_engine_runs_in_the_librarys_place() -> None:
    mine = counting(run_all_paths)
    w, v = torch.ones(3, requires_grad=True), torch.full((2, 3), 2.0, requires_grad=True)
    with course.replace_engine(mine):
        ((w * v + w) * w).sum().backward()
    assert mine.calls == 1 and w.grad.tolist() == [12, 12, 12] and v.grad.tolist() == [[1, 1, 1]] * 2


def test_what_was_saved_is_freed_after_it_unless_the_graph_is_retained() -> None:
    w = torch.ones(3, requires_grad=True)
    loss = (w * w).sum()
    with course.replace_engine(run_all_paths):
        loss.backward(retain_graph=True)
        loss.backward()
        assert w.grad.tolist() == [4, 4, 4]
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()


def test_what_needs_more_stays_with_the_librarys_engine() -> None:
    mine = counting(run_all_paths)
    w = torch.ones(3, requires_grad=True)
    with course.replace_engine(mine):
        [g] = torch.autograd.grad((w * w * w).sum(), w, create_graph=True)
        g.sum().backward(create_graph=True)
    assert mine.calls == 0 and w.grad.tolist() == [6, 6, 6]


@pytest.mark.parametrize(("function", "said"), [
    (lambda roots, gradients: None, "no leaf has a gradient"),
    (lambda roots, gradients: roots[0][0].next_functions[0][0].next_functions[0][0](torch.ones(2, 3)),
     "gave a leaf float32[3] a gradient float32[2, 3]"),
])
def test_gradients_that_do_not_fit_are_refused_and_taken_back(function, said) -> None:
    w = torch.ones(3, requires_grad=True)
    with pytest.raises(course.Refused) as refused, course.replace_engine(function):
        (w * a).sum().backward()
    assert said in str(refused.value) and w.grad is None


def test_an_engine_takes_two_arguments() -> None:
    with pytest.raises(course.Refused, match="def engine"), course.replace_engine(lambda root: None):
        raise AssertionError("was put in")


# -- the allocator -----------------------------------------------------------------------------------------------------


def test_a_policy_picks_the_npus_memory() -> None:
    seen: list[Any] = []

    def last_fit(free: Any, size: int) -> int:
        seen.append((free, size))
        return len(free) - 1

    kept = torch.ones(1, device="npu")  # so that there is a segment with a free block
    with course.replace_allocator(last_fit):
        x = torch.ones(4, device="npu")
    free, size = seen[-1]
    assert size == 512 and free == sorted(free) and x.data_ptr() == free[-1][0]
    del kept


@pytest.mark.parametrize("answer", [99, "first", True, -1])
def test_an_answer_that_is_no_block_is_refused(answer) -> None:
    kept = torch.ones(1, device="npu")
    with pytest.raises(course.Refused, match="must return None"), course.replace_allocator(lambda free, size: answer):
        torch.ones(4, device="npu")
    assert (kept + 1).tolist() == [2]


# -- dispatch keys -----------------------------------------------------------------------------------------------------


def test_a_key_runs_before_autograd_and_is_shown() -> None:
    w = torch.ones(3, 2, requires_grad=True)

    def lower(op: Any, *args: Any) -> Any:
        with course.excluded("Lower"):
            return op(*[x.bfloat16() for x in args] if op.name == "matmul" else args)

    with course.add_key("Lower", lower), torch.observe() as trace:
        y = a @ w
    assert y.dtype == torch.bfloat16 and trace.events[0].path[0] == "Added"
    y.sum().backward()
    assert w.grad.dtype == torch.float32


def test_keys_may_be_nested_and_concern_one_thread() -> None:
    seen: list[str] = []

    def note(name: str) -> Any:
        def kernel(op: Any, *args: Any) -> Any:
            with course.excluded(name):
                seen.append(name)
                return op(*args)

        return kernel

    with course.add_key("Outer", note("Outer")), course.add_key("Inner", note("Inner")):
        _ = a + b
        thread = threading.Thread(target=lambda: a + b)
        thread.start()
        thread.join()
    assert seen == ["Inner", "Outer"]


def test_a_key_that_does_not_exclude_itself_is_refused() -> None:
    with pytest.raises(course.Refused, match=r"with excluded\('Endless'\)"), course.add_key(
            "Endless", lambda op, *args: op(*args)):
        _ = a + b


@pytest.mark.parametrize(("name", "kernel", "said"), [
    ("Autograd", lambda op, *args: None, "there is a key 'Autograd' already"),
    ("", lambda op, *args: None, "is not a name for a key"),
    ("Mine", lambda op: None, "def kernel(op, *args)"),
    ("Mine", 1, "cannot be called"),
])
def test_keys_that_cannot_be_are_refused(name, kernel, said) -> None:
    with pytest.raises(course.Refused) as refused, course.add_key(name, kernel):
        raise AssertionError("was put in")
    assert said in str(refused.value)


def test_a_name_is_there_once_and_only_what_is_there_can_be_excluded() -> None:
    def through(op: Any, *args: Any) -> Any:
        with course.excluded("Mine"):
            return op(*args)

    with course.add_key("Mine", through):
        again = course.add_key("Mine", through)
        with pytest.raises(course.Refused, match="already"):
            again.__enter__()
    with pytest.raises(course.Refused, match="no key of that name"), course.excluded("Mine"):
        raise AssertionError("was excluded")

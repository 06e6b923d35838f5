"""The handles of a call serve the next one with values of the same layouts, and nobody else."""
from __future__ import annotations

import math
import threading
from collections.abc import Iterator

import pytest

import mindtorch as torch
from mindtorch._backends.npu import aclnn, finalize
from mindtorch._backends.npu.bindings import READ_ONLY
from mindtorch._backends.npu.descriptors import key_of
from mindtorch._backends.npu.runtime import current_queue

simulator = torch.npu.simulator


@pytest.fixture(autouse=True)
def none_kept() -> Iterator[None]:
    aclnn.release()
    yield
    torch.npu.synchronize()


def descriptors() -> int:
    """How many handles there are of those that operators take."""
    return sum(count for kind, count in simulator.live_handles().items() if not kind.startswith("aclrt"))


def test_a_second_call_makes_no_handle() -> None:
    a, b = torch.ones(3, device="npu"), torch.ones(3, device="npu")
    first = a + b
    made = descriptors()
    second = b + first
    assert descriptors() == made and (first + second).tolist() == [5, 5, 5]
    aclnn.release()
    assert descriptors() == 0


def test_operators_of_which_the_first_phase_writes_into_descriptors_have_new_ones_each_time() -> None:
    a, rows = torch.ones(2, 2, device="npu"), torch.tensor([[1, 1], [0, 0]], device="npu")
    aclnn.release()
    for _ in range(2):
        (a @ a).scatter_(0, rows, a)
        assert descriptors() == 0
    assert not {"aclnnScatterAdd", "aclnnMm", "aclnnMatmul", "aclnnConvolution", "aclnnInplaceScatter"} & READ_ONLY
    assert {"aclnnAdd", "aclnnRelu", "aclnnForeachAddListV2"} <= READ_ONLY <= set(aclnn.names())


def test_calls_of_one_key_that_are_planned_together_have_handles_of_their_own() -> None:
    values = [torch.full((2,), float(n), device="npu") for n in range(4)]
    torch.npu.synchronize()
    for _ in range(2):
        aclnn.launch([("aclnnAdds", (value, 1, 1, value)) for value in values], current_queue(0))
    assert [value.tolist() for value in values] == [[n + 2.0] * 2 for n in range(4)]


def test_work_that_waits_has_the_memory_that_it_was_queued_with() -> None:
    values = [torch.full((4,), float(n), device="npu") for n in range(4)]
    with simulator.paused():
        sums = [values[i] + values[j] for i in range(4) for j in range(4)]
    assert [s[0].item() for s in sums] == [i + j for i in range(4) for j in range(4)]


def test_lists_of_tensors_are_told_of_other_memory_too() -> None:
    def joined(*numbers: float) -> list[float]:
        return torch.cat([torch.full((2,), number, device="npu") for number in numbers]).tolist()

    kept = torch.ones(2, device="npu")  # so that the second call's operands lie elsewhere
    assert joined(1, 2, 3) == [1, 1, 2, 2, 3, 3]
    more = torch.ones(2, device="npu")
    assert joined(4, 5, 6) == [4, 4, 5, 5, 6, 6] and (kept + more).tolist() == [2, 2]


@pytest.mark.parametrize("one, other", [(0.0, -0.0), (1, 1.5), (2, 2.0), (True, 1), (math.inf, -math.inf)])
def test_numbers_that_differ_in_type_or_sign_have_handles_of_their_own(one: float, other: float) -> None:
    for number in (one, other, one):
        for tensor in (torch.tensor([-1.0, 3.0]), torch.tensor([-1, 3])):
            expected, found = tensor * number, tensor.npu() * number
            assert found.dtype is expected.dtype
            assert list(map(str, found.tolist())) == list(map(str, expected.tolist()))


def test_keys_tell_values_apart_that_compare_as_equal() -> None:
    values = [0, 0.0, -0.0, False, 0j, complex(0, -0.0), 1, 1.0, True, 1 + 0j, complex(1, -0.0), (1,), [1], (True,),
              None, torch.tensor([1]), torch.tensor([1.0]), torch.tensor([[1]]), (0.0,), (-0.0,)]
    assert len(set(map(key_of, values))) == len(values)
    assert key_of((torch.ones(2, 3), 1.5)) == key_of((torch.zeros(2, 3), 1.5)) != key_of((torch.ones(3, 2).t(), 1.5))


def test_views_of_one_shape_have_handles_of_their_own() -> None:
    a = torch.arange(12.0).view(3, 4)
    on_npu = a.npu()
    for view in (lambda x: x[:, :2], lambda x: x[:, 2:], lambda x: x[:, ::2], lambda x: x.t()[:3, 1:]):
        assert (view(on_npu) + 1).tolist() == (view(a) + 1).tolist()


def test_so_many_are_kept_and_those_go_first_that_were_used_longest_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aclnn, "MOST_READY", 3)
    for size in (1, 2, 3, 1, 4, 5):
        torch.ones(size, device="npu")
    assert [key[1][0].shape for key in aclnn._ready.kept()] == [(1,), (4,), (5,)]
    assert descriptors() == 3


def test_threads_never_have_the_same_handles() -> None:
    wrong: list[object] = []

    def work(number: int) -> None:
        with torch.npu.stream(torch.npu.Stream()):
            a = torch.full((8,), float(number), device="npu")
            total = a
            for _ in range(150):
                total = total + a
            if total.tolist() != [151.0 * number] * 8:
                wrong.append(total.tolist())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_what_the_data_decides_is_not_kept() -> None:
    a = torch.tensor([0, 3, 0, 4], device="npu")
    assert [a.nonzero().tolist(), (a * 0).nonzero().tolist(), a.nonzero().tolist()] == [[[1], [3]], [], [[1], [3]]]


def test_nothing_is_kept_beyond_the_device() -> None:
    assert (torch.ones(3, device="npu") + 1).tolist() == [2, 2, 2]
    finalize()
    assert not aclnn._ready.kept() and simulator.live_handles() == {}

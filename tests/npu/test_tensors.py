"""Tensors on the NPU behave as PyTorch's on a device: indices of devices, copies, errors, pickling, views, pipelines.
"""
from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import pytest

import mindtorch as torch


def six() -> torch.Tensor:
    return torch.arange(6.0).reshape(2, 3).to("npu")


def test_a_device_without_an_index_is_the_current_one() -> None:
    assert torch.ones(2, device="npu").device == torch.device("npu:0")
    with torch.npu.device(1):
        assert torch.ones(2, device="npu").device == torch.device("npu:1") and torch.npu.current_device() == 1
    assert torch.arange(3, device="npu:1").device == torch.device("npu:1") and torch.npu.current_device() == 0


def test_views_share_the_storage_and_writes_are_seen_by_all() -> None:
    a = six()
    part = a.t()[1:]
    part[0, 1] = 50
    assert a.tolist() == [[0, 1, 2], [3, 50, 5]] and part.storage() is a.storage()
    assert part.data_ptr() == a.data_ptr() + 4 and part._version == a._version == 1
    assert part.contiguous().tolist() == [[1, 50], [2, 5]]


def test_copies_between_devices_and_dtypes() -> None:
    a = six()
    there = a.t().to("npu:1", torch.int64)
    assert there.device == torch.device("npu:1") and there.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert there.cpu().stride() == (1, 3)
    a[:, 1].copy_(torch.tensor([7, 8]))
    assert a.tolist() == [[0, 7, 2], [3, 8, 5]]
    host = torch.zeros(3, 2).t()
    assert host.copy_(a).tolist() == a.tolist()


def test_indices_on_the_host_go_along() -> None:
    a = six()
    assert a[:, [0, 2]].tolist() == [[0, 2], [3, 5]]
    a[torch.tensor([1]), torch.tensor([0])] = 9
    assert a[1].tolist() == [9, 4, 5]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert a[a > 3].tolist() == [9, 4, 5]


def test_scalars_on_the_host_go_along_and_other_tensors_do_not() -> None:
    a = six()
    assert (a + torch.tensor(2.0)).sum().item() == 27
    with pytest.raises(RuntimeError, match=r"Expected all tensors to be on the same device.*npu:0 and cpu"):
        a + torch.ones(2, 3)
    with pytest.raises(RuntimeError, match=r"Expected all tensors to be on the same device.*npu:0 and npu:1"):
        a + a.to("npu:1")


def test_data_is_on_the_device_and_nothing_on_the_host() -> None:
    a = six()
    assert a._array is None and a.untyped_storage()._bytes is None
    with pytest.raises(TypeError, match="can't convert npu:0 device type tensor to numpy"):
        a.numpy()
    assert a.numpy(force=True).tolist() == a.tolist()
    assert repr(a).endswith("device='npu:0')") and a.is_npu and not a.is_cpu


def test_deep_copies_and_pickles_keep_values_and_sharing() -> None:
    a = six()
    pair = [a, a[1]]
    for again in (copy.deepcopy(pair), pickle.loads(pickle.dumps(pair))):
        assert again[0].tolist() == a.tolist() and again[0].device == a.device and again[0].data_ptr() != a.data_ptr()
        again[1].zero_()
        assert again[0].tolist() == [[0, 1, 2], [0, 0, 0]]


def test_a_pipeline_on_the_npu() -> None:
    a = six()
    with torch.pipeline() as pipeline:
        b = (a * 2).sum()
        assert len(pipeline) == 2
    assert b.item() == 30 and b.device == a.device


def test_gradients_are_on_the_device() -> None:
    a = six().requires_grad_()
    (a.relu() @ a.t()).sum().backward()
    assert a.grad.device == a.device
    host = a.detach().cpu().requires_grad_()
    (host.relu() @ host.t()).sum().backward()
    assert a.grad.tolist() == host.grad.tolist()


@pytest.mark.parametrize(("wrong", "error", "words"), [
    (lambda: torch.ones(2, device="npu:7"), RuntimeError, "invalid device ordinal"),
    (lambda: torch.npu.set_device("cpu"), ValueError, "Expected a npu device"),
    (lambda: torch.ones(2).record_stream(torch.npu.current_stream()), RuntimeError, "record_stream"),
    (lambda: torch.empty(10**10, device="npu"), torch.OutOfMemoryError, "Tried to allocate 37.25 GiB"),
    (lambda: six().view(4), RuntimeError, "shape '\\[4\\]' is invalid"),
    (lambda: six().pin_memory(), RuntimeError, "cannot pin"),
])
def test_wrong_use_is_a_clear_error(wrong, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        wrong()


def test_a_trace_names_the_aclnn_operator_its_row_and_the_stream() -> None:
    a = six()
    with torch.observe() as trace:
        (a + 1).relu()
    rows = {event.op: event for event in trace}
    assert rows["add.Tensor"].kernel == "aclnnAdd" and rows["relu"].kernel == "aclnnRelu"
    for event in rows.values():
        with open(event.file, encoding="utf-8") as file:
            assert event.op in file.read().splitlines()[event.line - 1]
        assert event.stream == "npu:0 stream 0"


@pytest.mark.parametrize("copied", [
    lambda source: torch.zeros(4).copy_(source), lambda source: torch.zeros(6)[1:5].copy_(source),
    lambda source: torch.zeros(4, dtype=torch.int64).copy_(source), lambda source: torch.zeros(2, 4).copy_(source)[1],
    lambda source: torch._foreach_copy_([torch.zeros(4)], [source])[0],
])
def test_a_cpu_tensor_takes_the_values_of_an_npu_tensor(copied: Any) -> None:
    assert copied(torch.arange(4.0, device="npu")).tolist() == [0, 1, 2, 3]
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        copied(torch.arange(4.0, device="meta"))


def test_a_state_goes_into_a_module_on_another_device() -> None:
    for devices in (("cpu", "npu"), ("npu", "cpu")):
        target, source = (torch.nn.Linear(2, 3).to(device) for device in devices)
        target.load_state_dict(source.state_dict())
        assert target.weight.device.type == devices[0] and target.weight.tolist() == source.weight.tolist()


def test_indices_are_on_the_cpu_or_with_the_tensor() -> None:
    host, rows = torch.arange(6.0).reshape(2, 3), torch.tensor([1, 0])
    device = host.npu()
    assert device[rows].tolist() == device[rows.npu()].tolist() == host[rows].tolist()
    for index in (rows.npu(), (host > 2).npu(), rows.to("meta")):
        for use in (torch.Tensor.__getitem__, lambda x, i: x.index_put_((i,), torch.tensor(1.0)),
                    lambda x, i: x.__setitem__(i, 1.0)):
            with pytest.raises(RuntimeError, match="on cpu or on the same device as the indexed tensor \\(cpu\\)"):
                use(host.clone(), index)


def test_values_that_are_put_are_with_the_tensor_unless_they_are_one_number() -> None:
    host = torch.arange(6.0).reshape(2, 3)
    host[host > 2] = torch.tensor(9.0, device="npu")
    assert host.tolist() == [[0, 1, 2], [9, 9, 9]]
    with pytest.raises(RuntimeError, match="two devices, cpu and npu:0"):
        host.index_put_((torch.tensor([1]),), torch.ones(3, device="npu"))

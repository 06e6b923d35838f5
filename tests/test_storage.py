"""Storages: identity, sharing, resizing, shared memory and files."""
from __future__ import annotations

import gc
import os
import warnings

import numpy as np
import pytest

import mindtorch as torch
from tests.both import Program, assert_same_outcome, each_program


def test_the_same_tensor_and_its_views_give_the_same_storage_object():
    t = torch.arange(6.0)
    assert t.storage is t.storage() is t.view(2, 3).storage is t.view(2, 3).t().storage()
    assert t.untyped_storage() is t.detach().untyped_storage()
    assert t.storage.data.tolist() == [0, 1, 2, 3, 4, 5] and t.storage.dtype is torch.float32
    assert t.storage is not torch.arange(6.0).storage


def test_sizes_and_addresses_are_in_bytes():
    t = torch.zeros(3, 4, dtype=torch.int16)
    storage = t.untyped_storage()
    assert storage.nbytes() == 24 and len(t.storage) == 12 and t.storage.element_size() == 2
    assert t.data_ptr() == storage.data_ptr() and t[1].data_ptr() == storage.data_ptr() + 8


def test_writing_through_storage_and_array_is_seen_by_all():
    t = torch.zeros(4)
    view = t.view(2, 2)
    t.storage.data[3] = 7
    t.storage()[0] = 5
    assert view.tolist() == [[5, 0], [0, 7]]


def test_growing_a_storage_keeps_values_and_moves_all_views():
    t = torch.arange(4.0)
    view = t[2:]
    t.untyped_storage().resize_(64)
    assert t.untyped_storage().nbytes() == 64 and t.tolist() == [0, 1, 2, 3]
    view.add_(10)
    assert t.tolist() == [0, 1, 12, 13]


def test_a_storage_that_numpy_sees_cannot_be_resized():
    t = torch.zeros(4)
    array = t.numpy()
    with pytest.raises(RuntimeError, match="not resizable"):
        t.untyped_storage().resize_(64)
    array[0] = 3
    assert t[0].item() == 3


def test_a_storage_does_not_shrink_below_what_a_tensor_sees_and_stays_as_it_was():
    for device in ("cpu", "npu"):
        t = torch.arange(6.0, device=device)
        last = t.view(2, 3)[1]
        with pytest.raises(RuntimeError, match="storage offset 0 needs 24 bytes"):
            t.untyped_storage().resize_(8)
        assert t.untyped_storage().nbytes() == 24 and last.add_(1).tolist() == [4, 5, 6] == t[3:].tolist()


@pytest.mark.parametrize("share", [lambda array: (torch.from_numpy(array), array), lambda array: (
    t := torch.tensor(array), t.numpy())], ids=["from_numpy", "numpy"])
def test_what_is_done_to_an_array_object_does_not_reach_the_tensor_that_shares_its_memory(share):
    t, array = share(np.arange(6.0))
    tail = t[4:]
    array.shape = (2, 3)
    array.setflags(write=False)
    with pytest.raises(ValueError, match="resize"):
        array.resize(100)
    assert t.shape == (6,) and t.add_(1).tolist() == [1, 2, 3, 4, 5, 6] and tail.tolist() == [5, 6]
    with pytest.raises(ValueError, match="does not own its data"):
        t.numpy().resize(100, refcheck=False)
    assert array[1].tolist() == [4, 5, 6]


def test_storages_copy_fill_and_compare_sizes():
    a, b = torch.zeros(2), torch.ones(2)
    a.untyped_storage().copy_(b.untyped_storage())
    assert a.tolist() == [1, 1]
    a.storage.fill_(4)
    assert a.tolist() == [4, 4]
    with pytest.raises(RuntimeError, match="size mismatch"):
        a.untyped_storage().copy_(torch.zeros(3).untyped_storage())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to see memory from another process")
def test_shared_memory_is_seen_by_a_forked_process():
    t = torch.zeros(3)
    view = t[1:]
    assert not t.is_shared()
    assert t.share_memory_() is t and t.is_shared() and view.is_shared()
    child = os.fork()
    if child == 0:
        view.fill_(9)
        os._exit(0)
    os.waitpid(child, 0)
    assert t.tolist() == [0, 9, 9]


def test_shared_memory_closes_its_file_before_the_collector_finds_it_open():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch.zeros(3).share_memory_()
        gc.collect()
    assert not told


def test_a_storage_over_a_file_writes_to_it_when_shared(tmp_path):
    path = tmp_path / "data.bin"
    np.arange(4, dtype=np.float32).tofile(path)
    private = torch.UntypedStorage.from_file(str(path), shared=False, nbytes=16)
    private[0:4] = 0
    assert np.fromfile(path, np.float32).tolist() == [0, 1, 2, 3]
    shared = torch.UntypedStorage.from_file(str(path), shared=True, nbytes=32)
    shared.typed(torch.float32)[7] = 8.0
    assert np.fromfile(path, np.float32).tolist() == [0, 1, 2, 3, 0, 0, 0, 8]


@each_program(
    lambda t: [t.tensor(t.arange(6.0).untyped_storage(), dtype=dtype) for dtype in (t.float32, t.int32, t.complex64)],
    lambda t: [x.new(x.untyped_storage()) for x in (t.arange(6.0), t.arange(6))],
    lambda t: [make(t.arange(3.0).untyped_storage()) for make in (t.Tensor, t.FloatTensor, t.as_tensor)],
    lambda t: t.tensor(t.arange(6.0).untyped_storage(), dtype=t.float32, requires_grad=True),
)
def test_a_tensor_is_made_of_a_storage(program: Program) -> None:
    assert_same_outcome(program)


def test_a_storage_of_numbers_is_on_the_device_that_is_asked_for() -> None:
    assert torch.UntypedStorage([1, 2, 3], device="meta").data_ptr() == 0
    for device in ("cpu", "npu"):
        storage = torch.UntypedStorage([1, 2, 3], device=device)
        assert storage.device.type == device and storage.nbytes() == 3 and storage.tolist() == [1, 2, 3]
        filled = torch.empty(0, dtype=torch.uint8, device=device).set_(storage) + 1
        assert filled.device.type == device and filled.tolist() == [2, 3, 4]


def test_a_tensor_made_of_a_storage_sees_its_memory() -> None:
    t = torch.arange(4.0)
    for make in (torch.tensor, torch.as_tensor, torch.Tensor, torch.FloatTensor, t.new):
        assert make(t.storage()).data_ptr() == t.data_ptr()
        with pytest.raises(RuntimeError, match="Expected a Storage of type"):
            torch.tensor(t.storage(), dtype=torch.int32)
    with pytest.raises(RuntimeError, match="Expected a Storage of type"):
        torch.IntTensor(t.storage())


def test_meta_storages_have_a_size_and_no_data():
    storage = torch.empty(3, 5, device="meta").untyped_storage()
    assert storage.nbytes() == 60 and storage.data_ptr() == 0 and storage.device.type == "meta"
    with pytest.raises(NotImplementedError, match="meta"):
        storage.tolist()


def test_a_storage_knows_the_live_tensors_that_see_it_and_keeps_none_alive():
    t = torch.zeros(6)
    views = [t.view(2, 3), t[1:], t.detach()]
    assert {id(x) for x in t.untyped_storage().aliases()} == {id(t), *map(id, views)}
    storage = t.untyped_storage()
    del views
    gc.disable()
    try:
        assert [id(x) for x in storage.aliases()] == [id(t)]
        for _ in range(1000):
            t.view(-1)
        assert len(storage._aliases) < 64
        kept = [t[i:] for i in range(6) for _ in range(20)]
        assert [id(x) for x in storage.aliases()] == [id(t), *map(id, kept)]
    finally:
        gc.enable()


def test_a_result_that_lies_column_by_column_has_one_storage_of_its_size():
    factor = torch.linalg.cholesky(torch.tensor([[4.0, 2, 2], [2, 5, 3], [2, 3, 6]]))
    storage = factor.untyped_storage()
    assert factor.stride() == (1, 3) and storage is factor.mT.untyped_storage() and storage.nbytes() == 36
    assert factor.data_ptr() == storage.data_ptr() and factor._version == 0
    storage.typed(torch.float32)[1] = 7
    assert factor.tolist() == [[2, 0, 0], [7, 2, 0], [1, 1, 2]]
    assert torch.linalg.cholesky(torch.ones(0, 0)).untyped_storage().nbytes() == 0


@pytest.mark.parametrize("make", [
    lambda x: x.clone(), lambda x: x + x, lambda x: x.index_fill(0, torch.tensor([1]), 9.0),
    lambda x: torch.full_like(x, 3.0), lambda x: x.put(torch.tensor([0]), torch.tensor([9.0])), torch.ones_like,
    lambda x: x.index_put((torch.tensor([0]),), torch.tensor(9.0)), lambda x: x.clone().add_(1),
])
def test_the_storage_of_a_result_is_the_memory_that_the_result_is_in(make):
    out = make(torch.arange(24.0).view(2, 3, 4).permute(2, 0, 1))
    assert out.stride() == (1, 12, 4)
    out.untyped_storage().typed(torch.float32)[5] = 77
    assert out[1, 0, 1] == 77
    other = make(torch.arange(24.0).view(2, 3, 4).permute(2, 0, 1))
    view = other[:, 1]
    other.untyped_storage().typed(torch.float32)[13] = 78
    assert view[1, 0] == 78 and other.detach().data_ptr() == other.data_ptr()


def test_an_empty_storage_keeps_its_device_and_memory_with_a_dtype() -> None:
    storage = torch.UntypedStorage(0, device="meta")
    assert torch.storage.TypedStorage(wrap_storage=storage, dtype=torch.float32, _internal=True).untyped() is storage
    assert torch.empty(0, device="meta").storage().device.type == "meta"

"""Every field of the facts of memory: storages, blocks and segments, beside a calculation of its own."""
from __future__ import annotations

from typing import Any

import mindtorch as torch
from mindtorch import introspect
from mindtorch.introspect import memory
from mindtorch.introspect.memory import BlockFacts, MemoryFacts, SegmentFacts, StorageUse, cuda_segment


def test_the_memory_of_a_device_is_summed_up() -> None:
    uses = [StorageUse("cpu", 100 * i, 8 * i, 1, (), None) for i in range(1, 4)]
    blocks = tuple(BlockFacts(i, 1 << i, 0, "s", state) for i, state in enumerate(memory.STATES))
    facts = MemoryFacts("npu:0", tuple(uses), (SegmentFacts(0, 15, blocks), SegmentFacts(99, 20, ())))
    assert (facts.storage_bytes, facts.allocated, facts.reserved) == (48, 3, 35)
    cpu = MemoryFacts("cpu", ())
    assert (cpu.storage_bytes, cpu.free, cpu.total) == (0, 0, 0)


def test_a_segment_of_a_gpu_has_its_blocks_with_what_lies_in_them() -> None:
    snapshot = {"address": 1000, "total_size": 2048, "stream": 7, "blocks": [
        {"size": 512, "state": "active_allocated", "requested_size": 400}, {"size": 512, "state": "active_allocated"},
        {"size": 512, "state": "active_pending_free", "requested_size": 9}, {"size": 512, "state": "inactive"}]}
    uses = [StorageUse("cuda:0", address, 4, 1, (), None) for address in (1000, 1511, 1512 + 512, 3047)]
    found = cuda_segment(snapshot, "cuda:0", uses[:2] + uses[2:])
    assert (found.address, found.bytes) == (1000, 2048)
    assert [(b.address, b.bytes, b.requested, b.stream, b.state) for b in found.blocks] == [
        (1000, 512, 400, "cuda:0 stream 7", "in use"), (1512, 512, 0, "cuda:0 stream 7", "workspace"),
        (2024, 512, 0, "cuda:0 stream 7", "waiting"), (2536, 512, 0, "cuda:0 stream 7", "free")]
    assert [b.storages for b in found.blocks] == [tuple(uses[:2]), (), (), ()]


def test_what_lies_in_a_block_is_found_without_a_look_at_all_storages() -> None:
    looks = 0

    class Use(StorageUse):
        def __getattribute__(self, name: str) -> Any:
            nonlocal looks
            looks += name == "address"
            return super().__getattribute__(name)

    uses = [Use("cuda:0", 512 * i, 4, 1, (), None) for i in range(1000)]
    blocks = [{"size": 512, "state": "active_allocated"}] * 1000
    found = cuda_segment({"address": 0, "total_size": 512_000, "stream": 0, "blocks": blocks}, "cuda:0", uses)
    assert [block.storages for block in found.blocks] == [(use,) for use in uses]
    assert looks < 100 * len(uses)


def test_storages_are_listed_by_size_with_the_names_of_those_that_see_them() -> None:
    large, small = torch.ones(1_000_003), torch.ones(999_983)
    view, other = large[1:], large[2:]
    names = {id(large): "large", id(view): "view"}
    cpu = introspect.memory_facts(names)[0]
    mine = [use for use in cpu.storages if use.bytes in (large.nbytes, small.nbytes)]
    assert [(use.bytes, use.tensors, use.names, use.address) for use in mine] == [
        (large.nbytes, 3, ("large", "view"), large.data_ptr()), (small.nbytes, 1, (), small.data_ptr())]
    assert [use.number for use in mine] == [introspect.storage_number(large), None] and other.numel()
    sizes = [use.bytes for use in cpu.storages]
    assert sizes == sorted(sizes, reverse=True) and cpu.device == "cpu"


def test_memory_that_a_graph_keeps_is_counted_once() -> None:
    x = torch.ones(1013, requires_grad=True)
    y = x.exp()
    kept = (y * y).tanh().softmax(0)
    sizes = [(use.tensors, use.names) for use in introspect.memory_facts({id(y): "y", id(kept): "kept"})[0].storages
             if use.bytes == 4 * 1013]
    assert sorted(sizes) == [(1, ()), (1, ()), (2, ("kept",)), (2, ("y",))]


def test_what_was_recorded_only_has_no_memory() -> None:
    with torch.pipeline():
        pending = torch.ones(1_000_033) + 1
        uses = introspect.memory_facts({id(pending): "pending"})[0].storages
        assert not [use for use in uses if not use.address or "pending" in use.names]
    uses = introspect.memory_facts({id(pending): "pending"})[0].storages
    assert [use.bytes for use in uses if "pending" in use.names] == [pending.nbytes]

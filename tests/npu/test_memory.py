"""The caching allocator: statistics that add up, reuse in the order of streams, running out of memory and recovering.
"""
from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import pairwise

import pytest

import mindtorch as torch
from mindtorch import introspect
from mindtorch._backends.npu import finalize
from mindtorch._backends.npu.allocator import allocator_of, block_size
from mindtorch._backends.npu.runtime import get_runtime

simulator = torch.npu.simulator
MIB = 1 << 20


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """A device that was not used before, with 64 MiB."""
    finalize()
    before = simulator.memory_limit()
    simulator.memory_limit(64 * MIB)
    yield
    finalize()
    simulator.faults.clear()
    simulator.memory_limit(before)


def adds_up() -> None:
    """Blocks cover their segments, and the statistics are sums over them."""
    stats, segments = torch.npu.memory_stats(), allocator_of(get_runtime(0)).segments()
    for blocks in segments:
        for before, after in pairwise(blocks):
            assert before.ptr + before.size == after.ptr and after.before is before
            assert not (before.free and after.free)
    used = [block for blocks in segments for block in blocks if not block.free]
    assert stats["allocated_bytes.all.current"] == sum(block.size for block in used)
    assert stats["requested_bytes.all.current"] == sum(block.requested for block in used)
    assert stats["reserved_bytes.all.current"] == sum(block.size for blocks in segments for block in blocks)
    assert stats["allocation.all.current"] == len(used)
    active, inactive = (stats[f"{name}_bytes.all.current"] for name in ("active", "inactive"))
    assert active + inactive == stats["reserved_bytes.all.current"]
    for name in ("allocation", "allocated_bytes", "reserved_bytes", "segment"):
        assert stats[f"{name}.all.allocated"] - stats[f"{name}.all.freed"] == stats[f"{name}.all.current"]
        assert stats[f"{name}.all.peak"] >= stats[f"{name}.all.current"]


def test_statistics_add_up_through_a_random_life() -> None:
    generator = torch.Generator().manual_seed(0)
    kept: list[torch.Tensor] = []
    for _ in range(300):
        if kept and torch.rand(1, generator=generator).item() < 0.45:
            kept.pop(int(torch.randint(len(kept), (1,), generator=generator)))
        else:
            size = int(10 ** (5.5 * torch.rand(1, generator=generator).item()))
            kept.append(torch.empty(size, device="npu"))
        adds_up()
    kept.clear()
    assert torch.npu.memory_allocated() == 0
    torch.npu.empty_cache()
    assert torch.npu.memory_reserved() == 0 == simulator.live_bytes()["npu:0"]


def test_memory_is_rounded_to_512_bytes_with_the_tail_and_peaks_are_kept() -> None:
    a = torch.empty(1, device="npu")
    b = torch.empty(1000, device="npu")
    assert torch.npu.memory_allocated() == 512 + 4096
    del a, b
    assert torch.npu.memory_allocated() == 0 and torch.npu.max_memory_allocated() == 512 + 4096
    torch.npu.reset_peak_memory_stats()
    assert torch.npu.max_memory_allocated() == 0
    c = torch.empty(1, device="npu")
    torch.npu.reset_peak_memory_stats()
    assert torch.npu.max_memory_allocated() == 512 == torch.npu.memory_allocated() and c.numel() == 1


def test_freed_memory_is_reused_on_its_stream_and_not_on_another() -> None:
    a = torch.empty(1000, device="npu")
    address = a.data_ptr()
    del a
    with torch.npu.stream(torch.npu.Stream()):
        other = torch.empty(1000, device="npu")
    assert other.data_ptr() != address
    assert torch.empty(1000, device="npu").data_ptr() == address


def of_bytes(size: int) -> torch.Tensor:
    """A tensor whose block has this many bytes: 32 of them are the tail."""
    return torch.empty(size - 32, dtype=torch.uint8, device="npu")


@pytest.mark.parametrize(("nbytes", "block"), [(1, 512), (480, 512), (481, 1024), (512, 1024), (992, 1024),
                                               (1 << 20, (1 << 20) + 512)])
def test_each_piece_of_a_segment_has_the_tail_that_cann_wants(nbytes: int, block: int) -> None:
    """Its length, rounded up to 32 bytes, and 32 more; then blocks of 512 bytes."""
    first = torch.empty(nbytes, dtype=torch.uint8, device="npu")
    assert block_size(nbytes) == block == torch.npu.memory_allocated() and first.numel() == nbytes
    second = torch.empty(nbytes, dtype=torch.uint8, device="npu")
    assert second.data_ptr() - first.data_ptr() >= -(-nbytes // 32) * 32 + 32


def layout(unit: int) -> list[list[int]]:
    """The sizes of the blocks of each segment; those of free ones are negative."""
    segments = allocator_of(get_runtime(0)).segments()
    return [[(-1 if block.free else 1) * (block.size // unit) for block in blocks] for blocks in segments]


def test_a_device_that_nothing_has_used_has_statistics_of_zero() -> None:
    assert set(torch.npu.memory_stats().values()) == {0}


def test_free_memory_is_found_again_after_a_change_that_was_cut_short() -> None:
    allocator = allocator_of(get_runtime(0))
    kept, freed = of_bytes(512), of_bytes(1024)
    place = freed.data_ptr()
    del freed
    with pytest.raises(KeyboardInterrupt), allocator.changing():
        raise KeyboardInterrupt
    adds_up()
    assert of_bytes(1024).data_ptr() == place and kept.data_ptr() < place


def test_a_rest_of_512_bytes_is_split_off_a_block() -> None:
    first, second, third = of_bytes(512), of_bytes(1024), of_bytes(512)
    del second
    again = of_bytes(512)
    assert again.data_ptr() == first.data_ptr() + 512 and third.data_ptr() == first.data_ptr() + 1536
    assert layout(512) == [[1, 1, -1, 1, -(4096 - 4)]]


def test_a_rest_of_1_mib_is_split_off_a_large_block_and_less_is_not() -> None:
    kept, large = of_bytes(9 * MIB), of_bytes(10 * MIB)
    assert layout(512) == [[18 << 10, 20 << 10, -(2 << 10)]]
    del large
    large = of_bytes(10 * MIB + 512)
    assert layout(512) == [[18 << 10, 22 << 10]] and kept.numel() + large.numel() == 19 * MIB + 448


@pytest.mark.parametrize(("huge", "asked", "blocks"), [
    (26, 6, [[-26], [6, -14]]), (26, 7, [[7, -19]]), (30, 9, [[-30], [9, -11]]), (30, 10, [[10, -20]]),
])
def test_a_huge_block_is_not_broken_up_for_little(huge: int, asked: int, blocks: list[list[int]]) -> None:
    """Where 20 MiB or more of it would be left, it is kept for requests of 10 MiB or more."""
    of_bytes(huge * MIB)
    part = of_bytes(asked * MIB)
    assert layout(MIB) == blocks and part.numel() == asked * MIB - 32


def test_where_a_whole_segment_does_not_fit_one_of_the_bare_size_may() -> None:
    kept = of_bytes(50 * MIB), of_bytes(5 * MIB)
    assert layout(MIB) == [[50], [5]] and torch.npu.memory_stats()["num_alloc_retries"] == 0 < len(kept)


def test_addresses_are_aligned_to_64_bytes() -> None:
    assert all(torch.empty(n, dtype=torch.uint8, device="npu").data_ptr() % 64 == 0 for n in range(1, 200, 7))


def test_out_of_memory_says_what_was_asked_for_and_in_use_and_passes() -> None:
    kept = torch.empty(30 * MIB // 4, device="npu")
    with pytest.raises(torch.OutOfMemoryError) as caught:
        torch.empty(50 * MIB // 4, device="npu")
    message = str(caught.value)
    assert "NPU out of memory. Tried to allocate 50.00 MiB." in message
    assert "total capacity of 64.00 MiB" in message and "30.00 MiB is allocated" in message
    facts = caught.value._about.facts
    assert not facts["host"] and facts["asked"] == 50 * MIB and facts["allocated"] == 30 * MIB + 512
    assert torch.npu.memory_stats()["num_ooms"] == 1
    del kept
    assert torch.empty(50 * MIB // 4, device="npu").fill_(1).sum().item() == 50 * MIB // 4
    adds_up()


def test_cached_memory_is_given_back_before_memory_is_said_to_be_out() -> None:
    for size in (20, 30, 40, 50):
        torch.empty(size * MIB // 4, device="npu")
    assert torch.npu.memory_stats()["num_ooms"] == 0 < torch.npu.memory_stats()["num_alloc_retries"]


def test_an_injected_failure_of_the_device_is_an_out_of_memory_error() -> None:
    simulator.faults.out_of_memory(times=4)  # a segment and the bare size, before and after giving back
    with pytest.raises(torch.OutOfMemoryError):
        while True:
            torch.empty(4 * MIB, device="npu").data_ptr()
            torch.npu.empty_cache()
    simulator.faults.clear()
    assert torch.ones(3, device="npu").tolist() == [1, 1, 1]


@pytest.mark.parametrize(("code", "error"), [(207001, torch.OutOfMemoryError), (207018, torch.OutOfMemoryError),
                                             (507899, torch.npu.AclError), (107002, torch.npu.AclError)])
def test_only_the_codes_that_say_so_are_out_of_memory(code: int, error: type[Exception]) -> None:
    simulator.faults.fail_next("malloc", times=4, code=code)
    with pytest.raises(error) as caught:
        torch.empty(4 * MIB, device="npu")
    assert caught.type is error
    simulator.faults.clear()
    assert torch.ones(3, device="npu").tolist() == [1, 1, 1]


def test_a_tensor_recorded_on_a_second_stream_is_not_reused_before_that_stream_has_done() -> None:
    side = torch.npu.Stream()
    a = torch.ones(1000, device="npu")
    torch.npu.synchronize()
    address = a.data_ptr()
    with simulator.paused(side):
        with torch.npu.stream(side):
            total = a.sum()
        a.record_stream(side)
        del a
        again = torch.empty(1000, device="npu")
        assert again.data_ptr() != address
        stats = torch.npu.memory_stats()
        assert stats["active_bytes.all.current"] - stats["allocated_bytes.all.current"] >= 4000
    side.synchronize()
    assert total.item() == 1000
    assert torch.empty(1000, device="npu").data_ptr() == address


def test_recording_a_tensor_on_its_own_stream_defers_nothing() -> None:
    a = torch.ones(1000, device="npu")
    torch.npu.synchronize()
    address = a.data_ptr()
    with simulator.paused():
        a.add_(1)
        a.record_stream(torch.npu.current_stream())
        del a
        assert torch.empty(1000, device="npu").data_ptr() == address


def test_free_and_total_memory_are_the_device_s() -> None:
    free, total = torch.npu.mem_get_info()
    assert free == total == 64 * MIB
    kept = torch.empty(1, device="npu")
    assert torch.npu.mem_get_info() == (62 * MIB, 64 * MIB) and kept.numel() == 1


def test_storages_grow_keep_their_bytes_and_are_copied() -> None:
    a = torch.arange(4.0).to("npu")
    storage = a.untyped_storage()
    storage.resize_(32)
    assert storage.nbytes() == 32 and a.tolist() == [0, 1, 2, 3]
    assert storage.clone().tolist() == storage.tolist() and storage.tolist()[16:] == [0] * 16
    with pytest.raises(NotImplementedError, match="npu"):
        a.storage.data
    assert storage.cpu().device.type == "cpu"


def _held():
    gc.collect()
    torch.npu.synchronize()
    return torch.npu.memory_stats()["reserved_bytes.all.current"], sum(simulator.live_handles().values())


@pytest.mark.parametrize("fault", [None, "create_event", "record_event"])
def test_streams_that_are_dropped_leave_no_memory_and_do_not_disturb_others(fault):
    before = None
    for turn in range(6):
        side, main = torch.npu.Stream(), torch.npu.default_stream()
        with torch.npu.stream(side):
            made_there = torch.ones(1000, device="npu") * 2
        made_here = torch.ones(1000, device="npu")
        made_there.record_stream(main)
        made_here.record_stream(side)
        torch.npu.synchronize()
        del side, made_there, made_here
        if fault is not None:
            simulator.faults.fail_next(fault)
        assert (torch.ones(3, device="npu") + 1).tolist() == [2, 2, 2]  # that takes the memory in
        simulator.faults.clear()
        torch.npu.Stream()
        before = _held() if turn == 1 else before
    torch.npu.Stream()
    assert _held() == before and torch.npu.memory_allocated() == 0


def test_the_allocator_works_after_recursion_without_end() -> None:
    x = torch.ones(3, device="npu")

    def without_end() -> torch.Tensor:
        return torch.empty(100, device="npu") + without_end()

    for _ in range(5):
        with pytest.raises(RecursionError):
            without_end()
    gc.collect()
    torch.npu.synchronize()
    torch.npu.empty_cache()
    assert torch.npu.memory_allocated() == 512 and (x + 1).tolist() == [2, 2, 2]


def test_facts_of_a_tensor_whose_device_was_reset_say_that_it_lies_nowhere() -> None:
    x = torch.ones(4, device="npu")
    torch.npu.synchronize()
    finalize()
    assert introspect.tensor_facts(x).address == introspect.storage_facts(x).address == 0
    assert "npu:0" not in [facts.device for facts in introspect.memory_facts({id(x): "x"})]
    with pytest.raises(RuntimeError, match="npu:0 was reset after the tensor was made"):
        x.data_ptr()

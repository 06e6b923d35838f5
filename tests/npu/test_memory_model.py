"""The allocator beside a model of it: in random lives, and after changes that were cut short anywhere."""
from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest

import mindtorch as torch
from mindtorch._backends.npu import allocator as module, finalize
from mindtorch._backends.npu.allocator import Allocator, Block, Owner, allocator_of, readable
from mindtorch._backends.npu.runtime import Queue, get_runtime
from mindtorch._dispatch import observers

simulator = torch.npu.simulator
KIB, MIB = 1 << 10, 1 << 20
COUNTED = ("allocation", "segment", "allocated_bytes", "requested_bytes", "reserved_bytes")


@pytest.fixture
def allocator() -> Iterator[Allocator]:
    """That of a device which nothing has used, with 64 MiB."""
    finalize()
    before = simulator.memory_limit()
    simulator.memory_limit(64 * MIB)
    yield allocator_of(get_runtime(0))
    simulator.faults.clear()
    finalize()
    simulator.memory_limit(before)


def is_sound(allocator: Allocator) -> None:
    """Blocks cover the segments, each free one is in the pool of its stream and kind alone, and the sums are right."""
    segments = allocator.segments()
    stats = allocator.statistics()
    assert sorted(segments, key=lambda blocks: blocks[0].ptr) == segments
    waiting = {id(block) for block in allocator._waiting}
    free: dict[tuple[Queue, bool], list[Block]] = {}
    for blocks in segments:
        first, length = allocator._segments[blocks[0].ptr]
        assert blocks[0] is first and first.before is None and blocks[-1].after is None
        assert sum(block.size for block in blocks) == length
        for before, after in pairwise(blocks):
            assert before.ptr + before.size == after.ptr and before.after is after and after.before is before
            assert not (before.free and after.free)
        for block in blocks:
            assert block.segment == first.ptr and (block.queue, block.small) == (first.queue, first.small)
            if block.free:
                assert (block.users, block.events, block.writer, block.owner) == (None, None, None, None)
                free.setdefault((block.queue, block.small), []).append(block)
            elif id(block) not in waiting:
                assert allocator.live[block.ptr] is block and block.owner is not None and block.owner.of is block
                assert allocator.block_at(block.ptr) is allocator.block_at(block.ptr + block.size - 1) is block
    pools = {key: pool for key, pool in allocator._pools.items() if pool}
    assert pools == {key: sorted(pool, key=lambda block: (block.size, block.ptr)) for key, pool in free.items()}
    used = [block for blocks in segments for block in blocks if not block.free and id(block) not in waiting]
    assert len(allocator.live) == len(used)
    found = {"allocation": len(used), "segment": len(segments), "allocated_bytes": sum(block.size for block in used),
             "requested_bytes": sum(block.requested for block in used),
             "reserved_bytes": sum(block.size for blocks in segments for block in blocks)}
    assert {name: stats[f"{name}.all.current"] for name in COUNTED} == found
    late = sum(block.size for block in allocator._waiting)
    assert stats["active_bytes.all.current"] == found["allocated_bytes"] + late
    assert stats["inactive_bytes.all.current"] == found["reserved_bytes"] - found["allocated_bytes"] - late
    assert simulator.live_bytes()["npu:0"] == found["reserved_bytes"]


class Model:
    """What the statistics must say, counted from the requests alone."""

    def __init__(self) -> None:
        self.now = dict.fromkeys(("allocation", "allocated_bytes", "requested_bytes"), 0)
        self.peak, self.total = dict(self.now), dict(self.now)

    def change(self, sign: int, block: Block, nbytes: int) -> None:
        for name, step in (("allocation", 1), ("allocated_bytes", block.size), ("requested_bytes", nbytes)):
            self.now[name] += sign * step
            if sign > 0:
                self.total[name] += step
                self.peak[name] = max(self.peak[name], self.now[name])

    def check(self, stats: dict[str, int]) -> None:
        for name, now in self.now.items():
            total = self.total[name]
            assert [stats[f"{name}.all.{what}"] for what in ("current", "peak", "allocated", "freed")] == [
                now, self.peak[name], total, total - now], name


def smallest(allocator: Allocator, nbytes: int, queue: Queue) -> int | None:
    """The address of the free block that a request of a stream has to get, if there is one."""
    size = module.block_size(nbytes)
    fitting = [block for blocks in allocator.segments() for block in blocks if block.free and block.queue is queue
               and block.size >= size and block.small == (size <= MIB)]
    best = min(fitting, key=lambda block: (block.size, block.ptr), default=None)
    if best is None or (not best.small and best.size - size >= 20 * MIB and size < 10 * MIB):
        return None
    return best.ptr


@pytest.mark.parametrize("seed", range(4))
def test_a_random_life_on_two_streams_is_that_of_the_model(allocator: Allocator, seed: int) -> None:
    drawn, model = random.Random(seed), Model()
    queues = [get_runtime(0).queue, torch.npu.Stream().queue]
    kept: list[tuple[Owner, Block, int]] = []
    for _ in range(120):
        action = drawn.random()
        if action < 0.4 and kept:
            owner, block, nbytes = kept.pop(drawn.randrange(len(kept)))
            del owner
            model.change(-1, block, nbytes)
            del block
        elif action < 0.45:
            allocator.empty_cache()
            assert all(len(blocks) > 1 or not blocks[0].free for blocks in allocator.segments())
        else:
            nbytes, queue = int(2 ** drawn.uniform(0, 23.4)), drawn.choice(queues)
            expected, owner = smallest(allocator, nbytes, queue), Owner()
            try:
                block = allocator.allocate(nbytes, queue, owner)
            except torch.OutOfMemoryError:
                continue
            kept.append((owner, block, nbytes))
            model.change(1, block, nbytes)
            assert expected in (None, block.ptr) and block.queue is queue and block.requested == nbytes
            assert module.block_size(nbytes) <= block.size and (block.small or block.size - MIB < max(
                module.block_size(nbytes), 2 * MIB))
            del owner, block
        is_sound(allocator)
        model.check(allocator.statistics())


#: Where a change may be cut short: functions of the allocator and of its module.
STEPS = [(Allocator, name) for name in ("_count", "_pool", "_leave_pool", "_merge", "_keep", "_split", "_cached",
                                        "_new_segment", "_take_back", "_return_segment")]


class Cut:
    """Raises before, or after, a call of the allocator's own functions: the one of this number."""

    def __init__(self, patch: pytest.MonkeyPatch, number: int, after: bool) -> None:
        self.left, self.after = number, after
        for owner, name in STEPS:
            patch.setattr(owner, name, self.cut(getattr(owner, name)))
        patch.setattr(module, "insort", self.cut(module.insort))

    def cut(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            if not self.left and not self.after:
                raise MemoryError
            now, result = not self.left, function(*args, **kwargs)
            if now:
                raise MemoryError
            return result

        return call


def life(allocator: Allocator, kept: list[Owner]) -> None:
    """Blocks are split off, join both of their neighbours, and go back as whole segments."""
    queue = get_runtime(0).queue

    def take(nbytes: int) -> None:
        owner = Owner()
        allocator.allocate(nbytes, queue, owner)
        kept.append(owner)

    for nbytes in (100, 200, 300, 400, 3 * MIB, 4 * MIB):
        take(nbytes)
    for i in (1, 2, 0, 1):
        del kept[i]
        take(700)
    del kept[:]
    allocator.empty_cache()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_change_that_is_cut_short_anywhere_is_mended_by_the_next(allocator: Allocator, after: bool) -> None:
    number = 0
    while True:
        number += 3  # every third place, another third than after the other steps
        kept: list[Owner] = []
        with pytest.MonkeyPatch.context() as patch:
            cut = Cut(patch, number - after, after)
            with suppress(MemoryError):
                life(allocator, kept)
        if cut.left > 0:
            break
        another = Owner()
        block = allocator.allocate(600, get_runtime(0).queue, another)
        assert not block.free and allocator.live[block.ptr] is block
        for _ in allocator._segments.copy():
            is_sound_but_for_lost_owners(allocator, kept)
        del another, block
        kept.clear()
        is_sound(allocator)
        assert torch.npu.memory_allocated() == 0
        allocator.empty_cache()
        assert allocator.segments() == [] and torch.npu.memory_reserved() == 0
    assert number > 60


def is_sound_but_for_lost_owners(allocator: Allocator, kept: list[Owner]) -> None:
    is_sound(allocator)
    assert {id(block.owner()) for block in allocator.live.values() if block.owner is not None} >= set(map(id, kept))


# -- several streams ---------------------------------------------------------------------------------------------------

def test_memory_of_two_streams_waits_for_the_slower_one_and_says_so(allocator: Allocator) -> None:
    """An activity tells of it with the bytes and the address, when both have done with it."""
    slow, quick = torch.npu.Stream(), torch.npu.Stream()
    shared = torch.ones(1000, device="npu")
    torch.npu.synchronize()
    block = allocator.block_at(shared.data_ptr())
    assert block is not None
    with simulator.paused(slow):
        for stream in slow, quick:
            with stream:
                torch.ones(2, device="npu")
            shared.record_stream(stream)
        assert block.users == {slow.queue, quick.queue}
        del shared
        assert allocator.statistics()["active_bytes.all.current"] >= 4096 and not block.free
        assert block.users == set() and block.events is not None and block in allocator._waiting
        quick.synchronize()
        assert allocator.statistics()["active_bytes.all.current"] >= 4096 and len(block.events) == 1
    slow.synchronize()
    size = block.size  # before it joins its neighbour
    freed: list[Any] = []
    with observers.subscribed(lambda event: None, freed.append):
        allocator.statistics()
    assert block.free and allocator._waiting == []
    assert [(event.kind, event.name, event.stream, event.duration) for event in freed] == [
        ("free", f"{size} bytes at {block.ptr:#x}", 0, 0)]
    is_sound(allocator)


def test_an_event_that_cannot_be_made_is_made_the_next_time_and_memory_waits_meanwhile(allocator: Allocator) -> None:
    side = torch.npu.Stream()
    shared = torch.ones(1000, device="npu")
    torch.npu.synchronize()
    block = allocator.block_at(shared.data_ptr())
    assert block is not None
    shared.record_stream(side)
    del shared
    simulator.faults.fail_next("create_event", times=2)
    for _ in range(2):
        allocator.statistics()
        assert block.users == {side.queue} and block.events == [] and not block.free
    allocator.statistics()
    assert block.users == set()
    side.synchronize()
    allocator.statistics()
    assert block.free and block.users is None


def test_what_waits_is_free_after_the_device_was_waited_for_and_its_events_are_gone(allocator: Allocator) -> None:
    side = torch.npu.Stream()
    shared = torch.ones(1000, device="npu")
    torch.npu.synchronize()
    with simulator.paused(side):
        with side:
            torch.ones(2, device="npu")
        shared.record_stream(side)
        del shared
        allocator.statistics()
        assert len(allocator._waiting) == 1
    events = simulator.live_handles().get("aclrtEvent", 0)
    allocator.empty_cache()
    assert allocator._waiting == [] and simulator.live_handles().get("aclrtEvent", 0) == events - 1
    is_sound(allocator)


@pytest.mark.parametrize("is_used", [False, True])
def test_the_memory_of_a_stream_that_goes_is_given_back_as_soon_as_nobody_has_it(
    allocator: Allocator, is_used: bool
) -> None:
    stream, owner = torch.npu.Stream(), Owner()
    allocator.allocate(100, stream.queue, owner)
    large = Owner()
    allocator.allocate(3 * MIB, stream.queue, large)
    del large
    queue = stream.queue
    if not is_used:
        del owner
    allocator.segments()
    assert torch.npu.memory_reserved() == 22 * MIB
    del stream
    torch.npu.Stream()
    assert queue.is_destroyed and torch.npu.memory_reserved() == (2 * MIB if is_used else 0)
    owner = None
    allocator.segments()
    assert torch.npu.memory_reserved() == 0 and not allocator._pools
    is_sound(allocator)


def test_all_is_given_back_although_something_cannot_be(allocator: Allocator) -> None:
    owners = [Owner() for _ in range(3)]
    for owner in owners:
        allocator.allocate(11 * MIB, get_runtime(0).queue, owner)
    simulator.faults.fail_next("free", times=2, code=507899)
    with pytest.raises(torch.npu.AclError, match="aclrtFree failed on npu:0"):
        allocator.release_all()
    assert allocator._segments == {} and allocator.live == {} and allocator._pools == {}
    owners.clear()
    assert allocator.segments() == []
    simulator.reset()


def test_the_stream_of_freed_memory_knows_that_it_may_still_use_it(allocator: Allocator) -> None:
    queue, a = get_runtime(0).queue, torch.ones(1000, device="npu")
    torch.npu.synchronize()
    block = allocator.block_at(a.data_ptr())
    assert block is not None
    with simulator.paused():
        a.add_(1)
        ptr, size = block.ptr, block.size
        del a
        allocator.segments()
        assert queue.freed == {ptr: (queue.enqueued, size)}
    torch.npu.synchronize()
    assert queue.freed == {}
    b = torch.ones(1000, device="npu")
    torch.npu.synchronize()
    del b
    allocator.segments()
    assert queue.freed == {}  # nothing was pending


def test_there_is_a_block_at_each_address_of_it_and_at_no_other(allocator: Allocator) -> None:
    first, second = Owner(), Owner()
    blocks = [allocator.allocate(600, get_runtime(0).queue, owner) for owner in (first, second)]
    low, high = sorted(blocks, key=lambda block: block.ptr)
    assert [allocator.block_at(address) for address in (low.ptr - 1, low.ptr, high.ptr - 1, high.ptr,
                                                        high.ptr + high.size - 1, high.ptr + high.size)] == [
        None, low, low, high, high, None]


def test_a_device_that_is_started_anew_has_another_allocator(allocator: Allocator) -> None:
    assert allocator_of(get_runtime(0)) is allocator
    old = get_runtime(0)
    kept = Owner()
    allocator.allocate(100, old.queue, kept)
    finalize()
    assert allocator.live == {} and allocator._segments == {}
    del kept
    new = allocator_of(get_runtime(0))
    assert new is not allocator and old not in module._allocators and new.statistics()["allocation.all.current"] == 0


@pytest.mark.parametrize(("nbytes", "text"), [
    (0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.00 KiB"), (MIB - 1, "1024.00 KiB"), (MIB, "1.00 MiB"),
    (5 * MIB // 2, "2.50 MiB"), (1 << 30, "1.00 GiB"), (3 << 29, "1.50 GiB"),
])
def test_bytes_are_written_as_pytorch_writes_them(nbytes: int, text: str) -> None:
    assert readable(nbytes) == text


@pytest.mark.parametrize("is_known", [True, False])
def test_the_error_of_no_memory_has_all_the_numbers(allocator: Allocator, is_known: bool) -> None:
    kept, owner = Owner(), Owner()
    allocator.allocate(3 * MIB, get_runtime(0).queue, kept)
    if not is_known:
        simulator.faults.fail_next("get_mem_info", code=507899)
    with pytest.raises(torch.OutOfMemoryError) as caught:
        allocator.allocate(100 * MIB, get_runtime(0).queue, owner)
    capacity = "NPU 0 has a total capacity of 64.00 MiB of which 44.00 MiB is free. " if is_known else ""
    used = module.block_size(3 * MIB)
    assert str(caught.value) == (
        f"NPU out of memory. Tried to allocate 100.00 MiB. {capacity}Of the allocated memory 3.00 MiB is allocated by "
        f"mindtorch in 1 blocks, and 17.00 MiB is reserved by mindtorch but unallocated.")
    assert caught.value._about.facts == {
        "asked": 100 * MIB, "host": False, "total": 64 * MIB if is_known else None,
        "free": 44 * MIB if is_known else None, "allocated": used, "kept": 20 * MIB - used}
    assert caught.value._about.kind == "out of memory"
    stats = allocator.statistics()
    assert (stats["num_alloc_retries"], stats["num_ooms"]) == (1, 1)

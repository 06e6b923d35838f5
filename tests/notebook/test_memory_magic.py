"""Memory as facts, as a picture and as a magic; and cards of NPU tensors, which never wait."""
from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import mindtorch as torch
from mindtorch import introspect, viz
from mindtorch._backends.npu import finalize
from mindtorch._backends.npu.allocator import allocator_of
from mindtorch._backends.npu.runtime import get_runtime

from ..npu.test_asynchrony import ones

simulator = torch.npu.simulator


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """A device that was not used before, on no stream: what others left there would be in the facts, too."""
    finalize()
    yield
    torch.npu.synchronize()


def facts_of(device: str = "npu:0", **tensors: torch.Tensor) -> introspect.MemoryFacts:
    found = introspect.memory_facts({id(tensor): name for name, tensor in tensors.items()})
    return next(facts for facts in found if facts.device == device)


def holder(facts: introspect.MemoryFacts, name: str) -> introspect.BlockFacts:
    """The block in which a tensor's storage lies."""
    block, = [b for s in facts.segments for b in s.blocks if any(name in storage.names for storage in b.storages)]
    return block


# -- facts -----------------------------------------------------------------------------------------------------------


def test_totals_are_the_allocators() -> None:
    tensors = [ones(n) for n in (1, 1000, 400_000, 3_000_000)]
    del tensors[1]
    facts, stats = facts_of(), torch.npu.memory_stats()
    assert facts.allocated == stats["allocated_bytes.all.current"] == torch.npu.memory_allocated() > 0
    assert facts.reserved == stats["reserved_bytes.all.current"] == torch.npu.memory_reserved()
    blocks = [block for segment in facts.segments for block in segment.blocks]
    in_use = [block for block in blocks if block.state in ("in use", "workspace")]
    assert len(facts.segments) == stats["segment.all.current"] and len(in_use) == stats["allocation.all.current"]
    assert sum(block.requested for block in in_use) == stats["requested_bytes.all.current"]
    assert dict(facts.statistics) == stats and (facts.free, facts.total) == torch.npu.mem_get_info()


def test_blocks_cover_their_segment_without_gaps() -> None:
    tensors = [ones(200) for _ in range(5)]
    del tensors[::2]
    for segment in facts_of().segments:
        ends = [block.address + block.bytes for block in segment.blocks]
        assert [block.address for block in segment.blocks] == [segment.address, *ends[:-1]]
        assert ends[-1] == segment.address + segment.bytes


def test_a_block_knows_the_tensors_in_it() -> None:
    x = ones(4, 4)
    view = x[1:]
    block = holder(facts_of(x=x, view=view), "x")
    storage, = block.storages
    assert (storage.names, storage.tensors, storage.bytes) == (("view", "x"), 2, 64)
    assert storage.number == introspect.storage_number(x) and storage.address == x.data_ptr()
    assert (block.state, block.requested, block.bytes, block.stream) == ("in use", 64, 512, "npu:0 stream 0")


def test_a_block_in_which_no_storage_lies_is_a_workspace() -> None:
    device = get_runtime(0)
    owner = threading.Event()  # any object to which there are weak references
    block = allocator_of(device).allocate(1000, device.queue, owner)
    found, = [b for segment in facts_of().segments for b in segment.blocks if b.address == block.ptr]
    del owner
    assert (found.state, found.requested, found.bytes, found.storages) == ("workspace", 1000, 1536, ())


def test_storages_without_a_name_are_found_too() -> None:
    kept = [ones(77)]
    nameless = [storage for storage in facts_of().storages if storage.bytes == 77 * 4]
    assert [(storage.tensors, storage.names, storage.number) for storage in nameless] == [(1, (), None)]
    storage = kept[0].untyped_storage()
    kept.clear()
    assert [s.tensors for s in facts_of().storages if s.address == storage.data_ptr()] == [0]


def test_deferred_frees_are_listed_until_the_stream_is_synchronised() -> None:
    a = ones(4)
    with simulator.paused(torch.npu.default_stream()):
        b = a + 1
        c = b * 2
        address = b.data_ptr()
        del b
        deferred, = facts_of().deferred
        assert deferred == introspect.DeferredFree(address, 512, "npu:0 stream 0", 2)
        assert sum(b.deferred for s in facts_of().segments for b in s.blocks if b.state == "free") == 512
    torch.npu.synchronize()
    assert facts_of().deferred == () and c.tolist() == [4] * 4


def test_memory_that_another_stream_uses_waits_for_it() -> None:
    side = torch.npu.Stream()
    a = ones(4)
    with simulator.paused(side):
        with torch.npu.stream(side):
            b = a + 1
        a.record_stream(side)
        address = a.data_ptr()
        del a
        facts = facts_of()
        waiting, = [b for s in facts.segments for b in s.blocks if b.state == "waiting"]
        assert waiting.address == address and facts.allocated == torch.npu.memory_allocated()
    side.synchronize()
    assert not [b for s in facts_of().segments for b in s.blocks if b.state == "waiting"] and b.tolist() == [2] * 4


def test_the_cpus_storages_are_counted_once_each() -> None:
    before = facts_of("cpu").storage_bytes
    x = torch.zeros(1000)
    halves, read_only = x[:500], x.view(10, 100)
    facts = facts_of("cpu", x=x, halves=halves)
    assert facts.storage_bytes - before == 4000 and not facts.segments
    mine, = [storage for storage in facts.storages if storage.names]
    assert (mine.names, mine.tensors, mine.address) == (("halves", "x"), 3, x.data_ptr())
    assert read_only.shape == (10, 100)


def test_facts_wait_for_nothing_and_keep_nothing_alive() -> None:
    a = ones(4)
    with simulator.paused(torch.npu.default_stream()):
        b = a + 1
        facts = facts_of(b=b)
        assert holder(facts, "b").state == "in use" and get_runtime(0).queue.pending() == ["aclnnAdds"]
        gone = weakref.ref(b)
        del b
        assert gone() is None


# -- pictures and the magic ------------------------------------------------------------------------------------------


def test_the_picture_names_tensors_blocks_and_frees() -> None:
    a = ones(4)
    with simulator.paused(torch.npu.default_stream()):
        b = a + 1
        c = b * 2
        del b
        facts = introspect.memory_facts({id(a): "a<b>", id(c): "c"})
        page, text = viz.memory_page(facts), viz.memory_text(facts)
    letter = viz.palette.storage_letter(introspect.storage_number(c))
    used = next(each for each in facts if each.allocated)
    for part, size in (("allocated", used.allocated), ("free", used.free)):
        assert f'title="{part}: {viz.palette.size_text(size)}"' in page
    assert f">{letter}</span>" in page and "holds c" in page and "a&lt;b&gt;" in page and "a<b>" not in page
    assert "freed by the host, still needed by pending work" in page and "2 operators" in page and "<script" not in page
    assert f"{letter:>3}" in text and "deferred frees: 512 B in 1 piece, after 2 operators of npu:0 stream 0" in text
    allocated = viz.palette.size_text(torch.npu.memory_allocated())
    assert f"{allocated} allocated of 2 MiB reserved" in page and f"{allocated} allocated of 2 MiB reserved" in text
    torch.npu.synchronize()


def test_a_thousand_tensors_make_no_huge_picture() -> None:
    kept = [torch.ones(3, device="npu") for _ in range(1000)]
    facts = introspect.memory_facts({id(tensor): f"x[{i}]" for i, tensor in enumerate(kept)})
    assert len(viz.memory_page(facts)) < 64 * 1024 and len(viz.memory_text(facts).splitlines()) < 100


def test_the_magic_shows_all_devices_or_one(shell: InteractiveShell) -> None:
    shell.user_ns["mine"] = ones(4)
    picture = shell.run_line_magic("memory", "")
    assert repr(picture).startswith("cpu: ") and "npu:0: " in repr(picture) and "mine" in repr(picture)
    assert "mine" in picture._repr_html_()
    assert repr(shell.run_line_magic("memory", "--device npu:0")).startswith("npu:0: ")
    assert "npu:0: " not in repr(shell.run_line_magic("memory", "--device cpu"))
    assert repr(shell.run_line_magic("memory", "--device npu")).startswith("npu:0: ")


@pytest.mark.parametrize(("line", "message"), [
    ("--device tpu", "%memory: .*tpu"), ("--device npu:7", "no memory in use on npu:7, but on cpu, npu:0"),
    ("--size", "has no option --size"),
])
def test_wrong_use_is_explained(shell: InteractiveShell, line: str, message: str) -> None:
    ones(1)
    with pytest.raises(UsageError, match=message):
        shell.run_line_magic("memory", line)


# -- cards of NPU tensors --------------------------------------------------------------------------------------------


def test_the_card_of_a_pending_tensor_says_what_it_waits_for_and_does_not_wait() -> None:
    a, queue = ones(4), get_runtime(0).queue
    with simulator.paused(torch.npu.default_stream()):
        b = (a + 1).exp()
        pending = introspect.tensor_facts(b).pending
        assert (pending.operator, pending.before, pending.queue) == ("aclnnExp", ("aclnnAdds",), "on npu:0 stream 0")
        assert introspect.values_without_waiting(b) is None
        card = viz.tensor_card(b)
        assert "pending" in card and "waits for 2 operators" in card and "npu:0 stream 0" in card and "aclnnExp" in card
        assert queue.pending() == ["aclnnAdds", "aclnnExp"]
    torch.npu.synchronize()
    assert introspect.tensor_facts(b).pending is None


def test_what_a_failed_operator_and_those_after_it_should_have_written_is_invalid() -> None:
    x = ones(3)
    before = x * 2
    simulator.faults.fail("aclnnExp", phase="async")
    failed = x.exp()
    after, elsewhere = x * 3, torch.npu.Stream()
    with torch.npu.stream(elsewhere):
        other = x * 4
    with pytest.raises(RuntimeError, match="aclnnExp failed"):
        torch.npu.synchronize()
    simulator.faults.clear()
    for tensor in (failed, failed[1:], after):
        facts = introspect.tensor_facts(tensor)
        assert "aclnnExp failed" in facts.pending.error and facts.statistics is None
        assert "⚠ invalid" in viz.tensor_card(tensor) and "aclnnExp failed" in viz.tensor_card(tensor)
        assert introspect.cells(tensor, [(0,)])[0].value is None
    for tensor, value in ((x, 1), (before, 2), (other, 4)):
        assert (
            introspect.tensor_facts(tensor).pending is None
            and introspect.tensor_facts(tensor).statistics.maximum == value
        )
    failed.fill_(5)
    torch.npu.synchronize()
    assert introspect.tensor_facts(failed).statistics.minimum == 5 and "all 5" in viz.tensor_card(failed)


def test_values_that_are_there_are_shown_although_the_stream_has_other_work() -> None:
    a, queue = ones(2, 3), get_runtime(0).queue
    with simulator.paused(torch.npu.default_stream()):
        a + 1
        facts = introspect.tensor_facts(a)
        assert facts.pending is None and facts.statistics.mean == 1.0
        assert [cell.value for cell in introspect.cells(a, [(0, 0), (1, 2)])] == [1.0, 1.0]
        assert queue.pending() == ["aclnnAdds"]


def test_values_of_views_are_read_where_they_lie() -> None:
    x = torch.arange(24.0).view(2, 3, 4)
    on_npu = x.to("npu")
    for look in (
        lambda t: t, lambda t: t[1], lambda t: t[:, 1:, ::2], lambda t: t.permute(2, 0, 1), lambda t: t[1, 2, 3],
        lambda t: t[0, 0].expand(5, 4), lambda t: t[:, :0],
    ):
        np.testing.assert_array_equal(introspect.values_without_waiting(look(on_npu)), look(x).numpy())


def test_a_tensor_written_on_another_stream_waits_for_that_one() -> None:
    a, side = ones(4), torch.npu.Stream()
    with simulator.paused(side):
        with torch.npu.stream(side):
            a.mul_(3)
        assert introspect.tensor_facts(a).pending.queue == f"on npu:0 stream {side.stream_id}"
    side.synchronize()
    assert introspect.tensor_facts(a).statistics.mean == 3.0


@pytest.mark.parametrize("look", [
    lambda t: t, lambda t: t.t(), lambda t: t[:, ::2], lambda t: t[:, 500:], lambda t: t.view(-1),
    lambda t: t[0].expand(1000, 1000),
])
def test_of_a_large_tensor_only_a_sample_is_copied(look, monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.arange(1_000_000.0).view(1000, 1000)
    large, same = look(x.to("npu")), look(x)
    copied: list[int] = []
    memcpy = simulator.acl.rt.memcpy
    monkeypatch.setattr(simulator.acl.rt, "memcpy", lambda to, n, *rest: copied.append(n) or memcpy(to, n, *rest))
    found = introspect.tensor_facts(large).statistics
    assert found.total == same.numel() and found.sampled <= 256 * 400 * 10 and sum(copied) <= 1 << 20
    spread = same.max() - same.min()
    assert found.mean == pytest.approx(same.mean().item(), abs=0.02 * spread.item())
    assert found.minimum >= same.min() and found.maximum <= same.max()
    indices = [(0,) * same.dim(), tuple(n - 1 for n in same.shape)]
    assert [cell.value for cell in introspect.cells(large, indices)] == [same[index].item() for index in indices]

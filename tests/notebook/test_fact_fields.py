"""Every field of each fact beside a calculation of its own."""
from __future__ import annotations

import collections
import dataclasses
import itertools
import math
import random
import weakref
from typing import Any

import numpy as np
import pytest

import mindtorch as torch
from mindtorch import introspect, nn
from mindtorch._dispatch.keys import DispatchKeySet
from mindtorch._dispatch.observers import ActivityEvent, DispatchEvent, TensorMeta
from mindtorch.introspect import container, memory, overview, profiler, spans, storage, tensor as tensors
from mindtorch.introspect.broadcast import broadcast_facts, parse_shape
from mindtorch.introspect.dispatched import Asked, argument_text
from mindtorch.introspect.graph import nodes_behind
from mindtorch.introspect.memory import BlockFacts, MemoryFacts, SegmentFacts, StorageUse, cuda_segment
from mindtorch.introspect.races import RaceWatch
from mindtorch.introspect.spans import Arrow, OperatorPath, Timeline
from mindtorch.introspect.strides import located, orders_of, stride_facts

# -- shapes and strides ------------------------------------------------------------------------------------------------


def test_dimensions_of_random_shapes_broadcast_as_numpy_says() -> None:
    drawn = random.Random(0)
    for _ in range(300):
        shapes = [tuple(drawn.choice((0, 1, 1, 2, 3)) for _ in range(drawn.randrange(4)))
                  for _ in range(drawn.randrange(1, 4))]
        facts = broadcast_facts(*shapes)
        width = max(map(len, shapes))
        assert facts.shapes == tuple(shapes) and [d.number for d in facts.dimensions] == list(range(-width, 0))
        try:
            expected: Any = np.broadcast_shapes(*shapes)
        except ValueError:
            expected = None
        assert facts.result == expected and bool(facts.error) == (expected is None)
        for d in facts.dimensions:
            assert d.sizes == tuple(shape[d.number] if len(shape) >= -d.number else None for shape in shapes)
            wanted = {size for size in d.sizes if size not in (None, 1)}
            assert d.result == (None if len(wanted) > 1 else max(wanted, default=1))
            for size, stretched in zip(d.sizes, d.stretched, strict=True):
                assert stretched == (d.result not in (None, 1) and size in (None, 1))


def test_no_shape_and_negative_sizes_do_not_broadcast() -> None:
    with pytest.raises(ValueError, match=r"^broadcasting needs at least one shape$"):
        broadcast_facts()
    with pytest.raises(ValueError, match=r"^sizes cannot be negative: \(2, -1\)$"):
        broadcast_facts((3,), (2, -1))


@pytest.mark.parametrize(("text", "shape"), [
    ("2, 3", (2, 3)), ("(2, 3)", (2, 3)), (" [4] ", (4,)), ("()", ()), ("", ()), ("torch.Size([2, 0])", (2, 0)),
    ("5,", (5,)), ("torch.Size [1]", (1,)),
])
def test_shapes_are_read_as_they_are_typed(text: str, shape: tuple[int, ...]) -> None:
    assert parse_shape(text) == shape


@pytest.mark.parametrize(("text", "part"), [("2, x", "'x'"), ("2,,3", "''"), ("-1", "'-1'"), ("2.5", "'2.5'")])
def test_what_is_no_shape_is_told(text: str, part: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_shape(text)
    assert str(caught.value) == f"{part} is no size: a shape is written as 2, 3, 1"


@pytest.mark.parametrize(("shape", "stride", "offset"), [
    ((2, 3), (3, 1), 0), ((3, 2), (1, 3), 1), ((2, 2), (0, 1), 2), ((4,), (5,), 3), ((2, 0), (1, 1), 0), ((), (), 5),
    ((2,), (-1,), 3), ((2,), (1, 1), 0), ((-1,), (1,), 0), ((3,), (4,), 6),
])
def test_what_a_layout_reads(shape: tuple[int, ...], stride: tuple[int, ...], offset: int) -> None:
    facts = stride_facts(torch.arange(12, dtype=torch.int16), shape, stride, offset)
    possible = len(shape) == len(stride) and min(shape, default=0) >= 0
    indices = list(itertools.product(*map(range, shape))) if possible else []
    positions = [offset + sum(i * s for i, s in zip(index, stride, strict=True)) for index in indices]
    assert (facts.storage, facts.dtype, facts.shape, facts.stride, facts.offset) == (12, "int16", shape, stride, offset)
    assert facts.elements == len(positions) and facts.positions == tuple(positions)
    assert facts.orders == {p: [i for i, q in enumerate(positions) if p == q] for p in positions}
    assert facts.repeated == {p: n for p, n in collections.Counter(positions).items() if n > 1}
    assert facts.outside == tuple(sorted({p for p in positions if not 0 <= p < 12}))
    assert [facts.index(order) for order in range(len(indices))] == indices
    assert bool(facts.error) == (not possible or min(stride, default=0) < 0 or bool(facts.outside))


def test_of_many_elements_the_first_are_followed() -> None:
    facts = stride_facts(torch.ones(1), (5000,), (0,))
    assert (facts.elements, len(facts.positions)) == (5000, 4096)
    assert list(located((2, 2), (3, 1), 4)) == [((0, 0), 4), ((0, 1), 5), ((1, 0), 7), ((1, 1), 8)]
    assert orders_of([7, 5, 7]) == {7: [0, 2], 5: [1]}


# -- tensors -----------------------------------------------------------------------------------------------------------

def hooked() -> torch.Tensor:
    x = torch.ones(3, requires_grad=True)
    x.register_hook(lambda grad: grad)
    x.register_post_accumulate_grad_hook(lambda tensor: None)
    x.sum().backward()
    return x


TENSORS = {
    "a number": lambda: torch.tensor(2.5), "integers": lambda: torch.arange(6).view(2, 3),
    "empty": lambda: torch.ones(0, 3),
    "a view": lambda: torch.arange(12.0).view(3, 4)[1:, ::2], "a leaf": lambda: torch.ones(2, requires_grad=True),
    "computed": lambda: (torch.ones(2, requires_grad=True) * 2).exp(), "hooked": hooked,
    "a parameter": lambda: nn.Parameter(torch.ones(2, 2)), "meta": lambda: torch.ones(2, device="meta"),
    "complex": lambda: torch.ones(2, dtype=torch.complex64), "expanded": lambda: torch.ones(1, 2).expand(3, 2),
    "bfloat16": lambda: torch.ones(3, dtype=torch.bfloat16),
}


@pytest.mark.parametrize("name", TENSORS)
def test_facts_of_a_tensor_are_its_attributes(name: str) -> None:
    x = TENSORS[name]()
    facts = introspect.tensor_facts(x, {id(x): "x"})
    assert (facts.name, facts.dtype, facts.shape, facts.stride) == (
        "x", str(x.dtype).removeprefix("torch."), tuple(x.shape), x.stride())
    assert (facts.offset, facts.device, facts.elements) == (x.storage_offset(), str(x.device), x.numel())
    assert facts.bytes == x.numel() * x.element_size() == x.nbytes
    assert facts.contiguous == x.is_contiguous()
    assert facts.storage_bytes == x.untyped_storage().nbytes()
    assert facts.address == (0 if x.is_meta else x.data_ptr())
    assert (facts.is_view, facts.requires_grad) == (x._is_view(), x.requires_grad)
    assert facts.is_leaf == (not facts.history)
    assert facts.has_grad == (x.is_leaf and x.grad is not None) and facts.hooks == (2 if name == "hooked" else 0)
    assert (facts.kind, facts.version, facts.inference) == (type(x).__name__, x._version, x.is_inference())
    assert facts.materialized and facts.strided and (facts.refused, facts.without, facts.pending) == ("", "", None)
    assert (facts.statistics is None) == x.is_meta
    without = introspect.tensor_facts(x, values=False)
    assert without == dataclasses.replace(facts, name="", statistics=None)
    if facts.statistics is not None:
        assert facts.statistics.total == x.numel() == facts.statistics.sampled


def test_a_history_names_six_nodes_and_the_leaf() -> None:
    w = torch.ones(2, requires_grad=True)
    x = w
    for _ in range(4):
        x = x.exp()
    assert introspect.tensor_facts(x, {id(w): "w"}).history == ("ExpBackward0",) * 4 + ("w",)
    assert introspect.tensor_facts(x).history == ("ExpBackward0",) * 4 + ("torch::autograd::AccumulateGrad",)
    for _ in range(4):
        x = x.exp()
    assert introspect.tensor_facts(x, {id(w): "w"}).history == ("ExpBackward0",) * 6


def test_tensors_that_share_a_storage_stand_next_to_each_other() -> None:
    a, b = torch.ones(4), torch.ones(4)
    space = {"a": a, "b": b, "a2": a[1:], "b2": b.view(2, 2), "c": torch.ones(1)}
    facts = introspect.tensors_facts(space)
    assert [row.name for row in facts] == ["a", "a2", "b", "b2", "c"]
    assert [row.base for row in facts] == ["", "a", "", "b", ""] and all(row.statistics is None for row in facts)


@pytest.mark.parametrize(("values", "dtype"), [
    ([1.0, 2.0, 4.0, 4.0], "float32"), ([0, 0, 7], "int64"), ([float("nan"), 1.0, float("-inf"), 0.0], "float64"),
    ([True, False], "bool"), ([5.0], "float32"), ([3 + 4j, 0j], "complex64"), ([], "float32"),
    ([float("nan")], "float32"), ([1e200, -1e200, 3.0], "float64"), ([1e-200, 3e-200], "float64"),
])
def test_statistics_count_and_measure(values: list[Any], dtype: str) -> None:
    s = introspect.tensor_facts(torch.tensor(values, dtype=getattr(torch, dtype))).statistics
    assert s is not None
    finite = [abs(v) if isinstance(v, complex) else v for v in values if not isinstance(v, float) or math.isfinite(v)]
    assert s.zeros == sum(v == 0 for v in values) and s.nans == sum(v != v for v in values)
    assert s.infinities == len(values) - len(finite) - s.nans and s.sampled == s.total == len(values)
    assert (s.minimum, s.maximum) == ((min(finite), max(finite)) if finite else (None, None))
    assert s.mean == (pytest.approx(sum(v / len(finite) for v in finite), rel=1e-6, abs=1e188) if finite else None)
    scale = max(map(abs, finite), default=1) or 1
    expected = np.std(np.array(finite, float) / scale, ddof=1) * scale if len(finite) > 1 else None
    assert s.std == (None if expected is None else pytest.approx(expected, rel=1e-6))
    assert sum(s.histogram) == (len(finite) if len(set(finite)) > 1 and dtype != "bool" else 0)
    counted = finite and len(set(finite)) > 1 and all(v == round(v) for v in finite) and max(finite) - min(finite) < 40
    assert len(s.histogram) in (0, max(finite) - min(finite) + 1 if counted else tensors.BINS)


def test_a_histogram_has_forty_equal_steps() -> None:
    s = introspect.tensor_facts(torch.arange(80.0)).statistics
    assert s is not None and s.histogram[0] in (2, 3) and sum(s.histogram) == 80
    counts = np.histogram(np.arange(80.0), bins=40)[0]
    assert np.abs(np.array(s.histogram) - counts).max() <= 1
    assert introspect.tensor_facts(torch.tensor([0.0, 0.5])).statistics.histogram == (1, *[0] * 38, 1)


def test_a_histogram_of_few_integers_counts_each() -> None:
    assert introspect.tensor_facts(torch.tensor([0.0, 1.0])).statistics.histogram == (1, 1)
    assert introspect.tensor_facts(torch.tensor([3, 7, 3, 5])).statistics.histogram == (2, 0, 1, 0, 1)


# -- storages ----------------------------------------------------------------------------------------------------------

def test_a_storage_and_who_sees_it() -> None:
    base = torch.arange(8, dtype=torch.int32)
    rows, odd = base.view(2, 4), base[1::2]
    wide = base.view(torch.int64)
    names = {id(base): "base", id(rows): "rows", id(wide): "wide"}
    facts = introspect.storage_facts(rows, names)
    assert (facts.device, facts.bytes, facts.itemsize, facts.segments, facts.segment_bytes) == ("cpu", 32, 4, 8, 4)
    assert facts.address == base.data_ptr() and facts.number == introspect.storage_number(base)
    assert not facts.shared_memory and facts.others == 0 and facts.values == tuple(range(8))
    assert [s.name for s in facts.sharers] == ["rows", "base", "wide", ""]
    of = {s.name: s for s in facts.sharers}
    assert (of["rows"].shape, of["rows"].stride, of["rows"].offset, of["rows"].dtype) == ((2, 4), (4, 1), 0, "int32")
    assert [of[name].is_base for name in ("rows", "base", "wide", "")] == [False, True, False, False]
    assert of[""].reads == tuple((i // 2,) if i % 2 else () for i in range(8)) and of["wide"].reads is None
    assert of[""].coverage == (0.0, 1.0) * 4 and of["wide"].coverage == (1.0,) * 8
    assert of[""].identity == id(odd) and of[""].offset == 1 and not of[""].requires_grad
    limited = introspect.storage_facts(rows, names, segments=3, limit=2)
    assert [s.name for s in limited.sharers] == ["rows", "base"] and limited.others == 2
    assert (limited.segments, limited.segment_bytes) == (3, 12)


def test_a_large_storage_is_not_described_element_by_element() -> None:
    x = torch.ones(storage.PLACES + 1)
    facts = introspect.storage_facts(x)
    assert facts.values is None and facts.sharers[0].reads is None and facts.segments == storage.PLACES + 1
    exact = introspect.storage_facts(torch.ones(storage.PLACES))
    assert exact.values == (1.0,) * storage.PLACES and exact.sharers[0].reads == tuple((i,) for i in range(48))
    huge = introspect.storage_facts(torch.ones(10_000))
    assert (huge.segment_bytes, huge.segments) == (4 * 105, 96)
    assert introspect.storage_facts(torch.ones(2).share_memory_()).shared_memory
    assert introspect.storage_facts(torch.ones(0)).segments == 0


def test_places_that_no_listed_tensor_sees_have_no_value() -> None:
    whole = torch.arange(6.0)
    part = whole[1:5:3]
    del whole
    assert introspect.storage_facts(part, limit=1).values == (None, 1.0, None, None, 4.0, None)


# -- graphs ------------------------------------------------------------------------------------------------------------

def test_facts_of_nodes_are_their_attributes() -> None:
    w, v = torch.ones(2, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    x = w * v
    values, indices = x.max(1)
    values.retain_grad()
    loss = (values * 2).sum()
    loss.backward(retain_graph=True)
    named = {"w": w, "x": x, "values": values, "loss": loss, "indices": indices}
    facts = introspect.graph_facts(loss, named)
    found, nodes = {}, [loss.grad_fn]
    for node in nodes:
        if id(node) not in found:
            found[id(node)] = node
            nodes += [below for below, _ in node.next_functions if below is not None]
    assert facts.root == id(loss.grad_fn) and facts.truncated == 0
    assert {node.identity for node in facts.nodes} == set(found)
    assert [node.sequence for node in facts.nodes] == sorted((node.sequence for node in facts.nodes), reverse=True)
    for node in facts.nodes:
        real = found[node.identity]
        assert (node.name, node.sequence % 2**64) == (real.name(), real._sequence_nr())
        assert node.edges == tuple(None if n is None else (id(n), number) for n, number in real.next_functions)
        assert node.shapes == tuple(tuple(m.shape) for m in real._input_metadata)
        assert node.dtypes == tuple(str(m.dtype).removeprefix("torch.") for m in real._input_metadata)
    by_name = {node.name: node for node in facts.nodes}
    assert by_name["MaxBackward0"].outputs == ("values", ) and by_name["MaxBackward0"].has_grad
    assert by_name["SumBackward0"].outputs == ("loss",) and not by_name["SumBackward0"].has_grad
    leaves = {node.variable: node.has_grad for node in facts.nodes if node.variable}
    assert leaves == {"w": True, "a leaf without a name": True}
    product = by_name["MulBackward0"] if by_name["MulBackward0"].outputs == ("x",) else next(
        n for n in facts.nodes if n.outputs == ("x",))
    assert {(s.name, s.tensor, s.is_tensor, s.version, s.stale) for s in product.saved} == {
        ("self", "w", True, 0, False), ("other", "", True, 0, False)}
    short = introspect.graph_facts(loss, limit=3)
    assert len(short.nodes) == 3 and short.truncated >= 1
    assert introspect.graph_facts(x.grad_fn).root == id(x.grad_fn)
    assert {id(node) for node in nodes_behind([loss, torch.ones(1)])} == set(found) and nodes_behind([indices]) == []
    assert nodes_behind([loss])[0] is loss.grad_fn


# -- modules -----------------------------------------------------------------------------------------------------------

def a_model() -> nn.Module:
    model = nn.Sequential(collections.OrderedDict(
        first=nn.Linear(3, 4), norm=nn.BatchNorm1d(4), rest=nn.Sequential(nn.ReLU(), nn.Linear(4, 2, bias=False))))
    model.first.bias.requires_grad_(False)
    model.rest[1].double()
    model.norm.eval()
    model.first.register_forward_hook(lambda *_: None)
    model.first.register_forward_pre_hook(lambda *_: None)
    model.norm.register_full_backward_hook(lambda *_: None)
    model.norm.register_full_backward_pre_hook(lambda *_: None)
    model.register_buffer("kept", torch.ones(5, dtype=torch.int8), persistent=False)
    model.first.weight.grad = torch.ones(4, 3)
    model.rest[1].tied = model.rest[1].weight
    model.part = nn.Parameter(model.first.weight.detach()[1:])
    return model


def test_facts_of_modules_count_what_they_hold() -> None:
    model = a_model()
    facts = introspect.module_facts(model, "model")
    modules = dict(model.named_modules())

    def check(row: introspect.ModuleFacts) -> None:
        module = modules[row.path]
        params, buffers = list(module.parameters()), list(module.buffers())
        assert row.kind == type(module).__name__ and row.extra == " ".join(module.extra_repr().split())
        assert row.parameters == sum(p.numel() for p in params) and row.tensors == len(params)
        assert row.trainable == sum(p.numel() for p in params if p.requires_grad)
        assert row.bytes == sum(t.nbytes for t in (*params, *buffers))
        assert row.gradients == sum(p.grad is not None for p in params)
        assert row.training == module.training and row.same_as == ""
        assert row.hooks == sum(len(getattr(module, f"_{kind}_hooks")) for kind in (
            "forward", "forward_pre", "backward", "backward_pre"))
        assert set(row.dtypes) == {str(t.dtype).removeprefix("torch.") for t in (*params, *buffers)}
        assert row.devices == (("cpu",) if params or buffers else ())
        assert [child.name for child in row.children] == [name for name, _ in module.named_children()]
        own = {**module._parameters, **module._buffers}
        assert [m.name for m in row.members] == [name for name, value in own.items() if value is not None]
        for member in row.members:
            t = own[member.name]
            assert (member.is_parameter, member.shape, member.elements, member.bytes) == (
                member.name in module._parameters, tuple(t.shape), t.numel(), t.nbytes)
            assert (member.dtype, member.device, member.requires_grad, member.has_grad) == (
                str(t.dtype).removeprefix("torch."), "cpu", t.requires_grad, t.grad is not None)
            assert member.persistent == (member.name != "kept") and member.materialized
        for child in row.children:
            check(child)

    check(facts)
    assert (facts.name, facts.path) == ("model", "")
    last = facts.children[2].children[1]
    assert (last.name, last.path) == ("1", "rest.1")
    assert [(m.name, m.tied) for m in last.members] == [("weight", ""), ("tied", "rest.1.weight")]
    assert [(m.name, m.shares) for m in facts.members] == [("part", ""), ("kept", "")]
    assert [(m.name, m.shares) for m in facts.children[0].members] == [("weight", "part"), ("bias", "")]


def test_a_module_in_two_places_and_one_whose_text_fails_or_is_long() -> None:
    class Odd(nn.Module):
        def __init__(self, text: Any) -> None:
            super().__init__()
            self.text = text

        def extra_repr(self) -> str:
            return self.text if isinstance(self.text, str) else self.text()

    shared = nn.Linear(2, 2)
    model = nn.ModuleList([shared, shared, Odd("x" * 120), Odd("x" * 121), Odd(lambda: 1 // 0), Odd("a\n  b")])
    facts = introspect.module_facts(model)
    assert [child.same_as for child in facts.children] == ["", "0", "", "", "", ""]
    assert facts.children[1].members == () and facts.parameters == 6 and facts.tensors == 2
    assert [child.extra for child in facts.children[2:]] == [
        "x" * 120, "x" * 120 + "…", "extra_repr raised ZeroDivisionError", "a b"]
    model.append(model)
    assert introspect.module_facts(model).children[-1].same_as == "the whole"


# -- memory ------------------------------------------------------------------------------------------------------------

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


# -- what happened -----------------------------------------------------------------------------------------------------

FLOAT = TensorMeta((2,), "float32", (1,), "cpu", False, 1)


def call(op: str, start: int, duration: int, **changes: Any) -> DispatchEvent:
    event = DispatchEvent(
        sequence=start, op=op, key_set=DispatchKeySet(1), path=("CPU",), kernel="k", file="f.py", line=3,
        composite=False, inputs=(), outputs=(FLOAT,), called=start, start=start, duration=duration,
        thread=1, thread_name="MainThread", stream=None, depth=0, site=("user.py", 5, "main"))
    return dataclasses.replace(event, **changes)


def arranged(calls: list[DispatchEvent], activities: list[ActivityEvent], finished: int = 10**9) -> Timeline:
    found = Timeline()
    spans._arrange(found, calls, activities, finished, RaceWatch(None))
    return found


def test_spans_lanes_and_arrows_of_a_made_up_program() -> None:
    calls = [call("aten::mm", 100, 50, stream="npu:0 stream 0"),
             call("inner", 110, 20, depth=1, stream="npu:0 stream 0"),
             call("aten::relu", 200, 10, error="RuntimeError: no"), call("later", 300, 10, pending=True),
             call("elsewhere", 50, 5, thread=2, thread_name="worker")]
    activities = [
        ActivityEvent("run", "aclnnMm", "npu:0", 0, 400, 100, 1, 1, 115, None, "", (5, 7), "24 cube"),
        ActivityEvent("wait", "stream 1 waits", "npu:0", 1, 480, 60, 1, 1, 160, (0, 1)),
        ActivityEvent("run", "aclnnRelu", "npu:0", 1, 130, 10, 1, 2, 125, None, "", (0, 9)),
        ActivityEvent("copy", "to host", "npu:0", 0, 600, 10, 1),
        ActivityEvent("sync", "synchronize", "npu:0", 0, 900, 50, 1),
        ActivityEvent("free", "64 bytes", "npu:0", 0, 950, 0, 1),
        ActivityEvent("exchange", "all_reduce", "network", 0, 20, 5, 1, detail="4 bytes"),
    ]
    found = arranged(calls, activities, finished=890)
    assert [span.start for span in found.spans] == sorted(span.start for span in found.spans)
    assert (found.start, found.end) == (20, 960 - 10)
    streams = ["network", "npu:0 stream 0", "npu:0 stream 1"]
    hosts = [lane for lane in found.lanes if lane not in streams]
    assert list(found.lanes[-3:]) == streams and "host" in hosts[0] and any("worker" in lane for lane in hosts)
    by_name = {span.name: span for span in found.spans}
    mm, relu = by_name["aten::mm"], by_name["aten::relu"]
    assert (mm.kind, mm.start, mm.end) == ("enqueue", 100, 150)
    assert mm.detail == "→ float32[2], on npu:0 stream 0, called at user.py:5"
    assert (relu.kind, relu.detail) == ("run", "→ float32[2], RuntimeError: no, called at user.py:5")
    assert (by_name["later"].kind, by_name["later"].detail) == (
        "enqueue", "→ float32[2], into the pipeline, called at user.py:5")
    run = by_name["aclnnMm"]
    assert (run.lane, run.kind, run.start, run.end, run.detail) == (
        "npu:0 stream 0", "run", 400, 500, "number 1 in the stream")
    assert by_name["stream 1 waits"].detail == "" and by_name["stream 1 waits"].lane == "npu:0 stream 1"
    assert by_name["to host"].detail == "npu:0 stream 0" and by_name["to host"].lane == mm.lane
    assert by_name["synchronize"].detail == "npu:0 stream 0, at the end of the timeline"
    assert by_name["all_reduce"].detail == "4 bytes" and by_name["64 bytes"].lane == "npu:0 stream 0"
    assert [(a.kind, a.name, a.cause, a.start, a.target, a.end) for a in found.arrows] == [
        ("enqueue", "aclnnMm", "inner", 115, "npu:0 stream 0", 400),
        ("enqueue", "aclnnRelu", "inner", 125, "npu:0 stream 1", 130),
        ("enqueue", "stream 1 waits", "", 160, "npu:0 stream 1", 480),
        ("event", "stream 1 waits", "aclnnMm", 500, "npu:0 stream 1", 540)]
    assert all(isinstance(arrow, Arrow) for arrow in found.arrows) and found.arrows[3].source == "npu:0 stream 0"
    assert found.paths == (OperatorPath("aclnnRelu", "npu:0 stream 1", 0, 9, 0, 10, ""),
                           OperatorPath("aclnnMm", "npu:0 stream 0", 5, 7, 400 - 115 - 7, 100, "24 cube"))
    assert {span.name for span in found.at(112)} == {"aten::mm", "inner"}
    assert found.at(150)[0].name == "aten::mm" and found.at(151) == ()
    assert found.events() == tuple(sorted({t for span in found.spans for t in (span.start, span.end)}))
    empty = arranged([], [])
    assert (empty.start, empty.end, empty.lanes, empty.spans, empty.events()) == (0, 0, (), (), ())


def test_threads_of_one_name_are_told_apart() -> None:
    found = arranged([call("a", 1, 1, thread=7, thread_name="pool"), call("b", 2, 1, thread=8, thread_name="pool"),
                      call("c", 3, 1, thread=9, thread_name="alone")], [])
    assert found.lanes == ("host pool 7", "host pool 8", "host alone")


def test_a_profile_of_made_up_calls_adds_up() -> None:
    recorder = profiler._Recorder(clock=lambda: clock[0])
    recorder.thread, clock = 1, [0]
    for event, now in [(call("inner", 20, 30, depth=1), 55), (call("outer", 10, 100, called=5), 130),
                       (call("again", 200, 7, kernel="other", site=("user.py", 9, "main")), 210),
                       (call("foreign", 300, 1, thread=2), 400)]:
        clock[0] = now
        recorder.note(event)
    found = profiler.Profile()
    recorder.fill(found, 1000, {})
    shares = {s.name: (s.calls, s.self_time, s.total_time) for s in found.operators}
    assert shares == {"outer": (1, 65, 100), "inner": (1, 30, 30), "again": (1, 7, 7)}
    assert [s.name for s in found.operators] == ["outer", "inner", "again"]
    assert {(s.name, s.file, s.line): (s.calls, s.self_time, s.total_time) for s in found.kernels} == {
        ("k", "f.py", 3): (2, 95, 130), ("other", "f.py", 3): (1, 7, 7)}
    assert {(s.file, s.line): (s.calls, s.self_time, s.total_time) for s in found.lines} == {
        ("user.py", 5): (1, 95, 100), ("user.py", 9): (1, 7, 7)}
    assert (found.wall, found.observing, found.inside) == (1000, 5 + 25 + 3, 102)
    assert found.outside == 1000 - (100 + 25) - (7 + 3) and found.program == found.inside + found.outside


def test_arguments_in_few_characters() -> None:
    assert argument_text((FLOAT, 2, (FLOAT,), "x")) == "(float32[2], 2, (float32[2],), 'x')"
    assert argument_text(()) == "()" and argument_text((1,)) == "(1,)" and argument_text(None) == "None"
    assert (Asked().part, Asked().node) == ("", "")


# -- pictures and containers -------------------------------------------------------------------------------------------

def test_shapes_that_are_pictures() -> None:
    def expected(shape: tuple[int, ...]) -> str:
        layouts = {2: ["HW"], 3: ["CHW", "HWC"], 4: ["NCHW", "NHWC"]}.get(len(shape), [])
        for layout in layouts:
            sizes = dict(zip(layout, shape, strict=True))
            if (min(sizes["H"], sizes["W"]) >= 8 and sizes.get("C", 1) in (1, 3, 4) and sizes.get("N", 1) > 0):
                return layout
        return ""

    for count in range(6):
        for shape in itertools.product((0, 1, 3, 7, 8, 9), repeat=count) if count < 5 else [(8,) * 5]:
            assert overview.picture_layout(shape) == expected(shape), shape


@pytest.mark.parametrize(("dtype", "low", "high", "expected"), [
    ("float32", 0.25, 0.5, (0.0, 1.0)), ("float32", 0.0, 1.0, (0.0, 1.0)), ("float32", -0.1, 0.5, (-0.1, 0.5)),
    ("float32", 0.0, 1.5, (0.0, 1.5)), ("bool", False, True, (0.0, 1.0)), ("int64", 0, 1, (0.0, 1.0)),
    ("int64", 3, 7, (3.0, 7.0)), ("bfloat16", 0.5, 0.5, (0.0, 1.0)), ("quint8", 0.0, 0.5, (0.0, 1.0)),
])
def test_black_and_white(dtype: str, low: Any, high: Any, expected: tuple[float, float]) -> None:
    s = introspect.Statistics(low, high, 0.0, 0.0, 0, 0, 0, 1, 1, ())
    assert overview.brightness(dtype, s) == expected


@pytest.mark.parametrize(("make", "count", "shape"), [
    (lambda: torch.arange(256).view(16, 16).to(torch.uint8), 1, (16, 16, 1)),
    (lambda: torch.rand(3, 8, 9), 1, (8, 9, 3)),
    (lambda: torch.rand(20, 1, 8, 8), 12, (8, 8, 1)), (lambda: torch.rand(2, 8, 8, 4), 2, (8, 8, 4)),
    (lambda: torch.rand(100, 200), 1, (34, 67, 1)), (lambda: torch.rand(5), 0, ()), (lambda: torch.rand(7, 20), 0, ()),
    (lambda: torch.rand(8, 8).to(torch.complex64), 0, ()), (lambda: torch.full((8, 8), float("nan")), 0, ()),
])
def test_pictures_are_every_so_manyeth_pixel(make: Any, count: int, shape: tuple[int, ...]) -> None:
    x = make()
    statistics = introspect.tensor_facts(x).statistics
    found = overview.pictures(x, statistics)
    assert len(found) == count and all(picture.shape == shape and picture.dtype == np.uint8 for picture in found)
    if count and x.dtype == torch.float32 and x.ndim == 4:
        first = x[0].movedim(0, -1) if x.shape[1] in (1, 3, 4) else x[0]
        np.testing.assert_array_equal(found[0], (first.numpy().astype(float) * 255).clip(0, 255).astype(np.uint8))


@pytest.mark.parametrize("shape", [(48, 64), (49, 64), (10, 500), (500, 10), (1, 7), (300, 300), (200, 100)])
def test_the_blocks_of_an_overview_cover_the_matrix(shape: tuple[int, int]) -> None:
    found = overview.tensor_overview(torch.arange(float(shape[0] * shape[1])).view(shape))
    assert found is not None
    rows, columns = found.means.shape
    assert rows <= 48 and columns <= 64
    assert found.block == (math.ceil(shape[0] / rows), math.ceil(shape[1] / columns))
    count = shape[0] * shape[1]
    assert found.means[0, 0] <= found.means[-1, -1] and abs(found.means.mean() - (count - 1) / 2) < 0.02 * count
    assert overview.tensor_overview(torch.ones(0, 3)) is None
    assert overview.tensor_overview(torch.ones(2, device="meta")) is None


def test_items_of_containers_have_places_kinds_and_limits() -> None:
    x = torch.ones(2)
    inner = {"k": x, "n": 3}
    facts = introspect.container_facts([inner, (x, None), inner], {"x": x}, "data")
    assert (facts.label, facts.kind, facts.text, facts.left_out, facts.same_as) == ("data", "list", "3", 0, "")
    first, second, third = facts.children
    assert (first.label, first.kind, first.text) == ("[0]", "dict", "2")
    assert [(i.label, i.kind, i.text) for i in first.children] == [("['k']", "Tensor", ""), ("['n']", "int", "3")]
    assert first.children[0].tensor is not None and first.children[0].tensor.name == "x"
    assert [(i.label, i.text) for i in second.children] == [("[0]", ""), ("[1]", "None")]
    assert (third.children, third.same_as) == ((), "data[0]")
    many = introspect.container_facts([torch.ones(1) for _ in range(70)])
    assert len(many.children) == container.ITEMS == 64 and many.left_out == 6
    assert sum(item.tensor.statistics is not None for item in many.children) == container.LOOKED_AT
    numbers = introspect.container_facts([1] * 65)
    assert (len(numbers.children), numbers.left_out) == (64, 1)
    deep: Any = x
    for _ in range(8):
        deep = [deep]
    level, depth = introspect.container_facts(deep), 0
    while level.children:
        level, depth = level.children[0], depth + 1
    assert (depth, level.left_out) == (container.DEPTH, 1)
    lots = introspect.container_facts([[torch.ones(1)] * 60 for _ in range(6)])
    told = sum(len(item.children) for item in lots.children)
    assert told == container.TENSORS == 200


def test_what_holds_tensors_is_found_three_levels_down() -> None:
    x = torch.ones(1)
    assert container.holds_tensors(x) and container.holds_tensors([[[x]]]) and not container.holds_tensors([[[[x]]]])
    assert not container.holds_tensors([1, "x"]) and not container.holds_tensors(3)
    assert container.holds_tensors([0] * 255 + [x]) and not container.holds_tensors([0] * 256 + [x])


def test_objects_of_the_library_say_what_they_are() -> None:
    w = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.Adam([w], lr=0.5)
    w.grad = torch.ones(2)
    optimizer.step()
    facts = introspect.container_facts(optimizer, {"w": w})
    assert facts.text == "1 parameters with state"
    assert [item.label for item in facts.children] == [".param_groups[0]", ".state[w]"]
    several = torch.optim.SGD([{"params": [nn.Parameter(torch.ones(1))], "lr": 0.1 * i} for i in range(1, 7)])

    def met_before(item: Any) -> list[str]:
        return [item.same_as, *(place for child in item.children for place in met_before(child))]

    assert set(met_before(introspect.container_facts(several))) == {""}  # what is made to be shown is not met twice
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(7, 2)), batch_size=2)
    facts = introspect.container_facts(loader)
    assert facts.text == "4" and [item.label for item in facts.children] == [
        ".dataset", ".batch_size", ".sampler", ".batch_sampler", ".collate_fn", ".num_workers", ".drop_last",
        ".pin_memory", ".generator"]
    generator = torch.Generator().manual_seed(5)
    facts = introspect.container_facts(generator)
    assert facts.text == "the state of random numbers"
    assert [(item.label, item.text) for item in facts.children] == [(".device", "'cpu'"), (".initial_seed()", "5")]
    kept = torch.ones(3).untyped_storage()
    assert introspect.container_facts(kept).text == "12 bytes on cpu, seen by no tensor that is alive"
    layer = nn.Linear(2, 1)
    listing = layer.named_parameters()
    facts = introspect.container_facts(listing)
    assert facts.text == "what Module.named_parameters will yield"
    assert [(item.label, item.tensor.shape) for item in facts.children] == [("'weight'", (1, 2)), ("'bias'", (1,))]
    assert [item.label for item in introspect.container_facts(layer.parameters()).children] == ["0", "1"]
    assert len(list(listing)) == 2
    assert weakref.ref(layer)() is layer

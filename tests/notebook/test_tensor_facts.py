"""Every field of the facts of a tensor, its statistics and its storage, beside a calculation of its own."""
from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import mindtorch as torch
from mindtorch import introspect, nn
from mindtorch.introspect import storage, tensor as tensors


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

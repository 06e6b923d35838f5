"""What is said of layouts: where elements lie, whether they overlap, and which part of a storage each tensor covers."""
from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import given, strategies as st

import mindtorch as torch
from mindtorch import introspect


def test_a_storage_lists_who_sees_which_part_of_it():
    base = torch.zeros(8)
    head, odd = base[:2], base[1::2]
    facts = introspect.storage_facts(base, {id(base): "base", id(head): "head", id(odd): "odd"}, segments=8)
    assert facts.segments == 8 and facts.segment_bytes == 4
    assert {s.name: s.coverage for s in facts.sharers} == {
        "base": (1.0,) * 8, "head": (1.0, 1.0) + (0.0,) * 6, "odd": (0.0, 1.0) * 4,
    }


SIZE = 130


@st.composite
def layouts(draw):
    """Shapes, strides and offsets that fit into ``SIZE`` elements."""
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    return shape, [draw(st.integers(0, 9)) for _ in shape], draw(st.integers(0, 5))


def places(shape, stride, offset):
    """Where the elements lie, in the order of their indices."""
    return [offset + sum(i * s for i, s in zip(index, stride, strict=True)) for index in np.ndindex(*shape)]


@given(st.data())
def test_coverage_of_any_layout_is_exact(data):
    shape, stride, offset = data.draw(layouts())
    segments = data.draw(st.integers(1, 12))
    tensor = torch.zeros(SIZE).as_strided(shape, stride, offset)
    facts = introspect.storage_facts(tensor, segments=segments)
    touched, width = np.zeros(SIZE), facts.segment_bytes // 4
    touched[places(shape, stride, offset)] = 1
    expected = [part.mean() for part in np.split(touched, range(width, SIZE, width))]
    np.testing.assert_allclose(facts.sharers[0].coverage, expected)


@given(st.data())
def test_what_is_said_of_a_layout_is_true_of_its_places(data):
    shape, stride, offset = data.draw(layouts())
    facts = introspect.tensor_facts(torch.zeros(SIZE).as_strided(shape, stride, offset))
    found = places(shape, stride, offset)
    assert facts.overlapping == (len(set(found)) < len(found))
    assert facts.contiguous == (found == list(range(offset, offset + len(found))))
    assert facts.dense == (sorted(found) == list(range(offset, offset + len(found))))


@given(st.data())
def test_the_position_and_the_address_of_a_cell_lead_to_its_value(data):
    shape, stride, offset = data.draw(layouts())
    base = torch.arange(float(SIZE))
    tensor = base.as_strided(shape, stride, offset)
    found = introspect.cells(tensor, list(np.ndindex(*shape)))
    assert [cell.position for cell in found] == [cell.value for cell in found] == places(shape, stride, offset)
    assert all(ctypes.c_float.from_address(cell.address).value == cell.value for cell in found)
    assert not found or introspect.storage_facts(tensor).address == base.data_ptr()


def test_of_many_elements_in_places_that_are_hard_to_tell_apart_it_is_said_that_they_overlap():
    assert introspect.tensor_facts(torch.zeros(10**6).as_strided((500, 500), (3, 2))).overlapping
    assert introspect.tensor_facts(torch.zeros(10**6).as_strided((150, 150), (301, 300))).overlapping
    assert not introspect.tensor_facts(torch.zeros(10**6).as_strided((100, 100), (301, 300))).overlapping


@pytest.mark.parametrize(("shape", "stride"), [
    ((40, 40, 17), (3, 7, 119)), ((17, 17, 40), (7, 50, 7)), ((40, 40, 40), (2, 2, 4)), ((1000, 1000), (1, 1)),
    ((5000, 200), (200, 1)), ((1000, 1000), (6, 3)), ((80, 80, 3), (5, 1000, 2)),
    ((2, 2, 2), (3, 4, 1)),
])
def test_coverage_of_strides_that_interleave_is_that_of_their_union(shape, stride):
    found = np.zeros(1, int)
    for n, step in zip(shape, stride, strict=True):
        found = np.unique(np.add.outer(found, np.arange(n) * step))
    reach = found[-1] + 1
    facts = introspect.storage_facts(torch.zeros(reach).as_strided(shape, stride), segments=1)
    np.testing.assert_allclose(facts.sharers[0].coverage, [len(found) / reach], atol=0.03)


def test_a_sharer_of_another_dtype_covers_the_same_bytes():
    base = torch.zeros(4)
    part = base.view(torch.uint8)[3:9]
    facts = introspect.storage_facts(base, {id(part): "part"})
    assert facts.sharers[1].coverage == (0.25, 1.0, 0.25, 0.0)


@pytest.mark.parametrize(("view", "part"), [
    (lambda t: t[::7], 1 / 7), (lambda t: t.view(1000, 1000)[:, ::4], 1 / 4),
    (lambda t: t.view(100, 100, 100)[::2].permute(2, 0, 1), None),
])
def test_coverage_of_a_large_tensor_is_its_density(view, part):
    facts = introspect.storage_facts(view(torch.zeros(10**6)), segments=100)
    coverage = facts.sharers[0].coverage
    np.testing.assert_allclose(coverage, [1, 0] * 50 if part is None else [part] * 100, atol=0.01)


def test_of_many_sharers_the_named_ones_are_listed_and_the_rest_is_counted():
    base = torch.zeros(100)
    rows = [base[i:] for i in range(50)]
    facts = introspect.storage_facts(rows[7], {id(base): "base", id(rows[40]): "row"}, limit=4)
    assert [s.name for s in facts.sharers] == ["", "base", "row", ""] and facts.others == 47
    assert facts.sharers[0].identity == id(rows[7])
    assert [s.is_base for s in facts.sharers] == [False, True, False, False]

"""A small storage place by place: values, and the order in which each tensor reads them."""
from __future__ import annotations

import re

import pytest

import mindtorch as torch
from mindtorch import introspect, viz
from mindtorch.introspect.storage import PLACES
from mindtorch.viz import card


def reads(tensor):
    return introspect.storage_facts(tensor).sharers[0].reads


@pytest.mark.parametrize("view", [
    lambda x: x, lambda x: x.t(), lambda x: x[:, ::2], lambda x: x[1:], lambda x: x[:, :1].expand(3, 4),
    lambda x: x.as_strided((2, 2, 2), (1, 1, 2)), lambda x: x[0, 0], lambda x: x[:0], lambda x: x.detach(),
    lambda x: x.unfold(1, 2, 1),
])
def test_reads_are_the_places_of_the_elements_in_the_order_of_their_indices(view):
    x = torch.arange(12).view(3, 4)  # each element is its place
    v = view(x)
    found = {order: place for place, orders in enumerate(reads(v)) for order in orders}
    assert [found[order] for order in range(v.numel())] == v.flatten().tolist()


def test_values_of_places_that_the_tensor_skips_come_from_those_that_share_the_storage():
    x = torch.arange(6.0)
    assert introspect.storage_facts(x[::2]).values == (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
    alone = torch.arange(6.0)[::2].detach()
    assert introspect.storage_facts(alone).values == (0.0, None, 2.0, None, 4.0, None)


def test_values_are_unknown_until_they_are_there():
    with torch.pipeline():
        pending = torch.ones(3) + 1
        assert introspect.storage_facts(pending).values == (None,) * 3
    assert introspect.storage_facts(pending).values == (2.0,) * 3
    assert introspect.storage_facts(pending, values=False).values == (None,) * 3


def test_a_card_that_says_pending_shows_no_values_that_arrived_meanwhile(monkeypatch):
    describe = card.tensor_facts

    def and_then_it_ran(tensor, names):
        facts = describe(tensor, names)
        pipeline.flush()
        return facts

    monkeypatch.setattr(card, "tensor_facts", and_then_it_ran)
    with torch.pipeline() as pipeline:
        text = card.tensor_card(torch.ones(3) + 1).plain
    assert "waits for 2 operators" in text and "2." not in text


def test_a_tensor_of_another_size_of_element_has_no_reads():
    x = torch.arange(4.0)
    halves = x.view(torch.int16)
    by_identity = {sharer.identity: sharer for sharer in introspect.storage_facts(x).sharers}
    assert by_identity[id(halves)].reads is None and by_identity[id(x)].reads is not None
    assert "mt-strip" in viz.tensor_card(x)


def test_large_storages_are_not_described_by_place():
    assert introspect.storage_facts(torch.zeros(PLACES)).values is not None
    assert introspect.storage_facts(torch.zeros(PLACES + 1)).values is None
    assert introspect.storage_facts(torch.ones(1).expand(10**9)).sharers[0].reads is None


def test_an_element_has_the_same_mark_in_the_grid_and_at_its_place():
    x = torch.arange(6.0).view(2, 3)
    card = viz.tensor_card(x.t())
    for place in range(6):
        titles = re.findall(rf'<td[^>]*title="([^"]*)"[^>]*data-p="{place}"', card)
        assert len(titles) >= 3, titles  # in the grid, among the values, and in the tensor's row
        assert any(f"storage position {place} " in title for title in titles)


def test_text_tells_transposed_strided_and_expanded_apart():
    x = torch.arange(4.0).view(2, 2)
    told = [viz.storage_text(introspect.storage_facts(v)) for v in (x, x.t(), x[:, ::2], x[:, :1].expand(2, 3))]
    rows = [text.splitlines()[3].split("]")[-1].split() for text in told]
    assert rows == [["#0", "#1", "#2", "#3"], ["#0", "#2", "#1", "#3"], ["#0", "·", "#1", "·"], ["×3", "·", "×3", "·"]]


@pytest.mark.parametrize(("values", "said"), [
    ([8980.0], ["8980."]), ([0.12345, -2.5], ["0.1235", "-2.5000"]),
    ([8980.0 + i for i in range(24)], ["8980"]), ([1e7 + 0.0] * 24, ["1e+07"]),
])
def test_values_are_written_whole_where_they_fit_into_a_row_and_by_two_digits_elsewhere(values, said):
    picture = str(viz.storage_page(introspect.storage_facts(torch.tensor(values))))
    written = re.findall(r"<td [^>]*data-p=\"\d+\"[^>]*>([^<#]+)</td>", picture)
    assert written[:len(said)] == said

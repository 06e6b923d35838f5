"""Containers as trees: each tensor in a line with its storage's letter; nothing is consumed, waited for or changed."""
from __future__ import annotations

from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import pytest

import mindtorch as torch
from mindtorch import introspect, nn, viz
from mindtorch.utils.data import DataLoader, TensorDataset

from .test_pictures import Checker

Pair = namedtuple("Pair", "left right")


@dataclass
class Batch:
    inputs: object
    count: int = 3


def leaves(facts):
    found = [facts] if facts.tensor else []
    return found + [leaf for child in facts.children for leaf in leaves(child)]


def model_and_optimizer():
    model = nn.Linear(2, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    return model, optimizer


@pytest.mark.parametrize(("make", "labels"), [
    (lambda x: [x, x.t()], ["[0]", "[1]"]), (lambda x: (x, 1, x[0]), ["[0]", "[2]"]),
    (lambda x: {"a": x, 2: [x]}, ["['a']", "[0]"]), (lambda x: OrderedDict(w=x), ["['w']"]),
    (lambda x: Pair(x, x), [".left", ".right"]), (lambda x: Batch([x]), ["[0]"]),
    (lambda x: x.max(0), [".values", ".indices"]),
    (lambda x: [[[x]]], ["[0]"]), (lambda x: nn.Linear(2, 2).state_dict(), ["['weight']", "['bias']"]),
    (lambda x: nn.Linear(2, 2).named_parameters(), ["'weight'", "'bias'"]),
    (lambda x: nn.Linear(2, 2).parameters(), ["0", "1"]),
])
def test_tensors_are_found_with_where_they_are(make, labels):
    value = make(torch.arange(6.0).view(2, 3))
    assert introspect.holds_tensors(value)
    assert [leaf.label for leaf in leaves(introspect.container_facts(value))] == labels


@pytest.mark.parametrize("value", [[], [1, 2], {"a": "b"}, (), "text", [[["deep"]]], iter([1]), torch.Size([2])])
def test_containers_without_tensors_are_left_to_python(value):
    assert not introspect.holds_tensors(value)


def test_sharing_shows_in_the_storages():
    x = torch.arange(6.0)
    first, second, third = leaves(introspect.container_facts([x, x[1:], torch.ones(2)]))
    assert first.tensor.storage == second.tensor.storage != third.tensor.storage
    assert viz.container_text(introspect.container_facts([x, x[1:]])).splitlines()[1] == "2 tensors over 1 storage"


def test_a_listing_of_parameters_is_not_consumed_by_being_shown():
    listing = nn.Linear(2, 2).named_parameters()
    introspect.container_facts(listing)
    assert [name for name, _ in listing] == ["weight", "bias"]


def test_other_generators_and_begun_ones_are_left_alone():
    begun = nn.Linear(2, 2).named_parameters()
    next(begun)
    for generator in (begun, (torch.ones(i) for i in range(3))):
        assert not introspect.holds_tensors(generator)
    assert len(list(begun)) == 1


def test_an_optimizer_shows_groups_settings_and_the_state_of_each_parameter():
    model, optimizer = model_and_optimizer()
    facts = introspect.container_facts(optimizer, {"model": model})
    assert [child.label for child in facts.children] == [
        ".param_groups[0]", ".state[model.weight]", ".state[model.bias]"]
    group, *states = facts.children
    params, settings = group.children
    assert [leaf.tensor.name for leaf in leaves(params)] == ["model.weight", "model.bias"]
    assert {child.label: child.text for child in settings.children}["['lr']"] == "0.5"
    assert [leaf.label for leaf in leaves(states[0])] == [" of", "['step']", "['exp_avg']", "['exp_avg_sq']"]


def test_what_contains_itself_ends():
    loop = [torch.ones(1)]
    loop.append(loop)
    facts = introspect.container_facts(loop, name="loop")
    assert facts.children[1].same_as == "loop"


def test_large_containers_say_how_much_they_leave_out():
    facts = introspect.container_facts([torch.ones(1)] * 1000)
    assert len(facts.children) + facts.left_out == 1000 and facts.left_out
    said = viz.container_text(facts).splitlines()[1]
    assert said == "64 tensors shown, over 1 storage · the values of the first 40 were looked at"
    assert len(viz.container_page(introspect.container_facts([[torch.ones(3)] * 60] * 60))) < 64 * 1024 * 4


def test_a_loader_is_described_without_reading_its_data():
    class Refusing(torch.utils.data.Dataset):
        def __len__(self):
            return 10

        def __getitem__(self, index):
            raise AssertionError("read")

    facts = introspect.container_facts(DataLoader(Refusing(), batch_size=4))
    assert (facts.kind, facts.text) == ("DataLoader", "3")
    assert {child.label: (child.kind, child.text) for child in facts.children}[".sampler"] == ("SequentialSampler", "")
    x = torch.ones(4, 2)
    found = introspect.container_facts(DataLoader(TensorDataset(x, x)))
    assert [leaf.label for leaf in leaves(found)] == ["[0]", "[1]"]


def test_pending_tensors_are_not_waited_for():
    with torch.pipeline() as p:
        introspect.container_facts([torch.ones(2) + 1])
        assert p.pending


@pytest.mark.parametrize("make", [
    lambda x: [x], lambda x: {"<b>": x}, lambda x: x.max(0), lambda x: Batch(x),
    lambda x: nn.Linear(2, 2).named_parameters(),
    lambda x: model_and_optimizer()[1], lambda x: DataLoader(TensorDataset(x)), lambda x: torch.Generator(),
    lambda x: (x.requires_grad_() * 2).grad_fn, lambda x: x.untyped_storage(), lambda x: x.storage(),
])
def test_a_cell_shows_a_picture(shell, make):
    value = make(torch.arange(6.0).view(2, 3))
    data, _ = shell.display_formatter.format(value)
    checked = Checker(data["text/html"])
    assert "mindtorch" in data["text/html"] and checked.text and data["text/plain"]


def test_what_has_a_picture_of_its_own_keeps_it(shell):
    class Own:
        def _repr_html_(self):
            return "<i>own</i>"

    assert shell.display_formatter.format(Own())[0]["text/html"] == "<i>own</i>"
    assert "text/html" not in shell.display_formatter.format([1, 2])[0]
    assert "text/html" not in shell.display_formatter.format(object())[0]


def test_the_state_of_a_parameter_without_a_name_is_told_all_the_same():
    _, optimizer = model_and_optimizer()
    assert [child.label for child in introspect.container_facts(optimizer, {}).children[1:]] == [".state[…]"] * 2


@pytest.mark.parametrize(("value", "said"), [
    ([2.5], "2.5"), ([-3], "-3"), ([True], "True"), ([3 + 4j], "magnitude 5"),
])
def test_a_single_element_is_told(value, said):
    text = viz.container_text(introspect.container_facts([torch.tensor(value)], {}))
    assert text.endswith(f" {said}")


def test_a_line_says_what_is_wrong_with_the_values():
    text = viz.container_text(introspect.container_facts([torch.tensor([1.0, 2.0, float("nan")]), torch.ones(2)]))
    assert "from 1 to 2 ⚠ 1 NaN" in text and text.count("NaN") == 1

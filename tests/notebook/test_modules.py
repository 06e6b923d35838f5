"""Modules as trees: what they hold, each tensor counted once, equal layers drawn once, small, as HTML and as text."""
from __future__ import annotations

import pytest

import mindtorch as torch
from mindtorch import introspect, nn, viz
from mindtorch.introspect.repeats import repeats

from .test_pictures import Checker


def children(facts):
    return {child.name: child for child in facts.children}


def members(facts):
    return {member.name: member for member in facts.members}


def test_parameters_are_counted_with_their_types_and_gradients():
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2, bias=False, dtype=torch.float64))
    model[0](torch.ones(1, 4)).sum().backward()
    facts = introspect.module_facts(model, "model")
    assert (facts.name, facts.kind) == ("model", "Sequential")
    assert (facts.parameters, facts.trainable, facts.bytes) == (21, 21, 108)
    assert (facts.tensors, facts.gradients) == (3, 2)
    assert (facts.dtypes, facts.devices) == (("float32", "float64"), ("cpu",))
    first = children(facts)["0"]
    assert (first.path, first.kind, first.parameters) == ("0", "Linear", 15)
    assert first.extra == "in_features=4, out_features=3, bias=True"
    weight = members(first)["weight"]
    assert (weight.dtype, weight.shape, weight.elements, weight.has_grad) == ("float32", (3, 4), 12, True)
    assert not members(children(facts)["2"])["weight"].has_grad


def test_buffers_are_told_from_parameters():
    model = nn.Module()
    model.register_buffer("kept", torch.ones(2))
    model.register_buffer("mask", torch.ones(3), persistent=False)
    facts = introspect.module_facts(model)
    assert (facts.parameters, facts.bytes) == (0, 20)
    found = [(m.name, m.is_parameter, m.persistent) for m in facts.members]
    assert found == [("kept", False, True), ("mask", False, False)]
    said = Checker(viz.module_page(facts)).text
    assert "buffer" in said and "not saved" in said and "20 B with buffers" in said


def test_frozen_parameters_training_hooks_and_devices_are_known():
    model = nn.Sequential(nn.Linear(2, 2).requires_grad_(False), nn.Dropout(), nn.Linear(2, 2, device="meta"))
    model[1].eval()
    model[0].register_forward_hook(lambda *args: None)
    facts = introspect.module_facts(model)
    assert (facts.parameters, facts.trainable, facts.training, facts.devices) == (12, 6, True, ("cpu", "meta"))
    assert [child.training for child in facts.children] == [True, False, True]
    assert [child.hooks for child in facts.children] == [1, 0, 0]
    said = Checker(viz.module_page(facts)).text
    for word in ("frozen", "eval", "1 hook", "meta", "no grad yet", "6 of them trainable"):
        assert word in said


def test_tied_parameters_count_once_and_are_shown_as_such():
    model = nn.ModuleDict({"embed": nn.Linear(3, 2, bias=False), "head": nn.Linear(3, 2, bias=False)})
    model["head"].weight = model["embed"].weight
    facts = introspect.module_facts(model)
    assert (facts.parameters, facts.tensors) == (sum(p.numel() for p in model.parameters()), 1)
    assert members(children(facts)["embed"])["weight"].tied == ""
    assert members(children(facts)["head"])["weight"].tied == "embed.weight"
    for said in (Checker(viz.module_page(facts)).text, viz.module_text(facts)):
        assert "tied: embed.weight" in said


def test_parameters_on_one_storage_are_shown_as_such():
    model = nn.Module()
    model.a = nn.Parameter(torch.ones(4))
    model.b = nn.Parameter(model.a.data[:2])
    facts = introspect.module_facts(model)
    assert [(m.name, m.tied, m.shares) for m in facts.members] == [("a", "", ""), ("b", "", "a")]
    assert "memory of a" in viz.module_text(facts)


def test_one_module_in_two_places_counts_once_and_ends_where_it_contains_itself():
    model = nn.Module()
    model.first = nn.Linear(2, 2)
    model.second = model.first
    model.second._modules["outer"] = model
    facts = introspect.module_facts(model)
    assert facts.parameters == 6 and children(facts)["second"].same_as == "first"
    assert children(children(facts)["first"])["outer"].same_as == "the whole"
    assert "same as first" in viz.module_text(facts)


@pytest.mark.parametrize(("text", "found"), [
    ("", []), ("abc", [(0, 1, 1), (1, 1, 1), (2, 1, 1)]), ("aab", [(0, 1, 1), (1, 1, 1), (2, 1, 1)]),
    ("aaab", [(0, 1, 3), (3, 1, 1)]),
    ("abababc", [(0, 2, 3), (6, 1, 1)]), ("xabcabcabc", [(0, 1, 1), (1, 3, 3)]), ("aaaaaa", [(0, 1, 6)]),
])
def test_repeated_patterns_are_found(text, found):
    assert repeats(text) == found


def test_equal_layers_are_drawn_once_and_a_different_one_stands_out():
    model = nn.Sequential(*(layer for _ in range(50) for layer in (nn.Linear(8, 8), nn.ReLU())), nn.Linear(8, 1))
    facts = introspect.module_facts(model, "model")
    assert facts.runs == ((0, 2, 50), (100, 1, 1)) and facts.parameters == 50 * 72 + 9
    page = Checker(viz.module_page(facts))
    assert "50 × (Linear, ReLU)" in page.text and page.text.count("weight") == 2 and "3,600" in page.text
    model[40].weight.requires_grad_(False)
    said = viz.module_text(introspect.module_facts(model, "model"))
    assert "20 × (Linear, ReLU)" in said and "29 × (ReLU, Linear)" in said
    assert [line.split()[0] for line in said.splitlines() if line.endswith("frozen")] == ["weight"]
    assert any(line.startswith("  40 Linear") and line.endswith("no grad yet") for line in said.splitlines())


@pytest.mark.parametrize("make", [
    lambda i: nn.Linear(64, 64), lambda i: nn.Linear(64 + i, 64 + i),
    lambda i: nn.Sequential(nn.Linear(4 + i, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 4 + i))),
])
def test_a_model_of_100_layers_is_below_100_kib(make):
    facts = introspect.module_facts(nn.Sequential(*map(make, range(100))), "model")
    page = viz.module_page(facts)
    assert len(page.encode()) < 100 * 1024
    assert f"{facts.parameters:,}" in Checker(page).text


def test_a_model_of_1000_different_layers_says_what_is_left_out():
    facts = introspect.module_facts(nn.Sequential(*(nn.Linear(1 + i, 1) for i in range(1000))))
    page = viz.module_page(facts)
    assert len(page.encode()) < 100 * 1024 and "… 780 more" in Checker(page).text


def test_a_folded_module_says_where_its_tensors_are():
    inner = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2, device="meta"))
    model = nn.Sequential(nn.Linear(2, 2, device="meta"), inner)
    lines = viz.module_text(introspect.module_facts(model)).splitlines()
    rows = [line for line in lines if line.startswith(("  0 ", "  1 "))]
    assert ["meta" in rows[0], "2 devices" in rows[1]] == [True, True]


def test_a_repetition_tells_the_count_of_one_from_that_of_all():
    model = nn.Sequential(*(nn.Linear(8, 8) for _ in range(5)))
    page = Checker(viz.module_page(introspect.module_facts(model)))
    assert "each 72" in page.text and "360" in page.text
    page = viz.module_page(introspect.module_facts(nn.Sequential(*map(nn.ReLU, [False] * 5))))
    assert "each" not in Checker(page).text


def test_a_picture_says_devices_and_mode_once():
    page = Checker(viz.module_page(introspect.module_facts(nn.Module().eval())))
    assert page.text.count("eval") == 1 and "no tensors" in page.text


def test_folding_needs_no_script():
    page = Checker(viz.module_page(introspect.module_facts(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3)))))
    assert page.tags.count("details") == page.tags.count("summary") == 2 and "script" not in page.tags


def test_a_module_without_anything_is_drawn():
    page = Checker(viz.module_page(introspect.module_facts(nn.ReLU(), "f")))
    assert "f" in page.text and "0 parameters" in page.text and "no tensors" in page.text


def test_the_text_says_the_same():
    model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5))
    lines = viz.module_text(introspect.module_facts(model, "model")).splitlines()
    assert lines[0].startswith("model: Sequential, 15 parameters · 60 B · float32 · cpu · training")
    assert [line.split("  ")[0].strip() or line.strip().split("  ")[0] for line in lines[1:]] == [
        "0 Linear(in_features=4, out_features=3, bias=True)", "weight float32[3, 4]", "bias float32[3]",
        "1 Dropout(p=0.5, inplace=False)",
    ]


def test_modules_have_names():
    model, layers = nn.Sequential(nn.Linear(2, 2)), [nn.Linear(2, 3)]
    namespace = {"_hidden": model, "model": model, "layers": layers}
    assert introspect.module_name(model, namespace) == "model"
    assert introspect.module_name(model[0], namespace) == "model.0"
    assert introspect.module_name(layers[0], namespace) == "layers[0]"
    assert introspect.module_name(nn.ReLU(), namespace) == ""
    assert [name for name, _ in introspect.named_tensors({"layers": layers})] == ["layers[0].weight", "layers[0].bias"]


def test_a_module_shows_its_repr_and_its_tree(shell):
    shell.run_cell("net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())")
    net = shell.user_ns["net"]
    data, _ = shell.display_formatter.format(net)
    assert data["text/plain"] == repr(net)
    assert "mt-module" in data["text/html"] and ">net</span>" in data["text/html"]
    assert ">net.0</span>" in shell.display_formatter.format(net[0])[0]["text/html"]
    shell.run_line_magic("unload_ext", "mindtorch")
    assert "mt-copy" not in shell.display_formatter.format(net)[0]["text/html"]  # what a module shows by itself


def test_a_lazy_module_says_that_its_shapes_are_not_known_yet():
    module = nn.LazyLinear(4)
    weight = introspect.module_facts(module).members[0]
    assert (weight.materialized, weight.elements, weight.bytes) == (False, 0, 0)
    assert "weight float32, shape not known yet" in viz.module_text(introspect.module_facts(module))
    assert "shape not known yet" in Checker(viz.module_page(introspect.module_facts(module))).text
    assert "shape not known yet" in Checker(viz.tensor_card(module.weight)).text
    assert "shape not known yet" in viz.tensors_text(introspect.tensors_facts({"module": module}))
    module(torch.ones(2, 3))
    weight = introspect.module_facts(module).members[0]
    assert (weight.materialized, weight.shape, weight.elements) == (True, (4, 3), 12)
    assert "not known" not in viz.module_text(introspect.module_facts(module))

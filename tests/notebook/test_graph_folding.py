"""Graphs of hundreds of nodes: folded by module and by repetition, each fold with a picture, small, no script."""
from __future__ import annotations

import pytest

import mindtorch as torch
from mindtorch import introspect, nn, viz
from mindtorch.introspect import Fold, folded, folding, unfolded
from mindtorch.introspect.folding import common, module_of, nodes_of

from .test_pictures import Checker

LIMIT = 300 * 1024


def facts_of(loss, **namespace):
    return introspect.graph_facts(loss, dict(introspect.named_tensors({**namespace, "loss": loss})))


def mlp(depth=60, width=4):
    layers = (layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.ReLU()))
    return nn.Sequential(*layers, nn.Linear(width, 1))


def recurrence(steps=100):
    w, u, b = (torch.randn(shape, requires_grad=True) for shape in ((4, 4), (4, 4), (4,)))
    h = torch.zeros(2, 4)
    for x in torch.randn(steps, 2, 4):
        h = torch.tanh(x @ u + h @ w + b)
    return (h * h).sum(), {"w": w, "u": u, "b": b, "h": h}


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(4, 4, bias=False)
        self.feed = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))

    def forward(self, x):
        q = self.mix(x)
        x = x + (q @ q.t()).softmax(-1) @ q
        return x + self.feed(x)


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.again = nn.Linear(2, 4), nn.Linear(4, 4)

    def forward(self, x, h):
        return (self.enter(x) + self.again(h)).tanh()


def folds(parts):
    for part in parts:
        if isinstance(part, Fold):
            yield part
            yield from folds(part.parts)


def test_a_small_graph_is_not_folded():
    model = mlp(2)
    facts = facts_of(model(torch.ones(1, 4)).sum(), model=model)
    assert list(folds(folded(facts))) == []
    assert Checker(viz.graph_page(facts)).tags.count("svg") == 1


def test_layers_that_are_alike_are_one_fold_named_after_the_modules():
    model = mlp()
    facts = facts_of(model(torch.ones(2, 4)).square().mean(), model=model)
    assert len(facts.nodes) > 200
    (fold,) = (fold for fold in folded(facts) if isinstance(fold, Fold))
    assert (fold.label, fold.times, len(fold.nodes)) == ("model.2 … model.118", 59, 177)
    names = {node.identity: node.name for node in facts.nodes}
    assert [names[part] for part in unfolded(fold.parts)] == ["ReluBackward0", "AddmmBackward0", "TBackward0"]


def test_every_operator_is_in_one_place():
    for loss, namespace in (recurrence(), deep_blocks()):
        facts = facts_of(loss, **namespace)
        operators = sorted(node.identity for node in facts.nodes if not node.variable)
        assert sorted(nodes_of(folded(facts))) == operators
        for fold in folds(folded(facts)):
            assert sorted(nodes_of(fold.parts) * (fold.times == 1)) == sorted(fold.nodes * (fold.times == 1))
            assert len(nodes_of(fold.parts)) * fold.times == len(fold.nodes)


def deep_blocks():
    net = nn.Sequential(*(Block() for _ in range(12)))
    return net(torch.ones(3, 4)).mean(), {"net": net}


def test_nodes_between_a_module_s_parameters_belong_to_it():
    loss, namespace = deep_blocks()
    facts = facts_of(loss, **namespace)
    labels = {fold.label: fold for fold in folds(folded(facts))}
    names = {node.identity: node.name for node in facts.nodes}
    assert {"SoftmaxBackward0", "GeluBackward0"} <= {names[node] for node in labels["net.11"].nodes}
    assert labels["net.1 … net.11"].times == 11


def test_a_recurrence_that_uses_the_same_parameters_again_is_folded_by_repetition():
    loss, namespace = recurrence()
    facts = facts_of(loss, **namespace)
    (fold,) = folds(folded(facts))
    assert fold.times == 99 and len(fold.nodes) == 495
    cell, h = Cell(), torch.zeros(1, 4)
    for _ in range(100):
        h = cell(torch.ones(1, 2), h)
    assert max(fold.times for fold in folds(folded(facts_of(h.sum(), cell=cell)))) >= 98


def test_a_layer_unlike_the_others_is_not_hidden():
    model = mlp()
    x = torch.ones(2, 4)
    for i, layer in enumerate(model):
        x = layer(x)
        if i == 61:
            kept = x
    loss = x.sum()
    with torch.no_grad():
        kept.mul_(2)  # which backward will complain of
    facts = facts_of(loss, model=model)
    inside = [fold for fold in folds(folded(facts)) if fold.times > 1]
    assert len(inside) == 2 and sum(fold.times for fold in inside) < 60
    stale = {node.identity for node in facts.nodes if any(saved.stale for saved in node.saved)}
    assert stale and not stale & {node for fold in inside for node in fold.nodes}
    assert "written in place since: backward will fail" in viz.graph_text(facts)


@pytest.mark.parametrize("differs", [
    lambda layer, out: out.register_hook(lambda grad: None),
    lambda layer, out: layer.weight.register_hook(lambda grad: None),
    lambda layer, out: setattr(layer.weight, "grad", None),
], ids=["a hook", "a leaf's hook", "a leaf without a gradient"])
def test_a_layer_with_which_something_else_happened_is_not_hidden(differs):
    model, x = mlp(), torch.ones(2, 4)
    outs = [x := layer(x) for layer in model]
    loss = x.sum()
    loss.backward(retain_graph=True)
    differs(model[60], outs[61])
    inside = [fold for fold in folds(folded(facts_of(loss, model=model))) if fold.times > 1]
    assert len(inside) == 2 and sum(fold.times for fold in inside) == 58


@pytest.mark.parametrize(("differs", "alike"), [
    (lambda last: None, 59), (lambda last: last.register_hook(lambda grad: None), 58),
    (lambda last: last.retain_grad(), 58),
], ids=["nothing", "a hook", "a gradient"])
def test_the_last_of_a_chain_stands_alone_if_something_else_happened_with_it(differs, alike):
    tensors = {"y0": torch.ones(2, requires_grad=True)}
    for i in range(60):
        tensors[f"y{i + 1}"] = tensors[f"y{i}"].tanh()
    differs(tensors["y60"])
    tensors["y60"].sum().backward(retain_graph=True)
    inside = folds(folded(facts_of(tensors["y60"], **tensors)))
    assert [fold.times for fold in inside if fold.times > 1] == [alike]  # the first differs, too: it reads a leaf


@pytest.mark.parametrize(("length", "shown"), [(5, 0), (6, 1)])
def test_repetitions_of_six_operators_are_worth_a_fold(length, shown):
    w = torch.ones(2, requires_grad=True)
    y = w.exp()  # which differs in that it reads a leaf
    for _ in range(length):
        y = y.exp()
    facts = facts_of(y.sum(), w=w)
    parts = folding._Folding(facts).parts([node for node in facts.nodes if not node.variable], 0)
    assert [fold.times for fold in folds(parts)] == [length] * shown


def test_a_long_irregular_graph_is_cut_into_pieces():
    w = torch.ones(2, requires_grad=True)
    y, seed = w, 1
    for _ in range(500):
        seed = seed * 1103515245 + 12345 & 0x7FFFFFFF
        y = getattr(y, ("exp", "sin", "tanh", "neg", "relu")[(seed >> 16) % 5])()
    parts = folded(facts_of(y.sum(), w=w))
    assert 1 < len(parts) <= 40 and all(isinstance(part, Fold) for part in parts)
    assert parts[0].label.startswith("parts 1 … ")


@pytest.mark.parametrize("make", [
    lambda: (lambda model: (model(torch.ones(2, 4)).sum(), {"model": model}))(mlp()),
    recurrence, deep_blocks, lambda: irregular(1500),
])
def test_the_page_of_a_deep_graph_is_below_300_kib_and_needs_no_script(make):
    loss, namespace = make()
    facts = facts_of(loss, **namespace)
    assert len(facts.nodes) > 200
    page = viz.graph_page(facts)
    assert len(page.encode()) < LIMIT
    seen = Checker(page)
    pictures = seen.tags.count("svg")
    assert pictures > 1 and seen.tags.count("details") >= pictures and "script" not in seen.tags
    assert all(float(value) < 6000 for key, value in seen.attributes if key in ("width", "height"))
    assert len(viz.graph_text(facts).splitlines()) < 200 or "parts 1" in viz.graph_text(facts)


def irregular(length):
    w = torch.ones(2, requires_grad=True)
    y, seed = w, 7
    for _ in range(length):
        seed = seed * 1103515245 + 12345 & 0x7FFFFFFF
        y = getattr(y, ("exp", "sin", "tanh", "neg", "relu")[(seed >> 16) % 5])()
    return y.sum(), {"w": w}


def test_each_fold_has_a_picture_that_says_where_it_begins_and_ends():
    loss, namespace = recurrence()
    page = Checker(viz.graph_page(facts_of(loss, **namespace)))
    assert "from TanhBackward0" in page.text and "to the next of 99" in page.text
    assert "one of 99 that are alike" in page.text


def test_outputs_of_one_node_are_not_called_equal():
    p = torch.randn(4, 6, requires_grad=True)
    first, second = p.split(2)
    y = first * second
    said = viz.graph_text(facts_of(y.sum(), p=p, second=second, first=first, y=y))
    assert "first, second = SplitBackward0" in said and "y = MulBackward0" in said
    parts = p.unbind(1)
    loss = sum(part.sum() for part in parts)
    page = Checker(viz.graph_page(facts_of(loss, p=p, parts=parts)))
    assert "parts[0], parts[1], … = UnbindBackward0" in page.text  # it is the names that are cut, not the operator


def test_a_gradient_that_an_inner_tensor_keeps_is_told():
    p = torch.ones(3, requires_grad=True)
    q = p.exp()
    q.retain_grad()
    loss = q.sum()
    assert "has grad" not in viz.graph_text(facts_of(loss, p=p, q=q))
    loss.backward()
    said = viz.graph_text(facts_of(loss, p=p, q=q))
    assert "q = ExpBackward0  [3] · freed · has grad" in said
    node = next(node for node in facts_of(loss, p=p, q=q).nodes if node.name == "ExpBackward0")
    assert node.has_grad and node.outputs == ("q",)


def test_a_fold_of_two_nodes_is_opened_where_there_is_nearly_room():
    many = [Fold(str(i), (100 + i,) * 9, (100 + i,) * 9) for i in range(19)]
    assert unfolded([*many, Fold("two", (1, 2), (1, 2))]) == (*many, 1, 2)
    five = Fold("five", (1, 2, 3, 4, 5), (1, 2, 3, 4, 5))
    assert unfolded([*many, five]) == (*many, five)


def test_what_backward_did_is_told_of_folds_and_leaves():
    model = mlp()
    loss = model(torch.ones(2, 4)).sum()
    facts = facts_of(loss, model=model)
    assert "freed" not in viz.graph_text(facts)
    loss.backward()
    said = viz.graph_text(facts_of(loss, model=model))
    fold = next(line for line in said.splitlines() if "× 59" in line)
    assert fold == "model.2 … model.118 × 59  177 nodes · 118 leaves, have grad · freed"
    assert "model.0.weight  [4, 4] · leaf, has grad" in said


def test_hooks_are_counted_in_folds():
    model = mlp()
    for i in range(0, 120, 2):
        model[i].weight.register_hook(lambda grad: None)
    said = viz.graph_text(facts_of(model(torch.ones(2, 4)).sum(), model=model))
    assert "59 hooks" in said


@pytest.mark.parametrize(("name", "path"), [
    ("model.0.weight", ("model", "0")), ("w", ()), ("d['a.b']", ()), ("layers[0].bias", ("layers[0]",)), ("", ()),
    ("a leaf without a name", ()),
])
def test_a_parameter_s_name_tells_its_module(name, path):
    assert module_of(name) == path


def test_what_modules_have_in_common():
    assert common([("a", "b", "c"), ("a", "b", "d")]) == ("a", "b")
    assert common([("a",), ("b",)]) == common([]) == ()


def test_folds_are_opened_as_long_as_there_is_room():
    small, large = Fold("s", (1, 2), (1, 2)), Fold("l", tuple(range(10, 60)), tuple(range(10, 60)))
    repeated = Fold("r", (3,), (3, 4, 5), 3)
    assert unfolded([small, large, repeated, 9]) == (1, 2, large, repeated, 9)

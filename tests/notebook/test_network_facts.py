"""Every field of the facts of nodes of graphs and modules, beside a calculation of its own."""
from __future__ import annotations

import collections
from typing import Any

import mindtorch as torch
from mindtorch import introspect, nn
from mindtorch.introspect.graph import nodes_behind


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

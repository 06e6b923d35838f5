"""Graphs that are built and changed by hand: order, users, errors of lint, hooks, copies."""
from __future__ import annotations

import copy
import linecache
import operator
import pickle
import subprocess
import sys
import traceback

import pytest

import mindtorch as torch
from mindtorch import fx, nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.linear(x).relu() * self.scale


def by_name(graph: fx.Graph) -> dict[str, fx.Node]:
    return {node.name: node for node in graph.nodes}


def test_users_follow_the_arguments() -> None:
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    total = graph.call_function(torch.add, (x, [x, {"a": (y, slice(x, None))}]))
    assert total.all_input_nodes == [x, y] and list(x.users) == [total]
    total.args = (y,)
    assert not x.users and list(y.users) == [total]
    total.kwargs = {"alpha": x}
    total.replace_input_with(y, x)
    assert (total.args, dict(total.kwargs)) == ((x,), {"alpha": x}) and not y.users


def test_arguments_refuse_to_be_written() -> None:
    graph = fx.Graph()
    node = graph.call_function(torch.cat, ([graph.placeholder("x")],), {"dim": 0})
    for change in (lambda: node.args[0].append(1), lambda: node.kwargs.update(dim=1)):
        with pytest.raises(TypeError, match="does not support mutation"):
            change()


def test_nodes_are_put_where_the_insertion_point_is() -> None:
    graph = fx.symbolic_trace(Net()).graph
    relu = by_name(graph)["relu"]
    with graph.inserting_before(relu):
        first, second = graph.call_function(torch.sin), graph.call_function(torch.cos)
    with graph.inserting_after(relu):
        after = graph.call_function(torch.exp)
    last = graph.call_function(torch.log)
    order = [node.name for node in graph.nodes]
    assert order[2:6] == ["sin", "cos", "relu", "exp"] and order[-1] == "log"
    assert first < second < relu < after < last and next(reversed(graph.nodes)) is last
    relu.prepend(last)
    assert second.next is last and last.next is relu and sorted([relu, last, first]) == [first, last, relu]


def test_nodes_may_be_erased_while_they_are_iterated() -> None:
    graph = fx.symbolic_trace(lambda x: x.sin().cos().exp()).graph
    graph.output_node().args = (None,)
    for node in reversed(graph.nodes):
        if node.op == "call_method":
            graph.erase_node(node)
    assert [node.name for node in graph.nodes] == ["x", "output"] and len(graph.nodes) == 2


def test_a_node_with_users_is_not_erased() -> None:
    graph = fx.symbolic_trace(Net()).graph
    with pytest.raises(RuntimeError, match=r"Tried to erase Node linear but it still had 1 users in the graph"):
        graph.erase_node(by_name(graph)["linear"])


@pytest.mark.parametrize(("change", "message"), [
    (lambda graph, nodes: nodes["relu"].append(nodes["linear"]), "was used before it has been defined"),
    (lambda graph, nodes: setattr(nodes["relu"], "args", (fx.Graph().placeholder("y"),)), "not belong to this Graph"),
    (lambda graph, nodes: setattr(nodes["linear"], "target", "lost"), "references nonexistent attribute lost"),
    (lambda graph, nodes: setattr(nodes["linear"], "target", "scale"), "does not reference an nn.Module"),
    (lambda graph, nodes: setattr(nodes["relu"], "op", "call"), "unknown opcode call"),
    (lambda graph, nodes: setattr(nodes["relu"], "name", "linear"), "redefined name linear"),
], ids=["order", "graph", "attribute", "module", "opcode", "name"])
def test_lint_names_what_is_wrong(change, message) -> None:
    graph = fx.symbolic_trace(Net()).graph
    graph.lint()
    change(graph, by_name(graph))
    with pytest.raises(RuntimeError, match=message):
        graph.lint()


def test_a_changed_graph_runs_once_it_is_compiled_again() -> None:
    module = fx.symbolic_trace(Net())
    x = torch.randn(2, 3)
    relu = by_name(module.graph)["relu"]
    relu.target = "neg"
    before = module(x)
    module.recompile()
    assert torch.equal(before, module.linear(x).relu() * module.scale)
    assert torch.equal(module(x), -module.linear(x) * module.scale)


def test_gradients_flow_through_a_traced_module() -> None:
    net, x = Net(), torch.randn(2, 3)
    net(x).sum().backward()
    expected = net.linear.weight.grad.clone()
    net.zero_grad()
    fx.symbolic_trace(net)(x).sum().backward()
    assert torch.equal(net.linear.weight.grad, expected)


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda module: pickle.loads(pickle.dumps(module))],
                         ids=["deepcopy", "copy", "pickle"])
def test_copies_do_the_same(copied) -> None:
    module = fx.symbolic_trace(Net())
    other, x = copied(module), torch.randn(2, 3)
    assert other.code == module.code and torch.equal(other(x), module(x))
    assert other.graph.owning_module is other
    assert type(other).forward is not type(module).forward


def test_a_pickle_is_loaded_by_another_process(tmp_path) -> None:
    module, x = fx.symbolic_trace(nn.Sequential(nn.Linear(3, 2), nn.Tanh())), torch.ones(1, 3)
    (tmp_path / "module.pickle").write_bytes(pickle.dumps((module, x, module(x).detach())))
    program = ("import pickle, mindtorch\nmodule, x, y = pickle.load(open('module.pickle', 'rb'))\n"
               "assert mindtorch.equal(module(x), y) and len(module.graph.nodes) == 4")
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)


def test_a_folder_is_a_package_of_the_module(tmp_path, monkeypatch) -> None:
    module, x = fx.symbolic_trace(Net()), torch.randn(2, 3)
    module.to_folder(tmp_path / "saved_net", "SavedNet")
    monkeypatch.syspath_prepend(tmp_path)
    from saved_net import SavedNet  # type: ignore[import-not-found]

    assert torch.equal(SavedNet()(x), module(x))
    sys.modules.pop("saved_net.module")
    sys.modules.pop("saved_net")


def test_tracebacks_show_the_generated_line(capsys) -> None:
    module = fx.symbolic_trace(lambda x: x + torch.ones(7))
    with pytest.raises(RuntimeError):
        module(torch.ones(3))
    assert "add = x + _tensor_constant0" in capsys.readouterr().err or module._lineno_map
    module.graph.output_node().args = (fx.Graph().placeholder("lost"),)
    module.recompile()
    with pytest.raises(NameError) as caught:
        module(torch.ones(7))
    shown = capsys.readouterr().err
    assert "Call using an FX-traced Module, line" in shown and "return lost" in shown and "<--- HERE" in shown
    assert traceback.extract_tb(caught.tb)


def test_sources_are_forgotten_with_their_functions() -> None:
    def known() -> int:
        return sum(key.startswith("<eval_with_key>") for key in linecache.cache)

    module = fx.symbolic_trace(lambda x: x + 1)
    before = known()
    for _ in range(5):
        module.recompile()
    assert known() == before


def test_code_can_be_transformed() -> None:
    module = fx.symbolic_trace(lambda x: x + 1)
    with module.graph.on_generate_code(lambda before: lambda lines: ["x = x * 2\n", *lines]):
        module.recompile()
        assert module(torch.ones(1)).item() == 3
    module.recompile()
    assert module(torch.ones(1)).item() == 2
    assert set(module._lineno_map.values()) >= {1, 2}


def test_hooks_hear_of_changes() -> None:
    module, heard = fx.symbolic_trace(lambda x: x.sin().cos()), []
    module._register_create_node_hook(lambda node: heard.append(("create", node.name)))
    module._register_erase_node_hook(lambda node: heard.append(("erase", node.name)))
    module._register_replace_node_hook(lambda old, new, user: heard.append((old.name, new, user.name)))
    sin, cos = (by_name(module.graph)[name] for name in ("sin", "cos"))
    with module.graph.inserting_after(sin):
        exp = module.graph.call_function(torch.exp, sin.args)
    sin.replace_all_uses_with(exp)
    module.graph.erase_node(sin)
    cos.name = "cosine"
    assert heard == [("create", "exp"), ("sin", "exp", "cos"), ("erase", "sin"), ("cos", "cosine", "output")]


def test_submodules_are_added_and_removed_by_path() -> None:
    module = fx.symbolic_trace(Net())
    assert module.add_submodule("a.b.c", nn.Linear(1, 1)) and not module.add_submodule("scale.c", nn.ReLU())
    assert module.delete_submodule("a.b.c") and not module.delete_submodule("a.b.d")
    module.delete_all_unused_submodules()
    assert [name for name, _ in module.named_modules()] == ["", "linear"]


def test_an_effect_is_kept_without_users() -> None:
    module = fx.symbolic_trace(lambda x: x)
    with module.graph.inserting_before(module.graph.output_node()):
        x = by_name(module.graph)["x"]
        kept = [module.graph.call_function(operator.setitem, (x, 0, 1)), module.graph.call_function(torch.rand, ([2],)),
                module.graph.call_function(torch.ops.aten.relu_.default, (x,)),
                module.graph.call_function(torch._assert, (True, ""))]
        module.graph.call_function(torch.sin, (x,))
    assert module.graph.eliminate_dead_code()
    assert list(module.graph.nodes)[1:-1] == kept


def test_a_wrong_target_is_refused() -> None:
    with pytest.raises(ValueError, match="but a Callable is expected"):
        fx.Graph().create_node("call_function", "sin")
    with pytest.raises(RuntimeError, match="was not provided in ``root``"):
        fx.GraphModule({}, fx.symbolic_trace(Net()).graph)

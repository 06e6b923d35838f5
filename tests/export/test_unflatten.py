"""``torch.export.unflatten``: an exported program as a tree of modules, each with its part of the graph."""
from __future__ import annotations

import importlib
from typing import Any

import pytest

import mindtorch
from tests.support import torch

LIBRARIES = (mindtorch, torch)


def nested(lib: Any) -> Any:
    """Return a module of nested modules, a shared one, and one that is called twice."""
    nn = lib.nn

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.bn = nn.Linear(3, 3), nn.BatchNorm1d(3)
            self.register_buffer("shift", lib.full((3,), 0.5))

        def forward(self, x: Any) -> Any:
            return self.bn(self.inner(x)).relu() + self.shift

    class Net(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.a, self.seq = Block(), nn.Sequential(Block(), nn.Linear(3, 3))
            self.p, self.last, self.gru = nn.Parameter(lib.ones(3)), nn.Linear(3, 3), nn.GRU(3, 3)

        def forward(self, x: Any, *, k: Any) -> Any:
            y = self.seq(self.a(x) * self.p)
            return {"y": self.last(self.last(y)), "k": [k * 2, self.gru(y[None])]}

    lib.manual_seed(0)
    return Net()


def unflattened(lib: Any, decomposed: bool = False) -> tuple[Any, Any]:
    export, net = importlib.import_module(f"{lib.__name__}.export"), nested(lib)
    program = export.export(net, (lib.ones(4, 3),), {"k": lib.ones(1)})
    return net, export.unflatten(program.run_decompositions() if decomposed else program)


def operators(module: Any) -> list[str]:
    return [str(node.target).replace("mindtorch.", "torch.") for node in module.graph.nodes
            if node.op.startswith("call") and "getitem" not in str(node.target)]


def test_the_modules_their_tensors_and_their_operators_are_pytorchs() -> None:
    (_, ours), (_, theirs) = (unflattened(lib) for lib in LIBRARIES)
    for names in (lambda u: [name for name, _ in u.named_modules()], lambda u: [*u.state_dict()], operators,
                  lambda u: operators(u.a), lambda u: operators(u.seq), lambda u: operators(u.seq[0]) if hasattr(
                      u.seq, "__getitem__") else operators(getattr(u.seq, "0"))):
        assert names(ours) == names(theirs)


def test_all_its_values_are_described() -> None:
    _, made = unflattened(mindtorch)
    graphs = [module.graph for module in made.modules()]
    assert all(node.meta.get("val") is not None for graph in graphs for node in graph.nodes if node.op != "output")


@pytest.mark.parametrize("decomposed", [False, True])
def test_it_computes_what_the_original_does_and_writes_its_buffers(decomposed: bool) -> None:
    _, made = unflattened(mindtorch, decomposed)
    net, x = nested(mindtorch), mindtorch.randn(4, 3)
    found, expected = made(x, k=mindtorch.ones(1)), net(x, k=mindtorch.ones(1))
    mindtorch.testing.assert_close(found, expected)
    mindtorch.testing.assert_close({**made.state_dict()}, {**net.state_dict()})
    found["y"].sum().backward()
    expected["y"].sum().backward()
    mindtorch.testing.assert_close(made.a.inner.weight.grad, net.a.inner.weight.grad)


def test_a_module_of_it_can_be_replaced_and_has_hooks() -> None:
    _, made = unflattened(mindtorch)
    seen: list[Any] = []
    made.seq.register_forward_hook(lambda module, args, result: seen.append(result.shape))
    made.last = mindtorch.nn.Identity()
    made(mindtorch.ones(4, 3), k=mindtorch.ones(1))
    assert seen == [(4, 3)]


class Modes(mindtorch.nn.Module):
    """Calls a module in two ways, and one by two names."""

    def __init__(self) -> None:
        super().__init__()
        self.kind = Kind()
        self.other = self.kind

    def forward(self, x: Any) -> Any:
        return self.kind(x, True) + self.kind(x, False) + self.other(x, True)


class Kind(mindtorch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w, self.inner = mindtorch.nn.Parameter(mindtorch.tensor([1.0, 2.0])), mindtorch.nn.Linear(2, 2)

    def forward(self, x: Any, multiplies: bool) -> Any:
        return self.inner(x * self.w) if multiplies else self.inner(x + self.w).sin()


def test_a_module_that_is_called_in_two_ways_is_there_twice() -> None:
    net, x = Modes(), mindtorch.ones(3, 2)
    made = mindtorch.export.unflatten(mindtorch.export.export(net, (x,)))
    mindtorch.testing.assert_close(made(x), net(x))
    assert {"kind", "kind.inner", "kind@1"} <= {name for name, _ in made.named_modules()}
    assert [node.target for node in made.graph.nodes if node.op == "call_module"] == ["kind", "kind@1", "kind"]


def test_arguments_of_another_structure_are_refused_or_adapted() -> None:
    class Adapter(mindtorch.export.FlatArgsAdapter):
        def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
            return [input_args[1], input_args[0]]

    net, x, k = nested(mindtorch), mindtorch.ones(4, 3), mindtorch.ones(1)
    program = mindtorch.export.export(net, (x,), {"k": k})
    with pytest.raises(ValueError, match="mismatch"):
        mindtorch.export.unflatten(program)(k, x)
    assert mindtorch.export.unflatten(program, Adapter())(k, x)["k"][0].tolist() == [2]
    with pytest.raises(AssertionError, match="Guard failed"):
        mindtorch.export.unflatten(program)(mindtorch.ones(5, 3), k=k)

"""``torch._dynamo.export``: the graph that PyTorch exports, its arguments and results, and what describes its nodes."""
from __future__ import annotations

import importlib

import pytest

import mindtorch
from tests.support import torch

LIBS = (mindtorch, torch)


def network(lib):
    class Network(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.relu = lib.nn.Linear(3, 3), lib.nn.ReLU()
            self.register_buffer("scale", lib.ones(3))

        def forward(self, x, y=None, *, weights):
            x = self.relu(self.linear(self.linear(x))) * self.scale
            return {"a": lib.nn.functional.linear(x, weights["w"]), "b": (x[0], y, 3)}

    return Network()


def exported(lib, **options):
    args, kwargs = (lib.ones(2, 3), lib.ones(2)), {"weights": {"w": lib.ones(5, 3)}}
    model = network(lib)
    module, _ = lib._dynamo.export(model, **options)(*args, **kwargs)
    return module, model, args, kwargs


def described(node):
    """Return a node's kind, name and the modules that it comes from."""
    source = [getattr(one, "__name__", one) for _, one in node.meta.get("source_fn_stack") or ()]
    stack = [(path, kind.rpartition(".")[2] if isinstance(kind, str) else kind.__name__)
             for path, kind in (node.meta.get("nn_module_stack") or {}).values()]
    return node.op, str(node.target if node.op == "get_attr" else ""), source, stack if node.op != "get_attr" else []


def test_operators_are_described_by_the_modules_that_call_them() -> None:
    for options in ({}, {"aten_graph": True}):
        ours, theirs = ([described(node) for node in exported(lib, **options)[0].graph.nodes
                         if node.op in ("call_function", "output")] for lib in LIBS)
        assert ours == theirs


@pytest.mark.parametrize("options", [{}, {"aten_graph": True}, {"tracing_mode": "fake"}])
def test_the_module_takes_the_functions_arguments_and_returns_its_results(options) -> None:
    module, model, args, kwargs = exported(mindtorch, **options)
    found, wanted = module(*args, **kwargs), model(*args, **kwargs)
    assert found["a"].equal(wanted["a"]) and found["b"][0].equal(wanted["b"][0])
    assert found["b"][1] is args[1] and found["b"][2] == 3
    theirs = exported(torch, **options)[0]
    for names in (lambda it: sorted(name for name, _ in it.named_parameters()),
                  lambda it: sorted(name for name, _ in it.named_buffers())):
        assert names(module) == names(theirs)


def test_the_modules_parts_can_be_found_again() -> None:
    counts = []
    for lib in LIBS:
        utils = importlib.import_module(f"{lib.__name__}.fx.passes.utils.source_matcher_utils")
        parts = utils.get_source_partitions(exported(lib, aten_graph=True)[0].graph, [lib.nn.Linear, lib.nn.ReLU])
        counts.append({kind.__name__: [len(part.nodes) for part in found] for kind, found in parts.items()})
    assert counts[0] == counts[1]


def test_sizes_are_read_from_the_arguments() -> None:
    module = mindtorch._dynamo.export(lambda x: x.reshape(x.shape[0] * 2, -1))(mindtorch.ones(4, 6)).graph_module
    assert module(mindtorch.ones(5, 8)).shape == (10, 4)


def test_an_export_runs_nothing_on_the_arguments() -> None:
    x = mindtorch.ones(3)
    module, guards = mindtorch._dynamo.export(lambda x: x.add_(1))(x)
    assert x.tolist() == [1, 1, 1] and module(x).tolist() == [2, 2, 2] and any("L['x']" in guard for guard in guards)


@pytest.mark.parametrize(("function", "options", "error"), [
    (lambda x: (print(x), x + 1), {}, "Unsupported"),
    (lambda x: x + 1, {"pre_dispatch": True}, "AssertionError"),
    (lambda x: x + 1, {"decomposition_table": {}}, "AssertionError"),
])
def test_what_cannot_be_exported_is_an_error(function, options, error) -> None:
    for lib in LIBS:
        with pytest.raises(Exception) as caught:
            lib._dynamo.export(function, **options)(lib.ones(3))
        assert type(caught.value).__name__ == error


def test_sizes_of_an_export_are_not_declared() -> None:
    with pytest.raises(mindtorch._dynamo.exc.UserError, match=r"torch\.export\.export"):
        mindtorch._dynamo.export(lambda x: x + 1, dynamic_shapes=({0: mindtorch.export.Dim("n")},))

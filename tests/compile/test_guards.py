"""Which program a call runs, and when one is made: guards, graph breaks, threads, settings, copies."""
from __future__ import annotations

import copy
import gc
import pickle
import threading
import time
import warnings
import weakref
from collections import OrderedDict, deque
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch._dynamo import exc, explain
from tests.compile.asking import entries, reason_of

SETTINGS = SimpleNamespace(scale=2.0)
FACTOR = 3
NUMBERS = iter([1, 2, 3, 4, 5, 6, 7])


# -- guards ------------------------------------------------------------------------------------------------------------

def test_each_kind_of_guard_leads_to_a_program_of_its_own() -> None:
    compiled = torch.compile(lambda x, n=1, flag=True: x * n if flag else x - n)
    x = torch.ones(4, 6)
    calls = [(x,), (x.double(),), (x[:2],), (x.t(),), (x.clone().requires_grad_(),), (x, 2), (x, 2.0)]
    for number, args in enumerate(calls):
        for _ in range(2):
            torch.testing.assert_close(compiled(*args), args[0] * (args[1] if len(args) > 1 else 1))
        assert len(entries(compiled)) == number + 1
    with torch.no_grad():
        assert not compiled(x.clone().requires_grad_()).requires_grad
    assert len(entries(compiled)) == 8


def test_whether_a_tensor_is_a_leaf_or_a_view_is_guarded_where_it_matters() -> None:
    leaf = torch.ones(2, requires_grad=True)
    compiled = torch.compile(lambda x: x * 2 if x.is_leaf else x * 3)
    assert compiled(leaf).tolist() == [2, 2] and compiled(leaf * 1).tolist() == [3, 3]

    def taken_without_grad(x):
        with torch.no_grad():
            view = x.view(-1)
        return view.clone()

    of_plain, compiled = torch.ones(4)[::2].requires_grad_(), torch.compile(taken_without_grad)
    assert [compiled(x[:1]).requires_grad for x in (leaf, of_plain)] == [True, False]

    compiled = torch.compile(lambda x: (x * 2, x.requires_grad_())[0])
    compiled(leaf)
    with torch.no_grad():
        view = leaf[:1]
    compiled(view)
    assert torch.autograd.grad([view], [leaf], [torch.ones(1)], allow_unused=True) == (None,)  # a leaf of its own


def test_values_that_the_function_reads_are_guarded(monkeypatch) -> None:
    kept = {"n": 1, "list": [1.0, 2.0]}
    cell = 1.5

    def function(x):
        return x * FACTOR * SETTINGS.scale + kept["n"] * sum(kept["list"]) * cell

    compiled, x = torch.compile(function, fullgraph=True), torch.ones(2)
    changes = [lambda: None, lambda: monkeypatch.setitem(globals(), "FACTOR", 5),
               lambda: monkeypatch.setattr(SETTINGS, "scale", 0.5), lambda: kept.update(n=7),
               lambda: kept["list"].append(4.0)]
    for number, change in enumerate(changes):
        change()
        assert compiled(x).tolist() == function(x).tolist() == compiled(x).tolist()
        assert len(entries(compiled)) == number + 1
    cell = 2.5
    assert compiled(x).tolist() == function(x).tolist()


def test_true_and_one_and_one_point_nought_are_different_values() -> None:
    box = SimpleNamespace(n=1)
    compiled = torch.compile(lambda x: x * box.n)
    x = torch.ones(2, dtype=torch.int64)
    assert compiled(x).dtype is torch.int64
    box.n = 1.0
    assert compiled(x).dtype is torch.float32


def test_the_elements_of_numpy_arrays_are_read_at_each_call() -> None:
    weights = np.array([1.0, 2.0])
    compiled, x = torch.compile(lambda x: x * float(weights[0])), torch.ones(2)
    assert compiled(x).tolist() == [1, 1]
    weights[0] = 3
    assert compiled(x).tolist() == [3, 3]


def test_a_method_and_the_classes_of_objects_are_guarded() -> None:
    class Scale:
        factor = 2.0

        def apply(self, x):
            return x * self.factor

    scale = Scale()
    compiled, x = torch.compile(lambda x: scale.apply(x)), torch.ones(2)
    assert compiled(x).tolist() == [2, 2]
    Scale.factor = 3.0
    assert compiled(x).tolist() == [3, 3]
    Scale.apply = lambda self, x: x - 1
    assert compiled(x).tolist() == [0, 0]


def test_training_and_evaluation_mode_have_programs_of_their_own() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.9))
    compiled, x = torch.compile(model), torch.ones(64, 3)
    assert (compiled(x) == 0).any() and (compiled(x) == 0).any()
    model.eval()
    assert not (compiled(x) == 0).any() and not (compiled(x) == 0).any()
    compiled.train()
    assert model.training and (compiled(x) == 0).any()
    assert len(compiled._compiled.entries) == 2


def test_parameters_are_read_at_every_call() -> None:
    model, x = nn.Linear(2, 2), torch.ones(1, 2)
    compiled = torch.compile(model)
    for _ in range(3):
        torch.testing.assert_close(compiled(x), model(x))
        with torch.no_grad():
            model.weight.add_(1)
    model.weight.data = torch.zeros(2, 2)
    torch.testing.assert_close(compiled(x), model(x))
    model.weight = nn.Parameter(torch.ones(2, 2))
    torch.testing.assert_close(compiled(x), model(x))
    model.weight.requires_grad_(False)
    model.bias.requires_grad_(False)
    assert not compiled(x).requires_grad
    model.register_forward_hook(lambda module, args, out: out * 0)
    assert compiled(x).tolist() == [[0, 0]]


def test_after_the_limit_calls_run_as_they_are_written() -> None:
    compiled, x = torch.compile(lambda x, n: x * n), torch.ones(2)
    with pytest.warns(UserWarning, match="recompile_limit"):
        for n in range(12):
            assert compiled(x, n).tolist() == [n, n]
    assert len(entries(compiled)) == torch._dynamo.config.recompile_limit == 8
    strict = torch.compile(lambda x, n: x * n, fullgraph=True)
    with pytest.raises(exc.FailOnRecompileLimitHit):
        for n in range(12):
            strict(x, n)
    torch.compiler.reset()
    assert not entries(compiled) and compiled(x, 20).tolist() == [20, 20]


@pytest.mark.parametrize(("limit", "made"), [(None, 8), (0, 0), (1, 1), (3, 3), (20, 10)])
def test_a_compiled_function_may_have_a_limit_of_its_own(limit, made) -> None:
    compiled = torch.compile(lambda x, n: x * n, recompile_limit=limit, dynamic=False, name="scaled")
    x = torch.ones(2)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for n in range(10):
            assert compiled(x, n).tolist() == [n, n]
    assert len(entries(compiled)) == made
    assert [f"recompile_limit ({8 if limit is None else limit})" in str(one.message) and "of scaled" in str(one.message)
            for one in told] == [True] * (made < 10)
    strict = torch.compile(lambda x, n: x * n, recompile_limit=1, dynamic=False, fullgraph=True)
    strict(x, 1)
    with pytest.raises(exc.FailOnRecompileLimitHit):
        strict(x, 2)


class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor

    def total(self):
        return self.first + self.second


CONTAINERS = {
    "a named tuple": (lambda p: Pair(p.total(), p.second * 2), lambda x: Pair(x, x + 1)),
    "a deque": (lambda d: deque([d[0] * d[-1]]), lambda x: deque([x, x * 2])),
    "an ordered dictionary": (lambda x: OrderedDict(b=x, a=x + 1), lambda x: x),
    "a function of the library": (lambda f: f(torch.ones(2)) * 2, lambda x: torch.relu),
    "linalg": (lambda x: torch.linalg.norm(x) + torch.fft.rfft(x).abs(), lambda x: x),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_and_functions_of_the_library_are_parts_of_a_graph(name) -> None:
    function, make = CONTAINERS[name]
    compiled, expected = torch.compile(function, fullgraph=True), function(make(torch.ones(2)))
    for _ in range(3):
        result = compiled(make(torch.ones(2)))
        assert type(result) is type(expected) and str(result) == str(expected)
    assert len(entries(compiled)) == 1


# -- graph breaks ------------------------------------------------------------------------------------------------------

def branches(x):
    return x + 1 if x.sum() > 0 else x - 1


def prints(x):
    print("once a call")
    return x + 1


def hooks(x):
    y = x * 2
    if y.requires_grad:
        y.register_hook(lambda grad: grad * 10)
    return y


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 7


BREAKS = {
    "a branch on data": (branches, "Data-dependent branching"),
    "item": (lambda x: x * x.sum().item(), "item"),
    "item of an input": (lambda x: x * x[0].item(), "item"),
    "numpy": (lambda x: x + torch.from_numpy(x.detach().numpy() * 2), "numpy"),
    "a shape that depends on data": (lambda x: x[x > 0], "Dynamic shape operator"),
    "backward": (lambda x: (x * x).sum().backward() or x * 1, "backward"),
    "print": (prints, "print"),
    "a clock": (lambda x: x * 0 + time.perf_counter() * 0, "perf_counter"),
    "hooks": (hooks, "register_hook"),
    "a disabled function": (lambda x: disabled(x), "disable"),
    "graph_break": (lambda x: x + (torch._dynamo.graph_break() or 1), "graph_break"),
    "the version of a tensor": (lambda x: x + x._version * 0, "_version"),
    "an iterator": (lambda x: x * next(NUMBERS), "may change unseen"),
}


OF_NUMPY = {
    "numpy.sin": lambda x: x + torch.from_numpy(np.sin(x.numpy())),
    "numpy.mean": lambda x: x * float(np.mean([1.0, 2.0])),
    "numpy.ones": lambda x: x + torch.from_numpy(np.ones(3, np.float32)),
    "numpy.zeros": lambda x: x + torch.as_tensor(np.zeros(3, np.float32)),
    "numpy.linalg.norm": lambda x: x * float(np.linalg.norm([3.0, 4.0])),
    "numpy.float32": lambda x: x + np.float32(2),
}


@pytest.mark.parametrize("name", OF_NUMPY)
def test_a_function_of_numpy_breaks_the_graph_and_is_called(name) -> None:
    function = OF_NUMPY[name]
    compiled = torch.compile(function)
    for number in range(3):
        x = torch.arange(3.0) + number
        torch.testing.assert_close(compiled(x), function(x))
    reasons = [str(one.reason) for one in explain(function)(torch.ones(3)).break_reasons]
    assert any(name in reason and "call the torch function" in reason for reason in reasons), reasons
    with pytest.raises(exc.Unsupported):
        torch.compile(function, fullgraph=True)(torch.ones(3))


@torch.compiler.disable
def disabled(x):
    return x * 2


@pytest.mark.parametrize("name", BREAKS)
def test_a_graph_break_says_where_and_why_and_the_function_runs_as_it_is_written(name) -> None:
    function, word = BREAKS[name]
    for requires_grad in (False, True):
        if name == "backward" and not requires_grad:
            continue
        x = torch.tensor([1.0, 2.0, -1.0], requires_grad=requires_grad)
        compiled = torch.compile(function)
        for call in range(3):
            result = compiled(x)
            if name == "an iterator":
                assert result.tolist() == (x * (call + 1 + 3 * requires_grad)).tolist()
            else:
                assert result.tolist() == (function(x) if name != "print" else x + 1).tolist()
    if name != "an iterator":
        reason = reason_of(function, torch.tensor([1.0, 2.0, -1.0], requires_grad=True))
        assert word in reason and "test_guards.py" in reason
    with pytest.raises(exc.Unsupported):
        torch.compile(function, fullgraph=True)(torch.tensor([1.0, 2.0, -1.0], requires_grad=True))


def test_hooks_and_functions_of_a_broken_call_have_their_effect() -> None:
    x = torch.ones(2, requires_grad=True)
    for function, factor in ((hooks, 20), (lambda x: Double.apply(x), 7)):
        compiled = torch.compile(function)
        for _ in range(2):
            assert torch.autograd.grad(compiled(x).sum(), x)[0].tolist() == [factor, factor]


def test_a_break_tells_the_line_that_made_it() -> None:
    found = explain(branches)(torch.ones(2)).break_reasons[0].user_stack[-1]
    assert (found.filename, found.lineno) == (__file__, branches.__code__.co_firstlineno + 1)


# -- what is compiled, and what stays of it ----------------------------------------------------------------------------

def test_pipelines_transforms_and_other_devices_run_the_function_as_it_is() -> None:
    compiled, x = torch.compile(lambda x: (x * 2).sum()), torch.ones(3)
    compiled(x)
    with torch.pipeline():
        assert compiled(x).item() == 6
    assert torch.func.grad(compiled)(x).tolist() == [2, 2, 2]
    assert torch.vmap(compiled)(torch.ones(2, 3)).tolist() == [6, 6]
    assert compiled(x.to("meta")).is_meta
    on_npu = x.to("npu")
    assert compiled(on_npu).item() == 6 and compiled(on_npu).item() == 6
    assert "npu" in reason_of(lambda x: x * 2, on_npu)


def test_several_threads_call_one_compiled_function() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
    compiled, wrong = torch.compile(model), []
    inputs = [torch.randn(4, 8) for _ in range(4)]
    expected = [model(x).detach() for x in inputs]

    def work(number: int) -> None:
        for _ in range(20):
            out = compiled(inputs[number])
            out.sum().backward()
            if not torch.allclose(out.detach(), expected[number], atol=1e-6):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and all(entry.compiled.broken is None for entry in compiled._compiled.entries)


def test_the_decorator_and_its_settings() -> None:
    @torch.compile(fullgraph=True)
    def function(x):
        """Doubles."""
        return x * 2 + torch.compiler.is_compiling()

    assert function.__name__ == "function" and function.__doc__ == "Doubles."
    assert function(torch.ones(1)).item() in (2, 3) and not torch.compiler.is_compiling()
    assert torch.compile(len, disable=True) is len
    with pytest.raises(exc.InvalidBackend):
        torch.compile(len, backend="nothing")
    with pytest.raises(RuntimeError, match="Unrecognized mode"):
        torch.compile(len, mode="nothing")
    with torch.compiler.set_stance("force_eager"):
        assert function(torch.ones(1)).item() == 2
    outer = torch.compile(lambda x: function(x) + 1, fullgraph=True)
    outer(torch.ones(1))
    assert len(entries(outer)) == 1


@pytest.mark.parametrize("backend", ["inductor", "aot_eager", "eager"])
def test_a_copy_of_a_compiled_module_is_compiled_with_parameters_of_its_own(backend: str) -> None:
    for copied in (copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))):
        around, inside = torch.compile(nn.Linear(2, 2), backend=backend), nn.Linear(2, 2)
        inside.compile(backend=backend)
        x = torch.ones(1, 2)
        for compiled in (around, inside):
            before = compiled(x).tolist()
            other = copied(compiled)
            with torch.no_grad():
                compiled.weight.add_(1)
            for _ in range(2):
                assert other(x).tolist() == before != compiled(x).tolist()
        assert len(copied(around)._compiled.entries) == 0 and inside._compiled_call_impl is not None
        assert copied(inside)._compiled_call_impl is None  # as in PyTorch


def test_a_compiled_module_is_the_module_under_a_prefix() -> None:
    model = nn.Linear(2, 2)
    compiled = torch.compile(model)
    assert [*compiled.state_dict()] == ["_orig_mod.weight", "_orig_mod.bias"]
    assert compiled.weight is model.weight and compiled.in_features == 2 and isinstance(compiled, nn.Module)
    assert next(compiled.parameters()) is model.weight
    model.compile(fullgraph=True)
    x = torch.ones(1, 2)
    torch.testing.assert_close(model(x), nn.functional.linear(x, model.weight, model.bias))
    assert type(model(x).grad_fn).__name__ == "CompiledFunctionBackward"


def test_the_printed_program_is_the_one_that_runs() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    found = explain(lambda x: (x * x + 1).exp().sum())(x)
    one = found.compiled[0]
    assert (found.graph_count, found.graph_break_count, found.op_count) == (1, 0, 4)
    text = "\n".join([*one.guards, *(program.source for program in one.programs)])
    for word in ("L['x'].shape == [3, 4]", "requires_grad=True", "numpy.exp(", "def forward(inputs, buffers):",
                 "def backward(inputs, buffers):"):
        assert word in text
    for program in one.programs:
        compile(program.source, "program", "exec")


def test_settings_are_set_by_their_names_of_today_and_of_before(monkeypatch) -> None:
    with pytest.raises(AttributeError, match=r"torch\._dynamo\.config\.recompile_limits does not exist"):
        torch._dynamo.config.recompile_limits = 3
    monkeypatch.setattr(torch._dynamo.config, "cache_size_limit", 3)
    assert torch._dynamo.config.recompile_limit == 3
    with torch._dynamo.config.patch(verbose=True, recompile_limit=5):
        assert torch._dynamo.config.cache_size_limit == 5 and torch._dynamo.config.verbose
    assert torch._dynamo.config.recompile_limit == 3 and not torch._dynamo.config.verbose
    monkeypatch.setattr(torch._dynamo.config, "accumulated_cache_size_limit", 9)
    assert torch._dynamo.config.accumulated_recompile_limit == 9


def test_nothing_of_the_recorded_call_stays_in_memory() -> None:
    layer = nn.Linear(4, 4)
    compiled = torch.compile(lambda x: (layer(x) * 2).sum())
    first = compiled(torch.ones(4, 4))
    node = weakref.ref(first.grad_fn)
    first.backward()
    del first
    gc.collect()
    assert node() is None


def test_the_arguments_of_the_first_call_are_freed() -> None:
    compiled, x = torch.compile(lambda x: [(x * 2).sum(), x[x > 0].sum()][0]), torch.ones(4)
    reference, result = weakref.ref(x), compiled(x)
    del x
    assert reference() is None and result.item() == 8


def test_a_number_that_is_asked_for_breaks_the_graph() -> None:
    compiled = torch.compile(lambda x, y: (x + y, torch.allclose(x, y)))
    for _ in range(3):
        total, close = compiled(torch.ones(2), torch.ones(2))
        assert total.tolist() == [2, 2] and close is True

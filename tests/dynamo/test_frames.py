"""What a compiled frame promises: backends, guards, recompiles, side effects, breaks, errors, logs."""
from __future__ import annotations

import collections
import dataclasses
import logging
import threading
import types
from collections.abc import Sequence
from typing import Any

import pytest

import mindtorch as torch
from mindtorch import _logging
from mindtorch._dynamo import exc
from mindtorch._dynamo.testing import CompileCounter, CompileCounterWithBackend, EagerAndRecordGraphs, same
from tests.support import torch as reference

OFFSET = 1


def counted(function, **options):
    counter = CompileCounter()
    return torch.compile(function, backend=counter, **options), counter


def test_a_backend_gets_a_graph_module_and_the_inputs() -> None:
    record = EagerAndRecordGraphs()
    layer = torch.nn.Linear(3, 2)
    x = torch.ones(4, 3)
    torch.testing.assert_close(torch.compile(layer, backend=record)(x), layer(x))
    (gm,) = record.graphs
    assert isinstance(gm, torch.fx.GraphModule)
    assert [node.target for node in gm.graph.nodes if node.op == "placeholder"] == [
        "L_input_", "L_self_parameters_weight_", "L_self_parameters_bias_"]
    found = []
    torch.compile(lambda a, b: a * b, backend=lambda gm, inputs: found.extend(inputs) or gm.forward)(x, x + 1)
    assert [tuple(one.shape) for one in found] == [(4, 3), (4, 3)]


def test_backends_have_names() -> None:
    @torch._dynamo.register_backend(name="tests_twice")
    def twice(gm, inputs):
        return lambda *args: tuple(one * 2 for one in gm(*args))

    assert "tests_twice" in torch._dynamo.list_backends() and "eager" not in torch._dynamo.list_backends()
    assert "eager" in torch.compiler.list_backends(None) and torch._dynamo.lookup_backend("tests_twice") is twice
    assert torch.compile(lambda x: x + 1, backend="tests_twice")(torch.ones(2)).tolist() == [4, 4]
    with pytest.raises(AssertionError, match="duplicate name"):
        torch._dynamo.register_backend(twice, name="tests_twice")
    del torch._dynamo.backends.registry._backends["tests_twice"]
    with pytest.raises(exc.InvalidBackend, match="list_backends"):
        torch.compile(lambda x: x, backend="tests_nobody")


def test_an_error_of_a_backend_names_it() -> None:
    def failing(gm, inputs):
        raise ValueError("no")

    with pytest.raises(exc.BackendCompilerFailed, match="backend='failing' raised:\nValueError: no"):
        torch.compile(lambda x: x + 1, backend=failing)(torch.ones(2))


CALLS: dict[str, tuple[tuple[int, ...], dict[str, Any], int]] = {
    "the same": ((2,), {}, 1), "another shape": ((3,), {}, 2), "another number": ((2,), {"n": 5}, 2),
    "true for one": ((2,), {"n": True}, 2), "one as a float": ((2,), {"n": 1.0}, 2),
    "negative zero": ((2,), {"n": -0.0}, 2), "another dtype": ((2,), {"dtype": torch.float64}, 2),
    "a gradient": ((2,), {"requires_grad": True}, 2),
}


@pytest.mark.parametrize("name", CALLS)
def test_guards_hold_for_the_calls_that_a_program_fits(name) -> None:
    shape, kwargs, programs = CALLS[name]
    n = kwargs.pop("n", 1) if "n" in kwargs else 1
    kwargs = {key: value for key, value in CALLS[name][1].items() if key != "n"}
    compiled, counter = counted(lambda x, n=1: x * n)
    for size, options, number in (((2,), {}, 1), (shape, kwargs, n), (shape, kwargs, n)):
        x = torch.ones(size, **options)
        result = compiled(x, number)
        assert str(result.detach()) == str((x * number).detach()) and result.dtype is (x * number).dtype
    assert counter.frame_count == programs


def test_globals_closures_attributes_and_classes_are_guarded(monkeypatch) -> None:
    class Scale:
        by = 2.0

        def apply(self, x):
            return x * self.by

    scale, box = Scale(), {"k": 1}

    def function(x):
        return scale.apply(x) + OFFSET + box["k"]

    compiled, counter = counted(function)
    x = torch.ones(2)
    changes = [lambda: None, lambda: monkeypatch.setitem(globals(), "OFFSET", 7), lambda: setattr(scale, "by", 3.0),
               lambda: box.update(k=5), lambda: setattr(Scale, "apply", lambda self, x: x - 1)]
    for number, change in enumerate(changes, 1):
        change()
        assert compiled(x).tolist() == function(x).tolist() == compiled(x).tolist()
        assert counter.frame_count == number


def test_sets_that_change_and_attributes_that_tensors_get_are_guarded() -> None:
    seen, kinds = {1, 2}, {int, "a", (2, 3)}

    def function(x):
        return x * len(seen) + (3 in seen) + (int in kinds) + sum(i for i in seen) + getattr(x, "offset", 0) + (
            5 if hasattr(x, "tag") else 1)

    compiled, counter = counted(function)
    x, tagged = torch.ones(2), torch.ones(2)
    tagged.tag = None
    changes = [lambda: x, lambda: seen.add(3) or x, lambda: seen.discard(1) or seen.add(9) or x,
               lambda: kinds.discard(int) or x, lambda: tagged, lambda: setattr(x, "offset", 4) or x,
               lambda: setattr(x, "offset", 6.0) or x]
    for number, change in enumerate(changes, 1):
        given = change()
        assert compiled(given).tolist() == function(given).tolist() == compiled(given).tolist()
        assert counter.frame_count == number


def test_what_the_function_does_not_read_is_not_guarded() -> None:
    compiled, counter = counted(lambda x, unused: x + 1)
    for unused in (1, "two", [3], object()):
        compiled(torch.ones(2), unused)
    assert counter.frame_count == 1


def test_writes_into_objects_are_repeated_at_every_call() -> None:
    log, cache, state = [], {"a": 0}, collections.Counter()

    class Model(torch.nn.Module):
        calls = 0

        def forward(self, x):
            self.calls = self.calls + 1
            return x

    model = Model()

    def function(x):
        log.append(x * 2)
        cache["a"] = x + 1
        cache.setdefault("b", []).append(3)
        return model(x) + len(log)

    compiled = torch.compile(function, backend="eager")
    for call in range(1, 4):
        assert compiled(torch.ones(2)).tolist() == [call + 1.0] * 2
        assert len(log) == call and model.calls == call and cache["b"] == [3] * call
        assert cache["a"].tolist() == [2, 2] and log[-1].tolist() == [2, 2]
    assert not state


def test_containers_that_are_made_keep_their_identity() -> None:
    @dataclasses.dataclass
    class Pair:
        one: list
        other: list

    def function(x):
        inner = [x + 1]
        pair = Pair(inner, inner)
        inner.append(pair)
        return pair, inner

    pair, inner = torch.compile(function, backend="eager", fullgraph=True)(torch.ones(2))
    assert pair.one is pair.other is inner and inner[1] is pair


def test_a_tensor_written_in_place_stays_the_key_that_it_was() -> None:
    def fn(x):
        y = torch.sin_(x.add_(1))
        return y in {x}, y in [x], {x: 1}[y], [x].index(y), y is x, y

    for _ in range(2):
        x = torch.ones(3)
        compiled, counter = counted(fn, fullgraph=True)
        *found, y = compiled(x)
        assert found == [True, True, 1, 0, True] and y is x and counter.frame_count == 1


def test_a_lazy_module_gets_its_shapes_while_it_is_compiled() -> None:
    expected = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    net = torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.ReLU(), torch.nn.LazyLinear(2))
    compiled, counter = counted(net, fullgraph=True)
    x = torch.randn(3, 5)
    for _ in range(2):
        assert compiled(x).shape == (3, 2) and counter.frame_count == 1
    assert [type(layer) for layer in net] == [type(layer) for layer in expected]
    assert [tuple(one.shape) for one in net.parameters()] == [tuple(one.shape) for one in expected.parameters()]
    assert net[0].weight.device.type == "cpu" and net[0].weight.abs().sum() > 0


def test_a_method_of_an_array_outside_of_the_graph_is_called() -> None:
    def fn(x):
        values = x.numpy()
        return torch.from_numpy(values + values.mean(axis=0)) * 2

    compiled, _ = counted(fn)
    torch.testing.assert_close(compiled(torch.ones(2, 2)), torch.full((2, 2), 4.0))


def test_functions_that_leave_the_frame_share_their_variables() -> None:
    def function(x):
        total = x

        def add(y):
            nonlocal total
            total = total + y
            return total

        return add, lambda: total

    add, read = torch.compile(function, backend="eager")(torch.ones(2))
    assert add(torch.ones(2)).tolist() == [2, 2] and read().tolist() == [2, 2]


def test_a_break_in_a_mode_leaves_it_and_enters_it_again() -> None:
    seen = []

    @torch._dynamo.disable
    def outside():
        seen.append(torch.is_grad_enabled())

    def function(x):
        with torch.no_grad():
            y = x * 2
            outside()
            z = y * x
        return z, x * 3

    x = torch.ones(2, requires_grad=True)
    z, w = torch.compile(function, backend="eager")(x)
    assert seen == [False] and not z.requires_grad and w.requires_grad and torch.is_grad_enabled()


def test_without_a_whole_graph_fullgraph_raises_with_the_users_line() -> None:
    def function(x):
        return helper(x) + 1

    def helper(x):
        print("never")
        return x

    with pytest.raises(exc.Unsupported, match=r"call of builtins\.print") as caught:
        torch.compile(function, backend="eager", fullgraph=True)(torch.ones(2))
    assert 'print("never")' in str(caught.value) and "return helper(x) + 1" in str(caught.value)


def test_what_the_function_raises_reaches_the_caller() -> None:
    def function(x):
        if x.shape[0] == 2:
            raise ValueError("two")
        return x @ x.t()

    compiled = torch.compile(function, backend="eager")
    with pytest.raises(ValueError, match="two"):
        compiled(torch.ones(2, 2))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        compiled()
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        torch.compile(lambda x: x @ x, backend="eager")(torch.ones(2, 3))


def test_after_the_limit_calls_run_as_they_are_written() -> None:
    compiled, counter = counted(lambda x, n: x * n)
    with torch._dynamo.config.patch(recompile_limit=3), pytest.warns(UserWarning, match=r"recompile_limit \(3\)"):
        for n in range(6):
            assert compiled(torch.ones(2), n).tolist() == [n, n]
    assert counter.frame_count == 3
    strict = torch.compile(lambda x, n: x * n, backend="eager", fullgraph=True)
    with pytest.raises(exc.FailOnRecompileLimitHit, match="last reason"):
        for n in range(12):
            strict(torch.ones(2), n)


def test_artifacts_are_logged_if_they_are_asked_for(caplog) -> None:
    torch._logging.set_logs(recompiles=True, graph_breaks=True, graph_code=True, guards=True)
    try:
        with caplog.at_level(logging.DEBUG, "torch._dynamo"):
            compiled = torch.compile(lambda x, n: (x * n, print(end=""))[0], backend="eager")
            compiled(torch.ones(2), 1), compiled(torch.ones(2), 2)
    finally:
        torch._logging.set_logs()
    text = caplog.text
    for word in ("L['n'] == 1", "Recompiling function <lambda>", "call of builtins.print", "l_x_ * 1", "[__guards]"):
        assert word in text


@pytest.mark.parametrize("lib", [torch, reference], ids=["mindtorch", "torch"])
def test_logs_and_artifacts_are_pytorchs(lib) -> None:
    logs = dict.fromkeys(_logging.LOGS.split(), logging.WARNING)
    lib._logging.set_logs(**logs, **dict.fromkeys(_logging.SWITCHED.split(), False))
    lib._logging.set_logs()
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        lib._logging.set_logs(nonsense=True)
    with pytest.raises(ValueError, match="Expected bool to enable artifact guards"):
        lib._logging.set_logs(guards=logging.DEBUG)


def test_what_a_compiled_function_compiles_is_part_of_its_program() -> None:
    layer = torch.nn.Linear(2, 2)

    def function(x):
        @torch.compile
        def doubled(y):
            return y * 2 + x

        @torch.compile(fullgraph=True, dynamic=True)
        def shifted(y):
            return y + 1

        return torch.compile(layer)(shifted(doubled(x))) - torch.compile(layer.forward, backend="eager")(x)

    found = torch._dynamo.explain(function)(torch.ones(2))
    assert (found.graph_count, found.break_reasons) == (1, [])
    assert torch.equal(torch.compile(function, fullgraph=True)(torch.ones(2)), function(torch.ones(2)))


def test_explain_lists_graphs_breaks_operators_and_guards() -> None:
    def function(x):
        y = x.sin()
        print(end="")
        return y.cos() + 1

    found = torch._dynamo.explain(function)(torch.ones(2))
    assert (found.graph_count, found.graph_break_count, found.op_count) == (2, 1, 3)
    assert [[str(op) for op in ops] for ops in found.ops_per_graph] == [["sin"], ["cos", "<built-in function add>"]]
    assert "print" in found.break_reasons[0].reason
    assert found.break_reasons[0].user_stack[-1].lineno == function.__code__.co_firstlineno + 2
    text = str(found)
    for line in ("Graph Count: 2", "Graph Break Count: 1", "Op Count: 3", "  Break Reason 1:", "Ops per Graph:",
                 "Out Guards:"):
        assert line in text.splitlines()


def test_a_custom_operator_is_called_by_the_function_that_made_it() -> None:
    @torch.library.custom_op("frames::scaled_part", mutates_args=())
    def scaled_part(x: torch.Tensor, places: Sequence[int], by: float) -> torch.Tensor:
        return x[places[0]:places[1]] * by

    @scaled_part.register_fake
    def _(x: torch.Tensor, places: Sequence[int], by: float) -> torch.Tensor:
        return x.new_empty(places[1] - places[0], *x.shape[1:])

    scaled_part.register_autograd(lambda ctx, grad: (torch.nn.functional.pad(grad, (1, 1)) * ctx.by, None, None),
                                  setup_context=lambda ctx, inputs, output: setattr(ctx, "by", inputs[2]))
    compiled, counter = counted(lambda x: scaled_part(x.sin(), (1, 3), by=2.0).cos(), fullgraph=True)
    x, y = (torch.arange(4.0).requires_grad_() for _ in range(2))
    compiled(x).sum().backward()
    torch.ops.frames.scaled_part(y.sin(), (1, 3), 2.0).cos().sum().backward()
    assert counter.frame_count == 1 and x.grad.tolist() == y.grad.tolist()


def test_functions_are_put_into_the_graph_or_kept_out_of_it() -> None:
    def inner(x):
        return (x * 2).relu()

    record = EagerAndRecordGraphs()
    torch.compile(lambda x: torch._dynamo.allow_in_graph(inner)(x) + 1, backend=record)(torch.ones(2))

    torch._dynamo.allow_in_graph(inner)
    record = EagerAndRecordGraphs()
    torch.compile(lambda x: inner(x) + 1, backend=record)(torch.ones(2))
    assert inner in [node.target for node in record.graphs[0].graph.nodes]
    torch._dynamo.disallow_in_graph(inner)
    compiled, counter = counted(lambda x: inner(x + 1) + 1)
    assert compiled(torch.ones(2)).tolist() == [5, 5] and counter.frame_count == 2


def test_counters_count_and_compare() -> None:
    counter = CompileCounterWithBackend("eager")
    torch._dynamo.utils.counters.clear()
    torch.compile(lambda x: x.sin() + 1, backend=counter)(torch.ones(2))
    assert (counter.frame_count, counter.op_count, len(counter.graphs)) == (1, 2, 1)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
    counter.clear()
    assert (counter.frame_count, counter.op_count, counter.graphs) == (0, 0, [])
    x = torch.ones(2)
    assert same({"a": [x, 1.0]}, {"a": [x + 1e-6, 1.0]}) and not same([x], [x + 1]) and not same(x, x.double())


@pytest.mark.parametrize("device", ["npu", "meta"])
def test_graphs_run_on_other_devices(device) -> None:
    function = torch.compile(lambda x: (x * 2 + torch.ones(3, device=x.device)).sum(), backend="eager", fullgraph=True)
    result = function(torch.ones(3, device=device))
    assert result.device.type == device and (device == "meta" or result.item() == 9)


def test_the_default_backend_is_that_of_later_calls_without_one() -> None:
    graphs = []
    torch.compiler.set_default_backend(lambda graph, inputs: graphs.append(graph) or graph.forward)
    try:
        assert torch.compile(lambda x: x + 1)(torch.ones(1)).item() == 2 and len(graphs) == 1
        with pytest.raises(TypeError, match="string or callable"):
            torch.compiler.set_default_backend(3)
    finally:
        torch.compiler.set_default_backend(None)
    assert torch.compiler.get_default_backend() == "inductor"


def test_run_makes_no_program() -> None:
    counter = CompileCounter()
    compiled = torch.compile(lambda x: x + 1, backend=counter)
    with torch.compiler.set_stance("fail_on_recompile"), pytest.raises(RuntimeError, match="Detected recompile"):
        compiled(torch.ones(2))
    assert torch._dynamo.run(compiled)(torch.ones(2)).tolist() == [2, 2] and counter.frame_count == 0
    compiled(torch.ones(2))
    assert torch._dynamo.run(compiled)(torch.ones(2)).tolist() == [2, 2] and counter.frame_count == 1


def test_a_static_address_changes_no_result_and_numpys_functions_take_tensors() -> None:
    torch._dynamo.mark_static_address(x := torch.ones(2))
    assert torch.compile(lambda x: x * 2)(x).tolist() == [2, 2]
    with pytest.raises(TypeError, match="expects a tensor"):
        torch._dynamo.mark_static_address(1)
    assert torch.compiler.wrap_numpy(lambda a, b: [a + b])(x, b=x)[0].tolist() == [2, 2]


def test_a_filter_of_guards_is_given_pytorchs_kinds_of_guards_and_no_option_of_the_backend() -> None:
    given: list[Any] = []
    seen: list[Any] = []

    def backend(graph, inputs, **options):
        given.append(options)
        return graph

    def keep(guards):
        seen.extend((guard.name, guard.guard_type, guard.is_global) for guard in guards)
        return [guard.name != "n" for guard in guards]

    compiled = torch.compile(lambda x, n: x + n + GLOBAL, backend=backend, options={"guard_filter_fn": keep})
    assert [compiled(torch.ones(1), n).item() for n in (1, 2)] == [4, 4] and given == [{}]  # n is no guard any more
    assert {("x", "TENSOR_MATCH", False), ("n", "CONSTANT_MATCH", False), ("G['GLOBAL']", "CONSTANT_MATCH", True),
            ("", "GRAD_MODE", False)} <= {*seen}
    with pytest.raises(AssertionError, match="guard_filter_fn returned 1 values"):
        torch.compile(lambda x: x, options={"guard_filter_fn": lambda guards: [True]})(torch.ones(1))


GLOBAL = 2


@pytest.mark.parametrize("name,kept", [
    ("skip_all_guards_unsafe", ""), ("skip_guard_on_globals_unsafe", "attribute module"),
    ("skip_guard_on_all_nn_modules_unsafe", "global"), ("skip_guard_on_inbuilt_nn_modules_unsafe", "attribute global"),
    ("keep_tensor_guards_unsafe", ""), ("keep_portable_guards_unsafe", "")])
def test_functions_that_filter_guards_leave_out_what_pytorchs_do(name, kept, monkeypatch) -> None:
    class Own(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.n = torch.nn.Softplus(), 1

        def forward(self, x):
            return self.inner(x) + self.n + GLOBAL

    counter = CompileCounter()
    model = Own()
    compiled = torch.compile(model, backend=counter, options={"guard_filter_fn": getattr(torch.compiler, name)})

    def made(change) -> bool:
        before = counter.frame_count
        change()
        compiled(torch.ones(2))
        return counter.frame_count > before

    assert made(lambda: None) and not made(lambda: None)
    changes = {"attribute": lambda: setattr(model, "n", 5), "module": lambda: setattr(model.inner, "threshold", 9),
               "global": lambda: monkeypatch.setitem(globals(), "GLOBAL", 7)}
    assert {key for key, change in changes.items() if made(change)} == {*kept.split()}


def test_a_program_without_guards_on_tensors_refuses_others() -> None:
    compiled = torch.compile(lambda x: x + 1, options={"guard_filter_fn": torch.compiler.skip_all_guards_unsafe})
    assert compiled(torch.ones(2)).tolist() == [2, 2]
    with pytest.raises(AssertionError, match=r"a guard that was dropped fails: L\['x'\].shape"):
        compiled(torch.ones(3))


def test_functions_are_skipped_or_refused_where_they_say_so() -> None:
    counter = CompileCounter()

    def skipped(x):
        torch._dynamo.skip_frame("not here")
        return x + 1

    @torch._dynamo.forbid_in_graph
    def forbidden(x):
        return x

    assert torch.compile(skipped, backend=counter)(torch.ones(1)) == 2 and counter.frame_count == 0
    with pytest.raises(torch._dynamo.exc.Unsupported, match="skip_frame"):
        torch.compile(skipped, fullgraph=True)(torch.ones(1))
    with pytest.raises(AssertionError, match="forbidden callable"):
        torch.compile(lambda x: forbidden(x) + 1)(torch.ones(1))


def test_settings_have_the_defaults_of_pytorchs() -> None:
    from tests.support import torch as reference

    ours = {name: value for name, value in vars(torch._dynamo.config).items() if type(value) in (bool, int)}
    theirs = {name: getattr(reference._dynamo.config, name) for name in ours}
    assert len(ours) > 30 and {name for name in ours if ours[name] != theirs[name]} == {"specialize_float"}


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_graph_that_a_backend_cannot_trace_with_fake_tensors_runs_as_it_is_written(backend) -> None:
    def function(x, mask, values):
        x = x.clone()
        x[mask] = values
        return x

    x, values = torch.zeros(3, requires_grad=True), torch.ones(2, requires_grad=True)
    result = torch.compile(function, backend=backend)(x, torch.tensor([True, False, True]), values)
    result.sum().backward()
    assert [t.tolist() for t in (result, x.grad, values.grad)] == [[1, 0, 1], [0, 1, 0], [1, 1]]


def test_writes_to_globals_of_another_module_are_read_as_its_attributes() -> None:
    other = types.ModuleType("other")
    exec("count = 0\ndef update(x):\n    global count\n    count += 1\n    return x * count\n", vars(other))

    def function(x):
        x = other.update(x) + other.count
        other.count = 10
        return other.update(x) + other.count, other.count

    compiled = torch.compile(function, backend="eager", fullgraph=True)
    for _ in range(2):
        other.count = 0
        assert str(compiled(torch.ones(1))) == "(tensor([33.]), 11)" and other.count == 11


def test_a_compiled_module_is_in_the_mode_of_its_module() -> None:
    module = torch.nn.Linear(1, 1)
    compiled = torch.compile(module)
    module.eval()
    assert not compiled.training
    compiled.train()
    assert module.training


def test_a_lazy_module_gets_its_shapes_from_tensors_in_containers() -> None:
    class Scaled(torch.nn.modules.lazy.LazyModuleMixin, torch.nn.Module):
        def initialize_parameters(self, inputs, named):
            self.weight = torch.nn.Parameter(torch.full(inputs[1].shape, float(named["by"].shape[0])))

        def forward(self, inputs, named):
            return inputs[1] * self.weight + named["by"]

    layer = Scaled()
    compiled = torch.compile(lambda x: layer((None, x), {"by": x}), backend="eager", fullgraph=True)
    assert compiled(torch.ones(2)).tolist() == [3, 3]


def test_identities_of_objects_are_guarded_and_attributes_of_threads_set() -> None:
    class Box:
        pass

    def function(x, box, number, place):
        place.x = x
        return x if id(box) == number else x * 0

    one, other, place = Box(), Box(), threading.local()
    compiled = torch.compile(function, backend="eager")
    assert [compiled(torch.ones(1), box, id(one), place).item() for box in (one, other, one)] == [1, 0, 1]
    assert place.x.tolist() == [1]


def test_a_module_that_is_not_compiled_stays_a_module() -> None:
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = torch.nn.Linear(2, 2), torch.nn.ReLU()

        def forward(self, x):
            x = self.first(x + 1)
            return self.last(x)

    model = Model()
    expected = model(torch.ones(2))
    model.first = torch._dynamo.disable(model.first)
    compiled, counter = counted(model)
    assert torch.equal(compiled(torch.ones(2)), expected) and isinstance(model.first, torch.nn.Module)
    assert counter.frame_count == counter.op_count == 2

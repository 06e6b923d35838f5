"""Graphs that are run, recorded anew, rewritten and divided; what tracing wraps and annotates."""
from __future__ import annotations

import functools
import importlib
import inspect
import math
import sys
from types import ModuleType

import pytest

import mindtorch as torch
from mindtorch import fx, nn
from mindtorch.fx import traceback as fx_traceback
from mindtorch.fx.experimental.const_fold import split_const_subgraphs
from mindtorch.fx.experimental.optimization import extract_subgraph, fuse, optimize_for_inference, remove_dropout
from mindtorch.fx.operator_schemas import normalize_function
from mindtorch.fx.passes import pass_manager
from mindtorch.fx.passes.dialect.common.cse_pass import CSEPass
from mindtorch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from mindtorch.fx.passes.infra.pass_manager import PassManager, this_before_that_pass_constraint
from mindtorch.fx.passes.operator_support import OperatorSupport
from mindtorch.fx.passes.split_module import split_module
from mindtorch.fx.passes.split_utils import split_by_tags
from mindtorch.fx.passes.utils import compare_graphs


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.drop = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Dropout()
        self.head = nn.Linear(2, 3)

    def forward(self, x, bias=1.0):
        x = self.drop(torch.relu(self.norm(self.conv(x))))
        return self.head(x.mean((2, 3))) + bias


X = torch.randn(2, 1, 5, 5)


def test_an_interpreter_frees_values_after_their_last_use() -> None:
    module, alive = fx.symbolic_trace(Net().eval()), []

    class Watching(fx.Interpreter):
        def run_node(self, n):
            alive.append(len(self.env))
            return super().run_node(n)

    assert torch.equal(Watching(module).run(X), module(X)) and max(alive) == 2
    arguments = [X, 2.0]
    assert torch.equal(fx.Interpreter(module).boxed_run(arguments), module(X, 2.0)) and not arguments
    with pytest.raises(RuntimeError, match=r"received 1 \(missing arguments\)"):
        fx.Interpreter(module).boxed_run([X])


def test_an_interpreter_names_the_node_that_failed() -> None:
    module = fx.symbolic_trace(lambda x: x + torch.ones(7))
    with pytest.raises(RuntimeError, match=r"While executing %add : \[num_users=1\] = call_function"):
        fx.Interpreter(module).run(torch.ones(3))


def test_a_transformer_replaces_functions() -> None:
    class Negative(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return super().call_function(torch.neg if target is torch.relu else target, args, kwargs)

    module = Negative(fx.symbolic_trace(Net().eval())).transform()
    assert "torch.neg(norm)" in module.code and "torch.relu" not in module.code
    assert module(X).shape == (2, 3)


def test_a_pattern_is_replaced_wherever_it_is() -> None:
    module = fx.symbolic_trace(lambda x, y: torch.relu(x + y) * torch.relu(y + x).sum())
    found = fx.replace_pattern(module, lambda a, b: torch.relu(a + b), lambda a, b: torch.clamp(a - b, min=0))
    assert len(found) == 2 and found[0].anchor.name == "relu"
    x, y = torch.randn(3), torch.randn(3)
    assert torch.equal(module(x, y), (x - y).clamp(min=0) * (y - x).clamp(min=0).sum())


def test_a_part_that_is_used_elsewhere_is_not_replaced() -> None:
    def pattern(a):
        return a.sin().cos()

    module = fx.symbolic_trace(lambda x: (x.sin().cos(), x.exp().sin().cos()))
    assert len(fx.replace_pattern(module, pattern, lambda a: a)) == 2
    shared = fx.symbolic_trace(lambda x: [s := x.sin(), s.cos()])
    assert fx.replace_pattern(shared, pattern, lambda a: a) == []
    assert compare_graphs(shared.graph, fx.symbolic_trace(lambda z: [s := z.sin(), s.cos()]).graph)


@pytest.mark.parametrize("keep_order", [False, True])
def test_a_divided_module_does_the_same(keep_order) -> None:
    module = fx.symbolic_trace(Net().eval())
    numbers = {node: at // 3 for at, node in enumerate(module.graph.nodes)}
    paths: dict[str, str] = {}
    divided = split_module(module, None, numbers.__getitem__, paths, keep_original_order=keep_order)
    assert [name for name, _ in divided.named_children()] == ["submod_0", "submod_1", "submod_2"]
    assert paths["submod_0.conv"] == "conv" and torch.equal(divided(X), module(X))
    with pytest.raises(RuntimeError, match="cycle exists between partitions"):
        split_module(module, None, lambda node: node.name in ("relu", "mean"))


def test_tags_divide_a_module() -> None:
    module = fx.symbolic_trace(Net().eval())
    for node in module.graph.nodes:
        node.tag = "features" if node.name in ("conv", "norm", "relu", "drop") else "head"
    divided, paths = split_by_tags(module, ["features", "head"], return_fqn_mapping=True)
    assert paths == {name: f"features.{name}" for name in ("conv", "norm", "drop")} | {"head": "head.head"}
    assert torch.equal(divided(X, 2.0), module(X, 2.0))


def test_a_backend_gets_the_largest_parts() -> None:
    class Adds(OperatorSupport):
        def is_node_supported(self, submodules, node):
            return node.op == "call_function"

    module = fx.symbolic_trace(lambda x: ((x + 1) * 2).sin() + (x - 1) / 2)
    partitioner = CapabilityBasedPartitioner(module, Adds())
    parts = partitioner.propose_partitions()
    assert [[node.name for node in part.nodes] for part in parts] == [["sub", "truediv", "add_1"], ["add", "mul"]]
    x = torch.randn(3)
    expected = module(x)
    fused = partitioner.fuse_partitions(parts)
    assert [node.op for node in fused.graph.nodes].count("call_module") == 2 and torch.equal(fused(x), expected)


def decided(library, decide):
    """Return the nodes of a program that a decision takes, which has the module of decisions, and a function that gives
    a node's target in its tables.
    """
    class Program(library.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.weight = library.nn.Linear(2, 2), library.nn.Parameter(library.ones(2))

        def forward(self, x, y):
            return library.add(self.layer(x) * self.weight, other=x).relu(), library.where(y > 0, 3, y), x.shape[0] + 1

    module = library.fx.symbolic_trace(Program())
    library.fx.passes.shape_prop.ShapeProp(module).propagate(library.ones(3, 2), library.arange(2))
    modules, space = dict(module.named_modules()), library.fx.passes.operator_support
    tools, nodes = library.fx.passes.tools_common, {node.name: node for node in module.graph.nodes}
    support = decide(library, space, lambda name: tools.get_node_target(modules, nodes[name]))
    return [name for name, node in nodes.items() if support.is_node_supported(modules, node)]


def by_name(space, *names):
    return space.create_op_support(lambda modules, node: node.name in names and "layer" in modules)


@pytest.mark.parametrize("decide", [
    lambda t, space, target: space.OperatorSupport(),
    lambda t, space, target: space.OperatorSupport({target("relu"): None, target("layer"): None}),
    lambda t, space, target: space.OperatorSupport({target("mul"): (([t.float32], [t.float32]), {})}),
    lambda t, space, target: space.OperatorSupport({target("mul"): (([t.float32], [t.int64]), {})}),
    lambda t, space, target: space.OperatorSupport({target("mul"): ((None, None, [t.int64]), {"out": [t.int64]})}),
    lambda t, space, target: space.OperatorSupport({target("add"): (([t.float32],), {"other": [t.float32]})}),
    lambda t, space, target: space.OperatorSupport({target("add"): (([t.float32],), {"other": [t.float64]})}),
    lambda t, space, target: space.OperatorSupport({target("where"): (([t.bool], [t.int8], [t.int64]), {})}),
    lambda t, space, target: space.chain(by_name(space, "mul", "relu"), by_name(space, "relu", "add")),
    lambda t, space, target: space.chain(), lambda t, space, target: space.any_chain(),
    lambda t, space, target: space.any_chain(by_name(space, "mul"), by_name(space, "relu", "add")),
    lambda t, space, target: space.OpSupports.decline_if_input_dtype(t.int64),
    lambda t, space, target: space.OpSupports.decline_if_input_dtype(t.bool),
    lambda t, space, target: space.OpSupports.decline_if_node_in_names({"mul", "x"}),
])
def test_a_backend_takes_the_nodes_that_pytorchs_decisions_take(decide) -> None:
    taken, theirs = (decided(library, decide) for library in (torch, pytest.importorskip("torch")))
    assert taken == theirs


def test_constants_are_computed_once() -> None:
    class Constant(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Parameter(torch.randn(3)), nn.Parameter(torch.randn(3))

        def forward(self, x):
            return x * (self.a + self.b).exp()

    module = Constant()
    folded = split_const_subgraphs(module)
    x = torch.randn(3)
    assert torch.equal(folded(x), module(x))
    assert [node.op for node in folded.graph.nodes] == ["placeholder", "get_attr", "call_function", "output"]


def test_names_of_folded_constants_are_taken_by_nothing_else() -> None:
    names = ("free", "weight", "bias", "bias_1", "bias_1_x", "1x", "a.b", "weight-", "forward", "_2")
    found = []
    for library in (torch, pytest.importorskip("torch")):
        module = library.nn.Linear(1, 1)
        module.bias_2, module.weight_ = 1, 2
        fold = importlib.import_module(f"{library.__name__}.fx.experimental.const_fold")
        found.append([fold.get_unique_attr_name_in_module(module, name) for name in names])
    assert found[0] == found[1]


def test_batch_norms_are_folded_into_convolutions() -> None:
    net = Net().eval()
    fused = remove_dropout(fuse(net))
    assert not any(isinstance(module, (nn.BatchNorm2d, nn.Dropout)) for module in fused.modules())
    assert torch.allclose(fused(X), net(X), atol=1e-6)


@pytest.mark.parametrize(("settings", "left"), [
    (None, set()), ({"conv_bn_fuse": False}, {nn.BatchNorm2d}), ({"remove_dropout": False}, {nn.Dropout})])
def test_a_module_is_made_ready_for_inference_as_far_as_is_asked_for(settings, left) -> None:
    net = Net().eval()
    ready = optimize_for_inference(net, settings)
    assert {type(module) for module in ready.modules()} & {nn.BatchNorm2d, nn.Dropout} == left
    assert torch.allclose(ready(X), net(X), atol=1e-6)


def test_a_subgraph_takes_values_and_returns_those_of_its_outputs() -> None:
    net = Net().eval()
    nodes = {node.name: node for node in fx.symbolic_trace(net).graph.nodes}
    inner = [nodes["relu"], nodes["drop"]]
    part = extract_subgraph(net, inner, [nodes["norm"]], inner)
    assert [node.name for node in part.graph.nodes] == ["norm", "relu", "drop", "output"]
    first, second = part(X)
    assert torch.equal(first, X.relu()) and torch.equal(second, X.relu())
    with pytest.raises(KeyError):
        extract_subgraph(net, inner, [nodes["conv"]], inner)


def test_repeated_nodes_are_computed_once() -> None:
    module = fx.symbolic_trace(lambda x: (x.sin() + 1) * (x.sin() + 1) + (x.sin() + 1.0))
    result = CSEPass()(module)
    assert result.modified and [node.name for node in result.graph_module.graph.nodes] == [
        "x", "sin", "add", "mul", "add_2", "add_3", "output"]


def test_passes_run_in_an_order_that_holds_the_constraints() -> None:
    ran = []

    def first(module):
        ran.append("first")
        return fx.passes.infra.pass_base.PassResult(module, False)

    def second(module):
        ran.append("second")
        return fx.passes.infra.pass_base.PassResult(module, False)

    module = fx.symbolic_trace(lambda x: x)
    PassManager([second, first], [this_before_that_pass_constraint(first, second)])(module)
    assert ran == ["first", "second"]
    with pytest.raises(RuntimeError, match="Circular dependency"):
        PassManager([second, first], [this_before_that_pass_constraint(first, second),
                                      this_before_that_pass_constraint(second, first)])(module)


def test_wrapped_functions_become_one_node() -> None:
    module = ModuleType("wrapped_functions")
    sys.modules["wrapped_functions"] = module
    exec("import mindtorch\nfrom math import sqrt\n"
         "@mindtorch.fx.wrap\ndef scale(x, by):\n    return x * by if by else x\n"
         "mindtorch.fx.wrap('len')\nmindtorch.fx.wrap('sqrt')\n"
         "def program(x):\n    return scale(x, len(x)) + sqrt(x.size(0))\n", module.__dict__)
    traced = fx.symbolic_trace(module.program)
    assert [node.name for node in traced.graph.nodes] == ["x", "len_1", "scale", "size", "sqrt", "add", "output"]
    assert traced(torch.ones(4)).tolist() == [6.0] * 4 and module.scale(2, 3) == 6 and "len" not in vars(module)
    with pytest.raises(NotImplementedError, match="at the top level of a module"):
        fx.wrap("sum")
    del sys.modules["wrapped_functions"]


def test_functions_of_math_are_wrapped_by_themselves() -> None:
    assert "math_sqrt(size)" in fx.symbolic_trace(lambda x: math.sqrt(x.size(0))).code


def test_nothing_stays_replaced_after_tracing() -> None:
    before = nn.Module.__call__, nn.Module.__getattr__, math.sqrt
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(lambda x: math.sqrt(2) if x else x)
    assert (nn.Module.__call__, nn.Module.__getattr__, math.sqrt) == before
    assert not fx._symbolic_trace.is_fx_tracing()


def test_stacks_and_annotations_are_kept() -> None:
    class Recording(fx.Tracer):
        record_stack_traces = True

    class Small(nn.Module):
        def forward(self, x):
            return x + 1

    module = fx.GraphModule(Small(), Recording().trace(Small()))
    add = module.graph.find_nodes(op="call_function", target=__import__("operator").add)[0]
    assert "return x + 1" in str(add.stack_trace)
    assert f"# File: {__file__}:" in module.print_readable(print_output=False)
    with fx_traceback.preserve_node_meta(), fx_traceback.annotate({"stage": 1}):
        traced = fx.symbolic_trace(lambda x: x * 2)
    assert [node.meta["custom"] for node in traced.graph.nodes] == [{"stage": 1}] * 3


def test_arguments_are_named_by_the_signature() -> None:
    x = torch.ones(2)
    assert normalize_function(torch.nn.functional.relu, (x,)).kwargs == {"inplace": False}
    named = normalize_function(torch.ops.aten.add.Tensor, (x, x), normalize_to_only_use_kwargs=True)
    assert named.args == () and list(named.kwargs) == ["input", "other", "alpha"]
    with pytest.raises(RuntimeError, match="the schema match was ambiguous"):
        normalize_function(torch.max, (x, x))
    typed = normalize_function(torch.max, (x, x), arg_types=(torch.Tensor, torch.Tensor))
    assert typed.args == (x, x)


def test_an_operator_that_writes_is_refused_if_asked() -> None:
    class Strict(fx.Tracer):
        check_mutable_operations = True

    with pytest.raises(RuntimeError, match="Tried to trace mutable operation"):
        Strict().trace(lambda x: torch.relu_(x))


def test_sizes_of_parameters_may_be_constants() -> None:
    class Sized(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2, 3))

        def forward(self, x):
            return x.sum() if self.weight.shape[0] == 2 else x

    graph = fx.Tracer(param_shapes_constant=True).trace(Sized())
    assert [node.op for node in graph.nodes] == ["placeholder", "get_attr", "call_method", "output"]


def test_a_function_of_torch_fails_to_trace_as_in_pytorch_if_it_decides_by_its_arguments(monkeypatch) -> None:
    """``has_torch_function`` of ``torch.nn.functional`` decides whether a call is one node, or is traced itself."""
    functional = torch.nn.functional
    assert [node.op for node in fx.symbolic_trace(functional.relu).graph.nodes][2] == "call_function"
    with pytest.raises(AssertionError, match="linear is an operator"):
        fx.symbolic_trace(functional.linear)
    monkeypatch.setattr(functional, "has_torch_function", lambda relevant: False)
    with pytest.raises(fx.proxy.TraceError, match="inputs to control flow"):
        fx.symbolic_trace(functional.relu)
    with pytest.raises(fx.proxy.TraceError, match="inputs to control flow"):
        fx.symbolic_trace(functional.glu)
    for pool in (functional.lp_pool2d, functional.max_pool2d, functional.adaptive_max_pool1d):
        with pytest.raises(fx.proxy.TraceError, match="cannot be iterated"):
            fx.symbolic_trace(pool)


def test_a_decorated_function_has_the_parameters_of_the_one_that_it_wraps() -> None:
    @functools.wraps(function := lambda x, *, scale, shift=0: x * scale + shift)
    def decorated(*args, **kwargs):
        return function(*args, **kwargs)

    traced = fx.symbolic_trace(decorated)
    assert traced(torch.ones(2), 3, 1).tolist() == [4, 4]


def test_parameters_of_functions_are_annotated_by_types() -> None:
    functional = torch.nn.functional
    for function, name in ((functional.relu, "input"), (functional.linear, "weight"), (functional.mse_loss, "target")):
        assert inspect.signature(function).parameters[name].annotation is torch.Tensor


def test_functions_are_wrapped_as_passes() -> None:
    def append(module: list[str]) -> None:
        module.append("a")

    def extend(module: list[str]) -> list[str]:
        return [*module, "b"]

    in_place, logged = pass_manager.inplace_wrapper(append), pass_manager.log_hook(extend)
    assert in_place([]) == ["a"] and logged(["x"]) == ["x", "b"] and (in_place.__name__, logged.__name__) == (
        "append", "extend")
    assert pass_manager.loop_pass(extend, 3)([]) == ["b"] * 3
    assert pass_manager.loop_pass(extend, predicate=lambda module: len(module) < 2)([]) == ["b"] * 2
    for settings in {}, {"n_iter": 1, "predicate": bool}:
        with pytest.raises(AssertionError, match="Exactly one of"):
            pass_manager.loop_pass(extend, **settings)
    constraint = pass_manager.these_before_those_pass_constraint(append, extend)
    assert [constraint(first, then) for first in (in_place, extend) for then in (in_place, extend)] == [
        True, True, False, True]
    assert pass_manager.PassManager([in_place, extend], [constraint])(["m"]) == ["m", "a", "b"]
    with pytest.raises(RuntimeError, match="pass schedule constraint violated"):
        pass_manager.PassManager([extend, in_place], [constraint]).validate()


def renaming(library, name, returns):
    """Return a pass that appends to a module's attribute, and returns by ``returns``."""
    def rename(module):
        """Rename a module."""
        module.names = [*getattr(module, "names", []), name]
        return returns(library.fx.passes.infra.pass_base.PassResult, module)

    rename.__name__ = rename.__qualname__ = name
    return rename


class Renaming:
    """A pass that is no function."""

    def __call__(self, module):
        module.names = ["called"]


RETURNS = {"none": lambda result, module: None, "module": lambda result, module: module,
           "changed": lambda result, module: result(module, len(module.names) < 4),
           "unchanged": lambda result, module: result(module, False), "number": lambda result, module: 3}


def wrapped(library, returns):
    module = library.fx.symbolic_trace(library.nn.ReLU())
    wrap = library.fx.passes.infra.pass_manager.pass_result_wrapper
    passed = wrap(renaming(library, "first", returns))
    result = passed(module)
    return [passed.__name__, passed.__doc__, result.graph_module is module, result.modified, module.names,
            wrap(Renaming()).__name__]


def managed(library, returns, *constraints, checks=(), **settings):
    module, infra = library.fx.symbolic_trace(library.nn.ReLU()), library.fx.passes.infra.pass_manager
    passes = [renaming(library, name, returns) for name in ("first", "second")]
    manager = infra.PassManager(passes, [infra.this_before_that_pass_constraint(*[passes[i] for i in pair])
                                         for pair in constraints], **settings)
    seen = []
    for check in checks:
        manager.add_checks(check(seen))
    if constraints:
        manager.solve_constraints()
    manager.validate_constraints()
    result = manager(module)
    return [result.modified, result.graph_module.names, seen, [each.__name__ for each in manager.passes]]


def fails_late(seen):
    return lambda module: seen.append(len(module.names)) if hasattr(module, "names") else None


def raises(seen):
    def check(module):
        raise ValueError("this module is wrong")

    return check


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", [
    *[lambda t, name=name: wrapped(t, RETURNS[name]) for name in RETURNS if name != "number"],
    *[lambda t, name=name: managed(t, RETURNS[name]) for name in RETURNS],
    lambda t: managed(t, RETURNS["changed"], steps=5), lambda t: managed(t, RETURNS["unchanged"], steps=5),
    lambda t: managed(t, RETURNS["changed"], (1, 0)), lambda t: managed(t, RETURNS["changed"], (0, 1)),
    lambda t: managed(t, RETURNS["changed"], (0, 1), (1, 0)),
    lambda t: managed(t, RETURNS["changed"], checks=[fails_late]),
    lambda t: managed(t, RETURNS["changed"], checks=[fails_late], run_checks_after_each_pass=True),
    lambda t: managed(t, RETURNS["changed"], checks=[raises]),
    lambda t: managed(t, RETURNS["changed"], checks=[lambda seen: lambda one, other: None]),
])
def test_a_manager_of_passes_does_what_pytorchs_does(program) -> None:
    outcomes = []
    for library in (torch, pytest.importorskip("torch")):
        importlib.import_module(f"{library.__name__}.fx.passes.infra.pass_manager")
        try:
            outcomes.append(program(library))
        except Exception as error:
            outcomes.append((type(error), str(error).split("<")[0]))
    assert outcomes[0] == outcomes[1]

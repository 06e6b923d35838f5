"""``aot_function``: the values, gradients, versions and aliases of the function, by the graphs that PyTorch has."""
from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import mindtorch
from tests.compile.differential import Case, differences, generate
from tests.support import torch

LIBS = (mindtorch, torch)


def module(lib, name):
    return importlib.import_module(f"{lib.__name__}.{name}")


def written_under_no_grad(lib, x, y):
    with lib.no_grad():
        y.add_(1)
    return (x @ y).sin()


#: Functions of a matrix that requires grad, and of one that does not.
PROGRAMS = {
    "values": lambda lib, x, y: (x @ y).sin(),
    "saved outputs": lambda lib, x, y: x.sigmoid().tanh() @ y,
    "an input is written": lambda lib, x, y: (y.mul_(2), (x * 2) @ y)[1],
    "an input gets a history": lambda lib, x, y: (y.mul_(x.t()), y.sum() * 2)[1],
    "an input that gets a history is returned": lambda lib, x, y: (y.add_(x.t()), y * 2),
    "an input that requires grad is written": lambda lib, x, y: ((z := x * 1).mul_(2), (z @ y).sum())[1],
    "a view of an input is written": lambda lib, x, y: (y[0].zero_(), x @ y)[1],
    "an input's layout is changed": lambda lib, x, y: (y.t_(), x * y)[1],
    "written under no_grad": written_under_no_grad,
    "written by detach": lambda lib, x, y: (y.detach().add_(1), x @ y)[1],
    "an alias of an input": lambda lib, x, y: (x.view(-1), x * 2),
    "an alias of an input that is written": lambda lib, x, y: (y.mul_(2), y.view(-1), y[0], x @ y)[1:],
    "a view is made to require grad": lambda lib, x, y: (y.view(-1).requires_grad_(), x * 2),
    "a detached alias": lambda lib, x, y: (x.detach(), x.detach()[0], x * 2),
    "an input": lambda lib, x, y: (x, y, y @ x),
    "aliases of an intermediate tensor": lambda lib, x, y: ((z := x * 2).view(-1), z.t(), z[0]),
    "an alias of an output": lambda lib, x, y: ((z := x * 2), z.t(), z.detach()),
    "one view of an intermediate tensor": lambda lib, x, y: (x * 2).view(-1),
    "parts": lambda lib, x, y: (x * 2).unbind(0),
    "an output twice": lambda lib, x, y: ((z := x * 2), z),
    "without a gradient": lambda lib, x, y: (x.detach() * 2, x * 3, y + 1, x > 0),
    "integers": lambda lib, x, y: (x.argmax(1), x.max(1)),
    "a layer": lambda lib, x, y: lib.nn.functional.layer_norm(lib.nn.functional.linear(x, y.t()).relu(), (3,)),
    "dropout": lambda lib, x, y: lib.nn.functional.dropout(x, 0.5) @ y,
    "no tensor": lambda lib, x, y: (x * 2, None, 3, "word", {"a": [x + 1]}),
    "attention": lambda lib, x, y: lib.nn.functional.scaled_dot_product_attention(
        x[None, None], *[y.t()[None, None]] * 2),
}


def numbers(lib, *shape):
    count = 1
    for size in shape:
        count *= size
    return lib.arange(float(count)).reshape(shape) / 7 - 0.5


def inputs(lib):
    return numbers(lib, 3, 4).requires_grad_(), numbers(lib, 4, 3).cos()


def facts(lib, value):
    """Return what can be seen of a result."""
    leaves = module(lib, "utils._pytree").tree_leaves(value)
    return [(leaf.shape, leaf.stride(), leaf.requires_grad,
             leaf.detach().double().tolist()) if hasattr(leaf, "requires_grad") else leaf for leaf in leaves]


def observed(lib, function):
    """Call a function, and its backward pass, twice; return everything that can be seen of it."""
    rows = []
    for _ in range(2):
        args = inputs(lib)
        lib.manual_seed(3)
        results = function(*args)
        seen = facts(lib, results)
        tensors = [leaf for leaf in module(lib, "utils._pytree").tree_leaves(results)
                   if getattr(leaf, "requires_grad", False)]
        if tensors:
            sum(tensor.sum() * (i + 1) for i, tensor in enumerate(tensors)).backward()
        rows.append((seen, [(arg._version, arg.stride(), arg.detach().tolist()) for arg in args],
                     [None if arg.grad is None else arg.grad.tolist() for arg in args]))
    return rows


def rounded(value):
    """Return a nested value with numbers that can be compared."""
    if isinstance(value, float):
        return round(value, 3)
    return type(value)(map(rounded, value)) if type(value) in (list, tuple) else (
        tuple(value) if isinstance(value, tuple) else value)


def compiled(lib, program, **options):
    nop = module(lib, "_functorch.compilers").nop
    return module(lib, "_functorch.aot_autograd").aot_function(
        lambda x, y: program(lib, x, y), fw_compiler=nop, bw_compiler=nop, **options)


@pytest.mark.parametrize("partition", ["default_partition", "min_cut_rematerialization_partition"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_compiled_function_does_what_the_function_does(name, partition) -> None:
    program = PROGRAMS[name]
    chosen = getattr(module(mindtorch, "_functorch.partitioners"), partition)
    found = observed(mindtorch, compiled(mindtorch, program, partition_fn=chosen))
    wanted = observed(mindtorch, lambda x, y: program(mindtorch, x, y))
    assert rounded(found) == rounded(wanted)


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - {"an input's layout is changed"}))  # an error of PyTorch's
def test_it_does_what_pytorchs_does(name) -> None:
    ours, theirs = (rounded(observed(lib, compiled(lib, PROGRAMS[name]))) for lib in LIBS)
    assert ours == theirs


SAME_GRAPHS = sorted(PROGRAMS.keys() - {
    "an input is written", "an alias of an input that is written", "attention", "a view of an input is written",
    "an input gets a history", "an input's layout is changed", "an output twice", "integers", "written by detach",
    "written under no_grad", "a view is made to require grad"})


@pytest.mark.parametrize("partition", ["default_partition", "min_cut_rematerialization_partition"])
@pytest.mark.parametrize("name", SAME_GRAPHS)
@pytest.mark.sampled(2)
def test_the_graphs_are_pytorchs(name, partition) -> None:
    def graphs(lib):
        printed = []

        def compiler(traced, inputs):
            printed.append(traced.code)
            return module(lib, "_functorch.aot_autograd").make_boxed_func(traced)

        chosen = getattr(module(lib, "_functorch.partitioners"), partition)
        function = module(lib, "_functorch.aot_autograd").aot_function(
            lambda x, y: PROGRAMS[name](lib, x, y), compiler, partition_fn=chosen)
        observed(lib, function)
        return printed

    assert graphs(mindtorch) == graphs(torch)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_inputs_may_share_memory_that_is_written(requires_grad) -> None:
    def run(function):
        base = numbers(mindtorch, 4, 4).requires_grad_(requires_grad)
        whole = base * 1
        first, second = whole[:, :2], whole[1]
        result = function(first, second)
        if requires_grad:
            result.sum().backward()
        return result.tolist(), whole.tolist(), first.tolist(), second.tolist(), (
            base.grad.tolist() if requires_grad else None)

    def program(x, y):
        x.mul_(2)
        y.add_(x.sum())
        return x * y[:2].sin()

    nop = module(mindtorch, "_functorch.compilers").nop
    found = run(module(mindtorch, "_functorch.aot_autograd").aot_function(program, nop))
    assert rounded(found) == rounded(run(program))


def test_inputs_without_a_base_that_requires_grad_are_refused() -> None:
    def function(x, y):
        with mindtorch.no_grad():
            y.mul_(2)
        return x.sin()

    leaf = mindtorch.ones(3, 3).t().requires_grad_()  # a view of a tensor that does not
    with pytest.raises(RuntimeError, match="no views of one tensor that does"):
        mindtorch.compile(function, backend="aot_eager")(leaf, leaf[...])


def test_a_tensor_given_twice_is_one_input() -> None:
    nop = module(mindtorch, "_functorch.compilers").nop
    function = module(mindtorch, "_functorch.aot_autograd").aot_function(lambda x, y: (x.add_(1), x * y)[1], nop)
    x = mindtorch.ones(2)
    assert function(x, x).tolist() == [4.0, 4.0] and x.tolist() == [2.0, 2.0]
    with module(mindtorch, "_functorch.config").patch(debug_assert=True), pytest.raises(
            AssertionError, match="input 1 would be a duplicate of input 0"):
        function(x, mindtorch.ones(2))


def test_the_backward_pass_cannot_be_differentiated() -> None:
    def message(lib):
        x, y = inputs(lib)
        result = compiled(lib, lambda lib, x, y: (x * x) @ y)(x, y)
        gradient, = lib.autograd.grad(result.sum(), x, create_graph=True)
        with pytest.raises(RuntimeError) as error:
            gradient.sum().backward()
        return str(error.value).partition(".")[0]

    assert message(mindtorch) == message(torch)


def test_an_input_written_by_a_backward_pass_is_refused() -> None:
    class Writes(mindtorch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(y)
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            ctx.saved_tensors[0].add_(1)
            return grad, None

    with pytest.raises(RuntimeError, match="the backward pass writes an input"):
        compiled(mindtorch, lambda lib, x, y: Writes.apply(x, y))(*inputs(mindtorch))


def test_an_input_that_newly_requires_grad_is_reported_on_request() -> None:
    config = module(mindtorch, "_functorch.config")
    function = compiled(mindtorch, lambda lib, x, y: x @ y)
    x, y = inputs(mindtorch)
    with config.patch(debug_assert=True):
        function(x, y)
        with pytest.raises(AssertionError, match="input 1 would not require grad"):
            function(x, y.requires_grad_())


def test_functorch_is_a_package_of_its_own() -> None:
    program = ("import mindtorch; mindtorch.install_as_torch(); import functorch; from functorch.compile import nop, "
               "aot_function; from functorch.experimental.control_flow import cond; import torch; "
               "print(functorch.vmap is torch.vmap and cond is torch.cond, nop.__module__)")
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["True", "mindtorch._functorch.compilers"]


def test_an_input_that_is_written_without_grad_is_written_beside_a_backward_pass() -> None:
    def function(a, b):
        with mindtorch.no_grad():
            a *= 2
        return (a * b).sum()

    compiled = mindtorch.compile(function, backend="aot_eager")
    for _ in range(2):
        a, b = mindtorch.ones(3), mindtorch.ones(3, requires_grad=True)
        compiled(a, b).backward()
        assert a.tolist() == b.grad.tolist() == [2, 2, 2] and a._version == 1


MATRIX, LEAF, MADE = [((3, 3), "float32", how) for how in ("", "grad", "grad made")]
#: Lines over the inputs, these, and what is returned.
ALIASES = {
    "one row of an expanded tensor is written": (["v = a.expand(2, 3, 3)[:, 0]", "v[-1] += 1.1"], [MATRIX], "v"),
    "a flag of an expanded tensor is written": (["v = a > 0", "v.expand(2, 3, 3)[1, 0, 0].fill_(True)"], [MATRIX], "v"),
    "one of windows that overlap is written": (["v = a * 1", "v.unfold(-1, 2, 1)[:, 0].mul_(b[:, :2])"],
                                               [LEAF, MATRIX], "v"),
    "windows with gaps are written": (["a.unfold(-1, 1, 2).add_(1)"], [MATRIX], "a * 2"),
    "a view is older than a layout": (["v = a[0][-1]", "a.t_()"], [MATRIX], "v, a[0]"),
    "a view is older than a layout, with a history": (["v = a[0][1:]", "a.mul_(2)", "a.t_()"], [MADE], "v, a[0] * 1"),
    "memory with gaps is written": (["a.add_(1)"], [((3,), "float32", "turned")], "a[1:]"),
    "several writes": (["a.add_(1)", "a[0].mul_(2)", "a.data.zero_()"], [MATRIX], "a * 2"),
    "hidden writes": (["a.data.add_(1)"], [MATRIX], "a * 2"),
    "a write without grad mode": (["with torch.no_grad(): a.add_(1)"], [LEAF, LEAF], "b * 2"),
    "a view without grad mode": (["with torch.no_grad(): v = a[-1:]"], [MADE], "v"),
    "a layout is changed without grad mode": (["v = a * 2", "with torch.no_grad(): a.t_()"], [LEAF], "v, a + 1"),
    "a dimension is added without grad mode": (["with torch.no_grad(): a.unsqueeze_(0)"], [LEAF], "a * 2"),
    "a view of a value without grad mode": (["v = a * 2", "with torch.no_grad(): w = v[1]"], [LEAF], "w, v.sum()"),
}


@pytest.mark.parametrize("name", ALIASES)
def test_aliases_and_versions_are_those_of_the_function(name) -> None:
    lines, inputs, result = ALIASES[name]
    assert not differences(Case(lines, inputs, result), "aot_eager")


def test_random_programs_compute_what_they_do_as_they_are_written() -> None:
    """Except for the bases that autograd knows, and for an error at once where eager's backward pass has one."""
    for seed in range(20):
        found = differences(generate(seed), "aot_eager")
        refused = any(line.startswith("call 0: gradients: None for RuntimeError") for line in found)
        assert refused or all(": bases:" in line for line in found), seed


@pytest.mark.parametrize("compiled", ["aot_function", "aot_eager", "inductor"])
def test_results_of_enable_grad_have_gradients_although_grad_mode_is_off(compiled) -> None:
    def function(x):
        first = x.sin()
        with mindtorch.enable_grad():
            return first, x.cos()

    call = module(mindtorch, "functorch.compile").aot_function(function, lambda graph, _: graph) if (
        compiled == "aot_function") else mindtorch.compile(function, backend=compiled)
    x = mindtorch.ones(3, requires_grad=True)
    for _ in range(2):
        with mindtorch.no_grad():
            first, second = call(x)
        assert (first.requires_grad, second.requires_grad) == (False, True)
        assert mindtorch.equal(mindtorch.autograd.grad(second.sum(), x)[0], -x.sin())


@pytest.mark.parametrize(("words", "forward", "second"), [
    ("duplicated inputs that are mutated", lambda p, x, y: (x.mul_(2), x + y)[1], lambda x: x),
    ("aliased inputs that are mutated", lambda p, x, y: (x.mul_(2), x + y)[1], lambda x: x.view(-1)),
    ("requires gradients, that was not the scalar loss", lambda p, x, y: (p * x, (p * y).sum()), lambda x: x + 1),
])
def test_an_export_refuses_in_pytorchs_words(words, forward, second) -> None:
    for lib in LIBS:
        net = lib.nn.Module()
        net.p = lib.nn.Parameter(lib.ones(2))
        net.forward = lambda x, y, net=net: (r if isinstance(r := forward(net.p, x, y), tuple) else (r,))
        loss = {"trace_joint": True, "output_loss_index": 1} if "scalar" in words else {"trace_joint": False}
        with pytest.raises(RuntimeError, match=words):
            module(lib, "_functorch.aot_autograd").aot_export_module(net, [x := lib.ones(2), second(x)], **loss)


def under_grad(lib, x):
    with lib.enable_grad():
        y = x @ x
    y.add_(2)
    return (x.sum() + y.sum(),)


def of_data(lib, x):
    return lib.full((lib.full((), 11).item(),), 0), x.sin()


@pytest.mark.parametrize("program, options", [
    (under_grad, {"pre_dispatch": True}), (of_data, {"dynamic_shapes": True}),
    (lambda lib, x: (lib.nn.functional.linear(x, x).reshape(-1),), {"pre_dispatch": True})])
def test_an_exported_graph_is_pytorchs(program, options) -> None:
    def code(lib):
        net = lib.nn.Module()
        net.forward = lambda x: program(lib, x)
        with lib.no_grad():
            return module(lib, "_functorch.aot_autograd").aot_export_module(
                net, [lib.ones(2, 2)], trace_joint=False, **options)[0].code

    assert code(mindtorch) == code(torch)


def test_a_composite_that_may_share_memory_is_not_written_before_dispatch() -> None:
    for lib in LIBS:
        net = lib.nn.Module()
        net.forward = lambda x, lib=lib: (lib.ops.aten.dropout.default(x, 0.1, train=False).add_(1),)
        with pytest.raises(RuntimeError, match="cannot mutate tensors with frozen storage"):
            module(lib, "_functorch.aot_autograd").aot_export_module(net, [lib.ones(2)], trace_joint=False,
                                                                     pre_dispatch=True)


def test_compilers_know_which_graph_they_compile() -> None:
    def kinds(lib):
        compile, seen = module(lib, "functorch.compile"), []

        def compiler(graph, _):
            seen.append(compile.get_aot_compilation_context()[0][0].partition("_")[2])
            return graph

        compile.aot_function(lib.sin, compiler)(lib.ones(2, requires_grad=True)).sum().backward()
        compile.aot_function(lib.sin, compiler)(lib.ones(2))
        return sorted(seen), compile.get_aot_compilation_context()[0]

    assert kinds(mindtorch) == (["backward", "forward", "inference"], [])

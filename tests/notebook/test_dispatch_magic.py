"""``%%dispatch``: operators below the lines and nodes that asked for them, repetitions counted, optimizers folded."""
from __future__ import annotations

import pytest

import mindtorch as torch
from mindtorch import introspect, nn, viz
from mindtorch.introspect import Asked

from .test_pictures import Checker


def watched(program):
    with introspect.watch_dispatch() as trace:
        program()
    return trace


def step_of(optimizer):
    model = nn.Linear(2, 1)
    optimizer = optimizer(model.parameters(), lr=0.1)

    def program():
        loss = model(torch.ones(3, 2)).relu().sum()
        loss.backward()
        optimizer.step()

    return program


def asked_of(trace, op):
    return {trace.asked[event.sequence] for event in trace if event.op == op}


def test_operators_know_the_node_or_the_optimizer_that_asked_for_them():
    trace = watched(step_of(torch.optim.SGD))
    assert asked_of(trace, "linear") == asked_of(trace, "relu") == {Asked()}
    assert asked_of(trace, "threshold_backward") == {Asked("backward", "ReluBackward0")}
    assert asked_of(trace, "mm") == {Asked("backward", "AddmmBackward0")}
    assert asked_of(trace, "_fused_sgd_") == {Asked("step of SGD")}
    assert {event.sequence for event in trace} == set(trace.asked)


def test_gradients_that_meet_are_added_by_no_node():
    w = torch.ones(2, requires_grad=True)
    h = w * 2
    trace = watched((h + h.exp()).sum().backward)
    assert Asked("backward") in asked_of(trace, "add_.Tensor") | asked_of(trace, "add.Tensor")


def test_gradients_of_parts_are_added_by_their_nodes_on_the_device_of_the_tensor():
    x = torch.ones(3, requires_grad=True) * 1
    trace = watched((x[0] + x[1]).backward)
    assert asked_of(trace, "select_backward") == asked_of(trace, "add_.Tensor") == {
        Asked("backward", "SelectBackward0")}
    assert not any("meta" in repr(event.inputs) for event in trace)


def test_what_a_closure_computes_is_not_the_optimizers_own():
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.LBFGS([w], max_iter=1)

    def closure():
        loss = w.exp().sum()
        loss.backward()
        return loss

    trace = watched(lambda: optimizer.step(closure))
    assert asked_of(trace, "exp") == {Asked()} and "step of LBFGS" in {asked.part for asked in trace.asked.values()}


def test_operators_are_grouped_by_line_and_node():
    trace = watched(step_of(torch.optim.SGD))
    lines = [line for run in introspect.by_line(trace.events, trace.asked) for line in run.lines]
    assert [(line.text, line.part) for line in lines] == [
        ("loss = model(torch.ones(3, 2)).relu().sum()", ""), ("loss.backward()", "backward"),
        ("optimizer.step()", "step of SGD")]
    assert [node.node for node in lines[1].nodes if node.node][:2] == ["SumBackward0", "ReluBackward0"]
    assert [event for line in lines for event in line.events] == trace.events


def test_repetitions_are_counted():
    x = torch.ones(2)

    def loop():
        for _ in range(7):
            y = x + 1
            y.exp()
        for _ in range(5):
            y.cos(), y.sin()

    lines, again = introspect.by_line(watched(loop).events)
    assert [len(lines.lines), len(lines.again)] == [2, 12] and not again.again
    run, = again.lines[0].nodes[0].runs
    assert [len(run.events), len(run.again)] == [2, 8]
    text = viz.dispatch_text(watched(loop).events)
    assert "↻ these 2 lines 6 more times: 12 operators" in text and "↻ these 2, 4 more times: 8 operators" in text


def test_other_shapes_are_no_repetition():
    def program():
        for i in range(4):
            torch.ones(i)

    run, = introspect.by_line(watched(program).events)
    assert len(run.lines[0].events) == 4 and not any(runs.again for runs in run.lines[0].nodes[0].runs)


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam])
def test_the_steps_of_optimizers_are_folded(optimizer):
    trace = watched(step_of(optimizer))
    page, text = viz.dispatch_page(trace.events, trace.asked), viz.dispatch_text(trace.events, trace.asked)
    shown = Checker(page)
    name = f"step of {optimizer.__name__}"
    assert ("aria-label", f"show the operators of the {name}") in shown.attributes
    folded = next(line for line in text.splitlines() if name in line)
    assert "optimizer.step()" in folded and "operator" in folded
    assert text.splitlines()[-1] == folded  # none of them is listed below


def test_shapes_go_in_and_come_out_and_a_dtype_is_written_where_it_changes():
    a, b = torch.ones(2, 3), torch.arange(3)
    text = viz.dispatch_text(watched(lambda: (a @ a.t(), b * 2, a + b)).events)
    for said in ("float32[2, 3], [3, 2] → [2, 2]", "int64[3], 2 → [3]", "float32[2, 3], int64[3], 1 → float32[2, 3]"):
        assert said in text or said.replace(", 1 →", " →") in text
    text = viz.dispatch_text(watched(lambda: a.sum([0])).events)
    assert "float32[2, 3], (0,)" in text


def test_the_rows_of_a_printed_trace_are_aligned():
    a = torch.ones(2, 2)
    with torch.observe() as trace:
        nn.functional.linear(a, a)
    starts = {line.index("CPU") for line in str(trace).splitlines() if "Autograd" not in line}
    assert len(trace) > 1 and len(starts) == 1


def test_the_first_call_of_a_kernel_is_marked_and_no_later_one(monkeypatch):
    monkeypatch.setattr("mindtorch.introspect.dispatched._warm", set())
    x = torch.ones(2)
    cold, warm = watched(lambda: (x.exp(), x.exp(), x.sin())), watched(lambda: (x.exp(), x.cos()))
    marked = [[event.op for event in trace if event.sequence in trace.first] for trace in (cold, warm)]
    assert marked == [["exp", "sin"], ["cos"]]
    text = viz.dispatch_text(warm.events, warm.asked, warm.first)
    first, = (line for line in text.splitlines() if line.endswith("¹"))
    assert first.startswith("cos") and "¹ is the first call" in text and "run the cell again" in text
    assert "¹" not in viz.dispatch_text(warm.events, warm.asked)


def test_a_call_reports_whether_its_plan_was_made_or_found_and_what_the_plan_holds(monkeypatch):
    monkeypatch.setattr("mindtorch._backends.cpu.plans.Plans.skip", lambda self: False)
    x = torch.arange(35.0).reshape(5, 7).requires_grad_()
    plans = [next(event for event in watched(lambda: x.sum(1)) if event.op == "sum.dim_IntList").plan
             for _ in range(5)]
    assert plans[0] is None  # a layout's first call makes none
    made, *found = [plan for plan in plans if plan is not None]
    assert made.made and found and not any(plan.made for plan in found)
    assert made.layouts == ("float32[5, 7]",)
    assert made.file.endswith("sums.py") and made.line > 0
    product = torch.ones(7, 3, requires_grad=True)
    event = [next(event for event in watched(lambda: torch.mm(x, product)) if event.op == "mm")
             for _ in range(5)][-1]
    assert set(event.plan.recorded) >= {"self", "mat2"}
    page = viz.dispatch_page([event])
    assert "plan found" in page and "autograd keeps" in page


def test_operators_run_one_by_one_where_the_magic_is_asked_to(shell, capsys):
    shell.push({"layer": nn.Linear(2, 3), "x": torch.ones(4, 2)})
    shell.run_cell("%dispatch layer(x);")
    together = capsys.readouterr().out
    shell.run_cell("%dispatch --one-by-one layer(x);")
    apart = capsys.readouterr().out
    assert "at once" in together and "addmm" in together
    assert "at once" not in apart and "addmm" in apart


@pytest.mark.parametrize("name", ["mindtorch", "torch"])
def test_many_operators_are_folded_by_module_and_equal_ones_are_one(name):
    lib = pytest.importorskip(name)
    model = lib.nn.Sequential(*(lib.nn.Sequential(lib.nn.Linear(4, 4), lib.nn.Tanh(), lib.nn.LayerNorm(4))
                                for _ in range(20)))

    def program():
        model(lib.ones(2, 4)).sum().backward()

    trace = watched(program)
    line = trace.events[0].site[1]
    forward = [event for event in trace if event.site[1] == line and not trace.asked[event.sequence].part]
    top, *_ = introspect.by_module([event for event in forward if trace.modules[event.sequence]], trace.modules)
    assert (top.kind, top.times) == ("Sequential", 1)
    [layers] = top.parts
    assert (layers.label, layers.kind, layers.times) == ("0 … 19", "Sequential", 20)
    assert [part.kind for part in layers.parts] == ["Linear", "Tanh", "LayerNorm"]
    text = viz.dispatch_text(trace.events, trace.asked, trace.first, trace.modules)
    assert "\n  ▸ 0 … 19 Sequential × 20: " in text and "\n    ▸ 1 Tanh: " in text
    assert "more operators" not in text and "↩" not in text
    assert ("kernel" in text.splitlines()[1]) == (name == "mindtorch"), "PyTorch's kernels are in no file here"
    page = Checker(viz.dispatch_page(trace.events, trace.asked, trace.first, trace.modules))
    assert page.tags.count("details") == 5
    assert any(name == "class" and "mt-device mt-cpu" in (value or "") for name, value in page.attributes)

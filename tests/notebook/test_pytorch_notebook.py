"""A notebook that uses PyTorch: what is displayed of its objects, and what the magics and widgets make of them."""
from __future__ import annotations

import re

import pytest

import mindtorch
from mindtorch import introspect, viz

pytorch = pytest.importorskip("torch")


@pytest.fixture
def notebook(bare):
    """A notebook whose program imports PyTorch after the extension was loaded."""
    bare.run_line_magic("load_ext", "mindtorch")
    bare.run_cell("import torch")
    yield bare
    bare.run_line_magic("unload_ext", "mindtorch")


def shown(shell, expression):
    return shell.display_formatter.format(shell.ev(expression))[0]


DISPLAYED = {
    "torch.ones(2)": "mt-card", "torch.nn.Parameter(torch.ones(2))": "mt-card", "torch.nn.Linear(2, 2)": "mt-module",
    "torch.optim.SGD([torch.ones(2)])": "mt-container", "[torch.ones(2)]": "mt-container",
    "torch.ones(2, 2).max(0)": "mt-container", "torch.nn.Linear(2, 2).state_dict()": "mt-container",
    "torch.ones(2, requires_grad=True).exp().grad_fn": "mt-graph-page", "torch.Generator()": "mt-container",
    "torch.ones(2).untyped_storage()": "mt-container",
    "torch.utils.data.DataLoader([1, 2])": "mt-container",
}


@pytest.mark.parametrize("expression", DISPLAYED)
def test_pytorchs_objects_are_displayed_until_the_extension_is_unloaded(notebook, expression):
    html = shown(notebook, expression)["text/html"]
    assert DISPLAYED[expression] in html
    notebook.run_line_magic("reload_ext", "mindtorch")
    assert DISPLAYED[expression] in shown(notebook, expression)["text/html"]
    notebook.run_line_magic("unload_ext", "mindtorch")
    assert "text/html" not in shown(notebook, expression)
    notebook.run_line_magic("load_ext", "mindtorch")


def test_both_libraries_stand_in_one_table(notebook):
    notebook.run_cell("import mindtorch\nours, theirs = mindtorch.ones(2), torch.zeros(9_999_999)\nview = theirs[1:]")
    lines = notebook.run_line_magic("tensors", "").text.splitlines()
    assert lines[0].startswith("3 tensors over 2 storages")
    assert [re.search(r"(\w+) +float32", line)[1] for line in lines[2:]] == ["ours", "theirs", "view"]
    # among the storages of other tests, the largest are listed
    assert "theirs, view" in notebook.run_line_magic("memory", "--device cpu").text


def test_the_text_is_pytorchs(notebook):
    assert shown(notebook, "torch.ones(2)")["text/plain"] == "tensor([1., 1.])"


def test_magics_take_pytorchs_tensors(notebook):
    notebook.run_cell("w = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\nview = w.detach()[1:]")
    assert "MulBackward0" in notebook.run_line_magic("graph", "loss").text
    assert "view" in notebook.run_line_magic("storage", "w").text


def test_the_operators_of_a_cell_are_shown_with_what_asked_for_them(notebook):
    notebook.run_cell("w = torch.ones(4, 2, requires_grad=True)\nx = torch.ones(3, 4)")
    space = notebook.user_ns
    with introspect.watch_dispatch() as trace:
        loss = (space["x"] @ space["w"]).relu().sum()
        loss.backward()
    found = [(event.op, event.path[-1], trace.asked[event.sequence].node) for event in trace if event.op != "detach"]
    assert found == [
        ("mm", "CPU", ""), ("relu", "CPU", ""), ("sum", "CPU", ""), ("ones_like", "CPU", ""),
        ("expand", "CPU", "SumBackward0"), ("threshold_backward", "CPU", "ReluBackward0"), ("t", "CPU", "MmBackward0"),
        ("mm", "CPU", "MmBackward0")]
    product = trace.events[0]
    assert product.path == ("AutogradCPU", "CPU") and product.line and product.file.endswith(".cpp")
    assert product.site[0] == __file__
    assert [str(meta) for meta in product.outputs] == ["float32[3, 2]"]


def test_an_operator_that_fails_is_shown_with_its_error(notebook):
    with pytest.raises(RuntimeError), introspect.watch_dispatch() as trace:
        pytorch.ones(2, 3) @ pytorch.ones(2, 3)
    assert trace.events[-1].op == "mm" and trace.events[-1].error.startswith("RuntimeError: mat1 and mat2")


def test_a_trace_says_that_looking_on_takes_time(notebook):
    traces = []
    for library in (pytorch, mindtorch):
        with introspect.watch_dispatch() as trace:
            library.ones(2).exp()
        traces.append("pass through Python" in viz.dispatch_page(trace.events))
    assert traces == [True, False]


def test_profiles_and_timelines_have_pytorchs_operators(notebook):
    model, x = pytorch.nn.Linear(2, 2), pytorch.ones(1, 2)
    with introspect.profile({"model": model}) as profile:
        model(x).sum().backward()
    assert {"model (Linear)", "(backward)"} <= {share.name for share in profile.modules}
    with introspect.timeline() as timeline:
        model(x)
    assert [(span.lane, span.name) for span in timeline.spans] == [
        ("host modules", "Linear"), ("host phases", "forward"), ("host", "linear")]


def test_a_timeline_of_a_training_step_has_phases_to_zoom_into(notebook):
    model, x = pytorch.nn.Sequential(pytorch.nn.Linear(2, 2), pytorch.nn.ReLU()), pytorch.ones(1, 2)
    optimizer = pytorch.optim.SGD(model.parameters(), lr=0.1)
    with introspect.timeline({"net": model}) as timeline:
        model(x).sum().backward()
        optimizer.step()
    phases = [span for span in timeline.spans if span.lane == "host phases"]
    assert [span.name for span in phases] == ["forward", "backward", "optimizer"]
    assert timeline.lanes == ("host phases", "host modules", "host")
    modules = {span.name: span for span in timeline.spans if span.lane == "host modules"}
    inner, outer = modules["net.0 Linear"], modules["net Sequential"]
    assert outer.start <= inner.start < inner.end <= outer.end
    assert all(phases[0].start <= span.start and span.end <= phases[-1].end for span in timeline.spans
               if span.lane == "host")
    page = viz.timeline_page(timeline)
    assert [f"zoom into <b>{span.name}</b>" in page for span in phases] == [True] * 3


def test_widgets_take_pytorchs_tensors(notebook):
    from mindtorch import widgets

    explorer = widgets.stride_explorer(pytorch.arange(6.0).view(2, 3).t())
    assert explorer.facts.positions == (0, 3, 1, 4, 2, 5)
    explorer.set((2, 9), (3, 1))
    assert "out of bounds" in explorer.facts.error
    w = pytorch.tensor([1.0, 2.0], requires_grad=True)
    stepper = widgets.backward_stepper((w * w).sum(), named={"w": w})
    assert "step 0 of 3" in stepper.picture and w.grad is None
    stepper.rest.click()
    assert "backward is complete" in stepper.picture and w.grad.tolist() == [2.0, 4.0] and stepper.forward.disabled
    monitor = widgets.TrainingMonitor()
    model = pytorch.nn.Linear(2, 2)
    model(pytorch.ones(1, 2)).sum().backward()
    monitor.record(1, loss=pytorch.tensor(2.0), grad_norms=model)
    assert [series.name for series in monitor.facts.norms] == ["weight", "bias"]


def test_writes_are_watched_from_the_cell_after_the_import_on(bare, capsys):
    bare.run_line_magic("load_ext", "mindtorch")
    bare.run_line_magic("why", "--watch")
    bare.run_cell("import torch")
    bare.run_cell("a = torch.ones(3, requires_grad=True)\nb = a.exp()\nview = b.detach()[1:]")
    bare.run_cell("view.mul_(2)\nb[0] = 1\ntorch.add(b.detach(), 1, out=b.detach())")
    bare.run_cell("try:\n    b.sum().backward()\nexcept RuntimeError as error:\n    failed = error")
    lines = str(bare.run_line_magic("why", "failed")).splitlines()
    assert [line.strip() for line in lines if "→ version" in line] == [
        "→ view.mul_(2) ✗  line 1: mul_.Tensor → version 1", "→ b[0] = 1 ✗  line 2: copy_ → version 2",
        "→ torch.add(b.detach(), 1, out=b.detach()) ✗  line 3: add.out → version 3"]
    modes = pytorch.utils._python_dispatch._get_current_dispatch_mode_stack
    assert len(modes()) == 1
    bare.run_line_magic("unload_ext", "mindtorch")
    assert not modes() and not introspect.watching_writes()


@pytest.mark.parametrize("cell", ["x @ x", "%%dispatch\nx @ x", "%%timeline\nx @ x"])
@pytest.mark.parametrize("watch", ["--watch", "--no-watch"])
def test_pytorchs_errors_are_explained_while_its_operators_are_looked_at(notebook, capsys, cell, watch):
    notebook.run_line_magic("why", watch)
    notebook.run_cell("x = torch.ones(3, 4)")
    notebook.run_cell(cell)
    assert "%why explains this error" in capsys.readouterr().out
    assert "x [3, 4] cannot be multiplied with x [3, 4]" in str(notebook.run_line_magic("why", ""))


def test_the_glossary_has_three_names_for_each_thing(notebook):
    assert all(all(vars(term).values()) for term in introspect.GLOSSARY) and len(introspect.GLOSSARY) > 20
    text = notebook.run_line_magic("glossary", "record_stream").text
    assert "deferred free" in text and len(text.splitlines()) == 3
    assert "no entry" in notebook.run_line_magic("glossary", "zebra").text

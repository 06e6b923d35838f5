"""Widgets: their facts, their refusals, pictures that agree with their state, gradients that are backward's."""
from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mindtorch as torch
from mindtorch import introspect, viz, widgets
from mindtorch.viz.monitor import progress_text

from .test_harmless import HOSTILE
from .test_pictures import Checker

VIEW = "application/vnd.jupyter.widget-view+json"


# -- strides -----------------------------------------------------------------------------------------------------------

small = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), max_size=3)


@settings(max_examples=60, deadline=None)
@given(small, st.integers(0, 6))
def test_the_positions_are_those_that_pytorch_reads(dimensions, offset):
    reference = pytest.importorskip("torch", reason="PyTorch says what is right")
    shape, stride = [n for n, _ in dimensions], [step for _, step in dimensions]
    facts = introspect.stride_facts(torch.arange(12), shape, stride, offset)
    try:
        expected = reference.arange(12).as_strided(shape, stride, offset)
    except RuntimeError as error:
        assert facts.error.partition(" requiring")[0] == str(error).partition(" requiring")[0] and facts.error
        return
    assert facts.error == "" and facts.outside == ()
    assert list(facts.positions) == expected.flatten().tolist() and facts.elements == expected.numel()
    assert [facts.index(order) for order in range(facts.elements)] == list(np.ndindex(*shape))
    values, counts = np.unique(expected.numpy(), return_counts=True)
    assert facts.repeated == {v: c for v, c in zip(values.tolist(), counts.tolist(), strict=True) if c > 1}


@pytest.mark.parametrize(("shape", "stride", "offset", "outside"), [
    ((3, 4), (4, 1), 5, (12, 13, 14, 15, 16)),
    ((3,), (-1,), 1, (-1,)),
    ((2,), (1,), -2, (-2, -1)),
    ((2, 2), (1,), 0, ()),
    ((-1,), (1,), 0, ()),
])
def test_what_pytorch_refuses_is_followed_nevertheless_with_its_message(shape, stride, offset, outside):
    reference = pytest.importorskip("torch", reason="PyTorch says what is right")
    facts = introspect.stride_facts(torch.arange(12.0), shape, stride, offset)
    with pytest.raises(RuntimeError) as refused:
        reference.arange(12.0).as_strided(shape, stride, offset)
    assert facts.error == str(refused.value) and facts.outside == outside
    text = Checker(viz.strides_page(facts)).text
    assert facts.error in text and all(f"⚠{position}" in text for position in outside)


def test_a_large_layout_is_followed_and_drawn_in_part():
    facts = introspect.stride_facts(torch.zeros(1_000_000), (1000, 1000), (1000, 1))
    assert facts.elements == 1_000_000 and len(facts.positions) == 4096
    page = viz.strides_page(facts)
    assert len(page) < 200_000 and "the first 4,096 elements are followed" in page


def test_the_stride_explorer_starts_from_the_tensor_and_draws_what_the_controls_say():
    explorer = widgets.stride_explorer(torch.arange(12.0).view(3, 4).t())
    assert (explorer.shape, explorer.stride, explorer.offset.value) == ((4, 3), (1, 4), 0)
    explorer.strides[1].value = 1
    assert explorer.facts.stride == (1, 1) and "stride=(1, 1)" in explorer.picture
    assert explorer.facts.repeated and "elements overlap" in explorer.picture
    explorer.offset.value = 11
    assert explorer.facts.outside and "are out of bounds for storage of size 48" in explorer.picture
    explorer.set((2, 2), (50, 0))
    assert explorer.facts.positions == (0, 0, 50, 50) and "storage_offset=0" in explorer.picture
    explorer.row_major.click()
    assert explorer.stride == (2, 1)
    explorer.turned.click()
    assert explorer.stride == (1, 2)
    explorer.dimensions.value = 0
    assert explorer.facts.positions == (0,) and "size=()" in explorer.picture


def test_reading_in_order_marks_one_element_after_the_other():
    explorer = widgets.stride_explorer(6, (2, 3))
    assert explorer.read.value == explorer.read.max == 6
    explorer.play.value = 2
    assert explorer.read.value == 2 and explorer.picture.count("#") - explorer.picture.count("#0") >= 1
    drawn = Checker(viz.strides_page(explorer.facts, 2)).attributes
    assert [value for key, value in drawn if key == "class" and value and "now" in value.split()] == ["read now"] * 2
    explorer.sizes[0].value = 1
    assert explorer.read.value == explorer.read.max == 3


def test_a_storage_without_elements_has_no_cells():
    page = viz.strides_page(widgets.stride_explorer(torch.empty(0)).facts, 0)
    assert page.plain.count("no elements") == 2 and "position 0" not in page


@pytest.mark.parametrize(("arguments", "error"), [
    (("x",), TypeError), ((True,), TypeError), ((-1,), ValueError), ((4, (2, 2), (1,)), ValueError),
    ((4, (1,) * 5), ValueError), ((4, (-1,)), ValueError),
])
def test_the_stride_explorer_refuses(arguments, error):
    with pytest.raises(error):
        widgets.stride_explorer(*arguments)


# -- broadcasting ------------------------------------------------------------------------------------------------------

shapes = st.lists(st.lists(st.sampled_from([0, 1, 1, 2, 3]), max_size=4).map(tuple), min_size=1, max_size=4)


@settings(max_examples=80, deadline=None)
@given(shapes)
def test_shapes_broadcast_as_in_numpy(given_shapes):
    facts = introspect.broadcast_facts(*given_shapes)
    try:
        expected = np.broadcast_shapes(*given_shapes)
    except ValueError:
        expected = None
    assert facts.result == expected and bool(facts.error) == (expected is None)
    assert len(facts.dimensions) == max(map(len, given_shapes))
    if expected is not None:
        assert tuple(d.result for d in facts.dimensions) == expected
        for i, shape in enumerate(given_shapes):
            array = np.broadcast_to(np.zeros(shape), expected)
            own = (1,) * (len(expected) - len(shape)) + tuple(shape)
            assert [d.stretched[i] for d in facts.dimensions] == [a != b for a, b in zip(own, array.shape, strict=True)]


def test_the_error_is_pytorchs():
    reference = pytest.importorskip("torch", reason="PyTorch says what is right")
    facts = introspect.broadcast_facts((2, 3), (4, 3, 2))
    with pytest.raises(RuntimeError) as refused:
        reference.zeros(2, 3) + reference.zeros(4, 3, 2)
    assert facts.error == str(refused.value)
    assert [d.result for d in facts.dimensions] == [4, None, None]


@pytest.mark.parametrize(("text", "shape"), [
    ("", ()), ("()", ()), ("(2,)", (2,)), ("2, 3", (2, 3)), ("[4]", (4,)), ("torch.Size([2, 1])", (2, 1)), ("0", (0,)),
])
def test_shapes_are_read_as_people_write_them(text, shape):
    assert introspect.parse_shape(text) == shape


@pytest.mark.parametrize("text", ["x", "2,,3", "-1", "2.5", "2 3", "<b>", "²"])
def test_what_is_no_shape_is_refused(text):
    with pytest.raises(ValueError, match="is no size"):
        introspect.parse_shape(text)


def test_the_broadcasting_explorer_draws_what_the_fields_say():
    explorer = widgets.broadcast_explorer((3, 1), torch.zeros(4))
    assert explorer.facts.result == (3, 4) and "broadcasts to (3, 4)" in explorer.picture
    explorer.fields[1].value = "2, 4"
    assert explorer.facts.result is None
    assert "must match the size of tensor b (2) at non-singleton dimension 0" in explorer.picture
    explorer.fields[1].value = "<b>"
    assert "&lt;b&gt;" in explorer.picture and "<b>'" not in explorer.picture and "is no size" in explorer.text()
    assert "<b>'" in Checker(explorer.picture).text
    with pytest.raises(ValueError, match=r"b: .* is no size"):
        explorer.facts
    explorer.fewer.click()
    assert explorer.facts.shapes == ((3, 1),) and explorer.fewer.disabled
    explorer.fields[1].value = ""
    explorer.more.click()
    assert explorer.facts.shapes == ((3, 1), (1,))


@pytest.mark.parametrize(("arguments", "error", "message"), [
    ([(1,)] * 7, ValueError, "6 shapes at most"), ([(-1,)], ValueError, "negative"),
    (["ab"], TypeError, "takes shapes such as .3, 1., and tensors, not 'ab'"), ([3], TypeError, "not 3"),
    ([(2, 0.5)], TypeError, "not .2, 0.5."), ([torch.nn.Linear(1, 1)], TypeError, "not Linear"),
])
def test_the_broadcasting_explorer_refuses(arguments, error, message):
    with pytest.raises(error, match=message):
        widgets.broadcast_explorer(*arguments)


# -- backward ----------------------------------------------------------------------------------------------------------


def chain():
    w, b = torch.randn(3, 2, requires_grad=True), torch.zeros(2, requires_grad=True)
    y = torch.randn(4, 3) @ w + b
    return (y.relu() * y).sum(), [w, b]


def fan():
    x = torch.randn(4, requires_grad=True)
    parts = x.exp().split(2)
    return (parts[0] * x[:2] + parts[1].sin() * parts[0]).sum() + x.prod(), [x]


def in_place():
    x = torch.randn(3, 3, requires_grad=True)
    y = x * 2
    y[0].mul_(x[1])
    y.add_(x)
    return y.square().mean(), [x]


def recurrence():
    w, h = torch.randn(4, 4, requires_grad=True), torch.ones(2, 4)
    for _ in range(12):
        h = (h @ w).tanh()
    return h.sum(), [w]


def model():
    layers = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.ReLU(), torch.nn.Linear(4, 3))
    loss = torch.nn.functional.cross_entropy(layers(torch.randn(6, 5)), torch.tensor([0, 1, 2, 0, 1, 2]))
    return loss, list(layers.parameters())


def hooks():
    x = torch.randn(3, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: grad * 3)
    x.register_hook(lambda grad: grad + 1)
    y.retain_grad()
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] - 1, *inputs[1:]))
    return (y * y).sum(), [x, y]


PROGRAMS = [chain, fan, in_place, recurrence, model, hooks]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("before", [False, True])
def test_the_gradients_are_those_of_backward(program, before):
    found = []
    for stepwise in (False, True):
        torch.manual_seed(1)
        loss, leaves = program()
        if before:  # there are gradients already
            loss.backward(retain_graph=True)
        if stepwise:
            steps = run_all(loss)
            assert len(steps.taken) == steps.total == len(steps.graph.nodes)
        else:
            loss.backward()
        found.append([leaf.grad.tolist() for leaf in leaves])
    assert found[0] == found[1]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_nodes_run_in_the_engines_order(program):
    torch.manual_seed(1)
    expected = order_of_nodes(program()[0], lambda loss: loss.backward())
    torch.manual_seed(1)
    assert order_of_nodes(program()[0], run_all) == expected and len(expected) > 3


def order_of_nodes(loss, run):
    """The nodes in the order in which they run, each by its place in the graph and its name."""
    ran: list[tuple[int, str]] = []
    nodes = [loss.grad_fn]
    for place, node in enumerate(nodes):
        label = place, node.name()
        node.register_prehook(lambda grads, label=label: ran.append(label))
        nodes.extend(target for target, _ in node.next_functions if target is not None and target not in nodes)
    run(loss)
    return ran


def run_all(loss, **options):
    """Step through backward to its end."""
    steps = introspect.BackwardSteps(loss, **options)
    while steps.step():
        pass
    return steps


def test_a_step_tells_what_arrived_what_was_passed_on_and_what_was_let_go_of():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    steps = introspect.BackwardSteps(loss, named={"w": w})
    multiply = loss.grad_fn.next_functions[0][0]
    first = steps.step()
    assert first.name == "SumBackward0" and first.arrived[0].values == (1.0,) and w.grad is None
    assert first.sent[0][0] == id(multiply) and first.sent[0][2].shape == (2,)
    assert multiply._saved_self is not None
    second = steps.step()
    assert [saved.name for saved in second.freed] == ["other", "self"] and second.freed[1].tensor == "w"
    with pytest.raises(RuntimeError, match="freed"):
        multiply._saved_self
    last = steps.step()
    assert last.is_leaf and last.total.values == (2.0, 4.0) and w.grad.tolist() == [2.0, 4.0]
    assert steps.finished and steps.step() is None


def test_a_kept_graph_can_be_stepped_through_again():
    loss, (w, _) = chain()
    once = run_all(loss, retain_graph=True)
    total = w.grad.clone()
    again = run_all(loss, retain_graph=True)
    assert all(step.freed == () for step in (*once.taken, *again.taken))
    assert torch.equal(w.grad, 2 * total)


def test_between_steps_the_threads_state_is_the_users():
    loss, _ = chain()
    steps = introspect.BackwardSteps(loss)
    steps.step()
    assert torch.is_grad_enabled() and (torch.ones(1, requires_grad=True) * 2).requires_grad
    with torch.no_grad():
        steps.step()
        assert not torch.is_grad_enabled()


def test_a_backward_given_up_leaves_nothing_behind():
    loss, (w, b) = chain()
    steps = introspect.BackwardSteps(loss, retain_graph=True)
    steps.step()
    del steps
    loss.backward()
    assert w.grad is not None and b.grad is not None


@pytest.mark.parametrize(("make", "error"), [
    (lambda: torch.ones(2), ValueError), (lambda: torch.ones(2, requires_grad=True) * 2, RuntimeError),
    (lambda: torch.nn.Linear(1, 1), TypeError), (lambda: 3, TypeError),
])
def test_the_stepper_refuses(make, error):
    with pytest.raises(error):
        widgets.backward_stepper(make())


def test_a_gradient_may_be_given():
    x = torch.ones(2, requires_grad=True)
    run_all(x * 3, gradient=torch.tensor([1.0, 2.0]))
    assert x.grad.tolist() == [3.0, 6.0]


def test_the_stepper_draws_each_step_and_can_look_back():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    stepper = widgets.backward_stepper((w * w).sum(), named={"<w>": w})
    assert "step 0 of 3" in stepper.picture and w.grad is None
    stepper.forward.click()
    assert stepper.shown.value == 1 and "step 1 of 3" in stepper.picture and "goes to" in stepper.picture
    stepper.rest.click()
    assert w.grad.tolist() == [2.0, 4.0] and "backward is complete" in stepper.picture
    assert "&lt;w&gt;" in stepper.picture and "<w>" not in stepper.picture
    assert stepper.forward.disabled and stepper.rest.disabled
    stepper.shown.value = 2
    assert "step 2 of 3" in stepper.picture and "lets go of" in stepper.picture and w.grad.tolist() == [2.0, 4.0]
    stepper.shown.value = 3
    assert "backward is complete" in stepper.picture and w.grad.tolist() == [2.0, 4.0]


def test_the_slider_runs_what_it_passes_for_the_first_time():
    loss, (w, _) = chain()
    stepper = widgets.backward_stepper(loss, named={})
    stepper.shown.value = 4
    assert [step.number for step in stepper.facts] == [1, 2, 3, 4] and w.grad is None
    stepper.shown.value = 1
    stepper.forward.click()
    assert len(stepper.steps.taken) == stepper.shown.value == 5
    stepper.shown.value = stepper.shown.max
    assert w.grad is not None and stepper.forward.disabled


def test_an_error_in_a_step_is_shown():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    loss = y.sum()
    y.detach().mul_(2)
    stepper = widgets.backward_stepper(loss)
    stepper.rest.click()
    assert stepper.forward.disabled and "modified by an inplace operation" in stepper.picture
    assert stepper.shown.value == len(stepper.steps.taken) == 1
    stepper.shown.value = 0
    assert "inplace" not in stepper.picture


def test_of_a_large_graph_the_part_that_runs_is_drawn():
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(200):
        y = y * 1.01
    steps = introspect.BackwardSteps(y.sum())
    for _ in range(100):
        steps.step()
    page = viz.stepper_page(steps.graph, steps.taken, steps.total)
    assert page.count("<rect") < 40 and "▶" in page and len(page) < 100_000


# -- timeline ----------------------------------------------------------------------------------------------------------


def timeline():
    spans = (
        introspect.Span("host", "add", "enqueue", 1000, 2000),
        introspect.Span("npu:0 stream 0", "add", "run", 2000, 9000),
        introspect.Span("host", "wait", "sync", 2500, 9500, "for <stream>"),
    )
    return introspect.Timeline(spans, ("host", "npu:0 stream 0"))


def test_a_timeline_knows_what_goes_on():
    line = timeline()
    assert (line.start, line.end) == (1000, 9500) and line.events() == (1000, 2000, 2500, 9000, 9500)
    assert [span.name for span in line.at(2200)] == ["add"] and [span.kind for span in line.at(3000)] == ["run", "sync"]
    empty = introspect.Timeline((), ())
    assert (empty.start, empty.end, empty.events()) == (0, 0, ())


def test_the_scrubber_goes_from_event_to_event_and_draws_what_goes_on():
    scrubber = widgets.timeline_scrubber(timeline())
    assert scrubber.time == 1000
    scrubber.on.click()
    scrubber.on.click()
    assert scrubber.time == 2500
    text = Checker(viz.timeline_page(scrubber.timeline, scrubber.time)).text
    assert "at 1.5 µs: 2 going on" in text and "for <stream>" in text and "1.5 µs" in scrubber.picture
    scrubber.back.click()
    assert scrubber.time == 2000
    scrubber.window.value = (0, 2000)
    for _ in range(3):
        scrubber.on.click()
    low, high = scrubber.window.value
    assert scrubber.time == 9500 and low <= scrubber.at.value <= high and high - low == 2000
    scrubber.on.click()
    assert scrubber.time == 9500
    assert "wait" in scrubber.text()


def test_spans_that_overlap_lie_below_each_other():
    spans = tuple(introspect.Span("host", f"s{i}", "run", i, 10 + i) for i in range(3))
    page = viz.timeline_page(introspect.Timeline(spans, ("host",)))
    assert "--rows:3" in page and all(f"--row:{i}" in page for i in range(3))


def test_an_empty_timeline_and_what_is_none():
    assert "nothing was recorded" in widgets.timeline_scrubber(introspect.Timeline((), ())).picture
    with pytest.raises(TypeError):
        widgets.timeline_scrubber([])


# -- training ----------------------------------------------------------------------------------------------------------


def test_the_monitor_keeps_what_is_recorded(capsys):
    monitor = widgets.TrainingMonitor(total=10)
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    for step in range(10):
        module(torch.ones(1, 2)).sum().backward()
        monitor.record(step, loss=torch.tensor(1.0 / (step + 1)), lr=0.1, grad_norms=module, accuracy=step / 10)
    facts = monitor.facts
    assert [series.name for series in facts.series] == ["loss", "lr", "accuracy"]
    assert facts.series[0].points[-1] == (9, pytest.approx(0.1)) and len(facts.series[0].points) == 10
    assert [series.name for series in facts.norms] == ["0", "1"]
    expected = sum(float(p.grad.square().sum()) for p in module[1].parameters()) ** 0.5
    assert facts.norms[1].points[-1][1] == pytest.approx(expected)
    page = Checker(monitor.page())
    assert "step 10/10 (100%)" in page.text and "gradient norm by module" in page.text
    assert page.tags.count("figure") == 4
    assert ("aria-valuenow", "10") in page.attributes
    assert "step 10/10 (100%)" in capsys.readouterr().out


def test_a_long_training_takes_bounded_memory():
    record = introspect.TrainingRecord()
    for step in range(5000):
        record.record(step, {"loss": step}, {})
    points = record.facts().series[0].points
    assert len(points) <= 600 and points[0] == (0, 0.0) and points[-1] == (4999, 4999.0)
    assert len(viz.monitor_page(record.facts())) < 64 * 1024


def test_numbers_that_are_not_finite_are_counted_and_leave_a_gap():
    record = introspect.TrainingRecord()
    for step, loss in enumerate([1.0, float("nan"), 3.0, float("inf")]):
        record.record(step, {"loss": loss}, {})
    page = viz.monitor_page(record.facts())
    assert "⚠ 2 not finite" in page and page.count('d="M') == 1 and "nan," not in page


@pytest.mark.parametrize(("record", "error"), [
    (lambda monitor: (monitor.record(3), monitor.record(3)), ValueError),
    (lambda monitor: monitor.record(1, loss="much"), ValueError),
    (lambda monitor: monitor.record(1, loss=[1]), TypeError),
    (lambda monitor: monitor.record(1, loss=torch.ones(2)), (RuntimeError, ValueError)),
])
def test_the_monitor_refuses(record, error):
    with pytest.raises(error):
        record(widgets.TrainingMonitor())


def test_progress_passes_items_on_and_counts_them(capsys):
    bar = widgets.progress(range(20), label="batch")
    assert len(bar) == 20 and list(bar) == list(range(20)) and bar.done == 20
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("batch 0/20 (0%)") and lines[-1].startswith("batch 20/20 (100%)") and len(lines) <= 12
    assert ("role", "progressbar") in Checker(bar.page()).attributes
    endless = widgets.progress(iter("abc"))
    assert list(endless) == ["a", "b", "c"] and "unknown" in endless.page()
    with pytest.raises(TypeError):
        len(endless)


@pytest.mark.parametrize(("done", "total", "elapsed", "text"), [
    (3, 12, 20.0, "epoch 3/12 (25%) · 0.15/s · 1:00 left"), (12, 12, 75.0, "epoch 12/12 (100%) · 0.16/s · 1:15 in all"),
    (4000, None, 10.0, "epoch 4,000 · 400/s · 0:10 in all"),
    (3, 3, 0.25, "epoch 3/3 (100%) · 12/s · 250 ms in all"), (0, 12, 0.0, "epoch 0/12 (0%)")])
def test_progress_tells_the_rate_and_the_time_that_is_left(done, total, elapsed, text):
    assert progress_text(done, total, elapsed, "epoch") == text


def test_progress_has_the_length_of_a_loader_that_has_one():
    class Endless(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(int, 1)

    assert widgets.progress(torch.utils.data.DataLoader(range(10), batch_size=3)).total == 4
    assert widgets.progress(torch.utils.data.DataLoader(Endless())).total is None


def test_progress_ends_with_the_state_at_a_break_or_an_error(capsys):
    for i in widgets.progress(range(10), refresh=1000):
        if i == 4:
            break
    assert capsys.readouterr().out.splitlines()[-1].startswith("4/10 (40%)")


def test_the_end_of_a_cell_shows_the_state_that_a_monitor_had_no_time_to_draw(bare, capsys):
    bare.user_ns["monitor"] = monitor = widgets.TrainingMonitor(refresh=1000)
    callbacks = list(bare.events.callbacks["post_run_cell"])
    bare.run_cell("for step in range(5): monitor.record(step, loss=step)")
    assert capsys.readouterr().out.splitlines()[-1].startswith("step 5")
    bare.run_cell("monitor.record(5, loss=5)")
    assert capsys.readouterr().out.splitlines()[-1].startswith("step 6")
    monitor.close()
    bare.run_cell("pass")
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert bare.events.callbacks["post_run_cell"] == callbacks


# -- all ---------------------------------------------------------------------------------------------------------------


def every_widget():
    loss, _ = chain()
    monitor = widgets.TrainingMonitor()
    monitor.record(1, loss=1.0)
    return [
        widgets.stride_explorer(), widgets.broadcast_explorer(), widgets.backward_stepper(loss, named={}),
        widgets.timeline_scrubber(timeline()), monitor, widgets.progress([1]),
    ]


def test_each_gives_a_view_a_still_picture_and_a_text():
    for widget in every_widget():
        bundle = widget._repr_mimebundle_()
        assert set(bundle) == {VIEW, "text/html", "text/plain"} and bundle[VIEW]["model_id"]
        page = Checker(bundle["text/html"], styled=False)  # a still picture has a class of its own
        assert "mindtorch" in bundle["text/html"] and len(page.text) > 5
        assert "script" not in page.tags, "that of the buttons comes with the extension"
        assert bundle["text/plain"].strip() and "<div" not in bundle["text/plain"]


def test_in_a_terminal_each_is_its_text(capsys):
    for widget in every_widget():
        capsys.readouterr()
        widget._ipython_display_()
        assert capsys.readouterr().out.strip() == widget.text()


@settings(max_examples=30, deadline=None)
@given(HOSTILE)
def test_hostile_names_stay_text_in_every_picture(name):
    def pages(name):
        w = torch.ones(2, requires_grad=True)
        steps = run_all((w * w).sum(), named={name: w})
        record = introspect.TrainingRecord()
        record.record(1, {name: 1.0}, {name: 2.0, "x": 1.0})
        spans = (introspect.Span(name, name, "run", 0, 5, name), introspect.Span(name, name, "sync", 0, 5, name))
        return Checker("".join([
            viz.stepper_page(steps.graph, steps.taken, steps.total, name), viz.monitor_page(record.facts()),
            viz.timeline_page(introspect.Timeline(spans, (name,)), 1), viz.progress_page(1, 2, 1.0, name),
        ]), styled=False)

    hostile = pages(name)
    assert set(hostile.tags) <= set(pages("n").tags)
    assert not any(key.startswith("on") for key, _ in hostile.attributes)


def test_ipywidgets_is_imported_when_a_widget_is_made_and_not_before():
    code = (
        "import sys, mindtorch; assert 'mindtorch.widgets' not in sys.modules\n"
        "list(mindtorch.widgets.progress(range(2))); mindtorch.widgets.TrainingMonitor().record(1, loss=1.)\n"
        "assert 'ipywidgets' not in sys.modules\n"
        "mindtorch.widgets.stride_explorer(); assert 'ipywidgets' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_there_is_nothing_else_in_the_package():
    assert set(widgets.__all__) <= set(dir(widgets))
    with pytest.raises(AttributeError):
        widgets.nothing

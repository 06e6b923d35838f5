"""``%%pipeline``: what was recorded, when the queue ran and why, and what failed."""
from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import mindtorch as torch
from mindtorch import introspect, viz

from .test_pictures import Checker


def states(facts):
    return [(recorded.operator, recorded.state, recorded.flush) for recorded in facts.recorded]


def test_operators_are_recorded_in_order_with_what_is_known_of_their_results():
    x = torch.ones(2, 3)
    with introspect.watch_pipeline() as facts:
        y = x.t() @ x
        y.sum(0)
        assert states(facts) == [("mm", "pending", None), ("sum.dim_IntList", "pending", None)]
    assert [recorded.outputs for recorded in facts.recorded] == [("float32[3, 3]",), ("float32[3]",)]
    assert facts.recorded[0].text == "y = x.t() @ x" and facts.recorded[0].file == __file__
    assert states(facts) == [("mm", "run", 0), ("sum.dim_IntList", "run", 0)]


def test_the_end_of_the_block_runs_the_queue():
    with introspect.watch_pipeline() as facts:
        y = torch.ones(3) + 1
    flush = facts.flushes[0]
    assert (flush.reason, flush.ran, flush.error) == ("the block ended", 2, "")
    assert y.tolist() == [2.0, 2.0, 2.0] and len(facts.flushes) == 1


@pytest.mark.parametrize(("look", "reason"), [
    (lambda y: y.sum().item(), "item() reads a value"), (lambda y: y.tolist(), "tolist() reads the values"),
    (lambda y: bool(y.sum()), "a truth value was asked for"), (lambda y: y.numpy(), "numpy() shares the values"),
    (lambda y: repr(y), "a tensor was printed"), (lambda y: float(y.sum()), "a number was asked for"),
    (lambda y: np.asarray(y), "NumPy asked for the values"),
    (lambda y: y.nonzero(), "the shape of aten::nonzero depends on values"),
    (lambda y: y.to("npu").to("cpu"), "to() moves the values"),
])
def test_a_look_at_the_data_runs_the_queue_and_is_named(look, reason):
    with introspect.watch_pipeline() as facts:
        y = torch.ones(3) * 2
        look(y)
    flush = facts.flushes[0]
    assert flush.reason == reason and flush.file == __file__ and flush.line > 0


def test_a_flush_by_hand_and_backward_are_named():
    w = torch.ones(3, requires_grad=True)
    with introspect.watch_pipeline() as facts:
        loss = (w * 2).sum()
        loss.backward()
    assert facts.flushes[0].reason == "backward() was called"
    assert w.grad.tolist() == [2.0, 2.0, 2.0]


def test_an_operator_whose_shape_depends_on_values_runs_at_once():
    with introspect.watch_pipeline() as facts:
        y = torch.ones(3)
        y.nonzero()
        y + 1
    assert states(facts) == [("ones", "run", 0), ("nonzero", "at once", None), ("add.Tensor", "run", 1)]


def test_a_failure_tells_what_ran_what_failed_and_what_was_given_up():
    with pytest.raises(RuntimeError, match="index 7 is out of bounds"), introspect.watch_pipeline() as facts:
        x = torch.arange(5.0)
        y = x * 2
        z = y[torch.tensor([7])]
        z + 1
    assert states(facts) == [
        ("arange.start_step", "run", 0), ("mul.Tensor", "run", 0), ("index.Tensor", "failed", 0),
        ("add.Tensor", "given up", 0),
    ]
    assert facts.flushes[0].ran == 2 and "index 7 is out of bounds" in facts.flushes[0].error


def test_a_block_that_is_left_gives_its_queue_up():
    with pytest.raises(ZeroDivisionError), introspect.watch_pipeline() as facts:
        torch.ones(3) + 1
        1 / 0
    assert [state for _, state, _ in states(facts)] == ["given up", "given up"] and facts.flushes == []


def test_results_are_those_of_an_ordinary_pipeline():
    x = torch.arange(6.0).view(2, 3)
    with introspect.watch_pipeline():
        y = (x * 2).t()
        y.add_(1)
        z = y @ x
    assert torch.equal(z, (x * 2 + 1).t() @ x)


def test_the_picture_shows_operators_flushes_and_the_failure():
    with pytest.raises(RuntimeError), introspect.watch_pipeline() as facts:
        x = torch.arange(5.0)
        x.sum().item()
        x[torch.tensor([9])]
    page = Checker(viz.pipeline_page(facts))
    text = viz.pipeline_text(facts)
    for part in ("3 operators recorded, the queue ran 2 times", "float32[5]", "item() reads a value",
                 "index 9 is out of bounds", "✗", "x.sum().item()"):
        assert part in page.text and part in text
    assert "failed" in page.text


def test_the_picture_of_nothing_says_that():
    with introspect.watch_pipeline() as facts:
        pass
    assert "no operator was recorded" in viz.pipeline_page(facts)
    assert "0 operators recorded" in viz.pipeline_text(facts)


def test_hostile_text_stays_text():
    name = "<img src=x onerror=alert(1)>"
    recorded = introspect.Recorded(0, name, (name,), name, 3, name, "run", 0)
    facts = introspect.PipelineFacts([recorded], [introspect.Flush(0, name, name, 3, 1, 5, name)])
    html = viz.pipeline_page(facts)
    assert "img" not in Checker(html).tags and html.count("&lt;img") >= 5


def test_what_was_written_down_keeps_no_tensor_alive():
    gc.collect()
    gc.disable()
    try:
        with introspect.watch_pipeline() as facts:
            y = torch.ones(3) + 1
        storage = weakref.ref(y.untyped_storage())
        del y
        assert storage() is None and len(facts.recorded) == 2
    finally:
        gc.enable()

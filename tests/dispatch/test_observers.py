"""Observers see every operator: key set, kernel with file and line, metadata, time; and cost nothing when absent."""
from __future__ import annotations

import linecache
import threading

import pytest

import mindtorch as torch
from mindtorch._dispatch import dispatcher, observers
from mindtorch._dispatch.keys import CPU
from mindtorch._dispatch.local import local
from mindtorch._dispatch.observers import TensorMeta, subscribed_values
from mindtorch._dispatch.sites import kernel_site


def test_the_record_of_a_small_network_names_operators_keys_kernels_and_places():
    a, b, c = torch.ones(2, 3), torch.ones(3, 4, requires_grad=True), torch.ones(4)
    with torch.observe() as trace:
        (a.mm(b) + c).relu().sum().backward()
    forward = [e for e in trace if e.op in ("mm", "add.Tensor", "relu", "sum")][:4]
    assert [e.op for e in forward] == ["mm", "add.Tensor", "relu", "sum"]
    assert all(e.path == ("Autograd", "CPU") for e in forward)
    backward = trace.events[trace.events.index(forward[-1]) + 1:]
    assert any(e.op == "threshold_backward" and "Autograd" not in e.path for e in backward)
    for event in trace:
        assert event.line > 0 and linecache.getline(event.file, event.line).strip(), event
        assert (event.duration > 0 or event.part) and event.thread == threading.get_ident()
        assert event.site[0] == __file__
    meta = forward[0].outputs[0]
    assert isinstance(meta, TensorMeta)
    assert (meta.shape, meta.dtype, meta.stride, meta.device) == ((2, 4), "float32", (4, 1), "cpu")


def test_operators_inside_composites_are_nested():
    x = torch.ones(2, 3).t()
    with torch.observe() as trace:
        x.reshape(6)
    outer, *inner = trace.events
    assert outer.op == "reshape" and outer.composite and outer.depth == 0
    assert [e.op for e in inner] == ["clone", "_unsafe_view"] and all(e.depth == 1 for e in inner)


def test_an_interrupted_call_leaves_no_depth_to_the_next_trace(monkeypatch):
    def interrupted(*args, **settings):
        raise KeyboardInterrupt

    x = torch.ones(2, 3)
    with monkeypatch.context() as patched, torch.observe(), pytest.raises(KeyboardInterrupt):
        patched.setattr(observers, "tell_parts", interrupted)
        torch.nn.functional.cosine_similarity(x, x)
    assert local.depth == 0
    local.depth = 3  # as an interrupt between two lines leaves it
    with torch.observe() as trace:
        x + 1
    assert [event.depth for event in trace.events] == [0]


def test_a_failed_call_is_recorded_with_its_error():
    with torch.observe() as trace, pytest.raises(RuntimeError):
        torch.ones(2) + torch.ones(3)
    assert trace.events[-1].op == "add.Tensor"
    assert trace.events[-1].error.startswith("RuntimeError: The size of tensor a (2)")


def test_several_observers_see_the_same_and_unsubscribing_restores_the_hot_path():
    seen: list[list[str]] = [[], []]
    ends = [torch.subscribe(lambda event, s=s: s.append(event.op)) for s in seen]
    assert dispatcher.mode
    torch.ones(2) + 1
    ends[0]()
    torch.ones(2) * 2
    ends[1]()
    assert seen[0][-1] == "add.Tensor" and seen[1][-1] == "mul.Tensor"
    assert dispatcher.mode == 0
    before = len(seen[1])
    torch.ones(2) * 2
    assert len(seen[1]) == before


def test_who_is_shown_values_is_shown_them_until_the_end_of_its_own_block():
    seen = {"outer": [], "inner": []}

    def watch(name):
        return subscribed_values(
            lambda event, args, result: event.op == "ones" or seen[name].append(
                (event.op, args[0].tolist(), result.tolist())))

    with watch("outer"):
        with watch("inner"):
            torch.ones(2).neg()
        torch.ones(2).mul(3)
        assert dispatcher.mode
    torch.ones(2).exp()
    assert dispatcher.mode == 0
    shown = [("neg", [1, 1], [-1, -1]), ("mul.Tensor", [1, 1], [3, 3])]
    assert seen == {"outer": shown, "inner": shown[:1]}


def test_an_observer_of_one_thread_does_not_see_another():
    with torch.observe() as trace:
        other = threading.Thread(target=lambda: torch.ones(2) * 2)
        other.start()
        other.join()
    assert "mul.Tensor" not in [e.op for e in trace]


def test_a_trace_reads_as_text():
    with torch.observe() as trace:
        torch.ones(2).relu()
    assert "relu" in str(trace) and "float32[2]" in str(trace)


def test_operators_under_no_grad_do_not_show_the_autograd_key():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad(), torch.observe() as trace:
        x * 2
    assert trace.events[0].path == ("CPU",)


def test_every_kernel_of_the_cpu_stands_in_a_line_of_a_file():
    for op in torch.registry.operators.values():
        kernel = op.kernel(CPU)
        if kernel is not None:
            file, line = kernel_site(kernel, (op.functional or op).name)
            assert line and file.endswith(".py"), op

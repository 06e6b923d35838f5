"""Looking at a tensor waits for nothing, changes nothing and keeps nothing alive, whatever state the tensor is in."""
from __future__ import annotations

import gc
import random
import sys
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

import mindtorch as torch
from mindtorch import introspect, nn, viz
from mindtorch._backends.npu import runtime
from mindtorch._storage import UntypedStorage
from mindtorch.introspect.known import known_storage

from .test_harmless import state
from .test_pictures import DTYPES


def views(device=None):
    base = torch.ones(4, 6, device=device) + 1
    return [base, base[1:], base.t(), base[::2, ::3], base.view(-1), base.exp()]


def with_hooks():
    leaf = torch.ones(2, requires_grad=True)
    out = leaf * 2
    out.retain_grad()
    for tensor in (leaf, out):
        tensor.register_hook(lambda grad: grad)
    out.sum().backward()
    return [leaf, out, leaf.grad, leaf.detach()]


def in_inference_mode():
    with torch.inference_mode():
        return [torch.ones(2)]


def on_npu():
    found, large = torch.ones(3, 4, device="npu"), torch.zeros(600, 600, device="npu")
    torch.npu.synchronize()
    return [found, found.t(), large]


def failed_in_a_pipeline():
    try:
        with torch.pipeline():
            late = torch.arange(3).index_select(0, torch.tensor([0, 5]) + 0)
            found = [late, late + 1, late[:1]]
    except RuntimeError:
        return found
    raise AssertionError("the pipeline did not fail")


def failed_on_a_stream():
    torch.npu.simulator.faults.fail("aclnnExp")
    found = torch.ones(3, device="npu").exp()
    with pytest.raises(RuntimeError, match="aclnnExp"):
        torch.npu.synchronize()
    return [found, found[1:]]


#: Tensors in every state that a card tells apart, made inside ``situation``; all of what they list is looked at.
SITUATIONS = {
    "no dimension": lambda: [torch.tensor(2.0)],
    "random": lambda: [torch.randn(3, 4), torch.rand(200_000)],
    "every dtype": lambda: [torch.ones(2, 3).to(getattr(torch, dtype)) for dtype in DTYPES],
    "empty": lambda: [torch.zeros(0), torch.zeros(3, 0), torch.ones(4, 4)[:, 4:]],
    "not finite": lambda: [torch.tensor([float("nan"), float("inf"), 1.0])],
    "views": views,
    "expanded": lambda: [torch.ones(3, 1).expand(3, 4), torch.arange(10.0).unfold(0, 4, 2)],
    "meta": lambda: views("meta"),
    "parameter": lambda: [nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2), requires_grad=False)],
    "graph": with_hooks,
    "written": lambda: [torch.ones(3).add_(1), torch.ones(3)[1:].mul_(2)],
    "inference": in_inference_mode,
    "from numpy": lambda: [torch.from_numpy(np.arange(6.0).reshape(2, 3))],
    "pending in a pipeline": lambda: [*views(), torch.ones(3).add_(1)],
    "ready on an NPU": on_npu,
    "pending on a stream": lambda: [*views("npu"), torch.ones(3, device="npu").add_(1)],
    "failed in a pipeline": failed_in_a_pipeline,
    "failed on a stream": failed_on_a_stream,
    "on a lost device": on_npu,
}

SAID = {  # by every card of a situation
    "pending in a pipeline": "pending", "pending on a stream": "pending", "failed in a pipeline": "⚠ invalid",
    "failed on a stream": "⚠ invalid", "on a lost device": "⚠ the values cannot be read", "meta": "no values",
}


@contextmanager
def situation(name):
    """The tensors of a situation, as long as it lasts."""
    simulator = torch.npu.simulator
    try:
        if name == "pending in a pipeline":
            with torch.pipeline():
                yield SITUATIONS[name]()
        elif name == "pending on a stream":
            torch.npu.synchronize()
            with simulator.paused():
                yield SITUATIONS[name]()
        else:
            found = SITUATIONS[name]()
            if name == "on a lost device":
                simulator.faults.lose_device(0)
            yield found
    finally:
        simulator.faults.clear()
        torch.npu.synchronize()


def look(tensor):
    """Draw a tensor in all ways: a card, a line, its storage, the table of all tensors."""
    names = {id(tensor): "t"}
    sharing, rows = introspect.storage_facts(tensor, names), introspect.tensors_facts({"t": tensor})
    return [
        viz.tensor_card(tensor, names), viz.tensor_line(introspect.tensor_facts(tensor, names)),
        viz.storage_page(sharing), viz.storage_text(sharing), viz.tensors_page(rows), viz.tensors_text(rows),
    ]


def sharers(tensor):
    """Who sees a tensor's storage."""
    storage = known_storage(tensor)
    return None if storage is None else list(map(id, storage.aliases()))


def world():
    """What drawing must leave as it is, besides the tensor."""
    queue = runtime.get_runtime(0).queue
    return [
        torch.default_generator._get_state_array().tobytes(), random.getstate(), repr(np.random.get_state()),
        torch.is_grad_enabled(), torch.is_inference_mode_enabled(),
        queue.enqueued, queue.pending(), torch.npu.memory_allocated(), torch.npu.memory_reserved(),
    ]


@pytest.mark.parametrize("name", SITUATIONS)
def test_drawing_waits_for_nothing_and_changes_nothing_whatever_state_a_tensor_is_in(name, monkeypatch):
    torch.npu.synchronize()

    def never(*args, **kwargs):
        raise AssertionError("drawing waits, or makes a storage")

    with situation(name) as tensors:
        gc.collect()  # errors hold tensors in cycles, which the collector might free meanwhile
        before, around = list(map(state, tensors)), world()
        counts, shared = list(map(sys.getrefcount, tensors)), list(map(sharers, tensors))
        with monkeypatch.context() as patch, torch.observe() as trace:
            for call in [call for call in vars(runtime.acl.rt) if call.startswith("synchronize")]:
                patch.setattr(runtime.acl.rt, call, never)
            patch.setattr(UntypedStorage, "__init__", never)
            cards = [look(tensor)[0] for tensor in tensors]
        assert all(SAID.get(name, "") in card for card in cards)
        assert list(map(state, tensors)) == before and world() == around and trace.events == []
        assert list(map(sys.getrefcount, tensors)) == counts and list(map(sharers, tensors)) == shared


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_drawn_tensor_and_its_storage_are_gone_with_the_last_reference_to_it_in_every_state(name):
    with situation(name) as tensors:
        shown = [look(tensor) for tensor in tensors]
        living = [weakref.ref(tensor) for tensor in tensors]
        living += [weakref.ref(storage) for storage in map(known_storage, tensors) if storage is not None]
    gc.collect()
    gc.disable()
    try:
        del tensors
        assert [ref() for ref in living if ref() is not None] == [] and shown
    finally:
        gc.enable()


def test_the_card_of_a_tensor_on_a_lost_device_says_why_there_are_no_values():
    with situation("on a lost device") as tensors:
        card, line = viz.tensor_card(tensors[0]), viz.tensor_line(introspect.tensor_facts(tensors[0]))
        assert "⚠ the values cannot be read: aclrtMemcpy failed on npu:0" in card and "device 0 was lost" in card
        assert line == "float32[3, 4] on npu:0 ⚠ not readable · 12 elements, 48 B"
    assert "all 1" in viz.tensor_card(tensors[0])

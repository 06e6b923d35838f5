"""Every picture is harmless: hostile names stay text, nothing waits or changes, and no memory is kept alive."""
from __future__ import annotations

import gc
import random
import sys
import weakref
from contextlib import contextmanager
from html import escape

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch as torch
from mindtorch import introspect, nn, viz
from mindtorch._backends.npu import runtime
from mindtorch._storage import UntypedStorage
from mindtorch.introspect.identity import known_storage

from .test_pictures import DTYPES, Checker

FRAGMENTS = [
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onmouseover='x", "</style><b>", "</title>",
    "</svg>", "&lt;", "]]>", "\x00\x1b[31m", "\u202e", "\ud800", "{{7*7}}", "<!--", "<td onclick=x>",
    "javascript:alert(1)",
]  # fmt: skip
HOSTILE = st.text(min_size=1, max_size=30) | st.sampled_from(FRAGMENTS)
ALLOWED = {
    "style", "div", "span", "b", "i", "table", "caption", "thead", "tbody", "tr", "td", "th", "dl", "dt", "dd",
    "details", "summary", "svg", "defs", "marker", "path", "g", "rect", "line", "text", "title",
}  # fmt: skip
RENDERERS = ("card", "storage", "tensors", "graph", "deep graph", "dispatch", "module", "pending", "failed")


class Held(introspect.Source):
    """A source whose tensors wait for a stream; nothing about it is to be asked but this."""

    def __init__(self, pending, values=None):
        self.answer, self.array = pending, values

    def pending(self, tensor):
        return self.answer

    def values(self, tensor):
        return self.array


@pytest.fixture
def stream(monkeypatch):
    """Has CPU tensors looked at through a source, as those of a device are."""

    def use(pending, values=None):
        monkeypatch.setitem(introspect.sources, "cpu", Held(pending, values))

    return use


def pictures(name):
    """Everything that is drawn of a world in which all is called ``name``; by renderer."""
    leaf = torch.ones(2, requires_grad=True)
    loss = (leaf * 2).sum()
    names = {id(leaf): name, id(loss): name}
    deep = leaf
    for _ in range(60):
        deep = (deep * leaf).exp()
    kind = "".join(c for c in name if c not in "\0" and c.isprintable()) or "x"

    def say(self):
        return name

    module = type(kind, (nn.Module,), {"extra_repr": say})()
    module._modules[name] = nn.Linear(2, 2)
    module._modules["again"] = module._modules[name]
    module._parameters[name] = nn.Parameter(torch.ones(2))
    module._buffers[f"{name}'"] = module._parameters[name].data
    with torch.observe() as trace:
        leaf * 2
    facts = introspect.tensor_facts(leaf, names)
    waits = introspect.Pending(name, name, 3, (name,), None, name)
    fails = introspect.Pending(name, name, 3, (name,), name, name)
    return {
        "card": viz.tensor_card(leaf, names),
        "storage": viz.storage_page(introspect.storage_facts(leaf, names)),
        "tensors": viz.tensors_page([facts]),
        "graph": viz.graph_page(introspect.graph_facts(loss, {name: leaf, f"{name}'": loss})),
        "deep graph": viz.graph_page(introspect.graph_facts(deep, {name: leaf, f"{name}'": deep})),
        "dispatch": viz.dispatch_page(trace.events),
        "module": viz.module_page(introspect.module_facts(module, name)),
        "pending": waiting_card(leaf, waits),
        "failed": waiting_card(leaf, fails),
    }


def waiting_card(tensor, pending):
    introspect.sources["cpu"] = Held(pending)
    try:
        return viz.tensor_card(tensor)
    finally:
        del introspect.sources["cpu"]


@settings(max_examples=40, deadline=None)
@given(HOSTILE)
def test_hostile_names_stay_text_in_every_picture(name):
    for renderer, html in pictures(name).items():
        page = Checker(html)
        assert set(page.tags) <= ALLOWED, renderer
        assert not any(key.startswith("on") or key in ("href", "src", "srcdoc") for key, _ in page.attributes), renderer
        assert name not in [value for key, value in page.attributes if key in ("style", "class", "id", "d")], renderer


@pytest.mark.parametrize("name", [f for f in FRAGMENTS if f.isprintable() and escape(f) != f])
def test_hostile_names_are_shown_as_they_are(name):
    drawn = pictures(name)
    for renderer in ("card", "storage", "tensors", "graph", "deep graph", "module", "pending", "failed"):
        assert escape(name) in drawn[renderer], renderer


def test_a_cell_of_a_table_is_not_made_by_text():
    from mindtorch.viz.html import row

    assert row("<td onclick=x>") == "<tr><td>&lt;td onclick=x&gt;</td></tr>"


def test_a_module_that_cannot_describe_itself_is_drawn_nevertheless():
    class Broken(nn.Linear):
        def extra_repr(self):
            raise ValueError("no")

    assert "extra_repr raised ValueError" in viz.module_page(introspect.module_facts(nn.Sequential(Broken(2, 2))))


# -- never waits, never changes anything ---------------------------------------------------------------------------


#: All that a tensor is, but for its shape and strides, which are worked out when somebody asks.
PARTS = [
    "_array", "_dtype", "_keys", "_device", "_offset", "_storage", "_cell", "_grad_fn", "_output_nr", "_grad",
    "_accumulator", "_base", "_creation", "_attr_version", "_hooks", "_retains_grad", "_pending",
]  # fmt: skip


def state(tensor):
    """Which objects a tensor consists of, its version, and its bytes."""
    array = tensor._array
    version = None if tensor._cell is None else tensor._cell[0]
    return {part: id(getattr(tensor, part)) for part in PARTS}, version, None if array is None else array.tobytes()


@pytest.mark.parametrize("make", [
    lambda: torch.ones(3) + 1, lambda: torch.ones(3, 4)[1:].t(), lambda: torch.ones(2, requires_grad=True) * 2,
    lambda: torch.ones(2, device="meta"), lambda: torch.ones(3, 1).expand(3, 4), lambda: nn.Parameter(torch.ones(2)),
])  # fmt: skip
def test_drawing_leaves_a_tensor_as_it_is(make):
    tensor = make()
    before, count = state(tensor), sys.getrefcount(tensor)
    assert viz.tensor_card(tensor, {id(tensor): "t"})
    assert state(tensor) == before and sys.getrefcount(tensor) == count


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
}  # fmt: skip

SAID = {  # by every card of a situation
    "pending in a pipeline": "pending", "pending on a stream": "pending", "failed in a pipeline": "⚠ invalid",
    "failed on a stream": "⚠ invalid", "on a lost device": "⚠ the values cannot be read", "meta": "no values",
}  # fmt: skip


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
    ]  # fmt: skip


@pytest.mark.parametrize("name", SITUATIONS)
def test_drawing_waits_for_nothing_and_changes_nothing_whatever_state_a_tensor_is_in(name, monkeypatch):
    torch.npu.synchronize()

    def never(*args, **kwargs):
        raise AssertionError("drawing waits, or makes a storage")

    with situation(name) as tensors:
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


def test_the_table_of_tensors_looks_at_no_elements(stream, monkeypatch):
    stream(None)
    monkeypatch.setattr(Held, "sample", lambda self, tensor: pytest.fail("looked at"))
    assert [row.statistics for row in introspect.tensors_facts({"t": torch.ones(2)})] == [None]


def test_the_card_of_a_failed_tensor_is_small_however_long_the_reason(stream):
    stream(introspect.Pending("relu", "", 0, ("add",) * 100_000, "<" * 100_000))
    assert len(viz.tensor_card(torch.ones(2)).encode()) < 64 * 1024
    stream(introspect.Pending("relu", "", 0, ("add", "mul") * 50_000))
    assert "waits for 100,001 operators" in viz.tensor_card(torch.ones(2))


def test_a_view_written_through_its_base_shows_the_node_that_it_will_get_and_gets_none():
    weight = torch.ones(2, requires_grad=True)
    base = torch.zeros(4)
    view = base[:2]
    base[1:3].mul_(weight)
    before = state(view)
    facts = introspect.tensor_facts(view)
    assert facts.history[:2] == ("AsStridedBackward0", "torch::autograd::CopySlices") and not facts.is_leaf
    assert state(view) == before
    assert view.grad_fn.name() == "AsStridedBackward0"


def test_drawing_flushes_no_pipeline():
    with torch.pipeline() as p:
        old = torch.ones(3)
        new = (old + 1).view(3, 1)
        old.add_(1)
        queue = list(p.pending)
        for tensor in (old, new, new[1:]):
            before = state(tensor)
            assert "waits for" in viz.tensor_card(tensor) and state(tensor) == before
        assert p.pending == queue and len(queue) == 3 and p.flushed == 0
    assert old.tolist() == [2.0] * 3


def test_a_tensor_on_a_stream_shows_what_it_waits_for(stream):
    tensor = torch.ones(2, 3)
    stream(introspect.Pending("relu", "", 0, ("add.Tensor", "mul.Tensor"), None, "on npu:0 stream 3"))
    said = Checker(viz.tensor_card(tensor)).text
    queue = "add.Tensor › mul.Tensor › relu"
    assert "pending" in said and f"waits for 3 operators on npu:0 stream 3: {queue}" in said
    assert introspect.values_without_waiting(tensor) is None
    assert introspect.tensor_facts(tensor).statistics is None


def test_a_tensor_on_a_stream_whose_operator_failed_is_invalid(stream):
    stream(introspect.Pending("relu", "", 0, (), "error 507011 of the device", "on npu:0 stream 3"))
    said = Checker(viz.tensor_card(torch.ones(2))).text
    assert "⚠ invalid" in said and "never have values: error 507011 of the device" in said


def test_values_that_are_ready_on_a_device_are_shown(stream):
    stream(None, np.array([[5.0, -7.0]], np.float32))
    tensor = torch.ones(1, 2)
    said = Checker(viz.tensor_card(tensor)).text
    assert "from -7 to 5" in said and "pending" not in said
    assert [cell.value for cell in introspect.cells(tensor, [(0, 0), (0, 1)])] == [5.0, -7.0]


def test_values_that_the_host_may_not_see_are_said_to_be_elsewhere(stream):
    stream(None)
    assert "the values are on cpu, and not on the host" in viz.tensor_card(torch.ones(2))


# -- keeps nothing alive -------------------------------------------------------------------------------------------


def drawn(renderer, tensor):
    names = {id(tensor): "t"}
    if renderer == "dispatch":
        with torch.observe() as trace:
            tensor + 1
        return viz.dispatch_page(trace.events), viz.dispatch_text(trace.events)
    if renderer == "storage":
        facts = introspect.storage_facts(tensor, names)
        return facts, viz.storage_page(facts), viz.storage_text(facts)
    if renderer == "tensors":
        rows = introspect.tensors_facts({"t": tensor})
        return rows, viz.tensors_page(rows), viz.tensors_text(rows)
    if renderer == "module":
        model = nn.Linear(2, 2)
        model.weight = tensor
        facts = introspect.module_facts(model, "model")
        return facts, viz.module_page(facts), viz.module_text(facts)
    if renderer in ("graph", "deep graph"):
        y = tensor * 2
        for _ in range(60 if renderer == "deep graph" else 1):
            y = (y * tensor).exp()
        facts = introspect.graph_facts(y.sum(), {"t": tensor})
        return facts, viz.graph_page(facts), viz.graph_text(facts)
    if renderer == "pending":
        with torch.pipeline():
            return viz.tensor_card(tensor + 1), viz.tensor_card(tensor)
    facts = introspect.tensor_facts(tensor, names)
    return facts, viz.tensor_card(tensor, names), viz.tensor_line(facts)


@pytest.mark.parametrize("renderer", [name for name in RENDERERS if name != "failed"])
def test_what_was_drawn_keeps_no_storage_alive(renderer):
    tensor = nn.Parameter(torch.ones(2, 2))
    storage = weakref.ref(tensor.untyped_storage())
    shown = drawn(renderer, tensor)
    gc.collect()  # a module refers to itself
    del tensor
    gc.disable()
    try:
        assert storage() is None and shown
    finally:
        gc.enable()

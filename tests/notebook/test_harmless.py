"""Every picture is harmless: hostile names stay text, nothing waits or changes, and no memory is kept alive."""
from __future__ import annotations

import gc
import sys
import weakref
from html import escape

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mindtorch as torch
from mindtorch import introspect, nn, viz

from .test_pictures import Checker

FRAGMENTS = [
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onmouseover='x", "</style><b>", "</title>",
    "</svg>", "&lt;", "]]>", "\x00\x1b[31m", "\u202e", "\ud800", "{{7*7}}", "<!--", "<td onclick=x>",
    "javascript:alert(1)",
]
HOSTILE = st.text(min_size=1, max_size=30) | st.sampled_from(FRAGMENTS)
ALLOWED = {
    "style", "div", "span", "b", "i", "table", "caption", "thead", "tbody", "tr", "td", "th", "dl", "dt", "dd",
    "code", "details", "summary", "svg", "defs", "marker", "path", "polygon", "g", "rect", "line", "text", "title",
    "wbr",
}
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
        page = Checker(html, styled=False)
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


#: All that a tensor is, but for its shape and strides, which are worked out when they are asked for.
PARTS = [
    "_array", "_dtype", "_keys", "_device", "_offset", "_storage", "_version_counter", "_grad_fn", "_output_nr",
    "_grad", "_accumulator", "_base", "_creation_meta", "_attr_version", "_hooks", "_retains_grad", "_pending",
]


def state(tensor):
    """Which objects a tensor consists of, its version, and its bytes."""
    array = tensor._array
    version = None if tensor._version_counter is None else tensor._version_counter[0]
    return {part: id(getattr(tensor, part)) for part in PARTS}, version, None if array is None else array.tobytes()


@pytest.mark.parametrize("make", [
    lambda: torch.ones(3) + 1, lambda: torch.ones(3, 4)[1:].t(), lambda: torch.ones(2, requires_grad=True) * 2,
    lambda: torch.ones(2, device="meta"), lambda: torch.ones(3, 1).expand(3, 4), lambda: nn.Parameter(torch.ones(2)),
])
def test_drawing_leaves_a_tensor_as_it_is(make):
    tensor = make()
    before, count = state(tensor), sys.getrefcount(tensor)
    assert viz.tensor_card(tensor, {id(tensor): "t"})
    assert state(tensor) == before and sys.getrefcount(tensor) == count


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

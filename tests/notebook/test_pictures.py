"""Pictures: complete, small, quick to make, and with everything escaped."""
from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch as torch
from mindtorch import introspect, viz
from mindtorch.viz.grid import number_format
from mindtorch.viz.layered import layout
from mindtorch.viz.palette import storage_letter

VOID = {"br", "hr", "img", "input", "meta", "link"}


class Checker(HTMLParser):
    """Collects tags and text, and insists that every element is closed."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text += data


TENSORS = {
    "0-d": lambda: torch.tensor(3.5),
    "1-d": lambda: torch.arange(5),
    "2-d": lambda: torch.arange(6.0).view(2, 3),
    "3-d": lambda: torch.arange(60.0).view(3, 4, 5),
    "5-d": lambda: torch.zeros(2, 3, 2, 3, 2),
    "empty": lambda: torch.zeros(0, 3),
    "bool": lambda: torch.tensor([True, False]),
    "complex": lambda: torch.tensor([1 + 2j, 0j]),
    "bfloat16": lambda: torch.ones(3, dtype=torch.bfloat16),
    "float16": lambda: torch.ones(3, dtype=torch.float16),
    "uint8": lambda: torch.ones(3, dtype=torch.uint8),
    "nan and inf": lambda: torch.tensor([float("nan"), float("inf"), -float("inf"), 1.0]),
    "huge values": lambda: torch.tensor([1e38, -1e-38]),
    "transposed": lambda: torch.arange(6.0).view(2, 3).t(),
    "expanded": lambda: torch.ones(3, 1).expand(3, 4),
    "overlapping": lambda: torch.arange(5.0).as_strided((3, 3), (1, 1)),
    "part of a storage": lambda: torch.arange(100.0)[10:20:3],
    "meta": lambda: torch.ones(2, 3, device="meta"),
    "leaf": lambda: torch.ones(2, requires_grad=True),
    "with history": lambda: torch.ones(2, requires_grad=True) * 2,
    "10 million elements": lambda: torch.zeros(10_000_000),
    "10 million elements, 2-d": lambda: torch.zeros(1000, 10_000),
    "20-d": lambda: torch.zeros((2,) * 20),
    "wide": lambda: torch.zeros(3, 100_000)[:, ::7],
}


@pytest.mark.parametrize("name", TENSORS)
def test_every_tensor_has_a_card_below_64_kib(name):
    tensor = TENSORS[name]()
    card = viz.tensor_card(tensor, {id(tensor): "t"})
    assert len(card.encode()) < 64 * 1024
    page = Checker(card)
    facts = introspect.tensor_facts(tensor)
    for said in (f"{facts.dtype}[{', '.join(map(str, facts.shape))}]", facts.device, "storage", "stride"):
        assert said in page.text


def test_cards_of_tensors_without_values_say_what_they_wait_for():
    with torch.pipeline():
        first = torch.ones(3) + 1
        second = first * 2
        text = Checker(viz.tensor_card(second)).text
        assert "pending" in text and "aten::mul.Tensor" in text and "2 operators before it" in text
    assert "no values" in Checker(viz.tensor_card(torch.ones(2, device="meta"))).text


def test_cells_carry_index_position_address_and_value():
    t = torch.arange(6.0).view(2, 3).t()
    titles = [value for key, value in Checker(viz.tensor_card(t)).attributes if key == "title"]
    assert f"[2, 1]  storage position 5  address {t.data_ptr() + 20:#x}  value 5.0" in titles


def test_sharers_are_named_and_the_storage_keeps_its_letter():
    base = torch.zeros(6)
    view = base.view(2, 3)
    names = {id(base): "base", id(view): "shape_of_it"}
    cards = [Checker(viz.tensor_card(t, names)).text for t in (base, view)]
    assert all("base" in c and "shape_of_it" in c for c in cards)
    letters = {c[c.index("storage "):].split()[1][0] for c in cards}
    assert len(letters) == 1


@pytest.mark.parametrize(("values", "written"), [
    ([0.0, 1.0, -12.0], ["0.", "1.", "-12."]),
    ([0.5, -1.25, 0.0], ["0.5000", "-1.2500", "0.0000"]),
    ([123.5, 0.25], ["123.50", "0.25"]),
    ([1.5, 1e-7], ["1.5000", "1e-07"]),
    ([1e30, 1.0], ["1e+30", "1"]),
    ([float("nan"), 0.5], ["nan", "0.5000"]),
    ([2**63 - 1, 0], ["9223372036854775807", "0"]),
    ([True, False], ["True", "False"]),
    ([1 + 2.5j], ["1+2.5j"]),
])
def test_the_numbers_of_a_grid_are_written_alike(values, written):
    assert list(map(number_format(values), values)) == written


@pytest.mark.parametrize(("number", "letter"), [(0, "A"), (25, "Z"), (26, "AA"), (701, "ZZ"), (702, "AAA")])
def test_storages_have_letters(number, letter):
    assert storage_letter(number) == letter


HOSTILE = st.text(min_size=1, max_size=30) | st.sampled_from([
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onmouseover='x", "</style><b>",
    "</title>", "&lt;", "]]>", "\x00\x1b[31m", "\u202e", "{{7*7}}", "<!--",
])  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(HOSTILE)
def test_hostile_names_stay_text_in_every_picture(name):
    leaf = torch.ones(2, requires_grad=True)
    loss = (leaf * 2).sum()
    names = {id(leaf): name, id(loss): name}
    with torch.observe() as trace:
        leaf * 2
    plain_tags = set(Checker(_pictures(leaf, loss, {id(leaf): "n", id(loss): "n"}, {"n": leaf}, trace)).tags)
    page = Checker(_pictures(leaf, loss, names, {name: leaf}, trace))
    assert set(page.tags) <= plain_tags
    assert not any(key.startswith("on") for key, _ in page.attributes)


def _pictures(leaf, loss, names, namespace, trace):
    return "".join([
        viz.tensor_card(leaf, names), viz.storage_page(introspect.storage_facts(leaf, names)),
        viz.tensors_page([introspect.tensor_facts(leaf, names)]),
        viz.graph_page(introspect.graph_facts(loss, {names[id(leaf)]: leaf, names[id(loss)] + "'": loss})),
        viz.dispatch_page(trace.events),
    ])  # fmt: skip


def test_graphs_are_drawn_without_overlap_and_every_edge_goes_down():
    w = [torch.ones(3, requires_grad=True) for _ in range(4)]
    x = w[0]
    for i in range(12):
        x = (x * w[i % 4]).relu() + w[(i + 1) % 4]
    facts = introspect.graph_facts(x.sum(), {f"w{i}": t for i, t in enumerate(w)})
    svg = viz.graph_svg(facts)
    assert len(svg) < 300 * 1024 and svg.count("<rect") == len(facts.nodes)
    sizes = {n.identity: (100.0, 30.0) for n in facts.nodes}
    edges = [(n.identity, e[0]) for n in facts.nodes for e in n.edges if e is not None]
    placed = layout(sizes, edges)
    boxes = list(placed.boxes.values())
    for i, a in enumerate(boxes):
        for b in boxes[i + 1:]:
            assert abs(a.x - b.x) >= 100 or abs(a.y - b.y) >= 30
    assert all(placed.boxes[tail].y < placed.boxes[head].y for tail, head in edges)


def test_text_versions_say_the_same():
    base = torch.zeros(4)
    view = base.view(2, 2)
    names = {id(base): "base", id(view): "view"}
    assert "base" in viz.storage_text(introspect.storage_facts(view, names))
    assert "float32[2, 2]" in viz.tensors_text(introspect.tensors_facts({"base": base, "view": view}))
    w = torch.ones(2, requires_grad=True)
    assert "MulBackward0" in viz.graph_text(introspect.graph_facts(w * 2, {"w": w}))
    with torch.observe() as trace:
        w * 2
    assert "Autograd > CPU" in viz.dispatch_text(trace.events)

"""Pictures: complete, small, quick to make, and with everything escaped."""
from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import mindtorch as torch
from mindtorch import introspect, viz
from mindtorch._base.durations import period_text, time_text
from mindtorch.viz.card import remarks as remarks_of
from mindtorch.viz.grid import number_format
from mindtorch.viz.html import Markup, escape, row, table
from mindtorch.viz.layered import layout
from mindtorch.viz.monitor import progress_text
from mindtorch.viz.palette import LETTERS, device_badge, device_class, short, storage_letter

VOID = {"br", "hr", "img", "input", "meta", "link", "wbr"}
#: The classes that the library's style sheets know, and the one of a first device, which looks as any.
STYLED = {"mt-d0"} | {name for sheet in Path(viz.__file__).parent.glob("*.css")
                      for name in re.findall(r"\.(mt-[\w-]+)", sheet.read_text())}


class Checker(HTMLParser):
    """Collects tags and text, and insists that every element is closed, and, if ``styled``, that every class has a
    style.
    """

    def __init__(self, text: str, styled: bool = True):
        super().__init__()
        self.styled = styled
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
        classes = (dict(attributes).get("class") or "").split()
        assert not self.styled or "mindtorch" in classes or STYLED.issuperset(
            name for name in classes if name.startswith("mt-")), classes
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
    "values whose sum is infinite": lambda: torch.tensor([1e308, 1e308, -1e308], dtype=torch.float64),
    "complex values beyond their magnitude": lambda: torch.full((2,), 3e38 + 3e38j, dtype=torch.complex64),
    "complex128 values beyond their magnitude": lambda: torch.full((2,), 1.7e308 + 1.7e308j, dtype=torch.complex128),
    "complex nan": lambda: torch.tensor([complex("nan+1j"), complex("inf-infj")]),
    "the ends of int64": lambda: torch.tensor([-(2**63), 2**63 - 1]),
    "4-d": lambda: torch.arange(24).view(2, 3, 2, 2),
    "expanded twice": lambda: torch.ones(1, 3, 1).expand(2, 3, 4),
    "empty view": lambda: torch.ones(3, 4)[:, 4:],
    "inference": lambda: _in_inference_mode(lambda: torch.ones(2)),
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
    "56-d": lambda: torch.randn((3,) * 4 + (1,) * 50 + (30, 30)),
    "1e15 elements": lambda: torch.ones(1, 1).expand(10**9, 10**6),
    "wide": lambda: torch.zeros(3, 100_000)[:, ::7],
}


DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
    "complex128",
]
TENSORS |= {name: (lambda name=name: torch.ones(2, 3, dtype=getattr(torch, name))) for name in DTYPES}


def _with_grad(leaf):
    leaf.sum().backward()
    return leaf


def _in_inference_mode(make):
    with torch.inference_mode():
        return make()


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
        assert "pending" in text and "waits for 3 operators in the pipeline: ones › add.Tensor › mul.Tensor" in text
    assert "no values" in Checker(viz.tensor_card(torch.ones(2, device="meta"))).text


@pytest.mark.parametrize(("make", "line"), [
    (lambda: torch.tensor([1.0, 3.0, float("nan"), float("inf")]),
     "t float32[4] on cpu · 4 elements, 16 B · from 1 to 3 · mean 2 · std 1.414 · ⚠ 1 NaN, at [2]"
     " · ⚠ 1 infinite, at [3]"),
    (lambda: torch.tensor([True, False, True]), "t bool[3] on cpu · 3 elements, 3 B · 2 True, 1 False"),
    (lambda: torch.ones(2, device="meta"), "t float32[2] on meta · 2 elements, 8 B"),
    (lambda: torch.tensor(2.0), "t float32[] on cpu · 1 element, 4 B"),
    (lambda: torch.tensor([100000.25, 100000.5]),
     "t float32[2] on cpu · 2 elements, 8 B · from 100000.2 to 100000.5 · mean 100000.4 · std 0.1768"),
    (lambda: torch.tensor([-98765.4, 24575.0, 0.0]),
     "t float32[3] on cpu · 3 elements, 12 B · from -98765.4 to 24575 · mean -24730.1 · std 65283.2"),
    (lambda: torch.tensor([1.0, -0.0, -0.0]),
     "t float32[3] on cpu · 3 elements, 12 B · from 0 to 1 · mean 0.3333 · std 0.5774"),
    (lambda: torch.tensor([3 + 4j, 0j]),
     "t complex64[2] on cpu · 2 elements, 16 B · magnitude from 0 to 5 · mean magnitude 2.5"
     " · std of magnitude 3.536"),
    (lambda: torch.tensor([7.0, float("nan")]).repeat(500_000),
     "t float32[1000000] on cpu · 1,000,000 elements, 3.815 MiB · from 7 to 7"
     " · mean 7 of 58,824 sampled · std 0 of 58,824 sampled · ⚠ 500,000 NaN, the first at [1]"),
    (lambda: torch.zeros(1000, 1000, dtype=torch.bool),
     "t bool[1000, 1000] on cpu · 1,000,000 elements, 976.6 KiB · 0 True, 1,000,000 False"),
])
def test_a_tensor_in_one_line(make, line):
    tensor = make()
    assert viz.tensor_line(introspect.tensor_facts(tensor, {id(tensor): "t"})) == line


@pytest.mark.parametrize(("make", "remarks"), [
    (lambda: torch.ones(3, 1).expand(3, 4), {"view", "not contiguous", "expanded: dimension 1"}),
    (lambda: torch.ones(1).expand(3, 4), {"view", "not contiguous", "expanded: dimensions 0, 1"}),
    (lambda: torch.arange(5.0).as_strided((3, 3), (1, 1)), {"view", "not contiguous", "elements overlap"}),
    (lambda: torch.ones(3, 4).t(), {"view", "not contiguous"}),
    (lambda: torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last), {"channels last, not contiguous"}),
    (lambda: torch.arange(11.0).as_strided((3, 3), (3, 2)), {"view", "not contiguous"}),
    (lambda: _with_grad(torch.ones(3, requires_grad=True)), {"leaf, requires grad", "has grad"}),
    (lambda: torch.ones(3, requires_grad=True), {"leaf, requires grad"}),
    (lambda: torch.ones(3), set()),
])
def test_the_head_says_what_is_special(make, remarks):
    facts = introspect.tensor_facts(make())
    assert {Checker(remark).text for remark in remarks_of(facts)} == remarks


@pytest.mark.parametrize("dtype", DTYPES)
def test_cards_of_ten_million_elements_stay_below_64_kib_in_every_layout(dtype):
    flat = torch.zeros(10_000_000, dtype=getattr(torch, dtype))
    flat[::7] = 1
    rows = flat.view(1000, 10_000)
    for tensor in (
        flat, rows, rows.t(), rows[::2, ::3], rows[:1].expand(1000, 10_000),
        flat.view(10, 100, 100, 100).permute(3, 1, 0, 2), flat.as_strided((3000, 3000), (1000, 1)),
    ):
        assert len(viz.tensor_card(tensor).encode()) < 64 * 1024


def test_a_card_stays_small_where_thousands_of_tensors_share_a_storage_and_counts_those_that_it_leaves_out():
    base = torch.zeros(10_000)
    views = [base[i: 2 * i + 1] for i in range(2000)]
    names = {id(view): f"views[{i}]" for i, view in enumerate(views)}
    for tensor in (base, views[1000]):
        card = viz.tensor_card(tensor, names)
        assert len(card.encode()) < 64 * 1024 and "and 1,993 more tensors" in card and "seen by 2,001 tensors" in card


def test_pictures_stay_small_whatever_things_are_called():
    base = torch.ones(8, requires_grad=True)
    views = [base[: i + 1] for i in range(8)]
    names = {id(tensor): "<" * 100_000 for tensor in [base, *views]}
    assert all(len(viz.tensor_card(tensor, names).encode()) < 64 * 1024 for tensor in (base, views[3]))
    rows = introspect.tensors_facts({"n" * 100_000: base, "m" * 100_000: views[3]})
    sharing = introspect.storage_facts(base, names)
    for small in (viz.tensors_page(rows), viz.tensors_text(rows), viz.storage_page(sharing), viz.storage_text(sharing)):
        assert len(small.encode()) < 64 * 1024


@pytest.mark.parametrize("make", [
    lambda: torch.randn(3, 200), lambda: torch.randn(10**7), lambda: torch.randn(2, 3, 50, 50),
    lambda: torch.randint(-(2**62), 2**62, (9, 99)), lambda: torch.randn(40, dtype=torch.complex64),
])
def test_the_columns_of_a_grid_fit_into_a_cell_of_jupyterlab(make):
    card = viz.tensor_card(make())
    rows = re.findall(r"<tr>.*?</tr>", card.partition("</table>")[0])
    widths = [[7.2 * len(text) + 13 for text in re.findall(r"<t[dh][^>]*>([^<]+)<", row)] for row in rows]
    assert len(widths[0]) > 3 and max(map(sum, widths)) < 720


def test_operators_of_a_kind_in_a_queue_are_counted():
    with torch.pipeline():
        x = torch.ones(3)
        for _ in range(50):
            x = x + 1
        x = x * 2
        said = Checker(viz.tensor_card(x)).text
        assert "waits for 52 operators in the pipeline: ones › add.Tensor × 50 › mul.Tensor" in said


def test_the_card_says_where_a_tensor_stands_in_a_graph():
    leaf = torch.ones(3, requires_grad=True)
    out = leaf * 2
    leaf.register_post_accumulate_grad_hook(lambda tensor: None)
    for tensor in (leaf, out, out):
        tensor.register_hook(lambda grad: grad)
    names = {id(leaf): "w"}
    assert "a leaf that requires grad; no gradient yet; 2 hooks" in Checker(viz.tensor_card(leaf)).text
    assert "MulBackward0 ← w; 2 hooks" in Checker(viz.tensor_card(out, names)).text
    out.sum().backward()
    assert "a leaf that requires grad; has a gradient; 2 hooks" in Checker(viz.tensor_card(leaf)).text
    with torch.no_grad():
        leaf.mul_(2).add_(1)
    assert "2, the number of writes in place so far" in Checker(viz.tensor_card(leaf)).text


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
    ([99999.5, 0.001234], ["99999.5", "0.0012"]),
    ([1.00001, 1.00003], ["1.00001", "1.00003"]),
    ([1.0000000001, 1.0], ["1.00000000", "1.00000000"]),
    ([0.5, -0.5], ["0.5000", "-0.5000"]),
    ([1e30, 1.0], ["1e+30", "1"]),
    ([float("nan"), 0.5], ["nan", "0.5000"]),
    ([2**63 - 1, 0], ["9223372036854775807", "0"]),
    ([True, False], ["True", "False"]),
    ([1 + 2.5j], ["1+2.5j"]),
])
def test_the_numbers_of_a_grid_are_written_alike(values, written):
    assert list(map(number_format(values), values)) == written


def test_each_npu_has_a_look_of_its_own_next_to_its_name():
    looks = [device_class(device) for device in ("cpu", "meta", "npu", "npu:0", "npu:1", "npu:2", "npu:3")]
    assert len(set(looks)) == 7 and device_class("npu:4") == device_class("npu:0")
    assert looks[:4] == ["mt-cpu", "mt-meta", "mt-npu", "mt-npu mt-d0"]
    assert Checker(device_badge("npu:12")).text == "npu:12"


@pytest.mark.parametrize(("number", "letter"), [(0, "A"), (25, "Z"), (26, "AA"), (701, "ZZ"), (702, "AAA")])
def test_storages_have_letters(number, letter):
    assert storage_letter(number) == letter


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


def test_tables_of_thousands_of_rows_say_what_they_leave_out():
    rows = introspect.tensors_facts({f"t{i}": torch.ones(i % 3 + 1) for i in range(2000)})
    page = viz.tensors_page(rows)
    assert len(page.encode()) < 250 * 1024 and "2,000 tensors over 2,000 storages" in page
    assert "and 1,700 more tensors" in page and viz.tensors_text(rows).endswith("and 1,700 more tensors")
    with torch.observe() as trace:
        x = torch.ones(2)
        for i in range(999):
            x = x + i
    page = viz.dispatch_page(trace.events)
    assert "and 700 more operators: %%profile adds them up" in page and "1,000 operators" in page
    assert viz.dispatch_text(trace.events).count("add.Tensor") < 2 * 300
    assert "more" not in viz.dispatch_text(trace.events[:300])


@pytest.mark.parametrize(("done", "total", "elapsed", "said"), [
    (3, 10, 6.0, "step 3/10 (30%) · 0.5/s · 0:14 left"), (10, 10, 6.0, "step 10/10 (100%) · 1.67/s · 0:06 in all"),
    (0, 10, 6.0, "step 0/10 (0%)"), (4000, None, 3700.0, "step 4,000 · 1.08/s · 1:01:40 in all"),
    (1000, 2000, 10.0, "step 1,000/2,000 (50%) · 100/s · 0:10 left"),
])
def test_progress_tells_the_rate_and_the_time_left(done, total, elapsed, said):
    assert progress_text(done, total, elapsed, "step") == said


@pytest.mark.parametrize(("nanoseconds", "said"), [
    (0, "0 ns"), (0.1388, "0.139 ns"), (999, "999 ns"), (999.7, "1 µs"), (1000, "1 µs"), (123_456, "123 µs"),
    (999_999, "1 ms"), (1_234_567, "1.23 ms"), (2_500_000_000, "2.5 s"), (4_000_000_000_000, "4,000 s"),
    (-1500, "-1.5 µs"),
])
def test_times_have_three_digits_and_the_unit_that_suits_them(nanoseconds, said):
    assert time_text(nanoseconds) == said


def test_a_name_is_cut_where_it_is_longer_than_a_line_shows():
    name = "x" * LETTERS
    assert short(name) == name and short(f"{name}y") == f"{name}…"


@pytest.mark.parametrize(("start", "end", "said"), [
    (0, 1500, "0 ns to 1.5 µs"), (5_001_234_000, 5_001_254_000, "5.00123 s to 5.00125 s"),
    (1_234_567, 1_234_570, "1.234567 ms to 1.23457 ms"),
])
def test_the_beginning_and_the_end_of_what_is_short_are_told_apart(start, end, said):
    assert period_text(start, end) == said


@pytest.mark.parametrize(("make", "said"), [
    (lambda: torch.ones(3).expand(4, 3), "expanded: dimension 0"),
    (lambda: torch.ones(1).expand(4, 3), "expanded: dimensions 0, 1"),
    (lambda: torch.ones(3).as_strided((1, 3), (0, 1)), None),
])
def test_a_card_tells_which_dimensions_are_expanded(make, said):
    text = "".join(remarks_of(introspect.tensor_facts(make())))
    assert (said in text) if said else ("expanded" not in text)


def test_characters_that_no_browser_shows_become_visible():
    assert escape("a\x00b\x1bc\u200bd") == r"a\x00b\x1bc\u200bd" and escape("a\n\tb<") == "a\n\tb&lt;"


def test_only_markup_itself_is_not_escaped_whatever_an_object_says_of_its_class():
    class Pretender:
        __class__ = Markup
        plain = "<b>"

        def __str__(self):
            return Answering("<b>")

    class Answering(str):
        def isprintable(self):
            return True

        def replace(self, *args):
            return "<script>"

    for pretended in (Pretender(), Answering("<b>")):
        assert escape(pretended) == "&lt;b&gt;" and type(escape(pretended)) is Markup
        assert "<b>" not in table(["x"], [row(pretended)], pretended)


def test_all_text_follows_the_size_of_the_front_ends_content_font():
    sheets = Path(viz.__file__).parent.glob("*.css")
    fixed = [f"{sheet.name}: {line}" for sheet in sheets for line in sheet.read_text("utf-8").splitlines()
             if re.search(r"font(-size)?:[^;}]*\dpx", line) and "svg." not in line]
    assert fixed == []

"""What pictures say to who does not see them: numbers, names and conclusions, not what kind of picture it is."""
from __future__ import annotations

import gc
import re
from html.parser import HTMLParser

import pytest
from IPython.utils.capture import capture_output

import mindtorch as torch
from mindtorch import introspect, nn, viz
from mindtorch.introspect import Arrow, Series, Span, Timeline

GALLERY = {
    "x = torch.arange(96.).reshape(8, 12) - 10\nx": [
        "how often each value occurs, from -10 to 85; most often, 3 times",
        "picture 0 of x: 8 by 12 pixels, on average 50% of white, brightest bottom right",
        "x: float32[8, 12], stride (12, 1), offset 0, covers 100% of the 384 B of storage"],
    "torch.arange(1200.).reshape(30, 40)": [
        "all of [30, 40]", "orange is positive, full colour is ±1199; strongest near [29, 39], 1199"],
    "part = x[2:4]\npart": [],
    "holes = x[:, ::2]\n%storage x": [
        "part: float32[2, 12], stride (12, 1), offset 24, covers 25% of the 384 B of storage",
        "from 25% to 50% of its length, with 0 gaps", "with 47 gaps"],
    "torch.tensor([0, 1, 1, 9] * 20)": ["from 0 to 9; most often, 40 times, near 1"],
    "w = torch.ones(12, 2, requires_grad=True)\nloss = (x @ w).relu().sum()\n%graph loss": [
        "3 operators · 1 leaf", "loss = SumBackward0 ([]; to self: repeated(grad)) sends gradients to ReluBackward0",
        "MmBackward0 ([8, 2] · keeps x; to mat2:", "sends gradients to w", "w ([12, 2] · leaf)"],
    "model = nn.Sequential(*[layer for _ in range(40) for layer in (nn.Linear(4, 4), nn.ReLU())])\n"
    "deep = model(torch.ones(2, 4)).sum()\n%graph deep": ["× 39", "sends gradients to"],
    "%%profile\nfor _ in range(3):\n    x.exp()": ["in operators ", "outside operators (Python) ", "%)"],
    "a = torch.ones(4, 4, device='npu')\n%memory": ["1 GiB of npu:0: ", " allocated, ", " free"],
    "from mindtorch import widgets\nmonitor = widgets.TrainingMonitor()\nfor step in range(5):\n"
    "    monitor.record(step, loss=4 / (step + 1), lr=0.1)\nviz_page = monitor._repr_html_()\nHTML(viz_page)": [
        "loss from 4 at step 0 to 0.8 at step 4, least 0.8 at step 4, most 4 at step 0"],
    "q = torch.ones(3, requires_grad=True)\n"
    "HTML(widgets.backward_stepper((q * q).sum().exp())._repr_html_())": [
        "step 0 of 4", "ExpBackward0", "sends gradients to SumBackward0", "sends gradients to q"],
}


class Alternatives(HTMLParser):
    """The text alternatives of what is painted; what has none, and is not said to be decoration."""

    def __init__(self):
        super().__init__()
        self.told, self.silent = [], []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag in ("svg", "img") or found.get("role") == "img":
            said = found.get("alt" if tag == "img" else "aria-label")
            if said and (tag == "img" or found.get("role") == "img"):
                self.told.append(said)
            elif found.get("aria-hidden") != "true":
                self.silent.append((tag, found))


def alternatives(html):
    parser = Alternatives()
    parser.feed(html)
    return parser


@pytest.fixture
def shown(shell):
    """What each cell of the gallery shows, as HTML."""
    shell.run_cell("from mindtorch import nn\nfrom IPython.display import HTML")
    found = {}
    for cell in GALLERY:
        with capture_output() as captured:
            result = shell.run_cell(cell)
        assert result.success, cell
        data = [output.data.get("text/html", "") for output in captured.outputs]
        found[cell] = "".join([*data, shell.display_formatter.format(result.result)[0].get("text/html", "")])
    yield found
    shell.reset()
    gc.collect()
    torch.npu.synchronize()
    torch.npu.empty_cache()


def test_each_picture_says_what_it_shows(shown):
    for cell, html in shown.items():
        found = alternatives(html)
        assert not found.silent, (cell, found.silent)
        everything = "\n".join(found.told)
        for said in GALLERY[cell]:
            assert said in everything, (cell, said, found.told)
        for told in found.told:  # a number at least, and more than the name of a kind of picture
            assert any(letter.isdigit() for letter in told) and len(told.split()) > 4, (cell, told)


def test_a_timeline_says_what_began_when_and_why():
    spans = (Span("host", "mm", "enqueue", 0, 1000), Span("npu:0 stream 1", "aclnnMm", "run", 3000, 5000))
    arrows = (Arrow("enqueue", "aclnnMm", "mm", "host", 1000, "npu:0 stream 1", 3000),)
    [told] = alternatives(viz.timeline_page(Timeline(spans, ("host", "npu:0 stream 1"), arrows))).told
    assert told == "1 arrow: Mm was enqueued by mm on host at 1 µs, began on npu:0 stream 1 at 3 µs"


def test_a_line_says_how_often_it_is_not_finite():
    from mindtorch.viz.monitor import plot

    [told] = alternatives(plot("loss", [Series("loss", ((0, 3.0), (1, float("nan")), (2, 1.0)))])).told
    assert told == "loss; loss from 3 at step 0 to 1 at step 2, least 1 at step 2, most 3 at step 0, 1 not finite"


def test_a_large_graph_says_how_much_it_leaves_out():
    x, w = torch.ones(2), torch.ones(2, requires_grad=True)
    y = sum((getattr(w, name)() * x for name in ("exp", "sin", "cos", "tanh", "sigmoid", "relu", "abs", "neg") * 4), x)
    html = viz.graph_svg(introspect.graph_facts(y.sum(), {"w": w}))
    [told] = alternatives(html).told
    assert "sends gradients to" in told and told.rstrip(".").endswith("more") and "And " in told


def test_folded_graphs_tell_of_the_fold():
    model = nn.Sequential(*[layer for _ in range(30) for layer in (nn.Linear(3, 3), nn.ReLU())])
    loss = model(torch.ones(2, 3)).sum()
    facts = introspect.graph_facts(loss, dict(introspect.named_tensors({"model": model})))
    assert any("next of" in told for told in alternatives(viz.graph_page(facts)).told)


def test_words_in_a_row_stay_apart_where_styles_are_stripped() -> None:
    model, x = nn.Sequential(nn.Linear(6, 3)), torch.ones(4, 6)
    with introspect.watch_dispatch() as trace:
        model(x).sum().backward()
    pictures = [viz.model_page(introspect.forward(model, x)), viz.tensor_card(x), viz.tensor_card(x[1:]),
                viz.module_page(introspect.module_facts(model)),
                viz.dispatch_page(trace.events, trace.asked, modules=trace.modules)]
    for fails in (lambda: model(x.t()), lambda: nn.Embedding(9, 2)(torch.tensor([12]))):
        with pytest.raises((RuntimeError, IndexError)) as caught:
            fails()
        pictures.append(viz.why_page(introspect.explain(caught.value, {"model": model, "x": x})))
    inline = "(?:</?(?:b|i|span|code|label)\\b[^>]*>)*"
    for picture in pictures:
        stripped = re.sub(r"<(style|script).*?</\1>|<svg.*?</svg>", "", picture, flags=re.S)
        assert re.search(rf"[\w\])]</(?:b|i|span|code)>{inline}[\w\[(]", stripped) is None


def test_a_picture_has_the_styles_that_it_needs() -> None:
    from mindtorch.viz.html import styles

    sheet, own = styles("style", for_='<div class="mindtorch"><table class="mt-table"></table></div>')
    assert f".{own} table" in sheet and ".mindtorch" not in sheet, "the rules of another picture leave this one alone"
    assert "table.mt-table td" not in sheet and "svg" not in sheet and "mt-tree" not in sheet
    assert "--mt-fg:" in sheet and "--mt-npu:" not in sheet, "no rule that is there uses the colour of NPUs"
    assert "@supports" in styles("style", for_='<div class="mindtorch mt-scroll">')[0]
    assert len(viz.module_page(introspect.module_facts(nn.Linear(2, 2)))) < 8000

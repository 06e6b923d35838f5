"""What a picture of a graph tells of nodes: formulas from the table's rows, parallel edges, modules, a legend."""
from __future__ import annotations

import re

import pytest

import mindtorch as torch
from mindtorch import introspect, library, nn, viz
from mindtorch.viz.graph import legend_of
from mindtorch.viz.graph_picture import formula_lines, whole_words

from .test_pictures import Checker


def node(tensor, name=None, **named):
    nodes = introspect.graph_facts(tensor, named).nodes
    return next(node for node in nodes if name in (None, node.name))


@pytest.mark.parametrize(("make", "formulas"), [
    (lambda x, y: x * y, {"self": "grad * other", "other": "grad * self"}),
    (lambda x, y: x * 2, {"self": "grad * other"}),
    (lambda x, y: x.exp(), {"self": "grad * result"}),
    (lambda x, y: x / y, {"self": "grad / other", "other": "by_tensor(grad, self, other)"}),
    (lambda x, y: x.sum(), {"self": "repeated(grad, self_shape)"}),
    (lambda x, y: x.relu(), {"self": "threshold_backward(grad, result, 0)"}),
    (lambda x, y: torch.where(x > 0, x, y),
     {"self": "where(condition, grad, 0)", "other": "where(condition, 0, grad)"}),
    (lambda x, y: x.tanh(), {"self": "tanh_backward(grad, result)"}),
    (lambda x, y: x.pow(3), {"self": "grad * (self.pow(exponent - 1) * exponent)"}),
])
def test_formulas_are_the_source_of_the_rows(make, formulas):
    x, y = (torch.ones(2, 2, requires_grad=True) for _ in range(2))
    assert dict(node(make(x, y)).formulas) == formulas


def test_operators_of_a_family_of_rows_have_their_names():
    image = torch.ones(1, 1, 4, 4, requires_grad=True)
    pooled, larger = nn.functional.max_pool2d(image, 2), nn.functional.interpolate(image, scale_factor=2)
    assert dict(node(pooled).formulas)["self"].startswith("max_pool2d_with_indices_backward(grad, self, ")
    assert dict(node(larger).formulas)["self"].startswith("upsample_nearest2d_backward(grad, ")


def test_the_name_of_a_module_stands_beside_the_arrow_that_comes_from_above():
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4))
    named = {f"model.{name}": parameter for name, parameter in model.named_parameters()}
    facts = introspect.graph_facts(model(torch.ones(2, 1, 5, 5)).sum(), named)
    page = viz.graph_page(facts)
    label = re.search(r'<text class="(module[^"]*)" x="([0-9.]+)"[^>]*>model\.0<', page)
    box = re.search(r'<text x="([0-9.]+)"[^>]*>ConvolutionBackward0<', page)
    assert label[1] == "module left" and float(label[2]) < float(box[1])  # the arrow comes from the right


def test_conjugates_are_written_where_numbers_are_complex():
    x = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    assert dict(node(x * x.detach()).formulas) == {"self": "grad * conj(other)"}
    assert dict(node(x / x.detach()).formulas) == {"self": "grad / conj(other)"}
    matrix = torch.ones(2, 2, dtype=torch.complex64, requires_grad=True)
    assert dict(node(matrix.detach() @ matrix).formulas) == {"mat2": "conj(self).T @ grad"}


def test_every_row_of_the_table_has_a_formula_that_names_what_it_needs():
    from mindtorch._autograd.derivative import callable_of
    from mindtorch.introspect.formulas import formula_text

    torch.registry.derivatives.get("mul.Tensor")
    looked = 0
    for name in ("mul.Tensor", "addmm", "_softmax", "convolution", "cumprod", "index.Tensor", "linalg_det", "topk"):
        row = torch.registry.derivatives.get(name)
        for formula in () if row is None else row.formulas.values():
            looked += 1
            text = formula_text(formula)
            compile(text, name, "eval")
            needed = set(callable_of(formula)[1])
            words = set(re.findall(r"[a-z_]\w*", text))
            assert not needed or needed & words or text == "grad"
    assert looked > 5


def test_a_factor_of_one_is_not_written():
    a = torch.ones(2, 2, requires_grad=True)
    for out, formulas in (
            (a + a, ["grad", "grad"]), (a - a, ["grad", "-grad"]), (torch.add(a, a, alpha=3), ["grad", "grad * alpha"]),
            (torch.sub(a, a, alpha=2), ["grad", "-grad * alpha"]), (a @ a, ["grad @ mat2.T", "self.T @ grad"]),
            (torch.addmm(a, a, a), ["reduce_grad(grad, self_shape)", "grad @ mat2.T", "mat1.T @ grad"]),
            (torch.addmm(a, a, a, beta=2, alpha=0.5), ["reduce_grad(grad, self_shape) * beta", "grad @ mat2.T * alpha",
                                                       "mat1.T @ grad * alpha"]),
            (torch.addcmul(a, a, a), ["grad", "grad * tensor2", "grad * tensor1"])):
        assert [formula for _, formula in node(out).formulas] == formulas


def test_a_formula_from_a_notebook_is_written_too():
    library.kernel("twice_as(Tensor self, float by=2.0) -> Tensor", "cpu")(lambda self, by=2.0: self * by)
    library.meta("twice_as", lambda self, by=2.0: torch.empty_like(self))
    library.derivative("twice_as", self=lambda grad, by: grad * by)
    assert node(torch.twice_as(torch.ones(2, requires_grad=True))).formulas == (("self", "grad * by"),)


def test_a_formula_names_what_was_kept():
    h, s = torch.ones(3, requires_grad=True), torch.ones(3)
    assert formula_lines(node(h * s, h=h, s=s)) == ["to self: grad * s"]
    assert formula_lines(node(h * h, h=h)) == ["to self: grad * h", "to other: grad * h"]


def test_two_ways_to_a_tensor_are_two_arrows():
    h = torch.ones(3, requires_grad=True).exp()
    arrows = [viz.graph_svg(introspect.graph_facts(out)).count("marker-end") for out in (h * 2, h * h, h * h * h)]
    assert arrows == [2, 3, 5]


def test_modules_stand_on_ground_of_one_colour():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    named = {f"model.{name}": parameter for name, parameter in model.named_parameters()}
    facts = introspect.graph_facts(model(torch.ones(2, 4)).sum(), named)
    modules = introspect.modules_of(facts)
    by_name = {node.name: modules.get(node.identity) for node in facts.nodes}
    assert set(modules.values()) == {"model.0", "model.2"}
    assert by_name["ReluBackward0"] is None and by_name["TBackward0"] == "model.0"
    page = Checker(viz.graph_page(facts))
    assert page.text.count("module model.0") == 1 and ("class", "module") in page.attributes


def test_the_legend_explains_the_marks_that_are_there():
    h = torch.ones(3, requires_grad=True).exp()
    marks = dict(legend_of(introspect.graph_facts((h * h).sum())))
    assert {"two arrows", "to x: …", "keeps x", "[]"} <= set(marks) and not {"dashed", "⚠", "[], []"} & set(marks)
    loss = nn.functional.nll_loss(torch.ones(2, 2, requires_grad=True), torch.tensor([0, 1]))
    loss.backward()
    assert {"[], []", "dashed"} <= set(dict(legend_of(introspect.graph_facts(loss))))


@pytest.mark.parametrize(("text", "shown"), [
    ("to self: grad * other", "to self: grad * other"),
    ("to self: gelu_backward(grad, self, approximate)", "to self: gelu_backward(grad, self…"),
    ("to self: a_function_with_a_long_name(grad)", "to self: a_function_with_a_long_name(…"),
    ("without_any_place_between_words_to_end_at", "without_any_place_between_words_to_end_…"),
])
def test_a_long_formula_ends_between_words(text, shown):
    assert whole_words(text, 40) == shown


def test_text_has_the_formulas():
    h = torch.ones(3, requires_grad=True)
    assert "to self: grad * h  to other: grad * h" in viz.graph_text(introspect.graph_facts(h * h, {"h": h}))

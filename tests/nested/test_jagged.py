"""Jagged tensors: construction, functions, gradients, files and pictures are PyTorch's."""
from __future__ import annotations

import copy
import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch
from mindtorch.introspect import tensor_facts
from mindtorch.viz import tensor_card
from tests.both import assert_same_outcome
from tests.notebook.test_pictures import Checker

torch = pytest.importorskip("torch", reason="PyTorch, the reference of these tests, is not installed")
Program = Callable[[Any, Any], Any]
LENGTHS = (2, 3, 1)


def example(t: Any, *, width: int = 4, requires_grad: bool = False) -> Any:
    parts = [t.linspace(-1.5, 2, n * width).reshape(n, width) * (n + 1) for n in LENGTHS]
    return t.nested.nested_tensor(parts, layout=t.jagged, requires_grad=requires_grad)


def told(value: Any) -> Any:
    """Return everything that a result is, with sizes that differ by their parts."""
    if isinstance(value, (list, tuple)):
        return [told(item) for item in value]
    if not hasattr(value, "is_nested"):
        return value
    if value.is_nested:
        return (type(value).__name__, str(value.dtype), value.ndim, value._ragged_idx, value.requires_grad,
                value.is_contiguous(), value.numel(), [told(part.detach()) for part in value.unbind()])
    return str(value.dtype), list(value.shape), np.round(value.detach().double().numpy(), 3).tolist()


def outcome(program: Program, t: Any, *args: Any) -> Any:
    try:
        return told(program(t, *args))
    except (RuntimeError, ValueError, AssertionError) as error:
        return type(error).__name__, re.sub(r"j\d+|torch.Size\(\[|[\[\]()]", "", str(error))


def heads(x: Any) -> Any:
    return x.unflatten(-1, [2, 2]).transpose(1, 2)


MATRIX, BATCHES = [[1., 2.], [0., -1.], [3., 1.], [-2., 0.5]], np.arange(24.).reshape(3, 4, 2).tolist()
FUNCTIONS: dict[str, Program] = {
    "pointwise": lambda t, x: (x.sin() + 1) * x - x / 2,
    "activations": lambda t, x: t.nn.functional.gelu(t.relu(x) + t.nn.functional.silu(x)).tanh(),
    "where": lambda t, x: t.where(x > 0, x, 0.) + x.masked_fill(x < 1, 2.) + x.clamp(-1, 1),
    "a row is broadcast": lambda t, x: x + t.arange(4.),
    "each part has a row": lambda t, x: t.arange(12.).reshape(3, 1, 4) - x,
    "other offsets": lambda t, x: x + example(t),
    "all to one element": lambda t, x: [x.amax(keepdim=True), x.argmax(keepdim=True), x.all(keepdim=True)],
    "of a vector": lambda t, x: t.nested.as_nested_tensor(t.ones(3), layout=t.jagged),
    "other sizes": lambda t, x: x + t.ones(2, 4),
    "linear": lambda t, x: t.nn.functional.linear(x, t.tensor(MATRIX).t(), t.tensor([1., 2.])),
    "matmul": lambda t, x: x @ t.tensor(MATRIX),
    "matmul of batches": lambda t, x: t.matmul(x, t.tensor(BATCHES)),
    "no product": lambda t, x: x @ x,
    "layer_norm": lambda t, x: t.nn.LayerNorm(4)(x),
    "rms_norm": lambda t, x: t.nn.functional.rms_norm(x, (4,)),
    "softmax": lambda t, x: x.softmax(-1),
    "softmax over the batch": lambda t, x: x.softmax(0),
    "sum over the batch": lambda t, x: x.sum(0),
    "sum over two": lambda t, x: x.sum((1, 2)),
    "transpose": lambda t, x: x.transpose(1, 2) * 2,
    "permute": lambda t, x: x.permute(0, 2, 1) * 2,
    "permute the batch": lambda t, x: x.permute(1, 0, 2),
    "view": lambda t, x: x.view(3, -1, 2, 2),
    "view of other parts": lambda t, x: x.view(6, 4),
    "flatten": lambda t, x: x.unflatten(-1, [2, 2]).flatten(2),
    "cat, stack": lambda t, x: [t.cat([x, x * 2], -1), t.stack([x, x * 2], -1)],
    "cat of the batch": lambda t, x: t.cat([x, x], 0),
    "expand": lambda t, x: x.unsqueeze(-1).expand(*x.shape, 2) * 1,
    "padded": lambda t, x: x.to_padded_tensor(0.5),
    "padded further": lambda t, x: t.nested.to_padded_tensor(x, -1., (3, 5, 4)),
    "values": lambda t, x: x.values() * 2,
    "attention": lambda t, x: t.nn.functional.scaled_dot_product_attention(*[heads(x)] * 3).transpose(1, 2).flatten(-2),
    "dtype": lambda t, x: x.double() * 2,
    "like": lambda t, x: t.zeros_like(x) + x.detach() * x,
}
#: Functions whose gradients PyTorch does not have for nested tensors, or has wrong: their values only.
VALUES: dict[str, Program] = {
    "overloads": lambda t, x: [t.ops.aten.sum.dim_IntList(x, dim=(1,), keepdim=True), t.ops.aten.mean.dim(x, (2,)),
                               t.ops.aten.sum.dim_IntList(x, [-1], True), t.ops.aten.unsqueeze.default(x, -1)],
    **{f"{name} over {dim}": lambda t, x, name=name, dim=dim: getattr(x, name)(dim)
       for name in ("sum", "mean", "amax", "amin", "max", "prod", "argmax") for dim in (1, 2)},
    "products of parts": lambda t, x: x.transpose(1, 2) @ x,
    "sum of parts and batch": lambda t, x: x.sum((0, 1)),
    "unsqueeze": lambda t, x: x.unsqueeze(-1).squeeze(-1).unsqueeze(1),
    "narrow, split, chunk": lambda t, x: [x.narrow(2, 1, 2), *x.split(3, -1), *x.chunk(2, -1), *x.chunk(2, 0)],
    "indices": lambda t, x: [x[1], x[..., 1:3], x.select(2, 1), *x.unbind()],
    "all elements": lambda t, x: [x.sum(), x.mean(), x.max(), (x > 0).any(), (x > -9).all()],
    "kept": lambda t, x: [x.sum(1, keepdim=True), x.mean(2, keepdim=True)],
    "softmax of parts": lambda t, x: x.softmax(1),
    "log_softmax": lambda t, x: x.log_softmax(-1),
    "leaky_relu": lambda t, x: t.nn.functional.leaky_relu(x, 0.1),
    "facts": lambda t, x: [x.dim(), x.size(0), x.size(-1), x.is_leaf, len(x), x.offsets(), x.lengths(), x.numel(),
                           x.shape[1] == (x * 2).shape[1], x.shape[1] == example(t).shape[1]],
    "without offsets": lambda t, x: t.nested.nested_tensor_from_jagged(x.values(), lengths=t.tensor([1, 5])),
    "with holes": lambda t, x: t.nested.nested_tensor_from_jagged(x.values(), x.offsets(), t.tensor([1, 2, 1])),
    "nothing": lambda t, x: t.nested.nested_tensor_from_jagged(x.values()),
    "columns": lambda t, x: t.nested.nested_tensor_from_jagged(x.values().t(), x.offsets(), jagged_dim=2),
    "longest unknown": lambda t, x: t.nested.nested_tensor_from_jagged(x.values(), x.offsets()).to_padded_tensor(0.),
    "narrow": lambda t, x: [made := t.nested.narrow(t.arange(30.).reshape(3, 5, 2), 1, t.tensor([0, 1, 2]),
                                                    t.tensor([3, 2, 2]), layout=t.jagged), made.contiguous()],
    "of a tensor": lambda t, x: t.nested.as_nested_tensor(t.arange(30.).reshape(3, 5, 2), layout=t.jagged),
    "of numbers": lambda t, x: t.nested.nested_tensor([[1., 2.], [3.]], layout=t.jagged),
    "two differ": lambda t, x: t.nested.nested_tensor([t.ones(2, 3), t.ones(3, 2)], layout=t.jagged),
    "none": lambda t, x: t.nested.nested_tensor([], layout=t.jagged),
    "masked_select": lambda t, x: t.nested.masked_select(t.arange(9.).reshape(3, 3), t.eye(3).bool()),
    "embedding": lambda t, x: t.nn.functional.embedding(
        t.nested.nested_tensor([[1, 2], [0, 1, 3]], layout=t.jagged), t.tensor(MATRIX)),
    "copies": lambda t, x: [copy.deepcopy(x), x.detach().clone(), (x * 1).add_(1), saved(t, x.detach())],
}


def saved(t: Any, x: Any) -> Any:
    file = io.BytesIO()
    t.save(x, file)
    file.seek(0)
    return t.load(file)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_their_gradients_are_pytorchs(name: str) -> None:
    def program(t: Any) -> Any:
        x = example(t, requires_grad=True)
        made = FUNCTIONS[name](t, x)
        values = [part.values() if part.is_nested else part for part in (made if isinstance(made, list) else [made])]
        sum(((value * t.arange(float(value.numel())).reshape(value.shape)).sum() for value in values),
            t.zeros(())).backward()
        return made, x.grad.values()

    assert outcome(program, mindtorch) == outcome(program, torch)


@pytest.mark.parametrize("name", VALUES)
def test_values_and_errors_are_pytorchs(name: str) -> None:
    assert outcome(VALUES[name], mindtorch, example(mindtorch)) == outcome(VALUES[name], torch, example(torch))


@pytest.mark.parametrize("reduce", [lambda x: x.sum(1), lambda x: x.mean((0, 1)), lambda x: x.softmax(1).values(),
                                    lambda x: x.amax(1), lambda x: x.log_softmax(-1).values(), lambda x: x.sum()])
def test_gradients_are_those_of_the_parts(reduce: Any) -> None:
    def grads(function: Any) -> Any:
        values = example(mindtorch).values().detach().requires_grad_()
        made = function(values)
        (made * mindtorch.arange(float(made.numel())).reshape(made.shape)).sum().backward()
        return values.grad

    def of_parts(values: Any) -> Any:
        name = [reduce(example(mindtorch)).shape, values.split(LENGTHS)]
        single = [mindtorch.nested.as_nested_tensor([part], layout=mindtorch.jagged) for part in name[1]]
        return mindtorch.cat([reduce(part) for part in single])

    whole = grads(lambda values: reduce(mindtorch.nested.nested_tensor_from_jagged(
        values, mindtorch.tensor([0, 2, 5, 6]), max_seqlen=3)))
    if reduce(example(mindtorch)).shape[:1] in ((3,), (6,)):
        assert mindtorch.allclose(whole, grads(of_parts), atol=5e-6)  # gradients of up to 23 are rounded
    assert whole.shape == (6, 4)


def test_an_encoder_of_parts_is_trained() -> None:
    mindtorch.manual_seed(0)
    net = mindtorch.nn.Sequential(mindtorch.nn.Linear(4, 8), mindtorch.nn.ReLU(), mindtorch.nn.LayerNorm(8),
                                  mindtorch.nn.Linear(8, 2))
    x = example(mindtorch, requires_grad=True)
    net(x).mean(1).sum().backward()
    apart = [net(part.detach()).mean(0) for part in x.unbind()]
    assert mindtorch.allclose(net(x).mean(1), mindtorch.stack(apart), atol=1e-6)
    assert x.grad.is_nested and x.grad.shape == x.shape and net[0].weight.grad.abs().sum() > 0


def test_text_and_card() -> None:
    texts = [re.sub(r"j\d+", "j", repr(example(t, requires_grad=True))) for t in (mindtorch, torch)]
    assert texts[0] == texts[1]
    x = mindtorch.nested.narrow(mindtorch.ones(3, 5), 1, mindtorch.tensor([0, 1, 2]), mindtorch.tensor([3, 2, 2]),
                                layout=mindtorch.jagged)
    facts, card = tensor_facts(x), tensor_card(x)
    assert str(facts.shape[1]).startswith("j") and facts.elements == 15 and "of shapes [3], [2], [2]" in facts.without
    assert "3 parts of 2 to 3 along dimension 1 · with holes" in card.plain
    assert Checker(card).tags.count("rect") == 5 and "lengths() [3]" in card.plain
    theirs = torch.nested.nested_tensor([torch.ones(2, 1), torch.ones(1, 1)], layout=torch.jagged)
    assert "2 parts of 1 to 2 along dimension 1" in tensor_card(theirs).plain


def test_left_out_operators_say_so() -> None:
    with pytest.raises(NotImplementedError, match=r"aten.cumsum.default is not implemented for nested tensors"):
        example(mindtorch).cumsum(1)
    with pytest.raises(RuntimeError, match=r"stands for sizes that differ from row to row"):
        int(example(mindtorch).shape[1])


@pytest.mark.parametrize("offsets", [("[0, 1, 3]", "meta"), ("[[0, 1, 3]]", "cpu"), ("[0, 1, 3]", "cpu")])
def test_offsets_are_a_vector_on_the_device_of_the_values(offsets) -> None:
    def program(t):
        made = t.nested._internal.nested_tensor.NestedTensor(
            t.ones(3), t.tensor(eval(offsets[0]), device=offsets[1]))
        return [part.tolist() for part in made.unbind()]

    assert_same_outcome(program)

"""Quantised tensors, observers, fake quantisation and dynamically quantised layers have PyTorch's numbers and text."""
from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch
from mindtorch import viz
from mindtorch.introspect import tensor_facts

torch = pytest.importorskip("torch", reason="PyTorch, the reference of these tests, is not installed")
Program = Callable[[Any], Any]


def numbers(t: Any) -> Any:
    return t.tensor([[1.541, -0.2934, -2.1788], [0.5684, -1.0845, -1.3986]])


def by_tensor(t: Any) -> Any:
    return t.quantize_per_tensor(numbers(t), 0.1, 3, t.quint8)


def by_channel(t: Any) -> Any:
    return t.quantize_per_channel(numbers(t), t.tensor([.1, .2]), t.tensor([0, 1]), 0, t.qint8)


def rounded(t: Any, function: Callable[[Any], Any]) -> Any:
    x = (t.arange(12.).reshape(3, 4) - 6) * 0.3
    x.requires_grad_()
    out = function(x)
    (out * t.arange(12.).reshape(3, 4)).sum().backward()
    return out, x.grad


def observed(t: Any, name: str, **options: Any) -> Any:
    observer = getattr(t.ao.quantization, name)(**{key: getattr(t, value) if isinstance(value, str) else value
                                                   for key, value in options.items()})
    observer(numbers(t))
    observer(numbers(t) * 2)
    return [each.flatten() for each in observer.calculate_qparams()], [*observer.state_dict()]


def trained(t: Any, name: str) -> Any:
    module = getattr(t.ao.quantization, name)()
    return rounded(t, module), module


def quantized(t: Any, *layers: Any, **options: Any) -> Any:
    """Return a model's text and its outputs after its layers, which have fixed weights, are quantised."""
    net = t.nn.Sequential(t.nn.Linear(4, 8), t.nn.ReLU(), t.nn.Sequential(t.nn.Linear(8, 2, bias=False)))
    for number, weight in enumerate(net.parameters()):
        weight.data.copy_(t.sin(t.arange(float(weight.numel())) + number).reshape(weight.shape))
    made = t.ao.quantization.quantize_dynamic(net, *layers, **options)
    return made, made(t.cos(t.arange(12.)).reshape(3, 4)), [*made.state_dict()], made[0].weight(), net[0]


def lstm(t: Any, **options: Any) -> Any:
    net = t.nn.Sequential(t.nn.LSTM(4, 5, 2, **options))
    for number, weight in enumerate(net.parameters()):
        weight.data.copy_(t.sin(t.arange(float(weight.numel())) * 1.3 + number).reshape(weight.shape))
    made = t.ao.quantization.quantize_dynamic(net)
    return made, made(t.cos(t.arange(24.)).reshape(2, 3, 4))


PROGRAMS: dict[str, Program] = {
    "by tensor": by_tensor, "by channel": by_channel,
    "facts": lambda t: [(x := by_tensor(t)).is_quantized, x.qscheme(), x.q_scale(), x.q_zero_point(), x.int_repr(),
                        x.dequantize(), x.dtype, x.element_size(), numbers(t).is_quantized, numbers(t).dequantize()],
    "channels": lambda t: [(x := by_channel(t)).q_per_channel_scales(), x.q_per_channel_zero_points(), x.int_repr(),
                           x.q_per_channel_axis(), x.qscheme(), x[1], t.dequantize([x])],
    "moved": lambda t: [(x := by_tensor(t)).t(), x.view(-1), x[0], x.relu(), t.cat([x, x]), x.max(), x == x,
                        t.equal(x, x.clone()), x.unsqueeze(0)],
    "limits": lambda t: t.quantize_per_tensor(t.tensor([.05, .15, .25, -.05, float("inf"), -99.]), .1, 0, t.qint8),
    "ties": lambda t: t.quantize_per_tensor((t.arange(40.) - 20) * .05, .1, 1, t.quint8).int_repr(),
    "dynamic": lambda t: t.quantize_per_tensor_dynamic(numbers(t), t.quint8, False),
    "integers": lambda t: t.quantize_per_tensor(numbers(t).int(), .1, 0, t.quint8),
    "no quantised dtype": lambda t: t.quantize_per_tensor(numbers(t), .1, 0, t.int8),
    "zero point": lambda t: t.quantize_per_tensor(numbers(t), .1, 300, t.quint8),
    "to float": lambda t: by_tensor(t).float(),
    "copies": lambda t: [copy.deepcopy(by_tensor(t)), pickle.loads(pickle.dumps(by_channel(t)))],
    "fake": lambda t: rounded(t, lambda x: t.fake_quantize_per_tensor_affine(x, .1, 2, -5, 7)),
    "fake with tensors": lambda t: rounded(t, lambda x: t.fake_quantize_per_tensor_affine(
        x, t.tensor(.1), t.tensor(2), -5, 7)),
    "fake by channel": lambda t: rounded(t, lambda x: t.fake_quantize_per_channel_affine(
        x, t.tensor([.1, .2, .3]), t.tensor([0, 1, 2], dtype=t.int32), 0, -5, 7)),
    "fake range": lambda t: t.fake_quantize_per_tensor_affine(numbers(t), .1, 20, -5, 7),
    "_int_mm": lambda t: t._int_mm((t.arange(640) % 255 - 127).to(t.int8).reshape(20, 32),
                                   (t.arange(256) % 251 - 120).to(t.int8).reshape(32, 8)),
    "linear": lambda t: quantized(t), "linear by name": lambda t: quantized(t, {"0"}),
    "linear by channel": lambda t: quantized(t, {"0": t.ao.quantization.per_channel_dynamic_qconfig}),
    "lstm": lstm, "lstm both ways": lambda t: lstm(t, bidirectional=True, batch_first=True),
    **{f"{name} {options}": lambda t, name=name, options=options: observed(t, name, **options)
       for name in ("MinMaxObserver", "MovingAverageMinMaxObserver")
       for options in ({}, {"reduce_range": True}, {"qscheme": "per_tensor_symmetric"},
                       {"dtype": "qint8", "qscheme": "per_tensor_symmetric"}, {"quant_min": 0, "quant_max": 127})},
    **{name: lambda t, name=name: observed(t, name, dtype="qint8", qscheme="per_channel_symmetric", ch_axis=1)
       for name in ("PerChannelMinMaxObserver", "MovingAveragePerChannelMinMaxObserver")},
    **{name: lambda t, name=name: trained(t, name) for name in (
        "FakeQuantize", "default_fake_quant", "default_weight_fake_quant", "default_per_channel_weight_fake_quant")},
}


def outcome(program: Program, t: Any) -> str:
    try:
        return repr(program(t))
    except RuntimeError as error:
        return str(error).partition(":")[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_and_text_are_pytorchs(name: str) -> None:
    assert outcome(PROGRAMS[name], mindtorch) == outcome(PROGRAMS[name], torch)


@pytest.mark.parametrize("make", [by_tensor, by_channel])
def test_a_card_has_the_numbers(make: Program) -> None:
    ours, theirs = (tensor_facts(make(lib)) for lib in (mindtorch, torch))
    assert ours.statistics == theirs.statistics and ours.statistics is not None
    assert "-0.3000" in viz.picture(by_tensor(mindtorch))._repr_html_()


def test_a_quantised_model_is_saved_and_loaded() -> None:
    file = io.BytesIO()
    made, out, *_ = quantized(mindtorch)
    mindtorch.save(made.state_dict(), file)
    file.seek(0)
    other = mindtorch.ao.quantization.quantize_dynamic(mindtorch.nn.Sequential(
        mindtorch.nn.Linear(4, 8), mindtorch.nn.ReLU(), mindtorch.nn.Sequential(mindtorch.nn.Linear(8, 2, bias=False))))
    other.load_state_dict(mindtorch.load(file, weights_only=False))
    assert mindtorch.equal(other(mindtorch.cos(mindtorch.arange(12.)).reshape(3, 4)), out)


def test_left_out_operators_and_names_say_so() -> None:
    with pytest.raises(NotImplementedError, match=r"x.dequantize\(\) has the numbers"):
        by_tensor(mindtorch) + 1
    with pytest.raises(RuntimeError, match=r"torch.ao.quantization.HistogramObserver cannot be used"):
        mindtorch.ao.quantization.HistogramObserver()


@pytest.mark.parametrize("make", [
    lambda lib: lib.zeros(2, dtype=lib.quint8), lambda lib: lib.empty(2, dtype=lib.qint8),
    lambda lib: lib.full((2,), 1, dtype=lib.qint32), lambda lib: lib.tensor([1], dtype=lib.quint8),
    lambda lib: lib.ones(2).to(lib.quint8), lambda lib: lib.arange(3, dtype=lib.qint8),
    lambda lib: lib.rand(2, dtype=lib.qint8), lambda lib: lib.zeros_like(lib.ones(2), dtype=lib.quint8),
    lambda lib: lib.ones(2, dtype=lib.uint8).view(lib.quint8)],
    ids=["zeros", "empty", "full", "tensor", "to", "arange", "rand", "zeros_like", "view"])
def test_a_quantised_tensor_has_a_scale(make) -> None:
    with pytest.raises(RuntimeError, match=r"is made by torch\.quantize_per_tensor"):
        make(mindtorch)
    with pytest.raises(RuntimeError):
        repr(make(torch))  # of a view, printing is the first to fail there

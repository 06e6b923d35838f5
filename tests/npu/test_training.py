"""Training on the NPU: without a fallback, with the CPU's losses."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch as torch
from mindtorch import nn
from tests.npu import steps
from tests.npu.agreement import noted


def digits() -> tuple[Any, Any]:
    datasets = pytest.importorskip("sklearn.datasets", reason="the digits come with scikit-learn")
    data = datasets.load_digits()
    return torch.tensor(data.data, dtype=torch.float32) / 16, torch.tensor(data.target)


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
    "SGD, momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
    "SGD, everything": lambda parameters: torch.optim.SGD(
        parameters, lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4),
    "SGD, dampening": lambda parameters: torch.optim.SGD(
        parameters, lr=0.05, momentum=0.9, dampening=0.1, maximize=False),
    "Adam": lambda parameters: torch.optim.Adam(parameters, lr=1e-3),
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=1e-3),
    "Adam, amsgrad": lambda parameters: torch.optim.Adam(parameters, lr=1e-3, amsgrad=True, weight_decay=1e-4),
}


def losses(device: str, optimizer: Callable[[Any], Any], epochs: int = 2) -> tuple[list[float], float]:
    """The losses of training on the real digits, and the accuracy on those left out."""
    images, targets = (t.to(device) for t in digits())
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)).to(device)
    criterion, step = nn.CrossEntropyLoss(), optimizer(model.parameters())
    found = []
    for _ in range(epochs):
        for start in range(0, 1400, 100):
            step.zero_grad()
            loss = criterion(model(images[start:start + 100]), targets[start:start + 100])
            loss.backward()
            step.step()
            found.append(loss.item())
    with torch.no_grad():
        right = model(images[1400:]).argmax(1) == targets[1400:]
    return found, right.sum().item() / len(right)


@pytest.mark.parametrize("optimizer", steps.OPTIMIZERS)
@pytest.mark.parametrize("network", steps.NETWORKS)
def test_steps_of_networks_have_the_cpu_s_losses_and_nothing_falls_back(network: str, optimizer: str) -> None:
    expected = steps.losses(steps.NETWORKS[network], optimizer, "cpu")
    with noted() as (launched, fallen), warnings.catch_warnings():
        warnings.simplefilter("error")
        found = steps.losses(steps.NETWORKS[network], optimizer, "npu")
    assert not fallen
    assert found == pytest.approx(expected, abs=1e-4)
    assert "aclnnApplyAdamWV2" in launched or optimizer == "SGD"


def test_dropout_in_all_layers_of_a_transformer_does_not_fall_back() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.5, batch_first=True).to("npu")
    with noted() as (_, fallen), warnings.catch_warnings():
        warnings.simplefilter("error")
        layer(torch.randn(2, 3, 8, device="npu")).sum().backward()
    assert not fallen


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_losses_are_the_cpu_s_and_nothing_falls_back(name: str) -> None:
    expected, accuracy = losses("cpu", OPTIMIZERS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a fallback warns
        found, on_npu = losses("npu", OPTIMIZERS[name])
    assert found == pytest.approx(expected, abs=1e-4)
    assert on_npu == pytest.approx(accuracy, abs=0.01)
    assert found[-1] < found[0]


def test_a_model_trained_on_the_npu_reads_the_digits() -> None:
    _, accuracy = losses("npu", OPTIMIZERS["SGD, momentum"], epochs=12)
    assert accuracy > 0.88


def test_the_readme_s_first_lines() -> None:
    a = torch.randn(3, 4, device="npu")
    result = (a @ a.T).relu().sum()
    assert str(result.device) == "npu:0"
    host = a.cpu()
    assert result.item() == pytest.approx((host @ host.T).relu().sum().item(), rel=1e-5)
    assert "simulated" in torch.npu.get_device_name()

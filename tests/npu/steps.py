"""Training steps of a convolutional, a recurrent and an attention network, small ones of ``torch.nn``'s modules.

Each draws random numbers in one place in a step, for dropout: the first numbers after a seed are the same on the CPU
and on the simulated NPU, which goes on from there in its own way.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch as torch
from mindtorch import nn

WORDS, LENGTH, SAMPLES = 11, 5, 3


class Convolutional(nn.Module):
    loss = nn.CrossEntropyLoss(label_smoothing=0.1)

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3),
            nn.GroupNorm(2, 8), nn.GELU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.2), nn.Linear(32, WORDS))

    def forward(self, images: Any) -> Any:
        return self.layers(images)

    @staticmethod
    def batch() -> tuple[Any, Any]:
        return torch.randn(SAMPLES, 1, 8, 8), torch.randint(WORDS, (SAMPLES,))


class Sequences(nn.Module):
    """What the networks over words share."""

    loss = nn.CrossEntropyLoss(ignore_index=0)

    @staticmethod
    def batch() -> tuple[Any, Any]:
        return torch.randint(WORDS, (SAMPLES, LENGTH)), torch.randint(WORDS, (SAMPLES * LENGTH,))


class Recurrent(Sequences):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 6, padding_idx=0)
        self.memory = nn.LSTM(6, 7, num_layers=2, dropout=0.2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(14, WORDS)

    def forward(self, words: Any) -> Any:
        return self.out(self.memory(self.embedding(words))[0]).flatten(0, 1)


class Transformer(Sequences):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.places = nn.Embedding(WORDS, 8), nn.Parameter(torch.randn(LENGTH, 8) * 0.1)
        self.dropout = nn.Dropout(0.2)
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0, batch_first=True, activation="gelu")
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(8, WORDS)

    def forward(self, words: Any) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH, device=words.device)
        hidden = self.dropout(self.embedding(words) + self.places)
        return self.out(self.layers(hidden, mask=mask, is_causal=True)).flatten(0, 1)


NETWORKS = {network.__name__: network for network in (Convolutional, Recurrent, Transformer)}
OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=1e-2),
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
}


def losses(network: Any, optimizer: str, device: str, steps: int = 3) -> list[float]:
    """The losses of some steps: forward, backward, gradients clipped, the optimizer's step."""
    torch.manual_seed(0)
    model, batches = network(), [network.batch() for _ in range(steps)]
    stepper = OPTIMIZERS[optimizer](model.to(device).parameters())
    found = []
    for number, (inputs, targets) in enumerate(batches):
        torch.manual_seed(number)
        stepper.zero_grad()
        loss = model.loss(model(inputs.to(device)), targets.to(device))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        stepper.step()
        found.append(loss.item())
    return found

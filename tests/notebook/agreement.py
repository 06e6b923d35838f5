"""Compare what ``%%profile`` and ``%%timeline`` say of PyTorch's training steps with the time that the steps take by
themselves: ``python -m tests.notebook.agreement [--rounds 8]``. Of each the fastest round counts; other programs that
run at the same time make all of them longer, and not by as much.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import torch
from torch import nn

from mindtorch import introspect

AGREED = 0.1  #: of a plain run that a sum may differ by


class Tagger(nn.Module):
    """An LSTM that labels the words of sentences."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(120, 48)
        self.lstm = nn.LSTM(48, 96, 2, batch_first=True)
        self.head = nn.Linear(96, 12)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(self.embed(words))[0])


def networks() -> dict[str, tuple[nn.Module, torch.Tensor, int]]:
    """Return networks with an input, and how many steps make a round."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    pictures = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 24, 3),
                             nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(96, 10))
    return {"Transformer": (nn.TransformerEncoder(layer, 3), torch.randn(4, 16, 64), 5),
            "CNN": (pictures, torch.randn(8, 3, 28, 28), 10), "LSTM": (Tagger(), torch.randint(0, 120, (4, 20)), 10)}


def steps_of(model: nn.Module, given: torch.Tensor, count: int) -> Callable[[], None]:
    """Return a function that trains for some steps."""
    optimizer = torch.optim.AdamW(model.parameters())

    def steps() -> None:
        for _ in range(count):
            optimizer.zero_grad()
            model(given).square().mean().backward()
            optimizer.step()

    return steps


def times(steps: Callable[[], None], names: dict[str, Any]) -> tuple[int, int, int]:
    """Return the nanoseconds of a round: by itself, of its profile, of its timeline."""
    steps()
    start = perf_counter_ns()
    steps()
    plain = perf_counter_ns() - start
    with introspect.profile(names) as profile:
        steps()
    with introspect.timeline(names) as timeline:
        steps()
    return plain, profile.program, timeline.end - timeline.start


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.notebook.agreement", description=__doc__)
    parser.add_argument("--rounds", type=int, default=8, help="of each network (8)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    differ = 0
    for name, (model, given, count) in networks().items():
        steps = steps_of(model, given, count)
        rounds = [times(steps, {"model": model}) for _ in range(options.rounds)]
        plain, *sums = map(min, zip(*rounds, strict=True))
        said = [f"{what} {time / plain:.2f}" for what, time in zip(("%%profile", "%%timeline"), sums, strict=True)]
        print(f"{name}: {plain / 1e6:.2f} ms by itself;", ", ".join(said), flush=True)
        differ += any(abs(time / plain - 1) > AGREED for time in sums)
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())

"""Compare what ``%%profile`` and ``%%timeline`` say of PyTorch's training steps with the time that the steps take by
themselves: ``python -m tests.notebook.agreement [--rounds 8]``. Each is compared with the plain steps right before and
right after it, since a processor's speed changes from one moment to the next, and times when other programs have the
processor are left out; the median of the rounds counts.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from itertools import pairwise
from statistics import quantiles
from time import thread_time_ns
from typing import Any

import torch
from torch import nn

from mindtorch import introspect
from mindtorch.viz.profile import measuring_text

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


def by_themselves(steps: Callable[[], None]) -> int:
    """Return the nanoseconds of the steps when nothing looks on."""
    start = thread_time_ns()
    steps()
    return thread_time_ns() - start


def compared(steps: Callable[[], None], names: dict[str, Any]) -> tuple[float, float, float, str]:
    """Return the nanoseconds of plain steps in a round, what the profile and the timeline say of them as parts of
    that, and what the profile says of its measuring.
    """
    plain = [by_themselves(steps)]
    with introspect.profile(names) as profile:
        steps()
    plain.append(by_themselves(steps))
    with introspect.timeline(names) as timeline:
        steps()
    plain.append(by_themselves(steps))
    taken = (profile.program - profile.overhead.absent, timeline.end - timeline.start - timeline.overhead.absent)
    parts = [2 * time / sum(around) for time, around in zip(taken, pairwise(plain), strict=True)]
    return min(plain), *parts, measuring_text(profile.observing, profile.program, profile.overhead)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.notebook.agreement", description=__doc__)
    parser.add_argument("--rounds", type=int, default=8, help="of each network (8)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    differ = 0
    for name, (model, given, count) in networks().items():
        steps = steps_of(model, given, count)
        steps()
        plain, *parts, said = zip(*(compared(steps, {"model": model}) for _ in range(options.rounds)), strict=True)
        for what, of in zip(("%%profile", "%%timeline"), parts, strict=True):
            low, middle, high = quantiles(of, n=4)
            print(f"{name} {what}: {middle:.2f} of {min(plain) / 1e6:.2f} ms by itself ({low:.2f} to {high:.2f})")
            differ += abs(middle - 1) > AGREED
        print(f"  {said[-1]}", flush=True)
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())

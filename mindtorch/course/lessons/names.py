"""Lesson 16: what does it take to write names?"""
from __future__ import annotations

from functools import partial
from pathlib import Path

from ..tasks import Lab, lesson
from . import torch

#: First names that are common in several countries.
NAMES = tuple(Path(__file__).with_suffix(".txt").read_text("utf-8").split())


def _run(function, names, heads, positions, length):
    """Return the result, and the gradients with respect to the three arguments."""
    source = torch.Generator().manual_seed(7)
    given = [torch.randn(names, heads, positions, length, generator=source) for _ in range(3)]
    given[0] = given[0] * 2
    for tensor in given:
        tensor.requires_grad_()
    found = function(*given)
    if not isinstance(found, torch.Tensor):
        return {"the result": found}
    seen = {"the result": found.detach()}
    if found.requires_grad:
        found.square().sum().backward()
    return seen | {f"the gradient of {name}": tensor.grad for name, tensor in zip("qkv", given, strict=True)}


LESSON = lesson(
    "names", attention=partial(
        Lab, cases=((1, 1, 1, 2), (1, 1, 3, 2), (2, 1, 3, 4), (2, 2, 3, 2)),
        run=_run,
        refuses=("scaled_dot_product_attention", "_scaled_dot_product_attention_math",
                              "_scaled_dot_product_flash_attention_for_cpu"),
        describe=lambda names, heads, positions, length:
            f"attention(q, k, v) of shape {(names, heads, positions, length)}"))

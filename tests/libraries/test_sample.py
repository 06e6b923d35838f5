"""A sample of ``python -m tests.libraries``: libraries that import ``torch`` print on mindtorch what PyTorch prints."""
from __future__ import annotations

import importlib.util

import pytest

from .run import compared, difference

SAMPLE = {"transformers": "transformers", "einops": "einops", "safetensors": "safetensors", "torchinfo": "torchinfo",
          "torchdiffeq": "torchdiffeq", "entmax": "entmax", "torchmetrics": "torchmetrics",
          "lion-pytorch": "lion_pytorch"}


@pytest.mark.parametrize("library", SAMPLE)
def test_a_library_prints_pytorchs_numbers(library: str) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    if importlib.util.find_spec(SAMPLE[library]) is None:
        pytest.skip(f"{library} is not installed (the extra 'interop' has it)")
    assert compared(library) == ("equal", "")


def test_outputs_are_compared_word_by_word_and_number_by_number() -> None:
    assert difference("loss 0.50001 [1]", "loss 0.5 [1]") == "" and difference("nan", "nan") == ""
    assert difference("loss 0.51", "loss 0.5") == "0.51 for 0.5" and difference("nan", "1.0") == "nan for 1.0"
    assert difference("loss 1", "lass 1") == "other words" and difference("1 2", "1") == "other words"

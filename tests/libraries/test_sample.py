"""A sample of ``python -m tests.libraries``: libraries that import ``torch`` print on mindtorch what PyTorch prints."""
from __future__ import annotations

import importlib.util

import pytest

from .run import difference, outcome, printed_together

#: The modules of libraries that install within seconds: the extra 'interop' has them.
SAMPLE = {"transformers": "transformers", "safetensors": "safetensors", "torchinfo": "torchinfo", "entmax": "entmax",
          "torchmetrics": "torchmetrics", "lion-pytorch": "lion_pytorch", "schedulefree": "schedulefree",
          "torch-optimizer": "torch_optimizer", "pytorch-ignite": "ignite", "poutyne": "poutyne", "higher": "higher",
          "torchdiffeq": "torchdiffeq", "torchsde": "torchsde", "torchcde": "torchcde", "zuko": "zuko",
          "tensorly": "tensorly", "einops": "einops", "gpytorch": "gpytorch",
          "rotary-embedding-torch": "rotary_embedding_torch", "local-attention": "local_attention"}
Printed = dict[str, tuple[bool, str]]


def installed() -> list[str]:
    return [library for library, module in SAMPLE.items() if importlib.util.find_spec(module) is not None]


@pytest.fixture(scope="module")
def outputs() -> tuple[Printed, Printed]:
    """Return what the programs print on PyTorch and on mindtorch."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    return printed_together(installed(), on_mindtorch=False), printed_together(installed(), on_mindtorch=True)


@pytest.mark.parametrize("library", SAMPLE)
def test_a_library_prints_pytorchs_numbers(library: str, outputs: tuple[Printed, Printed]) -> None:
    if library not in installed():
        pytest.skip(f"{library} is not installed (the extra 'interop' has it)")
    expected, found = outputs
    assert outcome(expected[library], found[library]) == ("equal", "")


def test_outputs_are_compared_word_by_word_and_number_by_number() -> None:
    assert difference("loss 0.50001 [1]", "loss 0.5 [1]") == "" and difference("nan", "nan") == ""
    assert difference("loss 0.51", "loss 0.5") == "0.51 for 0.5" and difference("nan", "1.0") == "nan for 1.0"
    assert difference("loss 1", "lass 1") == "other words" and difference("1 2", "1") == "other words"

"""The words in which tables say which dtypes an operator takes are those of PyTorch's dispatch macros."""
from __future__ import annotations

import pytest

from mindtorch._dtype import DTYPES, dtypes

torch = pytest.importorskip("torch", reason="PyTorch says what its groups are")
from torch.testing._internal import common_dtype as theirs  # noqa: E402


def named(group: tuple[torch.dtype, ...]) -> set[str]:
    return {str(dtype).removeprefix("torch.") for dtype in group}


def ours(words: str) -> set[str]:
    return {dtype.name for dtype in dtypes(words)}


def test_groups_are_pytorchs() -> None:
    half = (torch.float16, torch.bfloat16)
    assert ours("integral") == named(theirs.integral_types())
    assert ours("reduced") == named(half)
    assert ours("floating") == named(theirs.floating_types())
    assert ours("complex") == named(theirs.complex_types())
    assert ours("real") == named(theirs.all_types_and(*half))
    assert ours("all") == named(theirs.all_types_and_complex_and(torch.bool, *half)) == set(DTYPES)


def test_groups_and_names_of_dtypes_can_be_joined() -> None:
    assert ours("bool|int64|reduced") == {"bool", "int64", "float16", "bfloat16"}
    assert dtypes("float32|float64") == dtypes("floating")


def test_other_words_are_errors() -> None:
    for words in ("hf", "float", "bool|half", ""):
        with pytest.raises(ValueError, match="expected dtypes, or groups of them"):
            dtypes(words)

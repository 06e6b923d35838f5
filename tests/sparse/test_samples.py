"""PyTorch's operator database on sparse tensors, in a sample: ``python -m tests.sparse.samples`` runs all."""
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch, the reference of these tests, is not installed")

from .samples import compared, supported  # noqa: E402 (needs PyTorch)


def test_samples_of_sparse_tensors_have_pytorchs_results() -> None:
    found = [one for entry, layout in supported() for one in compared(entry, layout, 7)]
    assert len(found) > 100
    assert [one for one in found if one.differs] == []

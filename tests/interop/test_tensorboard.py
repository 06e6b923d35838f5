"""Files for TensorBoard, written by tensorboardX, of our tensors."""
from __future__ import annotations

from pathlib import Path

import pytest

import mindtorch as torch

pytest.importorskip("tensorboardX", reason="tensorboardX, which writes the files, is not installed")


def test_tensors_are_written_as_numbers(tmp_path: Path) -> None:
    from mindtorch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", torch.tensor(1.5, requires_grad=True), 1)
        writer.add_histogram("weights", torch.arange(4.0), 1)
    (written,) = tmp_path.iterdir()
    content = written.read_bytes()
    assert b"loss" in content and b"weights" in content

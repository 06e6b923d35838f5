"""Every test starts from the same seeds; PyTorch, the reference, runs in one thread."""

import random

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the reference of these tests")

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def same_seeds() -> None:
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)

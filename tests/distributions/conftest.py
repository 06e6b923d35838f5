"""Arguments are validated in both libraries."""
from __future__ import annotations

import pytest

from .both import LIBRARIES


@pytest.fixture(scope="module", autouse=True)
def validated() -> None:
    """Switch validation on: PyTorch's ``torch.compile``, which other tests call, switches it off in the process."""
    for lib in LIBRARIES:
        lib.distributions.Distribution.set_default_validate_args(True)

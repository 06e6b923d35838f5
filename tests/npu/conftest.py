"""What tests of the simulator start from, where they ask for it by name."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

from . import program


@pytest.fixture
def simulated() -> Iterator[None]:
    """A simulator of its own."""
    with program.fresh_simulator():
        yield


@pytest.fixture
def sanitized() -> Iterator[None]:
    """A simulator of its own, with the sanitizer at work."""
    with program.fresh_simulator(sanitizer=True):
        yield

"""``%why`` for mistakes that were asked about in public: it names them, and the cures that it offers were carried out.

A sample is explained here; ``python -m tests.notebook.asked`` counts all of them.
"""
from __future__ import annotations

import pytest

import mindtorch

from .asked import EVERY, missing
from .forum import ASKED, Asked
from .pages import PAGES

TAKEN = EVERY[::9]


def test_there_are_many_each_with_its_address():
    assert len(ASKED) >= 120 and all(len(asked.address.split("/")) == 4 for asked in ASKED)
    assert len(PAGES) >= 45 and all(asked.address.startswith("http") for asked in PAGES)
    assert len({asked.address for asked in EVERY}) == len(EVERY)


@pytest.mark.parametrize("asked", TAKEN, ids=[asked.address for asked in TAKEN])
@pytest.mark.sampled(2)
def test_it_is_named_and_its_cure_was_carried_out(asked: Asked):
    assert not missing(mindtorch, asked)


@pytest.mark.parametrize("asked", TAKEN[::4], ids=[asked.address for asked in TAKEN[::4]])
def test_it_is_named_of_pytorchs_error_too(asked: Asked):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    assert not missing(torch, asked)

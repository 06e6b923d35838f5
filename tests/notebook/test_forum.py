"""``%why`` for mistakes that were asked about in public: it names them, and the cures that it offers were carried out.

A sample of the table is explained for mindtorch. With ``FORUM=whole`` in the environment
the whole table is, for PyTorch too.
"""
from __future__ import annotations

import os
from functools import partial

import pytest

import mindtorch
from mindtorch import introspect

from .errors import caught
from .forum import ASKED, Asked
from .pages import PAGES
from .test_mistakes import run

WHOLE = os.environ.get("FORUM") == "whole"
EVERY = [*ASKED, *PAGES]
TAKEN = EVERY if WHOLE else EVERY[::9]
#: Of PyTorch's errors these are not explained as mindtorch's are.
MISSED = 10


def missing(lib, asked: Asked) -> str:
    """What an explanation lacks, or ''."""
    facts = introspect.explain(caught(partial(run, lib, asked.program)))
    told = "\n".join([facts.title, facts.cause, *(f"{fix.text}: {fix.code}" for fix in facts.fixes)])
    tried = "\n".join(f"{fix.code}\n{fix.tried}" for fix in facts.fixes if fix.tried)
    if not facts.kind:
        return f"{asked.address}: no row knows it"
    if asked.says not in told:
        return f"{asked.address}: {asked.says!r} is not in\n{told}"
    return "" if asked.fix in tried or not hasattr(os, "fork") else f"{asked.address}: {asked.fix!r} was not tried"


def test_there_are_many_each_with_its_address():
    assert len(ASKED) >= 120 and all(len(asked.address.split("/")) == 4 for asked in ASKED)
    assert len(PAGES) >= 45 and all(asked.address.startswith("http") for asked in PAGES)


@pytest.mark.parametrize("asked", TAKEN, ids=[asked.address for asked in TAKEN])
def test_it_is_named_and_its_cure_was_carried_out(asked: Asked):
    assert not missing(mindtorch, asked)


def test_most_are_named_of_pytorchs_errors_too():
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    found = [lacks for asked in (EVERY if WHOLE else TAKEN[::4]) if (lacks := missing(torch, asked))]
    assert len(found) <= (MISSED if WHOLE else 0), "\n".join(found)

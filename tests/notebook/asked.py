"""Count the mistakes of public threads and pages that ``%why`` explains: ``python -m tests.notebook.asked [words]``.

A word chooses the rows whose address has it; ``mindtorch`` or ``torch`` alone asks that library alone. A row that is
not explained is printed with what is said instead.
"""
from __future__ import annotations

import os
import sys
import types
from functools import partial
from importlib import import_module, util

from mindtorch import introspect

from .errors import caught
from .forum import ASKED, Asked
from .pages import PAGES
from .test_mistakes import run

EVERY = [*ASKED, *PAGES]
NAMES = ("mindtorch", "torch")


def missing(lib: types.ModuleType, asked: Asked) -> str:
    """Return what an explanation lacks: the words that name the mistake, or the cure that was to be carried out."""
    facts = introspect.explain(caught(partial(run, lib, asked.program)))
    told = "\n".join([facts.title, facts.cause, *(f"{fix.text}: {fix.code}" for fix in facts.fixes)])
    tried = "\n".join(f"{fix.code}\n{fix.tried}" for fix in facts.fixes if fix.tried)
    if not facts.kind:
        return f"{asked.address}: no row knows it"
    if asked.says not in told:
        return f"{asked.address}: {asked.says!r} is not in\n{told}"
    return "" if asked.fix in tried or not hasattr(os, "fork") else f"{asked.address}: {asked.fix!r} was not tried"


def main(given: list[str]) -> int:
    words = [word for word in given if word not in NAMES]
    chosen = [asked for asked in EVERY if not words or any(word in asked.address for word in words)]
    for name in [name for name in NAMES if (name in given or not set(NAMES) & set(given)) and util.find_spec(name)]:
        lacks = [lack for asked in chosen if (lack := missing(import_module(name), asked))]
        print(*lacks, f"{name}: {len(chosen) - len(lacks)} of {len(chosen)} explained, with "
              f"{sum(bool(asked.fix) for asked in chosen)} cures to be carried out", sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

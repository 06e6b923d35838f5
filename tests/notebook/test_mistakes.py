"""``%why`` for the mistakes that students make: what it names, what it must not say, and cures that are carried out."""
from __future__ import annotations

import linecache
import re
import types
import warnings

import numpy as np
import pytest

import mindtorch
from mindtorch import introspect, viz

from .errors import caught
from .mistakes import MISTAKES, Mistake

IDS = [f"{i} {mistake.fails[:28]}" for i, mistake in enumerate(MISTAKES)]


def run(lib: types.ModuleType, source: str) -> None:
    """Run a program of a library, as a cell is run: its lines can be read where it fails."""
    space = {"torch": lib, "nn": lib.nn, "F": lib.nn.functional, "optim": lib.optim, "np": np, "__name__": "__main__"}
    name = f"<mistake {hash(source)}>"
    linecache.cache[name] = len(source), None, [f"{line}\n" for line in source.split("\n")], name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(source, name, "exec"), space)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_there_are_many():
    assert len(MISTAKES) >= 101 and len({(m.given, m.fails) for m in MISTAKES}) == len(MISTAKES)


@pytest.mark.parametrize("mistake", MISTAKES, ids=IDS)
def test_a_mistake_is_explained_and_its_cure_works(mistake: Mistake):
    error = caught(lambda: run(mindtorch, f"{mistake.given}\n{mistake.fails}"))
    facts = introspect.explain(error)
    assert facts.kind, "no row knows it"
    told = "\n".join([facts.title, facts.cause, *(f"{fix.text}: {fix.code}" for fix in facts.fixes)])
    assert mistake.says in told
    assert mistake.cure in "\n".join(f"{fix.text}\n{fix.code}" for fix in facts.fixes)
    assert not mistake.never or not re.search(rf"(?<!\w){re.escape(mistake.never)}", told)
    assert facts.title in viz.why_text(facts)
    run(mindtorch, f"{mistake.given}\n{mistake.fixed or mistake.cure}")


@pytest.mark.parametrize("mistake", MISTAKES, ids=IDS)
def test_it_is_the_mistake_that_pytorch_makes_of_it(mistake: Mistake):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    theirs, ours = (caught(lambda lib=lib: run(lib, f"{mistake.given}\n{mistake.fails}")) for lib in (torch, mindtorch))
    assert type(theirs).__name__ == mistake.error
    if not re.match(r"Net\(|torch.tensor\(\['", mistake.fails):  # Python's own error, of another step of the way
        assert type(ours).__name__ == mistake.error
    run(torch, f"{mistake.given}\n{mistake.fixed or mistake.cure}")


#: Mistakes with names, which are told from what the program wrote, whosever objects they are.
OF_NAMES = [m for m in MISTAKES if m.error in ("AttributeError", "NameError") and "None" not in m.says
            and "nothing" not in m.says and not m.says.startswith("before")]


@pytest.mark.parametrize("mistake", OF_NAMES, ids=[m.fails[:28] for m in OF_NAMES])
def test_names_are_explained_of_pytorch_too(mistake: Mistake):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    facts = introspect.explain(caught(lambda: run(torch, f"{mistake.given}\n{mistake.fails}")))
    told = "\n".join([facts.title, facts.cause, *(f"{fix.text}: {fix.code}" for fix in facts.fixes)])
    assert facts.kind and mistake.cure in told
    assert not mistake.never or not re.search(rf"(?<!\w){re.escape(mistake.never)}", told)

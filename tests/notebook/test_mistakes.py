"""``%why`` for the mistakes that students make: what it names, what it must not say, and cures that are carried out."""
from __future__ import annotations

import linecache
import re
import types
import warnings
from dataclasses import replace

import numpy as np
import pytest

import mindtorch
from mindtorch import introspect, viz

from .errors import caught, explain
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


@pytest.fixture(params=["mindtorch", "torch"])
def lib(request):
    return mindtorch if request.param == "mindtorch" else pytest.importorskip("torch", reason="needs PyTorch")


def explained(lib: types.ModuleType, mistake: Mistake) -> introspect.Explanation:
    return explain(caught(lambda: run(lib, f"{mistake.given}\n{mistake.fails}")))


@pytest.mark.parametrize("mistake", MISTAKES, ids=IDS)
def test_a_mistake_is_explained_and_its_cure_works(lib: types.ModuleType, mistake: Mistake):
    facts = explained(lib, mistake)
    assert facts.kind, "no row knows it"
    told = "\n".join([facts.title, facts.cause, *(f"{fix.text}: {fix.code}" for fix in facts.fixes)])
    assert mistake.says in told
    assert mistake.cure in "\n".join(f"{fix.text}\n{fix.code}" for fix in facts.fixes)
    assert not mistake.never or not re.search(rf"(?<!\w){re.escape(mistake.never)}", told)
    assert facts.title in viz.why_text(facts)
    assert lib is mindtorch or not re.search(r"mindtorch|\bnpu\b", told)
    run(lib, f"{mistake.given}\n{mistake.fixed or mistake.cure}")


@pytest.mark.parametrize("mistake", MISTAKES, ids=IDS)
def test_it_is_the_mistake_that_pytorch_makes_of_it(mistake: Mistake):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    theirs, ours = (caught(lambda lib=lib: run(lib, f"{mistake.given}\n{mistake.fails}")) for lib in (torch, mindtorch))
    assert type(theirs).__name__ == mistake.error
    if not re.match(r"Net\(|torch.tensor\(\['", mistake.fails):  # Python's own error, of another step of the way
        assert type(ours).__name__ == mistake.error


@pytest.mark.parametrize("mistake", MISTAKES, ids=IDS)
def test_of_pytorchs_error_the_same_is_known(mistake: Mistake):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    ours, theirs = (known(explained(lib, mistake)) for lib in (mindtorch, torch))
    same = ("kind", "fixes") if ours["kind"] in TOLD_OTHERWISE else tuple(ours)
    assert [ours[name] for name in same] == [theirs[name] for name in same]


#: Of these PyTorch does not tell which node was freed before, or says what release it is of; or the errors differ.
TOLD_OTHERWISE = ("backward twice", "no such name", "module made with data")


def known(facts: introspect.Explanation) -> dict[str, object]:
    """What an explanation knows, without the numbers of storages and of writes."""
    tensors = [replace(tensor, storage=0, version=0) for tensor in facts.tensors]
    pictures = [replace(picture, storage=0) if isinstance(picture, introspect.why.Places) else picture
                for picture in facts.pictures]
    return {**vars(facts), "tensors": tensors, "pictures": pictures, "error": "", "message": "",
            "call": facts.call and facts.call.text}

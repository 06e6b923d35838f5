"""``python -m mindtorch tour``: what it starts, and with which arguments."""
from __future__ import annotations

import subprocess
import sys

import pytest

from mindtorch._run import command


@pytest.mark.parametrize(("given", "module", "passed"), [
    (["tour"], "jupyterlab", []),
    (["tour", "--", "--allow-root", "--port=1"], "jupyterlab", ["--allow-root", "--port=1"]),
    (["tour", "--html", "out.html", "--", "--allow-errors"], "nbconvert", ["--allow-errors"]),
])
def test_the_tour_passes_arguments_on(monkeypatch, given, module, passed):
    started = []
    monkeypatch.setattr(subprocess, "call", lambda words: started.append(words) or 0)
    monkeypatch.setattr(sys, "argv", ["mindtorch", *given])
    assert command.main() == 0
    words, = started
    assert words[1:3] == ["-m", module]
    assert words[words.index(str(command.NOTEBOOKS / "00_tour.ipynb")) + 1 :] == passed

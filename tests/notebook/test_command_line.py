"""``mindtorch tour``: what it starts, and with which arguments; the notebooks of a wheel."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from mindtorch._run import command, tour

NOTEBOOK = tour.NOTEBOOKS / "00_tour.ipynb"


@pytest.fixture
def started(monkeypatch):
    """Return what would be started, on a machine with a screen, by a user who is not root."""
    words = []
    monkeypatch.setattr(subprocess, "call", lambda given: words.append(given) or 0)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("DISPLAY", ":0")
    return words


def run(monkeypatch, started, *given):
    monkeypatch.setattr(sys, "argv", ["mindtorch", *given])
    assert command.main() == 0
    return started.pop()


@pytest.mark.parametrize(("given", "module", "passed"), [
    (["tour"], "jupyterlab", []),
    (["tour", "--", "--allow-root", "--port=1"], "jupyterlab", ["--allow-root", "--port=1"]),
    (["tour", "--html", "out.html", "--", "--allow-errors"], "nbconvert", ["--allow-errors"]),
])
def test_the_tour_passes_arguments_on(monkeypatch, started, given, module, passed):
    words = run(monkeypatch, started, *given)
    assert words[1:3] == ["-m", module] and words[words.index(str(NOTEBOOK)) + 1:] == passed


def test_the_address_that_jupyterlab_prints_is_that_of_the_tour(monkeypatch, started):
    assert f"--LabApp.default_url=/lab/tree/{NOTEBOOK.name}" in run(monkeypatch, started, "tour")


def test_root_and_machines_without_a_screen_need_no_arguments(monkeypatch, started, capsys):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert run(monkeypatch, started, "tour")[-2:] == ["--allow-root", "--no-browser"]
    assert "ssh -L" in capsys.readouterr().err
    assert run(monkeypatch, started, "tour", "--", "--allow-root")[-2:] == ["--allow-root", "--no-browser"]


def test_the_notebooks_of_a_wheel_are_copied_once(monkeypatch, started, tmp_path):
    packed = tmp_path / "site-packages" / "notebooks"
    packed.mkdir(parents=True)
    shutil.copy(NOTEBOOK, packed)
    monkeypatch.setattr(tour, "NOTEBOOKS", packed)
    monkeypatch.chdir(tmp_path)
    copy = tmp_path / tour.COPY / "00_tour.ipynb"
    assert str(copy) in run(monkeypatch, started, "tour") and copy.exists()
    copy.write_text("mine")
    run(monkeypatch, started, "tour")
    assert copy.read_text() == "mine"

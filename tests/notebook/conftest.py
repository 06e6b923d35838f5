"""Shells of IPython, as a notebook has them: bare, and with the extension loaded."""
from __future__ import annotations

import atexit
import sys
from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell

from mindtorch.introspect.why import trial


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a cure that is tried the time that it may take on a busy machine."""
    monkeypatch.setattr(trial, "SECONDS", 60.0)
    monkeypatch.setattr(trial, "BUDGET", 300.0)


@pytest.fixture
def bare() -> Iterator[InteractiveShell]:
    main = sys.modules["__main__"]
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.display_formatter.active_types = ["text/plain", "text/html"]
    yield shell
    InteractiveShell.clear_instance()
    atexit.unregister(shell.atexit_operations)  # which collects all garbage: at the end of all tests, for each shell
    shell.history_manager.end_session()
    sys.modules["__main__"] = main  # whose place the shell's module took; processes that are spawned look there


@pytest.fixture
def shell(bare: InteractiveShell) -> Iterator[InteractiveShell]:
    bare.run_line_magic("load_ext", "mindtorch")
    bare.run_cell("import mindtorch as torch")
    yield bare
    bare.run_line_magic("unload_ext", "mindtorch")

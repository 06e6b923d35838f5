"""A module that is loaded when it is needed first is loaded whole: handlers of signals wait until it is."""
from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from mindtorch._base import forks, interrupts
from mindtorch._base.interrupts import signals_wait, uninterrupted

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="this system has no such signals")


@pytest.fixture
def handlers():
    """Put back the handlers that a test sets."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return the name of a module that raises signals half way."""
    (tmp_path / "half_way.py").write_text(
        "import signal\nfor number in (signal.SIGUSR1, signal.SIGINT, signal.SIGUSR2):\n"
        "    signal.raise_signal(number)\nvalue = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "half_way", raising=False)
    yield "half_way"
    sys.modules.pop("half_way", None)


def test_handlers_find_the_module_whole(handlers, module) -> None:
    found = []
    for number in (signal.SIGUSR1, signal.SIGINT, signal.SIGUSR2):
        signal.signal(number, lambda number, frame: found.append((number, forks.load_module(module).value)))
    assert forks.load_module(module).value == 1
    assert found == [(signal.SIGUSR1, 1), (signal.SIGINT, 1), (signal.SIGUSR2, 1)]


def test_an_interrupt_comes_after_the_import_and_no_other_signal_is_lost(handlers, module) -> None:
    found = []
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda number, frame: found.append(number))
    with pytest.raises(KeyboardInterrupt):
        forks.load_module(module)
    assert found == [signal.SIGUSR1, signal.SIGUSR2] and not forks._importing
    assert sys.modules[module].value == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_signal_that_comes_while_handlers_are_put_back_is_handled(handlers, monkeypatch) -> None:
    found = []
    signal.signal(signal.SIGUSR1, lambda number, frame: found.append(number))
    with signals_wait():
        monkeypatch.setattr(interrupts, "_keeping", False)
        signal.raise_signal(signal.SIGUSR1)
        assert found == [signal.SIGUSR1]
        monkeypatch.undo()
    assert found == [signal.SIGUSR1]


def test_a_block_inside_one_of_the_other_kind_waits_for_its_end(handlers) -> None:
    found = []
    for number in (signal.SIGINT, signal.SIGUSR1):
        signal.signal(number, lambda number, frame: found.append(number))
    with uninterrupted():
        signal.raise_signal(signal.SIGUSR1)
        assert found == [signal.SIGUSR1]
        with signals_wait():
            signal.raise_signal(signal.SIGUSR1)
            signal.raise_signal(signal.SIGINT)
        assert found == [signal.SIGUSR1]
    assert found == [signal.SIGUSR1, signal.SIGUSR1, signal.SIGINT]


def test_an_import_that_failed_is_tried_again(tmp_path, monkeypatch) -> None:
    (tmp_path / "fails_once.py").write_text("import builtins\nif builtins.fails.pop():\n    raise ValueError\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import builtins

    monkeypatch.setattr(builtins, "fails", [False, True], raising=False)
    with pytest.raises(ValueError):
        forks.load_module("fails_once")
    assert forks.load_module("fails_once") is sys.modules.pop("fails_once") and not forks._importing


HANDLER_COMPUTES = """
import signal, sys
import mindtorch as torch

def handler(number, frame):
    with torch.no_grad():
        (torch.ones(2) + 1) * 2

def each_line(frame, event, argument):
    if event == "line" and frame.f_code.co_name == "<module>" and "/_operators/" in frame.f_code.co_filename:
        sys.settrace(None)
        signal.raise_signal(signal.SIGUSR1)
    return each_line

signal.signal(signal.SIGUSR1, handler)
sys.settrace(each_line)
print((torch.ones(2) * 3 + 1).tolist())
assert sys.gettrace() is None, "no module was loaded"
"""


def test_a_handler_that_computes_may_come_while_the_first_operators_are_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", HANDLER_COMPUTES], capture_output=True, text=True, timeout=100)
    assert (done.stdout, done.stderr) == ("[4.0, 4.0]\n", "")


def test_private_modules_of_pytorch_are_attributes_of_their_packages() -> None:
    names = ["utils._pytree.tree_map", "utils._python_dispatch.TorchDispatchMode", "_functorch.vmap.vmap", "_decomp",
             "_library.infer_schema", "fx.experimental.proxy_tensor.make_fx", "utils._contextlib"]
    program = f"import mindtorch, operator; [operator.attrgetter(name)(mindtorch) for name in {names}]"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("name", ["a" * 300, "nn/functional", "a\0b", "é" * 200])
def test_a_name_that_no_file_can_have_is_no_attribute(name: str) -> None:
    import mindtorch

    for package in (mindtorch, mindtorch.nn, mindtorch.utils):
        with pytest.raises(AttributeError):
            getattr(package, name)

"""A process that is forked while other threads work has neither their locks nor their half-done imports."""
from __future__ import annotations

import os
import signal
import threading

import pytest

import mindtorch
from mindtorch import _forks
from mindtorch._dispatch import dispatcher

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def said_by_child(function) -> int:
    """What a function returns in a forked process, as a number below 256."""
    child = os.fork()
    if not child:
        os._exit(int(function()))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_lock_that_another_thread_holds_is_free_in_the_child() -> None:
    lock, held, done = _forks.lock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(20)
    assert not lock.acquire(timeout=0.01)
    try:
        assert said_by_child(lambda: lock.acquire(timeout=5)) == 1
    finally:
        done.set()
        thread.join()


def test_a_fork_waits_for_an_import_of_another_thread(tmp_path, monkeypatch) -> None:
    (tmp_path / "imported_slowly.py").write_text("import builtins\nbuiltins.began.set()\nbuiltins.go_on.wait(0.2)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import builtins

    began = threading.Event()
    monkeypatch.setattr(builtins, "began", began, raising=False)
    monkeypatch.setattr(builtins, "go_on", threading.Event(), raising=False)
    thread = threading.Thread(target=_forks.load_module, args=("imported_slowly",))
    thread.start()
    assert began.wait(20)
    assert said_by_child(lambda: len(_forks._importing)) == 0
    thread.join()
    assert not _forks._importing


def test_an_import_that_takes_too_long_does_not_keep_a_fork(monkeypatch) -> None:
    monkeypatch.setattr(_forks, "PATIENCE", 0.01)
    monkeypatch.setattr(_forks, "_importing", {-1})
    assert said_by_child(lambda: len(_forks._importing)) == 0


def test_what_another_thread_does_to_all_calls_ends_in_the_child() -> None:
    """Its lock of the dispatcher is free, and calls no longer look for its autocast."""
    held, done = threading.Event(), threading.Event()

    def work() -> None:
        with mindtorch.autocast("cpu"), dispatcher._lock:
            held.set()
            done.wait(20)

    def calls_look_at_threads() -> bool:
        signal.alarm(20)  # ends a child that waits for the lock
        with mindtorch.autocast("cpu"):
            pass
        return bool(dispatcher.mode & dispatcher.THREAD_STATE)

    thread = threading.Thread(target=work)
    thread.start()
    assert held.wait(20)
    try:
        assert dispatcher.mode & dispatcher.THREAD_STATE
        assert said_by_child(calls_look_at_threads) == 0
    finally:
        done.set()
        thread.join()

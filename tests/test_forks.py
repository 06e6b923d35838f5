"""A process that is forked while other threads work has neither their locks nor their half-done imports."""
from __future__ import annotations

import os
import signal
import threading
import time

import pytest

import mindtorch
from mindtorch._base import forks
from mindtorch._dispatch import dispatcher

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def said_by_child(function) -> int:
    """Return the result of a function in a forked process, as a number below 256."""
    child = os.fork()
    if not child:
        os._exit(int(function()))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_lock_that_another_thread_holds_is_free_in_the_child(monkeypatch) -> None:
    monkeypatch.setattr(forks, "LOCKS", 0.01)
    lock, held, done = forks.lock(), threading.Event(), threading.Event()

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


def test_a_fork_waits_for_who_holds_a_lock_so_that_what_it_guards_is_whole_in_the_child() -> None:
    locks, halves, held = [forks.lock() for _ in range(3)], [0, 0], threading.Event()

    def change() -> None:
        with locks[1], locks[2], locks[0]:
            halves[0] = 1
            held.set()
            time.sleep(0.1)
            halves[1] = 1

    thread = threading.Thread(target=change)
    thread.start()
    assert held.wait(20)
    assert said_by_child(lambda: halves == [1, 1] and all(lock.acquire(timeout=0) for lock in locks)) == 1
    thread.join()
    assert all(lock.acquire(timeout=5) for lock in locks)  # the parent has given them back


def test_a_fork_inside_a_lock_leaves_it_in_both_processes() -> None:
    """As of a signal's handler that forks."""
    lock = forks.lock()

    def held_once() -> bool:
        lock.release()
        return not lock._is_owned()

    with lock:
        assert said_by_child(held_once) == 1
    assert not lock._is_owned()


def test_a_generator_from_which_another_thread_draws_can_be_used_in_the_child(monkeypatch) -> None:
    """NumPy's engine has a lock of its own, and hung the child where the fork came while it was held."""
    monkeypatch.setattr(forks, "LOCKS", 0.01)
    generator = mindtorch.Generator().manual_seed(3)
    numbers = mindtorch.rand(100, generator=generator)
    held, done = threading.Event(), threading.Event()

    def draw() -> None:
        with generator._engine.lock:
            held.set()
            done.wait(20)

    def same_numbers() -> bool:
        signal.alarm(20)  # ends a child that waits for the lock
        return mindtorch.equal(mindtorch.rand(100, generator=generator.manual_seed(3)), numbers)

    thread = threading.Thread(target=draw)
    thread.start()
    assert held.wait(20)
    try:
        assert said_by_child(same_numbers) == 1
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
    thread = threading.Thread(target=forks.load_module, args=("imported_slowly",))
    thread.start()
    assert began.wait(20)
    assert said_by_child(lambda: len(forks._importing)) == 0
    thread.join()
    assert not forks._importing


def test_an_import_that_takes_too_long_does_not_keep_a_fork(monkeypatch) -> None:
    monkeypatch.setattr(forks, "IMPORTS", 0.01)
    monkeypatch.setattr(forks, "_importing", {-1})
    assert said_by_child(lambda: len(forks._importing)) == 0


def test_what_another_thread_does_to_all_calls_ends_in_the_child(monkeypatch) -> None:
    """Its lock of the dispatcher is free, and calls no longer look for its autocast."""
    monkeypatch.setattr(forks, "LOCKS", 0.01)
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

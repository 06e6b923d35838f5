"""Functions that run in several processes at once: ``torch.multiprocessing.spawn``."""
from __future__ import annotations

import multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from .._base.interrupts import uninterrupted


class ProcessException(Exception):
    """A process failed: its number, its process id."""

    def __init__(self, msg: str, error_index: int, error_pid: int):
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self) -> Any:
        return type(self), tuple(self.__dict__.values())


class ProcessRaisedException(ProcessException):
    """A process failed with an exception, whose traceback is in the message."""


class ProcessExitedException(ProcessException):
    """A process ended with an exit code, or by a signal."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


def _run(function: Callable[..., Any], number: int, args: tuple[Any, ...], errors: Connection) -> None:
    try:
        function(number, *args)
    except KeyboardInterrupt:
        pass  # the process that started this one was interrupted, too, and says so
    except Exception:
        errors.send(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """Processes that were started together (``torch.multiprocessing.ProcessContext``)."""

    def __init__(self, processes: Sequence[Any], errors: Sequence[Connection]):
        self.processes, self.errors = processes, errors
        self.sentinels = {process.sentinel: number for number, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """Return the process ids."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process ends, or for ``timeout`` seconds; return whether all have ended.

        If one failed, the others have ``grace_period`` seconds to end by themselves, and then are made to. Raises
        ProcessRaisedException if it raised an exception, and ProcessExitedException if it ended otherwise.
        """
        for sentinel in wait(list(self.sentinels), timeout) if self.sentinels else ():
            number = self.sentinels.pop(sentinel)
            self.processes[number].join()
            if self.processes[number].exitcode:
                self._end(grace_period)
                self._raise(number)
        return not self.sentinels

    def _end(self, grace_period: float | None) -> None:
        self._wait(grace_period or 0.0)
        for force in ("terminate", "kill"):
            for process in self.processes:
                if process.is_alive():
                    getattr(process, force)()
            self._wait(30.0 if grace_period is None else grace_period)

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))

    def _raise(self, number: int) -> None:
        process, errors = self.processes[number], self.errors[number]
        try:
            if errors.poll():
                raise ProcessRaisedException(f"\n\n-- Process {number} terminated with the following error:\n"
                                             f"{errors.recv()}", number, process.pid)
        except EOFError:
            pass
        code = process.exitcode
        name = signal.Signals(-code).name if code < 0 else None
        how = f"signal {name}" if name else f"exit code {code}"
        raise ProcessExitedException(f"process {number} terminated with {how}", number, process.pid, code, name)


GRACE = 1.0  #: seconds in which processes may end by themselves once the call that started them has failed


def start_processes(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True,
                    daemon: bool = False, start_method: str = "spawn") -> ProcessContext | None:
    """Run ``fn(number, *args)`` in each of ``nprocs`` processes and wait for them, or with ``join=False`` return a
    ``ProcessContext`` (``torch.multiprocessing.start_processes``). Raises ProcessException if one fails; the others are
    ended, as all are where the call is interrupted.
    """
    context: Any = multiprocessing.get_context(start_method)
    started = ProcessContext((), ())
    try:
        for number in range(nprocs):
            with uninterrupted():  # else an unknown process might run
                mine, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_run, args=(fn, number, args, theirs), daemon=daemon)
                process.start()
                theirs.close()
                started = ProcessContext([*started.processes, process], [*started.errors, mine])
        while join and not started.join():
            pass
    except BaseException:
        started._end(GRACE)
        raise
    return None if join else started


def spawn(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
          start_method: str = "spawn") -> ProcessContext | None:
    """Call ``start_processes`` with the start method ``spawn``, which needs ``fn`` at the top level of a module
    (``torch.multiprocessing.spawn``).
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)

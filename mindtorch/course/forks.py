"""The process of which the processes of submissions are forks: it has imported the library, so that they need not.

It is started anew, with little of the grader's environment and without the grader's memory, so a fork of it holds
nothing that a submission may not see. The grader sends it a line of JSON and the ends of two pipes, and it answers.
"""
from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from typing import Any, NoReturn

from . import prison, student

#: Modules that lessons load, the libraries among them where they are installed.
IMPORTED = ("IPython.core.interactiveshell", "IPython.core.magics", "matplotlib.pyplot", "sklearn.datasets",
            *(f"mindtorch.{name}" for name in (
                "_dynamo", "_operators.linalg", "_operators.nn", "_operators.random", "_run.ipython", "_subclasses",
                "_backends.cpu.ops.nn", "course.tasks", "distributed", "fx", "nn", "optim", "viz.card",
                "viz.graph_picture", "viz.storage", "widgets")))


class Forks:
    """The grader's end: it starts the process, and asks for forks and for their ends, one at a time.

    Args:
        environment: of the process
    """

    def __init__(self, environment: dict[str, str]):
        self.home, self.lock = tempfile.TemporaryDirectory(), threading.Lock()
        self.connection, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())], cwd=self.home.name, pass_fds=[theirs.fileno()],
                env=environment | {"HOME": self.home.name, "MPLCONFIGDIR": self.home.name}, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start(self, told: dict[str, Any], pipes: Sequence[int]) -> int:
        """Fork a process that answers requests (see ``student``), with ``pipes`` as its input and output, and return
        its number. Raise OSError if it cannot be.

        Args:
            told: its ``environment`` and its ``folder``, or its ``prison`` (see that module)
        """
        return self._ask({"start": told}, pipes)

    def end(self, number: int) -> None:
        """Kill a fork, and all that it has started."""
        self._ask({"end": number})

    def _ask(self, request: dict[str, Any], pipes: Sequence[int] = ()) -> int:
        with self.lock:
            socket.send_fds(self.connection, [json.dumps(request).encode() + b"\n"], pipes)
            answer, _ = _receive(self.connection)
        if not answer:
            raise OSError("the process that submissions are forks of has ended")
        return json.loads(answer)


def _receive(connection: socket.socket) -> tuple[bytes, list[int]]:
    """Return a line, or nothing at the end, and the descriptors that came with it."""
    line, pipes, _, _ = socket.recv_fds(connection, 1 << 16, 2)
    while line and not line.endswith(b"\n"):
        more = connection.recv(1 << 16)
        line = line + more if more else b""
    return line, pipes


def serve(connection: socket.socket) -> None:
    """Fork and kill processes as the grader asks, and kill those that are left at its end."""
    for name in IMPORTED:
        try:
            importlib.import_module(name)
        except ImportError:
            if name.startswith("mindtorch"):
                raise
    gc.collect()
    gc.freeze()  # so that the memory stays shared
    running: set[int] = set()
    while True:
        line, pipes = _receive(connection)
        match json.loads(line or "null"):
            case {"start": told}:
                number = os.fork()
                if not number:
                    become(told, connection, pipes)
                running.add(number)
                for pipe in pipes:
                    os.close(pipe)
                answer = number
            case {"end": int(number)} if number in running:
                kill(number)
                running.discard(number)
                answer = 0
            case _:
                break
        connection.sendall(json.dumps(answer).encode() + b"\n")
    for number in running:
        kill(number)


def become(told: dict[str, Any], connection: socket.socket, pipes: list[int]) -> NoReturn:
    """Make a fork the process of a submission: it keeps nothing open but its pipes."""
    try:
        os.setpgid(0, 0)
        connection.detach()
        for descriptor, end in enumerate((*pipes, 2)):
            os.dup2(end, descriptor)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.environ.clear()
        os.environ.update(told["environment"])
        if "prison" in told:
            prison.enter(**told["prison"])
        else:
            os.chdir(told["folder"])
        sys.path[0] = os.getcwd()
        student.main()
    finally:
        os._exit(0)


def kill(number: int) -> None:
    """Kill a process with its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(number, signal.SIGKILL)
        os.killpg(number, signal.SIGKILL)
    os.waitpid(number, 0)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))

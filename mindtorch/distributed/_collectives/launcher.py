"""The line between a rank and the launcher that started it: lines of JSON over a local socket.

A rank says ``hello`` (its number and process), ``joining`` a group, ``files`` (that have to be removed if it dies),
``failed`` (with the error, which the launcher prints), and ``ended``. The launcher says ``go`` when all ranks have
joined, ``dead`` or ``ended`` with the rank that did, and ``done`` when all have. A rank that dies says nothing more:
the operating system closes its end of the line.
"""
from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

VARIABLE = "MINDTORCH_LAUNCHER"  # the socket's name


def encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def shared_memory(process: int | str = "self") -> list[str]:
    """Return the files by which an MPI process shares memory with others. They remain if the process is killed."""
    try:
        lines = Path(f"/proc/{process}/maps").read_text().splitlines()
    except OSError:  # it is gone, or this is not Linux
        return []
    return sorted({line.split()[-1] for line in lines if "/dev/shm/mpi" in line and not line.endswith("(deleted)")})


class Line:
    """A rank's connection to the launcher, read by a thread of its own while the rank computes or waits.

    ``dead`` and ``ended`` hold the ranks that the launcher has reported (with the reason, or True).
    """

    def __init__(self, address: str, rank: int, own: bool = False):
        self.own = own  # whether it leads to a hub, which the ranks have started themselves
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(address.replace("@", "\0", 1))
        self.news = threading.Condition()
        self.dead: dict[int, str] = {}
        self.ended: dict[int, bool] = {}
        self.gone = self.done = False
        self.groups = 0  # that the launcher has started
        self.listeners: list[Callable[[], None]] = []
        self.say(hello=rank, pid=os.getpid())
        threading.Thread(target=self._listen, name="mindtorch launcher", daemon=True).start()

    def say(self, **message: Any) -> None:
        """Send a message to the launcher; if it is gone, the listening thread has noticed."""
        with suppress(OSError):
            self.socket.sendall(encode(message))

    def wait(self, condition: Callable[[], bool], seconds: float | None = None) -> bool:
        """Wait until the condition holds, or until a rank or the launcher is gone; return whether it holds."""
        with self.news:
            self.news.wait_for(lambda: condition() or self.dead or self.gone, seconds)
            return condition()

    def _listen(self) -> None:
        try:
            for line in self.socket.makefile("rb"):
                message = json.loads(line)
                with self.news:
                    if "dead" in message:
                        self.dead[message["dead"]] = message["why"]
                    if "ended" in message:
                        self.ended[message["ended"]] = True
                    self.groups += "go" in message
                    self.done |= "done" in message
                    self.news.notify_all()
                for listener in self.listeners:
                    listener()
        except OSError:
            pass
        with self.news:
            self.gone = True
            self.news.notify_all()
        for listener in self.listeners:
            listener()


line: Line | None = None  # of this process, if a launcher started it


def connect(rank: int) -> None:
    """Open this process's connection, if it was started by a launcher."""
    global line
    if (address := os.environ.get(VARIABLE)) and line is None:
        line = Line(address, rank)

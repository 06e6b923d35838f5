"""``python -m mindtorch launch -n 4 script.py``: start ranks, watch them, and leave none behind.

MPI's own ``mpiexec`` starts the ranks. Each connects to this process (``_collectives.launcher``). When one dies, the
others are notified, so that their pending calls raise there; a rank that has not ended seconds later is killed.
"""
from __future__ import annotations

import argparse
import json
import os
import secrets
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..distributed._collectives.launcher import VARIABLE, encode, shared_memory

#: Seconds that ranks have to end by themselves after one has died, and then after SIGTERM.
GRACE, LAST = 5.0, 2.0
#: What tells the launcher to end: Ctrl-C, a polite end, the end of the terminal.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def mpiexec() -> str:
    """Return the ``mpiexec`` of this Python's environment, else of the path.

    Raises:
        RuntimeError: if there is none.
    """
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise RuntimeError("there is no mpiexec: pip install mpi4py mpich")
    return found


class Ranks:
    """The ranks' connections and messages."""

    def __init__(self, count: int):
        self.count = count
        self.address = f"@mindtorch-{os.getpid()}-{secrets.token_hex(8)}"  # an abstract name: there is no file to leave
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(self.address.replace("@", "\0", 1))
        self.server.listen(count)
        self.select = selectors.DefaultSelector()
        self.select.register(self.server, selectors.EVENT_READ)
        self.rank: dict[socket.socket, int] = {}
        self.rest: dict[socket.socket, bytes] = {}
        self.pids: dict[int, int] = {}
        self.joined: dict[int, int] = {}
        self.ended: set[int] = set()
        self.files: set[str] = set()
        self.why: dict[int, str] = {}
        self.dead: dict[int, str] = {}  # in the order in which they died

    def attend(self, seconds: float) -> None:
        """Receive and answer messages for some seconds."""
        for key, _ in self.select.select(seconds):
            if key.fileobj is self.server:
                line, _ = self.server.accept()
                self.select.register(line, selectors.EVENT_READ)
                self.rest[line] = b""
            else:
                self._read(key.fileobj)  # type: ignore[arg-type]

    def _read(self, line: socket.socket) -> None:
        try:
            data = line.recv(65536)
        except OSError:
            data = b""
        if not data:
            self._closed(line)
            return
        *messages, self.rest[line] = (self.rest[line] + data).split(b"\n")
        for message in messages:
            self._hear(line, json.loads(message))

    def _hear(self, line: socket.socket, message: dict[str, Any]) -> None:
        if "hello" in message:
            self.rank[line] = message["hello"]
            self.pids[message["hello"]] = message["pid"]
            for rank, why in self.dead.items():
                self._send(line, dead=rank, why=why)
            for rank in self.ended:
                self._send(line, ended=rank)
        elif "failed" in message:
            self.why[self.rank[line]] = message["failed"]
            if message["trace"]:
                print(f"rank {self.rank[line]}:\n{message['trace']}", file=sys.stderr, flush=True)
        elif "files" in message:
            self.files.update(message["files"])
        elif "joining" in message:
            number = message["joining"]
            self.joined[number] = self.joined.get(number, 0) + 1
            if self.joined[number] == self.count:
                self.tell(go=number)
        elif "ended" in message:
            self.ended.add(self.rank[line])
            self.tell(ended=self.rank[line])
            if len(self.ended) == self.count:
                self.tell(done=True)

    def _closed(self, line: socket.socket) -> None:
        self.select.unregister(line)
        line.close()
        del self.rest[line]
        rank = self.rank.pop(line, None)
        if rank is not None and rank not in self.ended:
            self.dead[rank] = self.why.get(rank, "was killed, or ended without a word")
            self.tell(dead=rank, why=self.dead[rank])

    def tell(self, **message: Any) -> None:
        """Tell all ranks."""
        for line in self.rank:
            self._send(line, **message)

    def _send(self, line: socket.socket, **message: Any) -> None:
        with suppress(OSError):  # if its end is closed, we are about to read that
            line.sendall(encode(message))

    def alive(self) -> list[int]:
        """Return the ranks whose lines are open."""
        return sorted(self.rank.values())

    def kill(self, number: signal.Signals) -> None:
        """Send the ranks that are alive a signal."""
        for rank in self.alive():
            self.files.update(shared_memory(self.pids[rank]))
            with suppress(ProcessLookupError):
                os.kill(self.pids[rank], number)

    def close(self) -> None:
        """Leave nothing: no open socket, and no file that dead ranks could not remove."""
        for file in self.files:
            Path(file).unlink(missing_ok=True)
        for line in (*self.rest, self.server):
            line.close()
        self.select.close()


def launch_as_told(options: argparse.Namespace) -> int:
    """Run a program by the command line's options; once more, if a rank fails, as often as they allow."""
    program = [*(["-m"] if options.module else []), options.script, *options.arguments]
    status = 0
    for attempt in range(options.max_restarts + 1):
        variables = {"TORCHELASTIC_RESTART_COUNT": str(attempt), "TORCHELASTIC_MAX_RESTARTS": str(options.max_restarts)}
        if options.nodes > 1:
            status = launch_node(options.count, options.nodes, options.node_rank, program,
                                 {**variables, "MASTER_ADDR": options.master_addr,
                                  "MASTER_PORT": str(options.master_port)})
        else:
            variables |= {"MASTER_ADDR": options.master_addr, "MASTER_PORT": str(options.master_port)}
            status = launch(options.count, program[0], program[1:], ["-l"] if options.label else [], variables)
        if status in (0, *(128 + number for number in ENDING)):
            break
        if attempt < options.max_restarts:
            print(f"launch: the ranks are started again, {options.max_restarts - attempt} times at most",
                  file=sys.stderr, flush=True)
    return status


def launch_node(count: int, nodes: int, node: int, program: list[str], variables: dict[str, str]) -> int:
    """Run a program in this machine's processes, which meet those of other machines at ``MASTER_ADDR``.

    Returns:
        The exit status: 0 if all ended well, else that of the first that did not.
    """
    started = [subprocess.Popen([sys.executable, "-m", "mindtorch", "run", *program], env={
        "OMP_NUM_THREADS": "1", **os.environ, **variables, "RANK": str(node * count + place),
        "LOCAL_RANK": str(place), "WORLD_SIZE": str(nodes * count), "LOCAL_WORLD_SIZE": str(count),
        "GROUP_RANK": str(node), "GROUP_WORLD_SIZE": str(nodes), "TORCHELASTIC_RUN_ID": "mindtorch"})
        for place in range(count)]
    try:
        while any(process.poll() is None for process in started):
            if failed := [process for process in started if process.poll()]:
                return 1 if failed[0].returncode < 0 else failed[0].returncode
            time.sleep(0.1)
        return max(process.returncode for process in started)
    finally:
        for process in started:
            process.terminate()
        for process in started:
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE)
            process.kill()


def launch(count: int, script: str, arguments: list[str], options: list[str] | None = None,
           variables: dict[str, str] | None = None) -> int:
    """Run a script in several processes, and wait for them.

    Args:
        count: the number of ranks; there may be more of them than cores.
        script, arguments: what each rank runs, with ``import torch`` meaning mindtorch.
        options: more arguments for ``mpiexec``, such as ``["-l"]``, which begins each line with its rank.
        variables: more variables for the ranks' environment.

    Returns:
        The exit status: 0 if all ranks ended well, 128 and the signal's number if it was told to end by one.
    """
    ranks = Ranks(count)
    environment = {
        "OMP_NUM_THREADS": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500", **os.environ,
        VARIABLE: ranks.address, "TORCHELASTIC_RUN_ID": ranks.address[1:], "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0", **(variables or {}),
    }
    command = [mpiexec(), "-disable-auto-cleanup", *(options or []), "-n", str(count), sys.executable, "-m",
               "mindtorch._run.worker", script, *arguments]
    starter = subprocess.Popen(command, env=environment, start_new_session=True, stdin=subprocess.DEVNULL)
    before = {number: signal.signal(number, _told_to_end) for number in ENDING}
    try:
        since, sent = 0.0, 0
        while starter.poll() is None or ranks.alive():
            ranks.attend(0.2 if ranks.pids else 0.05)
            if ranks.dead or starter.poll() is not None:
                since = since or time.monotonic()
                passed = time.monotonic() - since
                if sent == 0 and passed > GRACE and ranks.alive():
                    print(f"launch: rank {', '.join(map(str, ranks.alive()))} did not end by itself, and is ended",
                          file=sys.stderr)
                    ranks.kill(signal.SIGTERM)
                    sent = 1
                elif sent == 1 and passed > GRACE + LAST:
                    ranks.kill(signal.SIGKILL)
                    sent = 2
                elif passed > GRACE + 2 * LAST or (ranks.dead and not ranks.alive()):
                    break
        ranks.attend(0)
    except ToldToEnd as told:
        print(f"launch: {told}, and ends its ranks", file=sys.stderr)
        return 128 + told.number
    finally:
        for number in before:  # once is enough
            signal.signal(number, signal.SIG_IGN)
        ranks.kill(signal.SIGKILL)
        _end(starter)
        ranks.close()
        for number, handler in before.items():
            signal.signal(number, handler)
    for rank, why in list(ranks.dead.items())[:1]:
        print(f"launch: rank {rank} {why}", file=sys.stderr)
    return 1 if ranks.dead else starter.returncode


class ToldToEnd(BaseException):
    """A signal told the launcher to end."""

    def __init__(self, number: int):
        super().__init__(f"was told to end by {signal.Signals(number).name}")
        self.number = number


def _told_to_end(number: int, frame: Any) -> None:
    raise ToldToEnd(number)


def _end(starter: subprocess.Popen[bytes]) -> None:
    """End ``mpiexec`` and its proxies, when all ranks have ended or are killed."""
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            with suppress(ProcessLookupError):
                os.killpg(starter.pid, number)
        try:
            starter.wait(LAST)
            return
        except subprocess.TimeoutExpired:
            continue

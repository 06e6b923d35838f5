"""The process to which ranks connect that no launcher has started: for ``MPI_Init``, and to learn of deaths.

``python -m mindtorch._run.hub 4`` writes its two addresses in a line, and ends when all ranks have.
"""
from __future__ import annotations

import os
import secrets
import select
import signal
import socket
import sys
import threading

from .launch import Ranks


class Manager:
    """MPICH's process management interface: a table of keys and values, and a barrier, in lines of text."""

    def __init__(self, size: int):
        self.size, self.values, self.barrier = size, dict[str, str](), threading.Barrier(size)
        #: MPICH names its shared memory after it: worlds of one name on one machine would meet there.
        self.name = f"mindtorch-{os.getpid()}-{secrets.token_hex(8)}"
        self.server = socket.create_server(("", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        """Serve each process in a thread of its own."""
        while True:
            line, _ = self.server.accept()
            threading.Thread(target=self.serve, args=(line,), daemon=True).start()

    def serve(self, line: socket.socket) -> None:
        """Answer a process's requests until it leaves."""
        for request in line.makefile("r"):
            fields = dict(word.split("=", 1) for word in request.split() if "=" in word)
            answer = self.answer(fields.get("cmd", ""), fields)
            line.sendall(f"cmd={answer}\n".encode())

    def answer(self, command: str, fields: dict[str, str]) -> str:
        """Return the answer to a request."""
        if command == "put":
            self.values[fields["key"]] = fields["value"]
        elif command == "get" and fields["key"] not in self.values:
            return "get_result rc=-1 msg=key_not_found value=unknown"
        elif command == "barrier_in":
            self.barrier.wait()
        return {
            "init": "response_to_init pmi_version=1 pmi_subversion=1 rc=0",
            "get_maxes": "maxes kvsname_max=256 keylen_max=256 vallen_max=1024 rc=0",
            "get_appnum": "appnum appnum=0 rc=0",
            "get_my_kvsname": f"my_kvsname kvsname={self.name} rc=0",
            "get_universe_size": f"universe_size size={self.size} rc=0",
            "put": "put_result rc=0 msg=success",
            "get": f"get_result rc=0 msg=success value={self.values.get(fields.get('key', ''), '')}",
            "barrier_in": "barrier_out rc=0",
            "finalize": "finalize_ack rc=0",
        }.get(command, f"{command}_result rc=-1 msg=unknown_command")


def main() -> None:
    """Serve until the ranks that came have gone."""
    count = int(sys.argv[1])
    ranks, manager = Ranks(count), Manager(count)
    for number in (signal.SIGINT, signal.SIGHUP):  # meant for the ranks
        signal.signal(number, signal.SIG_IGN)
    print(ranks.address, manager.port, flush=True)
    came, alone = False, False
    while not ((came or alone) and not ranks.rank):
        ranks.attend(0.2)
        came = came or len(ranks.pids) == count
        if not alone and select.select([sys.stdin], [], [], 0)[0]:
            alone = True  # the rank that started this process is gone
    ranks.close()


if __name__ == "__main__":
    main()

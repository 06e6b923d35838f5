"""How processes that MPI has not started become processes of MPI.

They meet in a store. Rank 0 starts a hub (``mindtorch._run.hub``), which speaks MPICH's process management interface
(PMI-1, the lines that ``mpiexec`` speaks), so that ``MPI_Init`` in all of them makes one world; and to which each
process holds a line, as to a launcher, so that a death is reported to all.
"""
from __future__ import annotations

import os
import socket
import subprocess
import sys
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlparse

from . import launcher
from .errors import DistStoreError
from .stores import FileStore, PrefixStore, Store, TCPStore

#: What ``mpiexec`` puts into the environment of the processes that it starts.
STARTED = ("PMI_RANK", "PMI_FD", "PMI_PORT", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
_hub: subprocess.Popen[bytes] | None = None


def started_by_mpi() -> bool:
    """Return whether an ``mpiexec`` has started this process, or it is in MPI's world already."""
    return any(name in os.environ for name in STARTED)


def store_of(init_method: str | None, rank: int, size: int, timeout: timedelta) -> tuple[Store, int, int]:
    """Return the store that a method names, the rank, and the number of processes
    (``torch.distributed.rendezvous``).

    Raises:
        ValueError: if rank, size or address are missing, or the method is unknown.
    """
    url = urlparse(init_method or "env://")
    query = {name: values[-1] for name, values in parse_qs(url.query).items()}
    rank = int(query.get("rank", rank))
    size = int(query.get("world_size", size))

    def number(name: str, given: int) -> int:
        if given >= 0:
            return given
        if url.scheme == "env":
            return int(_variable(name))
        raise ValueError(f"Error initializing torch.distributed using {url.scheme}:// rendezvous: "
                         f"{'rank' if name == 'RANK' else 'world size'} parameter missing")

    rank, size = number("RANK", rank), number("WORLD_SIZE", size)
    if url.scheme == "env":
        return TCPStore(_variable("MASTER_ADDR"), int(_variable("MASTER_PORT")), size, rank == 0, timeout,
                        wait_for_workers=False), rank, size
    if url.scheme == "tcp":
        if not url.port:
            raise ValueError("Error initializing torch.distributed using tcp:// rendezvous: port number missing")
        return TCPStore(url.hostname or "localhost", url.port, size, rank == 0, timeout,
                        wait_for_workers=False), rank, size
    if url.scheme == "file":
        if not url.path:
            raise ValueError("Error initializing torch.distributed using file:// rendezvous: path missing")
        return FileStore(url.netloc + url.path, size), rank, size
    raise ValueError(f"No rendezvous handler for {url.scheme}://: there are env://, tcp:// and file://")


def _variable(name: str) -> str:
    if name not in os.environ:
        raise ValueError(f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} "
                         "expected, but not set")
    return os.environ[name]


def join(store: Store, rank: int, size: int, timeout: timedelta) -> None:
    """Prepare this process for ``MPI_Init``: all processes meet, and connect to a hub.

    Raises:
        DistStoreError: if not all come within the timeout.
    """
    global _hub
    store = PrefixStore("mindtorch", store)
    store.set_timeout(timeout)
    host = socket.gethostname()
    if rank == 0:
        _hub = subprocess.Popen([sys.executable, "-m", "mindtorch._run.hub", str(size)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, env={name: value for name, value in os.environ.items()
                                                             if not name.startswith(("PMI_", launcher.VARIABLE))})
        assert _hub.stdout is not None
        store.set("hub", f"{host} {_hub.stdout.readline().decode().strip()}")
    store.set(f"host/{rank}", host)
    try:
        hosts = [store.get(f"host/{other}").decode() for other in range(size)]
    except DistStoreError as error:
        there = [other for other in range(size) if store.check([f"host/{other}"])]
        raise DistStoreError(f"init_process_group: not all ranks came: {sorted(set(range(size)) - set(there))} are "
                             f"missing ({error})") from None
    hub, line, port = store.get("hub").decode().split(" ")
    nodes = {name: number for number, name in enumerate(dict.fromkeys(hosts))}
    connection = socket.create_connection((hub if hub != host else "localhost", int(port)))
    mapping = ",".join(f"({nodes[name]},1,1)" for name in hosts)
    connection.sendall(f"cmd=put kvsname=mindtorch key=PMI_process_mapping value=(vector,{mapping})\n".encode())
    connection.makefile("rb").readline()
    os.environ.update({"PMI_FD": str(connection.detach()), "PMI_RANK": str(rank), "PMI_SIZE": str(size)})
    if hub == host and launcher.line is None:
        launcher.line = launcher.Line(line, rank, own=True)
    # ``MPI_Init`` keeps Python's lock until all have come: before it, a process that answers others has to be done.
    if store.is_served_here:
        store._until(lambda: store.add("asked", 0) >= size - 1 or None, timeout, ["asked"])
    else:
        store.add("asked", 1)


def joined() -> None:
    """Forget what ``MPI_Init`` has read: processes that this one starts are not of its world."""
    for name in ("PMI_FD", "PMI_RANK", "PMI_SIZE"):
        os.environ.pop(name, None)


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Any:
    """Yield a store, the rank and the number of processes (``torch.distributed.rendezvous``)."""
    yield store_of(url, rank, world_size, kwargs.get("timeout", timedelta(minutes=5)))

"""Stores: tables of keys and values that processes share, by which they find each other.

A value is bytes; a number, as ``add`` counts, is its decimal digits. ``get`` and ``wait`` wait until a key is there.
"""
from __future__ import annotations

import fcntl
import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from .errors import DistNetworkError, DistStoreError

default_timeout = timedelta(minutes=5)
POLL = 0.01  # seconds between two readings of a file


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")


class Table:
    """The keys and values, and what can be done with them at once; values are text of one byte a character."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def set(self, key: str, value: str) -> None:
        """Set a value."""
        self.values[key] = value

    def get(self, key: str) -> str | None:
        """Return a value, or None."""
        return self.values.get(key)

    def add(self, key: str, value: str) -> str:
        """Add to a number, which is 0 if it is not there; return the sum."""
        self.values[key] = str(int(self.values.get(key, "0")) + int(value))
        return self.values[key]

    def append(self, key: str, value: str) -> None:
        """Add to the end of a value."""
        self.values[key] = self.values.get(key, "") + value

    def compare_set(self, key: str, expected: str, desired: str) -> str:
        """Set a value that is the expected one, or is not there and nothing is expected; return what is there then."""
        if self.values.get(key, "") == expected:
            self.values[key] = desired
        return self.values.get(key, expected)

    def delete(self, key: str) -> bool:
        """Remove a key; return whether it was there."""
        return self.values.pop(key, None) is not None

    def count(self) -> int:
        """Return the number of keys."""
        return len(self.values)


class Store:
    """A table that processes share (``torch.distributed.Store``)."""

    def __init__(self) -> None:
        self._timeout = default_timeout

    def _ask(self, command: str, *args: str) -> Any:
        """Return the result of a method of the table."""
        raise NotImplementedError

    def _until(self, condition: Callable[[], Any], timeout: timedelta, keys: Sequence[str]) -> Any:
        """Return the first result of a condition that is not None.

        Raises:
            DistStoreError: if that takes too long.
        """
        end = time.monotonic() + timeout.total_seconds()
        while (found := condition()) is None:
            if time.monotonic() > end:
                raise DistStoreError(f"wait timeout after {round(timeout.total_seconds() * 1000)}ms, keys: "
                                     + ", ".join(f"/{key}" for key in keys))
            time.sleep(POLL)
        return found

    @property
    def is_served_here(self) -> bool:
        """True if a thread of this process serves the others."""
        return False

    @property
    def timeout(self) -> timedelta:
        """How long ``get`` and ``wait`` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long ``get`` and ``wait`` wait."""
        self._timeout = timeout

    def set(self, key: str, value: bytes | str) -> None:
        """Set a value."""
        self._ask("set", key, _text(value))

    def get(self, key: str) -> bytes:
        """Return a value, once it is there."""
        return self._until(lambda: self._ask("get", key), self._timeout, [key]).encode("latin-1")

    def add(self, key: str, amount: int) -> int:
        """Add to a number; return the sum."""
        return int(self._ask("add", key, str(amount)))

    def append(self, key: str, value: bytes | str) -> None:
        """Add to the end of a value."""
        self._ask("append", key, _text(value))

    def compare_set(self, key: str, expected_value: bytes | str, desired_value: bytes | str) -> bytes:
        """Set a value if it is the expected one; return the value that is there then."""
        return self._ask("compare_set", key, _text(expected_value), _text(desired_value)).encode("latin-1")

    def check(self, keys: Sequence[str]) -> bool:
        """Return whether all keys are there."""
        return all(self._ask("get", key) is not None for key in keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        self._until(lambda: self.check(keys) or None, timeout or self._timeout, keys)

    def delete_key(self, key: str) -> bool:
        """Remove a key; return whether it was there."""
        return bool(self._ask("delete", key))

    def num_keys(self) -> int:
        """Return the number of keys."""
        return int(self._ask("count"))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Return several values, once they are there."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[bytes | str]) -> None:
        """Set several values."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """Return True: there are ``append``, ``multi_get`` and ``multi_set``."""
        return True


class HashStore(Store):
    """A table of one process, for its threads (``torch.distributed.HashStore``)."""

    def __init__(self) -> None:
        super().__init__()
        self._table, self._lock = Table(), threading.Lock()

    def _ask(self, command: str, *args: str) -> Any:
        with self._lock:
            return getattr(self._table, command)(*args)


class FileStore(Store):
    """A table in an append-only file of changes (``torch.distributed.FileStore``)."""

    def __init__(self, file_name: str, world_size: int = -1):
        super().__init__()
        self.path = file_name
        self._table, self._read = Table(), 0
        Path(file_name).touch()

    def _ask(self, command: str, *args: str) -> Any:
        with open(self.path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(self._read)
            for line in file:
                before, *rest = json.loads(line)
                getattr(self._table, before)(*rest)
            if command not in ("get", "count"):
                file.write(json.dumps([command, *args]).encode() + b"\n")
            file.flush()
            self._read = file.seek(0, 2)
            return getattr(self._table, command)(*args)


class PrefixStore(Store):
    """A store whose keys begin with a prefix in another (``torch.distributed.PrefixStore``)."""

    def __init__(self, prefix: str, store: Store):
        super().__init__()
        self._prefix, self.underlying_store = prefix, store
        self._timeout = store.timeout

    @property
    def is_served_here(self) -> bool:
        return self.underlying_store.is_served_here

    def _ask(self, command: str, *args: str) -> Any:
        return self.underlying_store._ask(command, *(f"{self._prefix}/{args[0]}", *args[1:]) if args else ())


class _Server(threading.Thread):
    """The process that holds a table: a thread for each connection, which answers lines of JSON."""

    def __init__(self, host: str, port: int, listener: socket.socket | None):
        super().__init__(name="mindtorch store", daemon=True)
        self.table, self.lock = Table(), threading.Lock()
        self.socket = listener or socket.create_server(("", port), reuse_port=False)
        self.port = self.socket.getsockname()[1]

    def run(self) -> None:
        while True:
            try:
                line, _ = self.socket.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        with line, suppress(OSError):
            for request in line.makefile("rb"):
                command, *args = json.loads(request)
                with self.lock:
                    answer = getattr(self.table, command)(*args) if command in COMMANDS else None
                    line.sendall(json.dumps(answer).encode() + b"\n")  # before anyone can see what was changed


COMMANDS = frozenset(("set", "get", "add", "append", "compare_set", "delete", "count"))


class TCPStore(Store):
    """A table that one process holds, and others reach by the network (``torch.distributed.TCPStore``).

    Args:
        host_name, port: of the process that holds it; port 0 is any free one, see ``port``.
        world_size: how many processes will come.
        is_master: whether this process holds it.
        timeout: for the others to come, and for keys to be there.
        wait_for_workers: wait here until all have come.

    Raises:
        DistNetworkError: if the port is taken, or the other process is not there in time.
    """

    def __init__(self, host_name: str, port: int, world_size: int | None = None, is_master: bool = False,
                 timeout: timedelta = default_timeout, wait_for_workers: bool = True, multi_tenant: bool = False,
                 master_listen_fd: int | None = None, use_libuv: bool = True):
        super().__init__()
        self._timeout, self._lock = timeout, threading.Lock()
        self._server: _Server | None = None
        self.host, self.world_size = host_name, world_size
        if is_master:
            given = None if master_listen_fd is None else socket.socket(fileno=master_listen_fd)
            try:
                self._server = _Server(host_name, port, given)
            except OSError as error:
                raise DistNetworkError(f"The server socket has failed to listen on any local network address. port: "
                                       f"{port}, {error}") from None
            self._server.start()
            port = self._server.port
        self.port = port
        self._line = self._connect()
        self._answers = self._line.makefile("rb")
        if world_size is not None and wait_for_workers:
            self.add("mindtorch/came", 1)
        if world_size is not None and wait_for_workers and is_master:  # the others do not wait
            self._until(lambda: int(self._ask("get", "mindtorch/came")) >= world_size or None, timeout,
                        ["mindtorch/came"])

    @property
    def is_served_here(self) -> bool:
        return self._server is not None

    def _connect(self) -> socket.socket:
        end = time.monotonic() + self._timeout.total_seconds()
        while True:
            try:
                line = socket.create_connection((self.host, self.port), timeout=5)
                line.settimeout(None)
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return line
            except OSError as error:
                if time.monotonic() > end:
                    raise DistNetworkError(f"The client socket has timed out after {self._timeout.total_seconds():g} s "
                                           f"while trying to connect to ({self.host}, {self.port}): {error}") from None
                time.sleep(0.05)

    def _ask(self, command: str, *args: str) -> Any:
        with self._lock:
            try:
                self._line.sendall(json.dumps([command, *args]).encode() + b"\n")
                answer = self._answers.readline()
            except OSError as error:
                answer, why = b"", str(error)
            else:
                why = "it has closed the connection"
        if not answer:
            raise DistNetworkError(f"the process that holds the store at ({self.host}, {self.port}) is gone: {why}")
        return json.loads(answer)

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            self._line.close()
            if self._server is not None:
                self._server.socket.shutdown(socket.SHUT_RDWR)  # wakes its thread
                self._server.socket.close()

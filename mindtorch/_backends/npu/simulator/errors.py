"""Return codes: what goes wrong inside is raised as a ``Fault``, and turned into CANN's code at the interface."""
from __future__ import annotations

import ctypes
import threading
from typing import Any


class Fault(Exception):
    """A CANN return code with its message; ``mistake`` is its kind if the sanitizer reports it."""

    def __init__(self, code: int, message: str, mistake: str | None = None):
        super().__init__(message)
        self.code, self.message, self.mistake = code, message, mistake


class _Thread(threading.local):
    """The last error of a thread."""

    code = 0
    message: str | None = None
    buffer: Any = None


_thread = _Thread()


def remember(code: int, message: str) -> None:
    """Make this the calling thread's last error."""
    _thread.code, _thread.message = code, message


def last_code(clear: bool) -> int:
    """Return the code of the calling thread's last error, or 0 (``aclrtGetLastError``, ``aclrtPeekAtLastError``)."""
    code = _thread.code
    if clear:
        _thread.code = 0
    return code


def recent_message() -> int | None:
    """Return the address of the thread's last message and forget it, or None (``aclGetRecentErrMsg``)."""
    message, _thread.message = _thread.message, None
    if message is None:
        return None
    _thread.buffer = ctypes.create_string_buffer(message.encode())
    return ctypes.addressof(_thread.buffer)

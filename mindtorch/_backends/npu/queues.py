"""The queue of a stream: what was put into it, what is known to be done, what is freed then, and what failed."""
from __future__ import annotations

import re
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ..._base.about import about, place, tell
from ..._base.call_site import call_site
from ..._base.interrupts import uninterrupted
from ..._dispatch.dispatcher import tensors_of
from . import activities
from .constants import (
    ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, ACL_ERROR_RT_INTERNAL_ERROR, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
    ACL_ERROR_RT_STREAM_TASK_FULL, ACL_STREAM_STATUS_COMPLETE,
)
from .errors import LOST_HANDLE, AclError, check, explained, recent_message

if TYPE_CHECKING:
    from .runtime import _Runtime


class End(weakref.ref[Any]):
    """The end of an object of Python's that has something of the device, and what it has (``of``)."""

    __slots__ = ("of",)
    of: Any


def end(owner: Any, tell: Callable[[End], None], of: Any) -> End:
    """Watch for the end of an object. ``tell``, a function of C, gets the End once nothing refers to the object any
    more. A method ``__del__`` would run Python, and an interrupt that arrives there is lost.
    """
    made = End(owner, tell)
    made.of = of
    return made


Operand = tuple[Any, tuple[int, ...]]  #: a dtype and a shape


def operands_of(values: Iterable[Any]) -> list[Operand]:
    """Return the dtypes and shapes of the tensors among values, and in lists among them."""
    return [(tensor._dtype, tensor.shape) for tensor in tensors_of(values)]


class Queued(NamedTuple):
    """An operator that was put into a stream: its number there, the program's line, dtypes and shapes of operands."""

    number: int
    name: str
    site: tuple[str, int, str]
    operands: Sequence[Operand]

    def __str__(self) -> str:
        operands = ", ".join(f"{dtype.name}{list(shape)}" for dtype, shape in self.operands)
        return f"{self.name}({operands}), queued at {place(self.site)}"


class Queue:
    """A stream of a device: what was put into it and is not known to be finished, and what is freed after that.

    ``enqueued`` counts operators, ``finished`` how many of them are known to be done.
    """

    def __init__(self, runtime: _Runtime, handle: int, number: int):
        self.runtime, self.handle, self.number = runtime, handle, number
        self.enqueued = self.finished = 0
        self.is_destroyed = False
        self.end: End | None = None  #: of the Stream that it was made for
        self.log: deque[Queued] = deque(maxlen=4096)
        self.deferred: deque[tuple[int, Callable[[], Any]]] = deque()  #: behind which operator, and what is called then
        self.freed: dict[int, tuple[int, int]] = {}  #: cached memory that pending work may still use: number, bytes
        #: first and last operator without a result, and why
        self.failures: deque[tuple[int, int, AclError]] = deque(maxlen=64)
        #: events of other streams that this one waits for, with those streams and where in them the events were
        #: recorded, and what was put in here before
        self.waits: deque[tuple[Any, Queue, int, int]] = deque(maxlen=64)
        self.marks: deque[Any] = deque()  #: events around operators, while there is an observer
        self._noting, self._settling = threading.RLock(), threading.RLock()

    def __repr__(self) -> str:
        return f"<stream {self.number} of {self.runtime.name}, {self.enqueued - self.finished} pending>"

    def note(self, name: str, operands: Sequence[Operand] = ()) -> int:
        """Remember that an operator was put into the stream, and where the program did it. Returns its number."""
        site = call_site()
        with self._noting:  # numbers, and their order in the log, are those of all threads that use the stream
            number = self.enqueued = self.enqueued + 1
            self.log.append(Queued(number, name, site, operands))
        return number

    def is_idle(self) -> bool:
        """Return whether all that was put into the stream has run, as far as is known without waiting
        (``stream_query``). Raises AclError if the device does not answer: a caller that polls would never end.
        """
        if self.enqueued == self.finished:
            return True
        last = self.enqueued
        self.runtime.activate()
        status, code = self.runtime.rt.stream_query(self.handle)
        check(code, "aclrtStreamQuery", self.runtime.name)
        if status != ACL_STREAM_STATUS_COMPLETE:
            return False
        self.finished = max(self.finished, last)
        return True

    def pending(self, until: int | None = None) -> list[str]:
        """Return the operators that wait or run, oldest first, up to number ``until``. If the device does not answer,
        these are all that are not known to have run. Never waits.
        """
        last = self.enqueued if until is None else until
        with suppress(AclError):
            if self.finished >= last or self.is_idle():
                return []
        return [queued.name for queued in tuple(self.log) if self.finished < queued.number <= last]

    def defer(self, release: Callable[[], Any]) -> None:
        """Have ``release()`` called after the work that is in the stream now."""
        self.deferred.append((self.enqueued, release))

    def note_free(self, ptr: int, nbytes: int) -> None:
        """Remember that memory went back to the stream's pool while work that may use it was pending."""
        self.freed[ptr] = self.enqueued, nbytes

    def deferred_frees(self) -> int:
        """How many pieces of memory wait for the stream before other streams may have them."""
        return len(self.deferred) + len(self.freed)

    def synchronize(self) -> None:
        """Wait for the stream, then free what was deferred, in order. Raises AclError if something in the stream
        failed; what was deferred is freed all the same.
        """
        with uninterrupted():  # or else an error might be taken from the device and lost
            last = self.enqueued
            self.runtime.activate()
            self.runtime.destroy_events()
            with activities.host("sync", "synchronize", self):
                code = self.runtime.rt.synchronize_stream(self.handle)
            self.reached(last, code, "aclrtSynchronizeStream")
            self.runtime.activate()  # to hear of another device's stream makes that one's context the thread's

    def reached(self, last: int, code: int, call: str) -> None:
        """Take in what a call said that waited for number ``last``: settle, and remember which operators failed. Raises
        what the code means, AclError, if it is not 0.
        """
        recent = recent_message() if code else ""
        error = AclError(call, code, self.runtime.name, recent) if code else None
        if code in (ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, ACL_ERROR_RT_EVENT_SYNC_TIMEOUT):
            raise error  # type: ignore[misc]  # nothing is known but that it takes long
        if error is not None:
            waiting = [queued for queued in tuple(self.log) if self.finished < queued.number <= last]
            failed = next((queued for queued in waiting if re.search(rf"\b{queued.name}\b", str(error))), None)
            self.failures.append((failed.number if failed else self.finished + 1, last, error))  # nor what follows it
            if failed is not None:
                tell(error, failed.site, str(failed))
            if code not in LOST_HANDLE:
                self.runtime.stop(error)
        self.settle(last)
        if error is not None:
            about(error, "late error of a device", device=self.runtime.name, said=recent,
                  code=f"{error.name} ({error.code})", stopped=self.runtime.stopped is not None)
            explained(error, self.runtime.name)
            raise error.again()  # what is remembered is never raised, for a traceback would keep frames alive
        self.hear(last)

    def check(self, code: int, call: str) -> None:
        """Raise AclError if a call returned a code other than 0 that was to put an operator into the stream. Where all
        streams have stopped at a failure that was not reported yet, ask the device first whose it was.
        """
        if code:
            error = AclError(call, code, self.runtime.name, recent_message())
            of_device = code // 1000 == ACL_ERROR_RT_INTERNAL_ERROR // 1000 and code != ACL_ERROR_RT_STREAM_TASK_FULL
            if of_device and self.runtime.failure_mode == "stop" and self.runtime.stopped is None:
                with suppress(AclError):
                    self.runtime.synchronize_device()
            raise explained(error, self.runtime.name)

    def hear(self, last: int) -> None:
        """Ask the streams that were waited for whether what was waited for had failed: then what came behind it up to
        number ``last`` has no result either, although this stream ran it. Raises AclError in that case.
        """
        for wait in tuple(self.waits):
            event, queue, number, before = wait
            if before >= last:
                continue  # nothing behind it was waited for yet
            with suppress(ValueError):  # another thread may have asked
                self.waits.remove(wait)
            try:
                if event.is_recorded_at(number):
                    event.synchronize()
                if (failed := queue.failure(number)) is not None:  # reported elsewhere before
                    raise failed.again()
            except AclError as error:
                self.failures.append((before + 1, last, error.again()))
                raise

    def failure(self, number: int) -> AclError | None:
        """Return why an operator has no result, as far as a synchronisation has reported; None if it has one."""
        return next((why for first, last, why in tuple(self.failures) if first <= number <= last), None)

    def settle(self, last: int) -> None:
        """Note that all up to number ``last`` has run, and free, in order, what was deferred behind that. Raises the
        AclError of the first that cannot be freed, after the others.
        """
        failed: AclError | None = None
        with self._settling:
            self.finished = max(self.finished, last)
            log = self.log
            while log and log[0][0] <= last:
                log.popleft()
            for ptr, (number, nbytes) in list(self.freed.items()):
                if number <= last:
                    self.freed.pop(ptr, None)
                    activities.note("free", f"{nbytes} bytes at {ptr:#x}", self)
            while self.deferred and self.deferred[0][0] <= last:
                try:
                    self.deferred.popleft()[1]()
                except AclError as error:
                    failed = failed or error
            if self.marks:
                activities.resolve(self)
        if failed is not None:
            raise failed

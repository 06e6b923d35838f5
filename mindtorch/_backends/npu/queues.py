"""The queue of a stream: its pending work, its progress, the memory to free afterwards, and its error."""
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
    """A device's stream, its unfinished work, and what is freed after that; ``finished`` of ``enqueued`` are done."""

    def __init__(self, runtime: _Runtime, handle: int, number: int):
        self.runtime, self.handle, self.number = runtime, handle, number
        self.enqueued = self.finished = 0
        #: how often a restart gave it a new stream, and why the work in the one before has no result
        self.restarts, self.lost = 0, AclError("aclrtDestroyContext", 0, runtime.name, "the device was restarted")
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

    def note(self, name: str, restarts: int, operands: Sequence[Operand] = ()) -> int:
        """Remember that an operator was put into the stream, and where the program did it. Returns its number. It has
        no result if there have been other than so many ``restarts``: another thread restarted the device meanwhile.
        """
        site = call_site()
        with self._noting:  # numbers, and their order in the log, are those of all threads that use the stream
            number = self.enqueued = self.enqueued + 1
            self.log.append(Queued(number, name, site, operands))
            if restarts != self.restarts:
                self.failures.append((number, number, self.lost.again()))
        return number

    def renew(self, handle: int, number: int, why: AclError | None) -> None:
        """Go on with a new stream after a restart; what is pending in the one before has no result."""
        with self._noting:
            self.lost = why or self.lost
            if self.enqueued > self.finished:
                self.failures.append((self.finished + 1, self.enqueued, self.lost.again()))
            self.handle, self.number = handle, number
            self.restarts += 1  # last: who reads this number has this handle
            last = self.enqueued
        self.settle(last)

    def is_idle(self) -> bool:
        """Return True if ``stream_query`` says that all has run; AclError if the device does not answer."""
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
        """Return the operators not known to have run, oldest first, up to number ``until``; never wait."""
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
        """Count the pieces of memory that wait for the stream before other streams may have them."""
        return len(self.deferred) + len(self.freed)

    def synchronize(self) -> None:
        """Wait for the stream, then free in order what was deferred; AclError afterwards if work failed."""
        with uninterrupted():  # or else an error might be taken from the device and lost
            last, restarts = self.enqueued, self.restarts
            self.runtime.activate()
            self.runtime.destroy_events()
            with activities.host("sync", "synchronize", self):
                code = self.runtime.rt.synchronize_stream(self.handle)
            self.reached(last, restarts, code, "aclrtSynchronizeStream")
            self.runtime.activate()  # to hear of another device's stream makes that one's context the thread's

    def reached(self, last: int, restarts: int, code: int, call: str) -> None:
        """Settle after a call that waited for number ``last`` when there had been so many ``restarts``, and note
        failures; AclError unless the code is 0.
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
                self.runtime.stop(error, self, restarts)
        self.settle(last)
        if error is not None:
            about(error, "late error of a device", device=self.runtime.name, said=recent,
                  code=f"{error.name} ({error.code})", stopped=self.runtime.stopped is not None)
            explained(error, self.runtime.name)
            raise error.again()  # what is remembered is never raised, for a traceback would keep frames alive
        self.hear(last)

    def check(self, code: int, call: str) -> None:
        """Raise AclError for the code of a launch, after asking a stopped device which operator failed first."""
        if code:
            error = AclError(call, code, self.runtime.name, recent_message())
            of_device = code // 1000 == ACL_ERROR_RT_INTERNAL_ERROR // 1000 and code != ACL_ERROR_RT_STREAM_TASK_FULL
            if of_device and self.runtime.failure_mode == "stop" and self.runtime.stopped is None:
                with suppress(AclError):
                    self.runtime.synchronize_device()
            raise explained(error, self.runtime.name)

    def hear(self, last: int) -> None:
        """Raise AclError if a stream that was waited for had failed: what came behind it has no result either."""
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
        """Free in order what was deferred up to number ``last``; raise the first AclError after the others."""
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

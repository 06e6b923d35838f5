"""The thread that talks to MPI, and the handles of what it does."""
from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextvars import ContextVar
from typing import Any

from ..._dispatch import observers
from ..._dispatch.observers import ActivityEvent
from ...futures import Future
from . import launcher
from .errors import DistBackendError

#: Steps of a work: each is a list of MPI requests, with the rank (in the world) that each waits for, if it is one.
Steps = Iterator[list[tuple[int | None, Any]]]
#: What calls are made for, such as "bucket 2": a timeline shows it.
purpose: ContextVar[str] = ContextVar("purpose", default="")
#: Seconds that a work may still take after a rank that it waits for has ended: what that rank sent may be on its way.
GRACE = 2.0
#: How often the engine looks for news without a pause, and until when pauses are the shortest while data is on its way.
LOOKS, ARRIVING = 10, 400


class WorkFuture(Future[Any]):
    """A future that is computed when it is first waited for: outputs are delivered in the thread that waits."""

    def __init__(self, compute: Callable[[], Any], is_ready: Callable[[], bool]):
        super().__init__()
        self._compute, self._is_ready = compute, is_ready

    def done(self) -> bool:
        """Return whether waiting takes no time."""
        return super().done() or self._is_ready()

    def wait(self) -> Any:
        """Return the result."""
        if not super().done():
            self.set_result(self._compute())
        return super().wait()

    value = wait

    def then(self, callback: Callable[[Future[Any]], Any]) -> WorkFuture:
        """Return the future of a function of this future."""
        def following() -> Any:
            self.wait()
            return callback(self)

        return WorkFuture(following, self.done)


class Work:
    """A call that may still be running (``torch.distributed.Work``).

    ``times`` are those at which it was ``called``, had its turn (``begun``), all ranks had ``met`` in it, and it was
    ``done``, in seconds of ``time.perf_counter``.
    """

    def __init__(self, call: str, place: str, seconds: float, steps: Callable[[Work], Steps],
                 deliver: Callable[[], Any] | None = None, source: int = -1):
        self.call, self.place, self.seconds = call, place, seconds
        self.times: dict[str, float] = {"called": time.perf_counter()}
        self.source = source
        self.name = purpose.get() or call.partition("(")[0]
        self._thread = threading.get_ident()
        self.outputs: list[Any] = []  # the tensors that it writes
        self._steps, self._deliver = steps(self), deliver
        self._pending: list[tuple[int | None, Any]] = []
        self._error: BaseException | None = None
        self._done = threading.Event()

    def __repr__(self) -> str:
        state = "failed" if self._error else "done" if self._done.is_set() else "running"
        return f"<Work {self.call} at {self.place}: {state}>"

    def is_completed(self) -> bool:
        """Return whether the work has ended, with or without an error."""
        return self._done.is_set()

    def is_success(self) -> bool:
        """Return whether the work has ended without an error."""
        return self._done.is_set() and self._error is None

    def exception(self) -> BaseException | None:
        """Return the error with which the work ended."""
        return self._error

    def source_rank(self) -> int:
        """Return the rank that sent the received data."""
        return self.source

    def wait(self, timeout: Any = None) -> bool:
        """Wait until it is over; then outputs hold their values.

        Args:
            timeout: a ``timedelta``, at most the group's.

        Raises:
            DistBackendError: if ranks made different calls, one is dead or has ended, or it took longer than the
                group's timeout.
        """
        seconds = self.seconds if timeout is None else timeout.total_seconds()
        if not self._done.is_set():
            start = time.perf_counter()
            if not self._done.wait(seconds + GRACE if timeout is None else seconds):
                self.fail(self.late(seconds))
            self._tell("sync", start, time.perf_counter())
        if self._error is not None:
            raise self._error
        if self._deliver is not None:
            deliver, self._deliver = self._deliver, None
            deliver()
        return True

    synchronize = wait

    def result(self) -> list[Any]:
        """Return the tensors that it has written."""
        self.wait()
        return self.outputs

    def get_future(self) -> WorkFuture:
        """Return a future of the tensors that it writes."""
        return WorkFuture(self.result, self.is_completed)

    def missing(self) -> list[int]:
        """Return the ranks that the work waits for."""
        return sorted({rank for rank, _ in self._pending if rank is not None})

    def late(self, seconds: float) -> DistBackendError:
        missing = self.missing()
        return DistBackendError(f"{self.call} at {self.place} timed out after {seconds:g} s: "
                                + (f"rank {', '.join(map(str, missing))} did not make this call" if missing
                                   else "its data did not arrive"))

    def follows(self, error: BaseException) -> DistBackendError:
        return DistBackendError(f"{self.call} at {self.place}: the group failed before: {error}")

    def fail(self, error: BaseException) -> None:
        """End it with an error, unless it is over."""
        if not self._done.is_set():
            self._error = error
            self._end()

    def advance(self) -> bool:
        """Advance as far as possible without waiting; return whether anything happened."""
        moved = False
        if "begun" not in self.times:
            self.times["begun"] = time.perf_counter()
        try:
            while True:
                before = len(self._pending)
                self._pending = [(rank, request) for rank, request in self._pending if not request.Test()]
                moved |= len(self._pending) < before
                if self._pending:
                    return moved
                self._pending = next(self._steps)
                moved = True
        except StopIteration:
            self._end()
        except Exception as error:
            self.fail(error)
        return True

    def _end(self) -> None:
        self.times["done"] = time.perf_counter()
        done = self.times["done"]
        begun = self.times.get("begun", done)
        met = self.times.get("met", begun if self._error is None else done)
        if met > begun:
            self._tell("wait", begun, met)
        if self._error is None:
            self._tell("exchange", met, done)
        self._done.set()

    def _tell(self, kind: str, start: float, end: float) -> None:
        """Report work to observers of devices; times are in seconds."""
        said = f"{self.call} at {self.place}" + (f": {self._error}" if self._error is not None else "")
        for observer in observers.activity_observers:
            observer(ActivityEvent(kind, self.name, "network", 0, round(start * 1e9), round((end - start) * 1e9),
                                   self._thread, detail=said))


class Engine(threading.Thread):
    """Makes all MPI calls of a process, so that none of them holds up the program.

    Works of one lane (the collectives of a group; messages between two ranks with one tag) run one after another, as on
    a stream; lanes run side by side.
    """

    def __init__(self) -> None:
        super().__init__(name="mindtorch distributed", daemon=True)
        self.lanes: dict[Hashable, deque[Work]] = {}
        self.broken: dict[Hashable, BaseException] = {}  # lanes on which ranks no longer agree, with the reason
        self.changed = threading.Condition()
        self.stopping = False
        self.ended: dict[int, float] = {}  # ranks that have ended their programs, with the time
        if launcher.line is not None:
            launcher.line.listeners.append(self.hear)

    def submit(self, lane: Hashable, work: Work) -> Work:
        """Queue a work."""
        with self.changed:
            if lane in self.broken:
                work.fail(work.follows(self.broken[lane]))
                return work
            self.lanes.setdefault(lane, deque()).append(work)
            self.changed.notify()
        self.hear()  # of ranks that died before
        return work

    def run(self) -> None:
        idle = 0
        while True:
            with self.changed:
                while not self.lanes and not self.stopping:
                    self.changed.wait()
                if self.stopping:
                    return
            moved, arriving = self.turn()
            idle = 0 if moved else idle + 1
            # Other ranks may need this core to go on. A short sleep gives it away, and gets it back at once; who yields
            # waits for a turn, which takes milliseconds on a busy machine. Sleeps get longer, but not soon if data is
            # on its way.
            if idle > LOOKS:
                time.sleep(min(1e-6 * 1.3 ** min(max(idle - (ARRIVING if arriving else LOOKS), 0), 40), 1e-3))

    def turn(self) -> tuple[bool, bool]:
        """Advance the first work of each lane; return whether anything happened, and whether data is on its way."""
        with self.changed:
            heads = [(lane, queue[0]) for lane, queue in self.lanes.items()]
        moved = arriving = False
        for lane, work in heads:
            moved |= work.is_completed() or work.advance()
            if not work.is_completed():
                self.judge(work)
                arriving |= not work.missing()
            if work.is_completed():
                self.leave(lane, work)
        return moved, arriving

    def judge(self, work: Work) -> None:
        """End a work that waits in vain."""
        now, called = time.perf_counter(), work.times["called"]
        if now > called + work.seconds:
            work.fail(work.late(work.seconds))
        for rank in work.missing() if self.ended else ():
            if now > max(self.ended.get(rank, now), called) + GRACE:
                work.fail(DistBackendError(f"{work.call} at {work.place} waits in vain: rank {rank} has ended its "
                                           "program without this call"))

    def leave(self, lane: Hashable, work: Work) -> None:
        """Take a work that is over from its lane; if it was left half done, nothing can follow it there."""
        error = work.exception()
        with self.changed:
            queue = self.lanes[lane]
            queue.popleft()
            if error is not None and work._pending:
                for _, request in work._pending:
                    request.Cancel() if work.missing() else None
                self.broken[lane] = error
                for later in queue:
                    later.fail(later.follows(error))
                queue.clear()
            if not queue:
                del self.lanes[lane]

    def hear(self) -> None:
        """Take notice of what the launcher says (called in the thread that listens to it)."""
        line = launcher.line
        if line is None:
            return
        for rank in line.ended:
            self.ended.setdefault(rank, time.perf_counter())
        if line.dead or line.gone:
            reason = next((f"rank {rank} {why}" for rank, why in line.dead.items()), "the launcher is gone")
            with self.changed:
                for queue in self.lanes.values():
                    for work in queue:
                        work.fail(DistBackendError(f"{work.call} at {work.place} cannot be completed: {reason}"))

    def stop(self) -> None:
        """End the thread; works that are queued fail."""
        with self.changed:
            self.stopping = True
            for queue in self.lanes.values():
                for work in queue:
                    work.fail(DistBackendError(f"{work.call} at {work.place}: the process group was destroyed"))
            self.changed.notify()
        self.join(GRACE)

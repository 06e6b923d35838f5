"""Blocks of arrays on several threads.

NumPy lets go of Python's lock while it computes, so that a kernel that walks over large arrays in blocks can have
several blocks computed at a time. How the blocks are cut depends on the shapes alone, and so do the results.
"""
from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import compress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

import numpy as np

from ..._base import loops
from ..._base.interrupts import give_way, uninterrupted
from .blas import set_thread_count, thread_count
from .lines import of_lines
from .quiet import silence

#: Elements for which it pays to wake another thread; elements of a block. A thread that finds Python's lock held falls
#: asleep, and to wake it takes some 20 us of both: the calls in between should take as long at least. A block of a MiB
#: of float32 leaves the second cache, but the third is nearly as fast.
LARGE, BLOCK = 1 << 20, 1 << 18
#: Elements of a block of kernels that keep more than their result between their calls, as indices and copies in float32
#: are: they stay in the second cache together. Two such blocks are worth dividing.
SMALL = 1 << 16
#: Blocks at least, where several threads may compute them.
PARTS = 2
#: How often a thread that has nothing left to compute asks whether its helpers are done, before it falls asleep, and a
#: helper whether there is another job: to wake takes some 30 us, as long as a block, and to ask some 0.35 us.
PATIENCE = 300
#: Turns for which a thread that is called while it waits awake leaves Python's lock to the other one: a helper, until
#: the caller computes, and the caller, until the helper waits again.
TO_BEGIN, TO_END = 15, 5
#: Elements of NumPy's buffer in blocks. What is broadcast along rows that are shorter, NumPy copies into its buffer for
#: several rows at a time, which takes longer than to compute row by row.
BUFFER = 1 << 10


# -- how many threads --------------------------------------------------------------------------------------------------

def processors() -> int:
    """How many processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor_of_caller() -> Callable[[], int | None]:
    found = getattr(ctypes.PyDLL(None), "sched_getcpu", None) if hasattr(os, "sched_setaffinity") else None
    return found or (lambda: None)


#: The number of the processor that runs the calling thread (C's ``sched_getcpu``); None where no system says it.
processor = _processor_of_caller()


#: Lets go of Python's lock and of the processor, if another thread waits for them.
let_others_run: Callable[[], None] = getattr(os, "sched_yield", lambda: None)


class Threads:
    """How many threads compute, and those that help the caller's: they start when they are first needed, wait for
    jobs as long as the process lives, and keep nothing of a job that is done.

    They sleep while they wait; where numba is there, a tenth of a millisecond after a job only, so that they are awake
    when a program has another one at once. Whoever waits awake does so in a compiled loop, without Python's lock, and
    asks for the lock a little after it was called: if it found the lock held, it would fall asleep after all. A sum of
    4M numbers takes 115 us, in one of ten calls 130, with helpers asleep, and 99 and 102 with helpers awake.
    """

    def __init__(self) -> None:
        self.count = thread_count() or processors()
        self.begin()

    def begin(self) -> None:
        """Begin without helpers, also after a fork, which leaves them behind."""
        self.jobs: SimpleQueue[Job] = SimpleQueue()
        self.begun = np.zeros(1, np.int64)  # how many jobs have, for helpers that wait awake
        self.helpers: list[int] = []  # the numbers that the system gave them
        self.avoided: int | None = None  # the processor on which they do not run
        self.busy = Lock()  # held by who has the helpers: whoever else wants them does without
        set_thread_count(self.count)

    def set_count(self, count: int) -> None:
        self.count = count
        set_thread_count(count)

    def call(self, job: Job, helpers: int) -> None:
        """Hand a job to so many helpers."""
        while len(self.helpers) < helpers:
            helper = Thread(target=self._help, args=(self.jobs, self.begun), daemon=True,
                            name=f"blocks {len(self.helpers)}")
            try:
                helper.start()
            except RuntimeError:  # the system has no thread to give, or Python is about to end
                break
            assert helper.native_id  # it has started
            self.helpers.append(helper.native_id)
            self.avoided = None
        self._keep_apart()
        for _ in range(min(helpers, len(self.helpers))):
            self.jobs.put(job)
        self.begun[0] += 1

    def _keep_apart(self) -> None:
        """Keep the helpers off the caller's processor. Linux wakes a thread where it ran last; if that is its waker's
        processor, it waits for its waker instead of helping, until the system moves it, some hundred calls later.
        """
        here = processor()
        if here != self.avoided:
            self.avoided = here
            if others := os.sched_getaffinity(0) - {here}:
                with suppress(OSError):  # a helper has ended with the process's other threads, or may not be moved
                    for helper in self.helpers:
                        os.sched_setaffinity(helper, others)

    @staticmethod
    def _help(jobs: SimpleQueue[Job], begun: np.ndarray) -> None:
        while True:
            job = jobs.get()
            job.help()
            wait_awake = job.wait_awake
            del job
            count = begun.item()
            if wait_awake is not None and jobs.empty():
                wait_awake(begun, count, PATIENCE, TO_BEGIN)


@cache
def threads() -> Threads:
    made = Threads()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=made.begin)
    return made


# -- jobs --------------------------------------------------------------------------------------------------------------

class Job:
    """Blocks that several threads share. A helper needs a ticket; those that are left when the caller has finished go
    to nobody, so that no one waits for a helper that is still asleep. A last block that is shorter than the others is
    the caller's, so that the helpers are done first: if it had to wait for them, it would fall asleep.
    """

    def __init__(self, work: Callable[[slice], object], starts: range, helpers: int):
        self.work, self.step = work, starts.step
        self.last = starts[-1:] if starts.stop - starts[-1] <= starts.step // 2 + 1 < starts.step else starts[:0]
        self.starts = iter(starts[:len(starts) - len(self.last)])
        self.tickets = [None] * helpers
        self.done: SimpleQueue[BaseException | None] = SimpleQueue()
        #: The loop in which threads wait awake; None without numba, or C's function that it calls.
        self.wait_awake = loops.until_other.if_imported() if hasattr(os, "sched_yield") else None
        self.ended = np.zeros(1, np.int64)  # how many helpers have, for a caller that waits awake

    def drain(self) -> None:
        """Compute blocks until none is left; after an error, none is."""
        try:
            for start in self.starts:
                self.work(slice(start, start + self.step))
                give_way()
        except BaseException:
            for _ in self.starts:
                pass
            raise

    def help(self) -> None:
        try:
            self.tickets.pop()
        except IndexError:
            return
        error = None
        try:
            silent().run(self.drain)
        except BaseException as raised:
            error = raised
        self.done.put(error)
        self.ended[0] = self.done.qsize()

    def wait(self, helpers: int) -> None:
        """Wait for the helpers that have begun, and raise what went wrong there."""
        for _ in range(helpers):
            try:
                self.tickets.pop()
            except IndexError:
                break
            helpers -= 1
        if self.wait_awake is not None:
            for count in range(self.done.qsize(), helpers):
                self.wait_awake(self.ended, count, PATIENCE, TO_END)
        else:
            for _ in range(PATIENCE):
                if self.done.qsize() == helpers:
                    break
                let_others_run()
        errors = [error for _ in range(helpers) if (error := self.done.get())]
        if errors:
            raise errors[0]


silent = silence(BUFFER)


def each_block(work: Callable[[slice], object], count: int, step: int, size: int = LARGE) -> None:
    """Call ``work`` with slices of what has ``count`` elements, rows, ..., each once, in any order: as few as reach no
    further than ``step``, of equal length but for the last, which has half of it.

    Where that is for ``size`` elements in all and those are many, there are some slices for each thread, and ``work``
    is called on as many threads as ``torch.set_num_threads`` says; it must write to places that no other call touches.
    Matrix products in one of several blocks have a thread each. What ``work`` raises is raised, after all threads have
    stopped. NumPy warns about nothing meanwhile.
    """
    if size < BLOCK and count <= step:
        silent().run(work, slice(0, count))
        give_way()
        return
    parts = max(-(-count // step), PARTS if size >= LARGE else 1)
    step = (-(-2 * count // (2 * parts + 1)) if parts > 1 else count) or 1
    starts, crew = range(0, count, step), threads()
    if size < BLOCK:
        silent().run(drain, work, starts)
        return
    helpers = min(len(starts), crew.count) - 1
    with uninterrupted():  # but between blocks: helpers that nobody waited for would go on to write
        if helpers > 0 and crew.busy.acquire(False):
            try:
                set_thread_count(1)  # BLAS's threads wait without sleep: they would take the helpers' processors
                if size < LARGE:
                    silent().run(drain, work, starts)
                else:
                    silent().run(share, work, starts, helpers)
            finally:
                set_thread_count(crew.count)
                crew.busy.release()
            return
        silent().run(drain, work, starts)


def drain(work: Callable[[slice], object], starts: range) -> None:
    """Compute all blocks here."""
    for start in starts:
        work(slice(start, start + starts.step))
        give_way()


def share(work: Callable[[slice], object], starts: range, helpers: int) -> None:
    """Compute blocks here and on so many other threads."""
    job = Job(work, starts, helpers)
    try:
        threads().call(job, helpers)
        job.drain()
        for start in job.last:
            work(slice(start, start + job.step))
    finally:
        job.wait(helpers)


def by_parts(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """What a function makes of parts of a large array, which are slices along the first axis, one after the other."""
    if x.size < LARGE:
        return function(x)
    found = {}

    def work(at: slice) -> None:
        found[at.start] = function(x[at])

    each_block(work, len(x), max(LARGE * len(x) // x.size, 1), x.size)
    return np.concatenate([found[start] for start in sorted(found)])


def copy(out: np.ndarray, x: np.ndarray) -> None:
    """Write an array into another, whatever its dtype; if both are large and contiguous, part by part."""
    if out.size < LARGE or x.shape != out.shape or not (x.flags.c_contiguous and out.flags.c_contiguous):
        np.copyto(out, x, casting="unsafe")
        return
    source, target = x.reshape(-1), out.reshape(-1)
    each_block(lambda at: np.copyto(target[at], source[at], casting="unsafe"), out.size, LARGE, out.size)


def fill(out: np.ndarray, value: Any) -> None:
    """Write a number everywhere into an array; if that is large and contiguous, part by part."""
    if out.size < LARGE or not out.flags.c_contiguous:
        out.fill(value)
        return
    target = out.reshape(-1)
    if not any(np.asarray(value, out.dtype).tobytes()):
        target, value = target.view(np.uint8), 0  # which NumPy leaves to C's memset: it writes twice as fast
    each_block(lambda at: target[at].fill(value), target.size, LARGE * target.size // out.size, out.size)


# -- ufuncs ------------------------------------------------------------------------------------------------------------

def compute(ufunc: Any, out: np.ndarray, *operands: Any) -> np.ndarray:
    """Have a ufunc write into an array, which is returned; if that is large, block by block. Operands are numbers, and
    arrays that broadcast to it; one may be the array itself.
    """
    size = out.size
    if size < LARGE:
        return ufunc(*operands, out=out, casting="unsafe")
    if (lines := of_lines(ufunc, out, operands)) is not None:
        function, count = lines
        each_block(function, count, max(LARGE // 2 * count // size, 1), size)
        return out
    shape = out.shape
    large = [x.__class__ is np.ndarray and x.ndim > 0 for x in operands]
    if out.flags.c_contiguous and all(x.shape == shape and x.flags.c_contiguous for x in compress(operands, large)):
        shape, target = (size,), out.reshape(-1)
    else:
        target = out
    pairs = [(x.reshape(shape) if x.shape == out.shape else np.broadcast_to(x, shape), True) if sliced else (x, False)
             for x, sliced in zip(operands, large, strict=True)]

    def work(at: slice) -> None:
        ufunc(*[x[at] if sliced else x for x, sliced in pairs], out=target[at], casting="unsafe")

    each_block(work, len(target), max(LARGE // 2 * len(target) // size, 1), size)
    return out

"""Compute blocks of large arrays on several threads.

NumPy releases the GIL while it computes, so blocks can run in parallel. How an array is cut depends on its shape alone,
and so do the results.
"""
from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import compress
from math import prod
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

import numpy as np

from ..._base import loops
from ..._base.interrupts import give_way, uninterrupted
from ..._base.quiet import silence
from ..._storage.memory import MAX_DIMS, allocate
from .blas import set_thread_count, thread_count
from .lines import of_lines

#: LARGE: elements for which waking another thread pays. A thread that finds the GIL held falls asleep, and waking it
#: costs both threads some 20 us. BLOCK: elements of a block, a MiB of float32. That exceeds the second-level cache, but
#: the third is nearly as fast.
LARGE, BLOCK = 1 << 20, 1 << 18
#: Elements of a block for kernels with temporaries between their calls (indices, float32 copies): all fit the
#: second-level cache. Two such blocks are worth dividing.
SMALL = 1 << 16
#: Elements that need no aligned memory; and zeros, which the C library has ready.
FEW, ZEROS = 1 << 11, 1 << 14
#: Integers of the bits of dtypes that NumPy fills element by element.
BITS = {2: np.uint16, 8: np.uint64}
#: Least number of blocks if several threads may compute them.
PARTS = 2
#: Polls before an idle thread falls asleep: the caller waiting for helpers, or a helper waiting for a job. Waking takes
#: some 30 us, as long as a block; a poll takes some 0.35 us.
PATIENCE = 300
#: Turns for which a thread, notified while it polls, leaves the GIL to the other one: a helper until the caller
#: computes, the caller until the helper waits again.
TO_BEGIN, TO_END = 15, 5
#: Elements of NumPy's buffer in blocks. NumPy copies operands broadcast along shorter rows into its buffer for several
#: rows at a time, which takes longer than computing row by row.
BUFFER = 1 << 10


# -- how many threads --------------------------------------------------------------------------------------------------

def processors() -> int:
    """Return the number of processors that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor_of_caller() -> Callable[[], int | None]:
    found = getattr(ctypes.PyDLL(None), "sched_getcpu", None) if hasattr(os, "sched_setaffinity") else None
    return found or (lambda: None)


#: The processor that runs the calling thread (C's ``sched_getcpu``); None where the system does not report it.
processor = _processor_of_caller()


#: Release the GIL and the processor, if another thread waits for them.
let_others_run: Callable[[], None] = getattr(os, "sched_yield", lambda: None)


class Threads:
    """A pool of helper threads for the calling thread, and the number of threads to use.

    Helpers start when first needed, wait for jobs for the life of the process, and keep no reference to a finished job.
    They sleep while they wait. With numba they first poll for a tenth of a millisecond after a job, so that a program's
    next job finds them awake. They poll in a compiled loop without the GIL and ask for it shortly after they are
    notified: if it were held, they would fall asleep after all. A sum of 4M numbers takes 115 us (in one of ten calls
    130) with sleeping helpers, and 99 (102) with polling ones.
    """

    def __init__(self) -> None:
        self.count = thread_count() or processors()
        self.begin()

    def begin(self) -> None:
        """Start without helpers, also in a child process: threads do not survive a fork."""
        self.jobs: SimpleQueue[Job] = SimpleQueue()
        self.begun = np.zeros(1, np.int64)  # how many jobs have begun, for helpers that poll
        self.helpers: list[int] = []  # their native thread ids
        self.avoided: int | None = None  # the processor that helpers are kept off
        self.busy = Lock()  # held while a call uses the helpers; other callers compute without them
        set_thread_count(self.count)

    def set_count(self, count: int) -> None:
        self.count = count
        set_thread_count(count)

    def call(self, job: Job, helpers: int) -> None:
        """Hand a job to up to ``helpers`` helper threads, starting them if necessary."""
        while len(self.helpers) < helpers:
            helper = Thread(target=self._help, args=(self.jobs, self.begun), daemon=True,
                            name=f"blocks {len(self.helpers)}")
            try:
                helper.start()
            except RuntimeError:  # the system is out of threads, or the interpreter is shutting down
                break
            assert helper.native_id  # it has started
            self.helpers.append(helper.native_id)
            self.avoided = None
        self._keep_apart()
        for _ in range(min(helpers, len(self.helpers))):
            self.jobs.put(job)
        self.begun[0] += 1

    def _keep_apart(self) -> None:
        """Keep the helpers off the caller's processor.

        Linux wakes a thread on the processor where it ran last. If that is the caller's, the helper waits for the
        caller until the system migrates it, some hundred calls later.
        """
        here = processor()
        if here != self.avoided:
            self.avoided = here
            if others := os.sched_getaffinity(0) - {here}:
                with suppress(OSError):  # a helper died with the process's other threads, or must not be moved
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
    """Blocks that several threads share.

    A helper needs a ticket. When the caller has finished, it withdraws the remaining tickets, so that it never waits
    for a helper that is still asleep. A shorter last block is left to the caller, so that the helpers finish first:
    waiting for them could put the caller to sleep.
    """

    def __init__(self, work: Callable[[slice], object], starts: range, helpers: int):
        self.work, self.step = work, starts.step
        self.last = starts[-1:] if starts.stop - starts[-1] <= starts.step // 2 + 1 < starts.step else starts[:0]
        self.starts = iter(starts[:len(starts) - len(self.last)])
        self.tickets = [None] * helpers
        self.done: SimpleQueue[BaseException | None] = SimpleQueue()
        #: The compiled polling loop; None without numba or C's ``sched_yield``.
        self.wait_awake = loops.until_other.if_imported() if hasattr(os, "sched_yield") else None
        self.ended = np.zeros(1, np.int64)  # how many helpers have ended, for a caller that polls

    def drain(self) -> None:
        """Compute blocks until none is left. An error discards the rest."""
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
        """Wait for the helpers that have begun, and raise their first error."""
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
    """Call ``work`` once with each slice of ``count`` elements or rows, in any order.

    Use as few slices of at most ``step`` as possible, all of equal length but for a last one of half that length.

    If ``size``, the number of elements in all, is large, use several slices for each thread, and call ``work`` on as
    many threads as ``torch.set_num_threads`` allows; calls must write to disjoint memory. A matrix product inside one
    of several blocks runs on one thread. Errors of ``work`` are raised after all threads have stopped. NumPy's warnings
    are off meanwhile.
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
    with uninterrupted():  # except between blocks: a helper left behind would continue to write
        if helpers > 0 and crew.busy.acquire(False):
            try:
                set_thread_count(1)  # BLAS's threads spin while they wait: they would occupy the helpers' processors
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
    """Compute all blocks on this thread."""
    for start in starts:
        work(slice(start, start + starts.step))
        give_way()


def share(work: Callable[[slice], object], starts: range, helpers: int) -> None:
    """Compute blocks on this thread and up to ``helpers`` others."""
    job = Job(work, starts, helpers)
    try:
        threads().call(job, helpers)
        job.drain()
        for start in job.last:
            work(slice(start, start + job.step))
    finally:
        job.wait(helpers)


def by_slices(function: Callable[..., Any], *arrays: np.ndarray, axis: int = 0, at: int | None = None,
              size: int = BLOCK) -> Any:
    """Apply a function to slices of large arrays along an axis, each of about ``size`` elements, on several threads.

    The results, an array or a tuple of arrays, have the slice's length along the axis ``at``, by default the same one.
    No more is in memory than they and the slices under way.
    """
    x, at = arrays[0], axis if at is None else at
    if x.size < LARGE:
        return function(*arrays)
    outs: list[np.ndarray] = []
    lock, before, behind = Lock(), (slice(None),) * axis, (slice(None),) * at

    def work(part: slice) -> None:
        made = function(*[array[*before, part] for array in arrays])
        made = made if isinstance(made, tuple) else (made,)
        with lock:
            if not outs:
                outs.extend(allocate((*y.shape[:at], x.shape[axis], *y.shape[at + 1:]), y.dtype) for y in made)
        for out, y in zip(outs, made, strict=True):
            out[*behind, part] = y

    each_block(work, x.shape[axis], max(size * x.shape[axis] // x.size, 1), x.size)
    return outs[0] if len(outs) == 1 else tuple(outs)


def by_parts(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """Apply a function to slices of a large array along the first axis, and concatenate the results."""
    if x.size < LARGE:
        return function(x)
    found = {}

    def work(at: slice) -> None:
        found[at.start] = function(x[at])

    each_block(work, len(x), max(LARGE * len(x) // x.size, 1), x.size)
    return np.concatenate([found[start] for start in sorted(found)])


def as_vectors(*arrays: np.ndarray) -> list[np.ndarray] | None:
    """Return arrays of one shape and one dense layout as vectors, in the order of their memory; None for others."""
    shape, strides = arrays[0].shape, arrays[0].strides
    for x in arrays:  # written out: this is asked for each operand of half precision
        if x.shape != shape:
            return None
        if not x.flags.c_contiguous:
            break
    else:
        return [x.reshape(-1) for x in arrays]
    if any([x.shape != shape for x in arrays]):  # noqa: C419 (a generator takes thrice as long)
        return None
    if not arrays[0].flags.c_contiguous:
        order = sorted(range(len(shape)), key=strides.__getitem__, reverse=True)
        arrays = tuple([x.transpose(order) for x in arrays])
    return [x.reshape(-1) for x in arrays] if all(x.flags.c_contiguous for x in arrays) else None


def copy(out: np.ndarray, x: np.ndarray) -> None:
    """Write an array into another, whatever its dtype; if both are large and of one layout, block by block."""
    if out.size < LARGE or (vectors := as_vectors(out, x)) is None:
        out[...] = x  # a third of what ``np.copyto`` takes for few elements
        return
    target, source = vectors
    each_block(lambda at: np.copyto(target[at], source[at], casting="unsafe"), out.size, LARGE, out.size)


def filled(shape: tuple[int, ...], dtype: np.dtype, value: Any) -> np.ndarray:
    """Return a new array filled with a number. Raises PyTorch's RuntimeError if there is not that much memory."""
    zero = value.__class__ is int and not value
    if prod(shape) >= (ZEROS if zero else FEW) or len(shape) > MAX_DIMS:
        out = allocate(shape, dtype)
        fill(out, value)
        return out
    if zero:
        return np.zeros(shape, dtype)
    out = np.empty(shape, dtype)
    out.fill(value)
    return out


def fill(out: np.ndarray, value: Any) -> None:
    """Fill an array with a number; if it is large and contiguous, block by block."""
    if out.size > FEW and out.dtype.kind in "cV" and (bits := BITS.get(out.itemsize)) is not None:
        out, value = out.view(bits), np.asarray(value, out.dtype).view(bits)  # NumPy would copy element by element
    if out.size < LARGE or not out.flags.c_contiguous:
        out.fill(value)
    else:
        target = out.reshape(-1)
        if not any(np.asarray(value, out.dtype).tobytes()):
            target, value = target.view(np.uint8), 0  # NumPy hands this to memset, which is twice as fast
        each_block(lambda at: target[at].fill(value), target.size, LARGE * target.size // out.size, out.size)


# -- ufuncs ------------------------------------------------------------------------------------------------------------

def least_of(ufunc: Any) -> int:
    """Return the size of the smallest arrays that ``compute`` computes in blocks, or by a loop."""
    return loops.angles[ufunc].least if ufunc in loops.angles else LARGE


def compute(ufunc: Any, out: np.ndarray, *operands: Any) -> np.ndarray:
    """Write the result of a ufunc into an array and return it; if it is large, block by block.

    Operands are numbers and arrays that broadcast to ``out``; one may be ``out`` itself.
    """
    size = out.size
    angle = loops.angles.get(ufunc)
    if size < LARGE and angle is not None and size >= angle.least and (
            loop := angle.taking(*operands, out)) is not None and operands[0].shape == out.shape:
        loop(operands[0], out)
        return out
    if size < LARGE and (angle is None or size < angle.least or out.dtype is not angle.dtype):
        return ufunc(*operands, out=out, casting="unsafe")
    if (lines := of_lines(ufunc, out, operands)) is not None:
        function, count = lines
        each_block(function, count, max(LARGE // 2 * count // size, 1), size)
        return out
    shape = out.shape
    large = [x.__class__ is np.ndarray and x.ndim > 0 for x in operands]
    if (vectors := as_vectors(out, *compress(operands, large))) is not None:
        target, *slices = vectors
        if angle is not None and (loop := angle.taking(*vectors)) is not None:
            each_block(lambda at: loop(slices[0][at], target[at]), size, LARGE // 2, size)
            return out
    else:
        target, slices = out, [np.broadcast_to(x, shape) for x in compress(operands, large)]
    each = iter(slices)
    pairs = [(next(each), True) if sliced else (x, False) for x, sliced in zip(operands, large, strict=True)]

    def work(at: slice) -> None:
        ufunc(*[x[at] if sliced else x for x, sliced in pairs], out=target[at], casting="unsafe")

    each_block(work, len(target), max(LARGE // 2 * len(target) // size, 1), size)
    return out

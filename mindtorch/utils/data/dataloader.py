"""``DataLoader``: batches of a dataset, fetched here or by worker processes."""
from __future__ import annotations

import multiprocessing
import os
import signal
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import cycle
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from typing import Any, Generic, NoReturn, TypeVar

from ... import accelerator
from ..._backends.random import Generator
from ..._base.interrupts import uninterrupted
from ..._utils import ExceptionWrapper
from ._utils import MP_STATUS_CHECK_INTERVAL, transport
from ._utils.collate import default_collate as default_collate, default_convert as default_convert
from ._utils.fetch import _DatasetKind as _DatasetKind, fetcher
from ._utils.pin_memory import pin_memory
from ._utils.worker import RESUME, STOP, EndOfData, Work, get_worker_info as get_worker_info, work
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, draw_seed

T_co = TypeVar("T_co", covariant=True)


class _InfiniteConstantSampler(Sampler[None]):
    """None, for ever: an iterable dataset is not asked for anything in particular."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


_collate_fn_t = Callable[[list[Any]], Any]  #: a name that libraries import


class DataLoader(Generic[T_co]):
    """Iterates over the batches of a dataset (``torch.utils.data.DataLoader``).

    ``batch_size`` samples of the sampler's indices are collated into a batch; with None, samples come as they are. With
    ``num_workers``, that many processes fetch ``prefetch_factor`` batches each ahead, and the batches still come in the
    sampler's order unless ``in_order`` is False. For a seed, order and workers' seeds are PyTorch's. Raises ValueError
    for arguments that exclude each other.
    """

    _frozen = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
    _iterator: _MultiProcessingDataLoaderIter | None = None
    _initialized = False
    #: the length of an iterable dataset, once ``len`` of the loader was asked for
    _IterableDataset_len_called: int | None = None

    def __init__(self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
                 sampler: Sampler[Any] | Iterable[Any] | None = None,
                 batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None, num_workers: int = 0,
                 collate_fn: Callable[[Any], Any] | None = None, pin_memory: bool = False, drop_last: bool = False,
                 timeout: float = 0, worker_init_fn: Callable[[int], None] | None = None,
                 multiprocessing_context: str | BaseContext | None = None, generator: Generator | None = None, *,
                 prefetch_factor: int | None = None, persistent_workers: bool = False, pin_memory_device: str = "",
                 in_order: bool = True):
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        iterable = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if iterable else _DatasetKind.Map
        _check_sampling(iterable, batch_size, shuffle, sampler, batch_sampler, drop_last)
        self.dataset, self.generator, self.timeout = dataset, generator, timeout
        self.num_workers, self.persistent_workers, self.in_order = num_workers, persistent_workers, in_order
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        if sampler is None:
            if iterable:
                sampler = _InfiniteConstantSampler()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.batch_size, self.drop_last = batch_size, drop_last
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.collate_fn = collate_fn
        self._initialized = True
        self.check_worker_number_rationality()

    @property
    def multiprocessing_context(self) -> BaseContext | None:
        """The start method of worker processes; None for Python's default."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            if not self.num_workers:
                raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > "
                                 f"0), but got num_workers={self.num_workers}")
            if isinstance(context, str):
                methods = multiprocessing.get_all_start_methods()
                if context not in methods:
                    raise ValueError("multiprocessing_context option should specify a valid start method in "
                                     f"{methods!r}, but got multiprocessing_context={context!r}")
                context = multiprocessing.get_context(context)
            if not isinstance(context, BaseContext):
                raise TypeError("multiprocessing_context option should be a valid context object or a string "
                                f"specifying the start method, but got multiprocessing_context={context}")
        self._context = context

    def __setattr__(self, name: str, value: Any) -> None:
        if self._initialized and name in self._frozen:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self) -> _BaseDataLoaderIter:
        if not self.persistent_workers:
            return self._get_iterator()
        if self._iterator is None or not self._iterator._shutdown_workers.alive:
            self._iterator = _MultiProcessingDataLoaderIter(self)
        else:
            self._iterator._resume(self)
        return self._iterator

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if not self.num_workers:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than processors."""
        affinity = hasattr(os, "sched_getaffinity")
        processors = len(os.sched_getaffinity(0)) if affinity else os.cpu_count()
        if not self.num_workers or (processors is not None and self.num_workers <= processors):
            return
        if processors is None:
            suggested = "DataLoader is not able to compute a suggested max number of worker in current system."
        else:
            known = "" if affinity else " (`cpuset` is not taken into account)"
            suggested = (f"Our suggested max number of worker in current system is {processors}{known}, which is "
                         "smaller than what this DataLoader is going to create.")
        warnings.warn(f"This DataLoader will create {self.num_workers} worker processes in total. {suggested} Please "
                      "be aware that excessive worker creation might get DataLoader running slow or even freeze, lower "
                      "the worker number to avoid potential slowness/freeze if necessary.", stacklevel=3)


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError("prefetch_factor option could only be specified in multiprocessing."
                         "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None.")
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_sampling(iterable: bool, batch_size: int | None, shuffle: bool | None, sampler: Any, batch_sampler: Any,
                    drop_last: bool) -> None:
    if iterable:
        given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                                 f"{name}={value}")
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
                             "drop_last")
    elif batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")


class _BaseDataLoaderIter:
    """One pass over a loader's batches."""

    def __init__(self, loader: DataLoader[Any]):
        self._dataset, self._index_sampler = loader.dataset, loader._index_sampler
        self._num_workers = loader.num_workers
        self._pin_memory = loader.pin_memory and accelerator.is_available()
        if loader.pin_memory and loader.pin_memory_device:
            warnings.warn("pin_memory_device is deprecated, the current accelerator will be used as the device,ignore "
                          f"pin_memory_device='{loader.pin_memory_device}'.", stacklevel=4)
        if loader.pin_memory and not self._pin_memory:
            warnings.warn("'pin_memory' argument is set as true but no accelerator is found, then device pinned memory "
                          "won't be used.", stacklevel=4)
        self._begin(loader)
        self._base_seed = draw_seed(loader.generator)

    def _begin(self, loader: DataLoader[Any]) -> None:
        """Start to ask the sampler."""
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded, self._length_told = 0, loader._IterableDataset_len_called

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def __next__(self) -> Any:
        data = self._next_data()
        if self._pin_memory:
            data = pin_memory(data)
        self._num_yielded += 1
        if self._length_told is not None and self._num_yielded > self._length_told:
            text = (f"Length of IterableDataset {self._dataset} was reported to be {self._length_told}(when accessing "
                    f"len(dataloader)), but {self._num_yielded} samples have been fetched. ")
            if self._num_workers:
                text += ("For multiprocessing data-loading, this could be caused by not properly configuring the "
                         "IterableDataset replica at each worker. Please see "
                         "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples.")
            warnings.warn(text, stacklevel=2)
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """A pass that fetches the batches in this process."""

    def __init__(self, loader: DataLoader[Any]):
        super().__init__(loader)
        if loader.timeout:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._fetch = fetcher(loader._dataset_kind, loader.dataset, loader._auto_collation, loader.collate_fn,
                              loader.drop_last)

    def _next_data(self) -> Any:
        return self._fetch(next(self._sampler_iter))


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """A pass whose batches are fetched by workers. Each worker answers its tasks in order.

    The workers end when this object is dropped, also in the middle of a pass, or when its process ends.
    """

    def __init__(self, loader: DataLoader[Any]):
        super().__init__(loader)
        if not loader.prefetch_factor:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        self._limit = loader.prefetch_factor * loader.num_workers
        self._in_order, self._timeout, self._persistent = loader.in_order, loader.timeout, loader.persistent_workers
        self._workers: list[Any] = []
        self._connections: list[Connection] = []
        #: Ends the workers, once: when it is called, when this object is dropped, or before Python ends.
        self._shutdown_workers = weakref.finalize(self, _end, self._workers, self._connections, os.getpid())
        self._start(loader)
        self._epoch = -1
        self._begin_tasks(loader)

    def _start(self, loader: DataLoader[Any]) -> None:
        context: Any = loader.multiprocessing_context or multiprocessing
        job = Work(loader._dataset_kind, loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last,
                   self._base_seed, loader.worker_init_fn, loader.num_workers)
        for number in range(loader.num_workers):
            with uninterrupted():  # else an unknown process might run
                mine, theirs = context.Pipe()
                process = context.Process(target=work, args=(number, job, theirs, mine), daemon=True)
                try:
                    process.start()
                finally:
                    theirs.close()
                self._workers.append(process)
                self._connections.append(mine)

    def _resume(self, loader: DataLoader[Any]) -> None:
        """Begin another pass with the same workers."""
        for worker in range(self._num_workers):
            self._send(worker, RESUME, None)
        self._begin_tasks(loader)

    def _begin_tasks(self, loader: DataLoader[Any]) -> None:
        self._begin(loader)
        self._epoch += 1
        self._sent = 0
        self._worker_of: dict[int, int] = {}  #: the tasks that were not answered yet, oldest first
        self._active = [True] * self._num_workers
        self._turns = cycle(range(self._num_workers))
        for _ in range(self._limit):
            self._send_next()

    def _send_next(self) -> None:
        """Give the sampler's next index, if there is one, to the next worker that is at work."""
        try:
            index = next(self._sampler_iter)
        except StopIteration:
            return
        for _ in range(self._num_workers):
            worker = next(self._turns)
            if self._active[worker] and (self._in_order or self._has_room(worker)):
                self._send(worker, (self._epoch, self._sent), index)
                self._worker_of[self._sent] = worker
                self._sent += 1
                return

    def _has_room(self, worker: int) -> bool:
        return list(self._worker_of.values()).count(worker) < self._limit // sum(self._active)

    def _next_data(self) -> Any:
        while self._worker_of:
            if not self._shutdown_workers.alive:
                raise RuntimeError("The workers of this DataLoader iterator were ended; make a new iterator")
            worker = self._worker_of[next(iter(self._worker_of))] if self._in_order else None
            worker, (epoch, task), load = self._receive(worker)
            if epoch != self._epoch:
                continue  # of a pass that was abandoned
            del self._worker_of[task]
            data = load()
            if isinstance(data, EndOfData):
                self._active[worker] = False
                self._worker_of = {task: of for task, of in self._worker_of.items() if of != worker}
                self._send_next()
                continue
            self._send_next()
            if isinstance(data, ExceptionWrapper):
                data.reraise()
            return data
        if not self._persistent:
            self._shutdown_workers()
        raise StopIteration

    def _receive(self, worker: int | None) -> tuple[int, Any, Callable[[], Any]]:
        """Return a worker's next answer; any worker's for None."""
        end = time.monotonic() + self._timeout
        asked = [worker] if worker is not None else sorted(set(self._worker_of.values()))
        by_connection = {self._connections[worker]: worker for worker in asked}
        while True:
            left = end - time.monotonic() if self._timeout else MP_STATUS_CHECK_INTERVAL
            ready = wait(list(by_connection), max(0.0, min(left, MP_STATUS_CHECK_INTERVAL)))
            if ready:
                return self._received(by_connection[ready[0]])  # type: ignore[index]
            for number in asked:
                if not self._workers[number].is_alive():
                    self._died(number)
            if self._timeout and time.monotonic() >= end:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")

    def _received(self, worker: int) -> tuple[int, Any, Callable[[], Any]]:
        try:
            return worker, *self._whole(lambda: transport.receive(self._connections[worker]))
        except (EOFError, OSError) as error:
            self._died(worker, error)

    def _send(self, worker: int, tag: Any, value: Any) -> None:
        """Send a message. The death of a worker is reported where its answer is due, after all answers before it."""
        with suppress(ConnectionError):
            self._whole(lambda: transport.send(self._connections[worker], tag, value))

    def _whole(self, step: Callable[[], Any]) -> Any:
        """Send or receive a message. If that is interrupted half-way, the start of the next message is lost."""
        try:
            return step()
        except (EOFError, ConnectionError):
            raise
        except BaseException:
            self._shutdown_workers()
            raise

    def _died(self, worker: int, error: Exception | None = None) -> NoReturn:
        """Raise the error of a worker that died, with the reason if known."""
        process = self._workers[worker]
        process.join(MP_STATUS_CHECK_INTERVAL)
        code, pid = process.exitcode, process.pid
        self._shutdown_workers()
        if code is None:
            cause = error
        elif code < 0:
            cause = RuntimeError(f"DataLoader worker (pid {pid}) is killed by signal: {signal.strsignal(-code)}. ")
        else:
            cause = RuntimeError(f"DataLoader worker (pid {pid}) exited unexpectedly with exit code {code}. Details "
                                 "are lost due to multiprocessing. Rerunning with num_workers=0 may give better error "
                                 "trace.")
        raise RuntimeError(f"DataLoader worker (pid(s) {pid}) exited unexpectedly") from cause


def _end(workers: Sequence[Any], connections: Sequence[Connection], owner: int) -> None:
    """End the workers, by force after some seconds or an interrupt; in a fork, they are the parent's."""
    if os.getpid() != owner:
        return
    try:
        for connection in connections:
            with suppress(OSError):  # it is dead already
                transport.send(connection, STOP, None)
        end = time.monotonic() + MP_STATUS_CHECK_INTERVAL
        for process, connection in zip(workers, connections, strict=True):
            _wait_for_end(process, connection, end)
        for process in workers:
            if process.is_alive():
                process.terminate()
        end = time.monotonic() + MP_STATUS_CHECK_INTERVAL
        for process in workers:
            process.join(max(0.0, end - time.monotonic()))
    finally:
        for process, connection in zip(workers, connections, strict=True):
            if process.is_alive():
                process.kill()
                process.join(MP_STATUS_CHECK_INTERVAL)
            connection.close()


def _wait_for_end(process: Any, connection: Connection, end: float) -> None:
    """Wait until a worker ends, at most for some seconds, and keep reading, so that it can finish sending."""
    waited: list[Any] = [connection, process.sentinel]
    while process.sentinel not in (ready := wait(waited, max(0.0, end - time.monotonic()))) and ready:
        try:
            if not os.read(connection.fileno(), 1 << 16):
                waited.remove(connection)
        except OSError:
            waited.remove(connection)
    process.join(max(0.0, end - time.monotonic()))

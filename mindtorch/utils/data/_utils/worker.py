"""A loader's worker process."""
from __future__ import annotations

import os
import queue
import random
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from ...._backends.random import manual_seed
from ...._base.interrupts import forget_blocks
from ...._methods.settings import set_num_threads
from ...._utils import ExceptionWrapper
from . import MP_STATUS_CHECK_INTERVAL, transport
from .fetch import Fetch, _DatasetKind, fetcher

#: Tags of messages to a worker that are no tasks: begin a new pass over the dataset; stop.
RESUME, STOP = "resume", "stop"


@dataclass(frozen=True)
class WorkerInfo:
    """A worker's identity: its number, the number of workers, its seed, its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return which of a loader's workers this process is; None elsewhere (``torch.utils.data.get_worker_info``)."""
    return _worker_info


@dataclass(frozen=True)
class EndOfData:
    """A worker's answer when its iterable dataset ends."""


@dataclass(frozen=True)
class Work:
    """The job of a worker."""

    kind: int
    dataset: Any
    batches: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    base_seed: int
    init_fn: Callable[[int], None] | None
    num_workers: int

    def fetcher(self) -> Fetch:
        """Return a new pass over the dataset."""
        return fetcher(self.kind, self.dataset, self.batches, self.collate_fn, self.drop_last)


def _generate_state(base_seed: int, worker: int) -> list[int]:
    """Return PyTorch's seed of NumPy's generator in a worker."""
    return np.random.SeedSequence([worker, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]).generate_state(4).tolist()


def work(number: int, job: Work, connection: Connection, loaders_end: Connection) -> None:
    """Answer the loader's messages until it ends. Only the loader heeds Ctrl-C."""
    forget_blocks()
    loaders_end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_num_threads(1)  # as PyTorch's: the processors are the workers'
    where = f"in DataLoader worker process {number}"
    seed = job.base_seed + number
    random.seed(seed)
    manual_seed(seed)
    np.random.seed(_generate_state(job.base_seed, number))
    global _worker_info
    _worker_info = WorkerInfo(number, job.num_workers, seed, job.dataset)
    fetch: Fetch | None = None  #: of this pass over the dataset, made for its first task
    failed = None
    try:
        if job.init_fn is not None:
            job.init_fn(number)
    except Exception:
        failed = ExceptionWrapper(where=where)
    messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, messages), daemon=True).start()
    ended = False
    while True:
        tag, load = messages.get()
        if tag == STOP:
            return
        if tag == RESUME:
            fetch, ended = None, False
            continue
        if ended:
            continue
        try:
            answer: Any = failed
            if answer is None:
                fetch = fetch or job.fetcher()
                answer = fetch(load())
        except Exception as error:
            ended = isinstance(error, StopIteration) and job.kind == _DatasetKind.Iterable
            answer = EndOfData() if ended else ExceptionWrapper(where=where)
        try:
            transport.send(connection, tag, answer)
        except ConnectionError:
            return  # the main process has ended
        except Exception:
            transport.send(connection, tag, ExceptionWrapper(where=where))
        del answer, load


def _listen(connection: Connection, messages: queue.SimpleQueue[Any]) -> None:
    """Read on while the worker works, so that the loader need not wait; end the process when the loader is gone."""
    parent = os.getppid()
    try:
        tag = None
        while tag != STOP:
            while not connection.poll(MP_STATUS_CHECK_INTERVAL):
                if os.getppid() != parent:
                    os._exit(1)
            message = transport.receive(connection)
            tag = message[0]
            messages.put(message)
    except Exception:  # the loader is gone, or what came from it is not whole
        os._exit(1)

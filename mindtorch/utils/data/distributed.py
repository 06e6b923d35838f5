"""The part of a dataset that is one process's of many."""
from __future__ import annotations

from collections.abc import Iterator, Sized
from itertools import cycle, islice

from ..._backends.random import Generator
from ..._creation.random import randperm
from ...distributed._collectives.groups import get_rank, get_world_size, is_available
from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every ``num_replicas``-th index from ``rank`` on, in an order that all processes shuffle alike
    (``torch.utils.data.distributed.DistributedSampler``).

    All parts have the same length: the first indices come twice, or by ``drop_last`` the last ones not at all.

    Raises:
        RuntimeError: without ``num_replicas`` or ``rank``, if there is no MPI.
        ValueError: without them, if ``init_process_group`` was not called; if ``rank`` is not in [0, num_replicas).
    """

    def __init__(self, dataset: Sized, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
                 seed: int = 0, drop_last: bool = False):
        if num_replicas is None or rank is None:
            if not is_available():
                raise RuntimeError("Requires distributed package to be available: give num_replicas and rank")
            num_replicas = get_world_size() if num_replicas is None else num_replicas
            rank = get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else -(-count // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            order = randperm(count, generator=Generator().manual_seed(self.seed + self.epoch)).tolist()
        else:
            order = list(range(count))
        return islice(cycle(order), self.rank, self.total_size, self.num_replicas)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Have the next pass shuffled for this epoch: call it before each one, or all are in the same order."""
        self.epoch = epoch

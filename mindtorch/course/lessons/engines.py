"""Lesson 14: how do many engines train one model?"""
from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..._base.interrupts import contextmanager
from ..limits import SECONDS, limited
from ..tasks import Lab, lesson
from . import torch


class Stuck(RuntimeError):
    """Raised when every rank that has not ended waits for a message, and none is on its way."""


class Post:
    """The messages between ranks, and which rank waits for which."""

    def __init__(self, size: int):
        self.size = size
        self.letters: dict[tuple[int, int], deque[Any]] = defaultdict(deque)  #: by source and destination
        self.waiting: dict[int, int] = {}  #: ranks that wait, and for whom
        self.ended: set[int] = set()
        self.changed = threading.Condition()

    def stuck(self) -> bool:
        """Return True if no rank will send any more."""
        return len(self.waiting) + len(self.ended) == self.size and not any(
            self.letters[source, rank] for rank, source in self.waiting.items())

    def end(self, rank: int) -> None:
        """Note that a rank has ended."""
        with self.changed:
            self.ended.add(rank)
            self.changed.notify_all()


class Group:
    """A group as a rank sees it: number, size, send and receive; ranks are threads here."""

    def __init__(self, rank: int, post: Post):
        self._rank, self._post = rank, post
        self.sent: list[tuple[int, int]] = []  #: to whom a message went, and how many numbers were in it

    def rank(self) -> int:
        """Return the number of this rank, from 0."""
        return self._rank

    def size(self) -> int:
        """Return the number of ranks."""
        return self._post.size

    def send(self, tensor: Any, dst: int) -> None:
        """Send a copy of a tensor to a rank, and return at once. Raise ValueError if there is no such rank."""
        self._check(dst)
        with self._post.changed:
            self._post.letters[self._rank, dst].append(tensor.detach().clone())
            self.sent.append((dst, tensor.numel()))
            self._post.changed.notify_all()

    def recv(self, src: int) -> Any:
        """Wait for a rank's next tensor; ValueError if there is no such rank, Stuck if all wait or have ended."""
        self._check(src)
        post = self._post
        with post.changed:
            post.waiting[self._rank] = src
            try:
                while not post.letters[src, self._rank]:
                    if post.stuck():  # this rank ends with an error, and then the next one sees it
                        raise Stuck(f"rank {self._rank} waits for rank {src}, and all others wait too, or have ended")
                    post.changed.wait(0.2)
                return post.letters[src, self._rank].popleft()
            finally:
                del post.waiting[self._rank]

    def _check(self, rank: int) -> None:
        if not isinstance(rank, int) or not 0 <= rank < self.size() or rank == self._rank:
            raise ValueError(f"rank {self._rank} of {self.size()} cannot exchange a message with rank {rank!r}")


def on_ranks(size: int, function: Callable[[Group], Any]) -> list[Any]:
    """Call ``function(group)`` in ``size`` threads, each of them a rank, and return their results.

    Raises:
        the error of the lowest rank that raised one; Stuck only if there is no other.
    """
    post = Post(size)
    values: list[Any] = [None] * size
    errors: dict[int, BaseException] = {}

    def work(rank: int) -> None:
        try:
            with limited(SECONDS):
                values[rank] = function(Group(rank, post))
        except BaseException as error:
            errors[rank] = error
        finally:
            post.end(rank)

    threads = [threading.Thread(target=work, args=(rank,), name=f"rank {rank}", daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():  # a thread that waits for longer could not be interrupted
            thread.join(0.05)
    if errors:
        raise errors[min(errors, key=lambda rank: (isinstance(errors[rank], Stuck), rank))]
    return values


class _Done:
    def wait(self) -> bool:
        return True


@contextmanager
def replace_all_reduce(function: Callable[[Any, Group], None]) -> Iterator[None]:
    """Have DistributedDataParallel sum buckets by ``function(x, group)`` in a block, on ``on_ranks``."""
    from ...nn.parallel import distributed

    own = distributed.all_reduce, distributed.broadcast, distributed.resolve

    def all_reduce(tensor: Any, *, group: Any, **more: Any) -> Any:
        if not isinstance(group, Group):
            return own[0](tensor, group=group, **more)
        function(tensor, group)
        return _Done()

    def broadcast(tensor: Any, *, group: Any, **more: Any) -> Any:
        if not isinstance(group, Group):
            return own[1](tensor, group=group, **more)
        if group.rank() == 0:
            for rank in range(1, group.size()):
                group.send(tensor, rank)
        else:
            tensor.copy_(group.recv(0))
        return _Done()

    seams: Any = distributed
    seams.all_reduce, seams.broadcast = all_reduce, broadcast
    seams.resolve = lambda group: group if isinstance(group, Group) else own[2](group)
    try:
        yield
    finally:
        seams.all_reduce, seams.broadcast, seams.resolve = own


def _run(function, size, numbers):
    """Return the ranks' tensors at the end, and facts about their messages."""

    def rank(group):
        x = torch.arange(numbers, dtype=torch.float32) + 100.0 * group.rank() + 1
        function(x, group)
        return x, group

    ended = on_ranks(size, rank)
    seen = {f"x on rank {number}": x for number, (x, _) in enumerate(ended)}
    groups = [group for _, group in ended]
    return seen | {
        "messages that no rank received": sum(map(len, groups[0]._post.letters.values())),
        "the most numbers that one rank sends": max(sum(count for _, count in group.sent) for group in groups),
        "the numbers that all ranks send together": sum(count for group in groups for _, count in group.sent),
        "the most ranks that one rank sends to": max(len({dst for dst, _ in group.sent}) for group in groups)}


LESSON = lesson(
    "engines", all_reduce=partial(
        Lab, cases=((2, 4), (4, 8), (3, 6), (4, 5), (1, 3)),
        run=_run, refuses=("distributed.all_reduce",),
        describe=lambda size, numbers: f"{size} {'ranks' if size > 1 else 'rank'}, {numbers} numbers"))

"""Mistakes that readers of lesson 14 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from mindtorch.course.masters import Mistake


def _ring(*, steps=lambda size: size - 1, first_steps=None, rounds=(1, 1),
          cut=lambda x, size: x.tensor_split(size), first="add_", second="copy_", view=lambda part: part,
          own=False, begin=1, receive_first=False, side=1, around=True, whole=False, divide=False):
    """An all-reduce that is right, but for what is said."""

    def mine(x, group):
        rank, size = group.rank(), group.size()
        parts = [view(part) for part in cut(x, size)]
        left, right = (rank - 1) % size, (rank + 1) % size if around else rank + 1
        source = left if side == 1 else right

        def step(to_send, to_change, how):
            if receive_first:
                got = group.recv(source)
            group.send(x if whole else parts[to_send % size], right)
            if not receive_first:
                got = group.recv(source)
            if whole:
                got = got.tensor_split(size)[to_change % size]
            getattr(parts[to_change % size], how)(got)

        for i in range((first_steps or steps)(size) * rounds[0]):
            step(rank - (0 if own else i), rank - 1 - (0 if own else i), first)
        for i in range(steps(size) * rounds[1]):
            step(rank + begin - i, rank + begin - 1 - i, second)
        if divide:
            x.div_(size)

    return mine


def _through_rank_0(x, group):
    if group.rank():
        group.send(x, 0)
        x.copy_(group.recv(0))
        return
    for rank in range(1, group.size()):
        x.add_(group.recv(rank))
    for rank in range(1, group.size()):
        group.send(x, rank)


def _all_of_it_to_all(x, group):
    others = [rank for rank in range(group.size()) if rank != group.rank()]
    for rank in others:
        group.send(x, rank)
    for rank in others:
        x.add_(group.recv(rank))


def _parts_to_all(x, group):
    parts = x.tensor_split(group.size())
    others = [rank for rank in range(group.size()) if rank != group.rank()]
    for rank in others:
        group.send(parts[rank], rank)
    for rank in others:
        parts[group.rank()].add_(group.recv(rank))
    for rank in others:
        group.send(parts[group.rank()], rank)
    for rank in others:
        parts[rank].copy_(group.recv(rank))


def _all_of_it_round(x, group):
    size, passed = group.size(), x
    for _ in range(size - 1):
        group.send(passed, (group.rank() + 1) % size)
        passed = group.recv((group.rank() - 1) % size)
        x.add_(passed) if passed is not x else None


def _all_of_it_round_from_the_start(x, group):
    size, passed = group.size(), x.clone()
    for _ in range(size - 1):
        group.send(passed, (group.rank() + 1) % size)
        passed = group.recv((group.rank() - 1) % size)
        x.add_(passed)


def _parts_too_far(x, group):
    parts = x.tensor_split(group.size())
    raise IndexError(parts[group.size()])


MISTAKES = (
    Mistake("Return the sum: DistributedDataParallel divides it to get the mean.",
            _ring(divide=True)),
    Mistake("The second round is missing: each rank has the sum of one part now, and has to pass it on.",
            _ring(rounds=(1, 0))),
    Mistake("The first round is missing: add the parts up before you pass them on.", _ring(rounds=(0, 1))),
    Mistake("In the first round add the part that arrives to your own; the second round begins with the part completed "
            "last, whose number is the rank's plus 1.", _ring(first="copy_")),
    Mistake("In the second round the part that arrives is complete: overwrite your own with it.",
            _ring(second="add_")),
    Mistake("A round has one step fewer than there are ranks: this is one step too few.",
            _ring(steps=lambda size: max(0, size - 2))),
    Mistake("A round has one step fewer than there are ranks: this is one step too many.",
            _ring(steps=lambda size: size)),
    Mistake("The first round has one step fewer than there are ranks: this is one step too few.",
            _ring(first_steps=lambda size: max(0, size - 2))),
    Mistake("The first round has one step fewer than there are ranks: this is one step too many.",
            _ring(first_steps=lambda size: size)),
    Mistake("The number of elements need not be a multiple of the number of ranks: x.tensor_split(size) cuts it.",
            _ring(cut=lambda x, size: x.view(size, -1).unbind(0))),
    Mistake("The remainder of the division belongs to a part, too: x.tensor_split(size) leaves nothing out.",
            _ring(cut=lambda x, size: x[:len(x) // size * size].view(size, -1).unbind(0))),
    Mistake("In each step send the part that has just arrived: it is a different one each time.", _ring(own=True)),
    Mistake("The second round begins with the part completed last, whose number is the rank's plus 1.",
            _ring(begin=-1)),
    Mistake("Change x itself: a part must be a view of it, not a copy.",
            _ring(view=lambda part: part.clone())),
    Mistake("Every rank waits, and none has sent: send first, then receive.", _ring(receive_first=True)),
    Mistake("If you send to the right, receive from the left.", _ring(side=-1)),
    Mistake("The last rank's neighbour is rank 0: take the number modulo group.size().", _ring(around=False)),
    Mistake("The parts form a ring, too: take their numbers modulo group.size().", _parts_too_far),
    Mistake("Send one part in each step, not all of x.", _ring(whole=True)),
    Mistake("All of x goes to rank 0 and back, so rank 0 sends as much as all others together: go round the ring.",
            _through_rank_0),
    Mistake("Every rank sends all of x to every other: send parts, to the neighbour.", _all_of_it_to_all),
    Mistake("The sum is right, but all of x goes round: send parts.", _all_of_it_round_from_the_start),
    Mistake("All of x goes round, and it has been added to in between: send parts.", _all_of_it_round),
    Mistake("The parts are right, but every rank talks to every other: send only to the neighbour.",
            _parts_to_all),
)

MISTAKES_OF = {"all_reduce": MISTAKES}
HIDDEN = {"all_reduce": ((5, 3), (8, 16))}

"""Mistakes that readers of lesson 12 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from mindtorch.course.masters import Mistake, solution

policy = solution("allocator.policy")


def _of(key, pick=min):
    """The policy that picks by another key."""
    return lambda free, size: pick(range(len(free)), key=lambda place: key(free[place], size))


MISTAKES = (
    Mistake("That is the first hole that is large enough: compare all of them.", lambda free, size: 0),
    Mistake("That is the last hole: look for the smallest.", lambda free, size: len(free) - 1),
    Mistake("That is the largest hole, which leaves the largest rest.", _of(lambda hole, size: hole[1], max)),
    Mistake("Return the position in the list, not the address.",
            lambda free, size: free[policy(free, size)][0]),
    Mistake("Return the position in the list, not the hole itself.",
            lambda free, size: free[policy(free, size)]),
    Mistake("Return the position in the list, not the hole's bytes.",
            lambda free, size: free[policy(free, size)][1]),
    Mistake("Return the position in the list, not the rest that is left.",
            lambda free, size: free[policy(free, size)][1] - size),
    Mistake("Positions are counted from 0.", lambda free, size: policy(free, size) + 1),
    Mistake("None asks the device for new memory: here a hole is large enough.", lambda free, size: None),
    Mistake("A hole need not match exactly: the rest of it stays free.",
            lambda free, size: next((i for i, (_, room) in enumerate(free) if room == size), None)),
    Mistake("A hole of exactly the size is the best of all: it leaves nothing.",
            lambda free, size: _of(lambda hole, wanted: (hole[1] == wanted, hole[1]))(free, size)),
    Mistake("If no hole has exactly the size, take the smallest that is larger, not the first.",
            lambda free, size: next((i for i, (_, room) in enumerate(free) if room == size), 0)),
    Mistake("A hole is a pair (address, bytes): compare the bytes.",
            _of(lambda hole, size: abs(hole[0] - size))),
    Mistake("On a tie take the lowest address: change only for a smaller hole.",
            _of(lambda hole, size: (hole[1], -hole[0]))),
    Mistake("Compare all holes with the best so far; do not stop at the first that is smaller than the one before.",
            lambda free, size: next((i for i in range(1, len(free)) if free[i][1] < free[i - 1][1]), 0)),
)

MISTAKES_OF = {"policy": MISTAKES}
HIDDEN = {"policy": (([(0, 9728), (16384, 9728), (32768, 1024), (65536, 1024)], 1024),)}

"""Lesson 12: where does a tensor's memory come from?"""
from __future__ import annotations

from ..tasks import Lab, Lesson, Mistake, Prediction

PREDICTIONS = (
    Prediction("one", "By how many bytes does memory_allocated() grow for a tensor of a single float32 on the device?",
               512, "A block is a multiple of 512 bytes. It holds the four bytes of the number, and the rest is lost: "
                    "a thousand numbers in a thousand tensors take half a megabyte."),
    Prediction("again", "a is a tensor on the device; then `del a`, and b of the same size is made on the same stream. "
                        "Does b have the address that a had?", True,
               "The block went back to the stream's pool and is the best match for b. The device was not asked for "
               "anything."),
    Prediction("other", "The block is free again. Another stream is current now, and c of the same size is made. Does "
                        "c have that address?", False,
               "The block belongs to the first stream's pool. The other stream might write into it before the first "
               "has finished with it."),
    Prediction("holes", "Should the tensor of 64 KB take the first hole that is large enough (write 'first'), or the "
                        "smallest one (write 'smallest'), so that the tensor of 256 KB still finds a "
                        "place?", "smallest",
               "In the first hole it would leave 192 KB, too few for 256, and the device would have to give a new "
               "segment though 256 KB are free."),
)


def policy(free, size):
    best = 0
    for place, (_, room) in enumerate(free):
        if room < free[best][1]:
            best = place
    return best


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

LESSON = Lesson(
    12, "allocator", "Where does a tensor's memory come from?", "12_allocator", 33, PREDICTIONS,
    (Lab(
        "policy", "Which hole does a tensor get?", policy,
        (([(0, 2048), (4096, 1024)], 1024), ([(0, 1024), (4096, 2048)], 512),
         ([(0, 4096), (8192, 1536), (16384, 2048)], 1024),
         ([(0, 4096), (8192, 2048), (16384, 3072), (32768, 1536)], 1024), ([(512, 1024)], 1024),
         ([(0, 3584), (4096, 5120)], 3072),
         ([(0, 2048), (4096, 1024), (8192, 1024)], 512), ([(0, 2048), (4096, 1024), (8192, 512)], 512)),
        ("Go through the list with enumerate(free), and remember the position of the best hole so far.",
         "A hole is a pair (address, bytes). The hole with the fewest bytes leaves the smallest rest, since all of "
         "them are large enough.",
         "min(range(len(free)), key=lambda place: free[place][1])"),
        MISTAKES, 3, hidden=(([(0, 9728), (16384, 9728), (32768, 1024), (65536, 1024)], 1024),)),
     ),
)

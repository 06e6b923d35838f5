"""Lesson 12: where does a tensor's memory come from?"""
from __future__ import annotations

from ..tasks import Lab, Lesson, Prediction

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


LESSON = Lesson(
    12, "allocator", "Where does a tensor's memory come from?", "12_allocator", 33, PREDICTIONS,
    (Lab(
        "policy", "Which hole does a tensor get?", "policy",
        (([(0, 2048), (4096, 1024)], 1024), ([(0, 1024), (4096, 2048)], 512),
         ([(0, 4096), (8192, 1536), (16384, 2048)], 1024),
         ([(0, 4096), (8192, 2048), (16384, 3072), (32768, 1536)], 1024), ([(512, 1024)], 1024),
         ([(0, 3584), (4096, 5120)], 3072),
         ([(0, 2048), (4096, 1024), (8192, 1024)], 512), ([(0, 2048), (4096, 1024), (8192, 512)], 512)),
        ("Go through the list with enumerate(free), and remember the position of the best hole so far.",
         "A hole is a pair (address, bytes). The hole with the fewest bytes leaves the smallest rest, since all of "
         "them are large enough.",
         "min(range(len(free)), key=lambda place: free[place][1])"),
        3),
     ),
)

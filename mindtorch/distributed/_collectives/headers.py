"""Headers, which ranks exchange before they send data, so that calls that do not match are errors."""
from __future__ import annotations

import ast
import itertools
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from .engine import Steps, Work
from .errors import DistBackendError

if TYPE_CHECKING:
    from .groups import ProcessGroup

HEADER = 512  # bytes, and as many more as the numbers of elements take
HEADER_TAG = 0


def checks() -> bool:
    """Return whether calls are compared before data is sent: unless ``TORCH_DISTRIBUTED_DEBUG`` is "OFF"."""
    return os.environ.get("TORCH_DISTRIBUTED_DEBUG", "").upper() != "OFF"


def header(call: str, place: str, numbers: str = "", size: int = HEADER) -> np.ndarray[Any, Any]:
    """Return the header that a rank sends before data: its call, its place in the program, and numbers to check."""
    text = f"{call[:HEADER // 2]}\0{place[-HEADER // 3:]}\0{numbers}\0".encode()[:size]
    return np.frombuffer(text.ljust(size, b"\0"), np.uint8).copy()


def read(header: np.ndarray[Any, Any]) -> list[str]:
    """Return the call, the place and the numbers of a header."""
    return header.tobytes().decode(errors="replace").split("\0")[:3]


def agree(group: ProcessGroup, work: Work, counts: tuple[list[int], list[int]] | None = None) -> Steps:
    """Exchange headers with all ranks, and raise the same error in each of them if their calls differ, or if a rank
    sends data that another does not expect: every rank checks the headers of all.
    """
    if not checks():
        return
    here, others = group.rank(), [rank for rank in range(group.size()) if rank != group.rank()]
    size = HEADER + 40 * group.size()
    theirs = {rank: np.empty(size, np.uint8) for rank in others}
    theirs[here] = header(work.call, work.place, "" if counts is None else repr(counts), size)
    yield [*((group.ranks[rank], group.comm.Irecv(theirs[rank], rank, HEADER_TAG)) for rank in others),
           *((None, group.comm.Isend(theirs[here], rank, HEADER_TAG)) for rank in others)]
    said = {rank: read(theirs[rank]) for rank in range(group.size())}
    if len({call for call, _, _ in said.values()}) > 1:
        raise DistBackendError(f"the ranks of {group.group_name} do not make the same call:\n" + "\n".join(
            f"  rank {group.ranks[rank]}: {call} at {place}" for rank, (call, place, _) in said.items()))
    if counts is not None:
        numbers = [ast.literal_eval(said[rank][2]) for rank in range(group.size())]
        for giver, taker in itertools.product(range(group.size()), repeat=2):
            gives, takes = numbers[giver][0][taker], numbers[taker][1][giver]
            if gives != takes:
                raise DistBackendError(
                    f"{work.call}: rank {group.ranks[giver]} sends {gives} elements to rank {group.ranks[taker]} (at "
                    f"{said[giver][1]}), which expects {takes} (at {said[taker][1]})")

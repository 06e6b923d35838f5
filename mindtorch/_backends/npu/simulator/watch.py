"""Where the sanitizer looks in: ``active`` is the one at work, or None, and then nothing of it is paid for."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .clocks import Clock
    from .errors import Fault
    from .sanitizer import Sanitizer
    from .streams import Stream

active: Sanitizer | None = None
_NOTHING: Clock = {}


def clock_of(stream: Stream) -> Clock:
    """Return the clock of a stream: the work that is known to be done once its present work is."""
    return _NOTHING if active is None else active.clock_of(stream)


def reached(clock: Clock) -> None:
    """Note that the host knows that all this is done."""
    if active is not None and clock:
        active.reached(clock)


def waits(stream: Stream, clock: Clock) -> None:
    """Note that what follows in a stream runs after all this."""
    if active is not None and clock:
        active.waits(stream, clock)


def idle(stream: Stream) -> None:
    """Note that the host was told that a stream has nothing to do."""
    if active is not None:
        active.reached(active.clock_of(stream))


def mistake(call: str, fault: Fault) -> None:
    """Note that a call failed."""
    if active is not None and fault.mistake is not None:
        active.report(fault.mistake, call.removesuffix("GetWorkspaceSize"), fault.message)


def ended(stream: Stream) -> None:
    """Note that the host has waited for the end of a stream."""
    if active is not None:
        active.ended(stream)

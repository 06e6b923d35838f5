"""Vector clocks: what is known to have run before what.

A clock maps a stream's number to how many of its tasks are known to be done. The rules:

- the tasks of a stream run in their order;
- a task runs after all that the host knew to be done when it queued the task;
- what follows a wait for an event runs after what was in the recording stream before the record;
- the host knows all of a stream to be done after waiting for the stream (or its device, or for its end), after being
  told that the stream is idle, and, up to the record, after waiting for an event or being told that it is complete; a
  callback, too, tells the host how far its stream has come;
- a synchronous copy or fill is the host's own, and runs where it is called.

All host threads are one host here: how they wait for each other is not seen, so that they are taken to do so.
"""
from __future__ import annotations

Clock = dict[int, int]


def join(clock: Clock, other: Clock) -> bool:
    """Let one clock know all that another knows. Returns whether that was anything new."""
    news = False
    for number, count in other.items():
        if clock.get(number, 0) < count:
            clock[number], news = count, True
    return news


class Clocks:
    """The clocks of the host and of all streams that have been used. Not thread-safe: the sanitizer holds a lock."""

    def __init__(self) -> None:
        self.host: Clock = {}
        self._streams: dict[int, Clock] = {}
        self._version = 0  #: of the host's clock
        self._seen: dict[int, int] = {}  #: the version that a stream's clock has taken in

    def of(self, number: int) -> Clock:
        """Return the clock of a stream's next task."""
        clock = self._streams.get(number)
        if clock is None:
            clock = self._streams[number] = {number: 0}
        if self._seen.get(number) != self._version:
            join(clock, self.host)
            self._seen[number] = self._version
        return clock

    def host_reached(self, clock: Clock) -> None:
        """Note that the host has waited for all that a clock knows."""
        if join(self.host, clock):
            self._version += 1

    def knows(self, clock: Clock, number: int, count: int) -> bool:
        """Return True if a clock says that a stream's ``count``-th task is done, or the stream has ended."""
        return clock.get(number, 0) >= count or number not in self._streams

    def forget(self, number: int) -> None:
        """Forget a stream, which has ended after all of its tasks."""
        self._streams.pop(number, None)
        self._seen.pop(number, None)
        for clock in (self.host, *self._streams.values()):
            clock.pop(number, None)

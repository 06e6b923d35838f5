"""What happened when: spans of time on lanes (the host, each stream)."""
from __future__ import annotations

from dataclasses import dataclass

KINDS = ("enqueue", "run", "copy", "wait", "sync", "free")  #: of spans


@dataclass(frozen=True)
class Span:
    """Something that took from ``start`` to ``end`` (nanoseconds of one clock) on a lane; ``kind`` is one of ``KINDS``.

    ``detail`` says more, '' if there is no more to say.
    """

    lane: str
    name: str
    kind: str
    start: int
    end: int
    detail: str = ""


@dataclass(frozen=True)
class Timeline:
    """Spans in the order of their starts, and the lanes in the order in which they are drawn."""

    spans: tuple[Span, ...]
    lanes: tuple[str, ...]

    @property
    def start(self) -> int:
        """When the first span begins; 0 if there is none."""
        return min((span.start for span in self.spans), default=0)

    @property
    def end(self) -> int:
        """When the last span ends; 0 if there is none."""
        return max((span.end for span in self.spans), default=0)

    def at(self, time: int) -> tuple[Span, ...]:
        """What goes on at a time."""
        return tuple(span for span in self.spans if span.start <= time <= span.end)

    def events(self) -> tuple[int, ...]:
        """The times at which something begins or ends."""
        return tuple(sorted({time for span in self.spans for time in (span.start, span.end)}))

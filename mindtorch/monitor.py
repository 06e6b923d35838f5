"""``torch.monitor``: events of a training run, the handlers that receive them, and statistics logged as events."""
from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

__all__ = ["STAT_EVENT", "Aggregation", "Event", "EventHandlerHandle", "Stat", "TensorboardEventHandler", "log_event",
           "register_event_handler", "unregister_event_handler"]
__dir__ = __all__.copy

STAT_EVENT = "torch.monitor.Stat"
_handlers: list[EventHandlerHandle] = []


class Event:
    """A named point in time with data (``torch.monitor.Event``): strings, floats, integers and booleans by key.

    Raises:
        TypeError: if a datum is of another type.
    """

    def __init__(self, name: str, timestamp: datetime, data: Mapping[str, str | float | bool]):
        for key, value in data.items():
            if not isinstance(value, (str, float, int)):
                raise TypeError(f"Event: data[{key!r}] is a {type(value).__name__}, and must be a str, float, int or "
                                "bool")
        self.name, self.timestamp, self.data = name, timestamp, dict(data)


class EventHandlerHandle:
    """A handler that is registered, and can be unregistered (``torch.monitor.EventHandlerHandle``)."""

    def __init__(self, callback: Callable[[Event], None]):
        self._callback = callback


def register_event_handler(callback: Callable[[Event], None]) -> EventHandlerHandle:
    """Have ``callback`` called with each event (``torch.monitor.register_event_handler``)."""
    _handlers.append(handle := EventHandlerHandle(callback))
    return handle


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """Stop the calls of a handler (``torch.monitor.unregister_event_handler``)."""
    if handler in _handlers:
        _handlers.remove(handler)


def log_event(event: Event) -> None:
    """Pass an event to every handler, in the order of their registration (``torch.monitor.log_event``)."""
    for handle in tuple(_handlers):
        handle._callback(event)


class Aggregation(Enum):
    """The statistics of a window that ``Stat`` can log (``torch.monitor.Aggregation``)."""

    VALUE = 1
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6


_AGGREGATES: dict[Aggregation, Callable[[list[float]], float]] = {
    Aggregation.VALUE: lambda values: values[-1],
    Aggregation.MEAN: lambda values: sum(values) / len(values),
    Aggregation.COUNT: lambda values: float(len(values)),
    Aggregation.SUM: sum,
    Aggregation.MAX: max,
    Aggregation.MIN: min,
}


class Stat:
    """Statistics of the values added within a window of time, logged as one event at its end (``torch.monitor.Stat``).

    A window ends when a value is added after ``window_size``, with its ``max_samples``-th value, and when the object is
    deleted. The data of the event are ``"<name>.<aggregation>"``: float.
    """

    def __init__(self, name: str, aggregations: Iterable[Aggregation], window_size: timedelta,
                 max_samples: int = 2 ** 63 - 1):
        self.name = name
        self._aggregations = tuple(aggregations)
        self._seconds, self._max_samples = window_size.total_seconds(), max_samples
        self._values: list[float] = []
        self._latest = dict.fromkeys(self._aggregations, 0.0)
        self._full = False
        self._start = time.monotonic()

    @property
    def count(self) -> int:
        """The number of values in the current window that are not logged yet."""
        return len(self._values)

    def add(self, v: float) -> None:
        """Add a value, which is dropped if the window holds ``max_samples`` already."""
        now = time.monotonic()
        if now - self._start >= self._seconds:
            self._log()
            self._start, self._full = now, False
            self._latest = dict.fromkeys(self._aggregations, 0.0)
        if not self._full:
            self._values.append(float(v))
            if self.count >= self._max_samples:
                self._full = True
                self._log()

    def get(self) -> dict[Aggregation, float]:
        """Return the statistics of the last window that was logged: zeros when a new one has begun."""
        return dict(self._latest)

    def _log(self) -> None:
        if self._values:
            self._latest = {each: _AGGREGATES[each](self._values) for each in self._aggregations}
            self._values = []
            log_event(Event(STAT_EVENT, datetime.now(),
                            {f"{self.name}.{each.name.lower()}": value for each, value in self._latest.items()}))

    def __del__(self) -> None:
        self._log()


class TensorboardEventHandler:
    """A handler that writes statistics as scalars to a ``SummaryWriter``."""

    def __init__(self, writer: Any):
        self._writer = writer

    def __call__(self, event: Event) -> None:
        if event.name == STAT_EVENT:
            for name, value in event.data.items():
                self._writer.add_scalar(name, value, walltime=event.timestamp.timestamp())

"""The timeline scrubber: a cursor that moves through what the host and the streams did."""
from __future__ import annotations

from bisect import bisect_left, bisect_right

from ipywidgets import Button, IntRangeSlider, Layout, SelectionSlider

from .._base.durations import digits_of, time_text
from ..introspect import Timeline
from ..viz import timeline_page, timeline_text
from ..viz.html import Markup
from .base import NAMES, Explorer, in_row

STEPS = 1000  #: places of a slider, besides the events


class TimelineScrubber(Explorer):
    """Move a cursor through a timeline, and see what the host and every stream did at that time.

    ``at`` is the cursor, ``window`` what is shown, in nanoseconds since the start; ``back`` and ``on`` are the buttons.
    Raises TypeError if ``timeline`` is no ``introspect.Timeline``.
    """

    def __init__(self, timeline: Timeline):
        if not isinstance(timeline, Timeline):
            raise TypeError(f"the scrubber needs a Timeline, not {type(timeline).__name__}")
        self.timeline = timeline
        self._events = [time - timeline.start for time in timeline.events()]
        self._length = max(1, timeline.end - timeline.start)
        step = max(1, self._length // STEPS)
        wide = Layout(width="36rem")
        times = sorted({*self._events, *range(0, self._length + 1, step)})
        options = [(time_text(time, digits_of(self._length, step)), time) for time in times]
        self.at = SelectionSlider(options=options, value=0, description="time", style=NAMES, layout=wide)
        self.window = IntRangeSlider(value=(0, self._length), min=0, max=self._length, step=step,
                                     description="show", readout=False, style=NAMES, layout=wide)
        self.back = Button(description="event before", icon="step-backward")
        self.on = Button(description="next event", icon="step-forward")
        self.back.on_click(lambda _: self._jump(bisect_left(self._events, self.at.value) - 1))
        self.on.on_click(lambda _: self._jump(bisect_right(self._events, self.at.value)))
        super().__init__([in_row(self.at, self.back, self.on), self.window], [self.at, self.window])

    def _jump(self, number: int) -> None:
        """Move to an event, if there is one of that number; the window follows."""
        if not 0 <= number < len(self._events):
            return
        with self.one_change():
            self.at.value = self._events[number]
            low, high = self.window.value
            if not low <= self.at.value <= high:
                low = max(0, min(self.at.value - (high - low) // 2, self._length - (high - low)))
                self.window.value = low, low + (high - self.window.value[0])

    @property
    def time(self) -> int:
        """The cursor's time, on the timeline's clock."""
        return self.timeline.start + self.at.value

    def page(self) -> Markup:
        low, high = self.window.value
        return timeline_page(self.timeline, self.time, (self.timeline.start + low, self.timeline.start + high))

    def text(self) -> str:
        return timeline_text(self.timeline, self.time)


timeline_scrubber = TimelineScrubber

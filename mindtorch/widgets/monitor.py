"""Long work as it goes on: a monitor of a training, and progress bars. In a terminal both are one line of text."""
from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sized
from contextlib import suppress
from typing import Any

from ..introspect import TrainingFacts, TrainingRecord, gradient_norms
from ..viz import copyable, monitor_page, monitor_text, progress_page, progress_text
from ..viz.html import Markup

SECONDS = 0.1  #: between two pictures, so that drawing takes little of the work's time
TENTHS = 10  #: lines that are written where a line cannot be written over


class Display:
    """Shows a changing picture: a widget in a notebook, a line that is written over in a terminal."""

    def __init__(self, owner: Any, refresh: float):
        self.owner, self.refresh = owner, refresh
        self.widget: Any = None
        self._shown_by: int | None = None  #: the number of the cell
        self._drawn, self._tenth = -1.0, -1
        self._stale = self._settles = False

    def update(self, share: float | None, last: bool) -> None:
        """Show the owner's state, if the last picture is old enough, or in any case if this is the ``last``."""
        now = time.monotonic()
        if not last and self._drawn >= 0 and now - self._drawn < self.refresh:
            self._draw_when_the_cell_ends()
            return
        self._drawn, self._stale = now, False
        if hasattr(_shell(), "kernel"):
            if self._shown_by is None:
                self.show()
            self.widget.draw()
        elif sys.stdout.isatty():
            print(f"\r{self.owner.text()}\x1b[K", end="\n" if last else "", flush=True)
        elif last or (share is not None and int(share * TENTHS) > self._tenth):
            self._tenth = TENTHS if share is None else int(share * TENTHS)
            print(self.owner.text(), flush=True)

    def _draw_when_the_cell_ends(self) -> None:
        """Make up for a picture that was left out: another update may never come."""
        self._stale, shell = True, _shell()
        if self._settles or shell is None:
            return
        self._settles = True

        def settle(*_: Any) -> None:
            shell.events.unregister("post_run_cell", settle)
            self._settles = False
            if self._stale:
                self.update(None, last=True)

        shell.events.register("post_run_cell", settle)

    def show(self) -> None:
        """Display the widget, unless this cell displayed it already."""
        cell = _shell().execution_count
        if self._shown_by != cell:
            self._shown_by = cell
            self.make()._ipython_display_()

    def make(self) -> Any:
        """Return the widget, created on first use."""
        if self.widget is None:
            from .base import Live  # only here is ipywidgets needed

            self.widget = Live(self.owner)
        return self.widget


def _shell() -> Any:
    """IPython's shell; None outside of it. That of a notebook has a kernel, whose front end can show HTML."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


class _Shown:
    """A widget that has a picture, a text, and a display for both."""

    _display: Display

    def page(self) -> Markup:
        """Draw the picture."""
        raise NotImplementedError

    def text(self) -> str:
        """Draw the present state in one line."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return str(copyable(self.page()))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        return self._display.make()._repr_mimebundle_(**kwargs)

    def _ipython_display_(self, **kwargs: Any) -> None:
        if hasattr(_shell(), "kernel"):
            self._display.make().draw()
            self._display.show()
        else:
            print(self.text())


class TrainingMonitor(_Shown):
    """Shows how a training goes: progress, loss, learning rate, gradient norms by module.

    ``total`` is the number of steps, if it is known; ``refresh`` the seconds between two pictures at least. The first
    ``record`` displays it; leaving a with block, or ``close``, draws the last state.
    """

    def __init__(self, total: int | None = None, refresh: float = SECONDS):
        self._record = TrainingRecord(total)
        self._display = Display(self, refresh)

    @property
    def facts(self) -> TrainingFacts:
        """Return the record."""
        return self._record.facts()

    def record(self, step: int, loss: Any = None, lr: Any = None, grad_norms: Mapping[str, Any] | Any = None,
               **numbers: Any) -> None:
        """Note numbers, or tensors of one element, which are waited for, at a step; steps grow.

        ``grad_norms`` are norms by name, or a module whose children's gradients are measured. Raises ValueError if the
        step is not larger than the one before it, and TypeError if a value is no number.
        """
        found = {name: value for name, value in {"loss": loss, "lr": lr, **numbers}.items() if value is not None}
        norms = gradient_norms(grad_norms) if hasattr(grad_norms, "named_parameters") else dict(grad_norms or {})
        self._record.record(step, found, norms)
        total = self._record.total
        done = step + (self._record.first == 0)
        self._display.update(done / total if total else None, last=total is not None and done >= total)

    def close(self) -> None:
        """Draw the last state."""
        self._display.update(None, last=True)

    def __enter__(self) -> TrainingMonitor:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def page(self) -> Markup:
        return monitor_page(self.facts)

    def text(self) -> str:
        return monitor_text(self.facts)


class progress(_Shown):
    """Iterates over ``iterable`` and shows how far it is: ``for batch in progress(batches, label="batch")``.

    ``total`` is the number of items, the length of the iterable if it has one. ``done`` items were worked on.
    """

    def __init__(self, iterable: Iterable[Any], total: int | None = None, label: str = "", refresh: float = SECONDS):
        if total is None and isinstance(iterable, Sized):
            with suppress(TypeError):  # a loader of what has no length has none
                total = len(iterable)
        self.iterable, self.total, self.label, self.done = iterable, total, label, 0
        self._started: float | None = None
        self._elapsed = 0.0
        self._display = Display(self, refresh)

    def __len__(self) -> int:
        if self.total is None:
            raise TypeError("it is not known how many items there are")
        return self.total

    def __iter__(self) -> Iterator[Any]:
        self.done, self._started = 0, time.monotonic()
        try:
            self._update(last=False)
            for item in self.iterable:
                yield item
                self.done += 1
                self._update(last=False)
        finally:
            self._update(last=True)

    def _update(self, last: bool) -> None:
        self._elapsed = time.monotonic() - (self._started or 0.0)
        self._display.update(self.done / self.total if self.total else None, last)

    def page(self) -> Markup:
        return progress_page(self.done, self.total, self._elapsed, self.label)

    def text(self) -> str:
        return progress_text(self.done, self.total, self._elapsed, self.label)

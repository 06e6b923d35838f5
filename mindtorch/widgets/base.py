"""The base of all widgets: controls above, a picture below, and a still of it for where nothing can move."""
from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from IPython import get_ipython
from IPython.display import display
from ipywidgets import HTML, HBox, Layout, VBox, Widget

from .._base.interrupts import contextmanager
from ..viz import copyable
from ..viz.html import Markup, tag

_marks = itertools.count()
NAMES = {"description_width": "5.5rem"}  #: the style of controls: room for their names


def in_row(*controls: Widget) -> HBox:
    """Lay out controls in a row that wraps."""
    return HBox(controls, layout=Layout(flex_flow="row wrap"))


class Explorer(VBox):
    """Controls and a picture, which is drawn anew whenever one of the ``watched`` controls changes.

    Displayed, it leaves two outputs: the widget, and a still of its picture, which the widget hides as long as it can
    be shown. Without the widgets' front end, without a kernel and in nbconvert's HTML the still is seen.
    """

    def __init__(self, controls: Sequence[Widget], watched: Sequence[Widget]):
        self._picture = HTML()
        self._mark = f"mt-still-{next(_marks)}-{id(self)}"
        self._still: Any = None
        self._held = False
        super().__init__([*controls, self._picture])
        for control in watched:
            control.observe(self._changed, "value")
        self.draw()

    def page(self) -> Markup:
        """Draw the present state."""
        raise NotImplementedError

    def text(self) -> str:
        """Draw the present state for a terminal."""
        raise NotImplementedError

    def arrange(self) -> None:
        """Bring the controls in line with each other after one of them changed."""

    @property
    def picture(self) -> str:
        """The HTML that is shown now."""
        return self._picture.value

    def draw(self) -> None:
        """Draw the picture anew."""
        hiding = f"<style>.{self._mark} {{ display: none; }}</style>"
        self._picture.value = f"{hiding}{copyable(self.page())}"
        if self._still is not None:
            self._still.update(self._still_bundle(), raw=True)

    @contextmanager
    def one_change(self) -> Iterator[None]:
        """Draw once after several controls were set, not after each."""
        outer, self._held = self._held, True
        try:
            yield
        finally:
            self._held = outer
        self._changed()

    def _changed(self, change: Any = None) -> None:
        if self._held:
            return
        self._held = True
        try:
            self.arrange()
        finally:
            self._held = False
        self.draw()

    def _still_bundle(self) -> dict[str, str]:
        return {"text/html": str(tag("div", copyable(self.page()), class_=self._mark)), "text/plain": self.text()}

    def _repr_html_(self) -> str:
        return str(copyable(self.page()))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        return {**super()._repr_mimebundle_(**kwargs), **self._still_bundle()}

    def _ipython_display_(self, **kwargs: Any) -> None:
        if not hasattr(get_ipython(), "kernel"):  # whose front end can show HTML
            print(self.text())
            return
        view = super()._repr_mimebundle_(**kwargs)
        display({**view, "text/html": "", "text/plain": ""}, raw=True)
        self._still = display(self._still_bundle(), raw=True, display_id=True)


class Live(Explorer):
    """The picture of ``owner``, which has ``page()`` and ``text()``; it is drawn when ``draw`` is called."""

    def __init__(self, owner: Any):
        self.owner = owner
        super().__init__([], [])

    def page(self) -> Markup:
        return self.owner.page()

    def text(self) -> str:
        return self.owner.text()

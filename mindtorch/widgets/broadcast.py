"""The broadcasting explorer: shapes that are typed, aligned from the right."""
from __future__ import annotations

import reprlib
from numbers import Integral
from typing import Any

from ipywidgets import Button, Layout, Text, VBox

from ..introspect import BroadcastFacts, broadcast_facts, parse_shape
from ..viz import broadcast_page, broadcast_text
from ..viz.broadcast import shape_name
from ..viz.html import Markup, page, tag
from ..viz.palette import tuple_text
from .base import NAMES, Explorer, in_row

MOST = 6  #: shapes


def _sizes(given: Any) -> tuple[int, ...]:
    """Return the sizes of a shape or a tensor."""
    sizes = getattr(given, "shape", given)
    if not isinstance(sizes, (tuple, list)) or not all(isinstance(size, Integral) for size in sizes):
        wanted = "shapes such as (3, 1), and tensors"
        raise TypeError(f"the broadcasting explorer takes {wanted}, not {reprlib.repr(given)}")
    return tuple(map(int, sizes))


class BroadcastExplorer(Explorer):
    """Type shapes, and see how they broadcast: dimensions aligned from the right, where 1s stretch, what does not match
    and PyTorch's error.

    ``shapes`` are up to six shapes, or tensors whose shapes are meant; (3, 1) and (4,) if none is given. ``fields`` are
    the controls for them, ``more`` and ``fewer`` the buttons. Raises TypeError if one is neither a shape nor a tensor,
    and ValueError if there are too many, or a size is negative.
    """

    def __init__(self, *shapes: Any):
        given = [*map(_sizes, shapes)] or [(3, 1), (4,)]
        if len(given) > MOST:
            raise ValueError(f"the broadcasting explorer shows {MOST} shapes at most, not {len(given)}")
        broadcast_facts(*given)
        texts = [*map(tuple_text, given), *[""] * MOST][:MOST]
        self.fields = [
            Text(text, description=shape_name(i), style=NAMES, layout=Layout(width="17rem"))
            for i, text in enumerate(texts)]
        self._count = len(given)
        self.more = Button(description="one more shape")
        self.fewer = Button(description="one less")
        self.more.on_click(lambda _: self._resize(1))
        self.fewer.on_click(lambda _: self._resize(-1))
        self._fields = VBox()
        self.arrange()
        super().__init__([self._fields, in_row(self.more, self.fewer)], self.fields)

    def _resize(self, step: int) -> None:
        with self.one_change():
            self._count = min(MOST, max(1, self._count + step))
            self.fields[self._count - 1].value = self.fields[self._count - 1].value or "(1,)"

    def arrange(self) -> None:
        self._fields.children = self.fields[: self._count]
        self.more.disabled, self.fewer.disabled = self._count == MOST, self._count == 1

    @property
    def facts(self) -> BroadcastFacts:
        """Describe how the shapes broadcast; ValueError if one of the fields holds no shape."""
        found = []
        for i, field in enumerate(self.fields[: self._count]):
            try:
                found.append(parse_shape(field.value))
            except ValueError as error:
                raise ValueError(f"{shape_name(i)}: {error}") from None
        return broadcast_facts(*found)

    def page(self) -> Markup:
        try:
            return broadcast_page(self.facts)
        except ValueError as error:
            said = tag("div", f"⚠ {error}", class_="mt-alert")
            return page(tag("div", said, class_="mt-box"), kind="broadcast", sheet="widgets")

    def text(self) -> str:
        try:
            return broadcast_text(self.facts)
        except ValueError as error:
            return str(error)


broadcast_explorer = BroadcastExplorer

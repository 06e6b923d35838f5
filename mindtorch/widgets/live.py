"""A widget without controls: the picture of something that changes while a cell runs."""
from __future__ import annotations

from typing import Any

from ..viz.html import Markup
from .base import Explorer


class Live(Explorer):
    """The picture of ``owner``, which has ``page()`` and ``text()``; it is drawn when ``draw`` is called."""

    def __init__(self, owner: Any):
        self.owner = owner
        super().__init__([], [])

    def page(self) -> Markup:
        return self.owner.page()

    def text(self) -> str:
        return self.owner.text()

"""Errors of the course: one sentence in a notebook, without a traceback of the library."""
from __future__ import annotations


class Said(Exception):
    """An error whose message is enough for a reader: IPython shows it without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


class NotYet(Said, AssertionError):
    """A missing prediction, or a part that is not right yet; the message is the hint."""


class Refused(Said, RuntimeError):
    """A part that would break the library, or calls what it is to replace; the message names the reason."""

"""What the course says where something is not right: one sentence in a notebook, and no traceback of the library."""
from __future__ import annotations


class Said(Exception):
    """An error whose message is all that a reader needs: IPython shows it without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


class NotYet(Said, AssertionError):
    """A prediction that was not made, or a part that is not right yet; the message is the hint."""


class Refused(Said, RuntimeError):
    """A part that would leave the library broken; the message says what is wrong with it."""

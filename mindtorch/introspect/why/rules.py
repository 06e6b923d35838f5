"""A rule of what an error's message says: a pattern, and what is made of it by a look at the failing call."""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .explanation import Diagnosis, Fields
from .failure import Failure


def on(pattern: str, *kinds: type[BaseException]) -> Callable[[Callable[[Failure, Any], Diagnosis | None]], Any]:
    """Ask a rule where a pattern is found in the message of an error, of one of some types if any are given."""

    def rule(row: Callable[[Failure, Any], Diagnosis | None]) -> Callable[[Failure, Fields], Diagnosis | None]:
        def explain(failure: Failure, f: Fields) -> Diagnosis | None:
            found = re.search(pattern, failure.message, re.DOTALL)
            return row(failure, found) if found and isinstance(failure.error, kinds or BaseException) else None

        explain.__doc__ = row.__doc__
        return explain

    return rule


def arguments(failure: Failure) -> dict[str, tuple[str, Any]]:
    """Return the failing call's arguments by their numbers and names: what was written, and what it stands for."""
    wrote = failure.wrote
    if wrote.call is None:
        return {}
    names = [*map(str, range(len(wrote.call.args))), *(word.arg or "**" for word in wrote.call.keywords)]
    return dict(zip(names, wrote.arguments, strict=True))

"""What tests ask of compiled functions: their programs, and why a call has a graph break."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch._dynamo import explain


def entries(compiled: Any) -> list[Any]:
    """Return the programs that a compiled function has made."""
    made: list[Any] = compiled._compiled.entries
    return made


def reason_of(function: Callable[..., Any], *args: Any) -> str:
    """Return why a call has a graph break, or its graph no program."""
    found = explain(function)(*args)
    said = [f"{one.reason} {one.user_stack}" for one in found.break_reasons]
    return (said + [str(one.graph_break) for one in found.compiled if one.graph_break])[0]

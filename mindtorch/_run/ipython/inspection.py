"""``torch.add?`` and ``torch.add??``: IPython's inspection of functions and methods that are made from schemas."""
from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from IPython.core.oinspect import pylight

from ... import introspect

Fields = list[tuple[str, str]]


def fields(hook: Any) -> tuple[Fields, Fields] | None:
    """Return the fields to show of an operator, as words and as code; None for other objects."""
    facts = introspect.operator_facts(hook.obj)
    if facts is None:
        return None
    words = [("Signature", facts.signature), ("Meaning", facts.sentence), ("Shapes", facts.shapes),
             ("Dtypes", facts.dtypes), ("Errors", "\n".join(facts.errors)), ("PyTorch", facts.name),
             ("Schemas", "\n".join(facts.schemas))]
    code = [(piece.what, f"# {piece.path}:{piece.line}\n{piece.source}") for piece in facts.written]
    return [(title, body) for title, body in words if body], code if hook.detail_level else []


def shown(words: Callable[[str], str], code: Callable[[str], str]) -> Callable[[Any], Fields | None]:
    """Return a hook of IPython's inspector: each field under its title, words and code written by these functions."""

    def show(hook: Any) -> Fields | None:
        if (found := fields(hook)) is None:
            return None
        return [(title, words(body)) for title, body in found[0]] + [(title, code(body)) for title, body in found[1]]

    return show


def show_operators(ip: Any) -> None:
    """Have IPython's inspector show operators."""
    hooks = {"text/plain": shown(str, ip.inspector.format),
             "text/html": shown(lambda body: f"<pre>{escape(body)}</pre>", pylight)}
    ip.inspector.mime_hooks = {**ip.inspector.mime_hooks, **hooks}


def hide_operators(ip: Any) -> None:
    """Have IPython's inspector show them as any other object again."""
    hooks = ip.inspector.mime_hooks.items()
    ip.inspector.mime_hooks = {mime: hook for mime, hook in hooks if hook.__module__ != __name__}

"""``torch.add?`` and ``torch.add??``: what IPython shows of functions and methods that are made of schemas."""
from __future__ import annotations

from html import escape
from typing import Any

from IPython.core.oinspect import pylight

from .. import introspect

Fields = list[tuple[str, str]]


def fields(hook: Any) -> tuple[Fields, Fields] | None:
    """What is shown of an object, as words and as code; None for what is none of ours."""
    facts = introspect.operator_facts(hook.obj)
    if facts is None:
        return None
    words = [("Signature", facts.signature), ("Meaning", facts.sentence), ("Shapes", facts.shapes),
             ("Dtypes", facts.dtypes), ("Errors", "\n".join(facts.errors)), ("PyTorch", facts.name),
             ("Schemas", "\n".join(facts.schemas))]
    code = [(piece.what, f"# {piece.path}:{piece.line}\n{piece.source}") for piece in facts.written]
    return [(title, body) for title, body in words if body], code if hook.detail_level else []


def as_text(inspector: Any) -> Any:
    """A hook of IPython's inspector for ``text/plain``: each field under its title."""

    def show(hook: Any) -> Fields | None:
        found = fields(hook)
        if found is None:
            return None
        words, code = found
        return words + [(title, inspector.format(source)) for title, source in code]

    return show


def as_html(hook: Any) -> Fields | None:
    """The fields of a hook for ``text/html``."""
    found = fields(hook)
    if found is None:
        return None
    words, code = found
    return [(title, f"<pre>{escape(body)}</pre>") for title, body in words] + [
        (title, pylight(source)) for title, source in code]


def show_operators(ip: Any) -> None:
    """Have IPython's inspector show operators."""
    ip.inspector.mime_hooks = {**ip.inspector.mime_hooks, "text/plain": as_text(ip.inspector), "text/html": as_html}


def hide_operators(ip: Any) -> None:
    """Have IPython's inspector show them as any other object again."""
    hooks = ip.inspector.mime_hooks.items()
    ip.inspector.mime_hooks = {mime: hook for mime, hook in hooks if hook.__module__ != __name__}

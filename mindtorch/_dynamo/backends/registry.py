"""Backends by name (``torch._dynamo.backends.registry``)."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..exc import InvalidBackend

_backends: dict[str, tuple[Callable[..., Any], frozenset[str]]] = {}


def register_backend(compiler_fn: Any = None, name: str | None = None, tags: Sequence[str] = ()) -> Any:
    """Give a backend a name for ``torch.compile``; also a decorator (``torch._dynamo.register_backend``).

    ``compiler_fn`` takes a ``torch.fx.GraphModule`` and a list of example inputs, and returns a function. Backends with
    the tags ``debug`` or ``experimental`` are not listed by default.

    Raises:
        AssertionError: if there is a backend of that name.
    """
    if compiler_fn is None:
        return functools.partial(register_backend, name=name, tags=tags)
    assert callable(compiler_fn), f"compiler_fn must be callable, got {type(compiler_fn)}"
    name = name or compiler_fn.__name__
    assert name not in _backends, f"duplicate name: {name}"
    _backends[name] = compiler_fn, frozenset(tags)
    return compiler_fn


_default: list[Any] = ["inductor"]


def set_default_backend(backend: str | Callable[..., Any] | None) -> None:
    """Set the backend of ``torch.compile`` without ``backend``; None resets it to ``inductor``
    (``torch.compiler.set_default_backend``).

    Raises:
        TypeError: for a value that is neither a name nor a function.
    """
    if backend is not None and not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"backend must be a string or callable, got {type(backend)}")
    _default[0] = "inductor" if backend is None else backend


def get_default_backend() -> str | Callable[..., Any]:
    """Return the backend of ``torch.compile`` without ``backend`` (``torch.compiler.get_default_backend``)."""
    return _default[0]


def lookup_backend(compiler_fn: Any) -> Callable[..., Any]:
    """Return a backend by its name; a function is one itself (``torch._dynamo.lookup_backend``).

    Raises:
        InvalidBackend: if there is none of that name.
    """
    if callable(compiler_fn):
        return compiler_fn
    if not isinstance(compiler_fn, str) or compiler_fn not in _backends:
        raise InvalidBackend(f"Invalid backend: {compiler_fn!r}, see `torch._dynamo.list_backends()` for available "
                             "backends.")
    return _backends[compiler_fn][0]


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """List the backends' names, without those that have a tag (``torch._dynamo.list_backends``)."""
    without = frozenset(exclude_tags or ())
    return sorted(name for name, (_, tags) in _backends.items() if not tags & without)


@register_backend(tags=("debug",))
def eager(gm: Any, example_inputs: Any, **options: Any) -> Any:
    """Run the graph as it is (the backend ``eager``)."""
    return gm.forward

"""What the tensors are called: names of live tensors, from a namespace such as a notebook's."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .._dispatch.dispatcher import TENSOR_TYPES

MAX_ITEMS = 64  #: of a container, so that a large list does not take long
MAX_KEY = 80  #: characters of a dictionary's key


def named_tensors(namespace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every tensor that a namespace reaches by a short name, with that name.

    Variables come first, then ``xs[0]`` and ``d['k']`` of lists, tuples and dicts, ``model.0.weight`` of
    modules, and ``w.grad`` of tensors named so far. IPython's own names, which begin with an underscore, and
    its list of outputs are left out.
    """
    outputs = namespace.get("_oh")
    visible = {
        name: value for name, value in namespace.items()
        if isinstance(name, str) and not name.startswith("_") and value is not outputs
    }  # fmt: skip
    seen: set[int] = set()

    def new(name: str, value: Any) -> Iterator[tuple[str, Any]]:
        if id(value) not in seen:
            seen.add(id(value))
            yield name, value

    direct = [(name, value) for name, value in visible.items() if value.__class__ in TENSOR_TYPES]
    for name, value in direct:
        yield from new(name, value)
    inner: list[tuple[str, Any]] = []
    for name, value in visible.items():
        inner.extend(_inside(name, value))
    for name, value in inner:
        yield from new(name, value)
    for name, value in [*direct, *inner]:
        if value._grad is not None:
            yield from new(f"{name}.grad", value._grad)


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The tensors one level inside a container or anywhere inside a module."""
    if isinstance(value, (list, tuple)) and type(value).__module__ != "torch.return_types":
        for i, item in enumerate(value[:MAX_ITEMS]):
            if item.__class__ in TENSOR_TYPES:
                yield f"{name}[{i}]", item
    elif isinstance(value, tuple):
        for field in getattr(value, "_fields", ()):
            yield f"{name}.{field}", getattr(value, field)
    elif isinstance(value, dict):
        for key, item in list(value.items())[:MAX_ITEMS]:
            if item.__class__ in TENSOR_TYPES and isinstance(key, (str, bytes, int, float)):
                text = repr(key)
                yield f"{name}[{text if len(text) <= MAX_KEY else text[:MAX_KEY] + '…'}]", item
    elif hasattr(type(value), "named_parameters") and hasattr(type(value), "named_buffers"):
        for found in (value.named_parameters, value.named_buffers):
            for path, item in found():
                if item.__class__ in TENSOR_TYPES:
                    yield f"{name}.{path}", item


def names_of(namespace: Mapping[str, Any] | None) -> dict[int, str]:
    """The first name of every named tensor, by the tensor's ``id``."""
    return {} if namespace is None else {id(tensor): name for name, tensor in named_tensors(namespace)}

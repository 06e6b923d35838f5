"""Whose an object is: the one place that tells mindtorch's tensors, nodes and storages from PyTorch's."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from .._autograd.node import Node
from .._base.interrupts import contextmanager
from .._dispatch.dispatcher import TENSOR_TYPES
from .._dispatch.observers import ActivityObserver, Observer
from .library import Library
from .native import Native
from .pytorch import PyTorch, is_pytorchs, is_pytorchs_node, is_pytorchs_tensor, pytorch

NATIVE, PYTORCH = Native(), PyTorch()


def library_of(value: Any) -> Library:
    """Return the library of a tensor, a storage or a node."""
    return PYTORCH if is_pytorchs(value) else NATIVE


def libraries() -> list[Library]:
    """Return the libraries that are loaded; none is loaded by asking."""
    return [NATIVE] if pytorch() is None else [NATIVE, PYTORCH]


def is_tensor(value: Any) -> bool:
    """Return True if an object is a tensor of one of the libraries."""
    return value.__class__ in TENSOR_TYPES or is_pytorchs_tensor(value)


def is_node(value: Any) -> bool:
    """Return True if an object is a node of an autograd graph of one of the libraries."""
    return isinstance(value, Node) or is_pytorchs_node(value)


@contextmanager
def watching(observer: Observer, activities: ActivityObserver | None = None) -> Iterator[None]:
    """Report a block's operators and activities to observers; libraries imported inside are not observed."""
    with ExitStack() as stack:
        for library in libraries():
            stack.enter_context(library.observing(observer, activities))
        yield

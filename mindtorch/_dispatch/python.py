"""``torch._dispatch.python``: a block in which composites run as PyTorch has them in Python, not as in C++."""
from __future__ import annotations

from collections.abc import Iterator

from .._base.interrupts import contextmanager
from .dispatcher import switched


@contextmanager
def enable_python_dispatcher() -> Iterator[None]:
    """Run a block in which composites that PyTorch has twice run in the form for tracers
    (``torch._dispatch.python.enable_python_dispatcher``): ``dropout`` by ``native_dropout``.
    """
    with switched(python_dispatcher=True):
        yield


#: Whether functionalization checks that each value has the layout of its tensor.
checks_layouts = False


@contextmanager
def enable_crossref_functionalize() -> Iterator[None]:
    """Run a block in which functionalization checks that each value has the shape and dtype of its tensor
    (``torch._dispatch.python.enable_crossref_functionalize``).
    """
    global checks_layouts
    before, checks_layouts = checks_layouts, True
    try:
        with switched(python_dispatcher=True):
            yield
    finally:
        checks_layouts = before


@contextmanager
def no_python_dispatcher() -> Iterator[None]:
    """Undo ``enable_python_dispatcher`` for a block (``torch._dispatch.python.no_python_dispatcher``)."""
    with switched(python_dispatcher=False):
        yield

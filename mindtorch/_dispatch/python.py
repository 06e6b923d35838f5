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


@contextmanager
def no_python_dispatcher() -> Iterator[None]:
    """Undo ``enable_python_dispatcher`` for a block (``torch._dispatch.python.no_python_dispatcher``)."""
    with switched(python_dispatcher=False):
        yield

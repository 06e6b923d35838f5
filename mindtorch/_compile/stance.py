"""The stance of each thread: when compiled functions are compiled, and when they run as they are written."""
from __future__ import annotations

import threading
from contextlib import ContextDecorator
from typing import Any

from .._base.interrupts import leaving

STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile")


class Stance(threading.local):
    """The stance of this thread, as ``set_stance`` sets it."""

    name = "default"
    exporting = False  #: whether ``torch.export`` traces a program


stance_of_thread = Stance()


class set_stance(ContextDecorator):
    """When compiled functions of this thread are compiled (again): ``default``, ``force_eager``, ``eager_on_recompile``
    or ``fail_on_recompile``; a setting, a ``with`` block or a decorator (``torch.compiler.set_stance``).

    Raises:
        RuntimeError: if there is no such stance.
        NotImplementedError: for ``force_backend``. ``skip_guard_eval_unsafe`` changes nothing: guards are evaluated.
    """

    def __init__(self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False,
                 force_backend: Any = None) -> None:
        if stance not in STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}'")
        if force_backend is not None:
            raise NotImplementedError("set_stance(force_backend=...) is left out: give the backend to torch.compile, "
                                      "or to torch.compiler.set_default_backend before it is called")
        self.stance, self.before = stance, stance_of_thread.name
        stance_of_thread.name = stance

    def __enter__(self) -> None:
        stance_of_thread.name = self.stance

    @leaving(lambda block: lambda gone: block.__exit__())
    def __exit__(self, *exc: object) -> None:
        stance_of_thread.name = self.before

    def __call__(self, func: Any) -> Any:
        """Decorate a function, in whose calls alone the stance holds."""
        stance_of_thread.name = self.before
        return super().__call__(func)

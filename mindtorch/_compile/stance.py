"""The stance of each thread: when compiled functions are compiled, and when they run as they are written."""
from __future__ import annotations

import threading

STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile")


class Stance(threading.local):
    """The stance of this thread, as ``set_stance`` sets it."""

    name = "default"


stance = Stance()

"""``%autoreload`` of the library's own files: their edited rows are used.

Executing a family's module puts its rows into their table, and the next call uses them; of edited schemas it warns.
"""
from __future__ import annotations

import sys
from typing import Any

from .base import suggest_magic

PACKAGE = f"{__name__.partition('.')[0]}."


class AfterCells:
    """A callback that runs after each cell: it corrects a mistyped magic and serves ``%autoreload``.

    Where IPython knows the source of a module, it puts new code into functions whose text was edited and does not
    execute the module, so that rows that a function made would stay as they are. This has it execute whole modules.
    """

    def __init__(self, ip: Any):
        self.ip = ip

    def __call__(self, result: Any = None) -> None:
        if correction := suggest_magic(self.ip, getattr(result, "error_in_exec", None)):
            print(correction)
        magics = self.ip.magics_manager.registry.get("AutoreloadMagics")
        if magics is not None and magics._reloader.enabled and hasattr(magics._reloader, "deduper_reloader"):
            sources = magics._reloader.deduper_reloader.source_by_modname  # since IPython 9
            sources.update({name: "" for name in sys.modules if name.startswith(PACKAGE)})

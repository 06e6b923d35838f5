"""What ``%autoreload`` does with the library's own files: edited rows are used, and of edited schemas it is said that
they are not.

Executing a family's module puts its rows into their table, and the next call uses them.
"""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ..._dispatch import schemas
from .base import suggest_magic

PACKAGE = f"{__name__.partition('.')[0]}."


class AfterCells:
    """Corrects a mistyped magic after each cell and, while ``%autoreload`` is on, reloads what was edited."""

    def __init__(self, ip: Any):
        self.ip, self.times = ip, _times()

    def __call__(self, result: Any = None) -> None:
        if correction := suggest_magic(self.ip, getattr(result, "error_in_exec", None)):
            print(correction)
        magics = self.ip.magics_manager.registry.get("AutoreloadMagics")
        if magics is not None and magics._reloader.enabled:
            self._execute_whole_modules(magics._reloader)
            self._name_edited_schemas()

    def _execute_whole_modules(self, reloader: Any) -> None:
        """Make IPython execute edited modules as a whole. It would otherwise patch only the edited functions, and rows
        that a function made would stay as they were.
        """
        if deduper := getattr(reloader, "deduper_reloader", None):  # since IPython 9
            deduper.source_by_modname.update({name: "" for name in sys.modules if name.startswith(PACKAGE)})

    def _name_edited_schemas(self) -> None:
        before, self.times = self.times, _times()
        edited = ", ".join(sorted(name for name, time in self.times.items() if time != before.get(name, time)))
        if edited:
            print(f"mindtorch: the schemas in {edited} were edited. Operators are made from their schemas when "
                  "mindtorch is imported: restart the kernel to use the new ones.")


def _times() -> dict[str, int]:
    """Return the times at which the tables of schemas were last written."""
    return {path.name: path.stat().st_mtime_ns for path in Path(schemas.__file__).parent.glob("[!_]*.py")}

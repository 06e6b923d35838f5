"""Tables of operators that are written family by family: kernels, composites, derivatives.

Executing a family's module adds its rows to the table. The module is imported when an operator of the family is first
looked up, so unused families are not loaded. Executing it again, as ``%autoreload`` does, replaces its rows, and the
next call uses them.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from .._base.forks import is_complete, load_module

if TYPE_CHECKING:
    from .registry import OpRegistry

#: Families with kernels in further modules.
ALSO_IN = {"foreach": ("optim",), "indexing": ("writes", "prepared_writes"), "padding": ("shape",),
           "reduction": ("extrema", "moments", "norms", "segments", "statistics", "sums"), "scan": ("statistics",),
           "solvers": ("factorizations", "norms"), "sorting": ("statistics",), "special": ("reparameterization",),
           "views": ("shape",)}


class FamilyTable(MutableMapping[str, Any]):
    """Rows by operator name. Looking up a name loads its family; iterating loads all families."""

    def __init__(self, registry: OpRegistry):
        self.registry = registry
        self.package, self._together = "", False
        self._rows: dict[str, Any] = {}
        self._unloaded: set[str] = set()  # modules that are not imported yet

    def written_in(self, package: str, path: Any, together: bool = False) -> None:
        """Set the package whose modules have the rows. With ``together``, the first look-up loads them all."""
        self.package, self._together = package, together
        self._unloaded = {module.name for module in iter_modules(path) if module.name[0] != "_"}

    def _load(self, *modules: str) -> None:
        for module in modules:
            if module in self._unloaded:
                loaded = load_module(f"{self.package}.{module}")  # waits if another thread is importing it
                if is_complete(loaded):  # not yet if this look-up is part of its own import, which may still fail
                    self._unloaded.discard(module)

    def _load_all(self) -> None:
        self._load(*sorted(self._unloaded))

    def update(self, rows: Mapping[str, Any]) -> None:  # type: ignore[override]
        """Add a module's rows to the table."""
        for name, row in rows.items():
            self[name] = row

    def add(self, *functions: Any) -> None:
        """Add functions that are named like their operators."""
        self.update({function.__name__: function for function in functions})

    def _load_family(self, name: str) -> None:
        if name not in self._rows and self._unloaded:
            op = self.registry.operators.get(name)
            if self._together:
                self._load_all()
            elif op is not None:
                self._load(op.family, *ALSO_IN.get(op.family, ()))

    def get(self, name: str, default: Any = None) -> Any:
        """Return the row of an operator, or ``default`` if it has none."""
        self._load_family(name)  # outside any ``try``: a module's error is not a missing row
        return self._rows.get(name, default)

    def __getitem__(self, name: str) -> Any:
        self._load_family(name)
        return self._rows[name]

    def __setitem__(self, name: str, row: Any) -> None:
        replaced = name in self._rows
        self._rows[name] = row
        if replaced:
            self.registry.forget_rows(name)

    def __delitem__(self, name: str) -> None:
        del self._rows[name]

    def __iter__(self) -> Iterator[str]:
        self._load_all()
        return iter(self._rows)

    def __len__(self) -> int:
        self._load_all()
        return len(self._rows)

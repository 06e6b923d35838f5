"""The table of decompositions that a program is exported with (``torch.export.decomp_utils``)."""
from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any

from .. import _decomp

__all__ = ["CustomDecompTable"]


class CustomDecompTable(dict[Any, Any]):
    """The decompositions to ATen's core operators, and those of composites of other libraries, also of libraries that
    are defined later (``torch.export.decomp_utils.CustomDecompTable``): the table looks for them when it is first read,
    and when a program is decomposed. An operator that is taken out of the table stays whole.
    """

    def __init__(self) -> None:
        super().__init__(_decomp.core_aten_decompositions())
        self.deleted_custom_ops: set[Any] = set()  #: operators of other libraries that were taken out
        self.has_materialized = False

    def materialize(self) -> dict[Any, Any]:
        """Add the composites of libraries that were defined since, and return the table as a plain dictionary."""
        for op, decomposition in _decomp.core_aten_decompositions().items():
            if op.namespace != "aten" and op not in self.deleted_custom_ops and not dict.__contains__(self, op):
                dict.__setitem__(self, op, decomposition)
        self.has_materialized = True
        return dict(dict.items(self))

    def _read(self) -> None:
        if not self.has_materialized:
            self.materialize()

    # -- reading ---------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        self._read()
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self._read()
        return super().__contains__(key)

    def __len__(self) -> int:
        self._read()
        return super().__len__()

    def __iter__(self) -> Iterator[Any]:
        self._read()
        return super().__iter__()

    def __reversed__(self) -> Iterator[Any]:
        self._read()
        return super().__reversed__()

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the decomposition of an operator, or ``default``."""
        self._read()
        return super().get(key, default)

    def keys(self) -> KeysView[Any]:  # type: ignore[override]
        """Return the operators."""
        self._read()
        return super().keys()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        """Return the decompositions."""
        self._read()
        return super().values()

    def items(self) -> ItemsView[Any, Any]:  # type: ignore[override]
        """Return the operators with their decompositions."""
        self._read()
        return super().items()

    # -- writing ---------------------------------------------------------------------------------------------------

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self.deleted_custom_ops.discard(key)

    def update(self, other: Mapping[Any, Any]) -> None:  # type: ignore[override]
        """Put decompositions into the table."""
        for key, value in other.items():
            self[key] = value

    def __delitem__(self, key: Any) -> None:
        self.pop(key)

    def pop(self, key: Any, *default: Any) -> Any:
        """Take an operator out of the table, and return its decomposition; of another library's operator, also before
        the table has found it. Raises KeyError without ``default`` for an operator that has none.
        """
        if key not in self.deleted_custom_ops and getattr(key, "namespace", "aten") != "aten":
            self.materialize()
            if dict.__contains__(self, key):
                self.deleted_custom_ops.add(key)
        return super().pop(key, *default)

    def copy(self) -> CustomDecompTable:
        """Return a table of the same decompositions."""
        made = CustomDecompTable()
        dict.clear(made)
        dict.update(made, dict.items(self))
        made.deleted_custom_ops, made.has_materialized = {*self.deleted_custom_ops}, self.has_materialized
        return made

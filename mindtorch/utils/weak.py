"""``torch.utils.weak``: dictionaries that know tensors by identity, and do not keep them alive."""
from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any


class WeakIdRef(weakref.ref[Any]):
    """A weak reference that is equal to others of the same object (``torch.utils.weak.WeakIdRef``)."""

    def __init__(self, key: Any, callback: Any = None):
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, theirs = self(), other() if isinstance(other, WeakIdRef) else None
        return self is other if mine is None or theirs is None else mine is theirs


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """Values by objects, for as long as these live (``torch.utils.weak.WeakIdKeyDictionary``)."""

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef):
        self.data: Any = {}
        self.ref_type = ref_type
        self.update(dict or {})

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, lambda ref: self.data.pop(ref, None))] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: Any) -> bool:
        return self.ref_type(key) in self.data

    def __iter__(self) -> Iterator[Any]:
        return iter([key for ref in self.data if (key := ref()) is not None])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def copy(self) -> WeakIdKeyDictionary:
        """Return a dictionary with the objects that live."""
        return WeakIdKeyDictionary(self, self.ref_type)


WeakTensorKeyDictionary = WeakIdKeyDictionary

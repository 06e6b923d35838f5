"""``torch.utils.weak``: dictionaries that know tensors by identity, and do not keep them alive."""
from __future__ import annotations

import copy
import weakref
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from .._tensor import Tensor


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

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> WeakIdKeyDictionary:
        copies = type(self)(None, self.ref_type)
        for key, value in self.items():
            copies[key] = copy.deepcopy(value, memo)
        return copies

    def __or__(self, other: Any) -> WeakIdKeyDictionary:
        if not isinstance(other, Mapping):
            return NotImplemented
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other: Any) -> WeakIdKeyDictionary:
        if not isinstance(other, Mapping):
            return NotImplemented
        joined = WeakIdKeyDictionary(other, self.ref_type)
        joined.update(self)
        return joined

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:
        self.update(other)
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self) -> list[Any]:
        """Return the weak references, including dead ones."""
        return list(self.data)


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A reference that does not keep a tensor alive; a call returns the tensor, or None once it is gone
    (``torch.utils.weak.TensorWeakRef``).
    """

    def __init__(self, tensor: Tensor):
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()

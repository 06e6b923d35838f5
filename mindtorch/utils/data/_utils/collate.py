"""From samples to a batch."""
from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ...._creation import as_tensor, tensor
from ...._dtype import float64
from ...._methods.functions import stack
from ...._tensor import Tensor

np_str_obj_array_pattern = re.compile(r"[SaUO]")  #: kinds of arrays of which PyTorch makes no tensors
CollateMap = dict[Any, Callable[..., Any]]


def mapping_like(kind: Mapping[Any, Any], items: dict[Any, Any]) -> Any:
    """Make a mapping of the type of another, with its attributes, if it can be made from items; else a dict."""
    try:
        if not isinstance(kind, MutableMapping):
            return type(kind)(items)  # type: ignore[call-arg]
        clone = copy.copy(kind)
        clone.update(items)
        return clone
    except TypeError:
        return items


def sequence_like(kind: Sequence[Any], items: list[Any]) -> Any:
    """Make a sequence of the type of another, with its attributes, if it can be made from items; else a list."""
    try:
        if not isinstance(kind, MutableSequence):
            return type(kind)(items)  # type: ignore[call-arg]
        clone = copy.copy(kind)
        for i, item in enumerate(items):
            clone[i] = item
        return clone
    except TypeError:
        return items


def mapped(function: Callable[[Any], Any], data: Any, keep_tuples: bool = False) -> Any:
    """Apply a function to the items of mappings and sequences. Tuples become lists, unless kept."""
    if isinstance(data, Mapping):
        return mapping_like(data, {key: function(value) for key, value in data.items()})
    if isinstance(data, tuple):
        items: Iterable[Any] = [function(item) for item in data]
        return type(data)(*items) if hasattr(data, "_fields") else type(data)(items) if keep_tuples else items
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return sequence_like(data, [function(item) for item in data])
    return data


def _is_text(dtype: np.dtype) -> bool:
    """Return True if arrays of a dtype hold strings or objects."""
    return dtype.kind in "SUO"


def default_convert(data: Any) -> Any:
    """Convert NumPy's arrays and numbers to tensors, also in mappings and sequences (``torch.utils.data``)."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if _is_text(data.dtype) else as_tensor(data)
    return mapped(default_convert, data)


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Return a batch of samples, by the function that ``collate_fn_map`` has for their type or a base of it; mappings
    and sequences become mappings and sequences of batches (``torch.utils.data._utils.collate.collate``). Raises
    RuntimeError for sequences of different lengths, and TypeError for samples of a type without a function.
    """
    first = batch[0]
    functions = collate_fn_map or {}
    found = functions.get(type(first)) or next((functions[kind] for kind in functions if isinstance(first, kind)), None)
    if found is not None:
        return found(batch, collate_fn_map=collate_fn_map)

    def together(samples: Any) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return mapping_like(first, {key: together([sample[key] for sample in batch]) for key in first})
    if isinstance(first, Sequence):
        if not hasattr(first, "_fields") and any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [together(samples) for samples in zip(*batch, strict=False)]
        if isinstance(first, tuple):
            return type(first)(*columns) if hasattr(first, "_fields") else columns
        return sequence_like(first, columns)
    raise _cannot_collate(type(first))


def _cannot_collate(what: Any) -> TypeError:
    return TypeError("default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
                     f"{what}")


def collate_tensor_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Stack tensors."""
    return stack(batch, 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Collate arrays of numbers as tensors."""
    if _is_text(batch[0].dtype):
        raise _cannot_collate(batch[0].dtype)
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Collate NumPy's numbers to a tensor of their dtype."""
    return as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Collate floats to a float64 tensor."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Collate ints to an int64 tensor, bools to a bool tensor."""
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Return strings unchanged."""
    return batch


#: By type, or tuple of types. It may be added to.
default_collate_fn_map: CollateMap = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """Return a batch of samples: tensors, arrays and numbers become tensors with a first dimension more, strings stay,
    mappings and sequences become mappings and sequences of batches (``torch.utils.data.default_collate``). Raises
    TypeError for samples of another type, and RuntimeError for samples of different sizes.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)

"""What a jagged nested tensor consists of: its values, and where each part lies among them; mindtorch's and PyTorch's
alike.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._dtype import DType
from .layouts import layout_name
from .library import Layout

SHOWN = 4  #: tensors of a nested one at most whose shapes are named


@dataclass(frozen=True)
class NestedFacts:
    """The tensors that a nested one consists of, by the methods that return them, and its parts: where each begins
    along the packed dimension, and how long it is; None where that cannot be read without waiting. ``packed`` is the
    size of that dimension, ``dim`` its number in the nested tensor.
    """

    tensors: tuple[tuple[str, Any], ...]
    parts: tuple[tuple[int, int], ...] | None
    packed: int
    dim: int
    holes: bool


def is_jagged(tensor: Any) -> bool:
    """Return True for a nested tensor of the layout ``torch.jagged``."""
    return tensor.is_nested and layout_name(tensor) == "jagged"


def nested_facts(tensor: Any, read: Callable[[Any], np.ndarray | None]) -> NestedFacts:
    """Describe a jagged tensor by its parts; ``read`` returns a tensor's values, or None where they are not there."""
    held = [("values", tensor._values.detach()), ("offsets", tensor._offsets)]
    if tensor._lengths is not None:
        held.append(("lengths", tensor._lengths))
    return NestedFacts(tuple(held), _parts(tensor, read), int(tensor._values.shape[tensor._ragged_idx - 1]),
                       tensor._ragged_idx, tensor._lengths is not None)


def _parts(tensor: Any, read: Callable[[Any], np.ndarray | None]) -> tuple[tuple[int, int], ...] | None:
    offsets = read(tensor._offsets)
    lengths = None if tensor._lengths is None else read(tensor._lengths)
    if offsets is None or (tensor._lengths is not None and lengths is None):
        return None
    sizes = np.diff(offsets) if lengths is None else lengths
    return tuple((int(start), int(size)) for start, size in zip(offsets[:-1], sizes, strict=True))


def nested_layout(tensor: Any, shape: tuple[int, ...], dtype: DType, device: str,
                  read: Callable[[Any], np.ndarray | None]) -> Layout:
    """Return the layout of a jagged tensor whose values have a shape."""
    parts = _parts(tensor, read)
    before, after = shape[:tensor._ragged_idx - 1], shape[tensor._ragged_idx:]
    shapes = [str([*before, size, *after]) for _, size in (parts or ())[:SHOWN]]
    said = "nested: the sizes of its parts are not known yet" if parts is None else nested_text(shapes, len(parts))
    return Layout(shape, (), 0, dtype, device, without=said, sizes=tuple(tensor._size))


def nested_text(shapes: Sequence[str], count: int) -> str:
    """Return in a line what the first of a nested tensor's parts are."""
    more = ", …" if count > SHOWN else ""
    return f"nested: {count} tensors one after the other, of shapes {', '.join(shapes)}{more}; x.unbind() gives them"

"""Shapes and constants in terms of views and memory."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._backends.common.layout import infer_size, view_strides
from .._dispatch.keys import STRIDED


def reshape(self: Any, shape: tuple[int, ...]) -> Any:
    """``torch.reshape``: a view if the strides allow it, else a copy."""
    if not self._keys & STRIDED:
        return self.view(shape)
    wanted = infer_size(shape, self.numel())
    if view_strides(self.shape, self._strides(), wanted) is not None:
        return self.view(wanted)
    return self.clone(memory_format="contiguous_format").view(wanted)


ROWS: dict[str, Callable[..., Any]] = {"reshape": reshape}

"""Gradients of parts of a tensor, which are added where they belong in its gradient.

A loop over ``x[t]`` gives one gradient of the size of ``x`` for each step, zero but for one part. As soon as the engine
has a gradient of ``x`` of its own, it adds further ones to their parts alone.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter_ns
from typing import Any

import numpy as np

from .._base.loops.chains import Chained
from .._base.quiet import silent
from .._dispatch import dispatcher
from .._dispatch.aten import add__Tensor as add_
from .._dispatch.keys import CPU, NONCONTIGUOUS, OBSERVED
from .._dispatch.observers import tell_parts


def selected(array: Any, dim: int, index: int, shape: Any) -> Any:
    return array[(*[slice(None)] * (dim % array.ndim), index, ...)]


def sliced(array: Any, dim: int, end: int | None, shape: Any, start: int | None, step: int) -> Any:
    return array[(*[slice(None)] * (dim % array.ndim), slice(start, end, step))]


#: By operator: the part of an array that it views, given the values that its nodes save.
PARTS: dict[str, Callable[..., Any]] = {"select.int": selected, "slice.Tensor": sliced}


#: A sum of half precision, with which NumPy is slow, and of how many elements of others it takes the time of one.
SUM, SLOW = Chained(lambda x, y: x + y, "eE", True), 1 << 5


def add_in_place(part: np.ndarray, gradient: np.ndarray) -> None:
    """Add a gradient to a part of an array; of half precision by a chain, once it repays."""
    if part.dtype.char in "eE" and (ufunc := SUM.ufunc(
            part.dtype.char, (), SLOW * part.size, (part, gradient))) is not None:
        bits = part.view(np.uint16)
        ufunc(bits, gradient.view(np.uint16), out=bits)
    else:
        np.add(part, gradient, part)


def add_to_part(node: Any, gradient: Any, total: Any) -> bool:
    """Add a gradient that arrived at a node to its part of a sum that only the engine refers to; return False, and do
    nothing, unless both are plain CPU tensors and no mode redirects calls.
    """
    if total._keys != CPU or gradient._keys & ~(CPU | NONCONTIGUOUS) or dispatcher.mode & ~OBSERVED or (
            total._base is not None or gradient._dtype is not total._dtype or node.saved is None):
        return False
    start = perf_counter_ns() if dispatcher.mode & OBSERVED else 0
    part = node._part(total._array, *node.saved)
    silent().run(add_in_place, part, gradient._array)
    total._bump()
    if start:
        tell_parts(partial(with_zeros, node), (total, gradient), total, start, perf_counter_ns() - start)
    return True


def with_zeros(node: Any, total: Any, gradient: Any) -> Any:
    """Add the gradient as PyTorch does, for observers: zeros but for the part."""
    return add_(total, node.apply([gradient])[0])

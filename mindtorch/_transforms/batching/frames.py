"""Batched tensors: the elements of a batch, seen as one tensor of the shape of an element."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..._base.interrupts import contextmanager
from ..._base.layout import contiguous_strides
from ..._base.size import Size
from ..._dispatch.aten import as_strided, clone, copy_, expand, new_empty_strided, permute
from ..._dispatch.dispatcher import TENSOR_TYPES, set_local
from ..._dispatch.keys import BACKENDS, BATCHED, MATH_BITS, NONCONTIGUOUS
from ..._dispatch.local import local
from ..._tensor import Tensor, new
from ..pytree import broadcast_to, tree_flatten

_next_number = itertools.count(1).__next__


class VmapInfo(NamedTuple):
    """Facts about the ``vmap`` that calls a user's rule."""

    batch_size: int
    randomness: str


class Frame:
    """One call of ``vmap``: how many elements there are, and what random numbers they get.

    The elements of ``jacfwd`` differ in their tangents only, so that a value may be read, and a tensor that is not
    batched may be written: it becomes batched until the frame ends.
    """

    def __init__(self, size: int, randomness: str = "error", tangents_only: bool = False):
        self.number, self.size, self.randomness, self.tangents_only = _next_number(), size, randomness, tangents_only
        self.widened: list[Tensor] = []
        self.level = 0  #: how deep it is nested in functions of functions, counted from 1

    @contextmanager
    def entered(self) -> Iterator[Frame]:
        """Make calls in the block run inside of this frame."""
        before = local.frames
        self.level = len(before) + local.transforms + 1
        set_local("frames", (*before, self))
        try:
            yield self
        finally:
            set_local("frames", before)
            for tensor in self.widened:
                narrow(tensor)

    def widen(self, tensor: Tensor) -> bool:
        """Make a tensor and its views batched in place: each element has a copy of their memory. Return False if a view
        has a layout or an owner that is not known.
        """
        root = tensor if tensor._base is None else tensor._base
        if root._batched is not None:  # in a frame around this one
            if root._batched[0]._version_counter is not None:  # its views are not known
                return False
            become(root, batched(clone(expand(batched(*root._batched), (self.size, *root.shape))), 0, self))
            self.widened.append(root)
            return True
        views = [alias for alias in (root._storage.aliases() if root._storage is not None else ()) if alias is not root]
        nested = sum(frame.tangents_only for frame in local.frames) > 1  # the views would be widened one by one
        if any(nested or not root._is_dense() or view._base is not root for view in views):
            return False
        whole = new_empty_strided(root, (self.size, *root.shape), (root.numel(), *root._strides()))
        copy_(whole, root._shallow_copy_and_detach())
        for alias in (root, *views):
            shape, strides = (self.size, *alias.shape), (root.numel(), *alias._strides())
            part = as_strided(whole, shape, strides, alias._offset - root._offset)
            become(alias, batched(whole if alias is root else part, 0, self))
            alias._array = None
            self.widened.append(alias)
        return True

    @contextmanager
    def left(self) -> Iterator[None]:
        """Make calls in the block run outside of this frame."""
        frames = local.frames
        set_local("frames", frames[:frames.index(self)] if self in frames else frames)
        try:
            yield
        finally:
            set_local("frames", frames)

    def through_rule(self, rule: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Call a user's rule, such as ``autograd.Function.vmap``, for all elements.

        The rule takes the ``VmapInfo`` and the dimension of the batch in each argument; it returns the results and the
        dimensions of the batch in them.
        """
        with self.left():
            found = rule(VmapInfo(self.size, self.randomness), tuple([place(a, self) for a in args]),
                         *[whole(a, self) for a in args])
        if not isinstance(found, tuple) or len(found) != 2:
            raise RuntimeError("Expected the vmap staticmethod to have two returns, an output and out_dims with pytree "
                               f"structure compatible with the output. Got a {type(found)} instead")
        results, dims = found
        if broadcast_to(dims, spec := tree_flatten(results)[1]) is None:
            raise RuntimeError(
                "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
                f"out_dims={dims} to be compatible with the structure of `output`. out_dims has structure "
                f"{tree_flatten(dims)[1]} but output has structure {spec}. For more details, please see "
                "https://pytorch.org/docs/main/notes/extending.func.html")

        def marked(result: Any, dim: Any) -> Any:
            if isinstance(result, (tuple, list)):
                dims = dim if isinstance(dim, (tuple, list)) else [dim] * len(result)
                return type(result)([marked(*pair) for pair in zip(result, dims, strict=True)])
            return result if dim is None else batched(result, dim % result.ndim, self)

        return marked(results, dims)


def frame_at(level: int) -> Frame:
    """Return the frame that is nested this deep in functions of functions."""
    return next(frame for frame in local.frames if frame.level == level)


def place(value: Any, frame: Frame) -> Any:
    """Along which dimension the elements of this frame lie in a value; None if it has none."""
    if isinstance(value, (tuple, list)):
        return type(value)([place(item, frame) for item in value])
    return (value._batched[1] if value.__class__ in TENSOR_TYPES and value._batched is not None
            and value._batched[2] is frame else None)


def whole(value: Any, frame: Frame) -> Any:
    """Return a value with all its elements of this frame, which lie where ``place`` returns."""
    if isinstance(value, (tuple, list)):
        return type(value)([whole(item, frame) for item in value])
    return value if place(value, frame) is None else value._batched[0]


def batched(value: Any, dim: int, frame: Frame) -> Tensor:
    """One element of ``value``, which has them all along ``dim``."""
    out = new(Tensor)
    out._batched = value, dim, frame
    shape, stride = list(value.shape), list(value._strides())
    del shape[dim], stride[dim]
    out._shape, out._stride = Size(shape), tuple(stride)
    out._dtype, out._device = value._dtype, value._device
    out._keys = BATCHED | value._keys & (BACKENDS | MATH_BITS)
    if out._stride != contiguous_strides(out._shape):
        out._keys |= NONCONTIGUOUS
    out._version_counter = value._version_counter
    return out


def become(tensor: Tensor, other: Tensor) -> None:
    """Give a tensor the layout and elements of a batched tensor."""
    for name in ("_batched", "_shape", "_stride", "_keys"):
        setattr(tensor, name, getattr(other, name))


def narrow(tensor: Tensor) -> None:
    """Make a widened tensor an ordinary one again, with the values that all elements have, or a view of such a one."""
    if tensor._batched is not None:
        whole, dim, _ = tensor._batched
        tensor._batched, base, found = None, tensor._base, whole.select(dim, 0).detach()
        if found._batched is not None:  # in a frame around the one that ends
            become(tensor, found)
            found._batched[2].widened.append(tensor)
        else:
            tensor.data = found.clone() if base is None else base.detach().as_strided(
                tensor.shape, found._strides(), found._offset)


def moved(value: Any, source: int, target: int) -> Any:
    """Return a tensor with one dimension in another place."""
    if source == target:
        return value
    order = [d for d in range(value.ndim) if d != source]
    order.insert(target, source)
    return permute(value, tuple(order))


def lowered(value: Any, frame: Frame) -> Any:
    """Return all elements of a tensor that is batched in this frame, in front; any other as it is."""
    found = value._batched if value.__class__ in TENSOR_TYPES else None
    if found is None or found[2].number < frame.number:
        return value
    whole, dim, own = found
    if own is frame:
        return moved(whole, dim, 0)
    below = lowered(whole, frame)
    return value if below is whole else batched(below, dim + 1, own)


def is_batched(value: Any, frame: Frame) -> bool:
    """Return True if a value is a tensor that is batched in this frame."""
    return value.__class__ in TENSOR_TYPES and lowered(value, frame) is not value


def lowered_all(value: Any, frames: tuple[Frame, ...]) -> Any:
    """Return all elements of a tensor in all these frames, the outermost in front."""
    for frame in reversed(frames):
        value = filled(value, frame)
    return value


def opened(value: Any, frames: tuple[Frame, ...]) -> tuple[Any, list[int]]:
    """Return all elements of a tensor in all these frames, and where they lie: where they did, or in front if all are
    one.
    """
    places: list[int] = []
    for frame in reversed(frames):
        dim = place(value, frame)
        value = filled(value, frame) if dim is None else value._batched[0]
        places.insert(0, dim or 0)
    return value, places


def placed(value: Any, frames: tuple[Frame, ...], places: list[int]) -> Any:
    """Return all elements of a tensor in all these frames, along these dimensions."""
    for frame, dim in zip(reversed(frames), reversed(places), strict=True):
        value = moved(filled(value, frame), 0, dim)
    return value


def raised_all(value: Any, frames: tuple[Frame, ...], places: list[int] | None = None) -> Any:
    """One element of what ``lowered_all`` returned, or, with their places, ``opened`` and ``placed``."""
    for frame, dim in zip(frames, places or [0] * len(frames), strict=True):
        value = raised(value, dim, frame)
    return value


def raised(value: Any, dim: int, frame: Frame) -> Any:
    """One element of ``value``, which has them along ``dim``; below the frames inside of this one."""
    found = value._batched
    if found is None or found[2].number < frame.number:
        return batched(value, dim, frame)
    whole, where, inner = found
    place = dim if dim < where else dim + 1
    return batched(raised(whole, place, frame), where - (place < where), inner)


def filled(value: Any, frame: Frame) -> Any:
    """Return all elements of a tensor, in front; the same for each where it is not batched."""
    return lowered(value, frame) if is_batched(value, frame) else expand(value, (frame.size, *value.shape))

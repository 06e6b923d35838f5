"""``NestedTensor``: tensors of different lengths along one dimension, packed one after the other.

A tensor of shape ``(B, j1, D)`` holds ``values`` of shape ``(sum of the lengths, D)`` and ``offsets`` of shape
``(B + 1,)``, where each of the B parts begins and ends. With ``lengths``, the parts may end sooner, and leave holes.
Operators run on the values: ``ops`` has the rows. Two operators are the bridge for autograd: ``_nested_get_values`` and
``_nested_view_from_jagged``, each the derivative of the other.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ..._autograd.derivative import derivative
from ..._base.formats import LAYOUTS, layout
from ..._base.layout import is_contiguous
from ..._base.symbolic import SymInt
from ..._creation import arange, tensor as tensor_of, zeros
from ..._dispatch.aten import cat, split_with_sizes
from ..._dispatch.schemas import registry
from ..._dtype import DType, int64
from ..._tensor import Tensor, state_of
from ..._utils import _rebuild_from_type_v2, _set_obj_state
from ...library import define
from ...utils.weak import WeakTensorKeyDictionary
from .nested_int import NestedIntNode

_ids = itertools.count()
_sizes: Any = WeakTensorKeyDictionary()


def get_tensor_symint(source: Tensor, *, coeff: int = 1) -> SymInt:
    """Return the size that stands for the lengths which offsets (or lengths) describe: one for each such tensor."""
    found = _sizes.get(source)
    if found is None:
        found = _sizes[source] = SymInt(NestedIntNode(next(_ids), coeff))
    return found


def share_symint(source: Tensor, copy: Tensor) -> None:
    """Make a copy of offsets stand for the same lengths as these, on another device."""
    _sizes[copy] = get_tensor_symint(source)


class NestedTensor(Tensor):
    """A batch of tensors whose sizes differ in one dimension (``torch.jagged``)."""

    is_nested = True
    _values: Any
    _offsets: Tensor
    _lengths: Tensor | None
    _ragged_idx: int
    _size: tuple[Any, ...]
    _metadata_cache: dict[str, Tensor]
    #: What functions and operators do with these tensors: ``ops`` puts them here.
    _above_autograd: Callable[..., Any]
    _below_autograd: Callable[..., Any]
    _padded: Callable[..., Any]

    @staticmethod
    def __new__(cls: Any, values: Tensor, offsets: Tensor, *, lengths: Tensor | None = None, **kwargs: Any) -> Any:
        """Return a tensor that shares ``values``. Raises AssertionError if the parts do not fit together."""
        if offsets.ndim != 1:
            raise AssertionError(f"offsets must be 1D, but got {offsets.ndim}D")
        if isinstance(values, NestedTensor):
            raise AssertionError("values must not be a NestedTensor")
        if values.device != offsets.device:
            raise AssertionError(f"values and offsets must be on the same device, but got values.device={values.device}"
                                 f" and offsets.device={offsets.device}")
        batch = offsets.shape[0] - 1
        if lengths is not None and batch != lengths.shape[0]:
            raise AssertionError("offsets and lengths batch sizes must match: "
                                 f"offsets.shape[0] - 1 = {batch}, lengths.shape[0] = {lengths.shape[0]}")
        ragged = get_tensor_symint(offsets if lengths is None else lengths)
        at = kwargs.get("_ragged_idx", 1) - 1
        steps = values._strides()
        size = (batch, *values.shape[:at], ragged, *values.shape[at + 1:])
        out = Tensor._make_wrapper_subclass(
            cls, size, (ragged * steps[at], *steps), dtype=values.dtype, device=values.device,
            requires_grad=kwargs.get("requires_grad", False), storage_size=values.untyped_storage().nbytes())
        out._ragged_idx, out._size = at + 1, size
        out._values, out._offsets, out._lengths = values, offsets, lengths
        out._metadata_cache = kwargs.get("_metadata_cache") or {}
        return out

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: ``__new__`` has made the tensor."""

    @property
    def layout(self) -> layout:
        """``torch.jagged``."""
        return LAYOUTS["jagged"]

    def offsets(self) -> Tensor:
        """Return where each part begins among the values, and where the last one ends: shape (B + 1,)."""
        return self._offsets

    def lengths(self) -> Tensor | None:
        """Return the length of each part where parts are not adjacent, else None."""
        return self._lengths

    def values(self) -> Tensor:
        """Return the packed elements, with the gradient of this tensor (``torch.Tensor.values``)."""
        return values_of(self)

    def to_padded_tensor(self, padding: float, output_size: Sequence[int] | None = None) -> Any:
        """Return the parts in one strided tensor, each filled up with ``padding``
        (``torch.nested.to_padded_tensor``)."""
        return self._padded(padding, output_size)

    def _all_lengths(self) -> Tensor:
        """Return the length of each part."""
        return self._offsets.diff() if self._lengths is None else self._lengths

    def _seqlen(self, name: str) -> int:
        """Return the longest or shortest length, which is kept once it is known."""
        if name not in self._metadata_cache:
            lengths = self._all_lengths()
            self._metadata_cache[name] = stored(int((lengths.max() if name == "max_seqlen" else lengths.min()).item()))
        return self._metadata_cache[name].shape[0]

    def _get_max_seqlen(self) -> int:
        return self._seqlen("max_seqlen")

    def _get_min_seqlen(self) -> int:
        return self._seqlen("min_seqlen")

    _max_seqlen, _min_seqlen = property(_get_max_seqlen), property(_get_min_seqlen)

    @property
    def _maybe_max_seqlen(self) -> int | None:
        """The longest length if it is known already."""
        return self._metadata_cache["max_seqlen"].shape[0] if "max_seqlen" in self._metadata_cache else None

    @property
    def _maybe_min_seqlen(self) -> int | None:
        """The shortest length if it is known already."""
        return self._metadata_cache["min_seqlen"].shape[0] if "min_seqlen" in self._metadata_cache else None

    def numel(self) -> int:
        """Return the number of elements in all parts (``torch.Tensor.numel``)."""
        if self._lengths is None:
            return self._values.numel()
        others = (*self._size[1:self._ragged_idx], *self._size[self._ragged_idx + 1:])
        return int(self._lengths.sum().item()) * prod(others)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Return True if the values are contiguous and there are no holes (``torch.Tensor.is_contiguous``)."""
        return self._lengths is None and is_contiguous(self._values.shape, self._values._strides())

    def _is_dense(self) -> bool:
        """Return False: no other tensor has these elements in this order."""
        return False

    def storage_offset(self) -> int:
        """Return the offset of the values (``torch.Tensor.storage_offset``)."""
        return self._values.storage_offset()

    def __len__(self) -> int:
        return self._offsets.shape[0] - 1

    def __repr__(self) -> str:  # type: ignore[override]
        graph = f", requires_grad={self.requires_grad}" if self.requires_grad else ""
        if self.grad_fn:
            graph = f", grad_fn={self.grad_fn}"
        return (f"NestedTensor(size={self._size}, offsets={self._offsets}{graph}, "
                f"contiguous={self.is_contiguous()})")

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __reduce_ex__(self, protocol: Any) -> Any:
        parts = {"values": self._values, **described(self), "requires_grad": self.requires_grad}
        return _rebuild_from_type_v2, (_rebuild_njt, type(self), (parts,), {})

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the attributes of a tensor from a file; PyTorch's files repeat the parts that it is made of."""
        _set_obj_state(self, {name: value for name, value in state.items() if name not in state_of(self)})

    def __deepcopy__(self, memo: dict[int, Any]) -> NestedTensor:
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                               "protocol at the moment")
        if id(self) not in memo:
            copy = type(self)(self._values.clone(), self._offsets.clone(), **described(self, "offsets"))
            memo[id(self)] = copy.requires_grad_(self.requires_grad)
        return memo[id(self)]

    def __tensor_flatten__(self) -> tuple[list[str], dict[str, Any]]:
        names = ["_values", "_offsets"] + ["_lengths"] * (self._lengths is not None)
        return names, {"requires_grad": self.requires_grad, "ragged_idx": self._ragged_idx}

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, Tensor], meta: dict[str, Any], outer_size: Any, outer_stride: Any) -> Any:
        return NestedTensor(inner["_values"], inner["_offsets"], lengths=inner.get("_lengths"),
                            requires_grad=meta["requires_grad"], _ragged_idx=meta["ragged_idx"])

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return cls._below_autograd(func, args, kwargs or {})

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return cls._above_autograd(func, args, kwargs or {})


def _rebuild_njt(parts: dict[str, Any]) -> NestedTensor:
    """Return a tensor from a file (``torch.nested._internal.nested_tensor._rebuild_njt``)."""
    return NestedTensor(**parts)


def described(tensor: NestedTensor, *without: str) -> dict[str, Any]:
    """Return the arguments, besides the values, that make tensors of one structure."""
    found = {"offsets": tensor._offsets, "lengths": tensor._lengths, "_ragged_idx": tensor._ragged_idx,
             "_metadata_cache": tensor._metadata_cache}
    return {name: value for name, value in found.items() if name not in without}


def stored(size: int) -> Tensor:
    """Return a number as the size of an empty tensor, in which PyTorch keeps it."""
    return zeros((size, 0))


# -- the bridge between a jagged tensor and its values -----------------------------------------------------------------

define("_nested_get_values(Tensor(a) self) -> Tensor(a)  # The packed elements of the jagged tensor `self`.",
       "function")
define("_nested_view_from_jagged(Tensor(a) self, Tensor offsets, Tensor dummy, Tensor? lengths=None, int ragged_idx=1, "
       "Tensor? min_seqlen=None, Tensor? max_seqlen=None) -> Tensor(a)  # A jagged tensor of the elements `self`.",
       "function")


def _view(self: Tensor, offsets: Tensor, dummy: Tensor, lengths: Tensor | None = None, ragged_idx: int = 1,
          min_seqlen: Tensor | None = None, max_seqlen: Tensor | None = None) -> NestedTensor:
    known = {"min_seqlen": min_seqlen, "max_seqlen": max_seqlen}
    return NestedTensor(self, offsets, lengths=lengths, _ragged_idx=ragged_idx,
                        _metadata_cache={name: value for name, value in known.items() if value is not None})


registry.composites["_nested_view_from_jagged"] = _view
_get, _wrap = registry["_nested_get_values"].call, registry["_nested_view_from_jagged"].call
derivative("_nested_get_values", None, None, self=lambda grad, self: like(self, grad))
derivative("_nested_view_from_jagged", None, None, self=lambda grad: values_of(grad))


def values_of(tensor: Any) -> Any:
    """Return a jagged tensor's values, through which gradients flow back to it."""
    return _get(tensor)


def jagged(values: Any, offsets: Tensor, lengths: Tensor | None = None, ragged_idx: int = 1,
           cache: dict[str, Tensor] | None = None) -> Any:
    """Return a jagged tensor of values, through which gradients flow back to them."""
    known = {name: size.to(values.device) for name, size in (cache or {}).items()}  # kernels take tensors of one device
    return _wrap(values, offsets, offsets, lengths, ragged_idx, known.get("min_seqlen"), known.get("max_seqlen"))


def like(tensor: Any, values: Any, ragged_idx: int | None = None) -> Any:
    """Return a jagged tensor of other values in the structure of a tensor."""
    return jagged(values, tensor._offsets, tensor._lengths, ragged_idx or tensor._ragged_idx, tensor._metadata_cache)


# -- construction ------------------------------------------------------------------------------------------------------


def jagged_from_list(tensors: Sequence[Tensor], offsets: Tensor | None, dtype: DType | None = None,
                     device: Any = None) -> tuple[Any, Tensor]:
    """Return a jagged tensor of a list of tensors, and its offsets. Raises RuntimeError if they differ in more than
    one dimension, in dtype, or in device.
    """
    if not tensors:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    first = tensors[0]
    for differs, what in ((lambda t: t.dtype != first.dtype, "have the same dtype"),
                          (lambda t: t.device != first.device, "be on the same device"),
                          (lambda t: t.ndim != first.ndim, "have the same dim")):
        if any(map(differs, tensors)):
            raise RuntimeError(f"When constructing a nested tensor, all tensors in list must {what}")
    sizes = [t.shape for t in tensors]
    if not sizes[0]:
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    differing = [d for d, column in enumerate(zip(*sizes, strict=True)) if len({*column}) > 1]
    if len(differing) > 1:
        raise RuntimeError("Cannot represent given tensor list as a nested tensor with the jagged layout. Note that "
                           "the jagged layout only allows for a single ragged dimension. For example: (B, *, D_0, D_1, "
                           "..., D_N), with ragged * dim.")
    at = differing[0] if differing else 0
    options = {name: value for name, value in (("device", device), ("dtype", dtype)) if value is not None}
    values = cat([*tensors], at).to(**options)
    lengths = [size[at] for size in sizes]
    if offsets is None:
        offsets = tensor_of([0, *itertools.accumulate(lengths)], dtype=int64, device=values.device)
    cache = {"min_seqlen": stored(min(lengths)), "max_seqlen": stored(max(lengths))}
    return jagged(values, offsets, None, at + 1, cache), offsets


def jagged_from_tensor_and_lengths(tensor: Tensor, starts: Tensor, lengths: Tensor) -> tuple[Any, Tensor,
                                                                                             Tensor | None]:
    """Return a view of the rows of a strided tensor, of each from its start on, with its length; the offsets, and the
    lengths where there are holes.
    """
    batch, longest = tensor.shape[0], tensor.shape[1]
    if any(part.ndim > 1 or part.numel() not in (1, batch) for part in (starts, lengths)):
        raise RuntimeError("When constructing a jagged nested tensor using narrow(), your start and length must be "
                           "Tensors that broadcast to input.shape[0]")
    starts, lengths = starts.expand(batch), lengths.expand(batch)
    begins = starts + longest * arange(batch, dtype=int64, device=tensor.device)
    offsets = cat([begins, (begins[-1] + lengths[-1]).unsqueeze(0)])
    values = tensor.view(-1, *tensor.shape[2:])
    holes = (bool((lengths[1:-1] != longest).any()) or bool((offsets[1:-2].diff() != longest).any())
             or int(offsets[0] + lengths[0]) != longest)
    cache = {"min_seqlen": stored(int(lengths.min())), "max_seqlen": stored(int(lengths.max()))}
    if holes:
        return jagged(values, offsets, lengths, 1, cache), offsets, lengths
    part = values[int(offsets[0]):int(offsets[-1])]
    return jagged(part, offsets - offsets[0], None, 1, cache), offsets, None


def parts_of(tensor: NestedTensor) -> tuple[Any, ...]:
    """Return the parts as strided tensors, views of the values (``torch.Tensor.unbind``)."""
    values, at = values_of(tensor), tensor._ragged_idx - 1
    if tensor._lengths is None:
        return tuple(split_with_sizes(values, tensor._offsets.diff().tolist(), at))
    held = values.shape[at]
    starts, lengths = tensor._offsets.tolist(), tensor._lengths.tolist()
    if any(start + length > held for start, length in zip(starts, lengths, strict=False)):
        raise RuntimeError("unbind(): nested tensor offsets and lengths do not match ragged_idx dimension")
    return tuple(values.narrow(at, start, length) for start, length in zip(starts, lengths, strict=False))

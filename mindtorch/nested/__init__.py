"""Batches of tensors whose sizes differ: ``torch.nested``, in the layout ``torch.jagged``."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._autograd.grad_mode import no_grad
from .._base.formats import LAYOUTS, layout as Layout, strided
from .._base.symbolic import SymInt
from .._creation import as_tensor, tensor as tensor_of
from .._dispatch.aten import cat
from .._dtype import DType, int64
from .._tensor import Tensor
from ._internal import ops as _ops  # gives the class its functions
from ._internal.nested_tensor import (
    NestedTensor as _NestedTensor, jagged, jagged_from_list, jagged_from_tensor_and_lengths, stored,
)

__all__ = ["as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged",
           "to_padded_tensor"]
__dir__ = __all__.copy
_JAGGED = LAYOUTS["jagged"]


def nested_tensor(tensor_list: Sequence[Any], *, dtype: DType | None = None, layout: Layout | None = None,
                  device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Any:
    """Return a new leaf that holds copies of tensors, or of what ``torch.tensor`` takes
    (``torch.nested.nested_tensor``). Raises RuntimeError if they differ in more than one dimension.
    """
    _check_layout(layout, "nested tensors")
    tensors = [each if isinstance(each, Tensor) else as_tensor(each) for each in tensor_list]
    with no_grad():
        made, _ = jagged_from_list(tensors, None, dtype, device)
    return made.detach().requires_grad_(requires_grad)


def as_nested_tensor(ts: Any, dtype: DType | None = None, device: Any = None, layout: Layout | None = None) -> Any:
    """Return tensors, or the rows of one, as a nested tensor through which gradients flow back to them
    (``torch.nested.as_nested_tensor``); a nested tensor itself, if dtype and device are its own.
    """
    if not isinstance(ts, (Tensor, list, tuple)) or (isinstance(ts, (list, tuple)) and not all(
            isinstance(t, Tensor) for t in ts)):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    if isinstance(ts, Tensor) and not isinstance(ts, _NestedTensor) and ts.ndim < 2:
        raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
    if isinstance(ts, _NestedTensor):
        _check_layout(ts.layout if layout is None else layout, "nested tensors")
        return ts.to(device=ts.device if device is None else device, dtype=ts.dtype if dtype is None else dtype)
    _check_layout(layout, "nested tensors")
    if isinstance(ts, Tensor):
        batch, length = ts.shape[:2]
        values = ts.reshape(batch * length, *ts.shape[2:]).to(device=device, dtype=dtype or ts.dtype)
        offsets = tensor_of([length * i for i in range(batch + 1)], dtype=int64, device=values.device)
        return jagged(values, offsets, None, 1, {"min_seqlen": stored(length), "max_seqlen": stored(length)})
    return jagged_from_list(list(ts), None, dtype, device)[0]


def to_padded_tensor(input: Any, padding: float, output_size: Sequence[int] | None = None, out: Any = None) -> Any:
    """Return a nested tensor's parts in one strided tensor, each filled up with ``padding`` to the longest, or to
    ``output_size`` (``torch.nested.to_padded_tensor``).
    """
    if not isinstance(input, _NestedTensor):
        raise NotImplementedError("to_padded_tensor(): the input is a strided tensor, which has nothing to fill up")
    return input.to_padded_tensor(padding, output_size)


def narrow(tensor: Tensor, dim: int, start: Any, length: Any, layout: Layout = strided) -> Any:
    """Return a view of the rows of a strided tensor, of each from ``start`` on, ``length`` elements: numbers, or
    tensors with one for each row (``torch.nested.narrow``). Raises RuntimeError for dimensions other than 1.
    """
    for name, value in (("start", start), ("length", length)):
        if not isinstance(value, (int, SymInt, Tensor)):
            raise RuntimeError(f"{name} must be an integer or a tensor")
    _check_layout(layout, "nested narrow")
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    start, length = (value if isinstance(value, Tensor) else tensor_of([value], dtype=int64, device=tensor.device)
                     for value in (start, length))
    return jagged_from_tensor_and_lengths(tensor, start, length)[0]


def nested_tensor_from_jagged(values: Tensor, offsets: Tensor | None = None, lengths: Tensor | None = None,
                              jagged_dim: int | None = None, min_seqlen: int | None = None,
                              max_seqlen: int | None = None) -> Any:
    """Return a view of packed values, whose parts begin at ``offsets`` (shape B + 1) and have ``lengths`` (shape B),
    either of which may be left out (``torch.nested.nested_tensor_from_jagged``). Raises RuntimeError without both, and
    ValueError for a ``jagged_dim`` below 1.
    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = _offsets_of(lengths), None
    if jagged_dim is not None and jagged_dim < 1:
        raise ValueError(f"Expected jagged_dim >=1, but got {jagged_dim}.")
    known = {"min_seqlen": min_seqlen, "max_seqlen": max_seqlen}
    return jagged(values, offsets, lengths, jagged_dim or 1,
                  {name: stored(value) for name, value in known.items() if value is not None})


def masked_select(tensor: Tensor, mask: Tensor) -> Any:
    """Return the elements that a mask selects, those of each row as a part (``torch.nested.masked_select``)."""
    for name, value in (("tensor", tensor), ("mask", mask)):
        if value.layout != strided:
            raise RuntimeError(f"torch.nested.masked_select requires a strided {name}, given "
                               f"{':' * (name == 'mask')}{' ' * (name == 'mask')}{value.layout}".replace("  ", " "))
    counts = mask.expand(tensor.shape).sum(tensor.ndim - 1).view(-1)
    return jagged(tensor.masked_select(mask), _offsets_of(counts))


def _offsets_of(lengths: Tensor) -> Tensor:
    return cat([lengths.new_zeros(1), lengths.cumsum(0)], 0)


def _check_layout(layout: Layout | None, what: str) -> None:
    """Raise RuntimeError for a layout that nested tensors do not have."""
    if layout is None or layout is strided:
        raise RuntimeError(f"mindtorch leaves out the strided layout of {what}: ask for layout=torch.jagged")
    if layout is not _JAGGED:
        raise RuntimeError(f"Specified layout is unsupported for {what}: {layout}")

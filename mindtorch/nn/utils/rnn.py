"""Sequences of different lengths, packed and padded; mirrors ``torch.nn.utils.rnn``."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..._creation import arange, empty_like, tensor
from ..._dispatch.aten import _pack_padded_sequence, _pad_packed_sequence, pad_sequence as _pad_sequence
from ..._dtype import float16, float32, float64, int8, int16, int32, int64, uint8
from ..._tensor import Tensor

__all__ = ["PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
           "pad_sequence", "unpack_sequence", "unpad_sequence"]
__dir__ = __all__.copy


class PackedSequence_(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """Sequences step by step, without padding (``torch.nn.utils.rnn.PackedSequence``).

    ``data`` (sum of the lengths, ...) holds the elements, those of one step together; ``batch_sizes`` (longest length,)
    on the CPU says how many sequences reach each step. ``sorted_indices`` sorts the sequences by length, the longest
    first, and ``unsorted_indices`` undoes it; both are None if they were sorted.
    """

    def __new__(cls, data: Any, batch_sizes: Tensor | None = None, sorted_indices: Tensor | None = None,
                unsorted_indices: Tensor | None = None) -> PackedSequence:
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence and pack_padded_sequences in "
                "nn.utils.rnn. https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with(self, data: Tensor, indices: Any) -> PackedSequence:
        """Return this sequence with other data, and a function of its indices applied."""
        return type(self)(data, self.batch_sizes, *(
            None if of is None else indices(of) for of in (self.sorted_indices, self.unsorted_indices)))

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Convert the data as ``Tensor.to`` does, and move the indices; return itself if nothing changes."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._with(data, lambda indices: indices.to(data.device))

    def pin_memory(self) -> PackedSequence:
        """Return the sequence in pinned memory, so that copies to a device need not wait."""
        return self._with(self.data.pin_memory(), lambda indices: indices.pin_memory())

    def cpu(self) -> PackedSequence:
        return self.to(device="cpu")

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        return self.to(*args, **{"device": "cuda", **kwargs})

    def double(self) -> PackedSequence:
        return self.to(dtype=float64)

    def float(self) -> PackedSequence:
        return self.to(dtype=float32)

    def half(self) -> PackedSequence:
        return self.to(dtype=float16)

    def long(self) -> PackedSequence:
        return self.to(dtype=int64)

    def int(self) -> PackedSequence:
        return self.to(dtype=int32)

    def short(self) -> PackedSequence:
        return self.to(dtype=int16)

    def char(self) -> PackedSequence:
        return self.to(dtype=int8)

    def byte(self) -> PackedSequence:
        return self.to(dtype=uint8)

    @property
    def is_cuda(self) -> bool:
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Invert a permutation (n,) (``torch.nn.utils.rnn.invert_permutation``); None of None."""
    if permutation is None:
        return None
    return empty_like(permutation).scatter_(
        0, permutation, arange(0, permutation.numel(), device=permutation.device))


def pack_padded_sequence(input: Tensor, lengths: Tensor | list[int], batch_first: bool = False,
                         enforce_sorted: bool = True) -> PackedSequence:
    """Pack padded sequences (longest length, batch, ...), or (batch, longest length, ...) with ``batch_first``
    (``torch.nn.utils.rnn.pack_padded_sequence``).

    The sequences have to come in the order of decreasing ``lengths``, unless ``enforce_sorted`` is False.
    """
    lengths = lengths.to(dtype=int64) if isinstance(lengths, Tensor) else tensor(lengths, dtype=int64, device="cpu")
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = lengths.sort(descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    data, batch_sizes = _pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, sorted_indices)


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
                        total_length: int | None = None) -> tuple[Tensor, Tensor]:
    """Return the sequences (length, batch, ...), or (batch, length, ...) with ``batch_first``, padded to the longest or
    to ``total_length``, and their lengths (batch,) (``torch.nn.utils.rnn.pad_packed_sequence``).
    """
    longest = sequence.batch_sizes.size(0)
    if total_length is not None and total_length < longest:
        raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but got "
                         f"total_length={total_length} and max sequence length being {longest}")
    padded, lengths = _pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, total_length or longest)
    if sequence.unsorted_indices is None:
        return padded, lengths
    return (padded.index_select(0 if batch_first else 1, sequence.unsorted_indices),
            lengths[sequence.unsorted_indices.cpu()])


def pad_sequence(sequences: Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> Tensor:
    """Return sequences (length, ...) in one tensor (longest length, batch, ...), or (batch, longest length, ...) with
    ``batch_first`` (``torch.nn.utils.rnn.pad_sequence``). ``padding_side`` is 'right' or 'left'.
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError("pad_sequence: Expected iterable for input sequences, but got arg of type: "
                           f"{type(sequences)}")
    return _pad_sequence(tuple(sequences), batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Remove the padding of ``pad_sequence`` (``torch.nn.utils.rnn.unpad_sequence``)."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    places = arange(rows.shape[1], device=lengths.device)
    return [row[places < length] for row, length in zip(rows, lengths, strict=True)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (length, ...) of one dtype (``torch.nn.utils.rnn.pack_sequence``)."""
    lengths = tensor([sequence.size(0) for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences that were packed, in their order (``torch.nn.utils.rnn.unpack_sequence``)."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)

"""``torch.nn.attention.flex_attention``: attention whose scores and mask are functions of positions.

A function of ``(score, batch, head, query, key)``, or of the four positions, runs once for all under ``vmap``. A
``BlockMask`` notes which blocks of scores a mask leaves empty, and which whole; here scores are computed densely, and
the mask's function decides.
"""
from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..._creation import arange, full, ones, zeros
from ..._device import device as torch_device
from ..._dtype import bool_, float32, float64, int32
from ..._methods.functions import logsumexp, matmul, softmax, where
from ..._tensor import Tensor
from ..._transforms.batch import vmap

__all__ = ["AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention",
           "noop_mask", "or_masks"]
__dir__ = __all__.copy

_DEFAULT_SPARSE_BLOCK_SIZE = 128
MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
_mask_mod_signature, _score_mod_signature = MaskMod, ScoreMod  # PyTorch's names, which libraries import


class AuxRequest(NamedTuple):
    """A choice of further results of ``flex_attention`` (``torch.nn.attention.flex_attention.AuxRequest``)."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The further results that ``return_aux`` asked for (``torch.nn.attention.flex_attention.AuxOutput``)."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Return True for all positions."""
    return batch.new_ones((), dtype=bool_)


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """Return a mask that is True where all are."""
    _check_callable("and_masks", mask_mods)

    def mask(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        result = b.new_ones((), dtype=bool_)
        for one in mask_mods:
            result = result & one(b, h, q, k)
        return result

    return mask


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """Return a mask that is True where one is."""
    _check_callable("or_masks", mask_mods)

    def mask(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        result = b.new_zeros((), dtype=bool_)
        for one in mask_mods:
            result = result | one(b, h, q, k)
        return result

    return mask


def _check_callable(name: str, mods: tuple[Any, ...]) -> None:
    if not all(map(callable, mods)):
        raise RuntimeError(f"{name}: all inputs should be callable mask_mods: {mods}")


def _over_positions(function: Callable[..., Tensor], scores: bool) -> Callable[..., Tensor]:
    """Return a function of positions, called for all combinations of batch, head, query and key."""
    lead = (0,) if scores else ()
    for place in (3, 2, 1, 0):  # the key's dimension is the innermost
        function = vmap(function, in_dims=(*lead, *(0 if i == place else None for i in range(4))))
    return function


def create_mask(mod_fn: Callable[..., Tensor], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int,
                device: Any = None) -> Tensor:
    """Return the boolean mask [B, H, Q_LEN, KV_LEN] of a function of four positions, or the scores that a function of a
    score and four positions makes of zeros (``torch.nn.attention.flex_attention.create_mask``).
    """
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    positions = [arange(size, device=device) for size in sizes]
    if _takes_scores(mod_fn):
        return _over_positions(mod_fn, True)(zeros(sizes, device=device), *positions)
    found = _over_positions(mod_fn, False)(*positions)
    return found.to(bool_)


def _takes_scores(function: Callable[..., Tensor]) -> bool:
    """Return True for a function of five arguments; of four, it is a mask."""
    required = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    return len(required) == 5


class BlockMask:
    """A mask as a function, with the blocks that it leaves in part or as a whole
    (``torch.nn.attention.flex_attention.BlockMask``).

    ``kv_num_blocks`` [B, H, rows] counts the blocks in each row of blocks that are computed with the mask, and
    ``kv_indices`` [B, H, rows, columns] has their columns in front; ``full_...`` those that need no mask; ``q_...``
    the same by columns.
    """

    def __init__(self, seq_lengths: tuple[int, int], kv_num_blocks: Tensor, kv_indices: Tensor,
                 full_kv_num_blocks: Tensor | None = None, full_kv_indices: Tensor | None = None,
                 q_num_blocks: Tensor | None = None, q_indices: Tensor | None = None,
                 full_q_num_blocks: Tensor | None = None, full_q_indices: Tensor | None = None,
                 BLOCK_SIZE: tuple[int, int] = (128, 128), mask_mod: MaskMod = noop_mask):
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = tuple(seq_lengths), BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(cls, kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None = None,
                       full_kv_indices: Tensor | None = None, BLOCK_SIZE: int | tuple[int, int] = 128,
                       mask_mod: MaskMod | None = None, seq_lengths: tuple[int, int] | None = None,
                       compute_q_blocks: bool = True) -> BlockMask:
        """Build a mask from its blocks by rows."""
        if (full_kv_num_blocks is None) is not (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        lengths = seq_lengths or (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        found = cls(lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, BLOCK_SIZE=size,
                    mask_mod=mask_mod or noop_mask)
        if compute_q_blocks:
            found.q_num_blocks, found.q_indices = _ordered(_dense(kv_num_blocks, kv_indices).mT)
            if full_kv_num_blocks is not None and full_kv_indices is not None:
                found.full_q_num_blocks, found.full_q_indices = _ordered(_dense(full_kv_num_blocks, full_kv_indices).mT)
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        """Batches, heads, queries and keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """Return the number of scores."""
        return math.prod(self.shape)

    def to_dense(self) -> Tensor:
        """Return which blocks are computed, int32 [B, H, rows, columns]."""
        dense = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            dense = dense | _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return dense

    def sparsity(self) -> float:
        """Return the percentage of scores in blocks that are not computed."""
        computed = int(self.to_dense().sum()) * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1]
        return 100 * (1 - computed / self.numel())

    def to(self, device: Any) -> BlockMask:
        """Return the mask with its tensors on a device."""
        return self._with(lambda tensor: tensor.to(device))

    def __getitem__(self, index: Any) -> BlockMask:
        """Return the mask of some batches, heads and rows of blocks; its function is for all, and is not kept."""
        index = index if isinstance(index, tuple) else (index,)
        index = tuple(slice(i, i + 1 or None) if isinstance(i, int) else i for i in index)
        rows = [None if part is None else part[index] for part in (
            self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices)]
        assert rows[0] is not None and rows[1] is not None
        return BlockMask.from_kv_blocks(rows[0], rows[1], rows[2], rows[3], self.BLOCK_SIZE, _sliced,
                                        (rows[1].shape[-2] * self.BLOCK_SIZE[0], self.seq_lengths[1]),
                                        self.q_indices is not None)

    def _with(self, function: Callable[[Tensor], Tensor]) -> BlockMask:
        moved = copy.copy(self)
        for name, part in vars(self).items():
            if isinstance(part, Tensor):
                setattr(moved, name, function(part))
        return moved

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        rows, columns = -(-new_q_len // self.BLOCK_SIZE[0]), -(-new_kv_len // self.BLOCK_SIZE[1])
        parts: list[Tensor | None] = []
        for count, indices in ((self.kv_num_blocks, self.kv_indices), (self.full_kv_num_blocks, self.full_kv_indices)):
            parts += (None, None) if count is None or indices is None else (
                _ordered(_dense(count, indices)[..., :rows, :columns]))
        assert parts[0] is not None and parts[1] is not None
        return BlockMask.from_kv_blocks(parts[0], parts[1], parts[2], parts[3], self.BLOCK_SIZE, self.mask_mod,
                                        (new_q_len, new_kv_len))

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """Return the blocks as a picture of characters: full, in part, or none."""
        dense = self.to_dense()
        lead = dense.shape[:-2]
        texts = []
        for number in range(min(math.prod(lead), limit)):
            place = [number // math.prod(lead[i + 1:]) % lead[i] for i in range(len(lead))]
            whole = dense[tuple(place)]
            part = _dense(self.kv_num_blocks, self.kv_indices)[tuple(place)]
            lines = ["".join("░░" if part[i, j] and self.full_kv_indices is not None else "██" if whole[i, j] else "  "
                             for j in range(whole.shape[1])) for i in range(whole.shape[0])]
            texts.append("\n".join((f"{tuple(place)}", *lines)))
        if math.prod(lead) > limit:
            texts.append("...\nTo print out more, set BlockMask.to_string(limit=N)")
        return "\n".join(texts)

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string()}\n)"

    def __repr__(self) -> str:
        names = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices",
                 "full_q_num_blocks", "full_q_indices")
        shapes = "".join(f"    {name}={None if (part := getattr(self, name)) is None else part.shape},\n"
                         for name in names)
        mod = getattr(self.mask_mod, "__name__", self.mask_mod)
        return (f"BlockMask(\n{shapes}    BLOCK_SIZE={self.BLOCK_SIZE},\n    shape={self.shape},\n"
                f"    sparsity={self.sparsity():.2f}%,\n    mask_mod={mod}\n)")


def _sliced(*args: Any) -> Tensor:
    raise RuntimeError("Cannot use mask_mod from a sliced BlockMask: its positions are those of the whole mask; set "
                       "mask_mod to a function of the slice's positions")


def _ordered(dense: Tensor) -> tuple[Tensor, Tensor]:
    """Return the number of ones in each row, and the columns with ones in front."""
    return dense.sum(-1).to(int32), dense.argsort(dim=-1, descending=True, stable=True).to(int32).contiguous()


def _dense(count: Tensor, indices: Tensor) -> Tensor:
    """Undo ``_ordered``."""
    found = arange(indices.shape[-1], device=indices.device) < count[..., None]
    return zeros(indices.shape, dtype=int32, device=indices.device).scatter(-1, indices.long(), found.to(int32))


def create_block_mask(mask_mod: MaskMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int,
                      device: Any = None, BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
                      _compile: bool = False, separate_full_blocks: bool = True) -> BlockMask:
    """Return the blocks of a mask, which is called at all positions (``torch.nn.attention.flex_attention``)."""
    if _takes_scores(mask_mod):
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, torch_device(device or "cpu"))
    rows, columns = -(-Q_LEN // size[0]), -(-KV_LEN // size[1])
    padded = zeros((*mask.shape[:2], rows * size[0], columns * size[1]), dtype=bool_, device=mask.device)
    padded[..., :Q_LEN, :KV_LEN] = mask
    sums = padded.view(*mask.shape[:2], rows, size[0], columns, size[1]).sum((3, 5))
    whole = sums == size[0] * size[1]
    if not separate_full_blocks:
        return BlockMask.from_kv_blocks(*_ordered((sums > 0).to(int32)), BLOCK_SIZE=size, mask_mod=mask_mod,
                                        seq_lengths=(Q_LEN, KV_LEN))
    return BlockMask.from_kv_blocks(*_ordered(((sums > 0) & ~whole).to(int32)), *_ordered(whole.to(int32)),
                                    BLOCK_SIZE=size, mask_mod=mask_mod, seq_lengths=(Q_LEN, KV_LEN))


def flex_attention(query: Tensor, key: Tensor, value: Tensor, score_mod: ScoreMod | None = None,
                   block_mask: BlockMask | None = None, scale: float | None = None, enable_gqa: bool = False,
                   return_lse: bool = False, kernel_options: dict[str, Any] | None = None, *,
                   return_aux: AuxRequest | None = None) -> Any:
    """Return ``softmax(score_mod(query @ key.mT * scale)) @ value`` where the block mask's function is True; zeros in
    rows where it never is (``torch.nn.attention.flex_attention.flex_attention``).

    ``query`` is [B, H, L, E], ``key`` [B, H, S, E], ``value`` [B, H, S, Ev]; with ``enable_gqa`` they may have fewer
    heads. With ``return_lse`` the logarithms of the sums of exponentials [B, H, L] are returned, too.

    Raises:
        ValueError: PyTorch's, for sizes, dtypes or a block mask that do not fit.
    """
    _check(query, key, value, block_mask, enable_gqa)
    if enable_gqa:
        key, value = (x.repeat_interleave(query.shape[1] // x.shape[1], 1) for x in (key, value))
    wide = query.dtype if query.dtype is float64 else float32
    scores = matmul(query, key.mT).to(wide) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    positions = [arange(size, device=query.device) for size in scores.shape]
    if score_mod is not None:
        scores = _over_positions(score_mod, True)(scores, *positions).to(wide)
    if block_mask is not None:
        blocks = ones((), device=query.device, dtype=bool_)
        if block_mask.mask_mod is not noop_mask:
            blocks = _over_positions(block_mask.mask_mod, False)(*positions)
        else:
            tall, broad = block_mask.BLOCK_SIZE
            blocks = block_mask.to_dense().to(bool_).repeat_interleave(tall, -2).repeat_interleave(broad, -1)
            blocks = blocks[..., :scores.shape[-2], :scores.shape[-1]]
        scores = where(blocks, scores, full((), -math.inf, dtype=wide, device=query.device))
    lse = logsumexp(scores, -1)
    weights = where((lse == -math.inf)[..., None], 0., softmax(scores, -1)).to(query.dtype)
    result = matmul(weights, value)
    if return_aux is not None:
        return result, AuxOutput(lse if return_aux.lse else None,
                                 scores.amax(-1) if return_aux.max_scores else None)
    return (result, lse) if return_lse else result


def _check(query: Tensor, key: Tensor, value: Tensor, block_mask: BlockMask | None, enable_gqa: bool) -> None:
    if query.device != key.device or query.device != value.device:
        raise ValueError(f"Expected query, key, and value to have the same device type, but got query.device: "
                         f"{query.device}, key.device: {key.device}, and value.device: {value.device} instead.")
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.shape[1] % key.shape[1] if enable_gqa else query.shape[1] != key.shape[1]:
        raise ValueError("Expect query and key/value to have the same number of heads but got "
                         f"Hq={query.shape[1]} and Hkv={key.shape[1]}. Try setting enable_gqa=True for GQA.")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError("Expect query and key/value to have the same embedding dimension but got "
                         f"E={query.shape[-1]} and E={key.shape[-1]}.")
    if block_mask is not None and block_mask.mask_mod is not noop_mask:
        lengths = (query.shape[2], key.shape[2])
        if lengths != block_mask.seq_lengths:
            raise ValueError(f"block_mask was created for block_mask.shape={block_mask.shape} but got "
                             f"q_len={lengths[0]} and kv_len={lengths[1]}: create one for these lengths, or crop it by "
                             "block_mask._adjust(q_len, kv_len), which does not work for all mask_mods")

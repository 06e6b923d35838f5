"""Silent mistakes with attention and padding: weights that add up over the wrong dimension, masks that keep what they
should hide, padding that counts as data.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..why.explanation import Call
from ..why.wrote import is_tensor
from .watching import Places, Ran, Watcher, shape_of, told, values_of

NOTHING = 1e-12  #: a weight below it is that of a masked place
LARGEST = 1_000_000  #: elements of weights that are looked at
PRODUCTS = ("bmm", "mm", "matmul")
FUSED = "scaled_dot_product_attention"
#: PyTorch's kernels of it, which modules call without the function.
KERNELS = (FUSED, "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_efficient_attention",
           "_scaled_dot_product_attention_math", "_scaled_dot_product_cudnn_attention")


class Padding(Watcher):
    """Knows which places of the batch are padding, and finds what counts them."""

    def __init__(self, record: Any):
        super().__init__(record)
        self.mask: np.ndarray | None = None  # True at padding, [samples, steps]
        self.masks: dict[tuple[int, ...], np.ndarray] = {}  # the last one of each shape: a decoder embeds twice
        self.pad, self.words = -1, 0

    def operator(self, ran: Ran) -> None:
        if ran.packet == "embedding" and len(ran.args) > 1:
            ids = values_of(ran.args[1])
            index = next((a for a in ran.args[2:] if isinstance(a, int) and not isinstance(a, bool)), -1)
            if ids is not None and ids.ndim == 2:
                self.words = (shape_of(ran.args[0]) or (0,))[0]
                self.pad, self.mask = padding_of(ids, index)
                self.masks.pop(ids.shape, None)
                if self.mask is not None:
                    self.masks[ids.shape] = self.mask
        if self.mask is None:
            return
        if ran.packet == "mean" and len(ran.args) > 1 and is_tensor(ran.args[0]):
            self._mean(ran)
        if ran.packet == "mul" and len(ran.args) > 1 and all(map(is_tensor, ran.args[:2])):
            self._loss_of_padding(ran)

    def _mean(self, ran: Ran) -> None:
        shape, dims = shape_of(ran.args[0]) or (), ran.args[1]
        if shape[:2] == self.mask.shape and len(shape) > 2 and dims in ([1], (1,), 1, [-2], (-2,)):  # type: ignore[union-attr]
            self.record.later(told(
                "padding counted", "the mean over the steps counts padding as data",
                f"{int(self.mask.sum())} of the {self.mask.size} places are padding. The mean divides by the "  # type: ignore[union-attr]
                "longest sample's length, and short samples fade by as much as they are shorter.",
                ran.place, [("leave padding out", "mask = (ids != pad)[..., None]; (h * mask).sum(1) / mask.sum(1)")],
                [("words", "count", "+"), ("padding", "counts too", "-"), ("mean", "depends on the batch", "-")]))

    def _loss_of_padding(self, ran: Ran) -> None:
        one, other = ran.args[:2]
        loss, mask = (one, other) if one.requires_grad else (other, one)
        values = values_of(mask) if loss.requires_grad and not mask.requires_grad else None
        if values is not None and self.mask is not None and values.shape == self.mask.shape == shape_of(
                loss) and self.mask.any() and np.array_equal(values != 0, self.mask):
            self.record.later(told(
                "mask inverted", "the loss counts padding alone: its mask is inverted",
                "The mask is 1 where the padding is, and 0 where the words are.",
                ran.place, [("count the words", "mask = (ids != pad).float()")],
                [("words", "times 0", "-"), ("padding", "times 1", "-"), ("loss", "teaches nothing", "")]))

    def function(self, name: str, given: Mapping[str, Any], place: Call) -> None:
        target = values_of(given.get("target"))
        if name != "cross_entropy" or target is None or target.dtype.kind != "i" or given.get("reduction") in (
                "none", 0) or given.get("weight") is not None:
            return
        scores, ignored = shape_of(given.get("input")) or (), given.get("ignore_index", -100)
        classes = scores[1] if len(scores) > 1 else 0
        if self.mask is None or not self.mask.any() or target.size % len(self.mask):
            return
        rows = target.reshape(len(self.mask), -1)
        if classes == self.words and rows.shape[1] > 1:
            ends = rows == self.pad
            counted = ends if (ends & ~np.isin(rows, [ignored])).any() and _trailing(ends) else None
        else:
            same = rows.shape == self.mask.shape
            counted = self.mask if same and (rows[self.mask] != ignored).all() else None
        if counted is not None:
            self.record.later(told(
                "padding counted", f"the loss counts {int(counted.sum())} places of padding as answers",
                "Padding is the most frequent answer and the easiest: the loss falls as the model learns to pad, and "
                "the mean is taken over places that are none.",
                place, [("leave it out", f"F.cross_entropy(scores, target, ignore_index={self.pad})"),
                        ("or mark it in the target", "target[ids == pad] = -100")],
                [("words", f"{int((~counted).sum())} places", "+"), ("padding", f"{int(counted.sum())} places", "-"),
                 ("loss", "their mean", "-")]))


def padding_of(ids: np.ndarray, index: int) -> tuple[int, np.ndarray | None]:
    """Return which number pads a batch of sequences, and where; None if it is not padded at the end."""
    if ids.shape[1] < 3 or len(ids) < 2:
        return -1, None
    pad = index if index >= 0 else int(ids[:, -1].min()) if ids[:, -1].min() == 0 else -1
    mask = ids == pad
    return (pad, mask) if pad >= 0 and _trailing(mask) and not mask.all(1).any() and mask[:, -2].any() else (-1, None)


def _trailing(mask: np.ndarray) -> bool:
    """Return True if marked places stand at the ends of rows, in other numbers."""
    return bool((np.diff(mask.astype(int), axis=1) >= 0).all() and len(set(mask.sum(1).tolist())) > 1)


class Weights(Watcher):
    """The use that attention makes of its weights."""

    def __init__(self, record: Any, padding: Padding):
        super().__init__(record)
        self.padding = padding
        self.softmax = Places()  # of results: strides of the dimension, its number, the line

    def operator(self, ran: Ran) -> None:
        if ran.packet in ("_softmax", "softmax") and is_tensor(ran.result) and len(ran.args) > 1:
            dim, shape = ran.args[1], shape_of(ran.result) or ()
            if isinstance(dim, int) and len(shape) > 2:
                self.softmax.put(ran.library, ran.result, (
                    ran.library.layout(ran.result).stride[dim], dim % len(shape), shape, ran.place))
                self._masked(shape, values_of(ran.result) if ran.result.numel() < LARGEST else None, ran.place)
        elif ran.packet in KERNELS:
            query, key, _, *masks = filter(is_tensor, ran.args)
            self._attention(query, key, masks[0] if masks else None, ran.place)
        elif ran.packet in PRODUCTS and len(ran.args) > 1 and is_tensor(ran.args[0]):
            note, look = self.softmax.get(ran.library, ran.args[0]), ran.library.layout(ran.args[0])
            if note is None or len(look.shape) < 2 or 1 in look.shape[-1:] or look.stride[-1] == note[0] or (
                    look.stride[-1] != 1):
                return
            _, dim, shape, place = note
            if shape[-1] != look.shape[-1] or shape[dim] == 1:
                return
            self.record.later(told(
                "softmax over another dimension",
                f"softmax over the wrong dimension: it runs over dim {dim}, and the weights are summed over the last",
                f"The weights of {list(shape)} add up to 1 over dim {dim}. The product with the values sums over dim "
                f"{len(shape) - 1}, where they add up to anything: what a query gets is no mean of the values.",
                place, [("run over the keys", "scores.softmax(-1)")],
                [("softmax", f"over dim {dim}", "-"), ("weights @ values", f"sums over dim {len(shape) - 1}", "+")]))

    def function(self, name: str, given: Mapping[str, Any], place: Call) -> None:
        if name == FUSED:
            self._attention(given.get("query"), given.get("key"), given.get("attn_mask"), place)

    def _attention(self, queries: Any, keys: Any, given: Any, place: Call) -> None:
        mask, query, key = values_of(given), shape_of(queries), shape_of(keys)
        if mask is None or query is None or key is None or mask.ndim < 2 or mask.size > LARGEST:
            return
        shape = (*query[:-1], key[-2])
        kept = mask if mask.dtype.kind == "b" else mask > -1e8
        self._masked(shape, np.broadcast_to(kept, shape).astype(float), place)

    def _masked(self, shape: tuple[int, ...], weights: np.ndarray | None, place: Call) -> None:
        if weights is None or not np.isfinite(weights).all() or min(shape[-2:]) < 3:
            return
        seen, size = (weights > NOTHING).reshape(-1, *shape[-2:]), shape[-1]
        if shape[-2] == size:
            past = np.tril(np.ones((size, size), bool), -1)
            rows = seen[:, :-1]  # the last has nothing after it
            if not (rows & past[:-1]).any() and rows[:, 0, 2:].any():
                self._inverted("attention keeps later steps and hides earlier ones", "causal", place)
                return
        mask = next((mask for mask in self.padding.masks.values()
                     if mask.any() and size == mask.shape[1] and not len(seen) % len(mask)), None)
        if mask is None:
            return
        kept = seen.reshape(len(mask), -1, size).any(1)
        padded = mask.any(1)
        if padded.any() and not (kept & ~mask)[padded].any() and (kept & mask)[padded].any():
            self._inverted("attention reads padding and hides the words", "padding", place)

    def _inverted(self, what: str, kind: str, place: Call) -> None:
        cure = ("hide what comes later", "scores.masked_fill(~torch.tril(torch.ones(T, T)).bool(), -torch.inf)") if (
            kind == "causal") else ("hide padding", "key_padding_mask=ids == pad  # True is hidden")
        self.record.later(told(
            "mask inverted", f"{what}: the mask is inverted",
            "In key_padding_mask and masked_fill True marks what is hidden; in the attn_mask of "
            "scaled_dot_product_attention True marks what is kept.",
            place, [cure, ("or for scaled_dot_product_attention", "attn_mask=ids != pad  # True is kept")],
            [("mask", "True", ""), ("kept", "what should be hidden", "-"), ("hidden", "what should be read", "-")]))

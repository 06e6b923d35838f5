"""Silent mistakes in how samples, rows and pixels lie: what a view cannot move, what broadcasting repeats, rows that no
longer belong together.
"""
from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..libraries import library_of
from ..why.explanation import Call, Fix, ShapeRow, Shapes, cells
from ..why.wrote import is_tensor
from .finding import Finding
from .graph import under
from .watching import Places, Ran, Watcher, shape_of, told, values_of

VIEWS = ("view", "_unsafe_view", "reshape")
ARITHMETIC = ("mul", "sub", "add", "div", "rsub", "where", "minimum", "maximum", "pow")


class Reshaped(Watcher):
    """Views that exchange sizes: ``images.view(N, 3, H, W)`` of ``[N, H, W, 3]``."""

    def operator(self, ran: Ran) -> None:
        if ran.packet not in VIEWS or not is_tensor(ran.result):
            return
        before, after = shape_of(ran.args[0]) or (), shape_of(ran.result) or ()
        size = moved(before, after)
        if size is None or not re.search("view|reshape|flatten", ran.place.text):
            return  # a function of the library that knows what it does
        order = "permute" if len(before) > 2 else "t"
        self.record.later(Finding(
            "view that does not move", f"{ran.packet.removeprefix('_unsafe_')} turns {list(before)} into {list(after)} "
            "without moving an element",
            f"It reads the same memory in rows of other lengths. The dimension of {size} stands elsewhere afterwards, "
            "so numbers that belonged to one pixel, step or head are spread over several.",
            (Fix("exchange dimensions first, then reshape", f"x.{order}(…).reshape({', '.join(map(str, after))})"),),
            (Shapes((ShapeRow("before", cells(before, _at(before, size))),
                     ShapeRow("after", cells(after, _at(after, size)), "the same memory, in the same order"))),),
            ran.place))


def _at(shape: Sequence[int], size: int) -> list[int]:
    return [d for d, n in enumerate(shape) if n == size]


def moved(before: Sequence[int], after: Sequence[int]) -> int | None:
    """Return the size of a dimension that a view leaves whole, and in another place than its elements are."""
    if math.prod(before) != math.prod(after) or 0 in before:
        return None
    tail = tuple(before[-2:])
    if tuple(before[:-2]) == tuple(after[:-2]) and tail == tuple(after[-2:])[::-1] and abs(tail[0] - tail[-1]) == 1:
        return None  # the shift of relative positions
    for d, size in enumerate(before):
        if size == 1 or list(before).count(size) != 1 or list(after).count(size) != 1:
            continue
        at = list(after).index(size)
        if math.prod(before[:d]) == math.prod(after[:at]):
            continue
        rest, left = [n for n in before if n not in (size, 1)], [n for n in after if n not in (size, 1)]
        if _explained(rest, left):
            return size
    return None


def _explained(rest: list[int], left: list[int]) -> bool:
    """Return True if the other dimensions stay, are joined, or one of them is split: nothing is cut across."""
    for n in list(left):
        if n in rest:
            rest.remove(n)
            left.remove(n)
    return (not rest and not left) or len(rest) == 1 or len(left) == 1


class Broadcast(Watcher):
    """Arithmetic of ``[N]`` and ``[N, 1]``, each sample with all."""

    def operator(self, ran: Ran) -> None:
        tensors = [value for value in ran.args if is_tensor(value)]
        if ran.packet not in ARITHMETIC or len(tensors) < 2 or not any(t.requires_grad for t in tensors):
            return
        for one, other in pairwise(tensors):
            a, b = shape_of(one) or (), shape_of(other) or ()
            n = max(a[:1] + b[:1], default=0)
            if n < 2 or {a, b} != {(n,), (n, 1)} or shape_of(ran.result) != (n, n) or _meant(one) or _meant(other):
                continue
            if re.search("None|unsqueeze|outer", ran.place.text):
                continue
            self.record.later(Finding(
                "loss broadcasts", f"{list(a)} and {list(b)} broadcast to {[n, n]}: {n} samples in all {n * n} pairs",
                "Each sample is computed with the numbers of every other. The mean over all pairs is not the mean over "
                "samples, and what one sample learns depends on the others.",
                (Fix("give both one shape", "out.squeeze(-1)"), Fix("or", "y.view_as(out)")),
                (Shapes((under(a, "one"), under(b, "the other"),
                         ShapeRow("result", cells((n, n), (0, 1)), f"{n * n} pairs instead of {n}"))),), ran.place))


def _meant(tensor: Any) -> bool:
    """Return True if a column was made of a vector, as for all pairs."""
    record = library_of(tensor).record(tensor, 1)
    return any("Unsqueeze" in str(name) for name in record.history) or (
        record.base is not None and len(shape_of(record.base) or ()) == 1 and len(shape_of(tensor) or ()) == 2)


class Rows(Watcher):
    """Rows of the input that were taken in an order that those of the target were not."""

    def __init__(self, record: Any):
        super().__init__(record)
        self.orders = Places()  # of results of indexing
        self.input: Any = None
        self.targets: dict[int, int] = {}  # how often a memory was a target, by its address

    def operator(self, ran: Ran) -> None:
        if ran.packet in ("index", "index_select") and is_tensor(ran.result) and len(ran.args) > 1:
            given = ran.args[1 if ran.packet == "index" else 2]
            index = given if is_tensor(given) else given[0] if isinstance(given, (list, tuple)) and len(
                given) == 1 else None
            rows = values_of(index)
            if rows is not None and rows.ndim == 1 and rows.dtype.kind == "i" and len(rows) > 2 and (
                    np.diff(rows) < 0).any():
                self.orders.put(ran.library, ran.result, (rows.copy(), ran.place))

    def call(self, module: Any, args: Any, kwargs: Mapping[str, Any], recorded: bool) -> None:
        if recorded and args and is_tensor(args[0]) and not args[0].requires_grad:
            self.input = args[0]

    def function(self, name: str, given: Mapping[str, Any], place: Call) -> None:
        target, values = given.get("target"), values_of(given.get("target"))
        if self.input is None or values is None or name not in _PAIRED or target.requires_grad:  # type: ignore[union-attr]
            return
        library = library_of(target)
        place_of = library.address(target)
        self.targets[place_of] = times = self.targets.get(place_of, 0) + 1
        rows, others = self.orders.get(library, self.input), self.orders.get(library, target)
        n = len(values) if values.ndim else 0
        lasting = times > 1 or library.storage_bytes(target) > values.nbytes or others is not None
        if rows is None or not place_of or not lasting or n < 3 or (values == values.flat[0]).all():
            return
        if n != (shape_of(self.input) or (0,))[0] or (others is not None and np.array_equal(others[0], rows[0])):
            return
        self.record.later(told(
            "rows apart", "the rows of the input are no longer those of the target",
            f"The input was taken in the order {[int(row) for row in rows[0][:4]]}…; the target "
            f"{'in another order' if others is not None else 'as it lies'}. Each sample is taught the answer of "
            "another one.",
            rows[1], [("use one order for both", "order = torch.randperm(len(x)); x, y = x[order], y[order]"),
                      ("or let a loader do it", "DataLoader(TensorDataset(x, y), shuffle=True)")],
            [("x", "in a new order", "+"), ("y", "in another" if others is not None else "as before", "-"),
             ("loss", "pairs strangers", "-")]))


_PAIRED = ("cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
           "binary_cross_entropy_with_logits")


class OneSample(Watcher):
    """Batch normalisation of a single sample."""

    def call(self, module: Any, args: Any, kwargs: Mapping[str, Any], recorded: bool) -> None:
        kind, shape = type(module).__name__, shape_of(args[0]) if args else None
        if recorded and kind.startswith("BatchNorm") and module.training and shape and len(shape) > 2 and shape[0] == 1:
            self.record.later(told(
                "batch of one", f"{kind} gets a batch of 1: it normalises the sample by itself",
                "Mean and variance are those of the one sample, so what tells it from others is taken away; the "
                "running statistics that evaluation uses follow single samples.",
                self.record.here(), [("give it more samples", "DataLoader(dataset, batch_size=32)"),
                                     ("or normalise in a way that needs no batch", f"nn.GroupNorm(1, {shape[1]})")],
                [("batch", "1 sample", "-"), (kind, "its own mean", "-"), ("eval", "other statistics", "")]))

"""Views: which dimension of the output a divided dimension of the input becomes."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...._dispatch.overloads import ops
from ...._tensor import Tensor
from ..placement_types import Partial, Placement, Shard
from .rows import Call, R, Row, Run, rule

#: For each dimension of the output, that of the input (None: a new one).
Moves = list[int | None]


def _transposed(call: Call) -> Moves:
    moves: Moves = list(range(call.ndim()))
    if call.ndim():
        one, other = call.dim("dim0"), call.dim("dim1")
        moves[one], moves[other] = moves[other], moves[one]
    return moves


def _without(call: Call, gone: Sequence[int]) -> Moves:
    return [dim for dim in range(call.ndim()) if dim not in gone]


def _with(call: Call) -> Moves:
    moves: Moves = list(range(call.ndim()))
    moves.insert(call["dim"] % (call.ndim() + 1), None)
    return moves


def _squeezed(call: Call) -> Moves:
    dims = call["dim"]
    asked = range(call.ndim()) if dims is None else [d % max(call.ndim(), 1) for d in ([dims] if isinstance(dims, int)
                                                                                       else dims)]
    return _without(call, [dim for dim in asked if call.ndim() and call.shape()[dim] == 1])


def _expanded(call: Call) -> Moves:
    shape = call.outputs[0].shape
    new = len(shape) - call.ndim()
    return [None if dim < new or call.shape()[dim - new] != shape[dim] else dim - new for dim in range(len(shape))]


def _sliced(call: Call) -> Moves:
    dim = call.dim("dim")
    whole = call.outputs[0].shape[dim] == call.shape()[dim] and call["step"] in (1, None)
    return [index if whole or index != dim else None for index in range(call.ndim())]


MOVES: dict[str, Callable[[Call], Moves]] = {
    "t": lambda call: [1, 0] if call.ndim() == 2 else list(range(call.ndim())),
    "transpose": _transposed, "permute": lambda call: [dim % call.ndim() for dim in call["dims"]],
    "unsqueeze": _with, "expand": _expanded, "slice": _sliced,
    "select": lambda call: _without(call, [call.dim("dim")]), "unbind": lambda call: _without(call, [call.dim("dim")]),
    "split": lambda call: [index if index != call.dim("dim") else None for index in range(call.ndim())],
    "split_with_sizes": lambda call: [index if index != call.dim("dim") else None for index in range(call.ndim())],
    "diagonal": lambda call: [*_without(call, [call.dim("dim1"), call.dim("dim2")]), None],
    "unfold": lambda call: [*(d if d != call.dim("dimension") else None for d in range(call.ndim())), None],
}


def moved(moves: Moves) -> Iterator[Row]:
    """Yield the rows of dimensions that stay whole; what is partial stays so."""
    for place, source in enumerate(moves):
        if source is not None:
            yield Row((Shard(place),), (Shard(source),))
    for op in ("sum", "avg", "max", "min", "product"):
        partial: Placement = Partial(op)
        yield Row((partial,), (partial,))


@rule(" ".join(MOVES))
def move(call: Call) -> Iterator[Row]:
    yield from moved(MOVES[call.name](call))


def _squeeze_part(run: Run) -> Tensor:
    """Squeeze the dimensions of one element in the whole; a part may have others."""
    kept = _squeezed(run.call)
    return ops.aten.squeeze.dims(run.args["self"], [dim for dim in range(run.call.ndim()) if dim not in kept])


@rule("squeeze")
def squeeze(call: Call) -> Iterator[Row]:
    yield from (row._replace(run=_squeeze_part) for row in moved(_squeezed(call)))


def groups(before: Sequence[int], after: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the dimensions of the input and of the output that have the same elements between them."""
    i = j = 0
    while i < len(before) or j < len(after):
        old, new = [], []
        left = right = 1
        if i < len(before):
            old, left, i = [i], before[i], i + 1
        if j < len(after):
            new, right, j = [j], after[j], j + 1
        while left != right:
            if left < right and i < len(before):
                old.append(i)
                left, i = left * before[i], i + 1
            elif j < len(after):
                new.append(j)
                right, j = right * after[j], j + 1
            else:
                return
        yield old, new


@rule("view _unsafe_view reshape")
def view(call: Call) -> Iterator[Row]:
    if call["dtype"] is not None:  # view.dtype
        yield from moved(list(range(call.ndim() - 1)))
        return
    before, after = call.shape(), call.outputs[0].shape
    moves: Moves = [None] * len(after)
    for old, new in groups(before, after):
        old, new = [i for i in old if before[i] != 1], [j for j in new if after[j] != 1]
        if old and new:
            parts = call.specs[0].parts(old[0])
            alone = len(old) == len(new) == 1
            if alone or (before[old[0]] % parts == 0 and after[new[0]] % parts == 0):
                moves[new[0]] = old[0]
    yield from moved(moves)


@rule("select_backward slice_backward")
def view_backward(call: Call) -> Iterator[Row]:
    dim = call["dim"] % len(call["input_sizes"])
    shrinks = call.name == "select_backward"
    for own in range(call.ndim()):
        place = own + (shrinks and own >= dim)
        if place != dim:
            yield Row((Shard(place),), (Shard(own),))
    yield call.all(Partial())


@rule("new_zeros new_ones new_full new_empty new_empty_strided")
def new(call: Call) -> Iterator[Row]:
    if tuple(call.outputs[0].shape) == call.shape():
        yield from (Row((Shard(dim),), (Shard(dim),)) for dim in range(call.ndim()))
    yield from (Row((R,), (place,)) for place in call.specs[0].placements)

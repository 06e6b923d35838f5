"""Redistribution: from some placements to others, one dimension of the mesh at a step.

==================  ==================  =============================
from                to                  how
==================  ==================  =============================
Shard(a)            Replicate           all-gather
Shard(a)            Shard(b)            all-to-all
Partial             Replicate           all-reduce
Partial             Shard(a)            reduce-scatter
Replicate           Shard(a)            take a part
Replicate           Partial             divide (no communication)
==================  ==================  =============================

A dimension that several dimensions of the mesh divide is divided by one after another, and put together in the opposite
order. Parts of unequal sizes travel with zeros behind them.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..._dispatch.aten import cat
from ..._dispatch.local import local as observed
from ..._dispatch.observers import Move, is_observed
from ..._tensor import Tensor
from .._collectives.engine import purpose
from .._functional_collectives import all_gather_tensor, all_to_all_single, reduce_scatter_tensor
from ..device_mesh import DeviceMesh
from ._dtensor_spec import DTensorSpec, local_shape_and_offset, shard_order
from .placement_types import Partial, Placement, Replicate, Shard, _NormPartial, local_size_and_offset, padded

#: What a byte costs when an operator needs another placement than its input has: an all-gather's passage is 1. A change
#: of the divided dimension counts as much, so that no dimension is divided that no input divides.
COSTS = {("S", "R"): 1.0, ("S", "S"): 1.0001, ("P", "R"): 2.0, ("P", "S"): 2.0001}
#: Steps without communication cost a little, so that none is preferred.
FREE = {("R", "S"): 1e-6, ("R", "P"): 2e-6}

#: The collective of a step, and the share of this rank's part that it sends around a ring of so many ranks.
SENT: dict[tuple[str, str], tuple[str, Callable[[int], float]]] = {
    ("S", "R"): ("all-gather", lambda ranks: ranks - 1),
    ("S", "S"): ("all-to-all", lambda ranks: (ranks - 1) / ranks),
    ("P", "R"): ("all-reduce", lambda ranks: 2 * (ranks - 1) / ranks),
    ("P", "S"): ("reduce-scatter", lambda ranks: (ranks - 1) / ranks),
}


class Step(NamedTuple):
    """A change of one dimension of the mesh."""

    mesh_dim: int
    source: Placement
    target: Placement


def kind(placement: Placement) -> str:
    """Return "S", "R" or "P"."""
    return "S" if placement.is_shard() else "R" if placement.is_replicate() else "P"


def cost(source: Placement, target: Placement, nbytes: int) -> float:
    """Return the costs of a step."""
    if source == target:
        return 0.0
    pair = kind(source), kind(target)
    if pair == ("S", "P") or pair == ("P", "P"):
        return float("inf")
    if isinstance(source, _NormPartial) and pair == ("P", "S"):
        return float("inf")
    return FREE[pair] if pair in FREE else COSTS[pair] * (nbytes + 1)


def plan(source: Sequence[Placement], target: Sequence[Placement]) -> list[Step]:
    """Return the steps that lead from some placements to others."""
    now, steps = list(source), []

    def innermost(i: int) -> bool:
        placement = now[i]
        return not isinstance(placement, Shard) or shard_order(now, placement.dim)[-1] == i

    def next_one(i: int) -> bool:
        wanted = target[i]
        if not isinstance(wanted, Shard):
            return True
        rest = [Replicate() if j == i else placement for j, placement in enumerate(now)]
        order = shard_order(rest, wanted.dim)
        return [*order, i] == shard_order(target, wanted.dim)[:len(order) + 1]

    def direct(i: int) -> bool:
        return (kind(now[i]), kind(target[i])) not in (("S", "P"), ("P", "P")) and not (
            isinstance(now[i], _NormPartial) and target[i].is_shard())

    def go(i: int, wanted: Placement) -> None:
        steps.append(Step(i, now[i], wanted))
        now[i] = wanted

    while now != list(target):
        wrong = [i for i in range(len(now)) if now[i] != target[i]]
        ready = [i for i in wrong if innermost(i) and next_one(i) and direct(i)]
        # first what makes tensors smaller for the steps behind it, and the outer dimensions before the inner ones
        if ready:
            go(ready[0], target[ready[0]])
            continue
        undo = [i for i in reversed(range(len(now))) if not now[i].is_replicate() and innermost(i)]
        go(next((i for i in undo if i in wrong), undo[0]), Replicate())
    return steps


def moves(source: DTensorSpec, target: DTensorSpec) -> list[Move]:
    """Return the moves of a redistribution's steps, before any is taken: bytes of one rank, around a ring."""
    placements, found = list(source.placements), []
    for step in plan(source.placements, target.placements):
        if source.mesh.size(step.mesh_dim) > 1:
            found.append(_move(source, placements, step))
        placements[step.mesh_dim] = step.target
    return found


def _move(spec: DTensorSpec, placements: Sequence[Placement], step: Step) -> Move:
    """Return the move of a step from these placements."""
    (i, old, new), mesh, dtype = step, spec.mesh, spec.tensor_meta.dtype
    names = mesh.mesh_dim_names or tuple(map(str, range(mesh.ndim)))
    sizes, ranks = list(local_shape_and_offset(spec.shape, mesh, placements)[0]), mesh.size(i)
    if isinstance(old, Shard):  # the largest part: the others travel with zeros behind them
        sizes[old.dim] = -(-_size_before(spec, placements, i, old.dim) // ranks)
    if isinstance(new, Shard):
        sizes[new.dim] = -(-sizes[new.dim] // ranks) * ranks
    name, share = SENT.get((kind(old), kind(new)), ("", lambda ranks: 0.0))
    return Move(f"{dtype.name}[{', '.join(map(str, spec.shape))}]", names[i], str(old), str(new), name,
                round(math.prod(sizes) * dtype.itemsize * share(ranks)))


def _size_before(spec: DTensorSpec, placements: Sequence[Placement], mesh_dim: int, dim: int) -> int:
    """Return a dimension's size on this process, were it not divided by a dimension of the mesh."""
    without = [Replicate() if i == mesh_dim else placement for i, placement in enumerate(placements)]
    return local_shape_and_offset(spec.shape, spec.mesh, without)[0][dim]


def _gather(local: Tensor, dim: int, size: int, mesh: DeviceMesh, i: int) -> Tensor:
    whole = all_gather_tensor(padded(local, dim, -(-size // mesh.size(i))).contiguous(), dim, (mesh, i))
    return whole.narrow(dim, 0, size) if whole.shape[dim] > size else whole


def _take(tensor: Tensor, dim: int, mesh: DeviceMesh, i: int) -> Tensor:
    """Return this process's part."""
    length, start = local_size_and_offset(tensor.shape[dim], mesh.size(i), _place(mesh, i))
    return tensor.narrow(dim, start, length).clone()  # the whole can be freed


def _place(mesh: DeviceMesh, i: int) -> int:
    place = mesh.get_coordinate()
    assert place is not None
    return place[i]


def _scatter(local: Tensor, op: str, dim: int, mesh: DeviceMesh, i: int) -> Tensor:
    parts, size = mesh.size(i), local.shape[dim]
    chunk = -(-size // parts)
    part = reduce_scatter_tensor(padded(local, dim, chunk * parts), op, dim, (mesh, i))
    length, _ = local_size_and_offset(size, parts, _place(mesh, i))
    return part.narrow(dim, 0, length) if length < chunk else part


def _exchange(local: Tensor, old: int, new: int, size: int, mesh: DeviceMesh, i: int) -> Tensor:
    """Divide another dimension: ``size`` is that of the old one, put together."""
    parts, length = mesh.size(i), local.shape[new]
    rows, columns = -(-size // parts), -(-length // parts)
    full = padded(padded(local, old, rows), new, columns * parts)
    blocks = cat([block.unsqueeze(0) for block in full.split(columns, new)], 0)
    arrived = all_to_all_single(blocks.contiguous(), None, None, (mesh, i))
    whole = cat(list(arrived.unbind(0)), old).narrow(old, 0, size)
    return whole.narrow(new, 0, local_size_and_offset(length, parts, _place(mesh, i))[0])


def _taken(local: Tensor, spec: DTensorSpec, placements: Sequence[Placement], step: Step) -> Tensor:
    """Return this process's part after a step from these placements."""
    (i, old, new), mesh = step, spec.mesh
    if isinstance(old, Shard):
        size = _size_before(spec, placements, i, old.dim)
        return (_exchange(local, old.dim, new.dim, size, mesh, i) if isinstance(new, Shard) else
                _gather(local, old.dim, size, mesh, i))
    if isinstance(old, Partial):
        return (_scatter(local, old.reduce_op, new.dim, mesh, i) if isinstance(new, Shard) else
                old._reduce_value(local, mesh, i))
    if isinstance(new, Shard):
        return _take(local, new.dim, mesh, i)
    return new._partition_value(local, mesh, i) if isinstance(new, Partial) else local


def redistribute_local_tensor(local: Tensor, source: DTensorSpec, target: DTensorSpec) -> Tensor:
    """Return this process's part of a tensor under other placements."""
    mesh, placements = source.mesh, list(source.placements)
    if mesh.get_coordinate() is None:
        return local
    if observed.moves is not None:
        observed.moves += moves(source, target)
    for step in plan(source.placements, target.placements):
        i, old, new = step
        before = purpose.set(" ".join(filter(None, ("redistribute", purpose.get(), f"{old} → {new}"))))
        if observed.moves is None and is_observed():
            observed.coming = _move(source, placements, step)
        try:
            local = _taken(local, source, placements, step)
        finally:
            purpose.reset(before)
            observed.coming = None
        placements[i] = new
    return local.contiguous() if local is not None and not local.is_contiguous() else local

"""The cards of a DTensor and of a DeviceMesh: which rank holds which part, without ranks to ask."""
from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mindtorch
from mindtorch._dispatch.local import local
from mindtorch.course.lessons.dtensor import sent
from mindtorch.distributed import _functional_collectives
from mindtorch.distributed._collectives.engine import purpose
from mindtorch.distributed.device_mesh import DeviceMesh
from mindtorch.distributed.tensor import DTensor, Partial, Replicate, Shard
from mindtorch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta, local_shape_and_offset
from mindtorch.distributed.tensor._redistribute import moves
from mindtorch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from mindtorch.introspect import memory_facts, storage_facts, tensors_facts, watch_dispatch
from mindtorch.introspect.placed import is_dtensor, is_mesh, placed_facts
from mindtorch.viz import dispatch_text, picture, tensor_card, tensors_text


def mesh_of(shape: Sequence[int], here: tuple[int, ...] | None, names: Sequence[str] | None = None) -> DeviceMesh:
    """Return a mesh as the process at a place sees it, without processes."""
    mesh = DeviceMesh("cpu", np.arange(prod(shape)).reshape(shape), mesh_dim_names=names, _init_backend=False)
    mesh._coordinate = here
    return mesh


def placed(shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Any], requires_grad: bool = False) -> DTensor:
    """Return a DTensor that holds 0, 1, ... under some placements."""
    whole = mindtorch.arange(float(prod(shape))).reshape(shape)
    sizes, starts = local_shape_and_offset(shape, mesh, placements)
    local = whole[tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))].clone()
    spec = DTensorSpec(mesh, tuple(placements), TensorMeta(whole.shape, whole.stride(), whole.dtype))
    return DTensor(local, spec, requires_grad=requires_grad)


def filled(card: str) -> list[list[tuple[float, ...]]]:
    """Return the filled rectangles of each rank's picture: x, y, width, height in pixels."""
    return [[tuple(float(re.search(rf'\b{side}="([^"]*)"', mark)[1]) for side in ("x", "y", "width", "height"))
             for mark in re.findall("<rect [^>]*>", svg) if "mt-outline" not in mark]
            for svg in re.findall('<svg class="mt-held".*?</svg>', card)]


def test_an_uneven_shard_is_drawn_where_it_lies() -> None:
    card = tensor_card(placed((10, 10), mesh_of((4,), (1,), ("tp",)), [Shard(0)], requires_grad=True))
    lines = card.plain.splitlines()
    assert lines[1] == "tp (4 ranks): Shard(dim=0) dimension 0, of size 10, is divided: parts of 3, 3, 3, 1"
    assert lines[3].split("  ") == ["rank 0 [0:3, :]", "rank 1 ◂ [3:6, :]", "rank 2 [6:9, :]", "rank 3 [9:10, :]"]
    assert lines[4] == "this is rank 1 at (1,): it holds [3:6, :], [3, 10] of [10, 10]"
    assert lines[5].startswith("this rank's part, to_local(): 30 elements, 120 B · from 30 to 59")
    assert "leaf, requires grad" in lines[0] and "a leaf that requires grad" in card.plain
    tops = [marks[0][1] - 1 for marks in filled(card)]
    heights = [marks[0][3] for marks in filled(card)]
    assert tops == pytest.approx([0, 19.2, 38.4, 57.6]) and heights == pytest.approx([19.2, 19.2, 19.2, 6.4])


def test_replicas_have_one_colour_and_partial_values_stripes() -> None:
    card = tensor_card(placed((6, 8), mesh_of((2, 4), (1, 2), ("dp", "tp")), [Replicate(), Shard(1)]))
    colours = re.findall(r'<rect [^>]*class="(mt-s\d)"', card)
    assert colours == ["mt-s0", "mt-s1", "mt-s2", "mt-s3"] * 2
    assert "dp (2 ranks): Replicate() each rank along it has the same" in card.plain
    assert "striped" not in card.plain and all(len(marks) == 1 for marks in filled(card))
    summed = tensor_card(placed((6, 8), mesh_of((2, 4), (1, 2), ("dp", "tp")), [Partial(), Shard(0)]))
    assert "Partial(sum) each rank has an addend: the value is the sum over its ranks" in summed.plain
    assert "rank 3 nothing" in summed.plain and "striped: not yet reduced" in summed.plain
    assert [len(marks) > 5 for marks in filled(summed)] == [True, True, True, False] * 2


@pytest.mark.parametrize("placements", [[Shard(0), Shard(0)], [Shard(1), Shard(0)], [Replicate(), Shard(2)]])
def test_the_parts_make_the_whole(placements: list[Any]) -> None:
    facts = placed_facts(placed((5, 3, 4), mesh_of((2, 2), (0, 1)), placements))
    count = np.zeros(facts.shape, int)
    for part in facts.parts:
        count[tuple(slice(a, a + n) for a, n in zip(part.offset, part.shape, strict=True))] += 1
    assert (count == (2 if Replicate() in placements else 1)).all()
    assert [part.rank for part in facts.parts] == [0, 1, 2, 3] and facts.mesh.names == ("dim 0", "dim 1")


def test_two_dimensions_of_a_mesh_divide_one_of_the_tensor() -> None:
    card = tensor_card(placed((9, 4), mesh_of((2, 4), (1, 2), ("dp", "tp")), [Shard(0), Shard(0)])).plain
    assert card.count("dimension 0, of size 9, is divided by dp and tp: parts of 2, 2, 1, 0, 1, 1, 1, 1") == 2


def test_numbers_and_many_dimensions_and_ranks_have_cards() -> None:
    assert "rank 1 ◂ the number" in tensor_card(placed((), mesh_of((2,), (1,)), [Partial("max")])).plain
    cube = mesh_of((2, 2, 2), (1, 0, 1), ("pp", "dp", "tp"))
    card = tensor_card(placed((2, 4, 4, 3), cube, [Replicate(), Shard(1), Shard(2)])).plain
    assert "pp=0\n" in card and "pp=1\n" in card and "rank 5 ◂ [:, 0:2, 2:4, :]" in card
    assert "drawn: dimensions 1 and 2" in card
    many = tensor_card(placed((64,), mesh_of((32,), (5,)), [Shard(0)]))
    assert "rank 3 [6:8]  …  rank 5 ◂ [10:12]  …  rank 28" in many.plain and len(filled(many)) == 9
    assert "this is rank 5 at (5,): it holds [10:12]" in many.plain


def test_types_have_placements_wherever_they_stand() -> None:
    mesh = mesh_of((2, 2), (0, 1), ("dp", "tp"))
    layer = mindtorch.nn.Linear(4, 4)
    layer.weight = mindtorch.nn.Parameter(placed((4, 4), mesh, [Replicate(), Shard(1)]))
    said = "float32[4, 4] R on dp, S(1) on tp"
    assert said in picture(layer, {}).plain and said in picture(layer.weight, {}).plain
    assert said in tensors_text(tensors_facts({"w": layer.weight}))
    assert "float32[4] R, P(sum)" in picture(placed((4,), mesh_of((2, 2), (0, 0)), [Replicate(), Partial()]), {}).plain


def test_the_memory_of_a_dtensor_is_that_of_its_part() -> None:
    d = placed((1000, 6), mesh_of((4,), (1,)), [Shard(0)])
    part, names = d._local_tensor, {id(d): "d"}
    rows = {facts.name: facts for facts in tensors_facts({"d": d, "part": part})}
    assert rows["d"].bytes == 24_000 and rows["d"].storage_bytes == rows["part"].storage_bytes == 6000
    assert rows["d"].storage == rows["part"].storage
    [use] = [use for use in memory_facts(names)[0].storages if "d" in use.names]
    assert use.bytes == 6000 and use.address == part.data_ptr()
    facts = storage_facts(d, names)
    assert (facts.bytes, facts.sharers[0].name, facts.sharers[0].shape) == (6000, "d.to_local()", (250, 6))


def test_a_mesh_is_a_grid_of_ranks() -> None:
    mesh = mesh_of((2, 3), (1, 0), ("dp", "tp"))
    drawn = picture(mesh, {})
    assert drawn.plain.splitlines() == [
        "DeviceMesh dp = 2 × tp = 3, 6 ranks on cpu", "      tp=0      tp=1    tp=2", "dp=0  rank 0    rank 1  rank 2",
        "dp=1  rank 3 ◂  rank 4  rank 5", "this is rank 3 at (1, 0)"]
    assert mesh._repr_html_() == drawn
    assert "this process is not in the mesh" in picture(mesh_of((2,), None), {}).plain


def test_other_values_are_neither() -> None:
    assert not is_dtensor(mindtorch.zeros(2)) and not is_mesh("cpu")
    assert "to_local" not in tensor_card(mindtorch.ones(2)).plain


@pytest.mark.parametrize("source", [Shard(0), Shard(1), Replicate(), Partial()])
@pytest.mark.parametrize("target", [Shard(0), Shard(1), Replicate()])
def test_bytes_are_those_of_rings(source: Any, target: Any) -> None:
    tensor = placed((8, 4), mesh_of((4,), (1,), ("tp",)), [source])
    found = moves(tensor._spec, tensor._spec.with_placements([target]))
    assert [move.bytes for move in found] == [sent(source, target, 128, 4)] * (source != target)
    assert [bool(move.collective) for move in found] == [bool(move.bytes) for move in found]


def test_padding_and_steps_of_several_dimensions_are_counted() -> None:
    tensor = placed((5, 3), mesh_of((2, 2), (1, 1), ("dp", "tp")), [Shard(0), Partial()])
    found = moves(tensor._spec, tensor._spec.with_placements([Replicate(), Shard(1)]))
    assert [tuple(move)[1:] for move in found] == [  # parts of 3 rows travel, then 5 x 4 columns by halves
        ("dp", "S(0)", "R", "all-gather", 3 * 3 * 4), ("tp", "P(sum)", "S(1)", "reduce-scatter", 5 * 4 * 4 // 2)]


def test_an_operator_has_its_redistributions_below_it() -> None:
    mesh = mesh_of((2,), (1,), ("dp",))
    one, other = placed((4, 3), mesh, [Replicate()]), placed((4, 3), mesh, [Shard(0)])
    with watch_dispatch() as found:
        made = one + other
    event = next(event for event in found.events if event.op == "add.Tensor")
    assert made.placements[0] == Shard(0) and event.moves == (("float32[4, 3]", "dp", "R", "S(0)", "", 0),)
    assert [each for each in found.events if each.moves] == [event]
    lines = dispatch_text(found.events, found.asked).splitlines()
    row = next(i for i, line in enumerate(lines) if line.startswith("add.Tensor"))
    assert lines[row + 1] == "  ⇄ float32[4, 3] R → S(0) on dp: without communication"
    assert lines[0].endswith("0 B sent to redistribute") and "around a ring" in lines[-1]
    with watch_dispatch() as plain:
        mindtorch.ones(2) + 1
    assert "redistribute" not in dispatch_text(plain.events) and "ring" not in dispatch_text(plain.events)


def test_an_explicit_redistribution_is_below_its_collective_and_known_before_it(monkeypatch: Any) -> None:
    tensor, told = placed((4, 3), mesh_of((2,), (1,), ("dp",)), [Shard(0)]), []

    def gather(out: Any, part: Any, group: Any) -> None:
        told.append(tuple(local.moves))  # before a byte is sent
        out.copy_(mindtorch.cat([part, part]))

    monkeypatch.setattr(_functional_collectives, "resolve_group", lambda group: SimpleNamespace(
        size=lambda: 2, group_name="pair"))
    monkeypatch.setattr(_functional_collectives.operations, "all_gather_into_tensor", gather)
    with watch_dispatch() as found:
        tensor.redistribute(placements=[Replicate()])
    assert told == [(("float32[4, 3]", "dp", "S(0)", "R", "all-gather", 24),)] and local.coming is None
    assert [(event.op, event.moves) for event in found.events if event.moves] == [
        ("_c10d_functional::all_gather_into_tensor", told[0])]
    assert "  ⇄ float32[4, 3] S(0) → R on dp: all-gather, sends 24 B" in dispatch_text(found.events, found.asked)


def test_redistributions_are_named_by_module_and_placements(monkeypatch: pytest.MonkeyPatch) -> None:
    mesh, names = mesh_of((2,), (1,), ("tp",)), []

    def reduced(self: Partial, tensor: Any, mesh: DeviceMesh, mesh_dim: int) -> Any:
        names.append(purpose.get())
        return tensor

    monkeypatch.setattr(Partial, "_reduce_value", reduced)
    layers = mindtorch.nn.Sequential(mindtorch.nn.Linear(4, 4), mindtorch.nn.Linear(4, 4))
    model = mindtorch.nn.Sequential(layers)
    parallelize_module(model, mesh, {"0.0": ColwiseParallel(), "0.1": RowwiseParallel()}, src_data_rank=None)
    model(mindtorch.ones(3, 4))
    assert names == ["redistribute Linear 0.1 P(sum) → R"] and purpose.get() == ""

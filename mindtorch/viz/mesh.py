"""A mesh of ranks as a grid, and in it the part of a DTensor that each rank holds."""
from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

from ..introspect.placed import MeshFacts, Part, PlacedFacts, mesh_facts
from .grid import GAP, shown_indices
from .html import Markup, page, tag
from .palette import QUIET, count_text, mono, shape_text, soft, storage_class, storage_colour, tuple_text

SIDE, THIN = 64, 14  #: pixels of the longer side of a whole tensor, and of the shorter one at least
STRIPE = 3  #: pixels of a stripe of a part that is still to be reduced
EDGE = 4  #: ranks at both ends of a long row or column
GRIDS, SIZES = 6, 8  #: grids of a mesh of many dimensions, sizes of parts that are written, at most
#: What the parts mean that are still to be reduced.
REDUCED = {"sum": "each rank has an addend: the value is the sum over its ranks",
           "avg": "each rank has a number of its own: the value is the mean over its ranks",
           "product": "each rank has a factor: the value is the product over its ranks",
           "min": "each rank has a candidate: the value is the least over its ranks",
           "max": "each rank has a candidate: the value is the largest over its ranks"}


def mesh_card(mesh: Any) -> Markup:
    """Draw the card of a DeviceMesh: its ranks in a grid with the names of its dimensions."""
    facts = mesh_facts(mesh)
    sizes = " × ".join(f"{name} = {size}" for name, size in zip(facts.names, facts.ranks.shape, strict=True))
    head = tag("div", tag("b", "DeviceMesh"), " ", mono(sizes), " ",
               soft(f"{count_text(facts.ranks.size, 'rank')} on {facts.device}"), class_="mt-head",
               plain=f"DeviceMesh {sizes}, {count_text(facts.ranks.size, 'rank')} on {facts.device}\n")
    grids = _grids(facts, lambda place: _cell(facts, place, int(facts.ranks[place])))
    return page(tag("div", head, grids, _here(facts), class_="mt-box"), kind="card", sheet="card")


def placed_parts(facts: PlacedFacts, local: tuple[int, ...]) -> Markup:
    """Draw which rank holds which part of a DTensor, and say its placements; ``local`` is the part's shape here."""
    parts = {part.place: part for part in facts.parts}
    colours: dict[Any, int] = {}
    for part in facts.parts:
        colours.setdefault(part[2:], len(colours))

    def cell(place: tuple[int, ...]) -> Markup:
        part = parts[place]
        drawn = _whole(facts, part, colours[part[2:]])
        return _cell(facts.mesh, place, part.rank, drawn, part_text(facts.shape, part))

    lines = [tag("div", mono(name), soft(f" ({count_text(size, 'rank')}): "), tag("b", mono(repr(placement))), " ",
                 soft(words)) for name, size, placement, words in _placements(facts)]
    held = None
    if facts.mesh.here is not None:
        part = parts[facts.mesh.here]
        held = f": it holds {part_text(facts.shape, part)}, {shape_text(local)} of {shape_text(facts.shape)}"
    note = "striped: not yet reduced" if facts.op else None
    drawn = _drawn(facts)
    if len(facts.shape) > 2:
        note = "; ".join(filter(None, [f"drawn: dimensions {drawn[0]} and {drawn[1]}", note]))
    said = tag("div", note, class_="mt-soft") if note else None
    return tag("div", *lines, _grids(facts.mesh, cell), _here(facts.mesh, held), said, class_="mt-mesh")


def part_text(shape: tuple[int, ...], part: Part) -> str:
    """Write a part as an index into the whole: ``[0:3, :]``."""
    if not all(length or not size for length, size in zip(part.shape, shape, strict=True)):
        return "nothing"
    slices = (":" if length == size else f"{start}:{start + length}"
              for size, length, start in zip(shape, part.shape, part.offset, strict=True))
    return f"[{', '.join(slices)}]" if shape else "the number"


def _placements(facts: PlacedFacts) -> Iterator[tuple[str, int, Any, str]]:
    names = facts.mesh.names
    for name, size, placement in zip(names, facts.mesh.ranks.shape, facts.placements, strict=True):
        if placement.is_shard():
            dim, by = placement.dim, facts.divided[placement.dim]
            sizes = list({part.offset[dim] if part.shape[dim] else (part.place[by[0]], part.place): part.shape[dim]
                          for part in facts.parts if all(not at for i, at in enumerate(part.place) if i not in by)
                          }.values())
            parts = (f"{len(sizes)} parts of {sizes[0]}" if len(set(sizes)) == 1 else
                     f"parts of {', '.join(map(str, sizes[:SIZES]))}{', …' * (len(sizes) > SIZES)}")
            words = f"dimension {dim}, of size {facts.shape[dim]}, is divided"
            words += f" by {' and '.join(names[i] for i in by)}: {parts}" if len(by) > 1 else f": {parts}"
        elif placement.is_replicate():
            words = "each rank along it has the same"
        else:
            words = REDUCED.get(placement.reduce_op, "each rank has a contribution to the value")
        yield name, size, placement, words


def _here(mesh: MeshFacts, held: str | None = None) -> Markup:
    if mesh.here is None:
        return tag("div", "this process is not in the mesh", class_="mt-soft")
    return tag("div", f"this is rank {int(mesh.ranks[mesh.here])} at {tuple_text(mesh.here)}{held or ''}")


def _grids(mesh: MeshFacts, cell: Callable[[tuple[int, ...]], Markup]) -> Markup:
    """Draw a grid of ranks, or one for each index of the outer dimensions of a mesh of more than two."""
    outer = mesh.ranks.shape[:-2]
    prefixes = list(itertools.islice(itertools.product(*map(range, outer)), GRIDS))
    left = math.prod(outer) - len(prefixes)
    more = tag("div", f"and {count_text(left, 'more grid')}", class_="mt-soft") if left else None
    return tag("div", *(_grid(mesh, prefix, cell) for prefix in prefixes), more, class_="mt-slices mt-scroll",
               tabindex="0")


def _shown(size: int, here: int | None) -> list[int | None]:
    """Return the ranks that are drawn of a row or column: some at both ends, and this one."""
    shown = shown_indices(size, EDGE)
    if here is None or here in shown:
        return shown
    return [*range(EDGE), *([GAP] if here > EDGE else []), here, *([GAP] if here < size - EDGE - 1 else []),
            *range(size - EDGE, size)]


def _grid(mesh: MeshFacts, prefix: tuple[int, ...], cell: Callable[[tuple[int, ...]], Markup]) -> Markup:
    *sides, columns = mesh.ranks.shape[len(prefix):]
    *side_names, column_name = mesh.names[len(prefix):]
    *side_here, here = (None, None) if mesh.here is None else mesh.here[len(prefix):]
    across = _shown(columns, here)
    corner = tag("th") if sides else None
    head = tag("tr", corner, *(tag("th", "…" if c is None else f"{column_name}={c}", scope="col") for c in across))
    rows = []
    for r in _shown(sides[0], side_here[0]) if sides else [()]:
        side = tag("th", "⋮" if r is None else f"{side_names[0]}={r}", scope="row") if sides else None
        row: tuple[int, ...] = () if r == () else (r,)  # type: ignore[assignment]
        rows.append(tag("tr", side, *(tag("td", "…") if c is None or r is None else cell((*prefix, *row, c))
                                      for c in across)))
    said = ", ".join(f"{name}={at}" for name, at in zip(mesh.names, prefix, strict=False))
    return tag("table", tag("caption", said) if said else None, tag("thead", head), tag("tbody", *rows),
               class_="mt-ranks")


def _cell(mesh: MeshFacts, place: tuple[int, ...], rank: int, drawn: Markup | None = None, said: str = "") -> Markup:
    is_here = place == mesh.here
    name = f"rank {rank}"
    mark = tag("b", f"{name} ◂ this") if is_here else name
    at = ", ".join(f"{dim}={index}" for dim, index in zip(mesh.names, place, strict=True))
    return tag("td", drawn, tag("div", mark), tag("div", mono(said)) if said else None,
               plain=f"{name}{' ◂' * is_here} {said}".rstrip() + "\t", class_="mt-here" if is_here else None,
               title=f"{name} at {at}{': ' * bool(said)}{said}")


def _drawn(facts: PlacedFacts) -> list[int]:
    """Return the two dimensions that are drawn of a tensor of more: those divided come before the last ones."""
    dims = [*facts.divided, *(dim for dim in reversed(range(len(facts.shape))) if dim not in facts.divided)]
    return sorted(dims[:2])


def _whole(facts: PlacedFacts, part: Part, number: int) -> Markup:
    """Draw the outline of the whole tensor, filled where a rank's part lies; striped if it is still to be reduced."""
    dims = _drawn(facts)
    lying = [(facts.shape[dim], part.offset[dim], part.shape[dim]) for dim in dims]
    down, across = ((1, 0, 1), (1, 0, 1), *lying)[-2:]
    longest = max(down[0], across[0], 1)
    height, width = (max(SIDE * size / longest, THIN) for size in (down[0], across[0]))
    (x, w), (y, h) = ((start * side / max(size, 1), length * side / max(size, 1))
                      for (size, start, length), side in ((across, width), (down, height)))
    look = {"class_": storage_class(number), "fill": storage_colour(number)}
    left = [x + STRIPE * 2 * i for i in range(math.ceil(w / STRIPE / 2))] if facts.op else [x]
    has_part = all(part.shape[i] or not facts.shape[i] for i in range(len(facts.shape)))
    marks = [tag("rect", x=f"{at + 1:.2f}", y=f"{y + 1:.2f}", height=f"{h:.2f}",
                 width=f"{min(STRIPE, x + w - at) if facts.op else w:.2f}", **look) for at in left if has_part]
    outline = tag("rect", x="0.5", y="0.5", width=f"{width + 1:.2f}", height=f"{height + 1:.2f}", fill="none",
                  stroke=QUIET, class_="mt-outline")
    return tag("svg", *marks, outline, class_="mt-held", width=f"{width + 2:.0f}", height=f"{height + 2:.0f}",
               viewBox=f"0 0 {width + 2:.2f} {height + 2:.2f}", role="img", plain="",
               aria_label=f"rank {part.rank}: {part_text(facts.shape, part)}")

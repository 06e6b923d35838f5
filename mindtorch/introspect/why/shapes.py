"""Why shapes do not fit: broadcasting, joining, the targets of losses."""
from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .explanation import (
    CLASH, Cell, Diagnosis, Fields, Fix, Involved, Shape, ShapeRow, Shapes, aside, cells, text, whole,
)
from .failure import Failure

LISTED = 8  #: tensors of a list at most that are all drawn


# -- broadcasting --------------------------------------------------------------------------------------------------


def broadcasts(*shapes: Shape) -> bool:
    """Whether shapes can be broadcast together."""
    for column in itertools.zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1):
        if len({size for size in column if size != 1}) > 1:
            return False
    return True


def aligned(tensors: Sequence[Involved], note: str = "") -> Shapes:
    """Shapes aligned at the right; the columns whose sizes differ and are not 1 are marked."""
    ndim = max(len(tensor.shape) for tensor in tensors)
    columns = [[t.shape[d - ndim] for t in tensors if len(t.shape) >= ndim - d] for d in range(ndim)]
    wrong = [d for d, column in enumerate(columns) if len({size for size in column if size != 1}) > 1]
    rows = []
    for tensor in tensors:
        lead = ndim - len(tensor.shape)
        marked = cells(tensor.shape, [d - lead for d in wrong if tensor.shape[d - lead:][:1] not in ((1,), ())])
        rows.append(ShapeRow(tensor.label, (*(None,) * lead, *marked)))
    result = tuple(Cell("?" if d in wrong else str(max(column, key=lambda n: (n != 1, n))), CLASH if d in wrong else "")
                   for d, column in enumerate(columns))
    rows.append(ShapeRow("result", result))
    return Shapes(tuple(rows), tuple(f"dim {d - ndim}" for d in range(ndim)), note)


def broadcast_fixes(a: Involved, b: Involved) -> tuple[Fix, ...]:
    """Changes of one tensor after which the two do broadcast: tried out, not guessed."""
    found = []
    for one, other in ((b, a), (a, b)):
        if len(one.shape) == 2 and broadcasts(one.shape[::-1], other.shape):
            found.append(Fix(f"if the two dimensions of {one} are meant the other way round", f"{one}.T"))
        for dim in range(1, len(one.shape) + 1):
            if len(other.shape) > len(one.shape) and broadcasts((*one.shape[:dim], 1, *one.shape[dim:]), other.shape):
                said = f"if {one} is to be repeated along a new dimension {dim}"
                found.append(Fix(said, f"{one}.unsqueeze({dim})"))
    return (*found, Fix("else make the marked sizes equal, or one of them 1"))


def broadcast(failure: Failure, f: Fields) -> Diagnosis | None:
    involved = _summands(failure) or failure.of_call(failure.innermost) or f.tensors
    clashing = [t for t in involved if not all(broadcasts(t.shape, o.shape) for o in involved)]
    if len(clashing) < 2:
        return None
    a, b = clashing[0], next(t for t in clashing[1:] if not broadcasts(t.shape, clashing[0].shape))
    column = min(d for d in range(-1, -1 - min(len(a.shape), len(b.shape)), -1)
                 if a.shape[d] != b.shape[d] and 1 not in (a.shape[d], b.shape[d]))
    return Diagnosis(
        f"{a} {a.size} and {b} {b.size} do not broadcast",
        f"Shapes are aligned at their last dimensions. Sizes that meet must be equal, or one of them 1, which is then "
        f"repeated. In dim {column}, {a.shape[column]} meets {b.shape[column]}.", broadcast_fixes(a, b),
        (aligned(clashing),))


def _summands(failure: Failure) -> tuple[Involved, ...]:
    """What addmm and the like add up: a tensor, and a product as if it were one."""
    call = failure.innermost
    if call is None or call.packet not in ("addmm", "addmv", "addbmm", "baddbmm", "addr"):
        return ()
    added, a, b = failure.of_call(call)[:3]
    shape = (*a.shape[:-1], *b.shape[-1:]) if len(b.shape) > 1 else a.shape[:-1]
    return added, replace(a, name=f"{a} @ {b}", shape=shape)


def grown(failure: Failure, f: Fields) -> Diagnosis:
    """A result with more elements than what it is written into."""
    first, *others = involved = failure.of_call(failure.innermost)
    wanted = tuple(max(column, key=lambda n: (n != 1, n)) for column in itertools.zip_longest(
        *(t.shape[::-1] for t in involved), fillvalue=1))[::-1]
    lead = len(wanted) - len(first.shape)
    rows = [aside(t.label, len(wanted) - len(t.shape), t.shape) for t in involved]
    wrong = [d for d, n in enumerate(wanted) if ((1,) * lead + first.shape)[d] != n]
    rows.append(ShapeRow("result", cells(wanted, wrong), "does not fit into what is written"))
    return Diagnosis(
        f"an in-place operator cannot make {first} larger: {first.size} would become {text(wanted)}",
        f"The result is written into the memory of {first}. Broadcasting with {[*others, 'the other operand'][0]} "
        f"gives {text(wanted)}, which has dimensions or sizes that {first} {first.size} has no room for.",
        (Fix("compute a new tensor instead of writing into the old one", f"{first} = {failure.anew(first)}"),
         Fix(f"or write into a tensor that has the shape already, such as {first} expanded and copied",
             f"{first}.expand({', '.join(map(str, wanted))}).clone()")), (Shapes(tuple(rows)),))


# -- joining -------------------------------------------------------------------------------------------------------


def _listed(failure: Failure) -> tuple[Involved, ...]:
    call = failure.called("cat", "stack", "concat", "concatenate", "hstack", "vstack", "column_stack")
    tensors: Any = call.args[0] if call else ()
    return tuple(failure.involved(t, f"tensors[{i}]") for i, t in enumerate(tensors))


def _some(rows: list[ShapeRow], number: int) -> tuple[ShapeRow, ...]:
    """The rows of a long list of tensors around that with a number, and the first."""
    kept = range(len(rows)) if len(rows) <= LISTED else [0, *range(max(1, number - 2), min(len(rows), number + 3))]
    found: list[ShapeRow] = []
    before = -1
    for i in [*kept, len(rows)]:
        if i - before > 1:
            found.append(ShapeRow("…", (), f"{i - before - 1} more"))
        found += rows[i : i + 1]
        before = i
    return tuple(found)


def cat(failure: Failure, f: Fields) -> Diagnosis:
    dim, involved = f.dim, _listed(failure)
    first, other = involved[0].shape, involved[f.number].shape
    wrong = [d for d in range(len(first)) if d != dim and first[d] != other[d]]
    rows = _some([ShapeRow(t.label, cells(t.shape, [d for d in wrong if t.shape[d] != first[d] or t is involved[0]]))
                  for t in involved], f.number)
    fixes = []
    if len(wrong) == 1 and len(first) > 1:
        fixes.append(Fix(f"join them along dimension {wrong[0]}, where they differ", f"torch.cat(…, dim={wrong[0]})"))
    return Diagnosis(
        f"tensors joined along dimension {dim} must agree in all others: {f.wanted} is not {f.got}",
        f"cat lays tensors next to each other along dimension {dim}. {involved[f.number]} {text(other)} differs "
        f"from the first, {text(first)}, in dimension {', '.join(map(str, wrong))}.",
        (*fixes, Fix("or cut, pad or reshape them to agree")),
        (Shapes(rows, tuple("joined" if d == dim else f"dim {d}" for d in range(len(first)))),),
        (involved[0], involved[f.number]))


def cat_ndim(failure: Failure, f: Fields) -> Diagnosis:
    involved = _listed(failure)
    ndim = len(involved[0].shape)
    odd = next((t for t in involved if len(t.shape) != ndim), involved[-1])
    rows = _some([ShapeRow(t.label, cells(t.shape, range(len(t.shape)) if t is odd else ()), f"{len(t.shape)}-d")
                  for t in involved], involved.index(odd))
    return Diagnosis(
        f"tensors to be joined must have equally many dimensions: {odd} has {len(odd.shape)}, the first {ndim}",
        "cat adds no dimensions: all its tensors have the same number of them.",
        (Fix("give it the dimension that it lacks", f"{odd}.unsqueeze(0)"),
         Fix("or put equal shapes along a new dimension", "torch.stack([…])")), (Shapes(rows),), (involved[0], odd))


def stack(failure: Failure, f: Fields) -> Diagnosis:
    involved = _listed(failure)
    first, other = involved[0], involved[f.number]
    wrong = [d for d in range(max(len(first.shape), len(other.shape))) if first.shape[d:d + 1] != other.shape[d:d + 1]]
    rows = _some([ShapeRow(t.label, cells(t.shape, wrong if t in (first, other) else ())) for t in involved], f.number)
    return Diagnosis(f"stack takes tensors of one shape: {first.size} and {other.size} differ",
                     "stack puts its tensors along a new dimension, so all must have the same shape.",
                     (Fix("lay them next to each other along a dimension that they have", "torch.cat([…])"),
                      Fix("or pad the shorter ones", "F.pad(x, (0, missing))")), (Shapes(rows),), (first, other))


# -- losses --------------------------------------------------------------------------------------------------------


def target_shape(failure: Failure, f: Fields) -> Diagnosis:
    """A target of class numbers that does not have the shape of the scores without their classes."""
    x, target = f.x, f.target
    wanted = (*x.shape[:1], *x.shape[2:]) if len(x.shape) > 1 else ()
    rows = (ShapeRow(x.label, cells(x.shape), "scores: [samples, classes, …]"),
            whole(target.label, target.shape, "given"),
            ShapeRow("wanted", cells(wanted, (), range(len(wanted))), "a class number for each"))
    fix = Fix("reshape the target, or the scores")
    if target.shape == (*wanted, 1):
        fix = Fix("take away the dimension of size 1", f"{target}.squeeze(-1)")
    elif len(x.shape) == 3 and target.shape == x.shape[:2]:
        fix = Fix("if the classes stand last, move them to dimension 1", f"{x}.transpose(1, 2)")
    return Diagnosis(
        f"the target {target} {target.size} should have the shape {text(wanted)}",
        f"Dimension 1 of the scores {x.size} counts the classes; the target has their other dimensions, and a "
        "class number in each place.", (fix,), (Shapes(rows),))

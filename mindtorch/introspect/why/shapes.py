"""Why shapes do not fit: broadcasting, joining, splitting, losses."""
from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .facts import CLASH, GOOD, Cell, Cure, Finding, Involved, ShapeRow, Shapes
from .scene import Scene

Shape = tuple[int, ...]
LISTED = 8  #: tensors of a list at most that are all drawn


def text(shape: Sequence[int]) -> str:
    """A shape as in a sentence: ``[2, 3]``."""
    return f"[{', '.join(map(str, shape))}]"


def cells(shape: Sequence[int], clashing: Sequence[int] = (), good: Sequence[int] = ()) -> tuple[Cell, ...]:
    """A shape's sizes, some of them marked by their dimensions."""
    return tuple(
        Cell(str(size), CLASH if dim in clashing else GOOD if dim in good else "") for dim, size in enumerate(shape)
    )


def sizes(found: str) -> Shape:
    """The shape in a message."""
    return tuple(map(int, re.findall(r"-?\d+", found)))


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


def broadcast_cures(a: Involved, b: Involved) -> tuple[Cure, ...]:
    """Changes of one tensor after which the two do broadcast: tried out, not guessed."""
    found = []
    for one, other in ((b, a), (a, b)):
        if len(one.shape) == 2 and broadcasts(one.shape[::-1], other.shape):
            found.append(Cure(f"if the two dimensions of {one.label} are meant the other way round", f"{one.label}.T"))
        for dim in range(1, len(one.shape) + 1):
            if len(other.shape) > len(one.shape) and broadcasts((*one.shape[:dim], 1, *one.shape[dim:]), other.shape):
                said = f"if {one.label} is to be repeated along a new dimension {dim}"
                found.append(Cure(said, f"{one.label}.unsqueeze({dim})"))
    return (*found, Cure("else make the marked sizes equal, or one of them 1"))


def broadcast(scene: Scene, match: re.Match[str]) -> Finding | None:
    if scene.called("matmul") is not None:
        return None  # its batch dimensions: see the next row
    involved = _summands(scene) or scene.of_call(scene.innermost) or scene.of_innermost()
    clashing = [t for t in involved if not all(broadcasts(t.shape, o.shape) for o in involved)]
    if len(clashing) < 2:
        return None
    a, b = clashing[0], next(t for t in clashing[1:] if not broadcasts(t.shape, clashing[0].shape))
    column = min(d for d in range(-1, -1 - min(len(a.shape), len(b.shape)), -1)
                 if a.shape[d] != b.shape[d] and 1 not in (a.shape[d], b.shape[d]))  # fmt: skip
    return Finding(
        f"{a.label} {text(a.shape)} and {b.label} {text(b.shape)} do not broadcast",
        f"Shapes are aligned at their last dimensions. Sizes that meet must be equal, or one of them 1, which is then "
        f"repeated. In dim {column}, {a.shape[column]} meets {b.shape[column]}.",
        broadcast_cures(a, b),
        (aligned(clashing),),
    )


def _summands(scene: Scene) -> tuple[Involved, ...]:
    """What addmm and the like add up: a tensor, and a product as if it were one."""
    call = scene.innermost
    if call is None or call.op.packet not in ("addmm", "addmv", "addbmm", "baddbmm", "addr"):
        return ()
    added, a, b = scene.of_call(call)[:3]
    shape = (*a.shape[:-1], *b.shape[-1:]) if len(b.shape) > 1 else a.shape[:-1]
    return added, replace(a, name=f"{a.label} @ {b.label}", shape=shape)


def grown(scene: Scene, match: re.Match[str]) -> Finding:
    target, wanted = sizes(match[1]), sizes(match[2])
    call = scene.innermost
    involved = scene.of_call(scene.innermost)
    first, others = involved[0], involved[1:]
    other = others[0].label if others else "the other operand"
    rows = [ShapeRow(t.label, (*(None,) * (len(wanted) - len(t.shape)), *cells(t.shape))) for t in involved]
    wrong = [d for d, n in enumerate(wanted) if ((1,) * (len(wanted) - len(target)) + target)[d] != n]
    rows.append(ShapeRow("result", cells(wanted, wrong), "does not fit into what is written"))
    return Finding(
        f"an in-place operator cannot make {first.label} larger: {text(target)} would become {text(wanted)}",
        f"The result is written into the memory of {first.label}. Broadcasting with {other} gives {text(wanted)}, "
        f"which has dimensions or sizes that {first.label} {text(target)} has no room for.",
        (Cure("compute a new tensor instead of writing into the old one",
              f"{first.label} = {call.anew(first.label)}" if call else ""),
         Cure(f"or write into a tensor that has the shape already, such as {first.label} expanded and copied",
              f"{first.label}.expand({', '.join(map(str, wanted))}).clone()")),
        (Shapes(tuple(rows)),),
    )  # fmt: skip


# -- joining -------------------------------------------------------------------------------------------------------


def _listed(scene: Scene, packet: str) -> tuple[Involved, ...]:
    call = scene.called(packet, "concat", "concatenate", "hstack", "vstack", "column_stack")
    tensors: Any = call.args[0] if call else ()
    return tuple(scene.involved(t, f"tensors[{i}]") for i, t in enumerate(tensors))


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


def cat(scene: Scene, match: re.Match[str]) -> Finding:
    dim, wanted, got, number = map(int, match.groups())
    involved = _listed(scene, "cat")
    first, other = involved[0].shape, involved[number].shape
    wrong = [d for d in range(len(first)) if d != dim and first[d] != other[d]]
    rows = _some([ShapeRow(t.label, cells(t.shape, [d for d in wrong if t.shape[d] != first[d] or t is involved[0]]))
                  for t in involved], number)  # fmt: skip
    cures = []
    if len(wrong) == 1 and len(first) > 1:
        cures.append(Cure(f"join them along dimension {wrong[0]}, where they differ", f"torch.cat(…, dim={wrong[0]})"))
    return Finding(
        f"tensors joined along dimension {dim} must agree in all others: {wanted} is not {got}",
        f"cat lays tensors next to each other along dimension {dim}. {involved[number].label} {text(other)} differs "
        f"from the first, {text(first)}, in dimension {', '.join(map(str, wrong))}.",
        (*cures, Cure("or cut, pad or reshape them to agree")),
        (Shapes(rows, tuple("joined" if d == dim else f"dim {d}" for d in range(len(first)))),),
        (involved[0], involved[number]),
    )


def cat_ndim(scene: Scene, match: re.Match[str]) -> Finding:
    involved = _listed(scene, "cat")
    ndim = len(involved[0].shape)
    odd = next((t for t in involved if len(t.shape) != ndim), involved[-1])
    rows = _some([ShapeRow(t.label, cells(t.shape, range(len(t.shape)) if t is odd else ()), f"{len(t.shape)}-d")
                  for t in involved], involved.index(odd))  # fmt: skip
    return Finding(
        f"tensors to be joined must have equally many dimensions: {odd.label} has {len(odd.shape)}, the first {ndim}",
        "cat adds no dimensions: all its tensors have the same number of them.",
        (Cure("give it the dimension that it lacks", f"{odd.label}.unsqueeze(0)"),
         Cure("or put equal shapes along a new dimension", "torch.stack([…])")),
        (Shapes(rows),),
        (involved[0], odd),
    )  # fmt: skip


def stack(scene: Scene, match: re.Match[str]) -> Finding:
    number = int(match[2])
    involved = _listed(scene, "stack")
    first, other = involved[0], involved[number]
    wrong = [d for d in range(max(len(first.shape), len(other.shape))) if first.shape[d:d + 1] != other.shape[d:d + 1]]
    rows = _some([ShapeRow(t.label, cells(t.shape, wrong if t in (first, other) else ())) for t in involved], number)
    return Finding(
        f"stack takes tensors of one shape: {text(first.shape)} and {text(other.shape)} differ",
        "stack puts its tensors along a new dimension, so all must have the same shape.",
        (Cure("lay them next to each other along a dimension that they have", "torch.cat([…])"),
         Cure("or pad the shorter ones", "F.pad(x, (0, missing))")),
        (Shapes(rows),),
        (first, other),
    )  # fmt: skip


def nothing_to_join(scene: Scene, match: re.Match[str]) -> Finding:
    return Finding(
        "there is nothing to join: the list of tensors is empty",
        "Of no tensors neither the dtype nor the shape of the result is known.",
        (Cure("look at what fills the list: a loop that never ran, a filter that let nothing through"),),
    )


def split(scene: Scene, match: re.Match[str]) -> Finding:
    total, dim, asked = int(match[1]), match[2], sizes(match[3])
    involved = scene.of_innermost()
    rows = (ShapeRow(f"dimension {dim} has", (Cell(str(total), GOOD),)),
            ShapeRow("pieces asked for", cells(asked, range(len(asked))), f"{sum(asked)} in all"))  # fmt: skip
    return Finding(
        f"the pieces have {sum(asked)} elements in all, the dimension has {total}",
        f"split with a list of sizes cuts dimension {dim} exactly: the sizes must add up to {total}.",
        (Cure("let the last piece take what is left", f"[…, {total - sum(asked[:-1])}]"),
         Cure("or give one size for all pieces; the last may be smaller", f"x.split({asked[0] if asked else 1})")),
        (Shapes(rows),),
        involved,
    )  # fmt: skip


# -- losses --------------------------------------------------------------------------------------------------------


def batch(scene: Scene, match: re.Match[str]) -> Finding:
    """cross_entropy with another number of targets than of rows."""
    call = scene.outermost
    involved = scene.of_call(call)
    x, target = involved[0], involved[1]
    rows = (ShapeRow(x.label, cells(x.shape, [0]), "a row of scores for each sample"),
            ShapeRow(target.label, cells(target.shape, [0]), "a class for each sample"))  # fmt: skip
    return Finding(
        f"{match[1]} rows of scores, but {match[2]} targets",
        "The first dimension counts the samples: scores have the shape [samples, classes], targets [samples].",
        (Cure("if the scores have more dimensions, flatten all but the classes in both",
              f"F.cross_entropy({x.label}.flatten(0, -2), {target.label}.flatten())"),
         Cure("else look where a sample went missing: a reshape, a last batch that is shorter, a shifted slice")),
        (Shapes(rows, ("samples", *("classes",) * (len(x.shape) > 1))),),
    )  # fmt: skip


def loss_sizes(scene: Scene, match: re.Match[str]) -> Finding:
    target, x = scene.local("target"), scene.local("input")
    involved = (scene.involved(x, "input"), scene.involved(target, "target"))
    return Finding(
        f"the target {text(involved[1].shape)} has not the shape of the input {text(involved[0].shape)}",
        "This loss compares element with element; it does not broadcast, since that is mostly a mistake.",
        (Cure("give the target the input's shape", f"{involved[1].label}.view_as({involved[0].label})"),),
        (Shapes(tuple(ShapeRow(t.label, cells(t.shape, range(len(t.shape)))) for t in involved)),),
        involved,
    )


def plain(involved: Sequence[Involved]) -> Shapes:
    """The shapes of tensors, nothing marked."""
    return Shapes(tuple(ShapeRow(t.label, cells(t.shape), f"{t.dtype} on {t.device}") for t in involved))

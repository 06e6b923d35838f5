"""Why shapes do not fit: broadcasting, products of matrices, joining, the targets of losses."""
from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .explanation import (
    CLASH, GOOD, Cell, Diagnosis, Fields, Fix, Involved, Shape, ShapeRow, Shapes, aside, cells, text, whole,
)
from .failure import Failure

LISTED = 8  #: tensors of a list at most that are all drawn


# -- broadcasting --------------------------------------------------------------------------------------------------


def broadcasts(*shapes: Shape) -> bool:
    """Return True if shapes can be broadcast together."""
    columns = itertools.zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1)
    return all(len({size for size in column if size != 1}) < 2 for column in columns)


def aligned(tensors: Sequence[Involved], note: str = "") -> Shapes:
    """Return shapes aligned at the right; the columns whose sizes differ and are not 1 are marked."""
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
    """Return changes of one tensor after which the two broadcast, each verified."""
    found = []
    for one, other in ((b, a), (a, b)):
        if len(one.shape) == 2 and broadcasts(one.shape[::-1], other.shape):
            found.append(Fix(f"if the two dimensions of {one} are meant the other way round", f"{one}.T"))
        found += [Fix(f"if {one} is to be repeated along a new dimension {dim}", f"{one}.unsqueeze({dim})")
                  for dim in range(1, len(one.shape) + 1) if len(other.shape) > len(one.shape)
                  and broadcasts((*one.shape[:dim], 1, *one.shape[dim:]), other.shape)]
    if classes := _classes(a, b) or _classes(b, a):
        found = [classes]
    for one, other in ((b, a), (a, b)):
        found += [fix for fix in (_colours(one, other),) if fix]
    sized = [fix for fix in (resized(a, b) if a.shape[-1:] < b.shape[-1:] else resized(b, a),) if fix]
    return (*found, *sized, Fix("else make the marked sizes equal, or one of them 1"))


def _classes(labels: Involved, scores: Involved) -> Fix | None:
    """Return a vector for each class number, where class numbers meet scores of each class."""
    if len(scores.shape) != 2 or labels.shape != scores.shape[:1] or not labels.dtype.endswith("int64"):
        return None
    return Fix(f"if {labels} holds class numbers, write each as a vector with a 1 for its class",
               f"F.one_hot({labels}, {scores.shape[1]})")


def _colours(picture: Involved, other: Involved) -> Fix | None:
    """Return the three colours of a picture whose fourth channel is its transparency."""
    for dim, kept in ((-3, "[:3]" if len(picture.shape) == 3 else "[:, :3]"), (-1, "[..., :3]")):
        if len(picture.shape) in (3, 4) and picture.shape[dim] == 4 and other.shape[dim:][:1] == (3,):
            return Fix("of pictures whose fourth channel is alpha (transparency), keep the colours", f"{picture}{kept}")
    return None


def broadcast(failure: Failure, f: Fields) -> Diagnosis | None:
    involved = _summands(failure) or failure.of_call(failure.innermost) or f.tensors
    clashing = [t for t in involved if not all(broadcasts(t.shape, o.shape) for o in involved)]
    if len(clashing) < 2:
        return None
    a, b = clashing[0], next(t for t in clashing[1:] if not broadcasts(t.shape, clashing[0].shape))
    column = max(d for d in range(-1, -1 - min(len(a.shape), len(b.shape)), -1)  # which the message names as well
                 if a.shape[d] != b.shape[d] and 1 not in (a.shape[d], b.shape[d]))
    return Diagnosis(
        f"{a} {a.size} and {b} {b.size} do not broadcast",
        f"Shapes are aligned at their last dimensions. Sizes that meet must be equal, or one of them 1, which is then "
        f"repeated. In dim {column}, {a.shape[column]} meets {b.shape[column]}.", broadcast_fixes(a, b),
        (aligned(clashing),))


def _summands(failure: Failure) -> tuple[Involved, ...]:
    """Return the operands that addmm and its relatives add: a tensor, and the product as if it were one."""
    call = failure.innermost
    if call is None or call.packet not in ("addmm", "addmv", "addbmm", "baddbmm", "addr"):
        return ()
    added, a, b = failure.of_call(call)[:3]
    shape = (*a.shape[:-1], *b.shape[-1:]) if len(b.shape) > 1 else a.shape[:-1]
    return added, replace(a, name=f"{a} @ {b}", shape=shape)


def grown(failure: Failure, f: Fields) -> Diagnosis:
    """Explain a result with more elements than its destination."""
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


# -- products ----------------------------------------------------------------------------------------------------


def stair(a: Involved, b: Involved) -> Shapes:
    """Two matrices with the dimensions that must agree in one column, and what would come out."""
    (*batch_a, n, k), (*batch_b, k2, m) = (1, *a.shape)[-max(2, len(a.shape)):], b.shape
    if len(a.shape) == 1:
        batch_a, n = [], 1
    depth = max(len(batch_a), len(batch_b))
    lead_a, lead_b = [None] * (depth - len(batch_a)), [None] * (depth - len(batch_b))
    bad = [d for d in range(-min(len(batch_a), len(batch_b)), 0)
           if batch_a[d] != batch_b[d] and 1 not in (batch_a[d], batch_b[d])]
    mark, rows = CLASH if k != k2 else GOOD, Cell(str(n)) if len(a.shape) > 1 else None
    of_a = (*lead_a, *cells(batch_a, [d + len(batch_a) for d in bad]), rows, Cell(str(k), mark), None)
    of_b = (*lead_b, *cells(batch_b, [d + len(batch_b) for d in bad]), None, Cell(str(k2), mark), Cell(str(m)))
    return Shapes((ShapeRow(a.label, of_a), ShapeRow(b.label, of_b)),
                  (*("batch",) * depth, "rows", "must agree", "columns"))


def matrix_fixes(a: Involved, b: Involved) -> tuple[Fix, ...]:
    """Return transpositions that make a product possible."""
    first, second = (a, b) if a.label != b.label else ("the first", "the second")
    found = [(f"if {second} is meant transposed", f"{a} @ {b}.{'T' if len(b.shape) == 2 else 'mT'}",
              len(b.shape) > 1 and len(a.shape) > 0 and a.shape[-1] == b.shape[-1]),
             (f"if {first} is meant transposed", f"{a}.{'T' if len(a.shape) == 2 else 'mT'} @ {b}",
              len(a.shape) > 1 and a.shape[-2] == b.shape[-2:][0]),
             ("if element times element is meant", f"{a} * {b}", a.shape == b.shape),
             ("else the number of columns of the first must be made the number of rows of the second", "", True)]
    return tuple(Fix(said, code) for said, code, fits in found if fits)


def _factors(failure: Failure) -> tuple[Involved, Involved]:
    """Return the factors of a product, as given to ``matmul`` if the program called it."""
    call = failure.called("matmul") or failure.innermost
    matrices = [t for t in failure.of_call(call) if t.role not in ("input", "bias")]
    matrices = [t for t in matrices if not (t.role == "self" and call is not None and call.packet.startswith("add"))]
    return matrices[0], matrices[-1] if len(matrices) == 1 else matrices[1]


def matmul(failure: Failure, f: Fields) -> Diagnosis:
    a, b = _factors(failure)
    return Diagnosis(f"{a} {a.size} cannot be multiplied with {b} {b.size}",
                     f"A product of matrices pairs the last dimension of {a} with the last but one of {b}: these must "
                     f"agree, and are {a.shape[-1]} and {b.shape[-2]}.", matrix_fixes(a, b), (stair(a, b),), (a, b))


def batched(failure: Failure, f: Fields) -> Diagnosis:
    a, b = _factors(failure)
    wrong = "their last dimensions do not pair" if a.shape[-1] != b.shape[-2] else "their batches differ"
    return Diagnosis(
        f"the matrices in {a} {a.size} and {b} {b.size} cannot be multiplied: {wrong}",
        "A batched product multiplies the n-th matrix of one with the n-th of the other. The last dimension of the "
        "first must agree with the last but one of the second; and the batch dimensions before them must agree (bmm), "
        "or broadcast (matmul).", matrix_fixes(a, b), (stair(a, b),), (a, b))


def vectors(failure: Failure, f: Fields) -> Diagnosis:
    """Explain a matrix or vector times a vector of another length."""
    a, b = _factors(failure)
    rows = (ShapeRow(a.label, cells(a.shape, [len(a.shape) - 1])), aside(b.label, len(a.shape) - 1, b.shape[:1], [0]))
    return Diagnosis(
        f"{a} {a.size} and {b} {b.size} differ in the length that is summed over",
        f"Each element of {b} is multiplied with one of the last dimension of {a}: {a.shape[-1]} elements "
        f"there, {b.shape[0]} here.",
        (Fix(f"if {a} is meant transposed", f"{a}.T @ {b}") if a.shape == (b.shape[0], a.shape[-1]) else None,
         Fix("if every pair is to be multiplied", f"torch.outer({a}, {b})") if len(a.shape) == 1 else None,
         Fix("else the two lengths must be made equal")), (Shapes(rows),), (a, b))


def not_matrices(failure: Failure, f: Fields) -> Diagnosis:
    packet = failure.innermost.packet if failure.innermost else "this operator"
    wanted = 3 if "bmm" in packet else 2
    involved = failure.of_call(failure.innermost)
    rows = tuple(ShapeRow(t.label, cells(t.shape, range(len(t.shape)) if len(t.shape) != wanted else ()),
                          f"{len(t.shape)}-d" + ("" if len(t.shape) == wanted else f", {wanted}-d wanted"))
                 for t in involved)
    return Diagnosis(
        f"{packet} takes tensors of {wanted} dimensions",
        f"{packet} neither broadcasts nor adds dimensions: its operands must have {wanted} dimensions.",
        (Fix("let matmul find out what to do with the dimensions that there are", " @ ".join(map(str, involved[:2]))),
         Fix("or add or merge dimensions first", f"{f.x}.unsqueeze(0)")), (Shapes(rows),))


def linear(failure: Failure, f: Fields) -> Diagnosis:
    x, weight = f.input, f.weight
    outputs, inputs = weight.shape
    last = len(x.shape) - 1
    flat = [Fix("the last dimensions together have that size: flatten them", f"{x}.flatten({dim})")
            for dim in range(1, last) if math.prod(x.shape[dim:]) == inputs][:1]
    turned = Fix("its last but one dimension has that size: transpose it", f"{x}.mT")
    rows = (ShapeRow(x.label, cells(x.shape, [last]), f"{x.shape[-1]} features come in"),
            aside(weight.label, last, (inputs, outputs), [0], f"takes {inputs}, makes {outputs}"))
    return Diagnosis(
        f"the layer takes {inputs} features, and {x} {x.size} has {x.shape[-1]}",
        f"A linear layer works on the last dimension of its input; {weight} {weight.size} is its weight, made for "
        f"{inputs} features.",
        (*flat, turned if x.shape[-2:-1] == (inputs,) else None, None if flat else
         Fix("or make the layer for these inputs", failure.layer(f"nn.Linear({x.shape[-1]}, {outputs})"))),
        (Shapes(rows, (*("",) * last, "must agree", "out")),))


# -- joining -------------------------------------------------------------------------------------------------------


def _listed(failure: Failure) -> tuple[Involved, ...]:
    call = failure.called("cat", "stack", "concat", "concatenate", "hstack", "vstack", "column_stack")
    tensors: Any = call.args[0] if call else ()
    return tuple(failure.involved(t, f"tensors[{i}]") for i, t in enumerate(tensors))


def _some(rows: list[ShapeRow], number: int) -> tuple[ShapeRow, ...]:
    """Select the first row of a long list, and those around a number."""
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
    along = wrong[0] if len(wrong) == 1 and len(first) > 1 else None
    call = failure.wrote.call
    joined = None if along is None or call is None or not call.args else (
        f"{failure.wrote.name}({failure.wrote.text(call.args[0])}, dim={along})")
    return Diagnosis(
        f"tensors joined along dimension {dim} must agree in all others: {f.wanted} is not {f.got}",
        f"cat lays tensors next to each other along dimension {dim}. {involved[f.number]} {text(other)} differs "
        f"from the first, {text(first)}, in dimension {', '.join(map(str, wrong))}.",
        (Fix(f"join them along dimension {along}, where they differ", joined) if joined else None,
         resized(involved[f.number], involved[0]), Fix("or cut, pad or reshape them to agree")),
        (Shapes(rows, tuple("joined" if d == dim else f"dim {d}" for d in range(len(first)))),),
        (involved[0], involved[f.number]))


def resized(x: Involved, like: Involved) -> Fix | None:
    """Suggest bringing one image to the size of another, as where a network joins what it has halved and doubled."""
    if len(x.shape) != 4 or len(like.shape) != 4 or x.shape[:1] != like.shape[:1] or x.shape[2:] == like.shape[2:]:
        return None
    return Fix("of images, bring one to the size of the other: a size that is halved and doubled again loses "
               "what is odd",
               f"F.interpolate({x}, size={like}.shape[2:])")


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


def numbers_to_join(failure: Failure, f: Fields) -> Diagnosis:
    """Explain ``cat`` of tensors without dimensions, such as losses."""
    wrote = failure.wrote
    items = wrote.arguments[0][0] if wrote.arguments else "[…]"
    return Diagnosis(
        f"{items} holds single numbers, and cat joins along a dimension, of which they have none",
        "cat lays tensors next to each other along a dimension that all of them have. A tensor of shape [], such as a "
        "loss, has none; stack makes a new one.",
        (Fix("lay them along a new dimension", f"torch.stack({items})"),
         Fix("or, of numbers to show, take them out of their tensors", f"torch.tensor([x.item() for x in {items}])")),
        (Shapes(_some([ShapeRow(t.label, (Cell("[]", CLASH),), "one number") for t in _listed(failure)], 0)),))


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
    """Explain class numbers whose shape is not that of the scores without the classes."""
    x, target = f.x, f.target
    wanted = (*x.shape[:1], *x.shape[2:]) if len(x.shape) > 1 else ()
    rows = (ShapeRow(x.label, cells(x.shape), "scores: [samples, classes, …]"),
            whole(target.label, target.shape, "given"),
            ShapeRow("wanted", cells(wanted, (), range(len(wanted))), "a class number for each"))
    fix = (Fix("take away the dimension of size 1", f"{target}.squeeze(-1)") if target.shape == (*wanted, 1) else
           Fix("if the classes stand last, move them to dimension 1", f"{x}.transpose(1, 2)")
           if len(x.shape) == 3 and target.shape == x.shape[:2] else Fix("reshape the target, or the scores"))
    return Diagnosis(
        f"the target {target} {target.size} should have the shape {text(wanted)}",
        f"Dimension 1 of the scores {x.size} counts the classes; the target has their other dimensions, and a "
        "class number in each place.", (fix,), (Shapes(rows),))


def loss_shapes(failure: Failure, f: Fields) -> Diagnosis:
    """Explain a target whose shape differs from the scores' in a loss that compares elementwise."""
    x, target = f.input, f.target
    code = (f"{target}.view_as({x})" if math.prod(x.shape) == math.prod(target.shape) else "")
    return Diagnosis(
        f"the target {target.size} does not have the shape of the scores {x.size}",
        "This loss compares element with element; it does not broadcast, since that is mostly a mistake.",
        (Fix("give the target the shape of the scores", code) if code else Fix("make both of one shape"),
         Fix("or take the dimension of size 1 from the scores", f"{x}.squeeze(-1)")
         if x.shape[-1:] == (1,) and x.shape[:-1] == target.shape else None),
        (Shapes((whole(x.label, x.shape), whole(target.label, target.shape))),))

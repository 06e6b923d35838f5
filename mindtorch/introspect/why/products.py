"""Why shapes do not fit in products: of matrices, batches, vectors, in linear layers, in einsum."""
from __future__ import annotations

import itertools
import re

from .facts import CLASH, GOOD, Cell, Cure, Finding, Involved, ShapeRow, Shapes
from .scene import Scene
from .shapes import cells, text


def stair(a: Involved, b: Involved, wrong: bool = True) -> Shapes:
    """Two matrices with the dimensions that must agree in one column, and what would come out."""
    (*batch_a, n, k), (*batch_b, k2, m) = (1, *a.shape)[-max(2, len(a.shape)):], b.shape
    if len(a.shape) == 1:
        batch_a, n = [], 1
    depth = max(len(batch_a), len(batch_b))
    lead_a, lead_b = [None] * (depth - len(batch_a)), [None] * (depth - len(batch_b))
    bad = [d for d in range(-min(len(batch_a), len(batch_b)), 0)
           if batch_a[d] != batch_b[d] and 1 not in (batch_a[d], batch_b[d])]
    rows = (
        ShapeRow(a.label, (*lead_a, *cells(batch_a, [d + len(batch_a) for d in bad]),
                           Cell(str(n)) if len(a.shape) > 1 else None, Cell(str(k), CLASH if k != k2 else GOOD), None)),
        ShapeRow(b.label, (*lead_b, *cells(batch_b, [d + len(batch_b) for d in bad]),
                           None, Cell(str(k2), CLASH if k != k2 else GOOD), Cell(str(m)))),
    )  # fmt: skip
    head = (*("batch",) * depth, "rows", "must agree", "columns")
    return Shapes(rows, head)


def matrix_cures(a: Involved, b: Involved) -> tuple[Cure, ...]:
    """Transpositions that make a product possible."""
    found = []
    if len(b.shape) > 1 and len(a.shape) > 0 and a.shape[-1] == b.shape[-1]:
        code = f"{a.label} @ {b.label}.{'T' if len(b.shape) == 2 else 'mT'}"
        found.append(Cure(f"if {b.label} is meant transposed", code))
    if len(a.shape) > 1 and a.shape[-2] == b.shape[-2:][0]:
        code = f"{a.label}.{'T' if len(a.shape) == 2 else 'mT'} @ {b.label}"
        found.append(Cure(f"if {a.label} is meant transposed", code))
    if a.shape == b.shape:
        found.append(Cure("if element times element is meant", f"{a.label} * {b.label}"))
    rule = "else the number of columns of the first must be made the number of rows of the second"
    return (*found, Cure(rule))


def _operands(scene: Scene) -> tuple[Involved, Involved]:
    """The factors of a product, as the program gave them if it called ``matmul``."""
    call = scene.called("matmul") or scene.innermost
    matrices = [t for t in scene.of_call(call) if t.role not in ("input", "bias")]
    matrices = [t for t in matrices if not (t.role == "self" and call is not None and call.op.packet.startswith("add"))]
    if len(matrices) == 1:
        matrices *= 2
    return matrices[0], matrices[1]


def matmul(scene: Scene, match: re.Match[str]) -> Finding:
    a, b = _operands(scene)
    return Finding(
        f"{a.label} {text(a.shape)} cannot be multiplied with {b.label} {text(b.shape)}",
        f"A product of matrices pairs the last dimension of {a.label} with the last but one of {b.label}: these must "
        f"agree, and are {a.shape[-1]} and {b.shape[-2]}.",
        matrix_cures(a, b),
        (stair(a, b),),
        (a, b),
    )


def batched(scene: Scene, match: re.Match[str]) -> Finding:
    a, b = _operands(scene)
    wrong = "their last dimensions do not pair" if a.shape[-1] != b.shape[-2] else "their batches differ"
    return Finding(
        f"the matrices in {a.label} {text(a.shape)} and {b.label} {text(b.shape)} cannot be multiplied: {wrong}",
        "A batched product multiplies the n-th matrix of one with the n-th of the other. The last dimension of the "
        "first must agree with the last but one of the second; and the batch dimensions before them must agree (bmm), "
        "or broadcast (matmul).",
        matrix_cures(a, b),
        (stair(a, b),),
        (a, b),
    )


def vectors(scene: Scene, match: re.Match[str]) -> Finding:
    """A matrix or a vector times a vector."""
    a, b = _operands(scene)
    rows = (ShapeRow(a.label, cells(a.shape, [len(a.shape) - 1])),
            ShapeRow(b.label, (*(None,) * (len(a.shape) - 1), Cell(str(b.shape[0]), CLASH))))  # fmt: skip
    found: tuple[Cure, ...] = ()
    if len(a.shape) == 2 and a.shape[0] == b.shape[0]:
        found = (Cure(f"if {a.label} is meant transposed", f"{a.label}.T @ {b.label}"),)
    pairs = Cure("if every pair is to be multiplied", f"torch.outer({a.label}, {b.label})")
    outer = (pairs,) if len(a.shape) == 1 else ()
    return Finding(
        f"{a.label} {text(a.shape)} and {b.label} {text(b.shape)} differ in the length that is summed over",
        f"Each element of {b.label} is multiplied with one of the last dimension of {a.label}: {a.shape[-1]} elements "
        f"there, {b.shape[0]} here.",
        (*found, *outer, Cure("else the two lengths must be made equal")),
        (Shapes(rows),),
        (a, b),
    )


def not_matrices(scene: Scene, match: re.Match[str]) -> Finding:
    call = scene.innermost
    packet = call.op.packet if call else "this operator"
    wanted = 3 if "3D" in scene.message else 1 if "vector" in scene.message else 2
    involved = scene.of_call(call)
    rows = tuple(ShapeRow(t.label, cells(t.shape, range(len(t.shape)) if len(t.shape) != wanted else ()),
                          f"{len(t.shape)}-d" + ("" if len(t.shape) == wanted else f", {wanted}-d wanted"))
                 for t in involved)  # fmt: skip
    return Finding(
        f"{packet} takes tensors of {wanted} dimensions",
        f"{packet} neither broadcasts nor adds dimensions: its operands must have {wanted} dimensions.",
        (Cure("let matmul find out what to do with the dimensions that there are",
              " @ ".join(t.label for t in involved[:2])),
         Cure("or add or merge dimensions first", f"{involved[0].label}.unsqueeze(0)" if involved else "")),
        (Shapes(rows),),
    )  # fmt: skip


def linear(scene: Scene, match: re.Match[str]) -> Finding | None:
    call = scene.called("linear")
    if call is None:
        return None
    x, weight = scene.involved(call.named["input"], "input"), scene.involved(call.named["weight"], "weight")
    outputs, inputs = weight.shape
    cures = []
    flat = 1
    for dim in range(len(x.shape) - 1, 0, -1):
        flat *= x.shape[dim]
        if flat == inputs and dim < len(x.shape) - 1:
            cures.append(Cure("the last dimensions together have that size: flatten them", f"{x.label}.flatten({dim})"))
    if len(x.shape) > 1 and x.shape[-2] == inputs:
        cures.append(Cure("its last but one dimension has that size: transpose it", f"{x.label}.mT"))
    cures.append(Cure("or make the layer for these inputs", f"nn.Linear({x.shape[-1]}, {outputs})"))
    rows = (ShapeRow(x.label, cells(x.shape, [len(x.shape) - 1]), f"{x.shape[-1]} features come in"),
            ShapeRow(weight.label, (*(None,) * (len(x.shape) - 1), Cell(str(inputs), CLASH), Cell(str(outputs))),
                     f"takes {inputs}, makes {outputs}"))  # fmt: skip
    return Finding(
        f"the layer takes {inputs} features, and {x.label} {text(x.shape)} has {x.shape[-1]}",
        f"A linear layer works on the last dimension of its input. Its weight {weight.label} {text(weight.shape)} is "
        f"made for {inputs} of them.",
        tuple(cures),
        (Shapes(rows, (*("",) * (len(x.shape) - 1), "must agree", "out")),),
    )


def einsum(scene: Scene, match: re.Match[str]) -> Finding:
    call = scene.called("einsum")
    letter = match[1]
    equation, tensors = call.args[0], call.args[1]  # type: ignore[union-attr]
    inputs = equation.replace(" ", "").partition("->")[0].split(",")
    involved = tuple(scene.involved(t, f"operand {i}") for i, t in enumerate(tensors))
    rows = tuple(
        ShapeRow(t.label, tuple(Cell(f"{c}={n}" if c.isalpha() else str(n), CLASH if c == letter else "")
                                for c, n in itertools.zip_longest(labels.replace("...", ""), t.shape, fillvalue="?")))
        for labels, t in zip(inputs, involved, strict=False)
    )  # fmt: skip
    return Finding(
        f"the subscript {letter} of {equation!r} has two sizes",
        f"A letter of einsum's equation stands for one size wherever it appears; {letter} is given the sizes marked.",
        (Cure("exchange letters, or transpose an operand, so that the sizes agree"),),
        (Shapes(rows),),
        involved,
    )

"""Why shapes do not fit in products: of matrices, batches, vectors, in linear layers."""
from __future__ import annotations

from .explanation import CLASH, GOOD, Cell, Diagnosis, Fields, Fix, Involved, ShapeRow, Shapes, aside, cells
from .failure import Failure


def stair(a: Involved, b: Involved) -> Shapes:
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
                           None, Cell(str(k2), CLASH if k != k2 else GOOD), Cell(str(m)))))
    head = (*("batch",) * depth, "rows", "must agree", "columns")
    return Shapes(rows, head)


def matrix_fixes(a: Involved, b: Involved) -> tuple[Fix, ...]:
    """Transpositions that make a product possible."""
    found = []
    if len(b.shape) > 1 and len(a.shape) > 0 and a.shape[-1] == b.shape[-1]:
        found.append(Fix(f"if {b} is meant transposed", f"{a} @ {b}.{'T' if len(b.shape) == 2 else 'mT'}"))
    if len(a.shape) > 1 and a.shape[-2] == b.shape[-2:][0]:
        found.append(Fix(f"if {a} is meant transposed", f"{a}.{'T' if len(a.shape) == 2 else 'mT'} @ {b}"))
    if a.shape == b.shape:
        found.append(Fix("if element times element is meant", f"{a} * {b}"))
    rule = "else the number of columns of the first must be made the number of rows of the second"
    return (*found, Fix(rule))


def _factors(failure: Failure) -> tuple[Involved, Involved]:
    """The factors of a product, as the program gave them if it called ``matmul``."""
    call = failure.called("matmul") or failure.innermost
    matrices = [t for t in failure.of_call(call) if t.role not in ("input", "bias")]
    matrices = [t for t in matrices if not (t.role == "self" and call is not None and call.packet.startswith("add"))]
    return matrices[0], matrices[-1] if len(matrices) == 1 else matrices[1]


def matmul(failure: Failure, f: Fields) -> Diagnosis:
    a, b = _factors(failure)
    return Diagnosis(
        f"{a} {a.size} cannot be multiplied with {b} {b.size}",
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
    """A matrix or a vector times a vector."""
    a, b = _factors(failure)
    rows = (ShapeRow(a.label, cells(a.shape, [len(a.shape) - 1])), aside(b.label, len(a.shape) - 1, b.shape[:1], [0]))
    fixes = []
    if len(a.shape) == 2 and a.shape[0] == b.shape[0]:
        fixes.append(Fix(f"if {a} is meant transposed", f"{a}.T @ {b}"))
    if len(a.shape) == 1:
        fixes.append(Fix("if every pair is to be multiplied", f"torch.outer({a}, {b})"))
    return Diagnosis(
        f"{a} {a.size} and {b} {b.size} differ in the length that is summed over",
        f"Each element of {b} is multiplied with one of the last dimension of {a}: {a.shape[-1]} elements "
        f"there, {b.shape[0]} here.", (*fixes, Fix("else the two lengths must be made equal")), (Shapes(rows),), (a, b))


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
    fixes = []
    flat = 1
    for dim in range(last, 0, -1):
        flat *= x.shape[dim]
        if flat == inputs and dim < last:
            fixes.append(Fix("the last dimensions together have that size: flatten them", f"{x}.flatten({dim})"))
    if len(x.shape) > 1 and x.shape[-2] == inputs:
        fixes.append(Fix("its last but one dimension has that size: transpose it", f"{x}.mT"))
    fixes.append(Fix("or make the layer for these inputs", f"nn.Linear({x.shape[-1]}, {outputs})"))
    rows = (ShapeRow(x.label, cells(x.shape, [last]), f"{x.shape[-1]} features come in"),
            aside(weight.label, last, (inputs, outputs), [0], f"takes {inputs}, makes {outputs}"))
    return Diagnosis(
        f"the layer takes {inputs} features, and {x} {x.size} has {x.shape[-1]}",
        f"A linear layer works on the last dimension of its input; {weight} {weight.size} is its weight, made for "
        f"{inputs} features.", tuple(fixes), (Shapes(rows, (*("",) * last, "must agree", "out")),))

"""Why a number is not taken: indices and classes out of range or of a wrong type, probabilities, steps of a range."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..tensor import values_without_waiting
from .explanation import (
    CLASH, GOOD, Diagnosis, Fields, Fix, Picture, Ruler, ShapeRow, Shapes, Step, Steps, cells, numbered, text,
)
from .failure import Failure
from .wrote import is_tensor

ASKED = 5  #: wrong indices at most that are named
#: Operators that do not count negative indices from the end.
FROM_ZERO = ("gather", "scatter", "scatter_", "scatter_add_", "index_select", "embedding", "index_add_")


def out_of_range(failure: Failure, f: Fields) -> Diagnosis:
    tensor, dim, size = f.indexed, f.dim, f.size
    low = 0 if failure.called(*FROM_ZERO) else -size
    given = _indices(failure, f)
    outside = given[(given < low) | (given >= size)]
    asked = tuple(np.unique(outside).tolist()) or ((f.index,) if hasattr(f, "index") else ())
    involved = (tensor, *(t for t in failure.of_call(failure.innermost) if t.role.startswith("ind")))
    if asked and not low and all(-size <= index < 0 for index in asked):  # where negative ones are not counted
        return Diagnosis(
            f"{_listed(asked)} is no index of {tensor}: here none counts from the end",
            f"{tensor} {tensor.size} has indices 0 to {size - 1}. A tensor of indices is taken as it is; -1 often "
            "marks what is missing, such as the padding of a sequence.",
            (Fix("give what is missing a row of its own, and its number", "ids.masked_fill(ids < 0, 0)"),
             Fix("or count from the end before", "ids % size")),
            (Ruler(f"indices of dimension {dim}", 0, size - 1, asked[:ASKED]),), involved)
    from_end = f", or {low} to -1 from the end" if low else ""
    bounds = f"{tensor} {tensor.size} has indices 0 to {size - 1} there{from_end}."
    if given.size > 1:
        bounds += (f" The indices given are {given.min()} to {given.max()}, and {outside.size:,} of {given.size:,} lie "
                   "outside.")
    shapes: list[Picture] = [numbered(tensor, dim)] if tensor.shape[dim:dim + 1] == (size,) else []
    marked = (asked[0], asked[-1]) if _is_run(asked) else asked[:ASKED]
    pictures = (*shapes, Ruler(f"indices of dimension {dim}", low, size - 1, marked))
    count = given.shape[-1] if given.ndim else 0
    if count > max(size, 1) and (given == np.arange(count)).all():
        return Diagnosis(
            f"{count} positions into a table of {size}: {tensor} ends at index {size - 1}", bounds,
            (Fix("make the table as long as the longest "
                 "sequence", failure.layer(f"nn.Embedding({count}, "
                                                                                 f"{tensor.shape[-1]})"))
             if failure.called("embedding") else None,
             Fix(f"or cut the sequence to {size}", f"ids[..., :{size}]")), pictures, involved)
    return Diagnosis(
        f"{_listed(asked) or 'an index'} is no index of dimension {dim} of {tensor}: there are {size}", bounds,
        (Fix("the last one is", f"{size - 1}" + (" or -1" if low else "")),
         Fix(f"or make the table large enough for index {asked[-1]}",
             failure.layer(f"nn.Embedding({asked[-1] + 1}, {tensor.shape[-1]})"))
         if asked and asked[-1] >= size and failure.called("embedding") else None,
         Fix("look where the index comes from: counting from 1 instead of 0, a table that is too small for its "
             "indices, a dimension confused with another")), pictures, involved)


def _indices(failure: Failure, f: Fields) -> np.ndarray:
    """Return the integers of the call's index tensor, the one with the wrong index of several, if they can be read."""
    call = failure.innermost
    found = [values for role, tensor in (call.tensors() if call else ()) if role.startswith(("index", "indices"))
             and (values := values_without_waiting(tensor)) is not None and values.dtype.kind in "iu"]
    wrong = getattr(f, "index", None)
    return next((values for values in found if wrong is None or wrong in values), np.empty(0, np.int64))


def _is_run(numbers: Sequence[int]) -> bool:
    """Return True for consecutive numbers."""
    return len(numbers) > 1 and list(numbers) == list(range(numbers[0], numbers[0] + len(numbers)))


def _listed(numbers: Sequence[int]) -> str:
    """List numbers: a run by its ends, many by the first few and the last."""
    if len(numbers) > 2 and _is_run(numbers):
        return f"{numbers[0]} to {numbers[-1]}"
    if len(numbers) > ASKED:
        return f"{', '.join(map(str, numbers[:ASKED]))}, … {numbers[-1]}"
    return ", ".join(map(str, numbers))


def wrong_type(failure: Failure, f: Fields) -> Diagnosis:
    index = failure.facts["index"]
    of_tensor = is_tensor(index)
    return Diagnosis(
        f"a {f.index.dtype} tensor is no index" if of_tensor else f"a {type(index).__name__} is no index",
        "An index is an integer, a slice, … , None, a bool mask, or a tensor of integers (int64, int32 or uint8).",
        (Fix("if it holds whole numbers", f"{f.indexed}[{'index.long()' if of_tensor else 'int(index)'}]"),
         Fix("if it is a condition, compare", f"{f.indexed}[index > 0]")), tensors=(f.indexed,))


def target(failure: Failure, f: Fields) -> Diagnosis:
    scores, classes = f.x, failure.outermost.named["target"]  # type: ignore[union-attr]
    label = failure.name(classes, "target")
    dim = 1 if len(scores.shape) > 1 else 0
    count = scores.shape[dim]
    values, wrong, where = values_without_waiting(classes), (failure.facts["target"],), ""
    if values is not None:
        outside = np.argwhere((values < 0) | (values >= count))[:ASKED]
        wrong = tuple(dict.fromkeys(values[tuple(index)].item() for index in outside))
        where = f" They stand in {label} at " + ", ".join(text(index.tolist()) for index in outside) + "."
    from_one = wrong == (count,) and (values is None or values.min() > 0)
    fixes = (Fix("classes are counted from 0, not from 1", f"{label} - 1") if from_one else
             Fix(f"classes are 0 to {count - 1}"),
             Fix("or make the last layer larger", f"nn.Linear(…, {max(wrong) + 1})") if max(wrong) >= count else None,
             Fix(f"or, if {wrong[0]} marks what is not to count", f"ignore_index={wrong[0]}")
             if len(wrong) == 1 else None)
    return Diagnosis(
        f"target {', '.join(map(str, wrong))} is no class: {scores} holds scores for {count} classes",
        f"Each row of {scores} {scores.size} holds a score for each of {count} classes, so targets are 0 "
        f"to {count - 1}.{where}", fixes,
        (Shapes((ShapeRow(scores.label, cells(scores.shape, [dim])),),
                tuple("classes" if d == dim else "samples" if not d else "" for d in range(len(scores.shape)))),
         Ruler("classes", 0, count - 1, wrong)))


def one_hot(failure: Failure, f: Fields) -> Diagnosis:
    tensor = failure.called("one_hot").named["self"]  # type: ignore[union-attr]
    label, count = failure.name(tensor, "the tensor"), int(f.num_classes)
    values = values_without_waiting(tensor)
    top = count - 1 if count > 0 else max(0, int(values.max())) if values is not None and values.size else 0
    wrong = () if values is None else tuple(np.unique(values[(values < 0) | (values > top)])[:ASKED].tolist())
    fixes = []
    if any(n > top for n in wrong):
        fixes += [Fix("leave the number of classes to be found out", f"F.one_hot({label})"),
                  Fix("or give the number of classes that there are", f"F.one_hot({label}, {max(wrong) + 1})")]
    if any(n < 0 for n in wrong):
        fixes.append(Fix("classes are counted from 0: replace what stands for none", f"{label}.clamp(min=0)"))
    return Diagnosis(
        f"{', '.join(map(str, wrong)) or 'a value'} {'are no classes' if len(wrong) > 1 else 'is no class'}: "
        f"there are 0 to {top}",
        "one_hot sets, for each value, the place of that number in a row of zeros, which has one place for each class.",
        tuple(fixes) or (Fix(f"keep all within 0 to {top}"),), (Ruler("classes", 0, top, wrong),))


def probabilities(failure: Failure, f: Fields) -> Diagnosis:
    title = "{} must hold probabilities, between 0 and 1"
    if f.name == "target":
        target = f.target
        steps = (Step(f"{target} = 0", "none of it", GOOD), Step(f"{target} = 1", "all of it", GOOD),
                 Step(target.label, "has other values", CLASH))
        return Diagnosis(
            title.format(target),
            "The target of binary_cross_entropy says how likely each answer is yes: 0 for no, 1 for yes.",
            (Fix("turn it into yes or no", f"({target} > 0).float()"),
             Fix("if it holds class numbers of several classes, this is another loss", "F.cross_entropy(…)")),
            (Steps(steps, "", "…"),))
    steps = (Step("scores", "any numbers", GOOD), Step("sigmoid", "to between 0 and 1"),
             Step("binary_cross_entropy", f.x.label, CLASH))
    return Diagnosis(
        title.format(f.x),
        "binary_cross_entropy takes logarithms of its input and of 1 less its input. Scores that a layer computes can "
        "be any numbers.",
        (Fix("for scores, the loss that applies sigmoid itself", f"F.binary_cross_entropy_with_logits({f.x}, …)"),
         Fix("or make probabilities of them", f"torch.sigmoid({f.x})")), (Steps(steps),))


def no_range(failure: Failure, f: Fields) -> Diagnosis:
    """arange with a step that does not lead from its start to its end."""
    start, end, step = f.start, f.end, f.step
    fixes = [Fix(f"count {'upward' if end > start else 'downward'}", f"torch.arange({start}, {end}, {-step})"),
             Fix("or exchange the ends", f"torch.arange({end}, {start}, {step})")]
    if not step:
        fixes = [Fix("to give the number of values instead of a step", f"torch.linspace({start}, {end}, 10)")]
    return Diagnosis(
        f"steps of {step} do not lead from {start} to {end}",
        "Unlike Python's range, which is then empty, arange refuses a step that leads away from its end, or nowhere.",
        tuple(fixes),
        (Steps((Step(f"start {start}"), Step(f"step {step}", "leads elsewhere" if step else "leads nowhere", CLASH),
                Step(f"end {end}", "never reached"))),), ())

"""Why an index is none: out of range, of a wrong type, of a wrong shape; and targets that are no class."""
from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..tensor import values_without_waiting
from .facts import Cure, Finding, Involved, Ruler, ShapeRow, Shapes
from .scene import Scene
from .shapes import cells, sizes, text

ASKED = 5  #: wrong indices at most that are named


def _indexed(scene: Scene) -> tuple[Any, str]:
    """The tensor that is indexed, and what it is called."""
    for frame in scene.inside:
        if frame.f_code.co_name in ("getitem", "setitem", "__getitem__", "__setitem__"):
            tensor = frame.f_locals["self"]
            return tensor, scene.name(tensor)
    call = scene.outermost
    tensors = list(call.tensors()) if call else []
    if not tensors:
        return None, "the tensor"
    names = dict(tensors)
    role = "weight" if call is not None and call.op.packet == "embedding" and "weight" in names else tensors[0][0]
    return names[role], scene.name(names[role], role)


def out_of_range(scene: Scene, match: re.Match[str]) -> Finding:
    found = match.groupdict()
    tensor, label = _indexed(scene)
    index = int(found["index"]) if found.get("index") else None
    dim = int(found.get("dim") or 0)
    size = int(found["size"]) if found.get("size") else tuple(tensor.shape)[dim] if tensor is not None else 0
    asked = (index,) if index is not None else _outside(scene, size)
    shape = tuple(tensor.shape) if tensor is not None else (size,)
    rows: tuple[Any, ...] = ()
    if len(shape) > dim and shape[dim] == size:
        rows = (Shapes((ShapeRow(label, cells(shape, [dim])),), tuple(f"dim {d}" for d in range(len(shape)))),)
    low = -size if call_takes_negative(scene) else 0
    said = ", ".join(map(str, asked)) or "an index"
    return Finding(
        f"{said} is no index of dimension {dim} of {label}: there are {size}",
        f"{label} {text(shape)} has indices 0 to {size - 1} there{f', or {low} to -1 from the end' if low else ''}.",
        (Cure("the last one is", f"{size - 1}" + (" or -1" if low else "")),
         Cure("look where the index comes from: counting from 1 instead of 0, a table that is too small for its "
              "indices, a dimension confused with another")),
        (*rows, Ruler(f"indices of dimension {dim}", low, size - 1, asked)),
        _involved(scene, tensor),
    )  # fmt: skip


def _involved(scene: Scene, tensor: Any) -> tuple[Involved, ...]:
    """The tensor that is indexed, and those that it is indexed with."""
    index = [t for t in scene.of_call(scene.innermost) if t.role.startswith("ind")]
    return (*(() if tensor is None else (scene.involved(tensor, "self"),)), *index)


def call_takes_negative(scene: Scene) -> bool:
    """Whether the failing operator counts negative indices from the end."""
    names = {call.op.packet for call in scene.calls}
    return not names & {"gather", "scatter", "scatter_", "scatter_add_", "index_select", "embedding", "index_add_"}


def _outside(scene: Scene, size: int) -> tuple[int, ...]:
    """The first wrong values in the index tensor of the call, if they can be read now."""
    call = scene.innermost
    for role, tensor in call.tensors() if call else ():
        if role.startswith(("index", "indices")) and (values := values_without_waiting(tensor)) is not None:
            return tuple(values[(values < -size) | (values >= size)].ravel()[:ASKED].tolist())
    return ()


def elements(scene: Scene, match: re.Match[str]) -> Finding:
    """take and put_, which count elements."""
    index, count = map(int, match.groups())
    tensor = scene.of_innermost()[0]
    return Finding(
        f"{index} is no index into the {count} elements of {tensor.label}",
        "take sees a tensor as one row of all its elements.",
        (Cure("the last one is", f"{count - 1} or -1"), Cure("to index one dimension", f"{tensor.label}[index]")),
        (Ruler("elements", -count, count - 1, (index,)),),
    )


def target(scene: Scene, match: re.Match[str]) -> Finding:
    call = scene.outermost
    involved = scene.of_call(call)
    scores, classes = involved[0], call.named["target"]  # type: ignore[union-attr]
    dim = 1 if len(scores.shape) > 1 else 0
    count = scores.shape[dim]
    label = scene.name(classes, "target")
    values, wrong, where = values_without_waiting(classes), (int(match[1]),), ""
    if values is not None:
        outside = np.argwhere((values < 0) | (values >= count))[:ASKED]
        wrong = tuple(dict.fromkeys(values[tuple(index)].item() for index in outside))
        where = f" They stand in {label} at " + ", ".join(text(index.tolist()) for index in outside) + "."
    from_one = wrong == (count,) and (values is None or values.min() > 0)
    hint = "classes are counted from 0, not from 1" if from_one else f"classes are 0 to {count - 1}"
    return Finding(
        f"target {', '.join(map(str, wrong))} is no class: {scores.label} holds scores for {count} classes",
        f"Each row of {scores.label} {text(scores.shape)} holds a score for each of {count} classes, so targets are 0 "
        f"to {count - 1}.{where}",
        (Cure(hint, f"{label} - 1" if from_one else ""),
         *((Cure("or make the last layer larger", f"nn.Linear(…, {max(wrong) + 1})"),) if max(wrong) >= count else ()),
         *((Cure(f"or, if {wrong[0]} marks what is not to count", f"F.cross_entropy(…, ignore_index={wrong[0]})"),)
           if len(wrong) == 1 else ())),
        (Shapes((ShapeRow(scores.label, cells(scores.shape, [dim])),),
                tuple("classes" if d == dim else "samples" if not d else "" for d in range(len(scores.shape)))),
         Ruler("classes", 0, count - 1, wrong)),
    )  # fmt: skip


def too_many(scene: Scene, match: re.Match[str]) -> Finding:
    tensor, label = _indexed(scene)
    index = scene.local("index", "getitem") if scene.local("index", "getitem") is not None else scene.local("index")
    given = len(index) if isinstance(index, tuple) else 1
    shape = tuple(tensor.shape)
    return Finding(
        f"{label} {text(shape)} has {len(shape)} dimension{'' if len(shape) == 1 else 's'}, and was given {given} "
        f"indices",
        "Every integer, slice or tensor in the brackets takes one dimension (a bool mask takes as many as it has); "
        "None adds one, … stands for those that are left.",
        (Cure("leave out an index, or give the tensor the dimension", f"{label}.unsqueeze(0)"),
         Cure("or look whether a dimension was squeezed or reduced before")),
        (Shapes((ShapeRow(label, cells(shape)), ShapeRow("indices", cells(range(given), range(len(shape), given))))),),
    )  # fmt: skip


def wrong_type(scene: Scene, match: re.Match[str]) -> Finding:
    index = scene.local("index")
    tensor, label = _indexed(scene)
    is_tensor = hasattr(index, "_dtype")
    kind = f"a {index._dtype.name} tensor" if is_tensor else f"a {type(index).__name__}"
    code = f"{label}[index.long()]" if is_tensor else f"{label}[int(index)]"
    return Finding(
        f"{kind} is no index",
        "An index is an integer, a slice, … , None, a bool mask, or a tensor of integers (int64, int32 or uint8).",
        (Cure("if it holds whole numbers", code), Cure("if it is a condition, compare", f"{label}[index > 0]")),
        tensors=() if tensor is None else (scene.involved(tensor, "self"),),
    )


def mask(scene: Scene, match: re.Match[str]) -> Finding:
    given, shape = sizes(match[1]), sizes(match[3])
    dim = int(match[4])
    tensor, label = _indexed(scene)
    return Finding(
        f"the mask {text(given)} does not fit over {label} {text(shape)}",
        f"A bool mask says of each element whether it is taken, so its sizes must be those of the dimensions it stands "
        f"for; they differ in dimension {dim}.",
        (Cure("make the mask from the tensor that it masks", f"{label}[{label} > 0]"),),
        (Shapes((ShapeRow(label, cells(shape, [dim])), ShapeRow("mask", cells(given, [int(match[2])])))),),
        None if tensor is None else (scene.involved(tensor, "self"),),
    )


def shapes(scene: Scene, match: re.Match[str]) -> Finding:
    given = [sizes(part) for part in re.findall(r"\[([\d, ]*)\]", match[1])]
    width = max(map(len, given))
    rows = tuple(ShapeRow(f"index {i}", (*(None,) * (width - len(shape)), *cells(shape, range(len(shape)))))
                 for i, shape in enumerate(given))  # fmt: skip
    return Finding(
        "the tensors used as indices do not broadcast",
        "Several index tensors are taken together: one element of the result for each set of indices that stand at the "
        "same place. So their shapes must be equal, or broadcast.",
        (Cure("to combine every row with every column, give them different dimensions", "x[rows[:, None], columns]"),),
        (Shapes(rows),),
    )


def gather_dims(scene: Scene, match: re.Match[str]) -> Finding:
    involved = scene.of_innermost()
    rows = tuple(ShapeRow(t.label, cells(t.shape), f"{len(t.shape)}-d") for t in involved)
    index = next((t.label for t in involved if t.role == "index"), "index")
    return Finding(
        "the index must have as many dimensions as the tensor that it picks from",
        "gather and scatter take, for each place in the index, an element at that place but along one dimension.",
        (Cure("add the missing dimension", f"{index}.unsqueeze(1)"),
         Cure("to pick whole rows", "x.index_select(0, index)")),
        (Shapes(rows),),
    )

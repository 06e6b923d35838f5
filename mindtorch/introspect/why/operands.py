"""Why an operand is not taken: it is no tensor, has another dtype than its neighbour, or a target another shape."""
from __future__ import annotations

import re
from dataclasses import replace

from .dtypes import by_dtype
from .facts import CLASH, GOOD, Cure, Finding, Group, Groups, Involved, ShapeRow, Shapes
from .scene import Scene
from .shapes import cells, text

INTEGERS = ("uint8", "int8", "int16", "int32", "int64", "bool")


def no_tensor(scene: Scene, match: re.Match[str]) -> Finding:
    operator, argument, given = match.groups()
    cures = {
        "ndarray": (Cure("make a tensor over the array's memory", "torch.from_numpy(array)"),),
        "NoneType": (Cure("look where it should have come from: a function without return, a gradient that is None"),),
        "tuple": (Cure("if a module returned several results, take one", "output[0]"),),
    }
    return Finding(
        f"{operator} takes a tensor as {argument}, and was given a {given}",
        "Operators compute with tensors; lists, arrays and the like must be made tensors first.",
        (*cures.get(given, ()),
         *(() if given in ("NoneType", "tuple") else (Cure("make a tensor of it, which copies",
                                                           "torch.tensor(…)"),))),
        (Groups((Group("given", (f"{argument}: {given}",), CLASH), Group("taken", (f"{argument}: Tensor",), GOOD))),),
        (),
    )  # fmt: skip


def unsupported(scene: Scene, match: re.Match[str]) -> Finding | None:
    """``+`` and the like with something beside a tensor that is no number. Python raises this in the program's frame."""
    sign, *kinds = match.groups()
    if sum(kind in ("Tensor", "Parameter") for kind in kinds) != 1:
        return None
    other = next(kind for kind in kinds if kind not in ("Tensor", "Parameter"))
    cures = {
        "list": Cure("make a tensor of the list", "torch.tensor(values)"),
        "tuple": Cure("if a module returned several results, take one", "output[0]"),
        "NoneType": Cure("look where it should have come from: a function without return, an argument not given"),
        "str": Cure("make a number of it", "float(text)"),
    }
    return Finding(
        f"{sign} has no meaning between a tensor and a {other}",
        "Beside a tensor stands another tensor, or a number, which counts for each element.",
        (cures.get(other, Cure("make a tensor or a number of it", "torch.as_tensor(value)")),),
        (Groups((Group("given", tuple(kinds), CLASH), Group("taken", ("Tensor and Tensor", "Tensor and number"), GOOD))),),
        (),
    )


# -- dtypes --------------------------------------------------------------------------------------------------------


def loss_dtype(scene: Scene, match: re.Match[str]) -> Finding:
    """A loss whose target is of another dtype than its input: binary_cross_entropy, class probabilities."""
    involved = scene.of_call(scene.outermost)
    x, target = involved[0], next((t for t in involved if t.role == "target"), involved[-1])
    classes = x.shape == target.shape and match[0].startswith("Expected floating")
    cures = [Cure("convert the target", f"{target.label}.to({x.label}.dtype)")]
    if classes:
        cures.append(Cure("or, if each row marks one class with a 1, give class numbers", f"{target.label}.argmax(1)"))
    return Finding(
        f"{target.label} is {target.dtype}, and must be {x.dtype} as {x.label} is",
        f"A target of the shape of the scores, {text(target.shape)}, is read as probabilities of the classes: floats."
        if classes else "This loss computes with input and target element by element and converts neither.",
        tuple(cures),
        (by_dtype((x, target), (target.dtype,)),),
    )


def mask_dtype(scene: Scene, match: re.Match[str]) -> Finding:
    involved = scene.of_call(scene.outermost)
    mask = next((t for t in involved if t.role == "mask"), involved[-1])
    return Finding(
        f"{mask.label} is {mask.dtype}: a mask says yes or no of each element",
        "Masks are bool tensors, as comparisons make them.",
        (Cure("if what is not 0 is meant", f"{mask.label}.bool()"), Cure("or compare", f"{mask.label} > 0")),
        (by_dtype(involved, [mask.dtype]),),
    )


def assigned_dtype(scene: Scene, match: re.Match[str]) -> Finding:
    """Values that are put into a tensor of another dtype at places that a tensor of indices names."""
    involved = scene.of_call(scene.outermost)
    target, values = involved[0], replace(involved[-1], name=involved[-1].name or "the value")
    code = f"{values.label}.to({target.label}.dtype)" if involved[-1].name else f"value.to({target.label}.dtype)"
    cures = [Cure("convert what is put there", code)]
    if target.dtype in INTEGERS and values.dtype not in INTEGERS:
        cures.append(Cure("or, to keep fractions, have the target of floats", f"{target.label}.to(torch.{values.dtype})"))
    return Finding(
        f"{values.label} is {values.dtype}, and is put into {target.label}, which is {target.dtype}",
        "Where indices say which places are written, values are not converted: both must have one dtype.",
        tuple(cures),
        (by_dtype((target, values), (target.dtype, values.dtype)),),
    )


def expected_index(scene: Scene, match: re.Match[str]) -> Finding:
    involved = scene.of_call(scene.outermost)
    index = next((t for t in involved if t.role.startswith("ind") or t.dtype not in INTEGERS), involved[-1])
    return Finding(
        f"{index.label} is {index.dtype}: indices are whole numbers",
        "Places and classes are counted: int64, or int32 where the operator takes it.",
        (Cure("convert them", f"{index.label}.long()"),),
        (by_dtype(involved, [index.dtype]),),
    )


# -- targets -------------------------------------------------------------------------------------------------------


def target_shape(scene: Scene, match: re.Match[str]) -> Finding:
    """A target of class numbers that has not the shape of the scores without their classes."""
    involved = scene.of_call(scene.outermost)
    x, target = involved[0], next((t for t in involved if t.role == "target"), involved[-1])
    wanted = (*x.shape[:1], *x.shape[2:]) if len(x.shape) > 1 else ()
    rows = (ShapeRow(x.label, cells(x.shape), "scores: [samples, classes, …]"),
            ShapeRow(target.label, cells(target.shape, range(len(target.shape))), "given"),
            ShapeRow("wanted", cells(wanted, (), range(len(wanted))), "a class number for each"))  # fmt: skip
    return Finding(
        f"the target {target.label} {text(target.shape)} should have the shape {text(wanted)}",
        f"Dimension 1 of the scores {text(x.shape)} counts the classes; the target has their other dimensions, and a "
        "class number in each place.",
        _target_cures(x, target, wanted),
        (Shapes(rows),),
    )


def _target_cures(x: Involved, target: Involved, wanted: tuple[int, ...]) -> tuple[Cure, ...]:
    """What makes a target of one shape one of another: tried out, not guessed."""
    if target.shape == (*wanted, 1):
        return (Cure("take away the dimension of size 1", f"{target.label}.squeeze(-1)"),)
    if len(x.shape) == 3 and target.shape == x.shape[:2]:
        return (Cure("if the classes stand last, move them to dimension 1", f"{x.label}.transpose(1, 2)"),)
    return (Cure("reshape the target, or the scores"),)

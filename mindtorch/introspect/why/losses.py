"""Why a loss cannot be computed of its scores and targets: what they are, their shapes, grey values of masks."""
from __future__ import annotations

import re
from typing import Any

from .explanation import CLASH, Diagnosis, Fields, Fix, Group, Groups, ShapeRow, Shapes, cells, given, text, whole
from .failure import Failure
from .rules import on
from .wrote import is_tensor


def is_loss(failure: Failure) -> bool:
    """Return True if the failing call is one of a loss with scores and targets."""
    names = f"{failure.wrote.name} {type(failure.wrote.function).__name__}"
    return re.search("Loss|_loss|entropy", names) is not None and len(failure.wrote.arguments) >= 2


def _target(failure: Failure) -> tuple[str, Any]:
    return failure.wrote.arguments[1] if len(failure.wrote.arguments) > 1 else ("", None)


def no_tensors(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain scores or targets that are a tuple, a list, a dictionary or a record, as models return them."""
    if not is_loss(failure) or not isinstance(failure.error, (TypeError, AttributeError)):
        return None
    for number, (name, value) in enumerate(failure.wrote.arguments[:2]):
        many = isinstance(value, (tuple, list, dict)) or hasattr(value, "logits")
        if is_tensor(value) or not many:
            continue
        what = ("scores", "targets")[number]
        kind = type(value).__name__
        if not isinstance(value, (tuple, list)):
            keys = [key for key in (value if isinstance(value, dict) else vars(value)) if isinstance(key, str)]
            picked = f"{name}['{'logits' if 'logits' in keys else keys[0]}']" if isinstance(value, dict) and keys else (
                f"{name}.logits")
            fix = Fix("take the scores out of it", picked)
        elif any(map(is_tensor, value)):
            first = next(i for i, item in enumerate(value) if is_tensor(item))
            fix = Fix("a model that returns several results gives a tuple or a list: take the one that is meant",
                      f"{name}[{first}]")
        else:
            fix = Fix("make a tensor of the numbers", f"torch.tensor({name})")
        article = "an" if kind[0] in "AEIOU" else "a"
        return Diagnosis(
            f"{name} is {article} {kind}, and the loss takes a tensor of {what}",
            "A loss compares two tensors: what the model computed, and what it should have computed.", (fix,),
            (given([f"{name}: {kind}"], f"{what}: Tensor"),))
    return None


@on(r"The size of tensor a \(\d+\) must match the size of tensor b")
def elementwise(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain a loss that compares element by element, of scores and targets whose shapes do not broadcast."""
    if not is_loss(failure):
        return None
    (x, scores), (y, target) = failure.wrote.arguments[:2]
    if not (is_tensor(scores) and is_tensor(target)):
        return None
    values = target.detach()
    classes = (scores.ndim == target.ndim + 1 == 2 and len(scores) == len(target) and values.device.type == "cpu"
               and bool((values == values.floor()).all()) and bool((values >= 0).all()))
    return Diagnosis(
        f"{x} {list(scores.shape)} and {y} {list(target.shape)} cannot be compared element by element",
        "This loss takes the difference of each score and its target, so both have one shape." + (
            f" {y} looks like class numbers, one for each row of {x}: these are for cross_entropy." if classes else ""),
        (Fix("of class numbers, use the loss for them", f"F.cross_entropy({x}, {y}.long())") if classes else None,
         Fix("or make a row for each of them", f"F.one_hot({y}.long(), {scores.shape[1]}).to({x}.dtype)")
         if classes else None,
         Fix("give the target the shape of the scores", f"{y}.view_as({x})")
         if scores.numel() == target.numel() else None,
         Fix("or let the last layer compute as many numbers as there are targets")),
        (Shapes((whole(x, scores.shape), whole(y, target.shape))),))


@on(r"size mismatch \(got input|only batches of spatial targets supported|Expected target size|"
    r"[Mm]ulti-target not supported|multi-target")
def places(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain class numbers for each place of an image or a sequence, whose shape is not that of the scores."""
    values = [(name, value) for name, value in failure.wrote.arguments[:2] if is_tensor(value)]
    if len(values) < 2:
        return None
    (x, scores), (y, target) = values
    shape, labels = tuple(scores.shape), tuple(target.shape)
    wanted = (*shape[:1], *shape[2:])
    fixes: list[Fix | None] = []
    if len(shape) > 2 and labels == (*shape[:1], 1, *shape[2:]):
        fixes.append(Fix("take away the dimension of size 1: a mask has no channels", f"{y}.squeeze(1)"))
    elif labels == (*wanted, 1):
        fixes.append(Fix("take away the dimension of size 1", f"{y}.squeeze(-1)"))
    elif labels == shape[:-1]:
        fixes.append(Fix("the classes stand last: move them to dimension 1", f"{x}.movedim(-1, 1)"))
    elif labels in ((*wanted, 3), (*wanted, 4)) or (len(labels) == len(shape) and labels[1] in (3, 4)):
        fixes.append(Fix("the target is a picture in colours, three numbers for each pixel: turn each colour into the "
                         "number of its class when the mask is read, or read the mask as one channel of numbers"))
    else:
        fixes.append(Fix("reshape the target, or look where scores and target got different sizes"))
    last = ": the classes stand last in the scores" if labels == shape[:-1] else ""
    return Diagnosis(
        f"the target {y} {text(labels)} should have the shape {text(wanted)}{last}",
        f"Dimension 1 of the scores {x} {text(shape)} counts the classes; the target holds a class number for each "
        "sample and place, and has the other dimensions.", fixes,
        (Shapes((ShapeRow(x, cells(shape, [1]), "scores: [samples, classes, …]"), whole(y, labels, "given"),
                 ShapeRow("wanted", cells(wanted, (), range(len(wanted))), "a class number for each"))),),
        (failure.involved(scores, "input"), failure.involved(target, "target")))


@on(r"Target (-?\d+) is out of bounds")
def grey_values(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain a mask that holds 0 and 255 instead of 0 and 1."""
    y, target = _target(failure)
    if not is_tensor(target) or int(found[1]) != 255 or target.ndim < 2:
        return None
    return Diagnosis(
        f"{y} holds 255, the grey values of an image, and not class numbers",
        "A mask that is read from a picture is black and white, 0 and 255; a loss of classes takes their numbers: 0, "
        "1, …", (Fix("of two classes, what is not black is class 1", f"({y} > 0).long()"),
                 Fix("or leave out what is marked by 255", "ignore_index=255"),
                 Fix("or look the class of each grey value up in a table when the mask is read")),
        (Groups((Group(f"in {y}", ("255",), CLASH),)),))


@on(r"all elements of target should be between 0 and 1")
def pixels(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain images of 0 to 255 as the targets of ``binary_cross_entropy``."""
    y, target = _target(failure)
    if not is_tensor(target) or not target.is_floating_point() or target.device.type in ("meta", "npu", "cuda"):
        return None
    low, high = target.detach().min().item(), target.detach().max().item()
    if low < 0 or not 16 < high <= 255:
        return None
    return Diagnosis(
        f"{y} reaches {high:g}: pixels of 0 to 255, and the loss takes probabilities, between 0 and 1",
        "binary_cross_entropy reads each target as how likely an answer is yes. Pixels of a byte are brought into that "
        "range by dividing.", (Fix("scale the pixels", f"{y} / 255"),
                               Fix("or, of numbers that are no probabilities, use another loss", "F.mse_loss(…)")),
        (given([f"{y}: 0 … {high:g}"], "0 … 1"),))


RECOGNISED = {"loss of no tensors": no_tensors, "loss element by element": elementwise,
              "target in places": places, "grey values": grey_values,
              "pixels as probabilities": pixels}

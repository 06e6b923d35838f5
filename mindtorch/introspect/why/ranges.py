"""Why a number is not taken: classes, probabilities, sizes, steps and counts out of their ranges; and nothing at all."""
from __future__ import annotations

import re

import numpy as np

from ..tensor import values_without_waiting
from .facts import CLASH, GOOD, Cell, Cure, Finding, Ruler, ShapeRow, Shapes, Step, Steps
from .indexing import ASKED
from .scene import Scene
from .shapes import cells, sizes, text


def one_hot(scene: Scene, match: re.Match[str]) -> Finding:
    call = scene.called("one_hot")
    tensor = call.args[0] if call else None
    count = call.named.get("num_classes", -1) if call else -1
    label = scene.name(tensor, "the tensor") if tensor is not None else "the tensor"
    values = None if tensor is None else values_without_waiting(tensor)
    top = int(count) - 1 if count > 0 else max(0, int(values.max())) if values is not None and values.size else 0
    wrong = () if values is None else tuple(np.unique(values[(values < 0) | (values > top)])[:ASKED].tolist())
    cures = [Cure("leave the number of classes to be found out", f"F.one_hot({label})"),
             Cure("or say as many as there are", f"F.one_hot({label}, {max(wrong) + 1})")] if any(
                 n > top for n in wrong) else []  # fmt: skip
    negative = (Cure("classes are counted from 0: replace what stands for none", f"{label}.clamp(min=0)"),)
    return Finding(
        f"{', '.join(map(str, wrong)) or 'a value'} {'are no classes' if len(wrong) > 1 else 'is no class'}: "
        f"there are 0 to {top}",
        "one_hot sets, for each value, the place of that number in a row of zeros, which has one place for each class.",
        (*cures, *(negative if any(n < 0 for n in wrong) else ())) or (Cure(f"let all be 0 to {top}"),),
        (Ruler("classes", 0, top, wrong),),
    )


def probabilities(scene: Scene, match: re.Match[str]) -> Finding:
    role = "self" if match[1] == "input" else match[1]
    label = next((t.label for t in scene.of_call(scene.outermost) if t.role == role), f"the {match[1]}")
    if role == "target":
        rows = (Step(f"{label} = 0", "none of it", GOOD), Step(f"{label} = 1", "all of it", GOOD),
                Step(label, "has other values", CLASH))  # fmt: skip
        return Finding(
            f"{label} must hold probabilities, between 0 and 1",
            "The target of binary_cross_entropy says how likely each answer is yes: 0 for no, 1 for yes.",
            (Cure("make yes or no of it", f"({label} > 0).float()"),
             Cure("if it holds class numbers of several classes, this is another loss", "F.cross_entropy(…)")),
            (Steps(rows, "", "…"),),
        )  # fmt: skip
    steps = (Step("scores", "any numbers", GOOD), Step("sigmoid", "to between 0 and 1"), Step("binary_cross_entropy", label, CLASH))
    return Finding(
        f"{label} must hold probabilities, between 0 and 1",
        "binary_cross_entropy takes logarithms of its input and of 1 less its input. Scores that a layer computes can be "
        "any numbers.",
        (Cure("for scores, the loss that applies sigmoid itself", f"F.binary_cross_entropy_with_logits({label}, …)"),
         Cure("or make probabilities of them", f"torch.sigmoid({label})")),
        (Steps(steps),),
    )  # fmt: skip


def negative_size(scene: Scene, match: re.Match[str]) -> Finding:
    shape = sizes(match[2])
    wrong = [d for d, n in enumerate(shape) if n < 0]
    return Finding(
        f"{match[1]} is no size: a dimension has 0 elements or more",
        "Only view, reshape and expand know -1, for a size that they work out. Here all sizes must be given.",
        (Cure("look at how the size is computed: a difference in the wrong order, an empty input"),),
        (Shapes((ShapeRow("asked for", cells(shape, wrong)),)),),
    )


def no_range(scene: Scene, match: re.Match[str]) -> Finding:
    """arange with a step that does not lead from its start to its end."""
    start, end, step = (scene.local(name, "arange") for name in ("start", "end", "step"))
    cures = [Cure("count downward", f"torch.arange({start}, {end}, {-step})"),
             Cure("or exchange the ends", f"torch.arange({end}, {start}, {step})")] if step else [
             Cure("to give the number of values instead of a step", f"torch.linspace({start}, {end}, 10)")]  # fmt: skip
    if step and end > start:
        cures[0] = Cure("count upward", f"torch.arange({start}, {end}, {-step})")
    return Finding(
        f"steps of {step} do not lead from {start} to {end}",
        "Unlike Python's range, which is then empty, arange refuses a step that leads away from its end, or nowhere.",
        tuple(cures),
        (Steps((Step(f"start {start}"), Step(f"step {step}", "leads elsewhere" if step else "leads nowhere", CLASH),
                Step(f"end {end}", "never reached"))),),
        (),
    )


def top_k(scene: Scene, match: re.Match[str]) -> Finding:
    call = scene.called("topk", "kthvalue")
    tensor = scene.of_call(call)[0]
    k, dim = (call.named.get("k", 0), call.named.get("dim", -1)) if call else (0, -1)
    size = tensor.shape[dim] if tensor.shape else 1
    return Finding(
        f"{k} elements were asked for, and dimension {dim} of {tensor.label} has {size}",
        "topk picks k of the elements along one dimension, by default the last.",
        (Cure("ask for as many as there are at most", f"min({k}, {tensor.label}.shape[{dim}])"),
         Cure("or pick along another dimension, or from all", f"{tensor.label}.flatten().topk({k})")),
        (Shapes((ShapeRow(tensor.label, cells(tensor.shape, [dim % max(1, len(tensor.shape))])),)),
         Ruler("k", 0, size, (k,))),
    )  # fmt: skip


def negative_step(scene: Scene, match: re.Match[str]) -> Finding:
    tensor = next(iter(scene.of_innermost()), None)
    label = tensor.label if tensor else "x"
    return Finding(
        "a slice of a tensor cannot go backward",
        "A slice is a view, whose strides say how to step through the storage; PyTorch's strides are never negative.",
        (Cure("a copy in reverse", f"{label}.flip(0)"),
         Cure("of every second element, backward", f"{label}.flip(0)[::2]")),
        (Steps((Step("[::2]", "stride 2: a view", GOOD), Step("[::-1]", "stride -1: there is none", CLASH))),),
    )  # fmt: skip


def flatten_order(scene: Scene, match: re.Match[str]) -> Finding:
    call = scene.called("flatten")
    tensor = scene.of_call(call)[0]
    start, end = (call.args[1:3] if call else (0, 0))
    ndim = len(tensor.shape)
    head = tuple("start" if d == start % ndim else "end" if d == end % ndim else f"dim {d}" for d in range(ndim))
    return Finding(
        f"dimension {start} comes after dimension {end}",
        "flatten makes one dimension of those from start_dim to end_dim, both included.",
        (Cure("give the earlier one first", f"{tensor.label}.flatten({end}, {start})"),
         Cure("or flatten all but the first", f"{tensor.label}.flatten(1)")),
        (Shapes((ShapeRow(tensor.label, cells(tensor.shape, [start % ndim, end % ndim])),), head),),
    )  # fmt: skip


def unflatten(scene: Scene, match: re.Match[str]) -> Finding:
    asked, dim, size = sizes(match[1]), match[2], int(match[3])
    tensor = scene.of_innermost()[0]
    product = int(np.prod(asked, dtype=np.int64))
    rows = (ShapeRow(f"dimension {dim} has", (Cell(str(size), GOOD),)),
            ShapeRow("sizes asked for", cells(asked, range(len(asked))), f"{product} in all"))  # fmt: skip
    return Finding(
        f"{text(asked)} makes {product} elements, dimension {dim} has {size}",
        "unflatten splits one dimension into several: the product of their sizes must be its size.",
        (Cure("let one size be worked out", f"{tensor.label}.unflatten({dim}, ({', '.join(map(str, asked[:-1]))}, -1))"),),
        (Shapes(rows),),
    )


def nothing_to_reduce(scene: Scene, match: re.Match[str]) -> Finding:
    tensor = next(iter(scene.of_innermost()), None)
    label, shape = (tensor.label, tensor.shape) if tensor else ("the tensor", (0,))
    empty = [d for d, n in enumerate(shape) if not n]
    return Finding(
        f"{label} {text(shape)} has no elements: there is no {match[1].removeprefix('a').removeprefix('rg')} of nothing",
        "A sum of nothing is 0 and a product 1, but of no numbers none is the largest or the smallest.",
        (Cure("look at where the elements went: a mask that lets nothing through, an empty slice or batch"),
         Cure("or ask first", f"if {label}.numel(): …")),
        (Shapes((ShapeRow(label, cells(shape, empty)),)),),
    )  # fmt: skip

"""Why a tensor cannot be seen that way: views, strides, expanding, missing dimensions, overlapping memory."""
from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from typing import Any

from .facts import CLASH, GOOD, Cell, Cure, Finding, Involved, Places, Ruler, ShapeRow, Shapes
from .scene import Scene
from .shapes import cells, sizes, text

SHOWN = 48  #: positions at most of a storage that are drawn


def places(tensor: Involved, note: str = "") -> Places:
    """Where the elements of a tensor lie in its storage, numbered in the order in which they are read."""
    extent = 1 + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride, strict=True) if n)
    length = min(extent, SHOWN)
    seen: list[list[int]] = [[] for _ in range(length)]
    indices = itertools.product(*(range(n) for n in tensor.shape))
    for number, index in enumerate(itertools.islice(indices, 50 * SHOWN)):
        position = sum(i * step for i, step in zip(index, tensor.stride, strict=True))
        if position < length:
            seen[position].append(number)
    return Places(tensor.label, tensor.offset, tuple(map(tuple, seen)), extent, tensor.storage, note)


# -- view ----------------------------------------------------------------------------------------------------------


def view_stride(scene: Scene, match: re.Match[str]) -> Finding:
    call = scene.called("view", "view_as", "_unsafe_view", "unflatten")
    assert call is not None
    tensor = scene.involved(call.named["self"], "self")
    wanted = _filled(tuple(call.args[1]), math.prod(tensor.shape))
    breaks = [d for d in range(len(tensor.shape) - 1) if not _merges(tensor, d)]
    suffixes = {math.prod(wanted[d:]) for d in range(len(wanted) + 1)}
    wrong = [d for d in breaks if math.prod(tensor.shape[d + 1:]) not in suffixes] or breaks
    needed = [Cell(str(tensor.stride[d + 1] * tensor.shape[d + 1]), CLASH) if d in wrong else None
              for d in range(len(tensor.shape))]  # fmt: skip
    rows = (
        ShapeRow("size", cells(tensor.shape)),
        ShapeRow("stride", cells(tensor.stride, wrong)),
        ShapeRow("stride to merge it with the next", tuple(needed)),
    )
    d = wrong[0] if wrong else 0
    return Finding(
        f"{tensor.label} cannot be seen as {text(wanted)} without moving its elements",
        f"A view keeps the elements where they are, so every new dimension must be a walk of equal steps through the "
        f"storage. To merge dimensions {d} and {d + 1} of {tensor.label}, the stride of dimension {d} would have to be "
        f"{tensor.stride[d + 1] * tensor.shape[d + 1]} (stride times size of the next); it is {tensor.stride[d]}.",
        (Cure("copy if a view is not possible", f"{tensor.label}.reshape({', '.join(map(str, wanted))})"),
         Cure("or copy now, and view from then on",
              f"{tensor.label}.contiguous().view({', '.join(map(str, wanted))})")),
        (Shapes(rows, tuple(f"dim {i}" for i in range(len(tensor.shape)))),
         places(tensor, "The numbers are the order in which a view would have to read the elements.")),
        (tensor,),
    )  # fmt: skip


def _merges(tensor: Involved, dim: int) -> bool:
    return tensor.stride[dim] == tensor.stride[dim + 1] * tensor.shape[dim + 1] or 1 in tensor.shape[dim:dim + 2]


def _filled(shape: tuple[int, ...], elements: int) -> tuple[int, ...]:
    """A shape with its -1 replaced."""
    known = math.prod(n for n in shape if n != -1)
    return tuple(elements // known if n == -1 and known else n for n in shape)


def view_elements(scene: Scene, match: re.Match[str]) -> Finding:
    wanted, elements = sizes(match[1]), int(match[2])
    involved = scene.of_call(scene.innermost)
    tensor = involved[0]
    open_ = [d for d, n in enumerate(wanted) if n == -1]
    known = math.prod(n for n in wanted if n != -1)
    asked = f"a multiple of {known}" if open_ else str(known)
    rows = (ShapeRow(tensor.label, cells(tensor.shape), f"= {elements} elements"),
            ShapeRow("asked for", cells(wanted, range(len(wanted))), f"= {asked} elements"))  # fmt: skip
    cures = []
    for dim in range(len(wanted)):
        rest = math.prod(n for d, n in enumerate(wanted) if d != dim)
        if not open_ and rest and not elements % rest:
            shape = [*wanted[:dim], elements // rest, *wanted[dim + 1:]]
            cures.append(Cure(f"dimension {dim} would have to be {elements // rest}",
                              f"{tensor.label}.view{tuple(shape)}"))
    reason = f"{elements} elements cannot be arranged as {text(wanted)}"
    return Finding(
        f"{reason}: that takes {asked}",
        "view and reshape neither drop elements nor make new ones: the sizes must multiply to the number of elements.",
        (*cures, Cure("or let one size be worked out, where the others divide the number", f"{tensor.label}.view(-1)")),
        (Shapes(rows),),
    )


def two_unknown(scene: Scene, match: re.Match[str]) -> Finding:
    return Finding(
        "only one size can be worked out",
        "-1 stands for what is left of the elements once the other sizes are known; two of them leave it open.",
        (Cure("say all sizes but one"),),
    )


# -- expand --------------------------------------------------------------------------------------------------------


def expand(scene: Scene, match: re.Match[str]) -> Finding:
    target, have = sizes(match[4]), sizes(match[5])
    call = scene.called("expand", "expand_as", "broadcast_to", "copy_")
    tensor = scene.involved(call.named["self"], "self") if call else scene.of_innermost()[0]
    if scene.is_assignment:
        tensor = replace(tensor, name=tensor.name or "the value")
    dim, lead = int(match[3]), len(target) - len(have)
    rows = (ShapeRow(tensor.label, (*(None,) * lead, *cells(have, [dim - lead]))),
            ShapeRow("asked for", cells(target, [dim])))
    title = f"{tensor.label} {text(have)} cannot be expanded to {text(target)}"
    cause = "Expanding repeats dimensions of size 1 and adds new ones in front, by stride 0; nothing is moved. "
    cause += f"Dimension {dim} has {match[2]} elements, and is to have {match[1]}."
    cures: tuple[Cure, ...] = (
        Cure("repeat the elements, which copies", f"{tensor.label}.repeat(…)"),
        Cure("or pick one index, so that the dimension has size 1", f"{tensor.label}[{':, ' * (dim - lead)}:1]"),
    )
    if scene.is_assignment:
        title = f"{tensor.label} {text(have)} does not fit into the part {text(target)} that it is assigned to"
        cause = f"What is assigned is broadcast to the part that the index names. {cause}"
        cures = (Cure("index a part of that shape, or assign a value that broadcasts to it"),)
    return Finding(title, cause, cures, (Shapes(rows),))


def expand_dims(scene: Scene, match: re.Match[str]) -> Finding:
    have, target = sizes(match[1]), sizes(match[2])
    tensor = scene.of_call(scene.innermost)[0]
    rows = (ShapeRow(tensor.label, cells(have)), ShapeRow("asked for", (*(None,) * (len(have) - len(target)),
                                                                        *cells(target))))  # fmt: skip
    return Finding(
        f"{tensor.label} has {len(have)} dimensions, and {len(target)} were asked for",
        "expand gives a size for each dimension that there is (-1 leaves it as it is), after those that it adds in "
        "front.",
        (Cure("give all sizes", f"{tensor.label}.expand({', '.join(['-1'] * len(have))})"),),
        (Shapes(rows),),
    )


def repeated(scene: Scene, match: re.Match[str]) -> Finding:
    call = scene.called("repeat")
    assert call is not None
    tensor, times = scene.involved(call.named["self"], "self"), tuple(call.args[1])
    lead = len(tensor.shape) - len(times)
    rows = (ShapeRow(tensor.label, cells(tensor.shape, range(lead))), ShapeRow("times", (*(None,) * lead, *cells(times))))
    filled = ", ".join(map(str, (*(1,) * lead, *times)))
    return Finding(
        f"{tensor.label} has {len(tensor.shape)} dimensions, and repeat was told of {len(times)}",
        "repeat takes how often each dimension is repeated, 1 for those that stay as they are.",
        (Cure("name them all", f"{tensor.label}.repeat({filled})"),),
        (Shapes(rows),),
    )


def overlapping(scene: Scene, match: re.Match[str]) -> Finding:
    call = scene.innermost
    key = "out" if call is not None and "out" in call.named else "self"
    written = scene.involved(call.named[key], key) if call is not None else scene.of_innermost()[0]
    zero = [d for d, (n, step) in enumerate(zip(written.shape, written.stride, strict=True)) if n > 1 and not step]
    rows = (ShapeRow("size", cells(written.shape, zero)), ShapeRow("stride", cells(written.stride, zero)))
    where = f"Stride 0 in dimension {', '.join(map(str, zero))} means" if zero else "Its strides mean"
    source = f" of {written.of}" if written.of else ""
    return Finding(
        f"several elements of {written.label} lie at one place in memory: it cannot be written",
        f"{where} that several indices{source} share an element. Which of the values written there should "
        f"stay is not defined.",
        (Cure("give every index memory of its own first", f"{written.label} = {written.label}.clone()"),
         Cure("or write into the tensor before it is expanded", written.of)),
        (Shapes(rows, tuple(f"dim {i}" for i in range(len(written.shape)))),
         places(written, "Positions with more than one number are read at several indices.")),
    )  # fmt: skip


# -- dimensions ----------------------------------------------------------------------------------------------------


def dimension(scene: Scene, match: re.Match[str]) -> Finding:
    low, high, asked = map(int, match.groups())
    tensors = scene.of_innermost()
    tensor = tensors[0] if tensors else None
    label, ndim = (tensor.label, len(tensor.shape)) if tensor else ("the tensor", high + 1)
    call = scene.outermost
    packet = call.op.packet if call else "the operator"
    said = "a place for a new dimension" if high == ndim else "a dimension"
    rows = () if tensor is None or not ndim else (Shapes(
        (ShapeRow("size", cells(tensor.shape)),), tuple(f"dim {d} ({d - ndim})" for d in range(ndim))
    ),)  # fmt: skip
    shape = text(tensor.shape) if tensor else ""
    return Finding(
        f"{asked} is not {said} of {label} {shape}".rstrip(),
        f"{packet} takes {low} to {high} here: {label} has {ndim} dimension{'' if ndim == 1 else 's'}, counted from 0, "
        f"or from the end as -1, -2, ….",
        (Cure(f"say one of {', '.join(map(str, range(low, high + 1)))}; -1 is the last"),),
        (*rows, Ruler(f"dimensions that {packet} takes", low, high, (asked,))),
    )


def permutation(scene: Scene, match: re.Match[str]) -> Finding:
    call = scene.called("permute", "movedim", "transpose")
    tensor: Any = scene.of_call(call)[0]
    dims = tuple(call.args[1]) if call else ()
    twice = [i for i, d in enumerate(dims) if dims.count(d) > 1]
    wrong = twice or range(len(dims))
    rows = (ShapeRow(tensor.label, cells(tensor.shape), f"{len(tensor.shape)} dimensions"),
            ShapeRow("dims", cells(dims, wrong),
                     "one is named twice" if twice else f"{len(dims)} dimensions"))  # fmt: skip
    order = ", ".join(map(str, reversed(range(len(tensor.shape)))))
    return Finding(
        f"{text(dims)} is no order of the {len(tensor.shape)} dimensions of {tensor.label}",
        "permute names every dimension exactly once, in the order in which they are to stand.",
        (Cure("name each once, for example all in reverse", f"{tensor.label}.permute({order})"),
         Cure("or exchange two", f"{tensor.label}.transpose(0, -1)")),
        (Shapes(rows),),
    )  # fmt: skip


def transposed(scene: Scene, match: re.Match[str]) -> Finding:
    tensor = scene.of_innermost()[0]
    return Finding(
        f"t() is for matrices and vectors; {tensor.label} {text(tensor.shape)} has {len(tensor.shape)} dimensions",
        "With more than two dimensions it is not clear which two t() should exchange.",
        (Cure("exchange the last two, as for a batch of matrices", f"{tensor.label}.mT"),
         Cure("or say which", f"{tensor.label}.transpose(0, 1)")),
        (Shapes((ShapeRow(tensor.label, cells(tensor.shape)),)),),
    )  # fmt: skip


def narrowed(scene: Scene, match: re.Match[str]) -> Finding:
    start, length, size = map(int, match.groups())
    tensor = scene.of_innermost()[0]
    rows = (ShapeRow("dimension has", (Cell(str(size), GOOD),)),
            ShapeRow("start + length", (Cell(f"{start} + {length} = {start + length}", CLASH),)))  # fmt: skip
    return Finding(
        f"elements {start} to {start + length - 1} were asked for, the dimension ends at {size - 1}",
        f"narrow takes {length} elements from {start} on; unlike a slice it does not stop at the end.",
        (Cure("use a slice, which stops at the end", f"{tensor.label}[{start}:{start + length}]"),),
        (Shapes(rows), Ruler("indices", 0, size - 1, (start + length - 1,))),
    )


def no_dimensions(scene: Scene, match: re.Match[str]) -> Finding:
    tensor = next((t for t in scene.of_innermost() if not t.shape), None)
    label = tensor.label if tensor else "the tensor"
    return Finding(
        f"{label} is one number, without dimensions",
        "A tensor of shape [] holds one element and has nothing to index, to iterate over, to count or to pair.",
        (Cure("its value", f"{label}.item()"), Cure("a dimension of size 1", f"{label}.unsqueeze(0)"),
         Cure("or look whether it was reduced or indexed once too often")),
        (Shapes((ShapeRow(label, (), "no dimensions"), ShapeRow("wanted", (Cell("n", GOOD),), "at least one"))),),
    )  # fmt: skip

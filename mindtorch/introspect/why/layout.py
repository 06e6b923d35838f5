"""Why a tensor cannot be seen that way: views, strides, expanding, dimensions, overlapping memory."""
from __future__ import annotations

import ast
import itertools
import math
from dataclasses import replace

from .explanation import (
    CLASH, Cell, Diagnosis, Fields, Fix, Involved, Places, Ruler, ShapeRow, Shapes, aside, cells, numbered, text, whole,
)
from .failure import Failure

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


def view_stride(failure: Failure, f: Fields) -> Diagnosis:
    self, size = failure.called("view", "view_as", "_unsafe_view", "unflatten").args[:2]  # type: ignore[union-attr]
    tensor = failure.involved(self, "self")
    wanted = _filled(tuple(size), math.prod(tensor.shape))
    merged = [n * step for n, step in zip(tensor.shape[1:], tensor.stride[1:], strict=True)]  #: the strides that could
    breaks = [d for d, step in enumerate(merged) if tensor.stride[d] != step and 1 not in tensor.shape[d:d + 2]]
    suffixes = {math.prod(wanted[d:]) for d in range(len(wanted) + 1)}
    wrong = [d for d in breaks if math.prod(tensor.shape[d + 1:]) not in suffixes] or breaks
    needed = [Cell(str(merged[d]), CLASH) if d in wrong else None for d in range(len(tensor.shape))]
    rows = (ShapeRow("size", cells(tensor.shape)), ShapeRow("stride", cells(tensor.stride, wrong)),
            ShapeRow("stride to merge it with the next", tuple(needed)))
    d = wrong[0] if wrong else 0
    func = failure.wrote.call.func if failure.wrote.call else None
    seen = failure.wrote.text(func.value) if isinstance(func, ast.Attribute) and func.attr == "view" else tensor.label
    return Diagnosis(
        f"{tensor} cannot be seen as {text(wanted)} without moving its elements",
        f"A view keeps the elements where they are, so every new dimension must be a walk of equal steps through the "
        f"storage. To merge dimensions {d} and {d + 1} of {tensor}, the stride of dimension {d} would have to be "
        f"{merged[d]} (stride times size of the next); it is {tensor.stride[d]}.",
        (Fix("copy if a view is not possible", f"{seen}.reshape({', '.join(map(str, wanted))})"),
         Fix("or copy now, and view from then on", f"{seen}.contiguous().view({', '.join(map(str, wanted))})")),
        (replace(numbered(tensor), rows=rows),
         places(tensor, "The numbers are the order in which a view would have to read the elements.")), (tensor,))


def _filled(shape: tuple[int, ...], elements: int) -> tuple[int, ...]:
    """Replace the -1 in a shape."""
    known = math.prod(n for n in shape if n != -1)
    return tuple(elements // known if n == -1 and known else n for n in shape)


def view_elements(failure: Failure, f: Fields) -> Diagnosis:
    wanted, elements = f.shape, f.numel
    tensor = failure.of_call(failure.innermost)[0]
    open_ = -1 in wanted
    known = math.prod(n for n in wanted if n != -1)
    asked = f"a multiple of {known}" if open_ else str(known)
    rows = (ShapeRow(tensor.label, cells(tensor.shape), f"= {elements} elements"),
            whole("asked for", wanted, f"= {asked} elements"))
    rests = [math.prod(wanted[:dim] + wanted[dim + 1:]) for dim in range(len(wanted))]
    fixes = [Fix(f"dimension {dim} would have to be {elements // rest}",
                 f"{tensor}.view{(*wanted[:dim], elements // rest, *wanted[dim + 1:])}")
             for dim, rest in enumerate(rests) if not open_ and rest and not elements % rest]
    samples = tensor.shape[0] if tensor.shape else 0
    if open_ and len(tensor.shape) > 1 and samples and elements % samples == 0 and wanted[0] == -1:
        rest = elements // samples
        fixes += [Fix(f"to keep the {samples} samples, each has {rest} elements", f"{tensor}.view({samples}, -1)"),
                  Fix(f"or flatten, and make the layer that follows for {rest} features", f"{tensor}.flatten(1)")]
    elif not fixes:
        odd = [f"{n} pieces of {size} are {n * size}, of {whole}" for whole in tensor.shape
               for n, size in itertools.pairwise(wanted) if size > 0 and n == whole // size and whole % size]
        fixes.append(Fix(f"a size that is cut into pieces must be a multiple of them: {odd[0]}; cut off or pad the rest"
                         if odd else "look at how the sizes are computed: their product must be the number of "
                                     "elements"))
    return Diagnosis(
        f"{elements} elements cannot be arranged as {text(wanted)}: that takes {asked}",
        "view and reshape neither drop elements nor make new ones: the sizes must multiply to the number of elements.",
        fixes,
        (Shapes(rows),))


def expand(failure: Failure, f: Fields) -> Diagnosis:
    target, have, dim = f.size, f.shape, f.dim
    call = failure.called("expand", "expand_as", "broadcast_to", "copy_")
    tensor = failure.involved(call.named["self"], "self") if call else f.x
    lead = len(target) - len(have)
    cause = ("Expanding repeats dimensions of size 1 and adds new ones in front, by stride 0; nothing is moved. "
             f"Dimension {dim} has {have[dim - lead]} elements, and is to have {target[dim]}.")
    if failure.is_assignment:
        tensor = replace(tensor, name=tensor.name or "the value")
        title = f"{tensor} {text(have)} does not fit into the part {text(target)} that it is assigned to"
        cause = f"What is assigned is broadcast to the part that the index names. {cause}"
        fixes = [Fix("index a part of that shape, or assign a value that broadcasts to it")]
    else:
        title = f"{tensor} {text(have)} cannot be expanded to {text(target)}"
        fixes = [Fix("repeat the elements, which copies", f"{tensor}.repeat(…)"),
                 Fix("or pick one index, so that the dimension has size 1", f"{tensor}[{':, ' * (dim - lead)}:1]")]
    rows = (aside(tensor.label, lead, have, [dim - lead]), ShapeRow("asked for", cells(target, [dim])))
    return Diagnosis(title, cause, tuple(fixes), (Shapes(rows),))


def overlapping(failure: Failure, f: Fields) -> Diagnosis:
    named = failure.innermost.named  # type: ignore[union-attr]
    key = "out" if "out" in named else "self"
    written = failure.involved(named[key], key)
    zero = [d for d, (n, step) in enumerate(zip(written.shape, written.stride, strict=True)) if n > 1 and not step]
    rows = (ShapeRow("size", cells(written.shape, zero)), ShapeRow("stride", cells(written.stride, zero)))
    where = f"Stride 0 in dimension {', '.join(map(str, zero))} means" if zero else "Its strides mean"
    source = f" of {written.of}" if written.of else ""
    return Diagnosis(
        f"several elements of {written} lie at one place in memory: it cannot be written",
        f"{where} that several indices{source} share an element. Which of the values written there should "
        f"stay is not defined.",
        (Fix("give every index memory of its own first", f"{written} = {written}.clone()"),
         Fix("or write into the tensor before it is expanded", written.of)),
        (replace(numbered(written), rows=rows),
         places(written, "Positions with more than one number are read at several indices.")))


def dimension(failure: Failure, f: Fields) -> Diagnosis:
    low, high = f.low, f.high
    ndim = len(f.x.shape) if f.tensors else high + 1
    packet = failure.packet
    return Diagnosis(
        f"{f.given} is not {'a place for a new' if high == ndim else 'a'} dimension of {f.x} "
        f"{f.x.size * bool(f.tensors)}".rstrip(),
        f"{packet} takes {low} to {high} here: {f.x} has {ndim} dimension{'' if ndim == 1 else 's'}, counted from 0, "
        f"or from the end as -1, -2, ….",
        (Fix(f"say one of {', '.join(map(str, range(low, high + 1)))}; -1 is the last"),),
        (*[numbered(f.x, negative=True)] * bool(f.tensors and ndim),
         Ruler(f"dimensions that {packet} takes", low, high, (f.given,))))


def permutation(failure: Failure, f: Fields) -> Diagnosis:
    tensor, dims = f.x, tuple(f.dims)
    twice = [i for i, d in enumerate(dims) if dims.count(d) > 1]
    wrong = twice or range(len(dims))
    rows = (ShapeRow(tensor.label, cells(tensor.shape), f"{len(tensor.shape)} dimensions"),
            ShapeRow("dims", cells(dims, wrong), "one is named twice" if twice else f"{len(dims)} dimensions"))
    order = ", ".join(map(str, reversed(range(len(tensor.shape)))))
    return Diagnosis(f"{text(dims)} is no order of the {len(tensor.shape)} dimensions of {tensor}",
                     "permute names every dimension exactly once, in the order in which they are to stand.",
                     (Fix("name each once, for example all in reverse", f"{tensor}.permute({order})"),
                      Fix("or exchange two", f"{tensor}.transpose(0, -1)")), (Shapes(rows),))

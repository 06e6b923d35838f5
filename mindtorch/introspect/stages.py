"""The stages of the compiler as plain facts: a list of lines each, and in every line the numbers of its origins.

An origin is an operator that TorchDynamo captured. What became of it in another stage has its number, and so have the
lines of the program and the instructions of the bytecode that it was captured from.
"""
from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from .listing import Listing, Place, instructions_of, is_users_file, listings_of

MOST = 400  #: lines at most of one stage
ONE_SIZE = "traced for the sizes with which the graph was captured"
SHOWN = 6  #: operators of a kernel that are named
FRAME = re.compile(r'File "(.*?)", line (\d+), in (.*)')
ASSIGNED = re.compile(r"\s+(\w+)(?: *: [^=]+)? = (.*?)(?:;  .*)?$")
COMMENT = re.compile(r"  # (.*)$")
#: The stages, and the parts of the compiler that make them; the last two are made by each library in its own way.
MAKERS = {
    "source": "your code", "bytecode": "Python", "FX graph": "captured by TorchDynamo",
    "ATen forward": "traced by AOTAutograd: functional, decomposed", "ATen backward": "traced by AOTAutograd",
    "saved for backward": "chosen by the min-cut partitioner", "fused groups": "", "program": "",
}
#: What is said of a stage without lines.
EMPTY = {
    "source": "the source is not at hand", "bytecode": "no function in Python is at hand",
    "FX graph": "no operator was captured", "ATen forward": "no operator was captured",
    "ATen backward": "no input requires grad", "saved for backward": "nothing: there is no backward pass",
    "fused groups": "no kernel", "program": "no program",
}
SHORT = (("torch.ops.aten.", "aten."), ("torch.nn.functional.", "F."), ("torch._C._nn.", "F."),
         ("torch.ops.prims.", "prims."))


@dataclass(frozen=True)
class Line:
    """One line of a stage: its text, its origins, the type of the tensor that it makes, and what is to be remarked.

    ``kind`` is "" for code, "head" for the title of a part, "note" for a remark, and "alert" for a graph break or a
    recompile and its reason. ``number`` is the line's number in its file, 0 where it has none.
    """

    text: str
    origins: tuple[int, ...] = ()
    type: str = ""
    remark: str = ""
    kind: str = ""
    number: int = 0


@dataclass(frozen=True)
class Stage:
    """One stage: its name, the part of the compiler that makes it, and its lines."""

    name: str
    maker: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Origin:
    """An operator that was captured: its number, its name in the graph, and the user's lines, outermost first."""

    number: int
    name: str
    graph: int
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Kernel:
    """Operators that run together: the kernel's name, the operators, the elements of the largest result (0 if that is
    not known), and the captured nodes that they come from, where these are not those of the kernel's call.
    """

    name: str
    operators: tuple[str, ...]
    size: int = 0
    nodes: tuple[str, ...] = ()


@dataclass
class ProgramText:
    """A program that a graph became. ``names`` maps parts of its comments, and the names of its kernels, to the nodes
    of the captured graph that they come from.
    """

    name: str
    source: str
    kernels: tuple[Kernel, ...] = ()
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass
class Capture:
    """One captured graph and all that was made of it. Graphs are modules of ``fx``, of the library that compiled."""

    module: Any
    joint: Any = None
    forward: Any = None
    backward: Any = None
    saved: tuple[str, ...] = ()  #: the names of the values that the forward graph saves
    saved_by_default: tuple[str, ...] = ()  #: those that the default partitioner would save
    no_aten: str = ""  #: the reason that AOTAutograd made no graph
    programs: list[ProgramText] = field(default_factory=list)
    no_program: str = ""  #: the reason that there is no program
    guards: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True)
class Remark:
    """A graph break or a recompile: what it is, its reason, and the user's line."""

    what: str
    reason: str
    place: Place = ("", 0)


@dataclass
class Stages:
    """All stages of a call, the operators that were captured, the remarks on it, and the captured graphs."""

    library: str = "mindtorch"
    origins: tuple[Origin, ...] = ()
    stages: tuple[Stage, ...] = ()
    remarks: tuple[Remark, ...] = ()
    captures: tuple[Capture, ...] = ()

    def of(self, name: str) -> Stage:
        """Return the stage of a name. Raises KeyError if there is none."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise KeyError(name)

    @property
    def breaks(self) -> list[Remark]:
        """The graph breaks."""
        return [remark for remark in self.remarks if remark.what == "graph break"]


def stages_of(captures: list[Capture], remarks: list[Remark], codes: list[Any], libraries: tuple[str, ...],
              library: str, makers: dict[str, str]) -> Stages:
    """Return the stages of a call from its graphs; files in ``libraries`` are not the user's, ``makers`` are those of
    the last two stages.
    """
    origins: list[Origin] = []
    for number, capture in enumerate(captures, 1):
        for node in capture.module.graph.nodes:
            if node.op.startswith("call"):
                origins.append(Origin(len(origins) + 1, node.name, number, places_of(node, libraries)))
    listings = listings_of([place for one in origins for place in one.places]
                           + [remark.place for remark in remarks], codes)
    at: dict[Place, tuple[int, ...]] = {}
    for one in origins:
        for place in dict.fromkeys(one.places):
            at[place] = (*at.get(place, ()), one.number)
    parts: dict[str, list[Line]] = {name: [] for name in MAKERS}
    parts["source"], parts["bytecode"] = source_lines(listings, at, remarks), bytecode_lines(listings, at)
    for number, capture in enumerate(captures, 1):
        numbers = {one.name: one.number for one in origins if one.graph == number}
        for name, lines in _parts(capture, numbers):
            parts[name] += _headed(lines, f"graph {number}") if len(captures) > 1 else lines
    stages = tuple(Stage(name, makers.get(name, MAKERS[name]), tuple(_cut(lines)) or (Line(EMPTY[name], kind="note"),))
                   for name, lines in parts.items())
    return Stages(library, tuple(origins), stages, tuple(remarks), tuple(captures))


def source_lines(listings: list[Listing], at: dict[Place, tuple[int, ...]], remarks: list[Remark]) -> list[Line]:
    """Return the lines of the user's functions, with each remark below its line, or else at the end."""
    lines: list[Line] = []
    left = dict.fromkeys(remarks)
    for listing in listings:
        lines.append(Line(listing.name, kind="head"))
        for number, text in listing.lines:
            place = listing.file, number
            here = [remark for remark in left if remark.place == place]
            lines += [Line(text, at.get(place, ()), number=number), *map(alert, here)]
            left = {remark: None for remark in left if remark not in here}
    return [*lines, *map(alert, left)]


def alert(remark: Remark) -> Line:
    """Return the line of a remark."""
    return Line(remark.reason, remark=remark.what, kind="alert")


def bytecode_lines(listings: list[Listing], at: dict[Place, tuple[int, ...]]) -> list[Line]:
    """Return the instructions of the user's functions."""
    lines: list[Line] = []
    for listing in listings:
        found = [Line(text, at.get((listing.file, number), ()), number=number)
                 for number, text in instructions_of(listing)]
        lines += [Line(listing.name, kind="head"), *found] if found else []
    return lines


def _headed(lines: list[Line], graph: str) -> list[Line]:
    """Return lines below the name of their graph."""
    if lines and lines[0].kind != "head":
        return [Line(graph, kind="head"), *lines]
    return [Line(f"{graph}, {line.text}", kind="head") if line.kind == "head" else line for line in lines]


def _cut(lines: list[Line]) -> list[Line]:
    rest = len(lines) - MOST
    return lines if rest <= 0 else [*lines[:MOST], Line(f"and {rest:,} more lines", kind="note")]


def _parts(capture: Capture, numbers: dict[str, int]) -> Iterator[tuple[str, list[Line]]]:
    """Yield the lines of one graph in each stage."""
    yield "FX graph", graph_lines(capture.module, {name: (number,) for name, number in numbers.items()})
    found = [graph for graph in (capture.joint, capture.forward, capture.backward) if graph is not None]
    origins = aten_origins(found, numbers)
    if capture.no_aten:
        yield "ATen forward", [Line(capture.no_aten, kind="note")]
    if capture.forward is not None:
        at_one_size = has_symbols(capture.module) and not has_symbols(capture.forward)
        yield "ATen forward", [*graph_lines(capture.forward, origins), *([Line(ONE_SIZE, kind="note")] * at_one_size)]
    if capture.backward is not None:
        first = {node.name for node in capture.forward.graph.nodes}
        tagged = {node.name for node in capture.joint.graph.nodes if node.meta.get("partitioner_tag") == "is_forward"}
        again = {node.name for node in capture.backward.graph.nodes
                 if node.op.startswith("call") and node.name in first | tagged and node.name not in capture.saved}
        yield "ATen backward", graph_lines(capture.backward, origins, again)
        yield "saved for backward", saved_lines(capture, origins, again)
    yield "fused groups", [line for program in capture.programs for line in kernel_lines(program, numbers)]
    if capture.no_program:
        yield "program", [Line(capture.no_program, kind="note")]
    yield "program", [line for program in capture.programs for line in program_lines(program, numbers)]


# -- graphs ------------------------------------------------------------------------------------------------------------


def places_of(node: Any, libraries: tuple[str, ...]) -> tuple[Place, ...]:
    """Return the user's lines that a node was captured from, outermost first."""
    frames = FRAME.findall(node.meta.get("stack_trace") or "")
    return tuple((file, int(line)) for file, line, _ in frames if is_users_file(file, libraries))


def shortened(text: str) -> str:
    """Return code with the usual short names of namespaces."""
    for long, short in SHORT:
        text = text.replace(long, short)
    return text


def graph_lines(module: Any, origins: dict[str, tuple[int, ...]], again: Iterable[str] = ()) -> list[Line]:
    """Return a line for each node: inputs, calls as the module's code has them, and results. Graphs of functions that a
    call applies, such as that of ``vmap``, stand indented before it.
    """
    texts = {found[1]: found[2] for found in map(ASSIGNED.match, module.code.splitlines()) if found}
    lines = []
    for node in module.graph.nodes:
        kind = type_of_node(node)
        inner: Any = getattr(module, str(node.target), None) if node.op == "get_attr" else None
        if hasattr(inner, "graph"):
            numbers = tuple(dict.fromkeys(number for user in node.users for number in origins.get(user.name, ())))
            lines.append(Line(f"{node.name}:", numbers, "", "the graph of a function"))
            lines += [replace(line, text=f"    {line.text}")
                      for line in graph_lines(inner, {one.name: numbers for one in inner.graph.nodes})]
        elif node.op in ("placeholder", "get_attr"):
            lines.append(Line(node.name, origins.get(node.name, ()), kind, node.op.replace("placeholder", "input")))
        elif node.op == "output":
            lines.append(Line(f"return {', '.join(map(str, flat(node.args)))}"))
        else:
            text = texts.get(node.name) or f"{node.target}({', '.join(map(str, node.args))})"
            lines.append(Line(f"{node.name} = {shortened(text)}", origins.get(node.name, ()), kind,
                              "computed again" if node.name in again else ""))
    return lines


def flat(args: Any) -> Iterator[Any]:
    """Yield the leaves of nested lists and tuples."""
    for arg in args:
        if isinstance(arg, (list, tuple)):
            yield from flat(arg)
        else:
            yield arg


def type_of_node(node: Any) -> str:
    """Return dtype and shape of a node's tensor: ``float32[32, s0]``; "" for other values."""
    value = node.meta.get("val", node.meta.get("example_value"))
    return type_of_value(value)


def type_of_value(value: Any) -> str:
    """Return dtype and shape of a tensor; "" for other values."""
    if not hasattr(value, "dtype") or not hasattr(value, "shape"):
        return ""
    return f"{str(value.dtype).rpartition('.')[2]}[{', '.join(map(str, value.shape))}]"


def has_symbols(module: Any) -> bool:
    """Return whether a size of a graph's inputs is a symbol."""
    types = [type_of_node(node) for node in module.graph.nodes if node.op == "placeholder"]
    return any(re.search(r"\[.*[a-z]", one) for one in types)


def aten_origins(modules: list[Any], numbers: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Return the origins of nodes by name. A node of the backward pass has those of the forward nodes with its
    sequence number.
    """
    found: dict[str, tuple[int, ...]] = {}
    by_sequence: dict[Any, tuple[int, ...]] = {}
    nodes = [node for module in modules for node in module.graph.nodes]
    for node in nodes:
        names = [name for source in node.meta.get("from_node") or () for name in _names(source)]
        made = _numbers(names, numbers)
        if made:
            found.setdefault(node.name, made)
            if node.meta.get("seq_nr") is not None:
                by_sequence.setdefault(node.meta["seq_nr"], made)
    for node in nodes:
        if node.op.startswith("call") and node.name not in found and node.meta.get("seq_nr") in by_sequence:
            found[node.name] = by_sequence[node.meta["seq_nr"]]
    return found


def _names(source: Any) -> Iterator[str]:
    """Yield the names of a node's sources, from the last pass to the first."""
    yield source.name
    for before in source.from_node or ():
        yield from _names(before)


# -- what is saved -----------------------------------------------------------------------------------------------------


def saved_lines(capture: Capture, origins: dict[str, tuple[int, ...]], again: set[str]) -> list[Line]:
    """Return a line for each saved value, the sums, and the values that are computed again instead."""
    nodes = {node.name: node for node in capture.joint.graph.nodes}

    def line(name: str, remark: str) -> Line:
        return Line(name, origins.get(name, ()), type_of_node(nodes[name]), remark)

    def said(names: tuple[str, ...]) -> str:
        bases = dict.fromkeys(base_of(nodes[name]) for name in names)
        numbers = [base for base in bases if bytes_of(base) is None]  # sizes
        sizes = [bytes_of(base) for base in bases if base.op != "placeholder" and base not in numbers]
        tensors = f"{len(sizes)} tensor{'' if len(sizes) == 1 else 's'}"
        inputs = len(bases) - len(sizes) - len(numbers)
        return f"{tensors}, {counted(sum(sizes))}, beside {inputs} inputs, which exist anyway"

    lines = [line(name, memory_of(nodes[name])) for name in capture.saved]
    lines.append(Line(f"min-cut partitioner: {said(capture.saved)}", kind="note"))
    lines.append(Line(f"default partitioner: {said(capture.saved_by_default)}", kind="note"))
    left = [name for name in dict.fromkeys([*capture.saved_by_default, *sorted(again)])
            if name not in capture.saved and name in again and name in nodes]
    return [*lines, *(line(name, "not saved: computed again") for name in left)]


def base_of(node: Any) -> Any:
    """Return the node whose memory a node's tensor is in: itself, unless it is a view."""
    part = node.args[0] if node.target is operator.getitem else node
    return base_of(part.args[0]) if getattr(part.target, "is_view", False) else node


def memory_of(node: Any) -> str:
    """Describe the memory of a saved tensor."""
    base, size = base_of(node), bytes_of(node)
    said = "a number" if size is None else counted(size)
    is_input = base.op == "placeholder"
    if base is node:
        return f"{said}, an input" if is_input else said
    return f"{said}, a view of {'an input' if is_input else base.name}"


def saved_between(halves: tuple[Any, Any]) -> tuple[str, ...]:
    """Return the names of the values that a forward graph saves for its backward graph."""
    forward, backward = halves
    made = {node.name for node in forward.graph.nodes}
    return tuple(node.name for node in backward.graph.nodes if node.op == "placeholder" and node.name in made)


def bytes_of(node: Any) -> Any:
    """Return the bytes of a node's tensor, an expression if a size is a symbol; None if it has none."""
    value = node.meta.get("val", node.meta.get("example_value"))
    return math.prod(value.shape, start=value.element_size()) if hasattr(value, "element_size") else None


def counted(count: Any) -> str:
    """Return a number of bytes, or an expression for it, in words."""
    return f"{count:,} bytes" if type(count) is int else f"{count} bytes"


# -- programs ----------------------------------------------------------------------------------------------------------


def _numbers(names: Iterable[str], numbers: dict[str, int]) -> tuple[int, ...]:
    return tuple(sorted({numbers[name] for name in names if name in numbers}))


def _chain(operators: tuple[str, ...]) -> str:
    """Format operators as a chain, with the middle of a long one left out."""
    rest = len(operators) - SHOWN
    return " → ".join(operators if rest <= 1 else (*operators[:SHOWN - 1], f"{rest} more", operators[-1]))


def kernel_lines(program: ProgramText, numbers: dict[str, int]) -> list[Line]:
    """Return a line for each kernel of several operators, and what the passes did."""
    called = {called[1]: line.origins for line in program_lines(program, numbers)
              if (called := re.match(r"\s+([\w.]+)\(", line.text))}
    lines = [Line(_chain(kernel.operators), _numbers(kernel.nodes, numbers) or called.get(kernel.name, ()),
                  f"{kernel.size:,} elements" if kernel.size else "", kernel.name) for kernel in program.kernels]
    return [Line(program.name, kind="head"), *lines, *(Line(said, kind="note") for said in program.remarks)] if (
        lines or program.remarks) else []


def program_lines(program: ProgramText, numbers: dict[str, int]) -> list[Line]:
    """Return the lines of a program. A line without origins of its own has those of the first line below that uses the
    name that it makes; the lines of a kernel have those of its call.
    """
    found: list[tuple[str, tuple[int, ...]]] = []
    for text in program.source.rstrip().splitlines():
        comment = COMMENT.search(text)
        names: tuple[str, ...] = ()
        if comment:
            called = re.match(r"\s+(\w+)\(", text)
            parts = [called[1]] if called and called[1] in program.names else comment[1].split(", ")
            names = tuple(dict.fromkeys(name for part in parts for name in program.names.get(part, ())))
            known = [name for name in names if name in numbers]
            known = known if len(known) <= SHOWN else [*known[:SHOWN - 1], "..."]
            text = f"{text[:comment.start()]}  # {', '.join(known)}" if known else text
        found.append((text, _numbers(names, numbers)))
    found = [one for one, before in zip(found, [("", ()), *found], strict=False) if one[0].strip() or before[0].strip()]
    _down(found)
    _up(found)
    _into_kernels(found)
    return [Line(program.name, kind="head"), *(Line(text, origins) for text, origins in found)]


def _down(found: list[tuple[str, tuple[int, ...]]]) -> None:
    """Give a line that makes a name the origins of the line below that first uses it, from the bottom upwards."""
    for at in range(len(found) - 1, -1, -1):
        text, origins = found[at]
        made = re.match(r"    (\w+) = (?!\d)", text)
        if origins or made is None:
            continue
        word = re.compile(rf"\b{made[1]}\b")
        for later, later_origins in found[at + 1:]:
            if not later.startswith(" ") and later.strip():
                break
            if later_origins and word.search(later):
                found[at] = text, later_origins
                break


def _up(found: list[tuple[str, tuple[int, ...]]]) -> None:
    """Give a line without origins those of the last line above that makes a name in it."""
    for at, (text, origins) in enumerate(found):
        made = re.match(r"    \w+ = (.*)", text)
        if origins or made is None:
            continue
        for word in re.findall(r"[A-Za-z_]\w*", made[1]):
            above = [numbers for earlier, numbers in found[:at] if numbers and re.match(rf"    {word} = ", earlier)]
            if above:
                found[at] = text, above[-1]
                break


KERNEL = re.compile(r"(?:def (\w+)\(|(\w+) = async_compile)")  #: the first line of a function, or of a kernel in C++


def _into_kernels(found: list[tuple[str, tuple[int, ...]]]) -> None:
    """Give the lines of kernels the origins of their calls, from the last function to the first."""
    starts = [(at, made[1] or made[2]) for at, (text, _) in enumerate(found) if (made := KERNEL.match(text))]
    ends = [at for at, _ in starts[1:]] + [len(found)]
    for (start, name), end in reversed([*zip(starts, ends, strict=True)]):
        call = re.compile(rf"\b{name}\(")
        origins = tuple(sorted({number for at, (text, numbers) in enumerate(found)
                                if not start <= at < end and call.search(text) for number in numbers}))
        for at in range(start, end):
            text, own = found[at]
            if not own and origins and text.strip() and not text.startswith("@"):
                found[at] = text, origins


__all__ = ["Capture", "Kernel", "Line", "Origin", "ProgramText", "Remark", "Stage", "Stages", "has_symbols",
           "saved_between", "stages_of"]

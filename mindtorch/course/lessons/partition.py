"""Lesson 21: what is kept between the forward and the backward pass?"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..._base.interrupts import contextmanager
from ..limits import LOADING
from ..tasks import Lab, lesson
from . import torch


@dataclass(frozen=True)
class Value:
    """A value of the forward pass: its bytes, the names of those it is computed from, whether it may be computed again,
    and whether the backward pass needs it.
    """

    name: str
    bytes: float
    reads: tuple[str, ...] = ()
    cheap: bool = True
    needed: bool = False


def values(text: str) -> list[Value]:
    """Read values such as 'x: 4 dear; a: 4 of x; b: 4 of a, x needed'."""
    found = []
    for line in text.split("; "):
        name, _, rest = line.partition(": ")
        words = rest.replace(",", "").split(" ")
        of = words.index("of") + 1 if "of" in words else len(words)
        reads = tuple(word for word in words[of:] if word not in ("dear", "needed"))
        found.append(Value(name, int(words[0]), reads, "dear" not in words, "needed" in words))
    return found


PROGRAMS = (
    "x: 4 dear needed",
    "x: 4 dear; a: 5 of x needed; b: 6 of a needed; c: 7 of b needed",
    "x: 3 dear; a: 4 of x dear needed; b: 5 of a dear needed",
    "x: 1000 dear; s: 4 of x needed",
    "w: 4 dear; e: 1000 of w needed; f: 1000 of e needed",
    "x: 8 dear; a: 2 of x needed; b: 2 of x needed",
    "x: 8 dear; a: 6 of x needed; b: 6 of x needed",
    "x: 8 dear; w: 4 dear; m: 8 of x, w dear; r: 7 of m needed; s: 2 of r needed",
    "x: 4 dear; unused: 1 of x; y: 9 of x dear; z: 9 of y dear",
    "x: 4 dear; k: 9 needed; a: 9 of x, k needed",
    "a: 3 dear; b: 3 dear; c: 5 of a, b needed; d: 5 of c, a needed",
    "x: 9 dear; a: 5 of x; b: 9 of a needed; c: 9 of a needed; d: 9 of a, b needed",
    "x: 9 dear; p: 3 of x; q: 3 of x; u: 5 of p needed; v: 5 of q, p needed; w: 1 of u, v needed",
    "x: 9 dear; h: 4 of x dear; a: 9 of h needed; g: 2 of a dear; b: 9 of g, h needed; c: 1 of b needed",
)


def _run(function, program):
    """Return whether the backward pass has all it needs, and the number of bytes kept."""
    given = values(program)
    names = function(list(given))
    if not isinstance(names, list | tuple | set | frozenset) or not all(isinstance(name, str) for name in names):
        return {"what choose returns": f"a {type(names).__name__}, not names"}
    of = {value.name: value for value in given}
    strange = sorted(set(names) - set(of))
    if strange:
        return {"names that no value has": strange}

    def at_hand(name):
        return name in names or (of[name].cheap and all(map(at_hand, of[name].reads)))

    missing = [value.name for value in given if value.needed and not at_hand(value.name)]
    if missing:
        return {"values that the backward pass cannot get": missing}
    return {"values that the backward pass cannot get": [],
            "names that are given twice": sorted({name for name in names if list(names).count(name) > 1}),
            "bytes kept": sum(of[name].bytes for name in set(names))}


def values_of(network: Any) -> dict[str, tuple[Any, Value]]:
    """Return the values of a flow network of the library, with their nodes."""
    found = {}
    for at in network:
        if at not in ("source", "sink") and at[1] == "in" and (at[0], "out") in network:
            node, size = at[0], network[at][at[0], "out"]["capacity"]
            reads = tuple(start[0].name for start in network.predecessors(at) if start != "source")
            needed = any(end == "sink" or (end[1] == "in" and network.has_edge(end, "sink"))
                         for end in network.successors((node, "out")))
            found[node.name] = node, Value(node.name, size, reads, not network.has_edge("source", at), needed)
    order = [name for name in found if not found[name][1].reads]
    while len(order) < len(found):  # those that are computed from others after them
        order += [name for name, (_, value) in found.items() if name not in order and all(
            read in order or read not in found for read in value.reads)]
    return {name: found[name] for name in order}


@contextmanager
def replace_choice(choose: Callable[[Sequence[Value]], Sequence[str]]) -> Iterator[None]:
    """Have AOTAutograd's partitioner keep the values that ``choose(values)`` names, in a block."""
    from ..._functorch._aot_autograd import min_cut

    seam: Any = min_cut
    own = seam.nodes_of_cut

    def mine(network: Any) -> Any:
        found = values_of(network)
        return {found[name][0] for name in choose([value for _, value in found.values()])}

    seam.nodes_of_cut = mine
    try:
        yield
    finally:
        seam.nodes_of_cut = own


def kept(function: Callable[..., Any], *inputs: Any, keep_all: bool = False, budget: float = 1.0) -> dict[str, int]:
    """Compile a function, and return the names and bytes of the values that its forward pass keeps for the backward
    pass. With ``keep_all`` these are about the values that autograd keeps; a view counts in full.
    """
    from ..._functorch import config
    from ..._functorch.aot_autograd import aot_function
    from ..._functorch.partitioners import default_partition, min_cut_rematerialization_partition

    found: dict[str, int] = {}

    def forward(graph: Any, example: Any) -> Any:
        for node in graph.graph.output_node().args[0][1:]:  # behind the result
            value = node.meta["val"]
            found[node.name] = math.prod(value.shape) * value.element_size()
        return graph

    before = config.activation_memory_budget
    config.activation_memory_budget = budget
    try:
        compiled = aot_function(function, forward, lambda graph, example: graph,
                                partition_fn=default_partition if keep_all else min_cut_rematerialization_partition)
        result = compiled(*inputs)
    finally:
        config.activation_memory_budget = before
    expected = torch.autograd.grad(function(*inputs).sum(), inputs)
    for gradient, other in zip(torch.autograd.grad(result.sum(), inputs), expected, strict=True):
        assert torch.allclose(gradient, other, rtol=1e-4, atol=1e-5), "the gradients are wrong"
    return found


LESSON = lesson(
    "partition", choose=partial(
        Lab, cases=tuple((program,) for program in PROGRAMS), run=_run, describe=str, seconds=LOADING,
        refuses=("_functorch._aot_autograd.min_cut.nodes_of_cut",)))

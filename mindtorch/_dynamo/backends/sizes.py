"""Graphs whose sizes are symbols: one program for all sizes, or for each combination of them, where a compiler has to
know numbers.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._base.symbolic import SymInt
from ..._compile.compiled_graph import CompiledGraph
from ..._compile.logs import log
from ..variables.base import SYMBOLIC

MOST = 64  #: programs that are kept of one graph


class BySize:
    """A captured graph for many sizes. The backend compiles it again, for numbers, when it meets new sizes; the
    function is not captured again.
    """

    def __init__(self, compile_fn: Callable[..., Any], module: Any, examples: list[Any]) -> None:
        self.compile_fn, self.module = compile_fn, module
        self.made: dict[tuple[Any, ...], Any] = {}
        self.latest = self._make(examples)

    def _make(self, args: Any) -> Any:
        if len(self.made) >= MOST:
            del self.made[next(iter(self.made))]
        made = self.made[self.sizes(args)] = self.latest = self.compile_fn(self.module, [*args])
        return made

    @staticmethod
    def sizes(args: Any) -> tuple[Any, ...]:
        """Return the sizes of a call's arguments."""
        return tuple([one if one.__class__ is int else one.shape for one in args])

    def __call__(self, *args: Any) -> Any:
        """Run the program for the arguments' sizes."""
        found = self.made.get(self.sizes(args))
        return (self._make(args) if found is None else found)(*args)


def fakes_of(module: Any) -> list[Any]:
    """Return the inputs of a captured graph, whose sizes may be symbols."""
    return [node.meta.get("example_value") for node in module.graph.nodes if node.op == "placeholder"]


def has_symbols(module: Any) -> bool:
    """Return whether sizes of a captured graph's inputs are symbols."""
    return any(type(size) in SYMBOLIC for one in fakes_of(module) for size in (one, *getattr(one, "shape", ())))


def for_all_sizes(gm: Any, example_inputs: Any) -> Any:
    """Return one program for all sizes that the guards of the capture allow; None if there is none: it would need
    further guards, or something in it is known for numbers only.
    """
    fakes = fakes_of(gm)
    [env] = {size.node.shape_env for one in fakes for size in (one, *getattr(one, "shape", ()))
             if type(size) is SymInt}
    with env.error_on_new_guards():
        made = CompiledGraph(gm, list(example_inputs), fakes)
    if made.broken is None:
        return made
    log("recompiles", lambda: f"A program for each combination of sizes: {made.broken}")
    return None


def by_size(compile_fn: Callable[..., Any], gm: Any, example_inputs: Any) -> Any:
    """Return a compiler's result of a graph: for its sizes, or for each combination if they are symbols."""
    if has_symbols(gm):
        return BySize(compile_fn, gm, list(example_inputs))
    return compile_fn(gm, list(example_inputs))

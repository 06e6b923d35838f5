"""The graphs and graph breaks of a call (``torch._dynamo.explain``)."""
from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .._compile.explain import Compiled, compiled_of
from .._compile.modules import OptimizedModule
from .backends.inductor import inductor
from .convert_frame import Compiler, Entry
from .eval_frame import Optimized
from .exc import Break


@dataclass
class GraphCompileReason:
    """Why a graph ended (``torch._dynamo.output_graph.GraphCompileReason``)."""

    reason: str
    user_stack: list[traceback.FrameSummary]
    graph_break: bool = True


@dataclass
class ExplainOutput:
    """The results of compiling a call; ``print`` shows them (``torch._dynamo.backends.debugging.ExplainOutput``)."""

    graphs: list[Any] = field(default_factory=list)
    break_reasons: list[GraphCompileReason] = field(default_factory=list)
    ops_per_graph: list[list[Any]] = field(default_factory=list)
    out_guards: list[str] = field(default_factory=list)
    compiled: list[Compiled] = field(default_factory=list)  #: of the backend ``inductor``

    @property
    def graph_count(self) -> int:
        """The number of graphs."""
        return len(self.graphs)

    @property
    def graph_break_count(self) -> int:
        """The number of graph breaks: one less than there are graphs."""
        return max(0, len(self.graphs) - 1)

    @property
    def op_count(self) -> int:
        """The number of calls in all graphs."""
        return sum(map(len, self.ops_per_graph))

    def __str__(self) -> str:
        lines = [f"Graph Count: {self.graph_count}", f"Graph Break Count: {self.graph_break_count}",
                 f"Op Count: {self.op_count}", "Break Reasons:"]
        for number, reason in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {number}:", f"    Reason: {reason.reason}", "    User Stack:",
                      *(f"      {frame}" for frame in reason.user_stack)]
        lines.append("Ops per Graph:")
        for number, ops in enumerate(self.ops_per_graph, 1):
            lines += [f"  Ops {number}:", *(f"    {op}" for op in ops)]
        lines.append("Out Guards:")
        for number, guard in enumerate(self.out_guards, 1):
            lines += [f"  Guard {number}:", f"    {guard}"]
        return "\n".join(lines) + "\n"


def explain(f: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Any:
    """Return a function that compiles ``f`` for its arguments, runs it, and returns the graphs, breaks and guards
    (``torch._dynamo.explain``).
    """
    function = getattr(f, "_torchdynamo_orig_callable", f)
    function = function._orig_mod if isinstance(function, OptimizedModule) else function

    def run(*args: Any, **kwargs: Any) -> ExplainOutput:
        found = ExplainOutput()

        def backend(gm: Any, example_inputs: Any) -> Any:
            found.graphs.append(gm)
            found.ops_per_graph.append([node.target for node in gm.graph.nodes if node.op.startswith("call")])
            return inductor(gm, example_inputs)

        compiler = Compiler(backend)
        compiler.on_graph.append(lambda entry: found.out_guards.extend(_guards(entry)))
        compiler.on_break.append(lambda broken: found.break_reasons.append(_reason(broken)))
        Optimized(function, compiler)(*args, **kwargs)
        found.compiled = [compiled_of(entry.compiled, tuple(entry.guards), entry.guards_source)
                          for entry in compiler.entries if entry.compiled is not None]
        return found

    return run(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else run


def _guards(entry: Entry) -> list[str]:
    return entry.guards


def _reason(broken: Break) -> GraphCompileReason:
    return GraphCompileReason(broken.reason, broken.stack)

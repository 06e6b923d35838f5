"""The compiler at work: a call is captured by TorchDynamo, each graph traced by AOTAutograd, and run as a program."""
from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

from .._base.call_site import PACKAGE
from .._base.interrupts import contextmanager
from .._compile.explain import compiled_of
from .._compile.logs import ENABLED
from .._compile.program import Program
from .._dynamo.backends.registry import lookup_backend
from .._dynamo.backends.sizes import fakes_of, has_symbols
from .._dynamo.convert_frame import Compiler, Entry
from .._dynamo.eval_frame import Optimized
from .._dynamo.exc import Break
from .._functorch.aot_autograd import aot_module_simplified
from .._functorch.compilers import default_decompositions, nop
from .._functorch.partitioners import default_partition, min_cut_rematerialization_partition
from .._tensor import Tensor
from ..fx import Interpreter, traceback as fx_traceback
from ..nn.module import Module
from .listing import code_of, is_users_file
from .stages import Capture, Kernel, ProgramText, Remark, Stages, saved_between, stages_of

LIBRARIES = (PACKAGE,)
SITE = "<graph>"  #: the file of an operator's place, whose line is the number of the call in the captured graph
MAKERS = {"fused groups": "of the program that ran", "program": "NumPy; ran in this call"}
OF_SIZES = "one program for each combination of sizes; this is the last"
#: What is logged of a recompile: file, line, and a reason for each program.
RECOMPILED = re.compile(r"Recompiling function .* in (.*?):(\d+)\n.*guard failure\(s\):\n(.*)", re.DOTALL)
#: A line of a frame's code that changes nothing.
PLAIN = re.compile(r"(_out = __compiled_fn_\d+\(|_t\d+ = _out\[\d+\]$|return )")


class Capturing:
    """A backend that keeps each graph and all that is made of it, and runs the programs of ``inductor``."""

    def __init__(self) -> None:
        self.captures: list[Capture] = []
        self.remarks: list[Remark] = []
        self.codes: list[Any] = []
        self.made: list[Any] = []  #: compiled graphs
        self.entries: list[Entry] = []
        self.unfinished: list[str] = []  #: what was captured of a frame that has to run as it is written
        self.compiler = Compiler(self.backend)
        self.compiler.on_graph.append(self._on_graph)
        self.compiler.on_break.append(self._on_break)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function compiled by this backend."""
        if (given := vars(function).get("_compiled") if hasattr(function, "__dict__") else None) is not None:
            self.compiler.dynamic = given.compiler.dynamic
        function = getattr(function, "_torchdynamo_orig_callable", getattr(function, "_orig_mod", function))
        code = code_of(function)
        self.codes += [] if code is None else [code]
        made = Optimized(function, self.compiler)

        def call(*args: Any, **kwargs: Any) -> Any:
            with self._noting_recompiles():
                return made(*args, **kwargs)

        return call

    @contextmanager
    def _noting_recompiles(self) -> Iterator[None]:
        """Turn what is logged of recompiles in a block into remarks."""
        logger, handler = logging.getLogger("torch._dynamo"), logging.Handler()
        handler.emit = self._on_recompile  # type: ignore[method-assign]
        before, propagate = {*ENABLED}, logger.propagate
        ENABLED.add("recompiles")
        logger.addHandler(handler)
        logger.propagate = bool(before)
        try:
            yield
        finally:
            ENABLED.intersection_update(before)
            logger.removeHandler(handler)
            logger.propagate = propagate

    def _on_recompile(self, record: logging.LogRecord) -> None:
        found = RECOMPILED.search(record.getMessage())
        if found:
            failed = [line.strip().removeprefix("- ").partition("/") for line in found[3].splitlines()]
            reasons = "; ".join(f"the guard of program {int(number) + 1} fails: {guard}" for number, _, guard in failed)
            self.remarks.append(Remark("recompile", reasons, (found[1], int(found[2]))))

    def is_repeatable(self) -> bool:
        """Return whether the last call may be repeated: it is one graph and changes nothing."""
        if len(self.entries) != 1 or self.remarks or not self.made:
            return False
        effects = [line for line in self.entries[0].lines if not PLAIN.match(line)]
        made = getattr(self.made[0], "latest", self.made[0])
        return not (effects or made.forward is None or made.written
                    or any(step.is_random for step in made.recorded.steps))

    def backend(self, module: Any, examples: list[Any]) -> Any:
        """Trace a graph for readers, and return the program that runs."""
        capture = Capture(module)
        for number, node in enumerate(calls_in(module)):
            node.meta["site"] = SITE, number, ""  # which is what the program's comments name
        self.captures.append(capture)
        made = lookup_backend("inductor")(module, examples)
        trace_aten(capture, fakes_of(module) if has_symbols(module) else examples)
        self.made.append(made)
        return made

    def _on_graph(self, entry: Entry) -> None:
        self.entries.append(entry)
        if entry.graph is not None and self.captures:
            self.captures[-1].guards = tuple(entry.guards)

    def _on_break(self, broken: Break) -> None:
        frames = [frame for frame in broken.stack if is_users_file(frame.filename, LIBRARIES)]
        place = (frames[-1].filename, frames[-1].lineno or 0) if frames else ("", 0)
        self.remarks.append(Remark("graph break", broken.reason, place))
        if broken.graph is not None:
            self.unfinished = [node.format_node() or "" for node in broken.graph.nodes if node.op.startswith("call")]

    def stages(self) -> Stages:
        """Return the stages of what was called so far."""
        for capture, made in zip(self.captures, self.made, strict=False):
            capture.no_program = OF_SIZES if hasattr(made, "latest") else ""
            made = getattr(made, "latest", made)
            one = compiled_of(made)
            capture.programs = [_program(which, program, capture.module, one.optimised)
                                for which, program in (("forward", made.forward), ("backward", made.backward))
                                if program is not None]
            capture.seconds = one.seconds
            if one.graph_break is not None:
                capture.no_program = f"no program: {one.graph_break.reason}"
        return stages_of(self.captures, self.remarks, self.codes, LIBRARIES, "mindtorch", MAKERS)


def calls_in(module: Any) -> list[Any]:
    """Return the calls of a captured graph."""
    return [node for node in module.graph.nodes if node.op.startswith("call")]


def _program(which: str, program: Program, module: Any, optimised: tuple[str, ...]) -> ProgramText:
    calls = calls_in(module)
    nodes = {name: tuple(dict.fromkeys(calls[step.site[1]].name for step in group.steps if step.site[0] == SITE))
             for name, group in program.kernels.items()}
    kernels = tuple(Kernel(name, tuple(step.op.name for step in group.steps), group.size, nodes[name])
                    for name, group in program.kernels.items())
    remarks = [said.partition(": ")[2] for said in optimised if said.startswith(which)]
    kept = [f"a buffer of {buffer.nbytes:,} bytes for {', '.join(buffer.values)}" for buffer in program.buffers]
    names = {f"{SITE}:{number}": (node.name,) for number, node in enumerate(calls)}
    return ProgramText(f"{which} pass", program.source, kernels, {**names, **nodes}, (*remarks, *kept))


# -- AOTAutograd -------------------------------------------------------------------------------------------------------


class Followed(Module):
    """A captured module that runs node by node, and marks the nodes of the autograd graph with what they came from."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module = module

    def forward(self, *args: Any) -> Any:
        """Run the graph."""
        return Following(self.module).run(*args)


class Following(Interpreter):
    """Runs a graph; what its operators' derivatives record has the source of the operators."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.seen: set[Any] = set()

    def run_node(self, n: Any) -> Any:
        """Run a node, and hook the nodes of the autograd graph that it made."""
        result = super().run_node(n)
        source = fx_traceback.NodeSource(n, "AOTAutograd", fx_traceback.NodeSourceAction.CREATE)
        meta = {"from_node": [source], "stack_trace": n.meta.get("stack_trace", "")}
        stack = [value.grad_fn for value in (result if isinstance(result, (list, tuple)) else [result])
                 if isinstance(value, Tensor) and value.grad_fn is not None]
        while stack:
            node = stack.pop()
            if node in self.seen or type(node).__name__ == "AccumulateGrad":
                continue
            self.seen.add(node)
            node.register_prehook(lambda grads, meta=meta: fx_traceback.current_meta.update(meta))
            stack += [before for before, _ in node.next_functions if before is not None]
        return result


def trace_aten(capture: Capture, examples: list[Any]) -> None:
    """Trace a captured graph to the graphs of AOTAutograd, and note the values that the partitioners choose."""

    def partition(joint: Any, inputs: Any, **options: Any) -> Any:
        capture.joint = joint
        capture.saved_by_default = saved_between(default_partition(joint, inputs, **options))
        halves = min_cut_rematerialization_partition(joint, inputs, **options)
        capture.forward, capture.backward = halves
        capture.saved = saved_between(halves)
        return halves

    def alone(module: Any, inputs: Any) -> Any:
        capture.forward = module
        return nop(module, inputs)

    try:
        with fx_traceback.preserve_node_meta():
            aot_module_simplified(Followed(capture.module), examples, fw_compiler=nop, inference_compiler=alone,
                                  partition_fn=partition, decompositions=default_decompositions)
    except Exception as error:  # the call goes on without this stage, which says why it is not there
        capture.no_aten = f"AOTAutograd cannot trace this graph: {type(error).__name__}: {error}".partition("\n")[0]

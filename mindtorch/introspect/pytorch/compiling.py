"""PyTorch's compiler at work, by its own public parts: TorchDynamo, AOTAutograd, the Inductor, and their records.

Nothing here is imported before the program has imported PyTorch.
"""
from __future__ import annotations

import copy
import inspect
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

from ..._base.call_site import PACKAGE
from ..._base.interrupts import contextmanager
from ..listing import code_of, is_users_file
from ..stages import Capture, Kernel, ProgramText, Remark, Stages, saved_between, stages_of
from .loaded import library_path, pytorch

MAKERS = {"fused groups": "of the Inductor's program", "program": "written by the Inductor; ran in this call"}
NUMBER = re.compile(r"AOT ID: \['(\d+)_")
HANDLE = re.compile(r"# \[Provenance debug handles\] (\S+)")
KERNEL = re.compile(r"(\w+) = async_compile\.")
DULL = re.compile(r"\s*(assert_size_stride|assert_alignment|del \w+$|args\.clear\(\)|# Topologically Sorted|"
                  r"std::atomic<int> inductor|inductor_cpu_integer_div|inductor_cpu_throw|$)")
#: What is said where the Inductor has no C++ compiler, and of programs of backward passes that have not run.
NO_COMPILER = "no program: the Inductor cannot compile here"
LATER = "written when backward() first runs"


def dynamic_of(function: Any) -> bool | None:
    """Return the ``dynamic`` with which ``torch.compile`` was called for a function or module."""
    context = getattr(function, "dynamo_ctx", None)
    if context is None and hasattr(function, "_torchdynamo_orig_callable"):
        context = inspect.getclosurevars(function).nonlocals.get("self")
    return getattr(context, "_dynamic", None)


class Capturing:
    """A backend for PyTorch that keeps each graph and all that is made of it, and runs the Inductor's programs."""

    def __init__(self) -> None:
        self.captures: list[Capture] = []
        self.remarks: list[Remark] = []
        self.codes: list[Any] = []
        self.unfinished: list[str] = []
        self.programs: list[tuple[str, ProgramText]] = []  #: that the Inductor wrote, with the number of the graph
        self.numbers: list[str] = []  #: of each captured graph, as the Inductor counts
        self.metrics = 0
        self.torch = pytorch()
        assert self.torch is not None
        from torch._dynamo.utils import get_compilation_metrics

        self.all_metrics = get_compilation_metrics
        self.metrics = len(get_compilation_metrics())
        self.torch._dynamo.reset()

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function compiled by this backend."""
        code = code_of(function)
        self.codes += [] if code is None else [code]
        assert self.torch is not None
        made = self.torch._dynamo.optimize(self.backend, guard_export_fn=self._on_guards,
                                           dynamic=dynamic_of(function))(function)

        def call(*args: Any, **kwargs: Any) -> Any:
            with self._collecting():
                return made(*args, **kwargs)

        return call

    def backend(self, module: Any, examples: list[Any]) -> Any:
        """Trace a graph for readers, and return the program that runs."""
        from torch._inductor.compile_fx import compile_fx
        from torch._inductor.exc import InvalidCxxCompiler

        capture = Capture(module)
        self.captures.append(capture)
        self.numbers.append("")
        trace_aten(capture, examples)
        reason = module.compile_subgraph_reason
        if reason is not None and reason.graph_break:
            self.remarks.append(self._break(reason))
        before, start = len(self.programs), perf_counter()
        try:
            made = compile_fx(copied(module), examples)
        except Exception as error:
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, (InvalidCxxCompiler, FileNotFoundError)):
                cause = cause.__cause__ or cause.__context__
            if cause is None:
                raise
            capture.no_program = f"{NO_COMPILER}: {cause}"
            return module.forward
        capture.seconds = perf_counter() - start
        self.numbers[-1] = self.programs[-1][0] if len(self.programs) > before else ""
        return made

    def _on_guards(self, guards: Any) -> None:
        said = [code for guard in guards for code in guard.code_list or ()]
        marks = [code for code in said if "'_dynamo_" in code]
        tensors = [f"type, dtype, device, sizes and strides of {guard.name}" for guard in guards
                   if guard.create_fn_name() == "TENSOR_MATCH"]
        more = [f"{len(marks)} guards that sizes are marked as they were"] if marks else []
        for capture in [one for one in self.captures if not one.guards][-1:]:
            capture.guards = (*tensors, *(code for code in dict.fromkeys(said) if code not in marks), *more)

    def _break(self, reason: Any) -> Remark:
        frames = [frame for frame in reason.user_stack if is_users_file(frame.filename, self._libraries())]
        said = [line.strip() for line in reason.reason.splitlines() if line.strip()]
        more = next((line for line in said if line.startswith("Explanation:")), "").partition(": ")[2]
        return Remark("graph break", f"{said[0]}: {more}" if more else said[0],
                      (frames[-1].filename, frames[-1].lineno) if frames else ("", 0))

    @staticmethod
    def _libraries() -> tuple[str, ...]:
        return PACKAGE, library_path()

    @contextmanager
    def _collecting(self) -> Iterator[None]:
        """Keep what the Inductor writes in a block, with the nodes that each kernel comes from."""
        from unittest.mock import patch

        from torch._functorch import config as functorch_config
        from torch._inductor import config, debug
        from torch._inductor.graph import GraphLowering
        from torch._inductor.virtualized import V

        def keep(code: str) -> None:
            number = NUMBER.search(code)[1]  # type: ignore[index]
            capture = self.captures[self.numbers.index(number) if number in self.numbers else -1]
            called = {node.meta["source_fn_stack"][-1][0]: node.name for node in capture.module.graph.nodes
                      if node.meta.get("source_fn_stack")}
            nodes = {node.name: tuple(_sources(node, called)) for node in V.graph.graph.nodes}
            made_of = {handle: (tuple(posts), tuple(dict.fromkeys(
                name for post in posts for name in nodes.get(post, ()))))
                for handle, posts in debug._inductor_triton_kernel_to_post_grad_node_info.items()}
            self.programs.append((number, _program(code, made_of)))

        anew = {"trace.provenance_tracking_level": 1, "compile_threads": 1, "fx_graph_cache": False}
        with config.patch(anew), functorch_config.patch({"enable_autograd_cache": False}), patch.object(
                GraphLowering, "save_output_code", keep):
            yield

    def is_repeatable(self) -> bool:
        """Return False: PyTorch does not report what a call changes."""
        return False

    def stages(self) -> Stages:
        """Return the stages of what was called so far."""
        for capture, number in zip(self.captures, self.numbers, strict=True):
            capture.programs = [program for graph, program in self.programs if number and graph == number]
            if capture.backward is not None and len(capture.programs) == 1:
                capture.no_program = f"backward pass: {LATER}"
        for one in self.all_metrics()[self.metrics:]:
            if one.recompile_reason:
                self.remarks.append(Remark("recompile", one.recompile_reason, (one.co_filename, one.co_firstlineno)))
        return stages_of(self.captures, self.remarks, self.codes, self._libraries(), "PyTorch", MAKERS)


def _sources(node: Any, called: dict[str, str]) -> Iterator[str]:
    """Yield the names of the captured nodes that a node comes from; ``called`` has them by the function's name."""
    stack = [*(node.meta.get("from_node") or ())]
    while stack:
        source = stack.pop()
        yield source.name
        stack += source.from_node or ()
    for name, _ in node.meta.get("fwd_source_fn_stack") or ():  # of a node of the backward pass
        yield called.get(name, "")


def _program(code: str, made_of: dict[str, tuple[tuple[str, ...], tuple[str, ...]]]) -> ProgramText:
    """Return the calls and the kernels of what the Inductor wrote, without what all of its programs begin with.

    ``made_of`` maps the handle of each kernel's call to the operators in it, and to the captured nodes.
    """
    which = "backward pass" if "_backward']" in code.partition("\n")[0] else "forward pass"
    calls: list[str] = []
    kernels: list[str] = []
    inside: list[str] | None = None
    names: dict[str, tuple[str, ...]] = {}
    handle, ends = "", ""
    for line in code.splitlines():
        if inside is None:
            if KERNEL.match(line):
                inside, ends = kernels, "'''"
            elif re.match(r"\s*def call\(", line):
                inside, ends = calls, f"{' ' * (len(line) - len(line.lstrip()) + 4)}return "
            else:
                continue
        found = HANDLE.search(line)
        if found:
            handle = found[1]
        elif not DULL.match(line):
            inside.append(f"{line}  # {handle}" if handle else line)
            names.update({handle: made_of.get(handle, ((), ()))[1]} if handle else {})
            handle = ""
        if line.startswith(ends):
            inside = None
    found_kernels = tuple(Kernel(handle.rpartition(":")[0], operators, nodes=nodes)
                          for handle, (operators, nodes) in made_of.items() if handle in names)
    return ProgramText(which, textwrap.dedent("\n".join(calls)) + "\n\n" + "\n".join(kernels), found_kernels, names)


def trace_aten(capture: Capture, examples: list[Any]) -> None:
    """Trace a captured graph to the graphs of AOTAutograd, and note the values that the partitioners choose."""
    from functorch.compile import (
        default_decompositions, default_partition, make_boxed_func, min_cut_rematerialization_partition,
    )
    from torch._dynamo.backends.common import aot_autograd

    def partition(joint: Any, inputs: Any, **options: Any) -> Any:
        capture.joint = copied(joint)
        capture.saved_by_default = saved_between(default_partition(copied(joint), inputs, **options))
        halves = min_cut_rematerialization_partition(joint, inputs, **options)
        capture.forward, capture.backward = map(copied, halves)
        capture.saved = saved_between(halves)
        return halves

    def runs(module: Any, inputs: Any) -> Any:
        return make_boxed_func(module.forward)

    def alone(module: Any, inputs: Any) -> Any:
        capture.forward = copied(module)
        return runs(module, inputs)

    try:
        aot_autograd(fw_compiler=runs, bw_compiler=runs, inference_compiler=alone, partition_fn=partition,
                     decompositions=default_decompositions)(copied(capture.module), examples)
    except Exception as error:  # the call goes on without this stage, which says why it is not there
        capture.no_aten = f"AOTAutograd cannot trace this graph: {type(error).__name__}: {error}".partition("\n")[0]


def copied(module: Any) -> Any:
    """Return a copy of a module of FX, which later passes do not change."""
    with warnings.catch_warnings(action="ignore", category=FutureWarning):  # of PyTorch's own copying
        return copy.deepcopy(module)

"""``torch.distributed.pipelining.pipeline``: a model divided into stages at submodules, or where its code says so.

The model is traced once (``torch.fx``). Modules in which nothing is divided are called whole, so that the parameters of
a stage have the names that they have in the model. What a later stage needs of an earlier one, or of the model's
inputs, goes through all stages between.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from enum import Enum
from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._base.interrupts import contextmanager
from ..._tensor import Tensor
from ...fx import Tracer
from ...fx.graph import Graph
from ...fx.graph_module import GraphModule
from ...fx.node import Node, map_arg
from ...nn.module import Module
from ...random import fork_rng
from .stage import PipelineStage

__all__ = ["Pipe", "SplitPoint", "pipe_split", "pipeline"]
_tracer: ContextVar[Tracer | None] = ContextVar("pipeline tracer", default=None)


class SplitPoint(Enum):
    """Where a stage begins: before a submodule, or behind it (``torch.distributed.pipelining.SplitPoint``)."""

    BEGINNING = 1
    END = 2


def pipe_split() -> None:
    """Begin a stage here, in the code of a model that ``pipeline`` divides; do nothing when the model is run
    (``torch.distributed.pipelining.pipe_split``).
    """
    tracer = _tracer.get()
    if tracer is not None:
        tracer.create_proxy("call_function", pipe_split, (), {})


class _Tracer(Tracer):
    """Calls modules whole, but for those that have one of the named submodules, or without names PyTorch's own."""

    def __init__(self, names: set[str]):
        super().__init__()
        self.names = names

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Return True if a module is called whole."""
        if not self.names:
            return super().is_leaf_module(m, module_qualified_name)
        return not any(name.startswith(f"{module_qualified_name}.") for name in self.names)


def _parts(graph: Graph, spec: dict[str, SplitPoint]) -> list[list[Node]]:
    """Return the nodes of each stage, without inputs, output and marks."""
    parts: list[list[Node]] = [[]]
    for node in graph.nodes:
        where = spec.get(str(node.target)) if node.op == "call_module" else None
        if (where is SplitPoint.BEGINNING or node.target is pipe_split) and parts[-1]:
            parts.append([])
        if node.op not in ("placeholder", "output") and node.target is not pipe_split:
            parts[-1].append(node)
        if where is SplitPoint.END:
            parts.append([])
    return parts if parts[-1] else parts[:-1]


def _needed(nodes: list[Node]) -> Iterator[Node]:
    for node in nodes:
        yield from node.all_input_nodes


def _stages(root: Module, graph: Graph, spec: dict[str, SplitPoint]) -> list[GraphModule]:
    """Return the stages: what one returns, the next one takes."""
    parts = _parts(graph, spec)
    place = {node: index for index, node in enumerate(graph.nodes)}
    result = next(node for node in reversed(graph.nodes) if node.op == "output")
    given = [node for node in graph.nodes if node.op == "placeholder"]
    found = []
    for index, part in enumerate(parts):
        later = set(_needed([node for rest in parts[index + 1:] for node in rest] + [result]))
        made = Graph()
        here: dict[Node, Node] = {}
        for node in given:
            here[node] = made.node_copy(node) if node.op == "placeholder" else made.placeholder(node.name)
        for node in part:
            here[node] = made.node_copy(node, here.__getitem__)
        if index == len(parts) - 1:
            made.output(map_arg(result.args[0], here.__getitem__))
        else:
            given = sorted((node for node in here if node in later), key=place.__getitem__)
            made.output(tuple(here[node] for node in given) if len(given) != 1 else here[given[0]])
        found.append(GraphModule(root, made, f"Stage{index}"))
    return found


class Pipe(Module):
    """A model as stages (``torch.distributed.pipelining.Pipe``); calling it runs all of them here."""

    def __init__(self, stages: list[GraphModule]):
        super().__init__()
        self.split_gm, self.num_stages = Module(), len(stages)
        for index, stage in enumerate(stages):
            self.split_gm.add_module(f"submod_{index}", stage)

    def get_stage_module(self, stage_idx: int) -> Module:
        """Return the module of a stage; ValueError if there is none."""
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Invalid stage index {stage_idx}!")
        return self.split_gm.get_submodule(f"submod_{stage_idx}")

    def build_stage(self, stage_index: int, device: Any, group: Any = None) -> PipelineStage:
        """Return the stage of this process, which a schedule runs, on a device."""
        return PipelineStage(self.get_stage_module(stage_index).to(device), stage_index, self.num_stages, device,
                             group=group)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the stages one after another."""
        values = self.get_stage_module(0)(*args, **kwargs)
        for index in range(1, self.num_stages):
            values = self.get_stage_module(index)(*(values if isinstance(values, tuple) else (values,)))
        return values

    def __str__(self) -> str:
        return "\n".join(f"stage {index}:\n{self.get_stage_module(index)}" for index in range(self.num_stages))


def pipeline(module: Module, mb_args: tuple[Any, ...], mb_kwargs: dict[str, Any] | None = None,
             split_spec: dict[str, SplitPoint] | None = None,
             split_policy: Callable[[GraphModule], GraphModule] | None = None) -> Pipe:
    """Divide a model into stages (``torch.distributed.pipelining.pipeline``).

    Args:
        module: the model, whose parameters the stages share. It calls ``pipe_split`` where a stage begins, unless one
            of the last two arguments is given.
        mb_args, mb_kwargs: a microbatch, with which the stages are tried.
        split_spec: submodules at which a stage begins or ends, by names.
        split_policy: a function that puts calls of ``pipe_split`` into the traced model, and returns it.

    Raises:
        ValueError: if both are given, a name is none of a submodule, or one named submodule is in another.
        RuntimeError: if stages share a parameter, or one would have to send an object that is no tensor to the next.
    """
    if split_spec is not None and split_policy is not None:
        raise ValueError("Cannot specify both `split_spec` and `split_policy`. Please use only one of them.")
    spec = split_spec or {}
    known = dict(module.named_modules())
    for name in spec:
        if name not in known:
            raise ValueError(f"split_spec has {name!r}, but the model has only the submodules {sorted(known)[1:]}")
        if any(other.startswith(f"{name}.") for other in spec):
            raise ValueError(f"split_spec has {name!r} and a submodule of it; name submodules that are apart")
    tracer = _Tracer(set(spec))
    before = _tracer.set(tracer)
    try:
        graph = tracer.trace(module)
    finally:
        _tracer.reset(before)
    if split_policy is not None:
        graph = split_policy(GraphModule(module, graph)).graph
    pipe = Pipe(_stages(module, graph, spec))
    with _unchanged(module):
        _check(pipe, mb_args, mb_kwargs or {})
    return pipe


@contextmanager
def _unchanged(module: Module) -> Iterator[None]:
    """Run a block that leaves a module's buffers and random numbers as they were."""
    before = [(buffer, buffer.clone()) for buffer in module.buffers()]
    try:
        with no_grad(), fork_rng(devices=[]):
            yield
    finally:
        with no_grad():
            for buffer, value in before:
                buffer.copy_(value)


def _check(pipe: Pipe, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Try the stages, and raise RuntimeError if several processes could not run them."""
    owner: dict[int, tuple[int, str]] = {}
    for index in range(pipe.num_stages):
        stage = pipe.get_stage_module(index)
        for name, parameter in stage.named_parameters():
            first = owner.setdefault(id(parameter), (index, name))
            if first[0] != index:
                raise RuntimeError(f"{name} of stage {index} is {first[1]} of stage {first[0]}: each would train its "
                                   "own copy; let one stage have both uses, or untie them")
        found = stage(*args, **kwargs)
        args, kwargs = found if isinstance(found, tuple) else (found,), {}
        for value, node in zip(args, stage.graph.output_node().all_input_nodes, strict=False):
            if index < pipe.num_stages - 1 and not isinstance(value, Tensor):
                raise RuntimeError(f"stage {index} would have to send {node.name}, which is {type(value).__name__}, to "
                                   f"stage {index + 1}; only tensors are sent: compute it anew behind the split")

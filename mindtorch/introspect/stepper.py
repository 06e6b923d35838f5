"""Backward one node at a time: what arrives at each, what it passes on, what it lets go of.

The order is the engine's (``_autograd.engine.execute``), and so are nodes, hooks, sums and the gradients in the end.
PyTorch's engine cannot be halted: hooks note what its nodes do in one run.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from .._autograd.accumulate import AccumulateGrad
from .._autograd.engine import Task, _roots, fit, run_watched
from .._autograd.node import Node, new
from .._base.interrupts import contextmanager
from .._dispatch.aten import add_Tensor as add
from .._dispatch.dispatcher import set_local
from .._dispatch.local import local
from .._tensor import Tensor
from .graph import GraphFacts, Saved, graph_facts, nodes_behind
from .libraries import is_tensor, library_of
from .pytorch import watching_nodes
from .tensor import Statistics, statistics, values_without_waiting

FEW = 4  #: values of a gradient that are noted


@dataclass(frozen=True)
class GradientFacts:
    """A gradient: its type, its first values in order, what is known of all (both empty if they are not there yet)."""

    dtype: str
    shape: tuple[int, ...]
    values: tuple[Any, ...]
    statistics: Statistics | None


@dataclass(frozen=True)
class StepFacts:
    """A node that ran: ``node`` is its identity in the graph's facts.

    ``arrived`` are the gradients of its outputs, ``sent`` those of its inputs with the node and its output number that
    each goes to; ``total`` is the gradient that a leaf has now. ``freed`` was kept for backward and is not any more.
    """

    number: int
    node: int
    name: str
    is_leaf: bool
    arrived: tuple[GradientFacts | None, ...]
    sent: tuple[tuple[int, int, GradientFacts | None], ...]
    total: GradientFacts | None
    freed: tuple[Saved, ...]


class BackwardSteps:
    """Runs ``tensor.backward(gradient, retain_graph)`` one node per ``step()``. Nothing runs before the first. Of a
    tensor of PyTorch's, whose engine cannot be halted, all runs at the first, and each tells what one node did.

    ``graph`` are the facts of the graph before, ``taken`` those of the steps so far, of ``total``. It holds the graph
    until the last step, as the tensor does; of gradients it keeps a few values.

    Raises:
        TypeError: if it is no tensor.
        ValueError: if it has no graph.
        RuntimeError: as ``backward`` does, if a gradient is needed and not given.
    """

    def __init__(self, tensor: Any, gradient: Any = None, retain_graph: bool = False,
                 named: Mapping[str, Any] | None = None):
        if not is_tensor(tensor):
            raise TypeError(f"backward begins at a tensor, such as a loss, not {type(tensor).__name__}")
        self._nodes = nodes_behind([tensor])  # as long as they live, each has one identity
        self.graph: GraphFacts = graph_facts(tensor, named)
        self.taken: list[StepFacts] = []
        self.error = ""
        self._named = named
        self._saved = {node.identity: node.saved for node in self.graph.nodes}
        self._task: Task | None = None
        self.total = len(self._nodes)
        if not isinstance(tensor, Tensor):
            self._run: Iterator[StepFacts] | None = self._noted(tensor, gradient, retain_graph)
            return
        roots, gradients = _roots((tensor,), None if gradient is None else (gradient,))
        task = new(Task)
        task.roots = roots
        task.keep_graph = retain_graph
        self.total = len(task.count()[0])
        self._task = task
        self._run = self._steps(task, gradients)

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to run."""
        return self._run is None

    def step(self) -> StepFacts | None:
        """Run the next node and describe it; None if all have run. RuntimeError ends the pass."""
        if self._run is None:
            return None
        try:
            with nullcontext() if self._task is None else self._as_backward(self._task):
                facts = next(self._run, None)
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
            self._finish()
            raise
        if facts is not None:
            self.taken.append(facts)
        if facts is None or len(self.taken) == self.total:
            self._finish()
        return facts

    def _finish(self) -> None:
        self._run, self._nodes = None, []
        if self._task is not None:
            self._task.roots = ()

    @contextmanager
    def _as_backward(self, running: Task) -> Iterator[None]:
        """Set this thread's state as the engine does, and restore it afterwards."""
        task, grad_enabled, pipeline = local.task, local.grad_enabled, local.pipeline
        if pipeline is not None:  # backward runs what is pending, and is not recorded itself
            pipeline.flush()
            set_local("pipeline", None)
        local.task, local.grad_enabled = running, False
        try:
            yield
        finally:
            local.task, local.grad_enabled = task, grad_enabled
            set_local("pipeline", pipeline)

    def _steps(self, task: Task, results: list[Any]) -> Iterator[StepFacts]:
        """Run the engine's loop, pausing after each node."""
        joins = task.count()[1]
        buffers: dict[Node, list[Any]] = {}  # what has arrived at nodes that are not ready
        ready: list[tuple[int, Node]] = []  # the node that was made last comes first
        node: Node = task
        results = self._fitted(node, results)
        while True:
            for position, target, number in node._links:
                gradient = results[position]
                buffer = buffers.setdefault(target, [None] * len(target._outputs))
                have = buffer[number]
                if gradient is not None:
                    buffer[number] = gradient if have is None else add(have, gradient)
                joins[target] = joins.get(target, 1) - 1
                if joins[target]:
                    continue
                if isinstance(target, AccumulateGrad):  # as soon as it can run it does
                    yield self._step(task, target, buffers.pop(target))[0]
                else:
                    heappush(ready, (-target._order, target))
            if not ready:
                return
            node = heappop(ready)[1]
            facts, results = self._step(task, node, buffers.pop(node))
            yield facts

    @staticmethod
    def _fitted(node: Node, results: Sequence[Any]) -> list[Any]:
        """Fit the gradients that a node sends to their targets' shapes and dtypes."""
        fitted = list(results)
        for i, target, number in node._links:
            output = target._outputs[number]
            if fitted[i] is not None and output is not None:
                fitted[i], _ = fit(fitted[i], output, node, i)
        return fitted

    def _step(self, task: Task, node: Node, gradients: list[Any]) -> tuple[StepFacts, list[Any]]:
        """Run a node."""
        arrived = tuple(map(_gradient_facts, gradients))
        results = self._fitted(node, run_watched(node, gradients, task, False, False))
        return self._facts(len(self.taken), node, arrived, results, task.keep_graph), results

    def _noted(self, tensor: Any, gradient: Any, retain_graph: bool) -> Iterator[StepFacts]:
        """Yield the steps of PyTorch's nodes, after all have run; then raise the error of the one that failed."""
        found: list[StepFacts] = []

        def note(node: Any, arrived: Sequence[Any], results: Sequence[Any]) -> None:
            found.append(self._facts(len(found), node, tuple(map(_gradient_facts, arrived)), results, retain_graph))

        raised: Exception | None = None
        with watching_nodes(self._nodes, note):
            try:
                tensor.backward(gradient, retain_graph=retain_graph)
            except Exception as error:
                raised = error
        yield from found
        if raised is not None:
            raise raised

    def _facts(self, number: int, node: Any, arrived: tuple[GradientFacts | None, ...], results: Sequence[Any],
               keeps: bool) -> StepFacts:
        """Describe what a node did."""
        library = library_of(node)
        look = library.node(node)
        sent = tuple((id(edge[0]), edge[1], _gradient_facts(results[i])) for i, edge in enumerate(look.edges)
                     if edge is not None)
        total = None if look.variable is None else _gradient_facts(library.grad(look.variable))
        freed = () if keeps else tuple(saved for saved in self._saved.get(id(node), ()) if saved.is_tensor)
        return StepFacts(number + 1, id(node), look.name, look.variable is not None, arrived, sent, total, freed)


def _gradient_facts(gradient: Any) -> GradientFacts | None:
    """Describe a gradient without waiting for it."""
    if gradient is None:
        return None
    look = library_of(gradient).layout(gradient)
    values, dtype = values_without_waiting(gradient), look.dtype
    few = () if values is None else tuple(value.item() for value in values.flat[:FEW])
    known = None if values is None else statistics(values, dtype)
    return GradientFacts(dtype.name, look.shape, few, known)

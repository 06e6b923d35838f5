"""Finds what goes wrong in a training program without an exception: ``check`` looks at a model, a loss, an optimizer;
``checking`` watches a block of the program while it runs.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..._base.interrupts import contextmanager
from ..libraries import library_of
from ..why.wrote import is_module, is_optimizer, is_tensor
from .finding import CheckFacts, Finding
from .graph import Graph, findings as of_graph
from .recording import Recording, recording
from .state import of_containers, of_gradients, of_losses, of_models, of_modes, of_optimizers, unreached
from .text import of_text

__all__ = ["CheckFacts", "Checking", "Finding", "check", "checking"]

Found = dict[str, Any]


def check(*objects: Any, names: Iterable[str] = ()) -> CheckFacts:
    """Look at models, losses and optimizers, in any order, for mistakes that raise nothing: a loss that broadcasts, a
    parameter that is not reached or in no optimizer, gradients that vanish or explode, softmax before cross_entropy, a
    forgotten ``train()``, and more. Best after the first ``backward(retain_graph=True)``, or before it. ``names`` are
    what the program calls the objects, in their order. PyTorch has no counterpart. Raises TypeError for an object that
    is neither a module, nor a tensor, nor an optimizer.
    """
    given = [*names, *[""] * len(objects)]
    models: Found = {}
    losses: Found = {}
    optimizers: Found = {}
    for name, value in zip(given, objects, strict=False):
        known = ((is_module, models), (is_tensor, losses), (is_optimizer, optimizers))
        table = next((table for is_one, table in known if is_one(value)), None)
        if table is None:
            raise TypeError(f"check takes modules, losses and optimizers, not {type(value).__name__}")
        table[name or ("model" if table is models else "")] = value
    roots = [library_of(loss).root(loss) for loss in losses.values() if loss.requires_grad]
    graph = Graph(roots, library_of(next(iter(losses.values())))) if roots else None
    found = [*of_losses(losses, models), *(of_graph(graph) if graph else ()), *_of_objects(models, optimizers, graph),
             *of_modes(models, bool(roots))]
    return CheckFacts(_words(models, losses, optimizers), _once(found))


def _of_objects(models: Found, optimizers: Found, graph: Graph | None) -> Iterator[Finding]:
    yield from unreached(graph, models, optimizers)
    yield from of_models(models)
    yield from of_optimizers(models, optimizers, None if graph is None else graph.leaves)
    yield from of_gradients(models)


def _once(found: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple({(finding.kind, finding.title): finding for finding in found}.values())


def _words(models: Found, losses: Found, optimizers: Found) -> tuple[str, ...]:
    """Name what was checked, for use in a sentence."""
    return (*(f"{name or 'model'} ({type(model).__name__})" for name, model in models.items()),
            *(f"{name or 'loss'} ({', '.join(map(str, loss.shape)) or 'one number'})" for name, loss in losses.items()),
            *(f"{name or 'optimizer'} ({type(optimizer).__name__})" for name, optimizer in optimizers.items()))


class Checking:
    """The findings about a block that is watched; ``facts`` are there once it has ended."""

    def __init__(self) -> None:
        self.facts = CheckFacts((), ())


@contextmanager
def checking(namespace: Mapping[str, Any] | None = None) -> Iterator[Checking]:
    """Watch a block, slowly, for mistakes that raise nothing; ``namespace`` holds the program's names."""
    names = namespace if namespace is not None else {}
    found = Checking()
    with recording(names) as record:
        try:
            yield found
        finally:
            found.facts = _after(record, names)
    left = record.probes.left_out
    out = (f"probes of {' and '.join(left)} left out: too large, too slow, or not on the host",) if left else ()
    if record.findings or out:  # what only the end of the recording told
        found.facts = CheckFacts((*found.facts.checked, *out), _once([*record.findings, *found.facts.findings]))


def _after(record: Recording, namespace: Mapping[str, Any]) -> CheckFacts:
    known = {id(value): name for name, value in reversed(list(namespace.items())) if not name.startswith("_")}
    called = [*record.models]
    layers = {id(layer) for layer in called}
    called += [value for name, value in namespace.items() if is_module(value) and not name.startswith("_")
               and id(value) not in layers and any(id(part) in layers for part in value.modules())]
    inner = {id(part) for model in called for part in model.modules() if part is not model}
    models = {known.get(id(model), f"model {i}" if i else "model"): model for i, model in enumerate(
        model for model in called if id(model) not in inner)}
    optimizers = {known.get(id(found), f"optimizer {i}" if i else "optimizer"): found
                  for i, found in enumerate(record.optimizers)}
    waiting = {name: value for name, value in namespace.items() if is_optimizer(value) and not name.startswith("_")}
    found = list(record.findings)
    kinds = {finding.kind for finding in found}
    if record.passes:
        learnt = {name: model for name, model in models.items()
                  if any(id(p) in record.leaves for p in model.parameters())}
        reached = _Reached(list(record.leaves.values()))
        aside = {name: model for name, model in models.items() if name not in learnt
                 and any(id(p) in {id(t) for o in optimizers.values() for g in o.param_groups for t in g["params"]}
                         for p in model.parameters())}
        learnt |= aside
        found += unreached(reached, learnt, optimizers or waiting)  # type: ignore[arg-type]
        found += of_models(learnt)
        found += of_optimizers(learnt, optimizers or _of(learnt, waiting), reached.leaves, record.stepped)
        found += of_gradients(learnt, frozenset({"nan"} if "first NaN" in kinds else ()))
    found += of_containers(namespace)
    places = {(finding.kind, finding.place.line) for finding in found if finding.place}
    found += [finding for finding in of_text(record, namespace, models)
              if finding.place is None or (finding.kind, finding.place.line) not in places]
    counts = [(record.passes, "backward pass", "es"), (record.steps, "step", "s")]
    done = [f"{count} {what}{ending * (count != 1)}" for count, what, ending in counts if count]
    return CheckFacts((*_words(models, {}, optimizers), *done), _once(found))


def _of(models: Found, optimizers: Found) -> Found:
    """Return the optimizers that have parameters of these models."""
    theirs = {id(p) for model in models.values() for p in model.parameters()}
    return {name: optimizer for name, optimizer in optimizers.items()
            if any(id(p) in theirs for group in optimizer.param_groups for p in group["params"])}


class _Reached:
    """The leaves to which backward passes led."""

    def __init__(self, leaves: list[Any]):
        self.leaves = leaves

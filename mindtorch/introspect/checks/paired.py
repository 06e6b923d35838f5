"""Silent mistakes between two models: weights that were to be one tensor, and a teacher that learns from its pupil."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..libraries import library_of
from ..why.explanation import Call
from ..why.wrote import is_module, is_tensor
from .finding import numbers
from .watching import Watcher, told, values_of

#: Losses whose target is a distribution: whatever computes it is a teacher. Of the others it may be a second branch.
OF_DISTRIBUTIONS = ("kl_div", "cross_entropy")
CALLS = 3  #: of a line whose graphs are walked


class Tied(Watcher):
    """An embedding and a last layer that begin with equal weights, and are two parameters."""

    def __init__(self, record: Any):
        super().__init__(record)
        self.looked = False

    def before_step(self, optimizer: Any) -> None:
        if self.looked:
            return
        self.looked = True
        ours = {id(p) for group in optimizer.param_groups for p in group["params"]}
        models = [*self.record.models]
        tables, layers = ([model.weight for model in models if type(model).__name__ == kind
                           and id(model.weight) in ours] for kind in ("Embedding", "Linear"))
        for table in tables:
            values = values_of(table)
            for layer in layers if values is not None and np.ptp(values) > 0 else ():
                if layer is table or not np.array_equal(values, values_of(layer)):  # type: ignore[arg-type]
                    continue
                if library_of(table).address(table) == library_of(layer).address(layer):
                    continue
                self.record.found(told(
                    "tie broken", "an Embedding and a Linear begin with the same weights, and are not tied",
                    "The values were copied: there are two parameters, each with gradients of its own, and from the "
                    "first step on they differ. Weights are tied if both layers hold one parameter.", None,
                    [("tie them", "head.weight = embedding.weight")],
                    [("embedding.weight", "learns", "+"), ("a copy of it", "learns otherwise", "-")]))


class Taught(Watcher):
    """Parameters that are changed although they only make the targets of another model."""

    def __init__(self, record: Any):
        super().__init__(record)
        self.learning: set[int] = set()  #: leaves behind the scores of a loss
        self.teaching: dict[int, tuple[Any, str, Call]] = {}  #: leaves behind targets: the leaf, the loss, the line
        self.calls: dict[Any, int] = {}

    def function(self, name: str, given: Mapping[str, Any], place: Call) -> None:
        key = place.file, place.line, name
        self.calls[key] = self.calls.get(key, 0) + 1
        scores: Any = given.get("input")
        target: Any = given.get("target")
        if self.calls[key] > CALLS or not is_tensor(scores) or not scores.requires_grad:
            return
        ours = _leaves(scores)
        self.learning |= set(ours)
        if is_tensor(target) and target.requires_grad:
            self.teaching |= {key: (leaf, name, place) for key, leaf in _leaves(target).items() if key not in ours}

    def finish(self) -> None:
        only = {key: each for key, each in self.teaching.items() if key not in self.learning
                and library_of(each[0]).address(each[0]) in self.record.stepped}
        if not only:
            return
        owners = [name for name, value in self.record.namespace.items() if is_module(value) and name[0] != "_"
                  and any(id(p) in only for p in value.parameters())]
        _, loss, place = next(iter(only.values()))
        if loss not in OF_DISTRIBUTIONS and not any("teacher" in name.lower() for name in owners):
            return
        who = numbers(owners, 2) or "a model"
        self.record.found(told(
            "teacher learns", f"{who} makes the targets of {loss}, and learns from them: the teacher follows the pupil",
            "The loss also falls if the targets come closer to the scores. Gradients go into both, and the optimizer "
            "changes both, so what is to be learnt moves to where the pupil already is.", place,
            [("compute targets without gradients",
              f"with torch.no_grad(): target = {owners[0] if owners else 'teacher'}(x)"),
             ("and give the optimizer the pupil's parameters alone", "optim.Adam(student.parameters())")],
            [("pupil", "comes closer to the targets", "+"), (who, "comes closer to the pupil", "-")]))


def _leaves(tensor: Any) -> dict[int, Any]:
    """Return the leaves behind a tensor, by identity."""
    library = library_of(tensor)
    waiting, found = [library.root(tensor)], {}
    seen = {id(waiting[0])}
    for node in waiting:
        below, variable = library.links(node)
        if variable is not None:
            found[id(variable)] = variable
        for other in below:
            if id(other) not in seen:
                seen.add(id(other))
                waiting.append(other)
    return found

"""Silent mistakes that show in the graph behind a loss: its operators, their shapes, and what they keep."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..libraries import library_of
from ..library import NodeLook
from ..why.explanation import CLASH, GOOD, Fix, Group, Groups, ShapeRow, Shapes, Step, Steps, cells
from .finding import Finding, called_at

LIMIT = 20_000  #: nodes at most that are looked at
DISTANCE = 6  #: of an operator from the loss, of which it still is a part
SAMPLES = 8  #: in a batch at least, so that a unit that is silent for all of them is called dead
DEAD = 0.9  #: of a layer's units
#: Losses and differences that compare scores with targets.
COMPARING = ("MseLoss", "SmoothL1Loss", "HuberLoss", "Sub", "Rsub")
REDUCING = ("Mean", "Sum", "Pow", "Abs", "Mul", "Div", "Sqrt", "Square", "Neg", *COMPARING)
#: What functions at the end of a model can give.
REACH = {"Relu": (0.0, np.inf), "Sigmoid": (0.0, 1.0), "Softmax": (0.0, 1.0), "Tanh": (-1.0, 1.0)}
FEW = 0.05  #: of the targets that may lie beyond, by chance or noise
SHAPING = ("Expand", "View", "Unsafeview", "Squeeze", "Unsqueeze", "Clone", "Alias", "Slice", "Select")


@dataclass
class Seen:
    """A node, what it looks like, and how far from the loss it is."""

    node: Any
    look: NodeLook
    distance: int
    parents: list[str]

    @property
    def operator(self) -> str:
        """The operator's name: ``LogSoftmax``."""
        return self.look.name.partition("Backward")[0].rpartition("::")[2]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.look.outputs[0][0] if self.look.outputs else ()

    def kept(self, name: str) -> Any:
        """Return the tensor or text saved under a name, or None."""
        found = next((kept for kept in self.look.kept or () if kept.name == name), None)
        return None if found is None else found.text if found.tensor is None else found.tensor

    def values(self, name: str) -> np.ndarray | None:
        tensor = self.kept(name)
        return None if tensor is None or isinstance(tensor, str) else library_of(tensor).values(tensor)

    @property
    def place(self) -> Any:
        return called_at((getattr(self.node, "metadata", None) or {}).get("traceback_", ()))


class Graph:
    """The nodes behind a loss, by their identities, the nearest first."""

    def __init__(self, roots: list[Any], library: Any):
        self.library = library
        self.nodes: dict[int, Seen] = {}
        self.leaves: list[Any] = []
        self.above: dict[int, list[Seen]] = {}  # of a node: those that it gives to
        waiting = [(root, 0, "") for root in roots]
        for node, distance, parent in waiting:
            if id(node) in self.nodes:
                self.nodes[id(node)].parents.append(parent)
                continue
            if len(self.nodes) >= LIMIT:
                break
            look = library.node(node)
            seen = self.nodes[id(node)] = Seen(node, look, distance, [parent])
            if look.variable is not None:
                self.leaves.append(look.variable)
            for edge in look.edges:
                if edge is not None:
                    self.above.setdefault(id(edge[0]), []).append(seen)
                    waiting.append((edge[0], distance + 1, seen.operator))

    def below(self, seen: Seen, skipping: tuple[str, ...] = ()) -> Iterator[Seen]:
        """Yield the nodes of a node's inputs, looking through those that only reshape."""
        for edge in seen.look.edges:
            if edge is None or id(edge[0]) not in self.nodes:
                continue
            found = self.nodes[id(edge[0])]
            if found.operator in skipping:
                yield from self.below(found, skipping)
            else:
                yield found


def findings(graph: Graph) -> Iterator[Finding]:
    """Yield all findings of the graph."""
    for seen in graph.nodes.values():
        for rule in (broadcast, normalised_twice, not_logarithms, out_of_reach, one_score, over_samples, dead):
            found = rule(graph, seen)
            if found is not None:
                yield found


def broadcast(graph: Graph, seen: Seen) -> Finding | None:
    """Find a loss that compares each of N scores with each of N targets."""
    kept = seen.kept("self")
    shape = tuple(kept.shape) if hasattr(kept, "shape") and "Loss" in seen.operator else seen.shape
    operands = sum(edge is not None for edge in seen.look.edges)
    if seen.operator not in COMPARING or seen.distance > DISTANCE or len(shape) != 2 or operands != 1:
        return None  # of two operands that both have a graph, neither is a target
    if any(name and name not in (*REDUCING, *SHAPING) for name in seen.parents):
        return None
    n = shape[0]
    for given in graph.below(seen, ("Expand",)):
        if n > 1 and shape == (n, n) and given.shape in ((n, 1), (n,)) and given.operator != "Unsqueeze":
            other = (n,) if given.shape != (n,) else (n, 1)
            return Finding(
                "loss broadcasts", f"the loss compares {n} scores with {n} targets in all {n * n} pairs",
                f"One is {list(given.shape)}, the other apparently {list(other)}: broadcasting makes {list(shape)} "
                "of them. The mean over all pairs is smallest where every score is the mean of the targets, so the "
                "model learns no more than that.",
                (Fix("give both one shape", "loss_function(out.squeeze(-1), y)"),
                 Fix("or", "loss_function(out, y.view_as(out))")),
                (Shapes((under(given.shape, "one"), under(other, "the other"),
                         ShapeRow("compared", cells(shape, range(len(shape))), f"{n * n} pairs instead of {n}"))),),
                seen.place)
    return None


def under(shape: tuple[int, ...], label: str) -> ShapeRow:
    """Build the row of a shape with at most two dimensions, marking the sizes that broadcasting repeats."""
    return ShapeRow(label, (*(None,) * (2 - len(shape)), *cells(shape, [d for d, n in enumerate(shape) if n == 1])))


def normalised_twice(graph: Graph, seen: Seen) -> Finding | None:
    """Softmax before cross_entropy, sigmoid before a loss with logits, relu before either."""
    wants = {"LogSoftmax": ("cross_entropy", "softmax"), "BinaryCrossEntropyWithLogits": ("this loss", "sigmoid")}
    if seen.operator not in wants or (seen.operator == "LogSoftmax" and not any("NllLoss" in p for p in seen.parents)):
        return None
    loss, applies = wants[seen.operator]
    for given in graph.below(seen, SHAPING):
        name = {"Softmax": "softmax", "Sigmoid": "sigmoid", "LogSoftmax": "log_softmax", "Relu": "relu",
                "LogSigmoid": "logsigmoid"}.get(given.operator)
        if name is None:
            continue
        lost = ("negative scores become 0, and learn nothing" if name == "relu" else
                "the second flattens what the first spread: scores between 0 and 1 can differ by 1 at most, the loss "
                "stays high, and gradients are small")
        return Finding(
            "normalised twice", f"{name} comes before {loss}, which applies {applies} itself",
            f"The loss takes scores as the last linear layer gives them, of any size and sign. After {name} {lost}.",
            (Fix(f"leave {name} out of what the loss gets", "loss = F.cross_entropy(scores, target)"
                 if seen.operator == "LogSoftmax" else "loss = F.binary_cross_entropy_with_logits(scores, target)"),
             Fix("and apply it only to look at probabilities", "scores.softmax(-1)" if applies == "softmax" else
                 "scores.sigmoid()")),
            (Steps((Step("scores", "any numbers", GOOD), Step(name, "one too many", CLASH),
                    Step(applies, f"inside of {loss}"), Step("loss"))),), given.place)
    return None


def not_logarithms(graph: Graph, seen: Seen) -> Finding | None:
    """nll_loss of what are no logarithms of probabilities."""
    values = seen.values("self") if seen.operator in ("NllLoss", "NllLoss2D") else None
    if values is None or values.ndim < 2 or not values.size or not np.isfinite(values).all():
        return None
    sums = np.exp(values.astype(np.float64)).sum(1)
    if np.allclose(sums, 1, atol=0.01):
        return None
    return Finding(
        "not logarithms", "nll_loss was given what are no logarithms of probabilities",
        "It takes the negative of one number of each row. That measures likelihood only if these are logarithms of "
        f"probabilities, which add up to 1 when exp undoes them; here to {sums.flat[0]:.3g} in the first row.",
        (Fix("take the loss that does both", "F.cross_entropy(scores, target)"),
         Fix("or take the logarithms first", "F.nll_loss(F.log_softmax(scores, 1), target)")),
        (Groups((Group("given", (f"sum of exp: {sums.flat[0]:.3g}",), CLASH),
                 Group("log_softmax gives", ("sum of exp: 1",), GOOD))),), seen.place)


def out_of_reach(graph: Graph, seen: Seen) -> Finding | None:
    """Find targets that the model's last function cannot reach: negative ones after relu, 3 after a sigmoid."""
    target = seen.values("target") if seen.operator in COMPARING else None
    if target is None or not target.size or target.dtype.kind != "f" or not np.isfinite(target).all():
        return None
    for given in graph.below(seen, SHAPING):
        low, high = REACH.get(given.operator, (-np.inf, np.inf))
        beyond = int(((target < low) | (target > high)).sum())
        if beyond <= FEW * target.size:
            continue
        name, reach = given.operator.lower(), "0 or more" if high == np.inf else f"{low:g} to {high:g}"
        return Finding(
            "out of reach", f"{name} gives {reach}, and {beyond} of the {target.size} targets lie beyond",
            f"The targets go from {target.min():.3g} to {target.max():.3g}. What {name} gives can come no nearer to "
            "them than its own limit, where its slope is 0, so nothing is learnt from these samples.",
            (Fix(f"end the model with the linear layer, without {name}", "nn.Sequential(…, nn.Linear(8, 1))"),
             Fix("or bring the targets to where the outputs are",
                 "y = (y - y.min()) / (y.max() - y.min())" if high != np.inf else "y = y.clamp(min=0)")),
            (Groups((Group(f"{name} gives", (reach,)),
                     Group("targets", (f"{target.min():.3g} … {target.max():.3g}",), CLASH))),), given.place)
    return None


def _dim(seen: Seen) -> int | None:
    dim, shape = seen.kept("dim"), seen.shape
    return int(dim) % len(shape) if isinstance(dim, str) and dim.lstrip("-").isdigit() and shape else None


def one_score(graph: Graph, seen: Seen) -> Finding | None:
    """Softmax over a single score, which always is 1."""
    dim = _dim(seen) if seen.operator in ("Softmax", "LogSoftmax") else None
    if dim is None or seen.shape[dim] != 1:
        return None
    always = 0 if "Log" in seen.operator else 1
    return Finding(
        "softmax of one", f"softmax runs over a dimension of size 1: its result is always {always}",
        "Softmax divides by the sum over the dimension. A single score divided by itself is 1 whatever it is, and has "
        "no gradient.",
        (Fix("for yes or no, use one score and the sigmoid", "F.binary_cross_entropy_with_logits(scores, target)"),
         Fix("or give each class a score", "nn.Linear(…, 2)")),
        (Shapes((ShapeRow("scores", cells(seen.shape, [dim]), f"softmax over dim {dim}"),)),), seen.place)


def over_samples(graph: Graph, seen: Seen) -> Finding | None:
    """Softmax over the samples of a batch instead of the classes."""
    dim = _dim(seen) if seen.operator in ("Softmax", "LogSoftmax") else None
    if dim != 0 or len(seen.shape) != 2 or seen.shape[0] < 2 or seen.distance > DISTANCE:
        return None
    if not any("Loss" in p or p in (*REDUCING, "Log", "Index", "Gather") for p in seen.parents):
        return None
    return Finding(
        "softmax over samples", "softmax runs over dim 0, the samples, and not over the classes",
        "Its result then says which sample of the batch has most of a class; what one sample gets depends on the "
        "others. Classes stand in the last dimension.",
        (Fix("run over the classes", "scores.softmax(-1)"),),
        (Shapes((ShapeRow("scores", cells(seen.shape, [0]), "softmax over the marked dimension"),),
                ("samples", "classes")),), seen.place)


def dead(graph: Graph, seen: Seen) -> Finding | None:
    """Find units that are 0 for all samples, and learn nothing."""
    values = seen.values("result") if seen.operator == "Relu" else None
    if values is None or values.ndim < 2 or values.shape[0] < SAMPLES:
        return None
    silent = ~(values > 0).any(axis=tuple(d for d in range(values.ndim) if d != 1))
    share = float(silent.mean()) if silent.size else 0.0
    if share < DEAD:
        return None
    return Finding(
        "dead units", f"a relu gives 0 for each of the {values.shape[0]} samples in {int(silent.sum())} of its "
        f"{silent.size} units",
        "Where relu gives 0 its slope is 0 too: nothing is learnt through such a unit, so it stays as it is. Large "
        "steps, or a large negative bias, lead there.",
        (Fix("take smaller steps, and begin anew", "optim.SGD(model.parameters(), lr=0.01)"),
         Fix("or use a unit that never is quite silent", "nn.LeakyReLU()"),
         Fix("look at the scale of inputs and first weights", "x.std(), model[0].weight.std()")),
        (Groups((Group("units: always 0", (str(int(silent.sum())),), CLASH),
                 Group("units: at work", (str(int((~silent).sum())),), GOOD))),), seen.place)



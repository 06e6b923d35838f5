"""Silent mistakes that show in how the operators behind a loss follow each other: targets with a graph, samples without
one, logits where probabilities are meant.
"""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..why.explanation import Call
from .finding import Finding
from .graph import DISTANCE, REDUCING, SHAPING, Graph, Seen
from .watching import told

MATRIX = ("Addmm", "Mm", "Linear", "Convolution", "Bmm", "Baddbmm")
PICKING = ("Gather", "Index", "NllLoss", "LogSoftmax", "Logsumexp")
COMPARING = ("MseLoss", "SmoothL1Loss", "HuberLoss", "Sub")
NEAR = 8  #: operators that a way is followed along


def findings(graph: Graph) -> Iterator[Finding]:
    """Yield all findings of the order of operators."""
    for seen in list(graph.nodes.values()):
        for rule in (bootstrapped, advantage, sampled, itself, logits, picked, hinge, noiseless):
            found = rule(graph, seen)
            if found is not None:
                yield found


def _inputs(graph: Graph, seen: Seen) -> list[Seen | None]:
    """Return the nodes behind a node's operands, None for one without a graph, looking through reshaping."""
    found = []
    for edge in seen.look.edges:
        inner = None if edge is None else graph.nodes.get(id(edge[0]))
        while inner is not None and inner.operator in SHAPING:
            inner = next((graph.nodes.get(id(e[0])) for e in inner.look.edges if e is not None), None)
        found.append(inner)
    return found


def _below(graph: Graph, seen: Seen) -> set[int]:
    """Return the leaves behind a node."""
    waiting, known, leaves = [seen], {id(seen.node)}, set()
    while waiting:
        inner = waiting.pop()
        if inner.look.variable is not None:
            leaves.add(id(inner.look.variable))
        for edge in inner.look.edges:
            if edge is not None and id(edge[0]) not in known and id(edge[0]) in graph.nodes:
                known.add(id(edge[0]))
                waiting.append(graph.nodes[id(edge[0])])
    return leaves


def _feeds(graph: Graph, seen: Seen) -> bool:
    """Return True if a layer further on computes with what a node gives."""
    waiting, known = [seen], {id(seen.node)}
    while waiting:
        for outer in graph.above.get(id(waiting.pop().node), ()):
            if outer.operator in MATRIX:
                return True
            if id(outer.node) not in known:
                known.add(id(outer.node))
                waiting.append(outer)
    return False


def _is_bootstrap(graph: Graph, side: Seen) -> bool:
    """Return True of ``reward + gamma * value``: numbers are added to a multiple of something with a graph."""
    names: list[str] = []
    inner: Seen | None = side
    for _ in range(NEAR):
        if inner is None or inner.operator not in ("Add", "Mul", "Sub", "Rsub", "Max", "Amax"):
            break
        with_graph = [given for given in _inputs(graph, inner) if given is not None]
        if len(with_graph) != 1:
            return False
        names.append(inner.operator)
        inner = with_graph[0]
    return names[:1] == ["Add"] and any(name in ("Mul", "Max", "Amax") for name in names[1:])


def bootstrapped(graph: Graph, seen: Seen) -> Finding | None:
    """Find a temporal-difference target that has a graph."""
    if seen.operator not in COMPARING or seen.distance > DISTANCE or any(
            name and name not in (*REDUCING, *SHAPING) for name in seen.parents):
        return None
    sides = _inputs(graph, seen)[:2]
    if len(sides) != 2 or sides[0] is None or sides[1] is None:
        return None
    pairs = [(sides[0], sides[1])] + [(sides[1], sides[0])] * (seen.operator == "Sub")
    for guess, target in pairs:
        if _is_bootstrap(graph, target) and _below(graph, guess) & _below(graph, target):
            return told(
                "target with graph", "the target has a graph: reward + discount * value is trained with the guess",
                "Both sides of the loss depend on the parameters. The step then moves the target towards the guess as "
                "much as the guess towards the target, and what is learnt is not the value.",
                target.place or seen.place,
                [("compute the target without a graph", "with torch.no_grad(): target = r + g * q(s2).max(1).values"),
                 ("or cut it", "target.detach()")],
                [("guess", "has a graph", "+"), ("target", "has one, too", "-"), ("loss", "moves both", "-")])
    return None


def advantage(graph: Graph, seen: Seen) -> Finding | None:
    """Find a policy gradient whose advantage trains the value function."""
    sides = _inputs(graph, seen)[:2] if seen.operator == "Mul" else []
    if len(sides) != 2 or sides[0] is None or sides[1] is None:
        return None
    for likely, other in ((sides[0], sides[1]), (sides[1], sides[0])):
        inner: Seen | None = likely
        while inner is not None and inner.operator == "Neg":
            inner = next(iter(_inputs(graph, inner)), None)
        numbers = _inputs(graph, other)[:2]
        if inner is not None and inner.operator in PICKING and other.operator in ("Sub", "Rsub") and len(
                numbers) == 2 and sum(number is None for number in numbers) == 1:
            return told(
                "advantage with graph", "the advantage has a graph: the policy's loss also trains the value function",
                "The logarithm of the probability is multiplied with return - value. The gradient goes into the value "
                "as well, and moves it to where the product is smallest, which is no estimate of the return.",
                other.place or seen.place, [("cut it for the policy", "loss = -(logp * advantage.detach()).mean()")],
                [("logp", "has a graph", "+"), ("return - value", "has one, too", "-")])
    return None


def sampled(graph: Graph, seen: Seen) -> Finding | None:
    """Find a random sample that a layer computes with, whose gradient is zero."""
    if seen.operator != "Normal" or all(edge is None for edge in seen.look.edges) or not _feeds(graph, seen):
        return None
    return no_gradient_of_samples("torch.normal", seen.place)


def no_gradient_of_samples(function: str, place: Call | None) -> Finding:
    """Build the finding of a sample that cuts the graph."""
    return told(
        "sample without gradient", f"a sample has no gradient: {function} cuts the way to mean and deviation",
        "A random draw is no function of its mean that autograd could differentiate, so the layers before it learn "
        "nothing from what is computed with the sample. Drawn as mean + noise * deviation, it is one.",
        place, [("draw the noise apart", "z = mu + torch.randn_like(mu) * std"), ("or", "z = distribution.rsample()")],
        [("mean, deviation", "have a graph", "+"), ("sample", "has none", "-"), ("decoder", "learns alone", "-")])


def itself(graph: Graph, seen: Seen) -> Finding | None:
    """Find a difference that is always 0, and has no gradient: ``(logp - old).exp()`` with ``old = logp``."""
    edges = seen.look.edges[:2]
    if seen.operator != "Sub" or len(edges) != 2 or None in edges or edges[0][0] is not edges[1][0] or (  # type: ignore[index]
            edges[0][1] != edges[1][1]):  # type: ignore[index]
        return None
    return told(
        "minus itself", "a tensor minus itself: the difference is 0, and so is its gradient",
        "Both operands are one tensor. What was to be the value from before is the value of now; a ratio of policies "
        "made of it is 1 whatever the policy is, and its gradients cancel.",
        seen.place, [("keep the earlier value as numbers", "old = logp.detach()  # before the update")],
        [("x", "", ""), ("minus the same x", "", "-"), ("gradient", "1 - 1 = 0", "-")])


def logits(graph: Graph, seen: Seen) -> Finding | None:
    """Find scores of a linear layer in a loss of probabilities."""
    if seen.operator != "BinaryCrossEntropy":
        return None
    inner = next(iter(_inputs(graph, seen)), None)
    clamped = False
    while inner is not None and inner.operator in ("Clamp", "ClampMin", "ClampMax"):
        clamped, inner = True, next(iter(_inputs(graph, inner)), None)
    if inner is None or inner.operator not in MATRIX:
        return None
    return told(
        "logits for probabilities", "binary_cross_entropy was given scores that are no probabilities",
        "They come from a linear layer" + (", cut to 0 … 1: where they were cut nothing is learnt" if clamped else
        "; they lie between 0 and 1 by chance") + ". The loss takes the logarithm of a probability.",
        seen.place, [("take the loss for scores", "F.binary_cross_entropy_with_logits(scores, y)"),
                     ("or make probabilities", "scores.sigmoid()")],
        [("linear layer", "any numbers", ""), ("sigmoid", "is missing", "-"), ("loss", "of probabilities", "")])


def picked(graph: Graph, seen: Seen) -> Finding | None:
    """Find classes that are picked in another dimension than softmax ran over."""
    dim = seen.kept("dim") if seen.operator == "Gather" else None
    if not isinstance(dim, str) or not dim.lstrip("-").isdigit():
        return None
    given = next(iter(_inputs(graph, seen)), None)
    while given is not None and given.operator in ("Log", "Neg"):
        given = next(iter(_inputs(graph, given)), None)
    if given is None or given.operator not in ("Softmax", "LogSoftmax"):
        return None
    over, n = given.kept("dim"), len(given.shape)
    if not isinstance(over, str) or not over.lstrip("-").isdigit() or not n or int(over) % n == int(dim) % n or len(
            seen.shape) != n:
        return None
    return told(
        "softmax over another dimension",
        f"softmax over dim {int(over) % n}, and the answer is picked in dim {int(dim) % n}",
        f"The scores of {list(given.shape)} are to compete within dim {int(dim) % n}, which holds the classes. As it "
        f"is, what stands at different places of dim {int(over) % n} competes.",
        given.place or seen.place, [("run over the classes", f"F.log_softmax(scores, dim={int(dim)})")],
        [("softmax", f"dim {int(over) % n}", "-"), ("gather", f"dim {int(dim) % n}", "+")])


def hinge(graph: Graph, seen: Seen) -> Finding | None:
    """Find ``clamp(1 - y * score, min=0)`` with targets 0 and 1."""
    if seen.operator not in ("Clamp", "ClampMin", "Relu") or seen.distance > DISTANCE:
        return None
    given = next(iter(_inputs(graph, seen)), None)
    product = None if given is None or given.operator not in ("Rsub", "Add", "Sub") else next(
        filter(None, _inputs(graph, given)), None)
    if product is None or product.operator != "Mul":
        return None
    for name in ("self", "other"):
        values = product.values(name)
        if values is not None and values.dtype.kind == "f" and set(np.unique(values).tolist()) == {0.0, 1.0}:
            return told(
                "targets are no signs", "a hinge loss wants targets 1 and -1, and gets 0 and 1",
                "The target is multiplied with the score. A sample with the target 0 has the loss 1 whatever its score "
                "is, and teaches nothing.",
                product.place or seen.place, [("make signs of them", "y = 2 * y - 1")],
                [("target 1", "score counts", "+"), ("target 0", "score times 0", "-")])
    return None


def noiseless(graph: Graph, seen: Seen) -> Finding | None:
    """Find an autoencoder with a divergence from a normal distribution that draws nothing."""
    if seen.operator != "Exp" or seen.distance > NEAR:
        return None
    spread = next(iter(_inputs(graph, seen)), None)
    if spread is None or len(spread.shape) < 2 or _feeds(graph, spread):
        return None
    joined = {id(outer.node) for outer in graph.above.get(id(seen.node), ())}
    for other in [node for node in graph.nodes.values() if node.operator == "Pow" and node.shape == seen.shape]:
        mean = next(iter(_inputs(graph, other)), None)
        outer = graph.above.get(id(other.node), [])
        meets = joined & {id(node.node) for one in outer for node in (one, *graph.above.get(id(one.node), ()))}
        if mean is None or mean is spread or mean.operator not in (*MATRIX, "Split"):
            continue
        if meets and _feeds(graph, mean):
            return told(
                "decoded without noise", "the mean is decoded without noise: the deviation is in the divergence alone",
                "The loss holds the divergence of a normal distribution, and nothing is drawn from that: the decoder "
                "gets the mean. The deviation learns to be 1 everywhere, and the codes between samples mean nothing.",
                seen.place, [("draw from the distribution", "z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()")],
                [("mean", "goes to the decoder", "-"), ("deviation", "goes nowhere", "-"), ("noise", "missing", "-")])
    return None

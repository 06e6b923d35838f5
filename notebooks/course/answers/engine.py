"""Mistakes that readers of lesson 7 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from mindtorch.course.masters import Mistake, solution

engine = solution("engine.engine")


def _order(roots):
    """The nodes below some, each after all that lead to it."""
    found, done = [], set()

    def visit(node):
        if node is not None and node not in done:
            done.add(node)
            for below, _ in node.next_functions:
                visit(below)
            found.append(node)

    for node, _ in roots:
        visit(node)
    return found[::-1]


def _engine(*, join=lambda have, new: have + new, fit=True, number=lambda n: n, edges=slice(None), start=lambda g: g,
            skip=True, leaf=None, order=None, call=lambda node, given: node(*given), wrap=True):
    """An engine that is right, but for what is said."""

    def mine(roots, gradients):
        arrived = {}

        def send(node, i, gradient):
            outputs = arrived.setdefault(node, [None] * len(node._input_metadata))
            gradient = gradient.sum_to_size(node._input_metadata[i].shape) if fit else gradient
            outputs[i] = gradient if outputs[i] is None else join(outputs[i], gradient)

        for (node, i), gradient in zip(roots, gradients, strict=True):
            send(node, i, start(gradient))
        for node in (order or _order)(roots):
            if node not in arrived:
                continue
            if leaf is not None and hasattr(node, "variable"):
                leaf(node.variable, arrived[node][0])
                continue
            found = call(node, arrived.pop(node))
            found = found if isinstance(found, tuple) or not wrap else (found,)
            for (below, i), gradient in list(zip(node.next_functions, found, strict=False))[edges]:
                if below is not None or not skip:
                    send(below, number(i), gradient)

    return mine


def _discovered(roots):
    """The nodes in the order in which they are found, level by level."""
    found = dict.fromkeys(node for node, _ in roots)
    todo = list(found)
    while todo:
        for below, _ in todo.pop(0).next_functions:
            if below is not None and below not in found:
                found[below] = None
                todo.append(below)
    return list(found)


def _one_root_after_the_other(roots, gradients):
    for root, gradient in zip(roots, gradients, strict=True):
        engine([root], [gradient])


def _paths(roots, gradients, limit=None):
    """Run a node for every gradient that arrives, or only for the first."""
    todo, runs = [(*root, g) for root, g in zip(roots, gradients, strict=True)], {}
    while todo:
        node, i, gradient = todo.pop(0)
        runs[node] = runs.get(node, 0) + 1
        if limit is not None and runs[node] > limit:
            continue
        outputs = [None] * len(node._input_metadata)
        outputs[i] = gradient.sum_to_size(node._input_metadata[i].shape)
        found = node(*outputs)
        for (below, j), g in zip(node.next_functions, found if isinstance(found, tuple) else (found,), strict=False):
            if below is not None:
                todo.append((below, j, g))


def _recursive(roots, gradients):
    """Call what edges lead to, without a look whether there is something."""

    def run(node, gradient):
        found = node(gradient)
        for (below, _), g in zip(node.next_functions, found if isinstance(found, tuple) else (found,), strict=False):
            run(below, g)

    for (node, _), gradient in zip(roots, gradients, strict=True):
        run(node, gradient)


def _overwrite(variable, gradient):
    variable.grad = gradient


MISTAKES = (
    Mistake("Gradients that arrive at a node on several edges are added: this engine keeps only one of them.",
            _engine(join=lambda have, new: new)),
    Mistake("Gradients that arrive at a node on several edges are added: this engine keeps only one of them.",
            _engine(join=lambda have, new: have)),
    Mistake("Gradients that arrive at a node on several edges are added, not averaged.",
            _engine(join=lambda have, new: (have + new) / 2)),
    Mistake("A node waits until all its gradients have arrived: this engine runs it for each of them.", _paths),
    Mistake("A node waits until all its gradients have arrived: this engine runs it for the first, and drops the "
            "others.", lambda roots, gradients: _paths(roots, gradients, 1)),
    Mistake("Sum the gradient of a broadcast output to the shape in node._input_metadata[number]: see lesson 3.",
            _engine(fit=False)),
    Mistake("An edge is (node, number): the gradient belongs to that output of the node below. Here number is ignored.",
            _engine(number=lambda n: 0)),
    Mistake("A node may have several inputs: follow all of next_functions, not only the first.",
            _engine(edges=slice(1))),
    Mistake("A node may have several inputs: follow all of next_functions, not only the last.",
            _engine(edges=slice(-1, None))),
    Mistake("Start with the gradients that are given, not with ones.", _engine(start=lambda g: g * 0 + 1)),
    Mistake("Leaves add to .grad, so that several passes are collected: call their nodes, too.",
            _engine(leaf=_overwrite)),
    Mistake("A node is ready when a gradient has arrived on every edge that leads to it: do not run nodes in the order "
            "in which they are found, level by level.", _engine(order=_discovered)),
    Mistake("There may be several roots: start from all of them.",
            lambda roots, gradients: engine(roots[:1], gradients[:1])),
    Mistake("Start all roots together: a node that several of them lead to waits for all, and runs once.",
            _one_root_after_the_other),
    Mistake("A node is called with one gradient for each output of its operator, None where none has arrived.",
            _engine(number=lambda n: 0, call=lambda node, given: node(given[0]))),
    Mistake("The node of an operator with one input returns a tensor, not a tuple: do not iterate over its rows.",
            _engine(wrap=False)),
    Mistake("Another node may hold the gradient that arrived, or it may be expanded: use have + new, which is a new "
            "tensor, not add_, which writes.",
            _engine(join=lambda have, new: have.add_(new))),
    Mistake("Call the nodes of leaves, too: they add the gradient to .grad.",
            _engine(leaf=lambda variable, gradient: None)),
    Mistake("An input that needs no gradient has the edge (None, 0): skip it.", _engine(skip=False)),
    Mistake("An input that needs no gradient has the edge (None, 0): skip it.", _recursive),
)

MISTAKES_OF = {"engine": MISTAKES}
HIDDEN = {"engine": (("(torch.ones(2, 6) * w).sum()", 3, 0.5),)}

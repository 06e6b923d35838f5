"""Lesson 7: in which order do gradients flow?"""
from __future__ import annotations

from ..tasks import Lab, Lesson, Mistake, Prediction
from . import course, torch

PREDICTIONS = (
    Prediction("twice", "w is 3, and loss = w * w. The node of the product returns two gradients, one for each "
               "factor. What is w.grad?", 6,
               "Both factors are w, and each gets 3. Gradients that arrive on different paths are added."),
    Prediction("once", "h = w * 2 and loss = (h * h + h).sum(). Three edges lead to the node of w * 2. How many times "
                       "does a good engine run that node?", 1,
               "It waits until the gradients of all three edges have arrived, adds them, and runs the node once. An "
               "engine that did not wait would run everything below three times; with several such joins in a row, "
               "each multiplies the work by three."),
    Prediction("again", "loss.backward(retain_graph=True) has made w.grad 6. What is it after a second "
                        "loss.backward()?", 12,
               "Leaves add the gradient that arrives to .grad. That is how gradients of several batches are collected, "
               "and why training programs call zero_grad."),
)


def engine(roots, gradients):
    waiting, seen, todo = {}, set(), [node for node, _ in roots]
    while todo:  # count, for every node, the edges that lead to it
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            for below, _ in node.next_functions:
                if below is not None:
                    waiting[below] = waiting.get(below, 0) + 1
                    todo.append(below)
    arrived = {}  # for every node, the gradients of its outputs so far

    def send(node, number, gradient):
        outputs = arrived.setdefault(node, [None] * len(node._input_metadata))
        gradient = gradient.sum_to_size(node._input_metadata[number].shape)
        outputs[number] = gradient if outputs[number] is None else outputs[number] + gradient

    for (node, number), gradient in zip(roots, gradients, strict=True):
        send(node, number, gradient)
    ready = [node for node in arrived if node not in waiting]
    while ready:
        node = ready.pop()
        found = node(*arrived[node])
        found = found if isinstance(found, tuple) else (found,)
        for (below, number), gradient in zip(node.next_functions, found, strict=False):
            if below is not None:
                send(below, number, gradient)
                waiting[below] -= 1
                if waiting[below] == 0:
                    ready.append(below)


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


class Counted(torch.autograd.Function):
    """The identity, whose node counts how often it runs."""

    runs = 0

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        Counted.runs += 1
        return grad


def _diamonds(w):
    h = Counted.apply(w)
    for _ in range(3):
        h = h * 2 + h
    return h.sum()


def _several_outputs(w):
    a, b, c = w.reshape(3, 2).unbind(0)
    return (a * 2 + c * c * 5 + b * 0).sum()


def _two_roots(w):
    h = Counted.apply(w)
    return (h * h).sum(), h[:2].sum()


def _a_root_below_another(w):
    h = Counted.apply(w)
    return (h * 3).sum(), h


#: What is differentiated, together where there are several: w has six elements.
PROGRAMS = {
    "w.sum()": lambda w: w.sum(),
    "(w * torch.ones(6)).sum()": lambda w: (w * torch.ones(6)).sum(),
    "(w * w).sum()": lambda w: (w * w).sum(),
    "(h * h + h).sum() with h = w * 2": lambda w: ((w * 2) * (w * 2) + w * 2).sum(),
    "(torch.ones(2, 6) * w).sum()": lambda w: (torch.ones(2, 6) * w).sum(),
    "three times h = h * 2 + h, from w": _diamonds,
    "sums of a, b, c = w.reshape(3, 2).unbind(0)": _several_outputs,
    "(h * h).sum() and h[:2].sum() together, from h made of w": _two_roots,
    "(h * 3).sum() and h itself together, from h made of w": _a_root_below_another,
    "(w.exp() / w.exp().sum()).log()[0]": lambda w: (w.exp() / w.exp().sum()).log()[0],
}


def _run(function, program, times, weight):
    """The gradient of w, and how often a node ran that has several paths above it."""
    w = torch.arange(6.).div(4).requires_grad_()
    losses = PROGRAMS[program](w)
    losses = losses if isinstance(losses, tuple) else (losses,)
    Counted.runs = 0
    with course.replace_engine(function):
        for i in range(times):
            torch.autograd.backward(losses, [torch.full(loss.shape, weight) for loss in losses],
                                    retain_graph=i < times - 1)
    return {"w.grad": w.grad, "how often a node ran on which several paths meet": Counted.runs}


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

LESSON = Lesson(
    7, "engine", "In which order do gradients flow?", "07_engine", 40, PREDICTIONS,
    (Lab(
        "engine", "What runs the nodes of a graph?", engine,
        (*((program, 1, 1.0) for program in PROGRAMS), ("(w * w).sum()", 2, 1.0), ("(w * w).sum()", 1, 3.0)),
        ("Before anything runs, walk through the graph once, and count for every node the edges that lead to it. A "
         "node is ready when as many gradients have arrived.",
         "Keep for each node a list with a place for each output, and add the gradients that arrive. When the node is "
         "ready call node(*its list), and send what it returns along node.next_functions.",
         "node(...) returns one tensor, or a tuple if there are several inputs. Skip edges to None, and sum each "
         "gradient to node._input_metadata[number].shape."),
        MISTAKES, 6, run=_run, hidden=(("(torch.ones(2, 6) * w).sum()", 3, 0.5),),
        describe=lambda program, times, weight: program + (f", {times} passes" if times > 1 else "")
        + (f", from the gradient {weight:g}" if weight != 1 else "")),
     ),
)

"""Lesson 8: when may you write into a tensor?"""
from __future__ import annotations

import weakref

from ..tasks import Lab, Lesson, Mistake, Prediction
from . import torch

PREDICTIONS = (
    Prediction("plus", "w requires grad, h = w + 1, and then h *= 2. Will h.sum().backward() run?", True,
               "The slope of a sum is 1, whatever its values are. Neither operator has saved h, so writing into it "
               "does no harm."),
    Prediction("exp", "w requires grad, h = w.exp(), and then h += 1. Will h.sum().backward() run?", False,
               "The slope of exp is its result, which its node has saved. The write has changed the saved tensor, and "
               "the library refuses to compute with it."),
    Prediction("version", "x = torch.zeros(4) and half = x[:2]. After half.add_(1) and x[3] = 5, what is "
               "half._version?", 2,
               "half is a view of x, and a view shares the counter of the tensor that it views: both writes count for "
               "both."),
    Prediction("checkpoints", "Sixteen layers of equal size save their input each. With a checkpoint around every two "
                              "layers, how many of these inputs are still saved after the forward pass?", 8,
               "Of each pair only the first layer's input is saved. In the backward pass one pair at a time runs "
               "again, and for that time saves one more."),
)


def checkpoint(function, x):
    class Checkpoint(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return function(x)

        @staticmethod
        def backward(ctx, grad):
            [x] = ctx.saved_tensors
            x = x.detach().requires_grad_()
            with torch.enable_grad():
                result = function(x)
            result.backward(grad)
            return x.grad

    return Checkpoint.apply(x)


def _again(function, x, grad):
    """The way back, as it should be."""
    x = x.detach().requires_grad_()
    with torch.enable_grad():
        result = function(x)
    result.backward(grad)
    return x.grad


def _with(backward, save=True):
    """A checkpoint with another way back."""

    def mine(function, x):
        class Checkpoint(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                if save:
                    ctx.save_for_backward(x)
                else:
                    ctx.x = x
                return function(x)

            @staticmethod
            def backward(ctx, grad):
                return backward(function, ctx.saved_tensors[0] if save else ctx.x, grad)

        return Checkpoint.apply(x)

    return mine


def _without_recording(function, x, grad):
    x = x.detach().requires_grad_()
    function(x).backward(grad)
    return x.grad


def _attached(function, x, grad):
    with torch.enable_grad():
        result = function(x)
    result.backward(grad)
    return x.grad


def _no_leaf(function, x, grad):
    x = x.detach()
    with torch.enable_grad():
        result = function(x)
    result.backward(grad)
    return x.grad


def _begin(start):
    """A way back that begins with another gradient."""
    return lambda function, x, grad: _again(function, x, start(grad))


def _only_x(function, x, grad):
    x = x.detach().requires_grad_()
    with torch.enable_grad():
        result = function(x)
    return torch.autograd.grad(result, x, grad)[0]


def _no_chain(function, x, grad):
    return _again(function, x, torch.ones_like(grad)) * grad


def _twice(function, x, grad):
    with torch.enable_grad():
        function(x.detach())
    return _again(function, x, grad)


def _no_grad(function, x):
    with torch.no_grad():
        return function(x)


def _no_return(function, x):
    checkpoint(function, x)


def _saves(what):
    """A checkpoint that keeps something else than x."""

    def mine(function, x):
        class Checkpoint(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                result = function(x)
                ctx.save_for_backward(what(x, result))
                return result

            @staticmethod
            def backward(ctx, grad):
                return _again(function, ctx.saved_tensors[0], grad)

        return Checkpoint.apply(x)

    return mine


class Part:
    """A part of a network with a parameter. It counts how often it is run, and knows what is still in memory of what
    it computed inside the first time.
    """

    def __init__(self):
        self.weight = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
        self.runs, self._inside = 0, []

    def __call__(self, x):
        self.runs += 1
        inside = []
        for _ in range(3):
            x = (x * self.weight).tanh()
            inside.append(weakref.ref(x.untyped_storage()))
        self._inside = self._inside or inside[:-1]
        return x + x.sum()

    def kept(self):
        return sum(reference() is not None for reference in self._inside)


def _run(function, program):
    """The gradients of a program with a checkpoint in it, and what it cost."""
    parts = [Part(), Part()]
    x = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    start = torch.ones(3)
    if program == "checkpoint(part, x).backward((1, -2, 3))":
        y, start = function(parts[0], x), torch.tensor([1.0, -2.0, 3.0])
    elif program == "checkpoint(part, x * 2), and a write into x * 2":
        h = x * 2
        y = function(parts[0], h)
        h.add_(1)
    elif program == "checkpoint(part, x * 2)":
        y = function(parts[0], x * 2)
    elif program == "checkpoint(second, checkpoint(part, x))":
        y = function(parts[1], function(parts[0], x))
    else:
        y = function(parts[0], x)
    if not isinstance(y, torch.Tensor):
        return {"what checkpoint returns": y}
    seen = {"what checkpoint returns": y.detach().clone(), "whether it requires grad": y.requires_grad,
            "results inside that are kept": sum(part.kept() for part in parts)}
    if not y.requires_grad:
        return seen
    try:
        y.backward(start)
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        return {**seen, "the way back": "refused"}
    return {**seen, "the way back": "taken", "x.grad": x.grad, "the parameter's gradient": parts[0].weight.grad,
            "how often the function was run": parts[0].runs}


PROGRAMS = ("checkpoint(part, x)", "checkpoint(part, x * 2)", "checkpoint(part, x).backward((1, -2, 3))",
            "checkpoint(second, checkpoint(part, x))", "checkpoint(part, x * 2), and a write into x * 2")

MISTAKES = (
    Mistake("Everything inside is saved, since the first run is recorded: move it into the forward of a "
            "torch.autograd.Function, which runs without recording, and let backward record the second run.",
            lambda function, x: function(x)),
    Mistake("This result has no graph, so gradients cannot flow: a torch.autograd.Function makes the node that they "
            "need.",
            _no_grad),
    Mistake("backward runs without recording, so the second run has no graph: put `with torch.enable_grad():` around "
            "it.",
            _with(_without_recording)),
    Mistake("Run the function again on a new leaf, x.detach(): this x still has its history, or is a leaf of the "
            "caller, whose .grad then counts twice.", _with(_attached)),
    Mistake("No gradient of x comes back: the leaf of the second run must require one, x.detach().requires_grad_(), "
            "and backward must return the gradient that arrived there.", _with(_no_leaf)),
    Mistake("Start the inner backward pass with the gradient that arrives, result.backward(grad), not with ones.",
            _with(_begin(torch.ones_like))),
    Mistake("Start the inner backward pass with the gradient that arrives; multiplying by it afterwards is right only "
            "where each result depends on one input.", _with(_no_chain)),
    Mistake("Parameters inside the function need their gradients, too: result.backward(grad) reaches them, and "
            "autograd.grad with respect to x alone does not.", _with(_only_x)),
    Mistake("A program may write into x in between: ctx.save_for_backward compares its version, and an attribute of "
            "ctx, or a variable, does not.", _with(_again, save=False)),
    Mistake("The function runs once more than it has to: it should run once in the forward pass and once in the "
            "backward pass.",
            _with(_twice)),
    Mistake("The gradient with respect to x is the one that arrived at the leaf of the second run, x.grad, not the one "
            "that was passed in.", _with(lambda function, x, grad: (_again(function, x, grad), grad)[1])),
    Mistake("The gradient with respect to x is not the one that arrives: run the function again, and a backward pass "
            "through it.",
            _with(lambda function, x, grad: grad)),
    Mistake("A copy is saved here, and its version does not count writes into x: save x itself.", _saves(
        lambda x, result: x.clone())),
    Mistake("The result is saved here: the function runs again on x, so save x.", _saves(
        lambda x, result: result)),
    Mistake("Return the result of the node: return Checkpoint.apply(x).", _no_return),
)

LESSON = Lesson(
    8, "saving", "When may you write into a tensor?", "08_saving", 40, PREDICTIONS,
    (Lab(
        "checkpoint", "How can the backward pass need less memory?", checkpoint, tuple((name,) for name in PROGRAMS),
        ("Inside checkpoint, write a class Checkpoint(torch.autograd.Function) with the static methods forward(ctx, x) "
         "and backward(ctx, grad), and return Checkpoint.apply(x).",
         "forward saves x and returns function(x). backward makes a leaf of the saved x, runs the function on it with "
         "recording switched on, and starts a backward pass from the result with the gradient that it was given.",
         "In backward: [x] = ctx.saved_tensors; x = x.detach().requires_grad_(); with torch.enable_grad(): result = "
         "function(x); result.backward(grad); return x.grad"),
        MISTAKES, 5, run=_run, describe=lambda program: program),
     ),
)

"""Mistakes that readers of lesson 8 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

import mindtorch as torch
from mindtorch.course.lessons.saving import PROGRAMS
from mindtorch.course.masters import Mistake, solution

checkpoint = solution("saving.checkpoint")


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

MISTAKES_OF = {"checkpoint": MISTAKES}
HIDDEN = {"checkpoint": tuple((program, 0.7) for program in PROGRAMS)}

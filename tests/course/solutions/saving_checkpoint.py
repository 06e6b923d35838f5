"""Solutions of 'saving.checkpoint'. A wrong one's docstring is what the hint has to say."""
import mindtorch as torch


class General(torch.autograd.Function):
    """A node with the function among its arguments, as PyTorch's has it."""

    @staticmethod
    def forward(ctx, function, x):
        ctx.function = function
        ctx.save_for_backward(x)
        return function(x)

    @staticmethod
    def backward(ctx, grad):
        leaf = ctx.saved_tensors[0].detach().clone().requires_grad_(True)
        with torch.set_grad_enabled(True):
            torch.autograd.backward([ctx.function(leaf)], [grad])
        return None, leaf.grad


def right_with_a_general_node(function, x):
    return General.apply(function, x)


def right_with_hooks(function, x):
    """Keep numbers in place of tensors; the first that is asked for runs the function again."""
    version, places, found = x._version, [], []

    def pack(tensor):
        places.append(None)
        return len(places) - 1

    def unpack(place):
        if x._version != version:
            raise RuntimeError("x has been modified by an inplace operation")
        if not found:
            with torch.autograd.graph.saved_tensors_hooks(found.append, lambda nothing: None), torch.enable_grad():
                function(x.detach().requires_grad_())
        return found[place]

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return function(x)


def node(backward, forward=None, save=True):
    def mine(function, x):
        class Mine(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.kept = None if save else x
                if save:
                    ctx.save_for_backward(x)
                return forward(ctx, function, x) if forward else function(x)

            @staticmethod
            def backward(ctx, grad):
                return backward(ctx, function, ctx.saved_tensors[0] if save else ctx.kept, grad)

        return Mine.apply(x)

    return mine


def rerun(function, leaf):
    with torch.enable_grad():
        return function(leaf)


def back(ctx, function, x, grad):
    leaf = x.detach().requires_grad_()
    rerun(function, leaf).backward(grad)
    return leaf.grad


def wrong_not_recorded(function, x):
    """backward runs without recording, so the second run has no graph: put `with torch.enable_grad():` around it."""
    def backward(ctx, function, x, grad):
        leaf = x.detach().clone().requires_grad_()
        torch.autograd.backward(function(leaf), grad)
        return leaf.grad

    return node(backward)(function, x)


def wrong_three_runs(function, x):
    """The function runs once more than it has to: it should run once in the forward pass and once in the backward
    pass."""
    def backward(ctx, function, x, grad):
        function(x)
        return back(ctx, function, x, grad)

    return node(backward)(function, x)


def wrong_gradient_handed_on(function, x):
    """The gradient with respect to x is the one that arrived at the leaf of the second run, x.grad, not the one that
    was passed in."""
    def backward(ctx, function, x, grad):
        back(ctx, function, x, grad)
        return grad

    return node(backward)(function, x)


def wrong_no_return(function, x):
    """return Checkpoint.apply(x)"""
    node(back)(function, x)

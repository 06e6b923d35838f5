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


def wrong_plain(function, x):
    """the first run is recorded"""
    y = function(x)
    return y


def wrong_first_recorded(function, x):
    """the first run is recorded"""
    def forward(ctx, function, x):
        ctx.leaf = x.detach().requires_grad_()
        ctx.result = rerun(function, ctx.leaf)
        return ctx.result.detach().clone()

    def backward(ctx, function, x, grad):
        torch.autograd.backward(ctx.result, grad)
        return ctx.leaf.grad

    return node(backward, forward)(function, x)


def wrong_no_way_back(function, x):
    """There is no way back from this result"""
    return function(x.detach()).detach()


def wrong_not_recorded(function, x):
    """with torch.enable_grad() around it"""
    def backward(ctx, function, x, grad):
        leaf = x.detach().clone().requires_grad_()
        torch.autograd.backward(function(leaf), grad)
        return leaf.grad

    return node(backward)(function, x)


def wrong_same_leaf(function, x):
    """on a leaf of its own"""
    def backward(ctx, function, x, grad):
        y = rerun(function, x)
        y.backward(grad)
        return x.grad

    return node(backward)(function, x)


def wrong_leaf_without_gradient(function, x):
    """the leaf of the second run has to ask for one"""
    def backward(ctx, function, x, grad):
        leaf = x.clone().detach()
        rerun(function, leaf).backward(grad)
        return leaf.grad

    return node(backward)(function, x)


def wrong_ones(function, x):
    """begins with the gradient that arrives"""
    def backward(ctx, function, x, grad):
        leaf = x.detach().requires_grad_()
        rerun(lambda t: function(t).sum(), leaf).backward()
        return leaf.grad

    return node(backward)(function, x)


def wrong_product(function, x):
    """multiplied afterwards it is right only where"""
    def backward(ctx, function, x, grad):
        leaf = x.detach().requires_grad_()
        rerun(lambda t: function(t).sum(), leaf).backward()
        return grad * leaf.grad

    return node(backward)(function, x)


def wrong_parameters_forgotten(function, x):
    """Parameters inside the function need their gradients"""
    def backward(ctx, function, x, grad):
        leaf = x.detach().requires_grad_()
        [found] = torch.autograd.grad([rerun(function, leaf)], [leaf], [grad])
        return found

    return node(backward)(function, x)


def wrong_version_not_compared(function, x):
    """Somebody may write into x meanwhile"""
    return node(back, save=False)(function, x)


def wrong_nothing_back(function, x):
    """backward has to return what has arrived"""
    def backward(ctx, function, x, grad):
        back(ctx, function, x, grad)

    return node(backward)(function, x)


def wrong_three_runs(function, x):
    """run once more than it has to be"""
    def backward(ctx, function, x, grad):
        function(x)
        return back(ctx, function, x, grad)

    return node(backward)(function, x)


def wrong_gradient_handed_on(function, x):
    """not the gradient that was handed in"""
    def backward(ctx, function, x, grad):
        back(ctx, function, x, grad)
        return grad

    return node(backward)(function, x)


def wrong_no_return(function, x):
    """return Checkpoint.apply(x)"""
    node(back)(function, x)

"""Solutions of 'saving.checkpoint', right and wrong."""
import mindtorch as torch


def right_with_closures(function, x):
    class Again(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return function(x)

        @staticmethod
        def backward(ctx, grad):
            [x] = ctx.saved_tensors
            leaf = x.detach().requires_grad_()
            with torch.enable_grad():
                function(leaf).backward(grad)
            return leaf.grad

    return Again.apply(x)


class Node(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, function):
        ctx.function = function
        ctx.save_for_backward(x)
        return function(x)

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        with torch.enable_grad():
            copy = x.clone().detach()
            copy.requires_grad = True
            torch.autograd.backward([ctx.function(copy)], [grad])
        return copy.grad, None


def right_with_a_class_outside(function, x):
    return Node.apply(x, function)


def made(forward, backward):
    """A checkpoint with this way there and this way back."""
    def checkpoint(function, x):
        class Again(torch.autograd.Function):
            pass

        Again.forward = staticmethod(lambda ctx, x: forward(ctx, function, x))
        Again.backward = staticmethod(lambda ctx, grad: backward(ctx, function, grad))
        return Again.apply(x)

    return checkpoint


def save_and_run(ctx, function, x):
    ctx.save_for_backward(x)
    return function(x)


def run_again(ctx, function, grad):
    leaf = ctx.saved_tensors[0].detach().requires_grad_()
    with torch.enable_grad():
        function(leaf).backward(grad)
    return leaf.grad


def wrong_not_recorded(function, x):
    """This result has no graph, so gradients cannot flow: a torch.autograd.Function makes the node that they need."""
    with torch.no_grad():
        return function(x)


def wrong_enable_grad_forgotten(function, x):
    """backward runs without recording, so the second run has no graph"""
    def backward(ctx, function, grad):
        leaf = ctx.saved_tensors[0].detach().requires_grad_()
        function(leaf).backward(grad)
        return leaf.grad

    return made(save_and_run, backward)(function, x)


def wrong_begins_with_ones(function, x):
    """Start the inner backward pass with the gradient that arrives, result.backward(grad), not with ones."""
    def backward(ctx, function, grad):
        leaf = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            function(leaf).sum().backward()
        return leaf.grad

    return made(save_and_run, backward)(function, x)


def wrong_times_grad_at_the_end(function, x):
    """Start the inner backward pass with the gradient that arrives; multiplying by it afterwards is right only where
    each result depends on one input."""
    def backward(ctx, function, grad):
        leaf = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            function(leaf).sum().backward()
        return leaf.grad * grad

    return made(save_and_run, backward)(function, x)


def wrong_not_detached(function, x):
    """Run the function again on a new leaf, x.detach(): this x still has its history, or is a leaf of the caller,
    whose .grad then counts twice."""
    def backward(ctx, function, grad):
        [x] = ctx.saved_tensors
        with torch.enable_grad():
            function(x).backward(grad)
        return x.grad

    return made(save_and_run, backward)(function, x)


def wrong_kept_on_ctx(function, x):
    """A program may write into x in between: ctx.save_for_backward compares its version, and an attribute of ctx, or
    a variable, does not."""
    def forward(ctx, function, x):
        ctx.x = x
        return function(x)

    def backward(ctx, function, grad):
        leaf = ctx.x.detach().requires_grad_()
        with torch.enable_grad():
            function(leaf).backward(grad)
        return leaf.grad

    return made(forward, backward)(function, x)


def wrong_keeps_a_copy(function, x):
    """A copy is saved here, and its version does not count writes into x: save x itself."""
    def forward(ctx, function, x):
        ctx.save_for_backward(x.clone())
        return function(x)

    return made(forward, run_again)(function, x)


def wrong_parameters_forgotten(function, x):
    """Parameters inside the function need their gradients, too"""
    def backward(ctx, function, grad):
        leaf = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            [found] = torch.autograd.grad(function(leaf), leaf, grad)
        return found

    return made(save_and_run, backward)(function, x)


def wrong_returns_nothing(function, x):
    """No gradient of x comes back"""
    def backward(ctx, function, grad):
        run_again(ctx, function, grad)

    return made(save_and_run, backward)(function, x)


def wrong_saves_the_result(function, x):
    """The result is saved here: the function runs again on x, so save x."""
    def forward(ctx, function, x):
        result = function(x)
        ctx.save_for_backward(result)
        return result

    return made(forward, run_again)(function, x)


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


WRONG = [
    ("Everything inside is saved, since the first run is recorded: move it into the forward of a "
     "torch.autograd.Function, which runs without recording, and let backward record the second run.",
     lambda function, x: function(x)),
    ("The gradient with respect to x is not the one that arrives: run the function again, and a backward pass "
     "through it.",
     lambda function, x: made(save_and_run, lambda ctx, function, grad: grad)(function, x)),
]

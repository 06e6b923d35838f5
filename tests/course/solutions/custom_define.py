"""Solutions of 'custom.define', right and wrong."""
import numpy as np

import mindtorch as torch


def right_without_decorators(name):
    """The registrations as calls, and the gradient as a sum over differences."""
    def run(x: torch.Tensor) -> torch.Tensor:
        rows = x.detach().numpy()
        out = np.empty((len(rows), len(rows)), rows.dtype)
        for i, row in enumerate(rows):
            out[i] = ((rows - row) ** 2).sum(1)
        return torch.from_numpy(out)

    op = torch.library.custom_op(name, run, mutates_args=())
    op.register_fake(lambda x: torch.empty((len(x), len(x)), dtype=x.dtype, device=x.device))

    def keep(ctx, inputs, output):
        (ctx.x,) = inputs

    def rule(ctx, g):
        x = ctx.x
        differences = x[:, None] - x[None]
        return (2 * (g + g.t())[:, :, None] * differences).sum(1)

    op.register_autograd(rule, setup_context=keep)
    return op


def right_by_parts(name):
    """Rows and columns one after the other, and the kernel with an expansion of the square."""
    @torch.library.custom_op(name, mutates_args=())
    def distances(x: torch.Tensor) -> torch.Tensor:
        a = x.numpy(force=True)
        squares = (a * a).sum(1)
        return torch.from_numpy(squares[:, None] + squares[None] - 2 * (a @ a.T))

    @distances.register_fake
    def _(x):
        n = x.size(0)
        return torch.empty_like(x.new_empty(n, n))

    def backward(ctx, g):
        x, = ctx.saved_tensors
        rows = g.sum(1)[:, None] * x - g @ x
        columns = g.sum(0)[:, None] * x - g.t() @ x
        return 2 * rows + 2 * columns

    distances.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    return distances


def wrong_function(name):
    """Return the operator"""
    return lambda x: ((x[:, None] - x[None]) ** 2).sum(-1)


EDITED = right_by_parts
EDITS = [
    ("The derivative of a square has a factor 2", "return 2 * rows + 2 * columns", "return rows + columns"),
    ("x[i] is in row i of the result and in column i", "return 2 * rows + 2 * columns", "return 2 * rows"),
    ("grad need not be symmetric", "return 2 * rows + 2 * columns", "return 4 * rows"),
    ("the sign is turned", "return 2 * rows + 2 * columns", "return -2 * rows - 2 * columns"),
    ("backward needs x, the first of the inputs", "ctx.save_for_backward(*inputs)", "ctx.save_for_backward(output)"),
    ("backward needs x: keep it", ", setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs)", ""),
    ("Without a derivative no gradient", "    distances.register_autograd(backward, setup_context=lambda ctx, inputs, "
     "output: ctx.save_for_backward(*inputs))\n", ""),
    ("The fake result has the dtype of x", "torch.empty_like(x.new_empty(n, n))", "torch.empty(n, n)"),
    ("whatever x has", "torch.empty_like(x.new_empty(n, n))", "torch.empty_like(x)"),
    ("Nothing is written by this operator", "mutates_args=()", 'mutates_args=("x",)'),
    ("A kernel returns a tensor", "torch.from_numpy(squares[:, None] + squares[None] - 2 * (a @ a.T))",
     "squares[:, None] + squares[None] - 2 * (a @ a.T)"),
    ("Return the operator", "    return distances\n", "    return distances._opoverload\n"),
]

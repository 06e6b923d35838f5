"""Mistakes that readers of lesson 27 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from functools import partial

from mindtorch.course.masters import Mistake, edited

changed = partial(edited, "custom.define")
FAKE = "x.new_empty((x.shape[0], x.shape[0]))"
KERNEL = "torch.from_numpy(kernel(x.numpy(force=True)))"
RULE = "2 * (both.sum(1, keepdim=True) * x - both @ x)"

MISTAKES = (
    Mistake("Return the operator that custom_op makes, not a plain function: only an operator has a place in graphs.",
            lambda name: name),
    changed("Nothing is written by this operator: mutates_args=().", ("mutates_args=()", 'mutates_args=("x",)')),
    changed("The schema has one tensor as its result: annotate -> torch.Tensor.",
            ("-> torch.Tensor:", "-> list[torch.Tensor]:")),
    changed("A kernel returns a tensor: make one of the array by torch.from_numpy.",
            (KERNEL, "kernel(x.numpy(force=True))")),
    changed("The result keeps the dtype of x.", (KERNEL, "torch.tensor(kernel(x.numpy(force=True)).tolist())")),
    changed("The kernel must not write into x: x.numpy() shares its memory.",
            (KERNEL, "torch.from_numpy(kernel(x.numpy(force=True).__isub__(1)))")),
    changed("Compute kernel(array), no other distances.",
            (KERNEL, "torch.from_numpy(np.sqrt(kernel(x.numpy(force=True))))")),
    changed("Without a fake nothing knows the result's shape before it is computed: register one.",
            ("    @sqdist.register_fake\n    def _(x):\n        return x.new_empty((x.shape[0], x.shape[0]))\n\n", "")),
    changed("A fake has no values to compute with: return an empty tensor of the right shape.", (FAKE, KERNEL)),
    changed("The result has n rows and n columns, whatever x has: n is x.shape[0].", (FAKE, "x.new_empty(x.shape)")),
    changed("The result has n rows and n columns: n is x.shape[0].",
            (FAKE, "x.new_empty((x.shape[0], x.shape[1]), dtype=x.dtype)[:, :1].expand(-1, 1)")),
    changed("The fake result has the dtype of x: x.new_empty has it, torch.empty has the default.",
            (FAKE, "torch.empty(x.shape[0], x.shape[0])")),
    changed("Without a derivative no gradient flows through the operator: register_autograd.",
            ("    sqdist.register_autograd(backward, setup_context=setup_context)\n", "")),
    changed("backward needs x: keep it in setup_context, by ctx.save_for_backward.",
            ("register_autograd(backward, setup_context=setup_context)", "register_autograd(backward)")),
    changed("backward needs x, the first of the inputs, not the result.",
            ("save_for_backward(inputs[0])", "save_for_backward(output)")),
    changed("The derivative of a square has a factor 2.", (RULE, "both.sum(1, keepdim=True) * x - both @ x")),
    changed("x[i] is in row i of the result and in column i: add g and g.t().",
            ("both = grad + grad.t()", "both = grad")),
    changed("grad need not be symmetric: add g.t(), and do not double g.",
            ("both = grad + grad.t()", "both = 2 * grad")),
    changed("The difference x[i] - x[j] counts, not x[i] alone.", (RULE, "2 * both.sum(1, keepdim=True) * x")),
    changed("The gradient points from x[j] to x[i]: the sign is turned.",
            (RULE, "2 * (both @ x - both.sum(1, keepdim=True) * x)")),
    changed("The gradient of the result comes in as grad: multiply by it.",
            ("both = grad + grad.t()", "both = torch.full_like(grad, 2)")),
)

MISTAKES_OF = {"define": MISTAKES}
HIDDEN: dict[str, tuple[tuple[str, ...], ...]] = {"define": ()}

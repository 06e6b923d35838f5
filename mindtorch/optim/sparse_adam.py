"""SparseAdam; mirrors ``torch.optim.sparse_adam``."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._creation import zeros_like
from .._dispatch.keys import SPARSES
from .._tensor import Tensor
from .._tensor.sparse import with_values
from .optimizer import Optimizer, as_number, check_betas, check_single, every_group


class SparseAdam(Optimizer):
    """Runs Adam for the elements that a sparse gradient has, and leaves the others and their averages as they are
    (``torch.optim.SparseAdam``). Raises ValueError for settings out of range, and parameters that are complex or
    sparse, and RuntimeError in a step, for a gradient that is dense: ``Adam`` is the optimizer for those.
    """

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 maximize: bool = False) -> None:
        check_single("lr", lr)
        for what, value in (("learning rate", lr), ("epsilon value", eps)):
            if not value > 0:
                raise ValueError(f"Invalid {what}: {value}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        self._refuse("Sparse", lambda param: bool(param._keys & SPARSES), "requires dense parameter tensors")
        self._refuse("Complex", lambda param: param.is_complex(), "does not support complex parameters")

    def _refuse(self, kind: str, is_one: Callable[[Tensor], bool], why: str) -> None:
        found = [[i, j] for i, group in enumerate(self.param_groups)
                 for j, param in enumerate(group["params"]) if is_one(param)]
        if found:
            raise ValueError(f"{kind} params at indices {found}: SparseAdam {why}")

    @every_group
    def step(self, group: dict[str, Any]) -> None:
        params = [param for param in group["params"] if param._grad is not None]
        if not all(param._grad.is_sparse for param in params):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        lr, (beta1, beta2), eps = as_number(group["lr"]), map(as_number, group["betas"]), group["eps"]
        for param in params:
            state = self.state[param]
            if not state:
                state.update(step=0, exp_avg=zeros_like(param), exp_avg_sq=zeros_like(param))
            state["step"] += 1
            grad = -param._grad if group["maximize"] else param._grad
            step_sparsely(param, grad, state, lr, beta1, beta2, eps)


def step_sparsely(param: Tensor, grad: Tensor, state: dict[str, Any], lr: float, beta1: float, beta2: float,
                  eps: float) -> None:
    """Do a step of Adam where a gradient has values."""
    grad = grad.coalesce()  # a square is no sum of squares
    values, count = grad._values(), state["step"]
    if not values.numel():
        return
    averages = []
    for kept, value, beta in ((state["exp_avg"], values, beta1), (state["exp_avg_sq"], values.pow(2), beta2)):
        old = kept.sparse_mask(grad)._values()
        change = value.sub(old).mul_(1 - beta)
        kept.add_(with_values(grad, change))
        averages.append(change.add(old))
    size = lr * math.sqrt(1 - beta2**count) / (1 - beta1**count)
    average, squares = averages
    param.add_(with_values(grad, average.div_(squares.sqrt_().add_(eps)).mul_(-size)))

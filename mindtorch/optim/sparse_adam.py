"""SparseAdam; mirrors ``torch.optim.sparse_adam``."""
from __future__ import annotations

from typing import Any

from .optimizer import Optimizer, check_betas, check_single, every_group


class SparseAdam(Optimizer):
    """Runs Adam only for the elements that a sparse gradient has (``torch.optim.SparseAdam``). mindtorch has no sparse
    tensors, and dense gradients are refused, as PyTorch refuses them: ``Adam`` is the optimizer for those. Raises
    ValueError for settings out of range, and complex parameters, and RuntimeError in a step, for a gradient that is
    dense.
    """

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 maximize: bool = False) -> None:
        check_single("lr", lr)
        for what, value in (("learning rate", lr), ("epsilon value", eps)):
            if not value > 0:
                raise ValueError(f"Invalid {what}: {value}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        complex_ones = [[i, j] for i, group in enumerate(self.param_groups)
                        for j, param in enumerate(group["params"]) if param.is_complex()]
        if complex_ones:
            raise ValueError(f"Complex params at indices {complex_ones}: SparseAdam does not support complex "
                             "parameters")

    @every_group
    def step(self, group: dict[str, Any]) -> None:
        if any(param._grad is not None for param in group["params"]):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")

"""Meta kernels of optimizer steps: they have no outputs, and check that the lists go together."""
from __future__ import annotations

from typing import Any

from ...._errors import check
from . import META_KERNELS


def same_lengths(*lists: list[Any]) -> None:
    check(len({len(tensors) for tensors in lists}) == 1, lambda: "Tensor lists must have the same number of tensors, "
          f"got {', '.join(str(len(tensors)) for tensors in lists)}")


def fused_sgd(self: Any, grads: Any, momentum_buffer_list: Any, *settings: Any) -> None:
    same_lengths(self, grads, *([momentum_buffer_list] if momentum_buffer_list else ()))


def fused_adam(self: Any, grads: Any, exp_avgs: Any, exp_avg_sqs: Any, max_exp_avg_sqs: Any, state_steps: Any,
               *settings: Any) -> None:
    maxima = [max_exp_avg_sqs] if max_exp_avg_sqs else []
    same_lengths(self, grads, exp_avgs, exp_avg_sqs, *maxima, state_steps)


META_KERNELS.update({
    "_foreach_add_.Scalar": lambda self, scalar: None,
    "_fused_sgd_": fused_sgd,
    "_fused_adam_": fused_adam,
    "_fused_adamw_": fused_adam,
})

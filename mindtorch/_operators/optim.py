"""Steps of optimizers over all parameters at once. Gradients, which ATen writes to unscale them, are only read."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._base.errors import check
from .._base.layout import broadcast_shapes
from . import operator, schemas

schemas("""
function:
    _fused_sgd_(Tensor(a!)[] self, Tensor[] grads, Tensor(c!)[] momentum_buffer_list, *, float weight_decay, float momentum, float lr, float dampening, bool nesterov, bool maximize, bool is_first_step, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()  # Carries out a step of stochastic gradient descent on all parameters `self` with the gradients `grads` and the learning rate `lr`.
    _fused_adam_(Tensor(a!)[] self, Tensor[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()  # Carries out a step of Adam on all parameters `self` with the gradients `grads` and the learning rate `lr`.
    _fused_adamw_(Tensor(a!)[] self, Tensor[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()  # Carries out a step of AdamW on all parameters `self` with the gradients `grads` and the learning rate `lr`.
    _fused_adagrad_(Tensor(a!)[] self, Tensor[] grads, Tensor(c!)[] state_sums, Tensor[] state_steps, *, float lr, float lr_decay, float weight_decay, float eps, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()  # Carries out a step of Adagrad on all parameters `self` with the gradients `grads` and the learning rate `lr`.
""")  # noqa: E501


def same_lengths(*lists: list[Any]) -> None:
    check(len({len(tensors) for tensors in lists}) == 1, lambda: "Tensor lists must have the same number of tensors, "
          f"got {', '.join(str(len(tensors)) for tensors in lists)}")


def same_shapes(self: list[Any], *lists: list[Any]) -> None:
    """Refuse what was kept for a parameter of another shape, in the words of the first operator that would meet it."""
    for other in lists:
        for param, tensor in zip(self, other, strict=False):
            if param.shape != tensor.shape:
                broadcast_shapes(tensor.shape, param.shape)  # raises, unless they differ by dimensions of size 1
                raise RuntimeError(f"output with shape {list(tensor.shape)} doesn't match the broadcast shape "
                                   f"{list(param.shape)}")


def fused(lists: int, optional: int = 0, steps: int = 1) -> Callable[..., None]:
    """Return the check of an operator on lists, ``optional`` maybe empty, the last ``steps`` of step counts."""

    def check_lists(*args: Any) -> None:
        same_lengths(*(tensors for i, tensors in enumerate(args[:lists]) if tensors or i != optional))
        same_shapes(*args[:lists - steps])

    return check_lists


operator("_fused_sgd_", fused(3, optional=2, steps=0), differentiable=False)
operator("_fused_adam_ _fused_adamw_", fused(6, optional=4), differentiable=False)
operator("_fused_adagrad_", fused(4), differentiable=False)

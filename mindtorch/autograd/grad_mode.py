"""``torch.autograd.grad_mode``: the modes, by their module's name."""
from .._autograd.grad_mode import (
    _enter_inference_mode as _enter_inference_mode, _exit_inference_mode as _exit_inference_mode, enable_grad,
    inference_mode, no_grad, set_grad_enabled, set_multithreading_enabled,
)

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]
__dir__ = __all__.copy

"""``torch.func``: functions of functions: derivatives in both modes, batching, modules as functions."""
from .._transforms.forward import jvp, linearize
from .._transforms.reverse import grad, grad_and_value, vjp
from .modules import functional_call, stack_module_state

__all__ = ["functional_call", "grad", "grad_and_value", "jvp", "linearize", "stack_module_state", "vjp"]
__dir__ = __all__.copy

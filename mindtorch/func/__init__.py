"""``torch.func``: functions of functions: derivatives in both modes, batching, modules as functions."""
from .._transforms.batch import vmap
from .._transforms.forward import jvp, linearize
from .._transforms.jacobians import hessian, jacfwd, jacrev
from .._transforms.reverse import grad, grad_and_value, vjp
from .._transforms.unwrapping import debug_unwrap
from .functionalization import functionalize
from .modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .rearranging import rearrange

__all__ = ["debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev",
           "jvp", "linearize", "rearrange", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]
__dir__ = __all__.copy

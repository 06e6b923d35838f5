"""The package ``functorch``, PyTorch's former home of ``torch.func`` and AOTAutograd; ``install_as_torch`` shows it."""
from .._functorch.make_functional import (
    FunctionalModule, FunctionalModuleWithBuffers, make_functional, make_functional_with_buffers,
)
from ..func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap
from ..fx.experimental.proxy_tensor import make_fx
from . import compile as compile

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "functionalize", "grad", "grad_and_value", "hessian",
           "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers", "make_fx", "vjp", "vmap"]

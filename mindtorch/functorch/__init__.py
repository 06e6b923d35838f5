"""The package ``functorch``, PyTorch's former home of ``torch.func`` and AOTAutograd; ``install_as_torch`` shows it."""
from ..func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap
from ..fx.experimental.proxy_tensor import make_fx
from . import compile as compile

__all__ = ["functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "make_fx", "vjp", "vmap"]

"""``torch._functorch.eager_transforms``: transforms of ``torch.func``, where libraries import them from."""
from ..func import (
    functionalize as functionalize, grad as grad, grad_and_value as grad_and_value, hessian as hessian,
    jacfwd as jacfwd, jacrev as jacrev, jvp as jvp, linearize as linearize, vjp as vjp,
)

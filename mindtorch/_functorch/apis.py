"""``torch._functorch.apis``: transforms of ``torch.func``, where libraries import them from."""
from ..func import grad as grad, grad_and_value as grad_and_value, vmap as vmap

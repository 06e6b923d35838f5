"""Weight normalisation by a hook, PyTorch's older way; mirrors ``torch.nn.utils.weight_norm``."""
from __future__ import annotations

import warnings
from typing import Any

from ..._methods.functions import _weight_norm, norm_except_dim
from ..._tensor import Tensor
from ..module import Module
from ..parameter import Parameter, check_initialized

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]
__dir__ = __all__.copy


class WeightNorm:
    """The hook that makes ``name`` of ``name_g`` and ``name_v`` before each forward pass."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """Compute the weight from its lengths and directions."""
        return _weight_norm(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def _hooks(module: Module, name: str) -> list[Any]:
    return [key for key, hook in module._forward_pre_hooks.items()
            if isinstance(hook, WeightNorm) and hook.name == name]


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Replace a weight by its lengths ``weight_g`` and directions ``weight_v`` (``torch.nn.utils.weight_norm``); see
    ``parametrizations.weight_norm``, which supersedes this. Returns the module. Raises RuntimeError if this was done to
    the weight already, and ValueError if the weight has no shape yet.
    """
    warnings.warn("`torch.nn.utils.weight_norm` is deprecated in favor of "
                  "`torch.nn.utils.parametrizations.weight_norm`.", FutureWarning, stacklevel=2)
    if _hooks(module, name):
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook, weight = WeightNorm(name, dim), getattr(module, name)
    check_initialized(weight, "WeightNorm", "weight")
    del module._parameters[name]
    module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, 2, hook.dim).data))
    module.register_parameter(name + "_v", Parameter(weight.data))
    hook(module, ())
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight one parameter again, else ValueError (``torch.nn.utils.remove_weight_norm``)."""
    for key in _hooks(module, name):
        hook: Any = module._forward_pre_hooks.pop(key)
        weight = hook.compute_weight(module)
        delattr(module, name)
        del module._parameters[name + "_g"], module._parameters[name + "_v"]
        setattr(module, name, Parameter(weight.data))
        return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")

"""Spectral normalisation by a hook, PyTorch's older way; mirrors ``torch.nn.utils.spectral_norm``."""
from __future__ import annotations

from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._methods.functions import dot, mv
from ..._tensor import Tensor
from .. import functional as F
from ..module import Module
from ..parameter import Parameter, check_initialized

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]
__dir__ = __all__.copy


class SpectralNorm:
    """The hook that computes ``name`` from ``name_orig`` before each forward pass, and records for the module's state
    which version it has.
    """

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got n_power_iterations="
                             f"{n_power_iterations}")
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """Return the weight as a matrix with rows along ``dim``."""
        return weight.movedim(self.dim, 0).flatten(1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """Divide the weight by its largest singular value, after steps of the power method if asked for."""
        weight, u, v = (getattr(module, self.name + suffix) for suffix in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    F.normalize(mv(matrix.t(), u), dim=0, eps=self.eps, out=v)
                    F.normalize(mv(matrix, v), dim=0, eps=self.eps, out=u)
                # copies, since a second forward pass before the backward pass writes into the vectors
                u, v = u.clone(), v.clone()
        return weight / dot(u, mv(matrix, v))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def _upgrade(self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
                 *rest: Any) -> None:
        """Give a state dict of PyTorch 0.4, which had the divided weight in place of it, the vector ``name_v``."""
        key = prefix + self.name
        if (self.name + ".version" in local_metadata.get("spectral_norm", {})
                or (key not in state_dict and all(key + suffix in state_dict for suffix in ("_orig", "_u", "_v")))):
            return
        missing = [key + suffix for suffix in ("_orig", "", "_u") if key + suffix not in state_dict]
        if missing:
            missing_keys += missing if strict else ()
            return
        with no_grad():
            original, u = state_dict[key + "_orig"], state_dict[key + "_u"]
            sigma = (original / state_dict.pop(key)).mean()
            matrix = self.reshape_weight_to_matrix(original)
            v = mv(matrix.t().mm(matrix).pinverse(), mv(matrix.t(), u))
            state_dict[key + "_v"] = v * (sigma / dot(u, mv(matrix, v)))

    def _write_version(self, module: Module, state_dict: Any, prefix: str, local_metadata: Any) -> None:
        versions, key = local_metadata.setdefault("spectral_norm", {}), self.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self._version


def _output_dim(module: Module) -> int:
    """Return the weight's dimension of outputs: 1 in a transposed convolution."""
    return int(type(module).__name__.startswith("ConvTranspose"))


def _hooks(table: Any, name: str) -> list[Any]:
    """Return the keys of the hooks that ``spectral_norm`` registered for this weight."""
    return [key for key, hook in table.items()
            if isinstance(owner := getattr(getattr(hook, "hook", hook), "__self__", hook), SpectralNorm)
            and owner.name == name]


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Module:
    """Divide a weight by its largest singular value before each forward pass (``torch.nn.utils.spectral_norm``); see
    ``parametrizations.spectral_norm``, which supersedes this. Returns the module. Raises RuntimeError if this was done
    to the weight already, and ValueError if the weight is None or has no shape yet, or if ``n_power_iterations`` is not
    positive.
    """
    if _hooks(module._forward_pre_hooks, name):
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    hook = SpectralNorm(name, n_power_iterations, _output_dim(module) if dim is None else dim, eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    check_initialized(weight, "SpectralNorm", "spectral")
    with no_grad():
        vectors = [F.normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps)
                   for size in hook.reshape_weight_to_matrix(weight).size()]
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.data)  # a plain attribute: neither parameter nor buffer
    for suffix, vector in zip(("_u", "_v"), vectors, strict=True):
        module.register_buffer(name + suffix, vector)
    module.register_forward_pre_hook(hook)
    module._register_state_dict_hook(hook._write_version)
    module._register_load_state_dict_pre_hook(hook._upgrade)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight one parameter again, else ValueError (``torch.nn.utils.remove_spectral_norm``)."""
    for key in _hooks(module._forward_pre_hooks, name):
        hook: Any = module._forward_pre_hooks.pop(key)
        with no_grad():
            weight = hook.compute_weight(module, False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, name + suffix)
        module.register_parameter(name, Parameter(weight.detach()))
        for table in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
            for other in _hooks(table, name):
                del table[other]
        return module
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")

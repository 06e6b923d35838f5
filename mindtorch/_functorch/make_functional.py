"""Modules as functions of their parameters: ``functorch.make_functional``, older than ``functional_call``."""
from __future__ import annotations

import copy
from typing import Any

from ..nn import Module, Parameter
from .functional_call import functional_call


class FunctionalModuleWithBuffers(Module):
    """A module that takes its parameters and buffers in front of its arguments
    (``functorch.FunctionalModuleWithBuffers``).
    """

    def __init__(self, stateless_model: Module, param_names: tuple[str, ...], buffer_names: tuple[str, ...]):
        super().__init__()
        self.stateless_model, self.param_names, self.buffer_names = stateless_model, param_names, buffer_names

    @classmethod
    def _create_from(cls, model: Module, disable_autograd_tracking: bool = False) -> tuple[Any, Any, Any]:
        """Return the function, and copies of the module's parameters and buffers."""
        made = copy.deepcopy(model)
        params, buffers = dict(made.named_parameters()), dict(made.named_buffers())
        if disable_autograd_tracking:
            for param in params.values():
                param.requires_grad_(False)
        bare = {id(tensor): tensor.detach().to("meta") for tensor in (*params.values(), *buffers.values())}
        bare |= {id(param): Parameter(bare[id(param)], param.requires_grad) for param in params.values()}
        for module in made.modules():  # whose own values are never read; tied ones stay tied
            for table in (module._parameters, module._buffers):
                table.update({name: bare[id(tensor)] for name, tensor in table.items() if tensor is not None})
        return cls(made, tuple(params), tuple(buffers)), tuple(params.values()), tuple(buffers.values())

    def forward(self, params: Any, buffers: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the module with these tensors in the place of its own."""
        names = (*self.param_names, *self.buffer_names)
        return functional_call(self.stateless_model, dict(zip(names, (*params, *buffers), strict=True)), args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without buffers that takes its parameters in front of its arguments (``functorch.FunctionalModule``)."""

    def forward(self, params: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the module with these tensors in the place of its parameters."""
        return super().forward(params, (), *args, **kwargs)


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, Any]:
    """Return a module as a function of its parameters, and copies of these (``functorch.make_functional``). Raises
    RuntimeError for a module with buffers.
    """
    if any(True for _ in model.buffers()):
        raise RuntimeError("make_functional(model): `model` has buffers. Please use "
                           "make_functional_with_buffers(model) instead.")
    return FunctionalModule._create_from(model, disable_autograd_tracking)[:2]


def make_functional_with_buffers(model: Module, disable_autograd_tracking: bool = False) -> tuple[
        FunctionalModuleWithBuffers, Any, Any]:
    """Return a module as a function of its parameters and buffers, and copies of these
    (``functorch.make_functional_with_buffers``).
    """
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)

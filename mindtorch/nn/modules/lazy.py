"""Modules whose parameters get their shapes from the first input; mirrors ``torch.nn.modules.lazy``."""
from __future__ import annotations

from itertools import chain
from typing import Any

from ..parameter import is_lazy


class LazyModuleMixin:
    """Lets a module infer the shapes of its parameters from its first call
    (``torch.nn.modules.lazy.LazyModuleMixin``).

    The module has ``UninitializedParameter`` in their places, and an ``initialize_parameters`` that is called with the
    first inputs and gives them shapes. Then the module becomes one of the class ``cls_to_become``, if there is one.
    """

    cls_to_become: type[Any] | None = None
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        module: Any = self
        self._load_hook = module._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = module.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters the shapes that these inputs ask for; subclasses define it. Raises NotImplementedError if
        a subclass does not define it.
        """
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Return whether some parameter or buffer has no shape yet."""
        return any(is_lazy(tensor) for tensor in chain(self._parameters.values(), self._buffers.values()))

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put the parameters and buffers into a state dict; uninitialized ones stay as they are."""
        module: Any = self
        for name, tensor in module._saved_members():
            destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()

    def _lazy_load_hook(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Give uninitialized parameters the loaded shapes."""
        for name, tensor in chain(self._parameters.items(), self._buffers.items()):
            loaded = state_dict.get(prefix + name)
            if is_lazy(tensor) and loaded is not None and not is_lazy(loaded):
                tensor.materialize(loaded.shape)

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        """Before the first call: give the parameters their shapes, and become a plain module."""
        module.initialize_parameters(*args, **kwargs or {})
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {type(self).__name__} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

"""``torch.utils.module_tracker``: which modules run, forward and backward."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .._base.interrupts import leaving, uninterrupted
from .._tensor import Tensor
from .._transforms.pytree import tree_leaves
from ..autograd.graph import register_multi_grad_hook
from ..autograd.variable import Variable
from ..nn.modules.module import Module, register_module_forward_hook, register_module_forward_pre_hook

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """A block in which ``parents`` has the names of the modules that run, and 'Global'; during the backward pass, of
    those whose gradients are computed (``torch.utils.module_tracker.ModuleTracker``). The module that is called first
    has the name of its class, those inside it their paths.
    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._handles: list[Any] = []
        self._resets = False

    def _name_of(self, module: Module) -> str:
        if module not in self._names:
            root = type(module).__name__
            for path, inner in module.named_modules():
                self._names.setdefault(inner, f"{root}.{path}" if path else root)
        return self._names[module]

    def _enter(self, name: str) -> Callable[..., None]:
        def enter(*gradients: Any) -> None:
            if not self._resets:
                self._resets = True
                Variable._execution_engine.queue_callback(self._reset)
            self.parents.add(name)

        return enter

    def _leave(self, name: str) -> Callable[..., None]:
        return lambda *gradients: self.parents.discard(name)

    def _reset(self) -> None:
        self.parents, self._resets = {"Global"}, False

    def _watch(self, values: Any, hook: Callable[..., None]) -> None:
        """Have a function called when the gradients of all these tensors are there."""
        tensors = [value for value in tree_leaves(values) if isinstance(value, Tensor) and value.requires_grad]
        if tensors:
            self._handles.append(register_multi_grad_hook(tensors, hook))

    def _before(self, module: Module, inputs: Any) -> None:
        name = self._name_of(module)
        self.parents.add(name)
        self._watch(inputs, self._leave(name))

    def _after(self, module: Module, inputs: Any, output: Any) -> None:
        name = self._name_of(module)
        self.parents.discard(name)
        self._watch(output, self._enter(name))

    def __enter__(self) -> ModuleTracker:
        with uninterrupted():
            self._handles = [register_module_forward_pre_hook(self._before), register_module_forward_hook(self._after)]
        return self

    @leaving(lambda block: lambda gone: block.__exit__())
    def __exit__(self, *exc: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

"""Context managers that are decorators, too: ``torch.utils._contextlib``."""
from __future__ import annotations

from .._autograd.grad_mode import _Decorator as _NoParamDecoratorContextManager, _Mode as _DecoratorContextManager

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager"]

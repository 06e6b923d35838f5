"""``torch.autograd.function``: operators with a derivative of your own."""
from .._autograd.function import (
    BackwardCFunction, Function, FunctionCtx, FunctionMeta, InplaceFunction, once_differentiable,
)

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "once_differentiable"]
__dir__ = __all__.copy

"""``torch.autograd.function``: what an operator with a derivative of one's own is made of."""
from .._autograd.function import (
    BackwardCFunction, Function, FunctionCtx, FunctionMeta, InplaceFunction, once_differentiable,
)

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "once_differentiable"]
__dir__ = __all__.copy

"""``torch.autograd.function``: what an operator with a derivative of one's own is made of."""
from .._autograd.function import (
    BackwardCFunction as BackwardCFunction, Function as Function, FunctionCtx as FunctionCtx,
    FunctionMeta as FunctionMeta, InplaceFunction as InplaceFunction, once_differentiable as once_differentiable,
)

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "once_differentiable"]
__dir__ = __all__.copy

"""``torch.autograd.function``: what an operator with a derivative of one's own is made of."""
from .._autograd.function import BackwardCFunction as BackwardCFunction
from .._autograd.function import Function as Function
from .._autograd.function import FunctionCtx as FunctionCtx
from .._autograd.function import FunctionMeta as FunctionMeta
from .._autograd.function import InplaceFunction as InplaceFunction
from .._autograd.function import once_differentiable as once_differentiable

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "once_differentiable"]
__dir__ = __all__.copy

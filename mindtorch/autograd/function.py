"""``torch.autograd.function``: what a hand-written derivative is made of."""
from .._autograd.function import Function as Function
from .._autograd.function import FunctionCtx as FunctionCtx
from .._autograd.function import FunctionNode as BackwardCFunction
from .._autograd.function import once_differentiable as once_differentiable

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "once_differentiable"]

"""``torch.nn``: parameters, modules, losses, and the functions that they are made of."""
from . import attention, functional, grad, init, modules, parallel, utils
from .modules import *  # noqa: F403
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    *modules.__all__, "Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter",
    "attention", "functional", "grad", "init", "modules", "parallel", "utils",
]
__dir__ = __all__.copy

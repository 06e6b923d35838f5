"""``torch.nn``: parameters, modules, losses, and the functions that they are made of."""
from . import attention, functional, init, modules, utils
from .modules import *  # noqa: F403
from .parameter import Buffer, Parameter

__all__ = [*modules.__all__, "Buffer", "Parameter", "attention", "functional", "init", "modules", "utils"]
__dir__ = __all__.copy

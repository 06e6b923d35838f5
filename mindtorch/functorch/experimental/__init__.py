"""``functorch.experimental``: functionalisation and control flow, under their former names."""
from ...func import functionalize
from . import control_flow as control_flow

__all__ = ["control_flow", "functionalize"]
__dir__ = __all__.copy

"""``torch._ops``: the classes of operators as objects."""
from ._dispatch.overloads import OpOverload as OpOverload, OpOverloadPacket as OpOverloadPacket, ops as ops

__all__ = ["OpOverload", "OpOverloadPacket", "ops"]
__dir__ = __all__.copy

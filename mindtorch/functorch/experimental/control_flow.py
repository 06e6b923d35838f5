"""``functorch.experimental.control_flow``: branches and loops in graphs."""
from ..._higher_order_ops.cond import cond
from ..._higher_order_ops.map import map

__all__ = ["cond", "map"]
__dir__ = __all__.copy

"""``torch._higher_order_ops``: operators that take functions. Eager code calls them, a trace keeps them as graphs."""
from __future__ import annotations

from ._operator import HigherOrderOperator as HigherOrderOperator
from .associative_scan import associative_scan as associative_scan
from .cond import cond as cond
from .functional import record as record_functional
from .map import map as map
from .out_dtype import out_dtype as out_dtype
from .scan import scan as scan
from .tracing import record as record
from .while_loop import while_loop as while_loop

__all__ = ["HigherOrderOperator", "associative_scan", "cond", "map", "out_dtype", "scan", "while_loop"]

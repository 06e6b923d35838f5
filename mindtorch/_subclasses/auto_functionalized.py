"""``auto_functionalized``: a custom operator that writes its arguments, as an operator that returns their new values.

A graph without writes holds it where the program calls an operator of ``torch.library`` that writes.
"""
from __future__ import annotations

from typing import Any

from .._dispatch.dispatcher import switched
from .._dispatch.local import local
from .._dispatch.overloads import OpOverload, ops
from .._dispatch.schemas import registry
from .._tensor import Tensor
from .._transforms.pytree import tree_map


class AutoFunctionalized:
    """``auto_functionalized(op, **arguments)`` calls an operator on copies of what it writes, and returns its results
    (None for none), then the copies (``torch.ops.higher_order.auto_functionalized``).
    """

    __name__ = __qualname__ = _name = "auto_functionalized"
    __module__ = "torch.ops.higher_order"
    namespace = "higher_order"

    def name(self) -> str:
        """Return the operator's name."""
        return self._name

    def __str__(self) -> str:
        return self._name

    __repr__ = __str__

    def __call__(self, op: OpOverload, /, **arguments: Any) -> tuple[Any, ...]:
        """Call the operator on copies, or have a mode record the call."""
        modes = local.dispatch_modes
        if modes and hasattr(modes[-1], "record_call"):
            with switched(dispatch_modes=modes[:-1]):
                recorded: tuple[Any, ...] = modes[-1].record_call(self, (op,), arguments)
                return recorded
        written = [op._operator.schema.parameters[place].name for place in op._operator.writes]
        copies = {name: tree_map(lambda leaf: registry["clone"].call(leaf) if isinstance(leaf, Tensor) else leaf,
                                 arguments[name]) for name in written if name in arguments}
        results = op(**{**arguments, **copies})
        return (*(results if isinstance(results, tuple) else (results,)), *copies.values())


auto_functionalized = AutoFunctionalized()
setattr(ops.higher_order, auto_functionalized._name, auto_functionalized)

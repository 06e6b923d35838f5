"""Operators that make tensors, as their public functions have them: on the default device, with ``requires_grad`` and
``out``.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, cast

from .._base.formats import layout_name, strided
from .._device import resolve_device
from .registry import Operator

#: Writes a new tensor's values into ``out``: takes the factory, ``out``, and the operator's arguments by name.
Write = Callable[["Factory", Any, dict[str, Any]], Any]


class Factory(Operator):
    """An overload that the binder calls as it calls an operator. ``write`` writes into ``out``, and ``nothing`` makes a
    sparse tensor. Tensors that are not made like another one are on ``device``, or else on the default device.
    """

    def __init__(self, op: Operator, write: Write | None = None, nothing: Callable[..., Any] | None = None,
                 device: Any = None):
        text = op.text.replace("pin_memory=None", "pin_memory=False").replace(
            ") ->", ", bool? requires_grad=False) ->")
        flags = op.flags | ({"function"} if write is None else {"function", "out"})
        super().__init__(op.registry, text, flags, sentence=op.sentence, family=op.family)
        self.op, self.write, self.nothing, self.device = op, write, nothing, device

    @property
    def out_form(self) -> Operator:
        return self

    @cached_property
    def call(self) -> Callable[..., Any]:
        """Call the operator; ``requires_grad`` and ``out`` follow its arguments."""
        run, positions, elsewhere = self.op.call, self.op.schema.positions, self.device
        nothing, write = self.nothing, cast(Write, self.write)
        count, place, like = len(positions), positions["device"], "self" in positions

        def call(*args: Any) -> Any:
            if (given := len(args)) == place:  # a layout is the last
                args = (*args, None)
            if (where := args[place]) is not None or not like:
                where = resolve_device(elsewhere if where is None else where)
                args = (*args[:place], where, *(args[place + 1:] or (False,)))
            layout = args[place - 1]
            if given > count + 1:
                made = write(self, args[-1], dict(zip(positions, args, strict=False)))
            elif layout is not None and layout is not strided and nothing is not None:
                made = nothing(args[0], layout, args[place - 2], where)
            else:
                made = run(*args) if given <= count else run(*args[:count])
            if layout is not None and layout is not made.layout:
                raise self.refusal(layout)
            return made._require_grad(True) if given > count and args[count] else made

        return call

    def entry(self, kinds: str) -> Callable[..., Any]:
        """Return the function of calls of so many arguments: if they end before the layout, without a look at it."""
        run, positions, elsewhere = self.op.call, self.op.schema.positions, self.device
        given, place, like = len(kinds), positions["device"], "self" in positions
        if given >= place:
            return self.call
        rest = tuple([parameter.default for parameter in self.schema.parameters[given:place]])
        if like:
            return lambda *args: run(*args, *rest, None, False)
        return lambda *args: run(*args, *rest, resolve_device(elsewhere), False)

    def refusal(self, layout: Any) -> Exception:
        """Return the error of a layout in which PyTorch makes no such tensor."""
        if self.packet in ("full", "ones"):
            return RuntimeError("full(...) is not implemented for sparse layout")
        return NotImplementedError(f"Could not run 'aten::{self.op.name}' with arguments from the "
                                   f"'{layout_name(layout)}CPU' backend.")

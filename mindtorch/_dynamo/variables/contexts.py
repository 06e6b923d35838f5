"""Context managers that change a mode of the thread: nodes of the graph (``torch._dynamo.variables.ctx_manager``)."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._autograd.grad_mode import (
    _enter_inference_mode, _exit_inference_mode, enable_grad, inference_mode, no_grad, set_grad_enabled,
)
from ..._C import _set_grad_enabled
from ..._dispatch.local import local
from ...amp.autocast_mode import _enter_autocast, _exit_autocast, autocast
from ...cpu.amp import autocast as cpu_autocast
from ...cuda.amp import autocast as cuda_autocast
from ..breaks import error_on_graph_break
from ..exc import Break
from .base import BoundBuiltin, Codegen, ConstantVariable, Translator, Variable, fold

GRAD_MODES = (no_grad, enable_grad, set_grad_enabled)
#: The functions that enter and leave a mode in a graph.
SWITCHES: dict[type, tuple[Callable[..., Any], Callable[[Any], None]]] = {
    inference_mode: (_enter_inference_mode, _exit_inference_mode),
    **dict.fromkeys((autocast, cpu_autocast, cuda_autocast), (_enter_autocast, _exit_autocast))}
#: Settings of the compiler, which no graph has.
SETTINGS = (error_on_graph_break,)
MODES = (*GRAD_MODES, *SWITCHES, *SETTINGS)
ENTERING = (_set_grad_enabled, *[enter for enter, _ in SWITCHES.values()])


class ContextVariable(Variable):
    """A mode: its class and arguments. It is entered while the function is interpreted, too."""

    def __init__(self, kind: type, args: list[Variable], kwargs: dict[str, Variable], real: Any = None) -> None:
        self.kind, self.real = kind, real
        self.args = [arg.value for arg in args]
        self.kwargs = {name: arg.value for name, arg in kwargs.items()}
        self.before: list[Any] = []

    @staticmethod
    def of(real: Any) -> ContextVariable:
        """Return the variable of a mode that exists."""
        kind = autocast if isinstance(real, autocast) else type(real)
        args = [] if kind in (no_grad, enable_grad) else [real.enabled] if kind is set_grad_enabled else [
            real.error_on_graph_break] if kind in SETTINGS else [
            real.mode] if kind is inference_mode else [real.device, real.fast_dtype, real._enabled, real._cache_enabled]
        return context(kind, [ConstantVariable(arg) for arg in args], {}, real)

    def python_type(self) -> type:
        return self.kind

    @property
    def _enabled(self) -> bool:
        if self.kind is set_grad_enabled:
            return bool([*self.args, *self.kwargs.values()][0])
        return self.kind is enable_grad

    def made(self, tx: Translator) -> None:
        """Do what making the object does: ``set_grad_enabled`` switches at once."""
        if self.kind is set_grad_enabled:
            self.before.append(local.grad_enabled)
            self.switch(tx, self._enabled)

    def switch(self, tx: Translator, enabled: bool) -> None:
        """Switch grad mode, in the graph and here."""
        tx.output.node("call_function", _set_grad_enabled, (enabled,), {}, None)
        _set_grad_enabled(enabled)

    def enter(self, tx: Translator) -> None:
        """Enter the mode."""
        if self.kind in GRAD_MODES:
            if not (self.kind is set_grad_enabled and len(self.before) == 1):
                self.before.append(local.grad_enabled)
            self.switch(tx, self._enabled)
            return
        mode, enter = self.real or self.kind(*self.args, **self.kwargs), SWITCHES[self.kind][0]
        settings = (mode.mode,) if self.kind is inference_mode else (
            mode.device, mode.fast_dtype, mode._enabled, mode._cache_enabled)
        node = tx.output.node("call_function", enter, settings, {}, None)
        self.before.append((enter(*settings), node))

    def leave(self, tx: Translator) -> None:
        """Leave the mode."""
        before = self.before.pop()
        if self.kind in GRAD_MODES:
            self.switch(tx, before)
            return
        tx.output.node("call_function", SWITCHES[self.kind][1], (before[1],), {}, None)
        SWITCHES[self.kind][1](before[0])

    def suspend(self, output: Any) -> None:
        """Leave the mode in the graph alone: the code after the graph enters it again."""
        before = self.before[-1]
        if self.kind in GRAD_MODES:
            output.node("call_function", _set_grad_enabled, (before,), {}, None)
        else:
            output.node("call_function", SWITCHES[self.kind][1], (before[1],), {}, None)

    def undo(self) -> None:
        """Leave the mode here alone, when the interpreter ends."""
        before = self.before.pop()
        if self.kind not in GRAD_MODES:
            SWITCHES[self.kind][1](before[0])

    def attribute(self, tx: Translator, name: str) -> Variable:
        if name in ("__enter__", "__exit__", "clone", "__call__"):
            return BoundBuiltin(self, name)
        if self.real is not None:
            return tx.made(fold(tx, getattr, self.real, name))
        raise Break(f"attribute {name!r} of {self}")

    def method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if name == "__enter__":
            tx.output.contexts.append(self)
            self.enter(tx)
            return self
        if name == "__exit__":
            tx.output.contexts.remove(self)
            self.leave(tx)
            return ConstantVariable(None)
        if name == "clone":
            return context(self.kind, [ConstantVariable(arg) for arg in self.args],
                           {key: ConstantVariable(arg) for key, arg in self.kwargs.items()})
        return super().method(tx, name, args, kwargs)

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        """Decorate a function of the interpreted program."""
        if self.kind is set_grad_enabled:
            self.leave(tx)
        function = getattr(args[0], "value", None) if not hasattr(args[0], "_cells") else None
        return DecoratedFunction(self, args[0], function)

    def reconstruct(self, cg: Codegen) -> str:
        if self.real is not None:
            return cg.object(self.real)
        named = "".join(f", {name}={cg.object(value)}" for name, value in self.kwargs.items())
        args = ", ".join(map(cg.object, self.args))
        return f"{cg.object(self.kind)}({args}{named if args else named[2:]})"

    def __str__(self) -> str:
        return f"the context manager {self.kind.__name__}"


class SettingVariable(ContextVariable):
    """A setting of the compiler, which holds while the block is interpreted."""

    def enter(self, tx: Translator) -> None:
        """Enter the block."""
        self.before.append(self.kind(*self.args, **self.kwargs))
        self.before[-1].__enter__()

    def leave(self, tx: Translator) -> None:
        """Leave the block."""
        self.undo()

    def suspend(self, output: Any) -> None:
        """Do nothing: the graph has no such mode."""

    def undo(self) -> None:
        """Leave the block here alone, when the interpreter ends."""
        self.before.pop().__exit__(None, None, None)


def context(kind: type, args: list[Variable], kwargs: dict[str, Variable], real: Any = None) -> ContextVariable:
    """Return the variable of a mode."""
    return (SettingVariable if kind in SETTINGS else ContextVariable)(kind, args, kwargs, real)


class DecoratedFunction(Variable):
    """A function that runs in a mode."""

    def __init__(self, mode: ContextVariable, function: Variable, real: Any) -> None:
        self.mode, self.function = mode, function

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        mode = self.mode.method(tx, "clone", [], {})
        mode.method(tx, "__enter__", [], {})
        try:
            return self.function.call(tx, args, kwargs)
        finally:
            mode.method(tx, "__exit__", [], {})

    def attribute(self, tx: Translator, name: str) -> Variable:
        return self.function.attribute(tx, name)

    def reconstruct(self, cg: Codegen) -> str:
        return f"{cg.value(self.mode)}({cg.value(self.function)})"

"""Forward mode: ``make_dual`` gives a tensor a tangent, operators carry it on, ``unpack_dual`` takes it out again
(``torch.autograd.forward_ad``).

    with dual_level():
        y = f(make_dual(x, v))
        value, derivative = unpack_dual(y)      # f(x), and the product of f's Jacobian at x with v
"""
from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from .._autograd.forward import Level, check_tangent, set_tangent, tangent_of
from .._base.interrupts import Undo, leaving
from .._dispatch.dispatcher import TENSOR_TYPES
from .._dispatch.local import shared
from .._dtype import FLOATING

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    if name == "_current_level":  # the number of the level that was entered last, -1 outside
        return len(shared.dual_levels) - 1
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class UnpackedDualTensor(NamedTuple):
    """The two parts of a dual tensor; ``tangent`` is None if it has none (``forward_ad.UnpackedDualTensor``)."""

    primal: Any
    tangent: Any


def enter_dual_level() -> int:
    """Begin to differentiate forward, until ``exit_dual_level``, and return the level, 0
    (``torch.autograd.forward_ad.enter_dual_level``). Raises RuntimeError if the program does so already, in this thread
    or another. ``torch.func.jvp`` nests.
    """
    if shared.dual_levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    shared.dual_levels = (Level(),)
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End what ``enter_dual_level`` began: all tangents are gone (``torch.autograd.forward_ad.exit_dual_level``).
    Raises RuntimeError if ``level`` is not the one that was entered last, or there is none.
    """
    last = len(shared.dual_levels) - 1
    if last < 0:
        raise RuntimeError("Dual level must be a positive number.")
    if level is not None and level != last:
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not "
                           "supported.")
    shared.dual_levels[-1].end()
    shared.dual_levels = shared.dual_levels[:-1]


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """Return a view of ``tensor`` that carries ``tangent``, of the same shape and dtype
    (``torch.autograd.forward_ad.make_dual``).

    Raises:
        RuntimeError: outside of a dual level, and if the tangent does not fit.
        ValueError: for a dtype without derivatives.
    """
    if level is None and not shared.dual_levels:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to "
                           "enter_dual_level() first.")
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if value.__class__ in TENSOR_TYPES and value._dtype.category < FLOATING:
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {value.dtype}")
    check_tangent(tensor, tangent)
    entered = _level(level)
    if tangent_of(tangent, entered) is not None:
        raise RuntimeError("Setting a forward grad that itself has a forward gradient at the same level "
                           f"{level or 0} is not supported.")
    if tangent_of(tensor, entered) is not None:
        raise RuntimeError("Making a dual Tensor based on a Tensor that already has a forward gradient at the same "
                           f"level {level or 0} is not supported.")
    dual = tensor.view_as(tensor)
    set_tangent(dual, entered, tangent)
    return dual


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the value of a tensor, and its tangent or None (``torch.autograd.forward_ad.unpack_dual``)."""
    if level is None and not shared.dual_levels:
        return UnpackedDualTensor(tensor, None)
    entered = _level(level)
    tangent = tangent_of(tensor, entered)
    primal = tensor.view_as(tensor)
    entered.detach(primal)
    return UnpackedDualTensor(primal, tangent)


def _level(level: int | None) -> Level:
    """Return the level of a number, by default the last one entered. Raises RuntimeError if there is none."""
    try:
        return shared.dual_levels[-1 if level is None else level]
    except IndexError:
        raise RuntimeError(f"there is no dual level {level}: enter_dual_level() first") from None


class dual_level(AbstractContextManager[Any]):
    """A block in which derivatives are computed forward (``torch.autograd.forward_ad.dual_level``)."""

    def __enter__(self) -> int:
        self._level = enter_dual_level()
        return self._level

    def _leaving(self) -> Undo:
        before = shared.dual_levels

        def undo(gone: Any) -> None:
            if shared.dual_levels != before:
                exit_dual_level()

        return undo

    @leaving(_leaving)
    def __exit__(self, *exc: object) -> None:
        exit_dual_level(level=self._level)

"""Two tensors exchange all that they are, but for their identity; and whether modules have their parameters do so."""
from __future__ import annotations

import copyreg
import weakref
from typing import Any, NoReturn

from . import STATE, Tensor, state_of


class _State:
    """The settings, which all threads share."""

    overwrite = False
    swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Set whether ``Module.to`` and its like make new Parameters instead of changing the data of the old ones
    (``torch.__future__.set_overwrite_module_params_on_conversion``).
    """
    _State.overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Return True if converting a module makes new Parameters (``torch.__future__``)."""
    return _State.overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Set whether ``Module.to``, its like and ``load_state_dict`` swap Parameters with new ones
    (``torch.utils.swap_tensors``) instead of changing their data
    (``torch.__future__.set_swap_module_params_on_conversion``).
    """
    _State.swap = value


def get_swap_module_params_on_conversion() -> bool:
    """Return True if converting or loading a module swaps its Parameters (``torch.__future__``)."""
    return _State.swap


def _refuse_backward(grads: Any) -> NoReturn:
    raise RuntimeError(
        "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when you try to run "
        "backward on a tensor that was swapped. For a module m with "
        "`torch.__future__.set_swap_module_params_on_conversion(True)` you should not change the device or dtype of "
        "the module (e.g. `m.cpu()` or `m.half()`) between running forward and backward. To resolve this, please only "
        "change the device/dtype before running forward (or after both forward and backward).")


def _aliases(tensor: Tensor) -> list[tuple[list[weakref.ref[Tensor]], int]]:
    """Return the places in the storage's list of aliases that refer to the tensor."""
    aliases = [] if tensor._storage is None else tensor._storage._aliases
    return [(aliases, i) for i, alias in enumerate(aliases) if alias() is tensor]


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange class, values, metadata and attributes of two tensors, which keep their identity
    (``torch.utils.swap_tensors``). A graph that would accumulate into one of them cannot run backward any more. Raises
    RuntimeError if there is a weak reference to one of them, or if their classes have different slots.
    """
    for name, given in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefcount(given) > len(_aliases(given)):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    slots, others = (set(copyreg._slotnames(type(given))) for given in (t1, t2))  # type: ignore[attr-defined]
    if slots != others:
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    for given in (t1, t2):
        accumulator = None if given._accumulator is None else given._accumulator()
        if accumulator is not None:
            accumulator.register_prehook(_refuse_backward)
    for places, other in ((_aliases(t1), t2), (_aliases(t2), t1)):
        for aliases, i in places:
            aliases[i] = weakref.ref(other)
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    states = state_of(t2), state_of(t1)
    STATE.__set__(t1, states[0])
    STATE.__set__(t2, states[1])
    absent: Any = object()
    for slot in slots:
        values = [getattr(given, slot, absent) for given in (t2, t1)]
        for given, value in zip((t1, t2), values, strict=True):
            if value is not absent:
                setattr(given, slot, value)
            elif hasattr(given, slot):
                delattr(given, slot)

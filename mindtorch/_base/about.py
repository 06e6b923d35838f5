"""The facts of an error: its kind, its details, and the calls that it passed through.

The library raises errors as ``about(error, kind, **facts)``; ``note`` records the calls that an error passes on its way
out. ``mindtorch.introspect.why`` explains errors from these facts, and reads neither messages nor the library's frames.
``tell`` adds a sentence to an error's notes (PEP 678): the module, node or transform in which it arose.
"""
from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from .call_site import place_of
from .formats import memory_format

E = TypeVar("E", bound=BaseException)


class Call(NamedTuple):
    """A call that an error passed through: of an operator, of a module, or of a function by its name."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    depth: int  #: the number of frames between the call and the place that raised
    site: tuple[str, int, str] | None  #: of an operator: the program's file, line and function that called it


class About:
    """The facts of an error: its ``kind``, its details, the calls that it passed through, innermost first, and the
    error's notes by subject (``told``).

    Objects are referred to weakly, so an error keeps no tensor alive longer than its traceback does.
    """

    __slots__ = ("calls", "facts", "kind", "told")

    def __init__(self, kind: str = "", facts: dict[str, Any] | None = None):
        self.kind, self.facts = kind, {} if facts is None else facts
        self.calls: list[Call] = []
        self.told: dict[Any, str] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Drop weak references when the error is copied or sent to another process."""
        return About, (self.kind,)


def about(error: E, kind: str, **facts: Any) -> E:
    """Attach a kind and facts to an error, and return it."""
    referred = {key: fact if fact.__class__ in _PLAIN else weakly(fact) for key, fact in facts.items()}
    error.__dict__["_about"] = About(kind, referred)  # works even if an error's attributes cannot be set
    return error


def kind_of(error: BaseException) -> str:
    """Return the kind that an error was raised with; "" if the library did not describe it."""
    found = error.__dict__.get("_about")
    return found.kind if found is not None else ""


def wrong_argument(function: str, name: str, wanted: str, value: Any, position: int | None = None) -> TypeError:
    """Build PyTorch's error for an argument of the wrong type; ``position`` counts from 1, None for keywords."""
    where, given = "" if position is None else f" (position {position})", type(value).__name__
    return about(TypeError(f"{function}(): argument '{name}'{where} must be {wanted}, not {given}"),
                 "no tensor" if wanted == "Tensor" else "", function=function, argument=name, given=given)


def check_flags(function: str, optional: bool = False, first: int | None = None, **flags: Any) -> None:
    """Raise PyTorch's TypeError unless all of these arguments are bools, or None if ``optional``; NumPy's are none.
    They are keywords, unless the position of the ``first`` is given.
    """
    for place, (name, value) in enumerate(flags.items()):
        if value.__class__ is not bool and not (optional and value is None):
            raise wrong_argument(function, name, "bool", value, None if first is None else first + place)


def check_format(function: str, value: Any) -> None:
    """Raise PyTorch's TypeError unless an argument is a memory format."""
    if value.__class__ is not memory_format:
        raise wrong_argument(function, "memory_format", "torch.memory_format", value)


def note(error: BaseException, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None,
         site: tuple[str, int, str] | None = None) -> None:
    """Record a call that an error passes through. Called only in ``except`` clauses: other calls pay nothing."""
    found = error.__dict__.setdefault("_about", About())
    depth, trace = -1, error.__traceback__
    while trace is not None:
        depth, trace = depth + 1, trace.tb_next
    if found.calls and depth <= found.calls[-1].depth:  # the same object was raised again
        found.calls.clear()
    if len(found.calls) < CALLS:
        found.calls.append(Call(weakly(function), weakly(args), weakly(kwargs or {}), depth, site))


def tell(error: BaseException, subject: Any, sentence: str) -> None:
    """Add a sentence to the error's notes after its operators, replacing an earlier sentence about this subject."""
    _add(error, tell_operators(error), subject, sentence)


def tell_operators(error: BaseException) -> About:
    """Add to the error's notes the innermost operator that each line of the program called; return its facts."""
    found = error.__dict__.setdefault("_about", About())
    for call in found.calls:
        if call.site and call.site not in found.told:
            operator = sketch_operator(strongly(call.function), strongly(call.args))
            _add(error, found, call.site, f"{operator}, called at {place(call.site)}")
    return found


def _add(error: BaseException, found: About, subject: Any, sentence: str) -> None:
    notes = error.__dict__.setdefault("__notes__", [])
    if found.told.get(subject) in notes:
        notes.remove(found.told[subject])
    found.told[subject] = sentence
    if sentence not in notes:  # an earlier raise of the same error may have added it
        notes.append(sentence)


def sketch_operator(op: Any, args: tuple[Any, ...]) -> str:
    """Describe a call of an operator briefly: ``aten::sum.dim_IntList(self=float32[2, 3], dim=[1])``."""
    given = {parameter.name: value for parameter, value in zip(op.schema.parameters, args, strict=False)
             if value is not parameter.default}
    return f"aten::{op.name}{sketch_call((), given)}"


def place(site: tuple[str, int, str]) -> str:
    """Describe a line of a program: ``train.py:12 in forward``, ``cell 3, line 2``."""
    where = place_of(*site[:2])
    return where if where.startswith("cell ") and site[2] == "<module>" else f"{where} in {site[2]}"


def sketch(value: Any) -> str:
    """Describe a value briefly; a tensor by dtype, shape and, off the CPU, its device: ``float32[2, 3]``."""
    if hasattr(type(value), "_grad_edge"):
        device = "" if value._device.type == "cpu" else f" on {value._device}"
        return f"{value._dtype.name}{list(value.shape)}{device}"
    if isinstance(value, (list, tuple)):
        items = [*map(sketch, value[:SKETCHED]), *["..."] * (len(value) > SKETCHED)]
        return f"[{', '.join(items)}]"
    if isinstance(value, str):
        return repr(value[:40])
    says_it = type(value) in _PLAIN or type(value).__name__ in ("DType", "device")
    return str(value) if says_it and type(value) is not type else type(value).__name__


#: The maximum number of recorded calls: an error that is raised repeatedly keeps its growing traceback.
CALLS = 1000
SKETCHED = 4  #: the maximum number of a list's items in a sketch


def sketch_call(args: Iterable[Any], kwargs: Mapping[str, Any]) -> str:
    """Describe the arguments of a call briefly: ``(float32[2, 3], dim=1)``."""
    return f"({', '.join([*map(sketch, args), *(f'{name}={sketch(value)}' for name, value in kwargs.items())])})"


#: Types whose values contain no other objects.
_PLAIN = {int, float, complex, bool, str, bytes, type(None), type}


def weakly(value: Any) -> Any:
    """Replace objects in a value by weak references, also inside lists, tuples and dicts."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, (list, tuple)):
        return [weakly(item) for item in value] if isinstance(value, list) else tuple(map(weakly, value))
    if kind is dict:
        return {key: weakly(item) for key, item in value.items()}
    if kind is slice:
        return slice(weakly(value.start), weakly(value.stop), weakly(value.step))
    try:
        return weakref.ref(value)
    except TypeError:  # a device, a dtype or a NumPy number
        return value


def strongly(value: Any) -> Any:
    """Undo ``weakly``, with None for objects that are gone."""
    if isinstance(value, (list, tuple)):
        return [strongly(item) for item in value] if isinstance(value, list) else tuple(map(strongly, value))
    if type(value) is dict:
        return {key: strongly(item) for key, item in value.items()}
    return value() if isinstance(value, weakref.ref) else value

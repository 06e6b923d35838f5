"""Mistakes in what is read from a checkpoint: the whole file where one part is meant, a part by a name that is not
there, keys with another prefix.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from .explanation import CLASH, GOOD, Diagnosis, Fields, Fix, Group, Groups
from .failure import Failure
from .wrote import is_module, is_optimizer, is_tensor

LISTED = 6  #: keys at most that are named


def _is_state(value: Any) -> bool:
    """Return True for what ``state_dict()`` of a module or an optimizer returns."""
    return isinstance(value, Mapping) and ("param_groups" in value or (
        bool(value) and all(map(is_tensor, value.values()))))


def _quoted(keys: Any) -> str:
    names = [repr(key) for key in keys]
    return ", ".join([*names[:LISTED], *["…"] * (len(names) > LISTED)])


def _fitting(owner: Any, whole: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of a checkpoint under which the state of a module, or of an optimizer, may be."""
    ours = set(owner.state_dict())
    states = {key: part for key, part in whole.items() if _is_state(part)}
    if is_module(owner):
        yield from (key for key, part in states.items() if set(part) == ours)
    yield from (key for key, part in states.items() if is_optimizer(owner) == ("param_groups" in part))


def whole_checkpoint(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``model.load_state_dict(checkpoint)`` of a dictionary that holds the state under a name."""
    wrote = failure.wrote
    owner = getattr(wrote.function, "__self__", None)
    if wrote.name.rpartition(".")[2] != "load_state_dict" or not (is_module(owner) or is_optimizer(owner)):
        return None
    name, whole = wrote.arguments[0] if wrote.arguments else ("", None)
    if not isinstance(whole, Mapping) or _is_state(whole):
        return None
    key = next(_fitting(owner, whole), None)
    if key is None:
        return None
    rest = "".join(f", {word.arg}={wrote.text(word.value)}" for word in wrote.call.keywords) if wrote.call else ""
    what = "model" if is_module(owner) else "optimizer"
    return Diagnosis(
        f"{name} is a whole checkpoint; the state of the {what} is one part of it, {name}[{key!r}]",
        f"It holds {_quoted(whole)}. load_state_dict takes the part that state_dict() returned when it was saved.",
        (Fix("give that part", f"{wrote.name}({name}[{key!r}]{rest})"),),
        (Groups((Group(f"in {name}", tuple(map(repr, list(whole)[:LISTED])), CLASH),
                 Group("wanted", (repr(key),), GOOD))),), ())


def no_such_part(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``checkpoint['state_dict']`` of a checkpoint that does not hold it, and other keys that are not there."""
    error, wrote = failure.error, failure.wrote
    node = wrote.node
    if not isinstance(error, KeyError) or not isinstance(node, ast.Subscript):
        return None
    held, name, key = wrote.value(node.value), wrote.text(node.value), error.args[0] if error.args else None
    if not isinstance(held, Mapping):
        return None
    if _is_state(held):
        return Diagnosis(
            f"{name} has no {key!r}: it is itself a state dict, with the keys {_quoted(held)}",
            "What was saved is the state alone, and not a dictionary that holds it under a name.",
            (Fix("use it as it is", name),),
            (Groups((Group("asked for", (repr(key),), CLASH),
                     Group(f"in {name}", tuple(map(repr, list(held)[:LISTED])), GOOD))),), ())
    from .absent import like

    close = like(str(key), [each for each in held if isinstance(each, str)], 0.6)
    states = [each for each, part in held.items() if _is_state(part)]
    meant = [*close, *(each for each in states if each not in close)]
    return Diagnosis(
        f"{name} has no {key!r}: it holds {_quoted(held)}",
        "A dictionary gives what is kept under a key, letter by letter; what was not put into it is not there.",
        (*(Fix("did you mean" if each in close else "a state is kept "
                                                    "under", f"{name}[{each!r}]") for each in meant[:2]),
         Fix("or, if it was never saved, do without it, or save it from now on")),
        (Groups((Group("asked for", (repr(key),), CLASH),
                 Group(f"in {name}", tuple(map(repr, list(held)[:LISTED])) or ("nothing",), GOOD))),), ())


RECOGNISED = {"whole checkpoint": whole_checkpoint, "no such part": no_such_part}

"""Examples of functions, found by trying: small arguments that fit a signature, and the printed result of the call."""
from __future__ import annotations

import ast
import inspect
import tomllib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mindtorch as torch
from mindtorch._dispatch.schema import REQUIRED

TABLES = tomllib.loads((Path(__file__).parent / "examples.toml").read_text(encoding="utf-8"))
NAMES = ("x", "y", "z")  #: of the first, the second, the third tensor
INDEX = {"index": ("index", "tensor([0, 1])")}  #: where an index of one dimension is tried first
LONGEST = 14  #: lines of a result


def written(name: str) -> str:
    """Return the example of a name in the table of whole examples, with its printed result; '' if it has none.

    Raises:
        ValueError: if it fails.
    """
    lines = TABLES["calls"].get(name)
    found = shown(lines[:-1], lines[-1]) if lines else ""
    if lines and not found:
        raise ValueError(f"the example of {name} fails, or its result is too long")
    return found


def example(name: str, packet: str, is_method: bool) -> str:
    """Return the first call of an operator's function that succeeds, with its printed result; '' if none is found."""
    if name in TABLES["calls"]:
        return written(name)
    ops = [op for op in torch.registry.packets[packet] if not op.is_out]
    for tensors in TABLES["tensors"]:
        for op in ops:
            required = [p for p in op.schema.parameters if p.default is REQUIRED]
            found = attempt(name, required, tensors, is_method)
            if found:
                return found
    return ""


def attempt(name: str, required: list[Any], tensors: list[str], is_method: bool) -> str:
    """Try a call with these tensors, and each fitting choice of the other arguments."""
    for special in ({**TABLES["named_tensors"], **INDEX}, TABLES["named_tensors"]):
        left = iter(zip(NAMES, tensors, strict=True))
        defined: dict[str, str] = {}
        choices: list[list[str]] = []
        try:
            for p in required:
                if p.is_tensor and not p.is_list:
                    variable, value = special[p.name] if p.name in special else next(left)
                    defined[variable] = value
                    choices.append([variable])
                else:
                    choices.append(TABLES["values"].get(p.name) or TABLES["types"].get(
                        f"{p.base}[]" if p.is_list else p.base, ["1"]))
        except StopIteration:
            return ""
        keywords = [p.name if p.kwarg_only else "" for p in required]
        for arguments in combined(choices):
            used = {**defined, **{variable: value for variable, value in zip(NAMES, tensors, strict=True)
                                  if any(variable in names_in(argument) for argument in arguments)}}
            given = [f"{key}={value}" if key else value for key, value in zip(keywords, arguments, strict=True)]
            owner = name if not is_method else f"{given.pop(0)}.{name.rpartition('.')[2]}" if given else name
            found = shown([f"{variable} = torch.{value}" for variable, value in used.items()],
                          f"{owner}({', '.join(given)})")
            if found:
                return found
    return ""


def combined(choices: list[list[str]], most: int = 12) -> Iterator[list[str]]:
    """Yield choices of one value each, the first of all first."""
    for number in range(min(most, max(map(len, choices), default=1))):
        yield [values[min(number, len(values) - 1)] for values in choices]


def names_in(text: str) -> set[str]:
    """Return the names in an expression."""
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}


def shown(setup: list[str], call: str) -> str:
    """Run lines and a call, and return both as a session with the call's result; '' if it fails, or says too much."""
    space: dict[str, Any] = {"torch": torch}
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for line in setup:
                exec(line, space)
            result = eval(call, space)
    except Exception:  # these arguments do not fit
        return ""
    text = "" if result is None else repr(result)
    if len(text.splitlines()) > LONGEST or " at 0x" in text or (not text and result is not None):
        return ""
    return "\n".join([*(f">>> {line}" for line in [*setup, call]), *text.splitlines()])


# -- classes -----------------------------------------------------------------------------------------------------------

def of_class(name: str, cls: type) -> str:
    """Return an example of a class: a module with the shape of a result, another object as it prints; '' if none."""
    given = arguments_of(cls)
    if given is None or name in TABLES["calls"]:
        return written(name)
    made = f"{name}({', '.join(given)})"
    setup = ["w = torch.ones(2, requires_grad=True)"] * ("[w]" in made)
    if issubclass(cls, torch.nn.Module):
        for inputs in TABLES["inputs"]:
            found = shown([*setup, f"module = {made}", f"result = module({inputs})"],
                          "result.shape") or shown([*setup, f"module = {made}", f"result = module({inputs})"],
                                                   "[one.shape for one in result if isinstance(one, torch.Tensor)]")
            if found:
                return found
    elif issubclass(cls, torch.optim.Optimizer):
        found = shown([*setup, f"optimizer = {made}", "w.square().sum().backward()", "loss = optimizer.step()"], "w")
        if found:
            return found
    elif issubclass(cls, torch.distributions.Distribution):
        for call in ("d.sample()", "d.mean"):
            found = shown([*setup, f"d = {made}"], call)
            if found:
                return found
    return shown(setup, made)


def arguments_of(cls: Callable[..., Any]) -> list[str] | None:
    """Return arguments for the required parameters of a constructor; None if one is unknown."""
    try:
        parameters = list(inspect.signature(cls).parameters.values())
    except (TypeError, ValueError):
        return None
    known, given = TABLES["constructors"], []
    for p in parameters:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) or (p.default is not p.empty and p.name not in ("probs", "lr")):
            continue
        if p.name not in known:
            return None
        is_keyword = p.kind is p.KEYWORD_ONLY or p.default is not p.empty
        given.append(f"{p.name}={known[p.name]}" if is_keyword else known[p.name])
    return given

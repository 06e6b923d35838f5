"""Why a module could not be made or called: arguments of forward, attributes, what is no parameter."""
from __future__ import annotations

import difflib
import inspect
import re
from typing import Any

from .facts import CLASH, GOOD, Cure, Finding, Group, Groups, Step, Steps
from .programs import LISTED
from .scene import Scene


def called(scene: Scene, match: re.Match[str]) -> Finding | None:
    """A module that was called with other arguments than its forward takes."""
    module = scene.local("self", "__call__")
    if module is None:
        return None
    parameters = inspect.signature(module.forward).parameters.values()
    kind, taken = type(module).__name__, f"({', '.join(str(p.replace(annotation=p.empty)) for p in parameters)})"
    given: list[str] = [type(value).__name__ for value in scene.local("args", "__call__") or ()]
    given += [f"{name}=…" for name in scene.local("kwargs", "__call__") or ()]
    return Finding(
        f"{kind} does not take these arguments: {match[2]}",
        f"Calling a module calls its forward, which takes {taken}.",
        (Cure("give it what forward takes", f"module{taken}"), Cure("or change its forward, if it is one of your own")),
        (Groups((Group("given", tuple(given) or ("nothing",), CLASH), Group("taken", (taken,), GOOD))),),
        (),
    )  # fmt: skip


def no_attribute(scene: Scene, match: re.Match[str]) -> Finding | None:
    """A name that a module does not have; a module that was never made has none at all."""
    module, name = scene.local("self", "__getattr__"), scene.local("name", "__getattr__")
    if module is None:
        return None
    if "_parameters" not in vars(module):
        return before_init(scene, match)
    kind = type(module).__name__
    inner = [*module._parameters, *module._buffers, *module._modules]
    own = [key for key in vars(module) if not key.startswith("_") and key != "training"]
    close = difflib.get_close_matches(name, [*inner, *own, *(n for n in dir(type(module)) if n[0] != "_")], 1, 0.6)
    return Finding(
        f"this {kind} has no {name}",
        "An attribute is there once __init__, or what runs later, has assigned it. Parameters, buffers and modules are "
        "found among those assigned to self.",
        (*((Cure("did you mean", f".{close[0]}"),) if close else ()),
         Cure("or assign it in __init__", f"self.{name} = …")),
        (Groups((Group("asked for", (name,), CLASH),
                 Group(f"{kind} holds", tuple([*inner, *own][:LISTED]) or ("nothing",), GOOD if inner or own else ""))),),
        (),
    )  # fmt: skip


def state_dict_type(scene: Scene, match: re.Match[str]) -> Finding:
    given = match[1].rpartition(".")[2]
    value = scene.local("state_dict", "load_state_dict")
    if given in ("str", "PosixPath", "bytes"):
        cures = [Cure("read the file first, and give what it holds")]
    elif hasattr(value, "state_dict"):
        cures = [Cure("ask the other module for its state", "model.load_state_dict(other.state_dict())")]
    else:
        cures = [Cure("give a dictionary of tensors, by the names of parameters and buffers", "dict(names_and_tensors)")]
    return Finding(
        f"a state dict is a dictionary, and a {given} was given",
        "It holds a tensor under the path of every parameter and buffer, as model.state_dict() returns it.",
        tuple(cures),
        (Groups((Group("given", (given,), CLASH), Group("taken", ("{'0.weight': tensor, …}",), GOOD))),),
        (),
    )


def before_init(scene: Scene, match: re.Match[str]) -> Finding:
    early = "was used" if match[0].startswith("'") else f"was given a {match[1].removesuffix('s')}"
    return Finding(
        f"the module {early} before the __init__ of nn.Module had run",
        "nn.Module keeps parameters, buffers and modules in tables of its own, which its __init__ makes. A class with an "
        "__init__ of its own must call it first.",
        (Cure("as the first line of __init__", "super().__init__()"),),
        (Steps((Step("super().__init__()", "makes the tables"), Step("module(…)" if early == "was used" else "self.… = …", "too early", CLASH))),),
        (),
    )


def no_forward(scene: Scene, match: re.Match[str]) -> Finding:
    module: Any = scene.local("self")
    own = [name for name in vars(type(module)) if callable(getattr(type(module), name)) and not name.startswith("__")]
    close = difflib.get_close_matches("forward", own, 1, 0.6)
    cures = [Cure("it may be misspelt", f"def forward(…): …  # not {close[0]}")] if close else []
    return Finding(
        f"{match[1]} has no forward: it cannot be called",
        "Calling a module calls its method forward, which every module of one's own must define, inside the class.",
        (*cures, Cure("define it, indented as a method of the class", "def forward(self, x): …")),
        (Groups((Group("methods of the class", tuple(own[:LISTED]) or ("none",)), Group("wanted", ("forward",), CLASH))),),
        (),
    )  # fmt: skip


def no_parameter(scene: Scene, match: re.Match[str]) -> Finding:
    value = scene.local("value")
    involved = (scene.involved(value, "value"),) if hasattr(value, "_grad_fn") else ()
    name = match[2]
    return Finding(
        f"{name} is a parameter, and was to become a plain tensor",
        "An optimizer and a state dict know a parameter by its place in the module. A tensor there would drop out of both.",
        (Cure("to change its values, as in initialising", f"with torch.no_grad(): module.{name}.copy_(value)"),
         Cure("to put another parameter there", f"module.{name} = nn.Parameter(value)"),
         Cure("to have a plain tensor there from now on", f"del module.{name}")),
        (Groups((Group("there", (f"{name}: nn.Parameter",), GOOD), Group("assigned", (match[1],), CLASH))),),
        involved,
    )  # fmt: skip

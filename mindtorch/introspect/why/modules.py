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


def before_init(scene: Scene, match: re.Match[str]) -> Finding:
    return Finding(
        f"the module was given {match[1]} before it was a module",
        "nn.Module keeps parameters, buffers and modules in tables of its own, which its __init__ makes. A class with an "
        "__init__ of its own must call it first.",
        (Cure("as the first line of __init__", "super().__init__()"),),
        (Steps((Step("super().__init__()", "makes the tables"), Step("self.… = …", "too early", CLASH))),),
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

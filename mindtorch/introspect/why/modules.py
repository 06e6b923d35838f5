"""Why a module, an optimizer or an operator could not be called: arguments, attributes, states, names; pipelines."""
from __future__ import annotations

import difflib
import inspect
import linecache
import re
import sys
from collections.abc import Iterable
from typing import Any

from ..._dispatch.dispatcher import registry
from .explanation import (
    CLASH, GONE, GOOD, Diagnosis, Fields, Fix, Group, Groups, Picture, ShapeRow, Shapes, Step, Steps, cells, given,
    plain, text,
)
from .failure import Failure

#: Where a function or a class of the library is looked for.
SPACES = ("mindtorch", "mindtorch.nn", "mindtorch.nn.functional", "mindtorch.optim")
NAMES = "mindtorch has PyTorch's names; either this one is spelt otherwise, or mindtorch does not have it yet."
LISTED = 6  #: keys, operators or the like at most that are named


def _few(names: list[str]) -> tuple[str, ...]:
    return (*names[:LISTED], *[f"… {len(names) - LISTED} more"] * (len(names) > LISTED))


def _like(name: str, there: Iterable[str], least: float = 0.6) -> list[str]:
    return difflib.get_close_matches(name, list(there), LISTED, least)


def _names_like(asked: str, close: list[str]) -> Groups:
    """A name that does not exist, beside those that look like it."""
    return Groups((Group("asked for", (asked,), CLASH),
                   Group("names like it", tuple(close) or ("none",), GOOD if close else "")))


# -- modules -------------------------------------------------------------------------------------------------------


def called(failure: Failure, f: Fields) -> Diagnosis | None:
    """A module that was called with other arguments than its forward takes: Python's error, in the library's frame."""
    call = next(iter(failure.outer[::-1]), None)
    if call is None or not hasattr(call.function, "forward"):
        return None
    parameters = inspect.signature(call.function.forward).parameters.values()
    kind, taken = type(call.function).__name__, f"({', '.join(str(p.replace(annotation=p.empty)) for p in parameters)})"
    passed = [*(type(value).__name__ for value in call.args), *(f"{name}=…" for name in call.keywords)]
    return Diagnosis(
        f"{kind} does not take these arguments: {f.reason}",
        f"Calling a module calls its forward, which takes {taken}.",
        (Fix("give it what forward takes", f"module{taken}"), Fix("or change its forward, if it is one of your own")),
        (given(passed or ["nothing"], taken),), ())


def no_attribute(failure: Failure, f: Fields) -> Diagnosis:
    """A name that a module does not have; a module that was never made has none at all."""
    module, kind = f.module, type(f.module).__name__
    if "_parameters" not in vars(module):
        return before_init(failure, f)
    inner = [*module._parameters, *module._buffers, *module._modules]
    own = [key for key in vars(module) if not key.startswith("_") and key != "training"]
    close = _like(f.name, [*inner, *own, *(n for n in dir(type(module)) if n[0] != "_")])
    return Diagnosis(
        f"this {kind} has no {f.name}",
        "An attribute is there once __init__, or what runs later, has assigned it. Parameters, buffers and modules are "
        "found among those assigned to self.",
        (*[Fix("did you mean", f".{name}") for name in close[:1]],
         Fix("or assign it in __init__", f"self.{f.name} = …")),
        (Groups((Group("asked for", (f.name,), CLASH),
                 Group(f"{kind} holds", (*inner, *own)[:LISTED] or ("nothing",), GOOD if inner or own else ""))),), ())


def before_init(failure: Failure, f: Fields) -> Diagnosis:
    used = f.kind == "no attribute"
    return Diagnosis(
        f"the module {'was used' if used else f'was given a {f.what}'} before the __init__ of nn.Module had run",
        "nn.Module keeps parameters, buffers and modules in tables of its own, which its __init__ makes. A class with "
        "an __init__ of its own must call it first.", (Fix("as the first line of __init__", "super().__init__()"),),
        (Steps((Step("super().__init__()", "makes the tables"),
                Step("module(…)" if used else "self.… = …", "too early", CLASH))),), ())


def no_forward(failure: Failure, f: Fields) -> Diagnosis:
    kind = type(f.module)
    own = [name for name in vars(kind) if callable(getattr(kind, name)) and not name.startswith("__")]
    return Diagnosis(
        f"{kind.__name__} has no forward: it cannot be called",
        "Calling a module calls its method forward, which every module of one's own must define, inside the class.",
        (*[Fix("it may be misspelt", f"def forward(…): …  # not {name}") for name in _like("forward", own)[:1]],
         Fix("define it, indented as a method of the class", "def forward(self, x): …")),
        (Groups((Group("methods of the class", tuple(own[:LISTED]) or ("none",)),
                 Group("wanted", ("forward",), CLASH))),), ())


# -- state dicts ---------------------------------------------------------------------------------------------------


def state_dict_type(failure: Failure, f: Fields) -> Diagnosis:
    fix = (Fix("read the file first, and give what it holds") if f.given in ("str", "PosixPath", "bytes") else
           Fix("ask the other module for its state", "model.load_state_dict(other.state_dict())")
           if hasattr(f.state, "state_dict") else
           Fix("give a dictionary of tensors, by the names of parameters and buffers", "dict(names_and_tensors)"))
    return Diagnosis(
        f"a state dict is a dictionary, and a {f.given} was given",
        "It holds a tensor under the path of every parameter and buffer, as model.state_dict() returns it.", (fix,),
        (given([f.given], "{'0.weight': tensor, …}"),), ())


def state_dict(failure: Failure, f: Fields) -> Diagnosis:
    missing, unexpected, there = f.missing, f.unexpected, dict(f.state)
    pairs = [(key, there[key], ours) for key, ours in f.module.state_dict().items() if key in there]
    mismatched = [(key, tuple(theirs.shape), tuple(ours.shape)) for key, theirs, ours in pairs
                  if hasattr(theirs, "shape") and hasattr(ours, "shape") and theirs.shape != ours.shape]
    strange = [(key, type(theirs).__name__) for key, theirs, ours in pairs
               if hasattr(ours, "_grad_fn") and not hasattr(theirs, "_grad_fn")]
    pictures: list[Picture] = []
    fixes = []
    if mismatched:
        rows = []
        for key, a, b in mismatched[:LISTED]:
            wrong = [d for d in range(max(len(a), len(b))) if a[d:d + 1] != b[d:d + 1]]
            rows += [ShapeRow(key, cells(a, wrong), "in the state dict"), ShapeRow("", cells(b, wrong), "in the model")]
        pictures.append(Shapes(tuple(rows)))
        if all(a == b[::-1] for _, a, b in mismatched):
            fixes.append(Fix("they are transposed: turn them before loading", f"state['{mismatched[0][0]}'].T"))
        fixes.append(Fix("make the model with the sizes that were saved, or leave these keys out: strict=False"))
    if missing or unexpected:
        pictures.append(Groups((
            Group("only in the model: missing", _few(missing) or ("none",), CLASH if missing else ""),
            Group("only in the state dict: unexpected", _few(unexpected) or ("none",), CLASH if unexpected else ""))))
        fixes += _renaming(missing, unexpected)
        fixes.append(Fix("to load what fits and leave the rest", "model.load_state_dict(state, strict=False)"))
    if strange:
        pictures.append(Groups((Group("no tensors", _few([f"{key}: {kind}" for key, kind in strange]), CLASH),)))
        fixes.append(Fix("make tensors of them", f"torch.as_tensor(state['{strange[0][0]}'])"))
    parts = [f"{len(strange)} that {'are no tensors' if len(strange) > 1 else 'is no tensor'}"] * bool(strange)
    parts += [f"{len(mismatched)} of other shapes"] * bool(mismatched)
    parts += [f"{len(missing)} missing"] * bool(missing) + [f"{len(unexpected)} unexpected"] * bool(unexpected)
    return Diagnosis(
        f"the state dict does not fit {type(f.module).__name__}: {', '.join(parts)}",
        "A state dict holds a tensor under the path of every parameter and buffer. Paths and shapes must be those of "
        "the model, so it must be built as it was when it was saved.", tuple(fixes), tuple(pictures), ())


def _renaming(missing: list[str], unexpected: list[str]) -> list[Fix]:
    """A prefix that one side has and the other has not."""
    for theirs, ours in ((unexpected, missing), (missing, unexpected)):
        for long in theirs:
            short = next((key for key in ours if long.endswith(f".{key}")), None)
            if short is None:
                continue
            prefix = long.removesuffix(short)
            if theirs is unexpected:
                return [Fix(f"the saved keys begin with {prefix!r}, the model's do not",
                            f"{{k.removeprefix({prefix!r}): v for k, v in state.items()}}")]
            return [Fix(f"the model's keys begin with {prefix!r}, the saved ones do not",
                         f"{{{prefix!r} + k: v for k, v in state.items()}}")]
    return []


# -- optimizers ----------------------------------------------------------------------------------------------------


def no_gradient(failure: Failure, f: Fields) -> Diagnosis | None:
    """What was done to a ``.grad`` that is None. Python raises this in the program's own frame."""
    call = failure.call()
    found = re.search(r"([\w.\[\]]+)\.grad\b(?!_)", call.text) if call else None  # in the program's line
    owner = failure.named.get(found[1]) if found else None
    if found is None or (owner is not None and owner._grad is not None):
        return None
    label = found[1]
    state = ("is of a tensor that is not known here" if owner is None else
             "was computed: only leaves keep theirs" if owner._grad_fn is not None else
             "no backward came to it yet" if owner.requires_grad else "does not require grad")
    fixes = {"was computed: only leaves keep theirs": Fix("keep it, before backward", f"{label}.retain_grad()"),
             "does not require grad": Fix("ask for it, before computing", f"{label}.requires_grad_()")}
    return Diagnosis(
        f"{label}.grad is None: there is no gradient",
        "A gradient is there once backward went through a graph that leads to the tensor; optimizer.zero_grad() and "
        "model.zero_grad() make it None again.",
        (fixes.get(state), Fix("go back first", "loss.backward()"),
         Fix("or leave out what has none", f"if {label}.grad is not None: …")),
        (Steps((Step(label, state), Step("backward", "has brought it no gradient"),
                Step(f"{label}.grad", "is None", CLASH))),),
        () if owner is None else (failure.involved(owner, "tensor"),))


def not_optimized(failure: Failure, f: Fields) -> Diagnosis:
    """What is no tensor among the parameters of an optimizer."""
    kind = f.given.rpartition(".")[2]
    fixes = {"dict": Fix("groups are given alone, not mixed with tensors",
                         "optim.SGD([{'params': [w]}, {'params': [b]}], lr=0.1)"),
             "str": Fix("a state dict yields names: give the parameters", "model.parameters()"),
             "tuple": Fix("named_parameters() alone yields names too; give all of them so, or", "model.parameters()")}
    return Diagnosis(
        f"an optimizer changes tensors, and was given a {kind} among them",
        "It goes through what it is given, and each must be a leaf tensor: a parameter.",
        (fixes.get(kind, Fix("give the parameters of a module, not the module", "model.parameters()")),),
        (given([kind], "[w, b]", "model.parameters()"),), ())


# -- names ---------------------------------------------------------------------------------------------------------


def no_kernel(failure: Failure, f: Fields) -> Diagnosis:
    there = tuple(f.there)
    groups = (Group(f"kernel of {f.name} for", there or ("no backend",), GOOD if there else CLASH),
              Group("called for", (f.backend,), CLASH))
    return Diagnosis(
        f"{f.name} has no kernel for {f.backend}",
        "The dispatcher looks up a kernel by the keys of the operands; the table of this operator has none for theirs.",
        (Fix("move the operands to where it has one", "x.to('cpu')") if "CPU" in there else None,
         Fix(f"or write one: a function of tensors, for {f.backend}",
             f"torch.library.impl({f.name!r}, {f.backend.lower()!r}, my_function)")), (Groups(groups),))


def unknown_operator(failure: Failure, f: Fields) -> Diagnosis:
    close = _like(f.name.partition(".")[0], registry.packets)
    return Diagnosis(
        f"no operator is called {f.name}",
        f"{len(registry.packets):,} operators are registered, under ATen's names; add.Tensor is the overload Tensor "
        f"of add.",
        (*[Fix("did you mean", f"torch.ops.aten.{name}") for name in close[:1]],
         Fix("or define it, with a kernel", f'@torch.library.kernel("{f.name}(Tensor self) -> Tensor", "cpu")')),
        (_names_like(f.name, close),))


def no_name(failure: Failure, f: Fields) -> Diagnosis:
    error: Any = failure.error
    name, owner = error.name, error.obj
    what = owner.__name__ if hasattr(owner, "__name__") else f"a {type(owner).__name__}"
    close = _like(name, (n for n in dir(owner) if not n.startswith("_")))
    return Diagnosis(
        f"{what} has no {name}", NAMES,
        (Fix("did you mean", close[0]) if close else Fix(f"list what there is: dir({what.removeprefix('a ')})"),),
        (_names_like(name, close),), (failure.involved(owner, "self"),) if hasattr(owner, "_grad_fn") else ())


def no_module(failure: Failure, f: Fields) -> Diagnosis:
    """An import of what mindtorch does not have."""
    space, name = (f.space, f.name) if f.name else f.module.rpartition(".")[::2]
    close = _like(name, (found for found in dir(sys.modules.get(space)) if not found.startswith("_")))
    return Diagnosis(
        f"{space} has no {name}", NAMES,
        (Fix("did you mean", f"from {space} import {close[0]}") if close else
         Fix(f"list what there is: dir({space})"),), (_names_like(f"{space}.{name}", close),), ())


def unknown_argument(failure: Failure, f: Fields) -> Diagnosis | None:
    """A keyword that a function of the library does not have."""
    name, keyword = f.function.removesuffix(".__init__").rpartition(".")[2], f.keyword
    spaces = [sys.modules[space] for space in SPACES if space in sys.modules]
    function = next((getattr(space, name) for space in spaces if hasattr(space, name)), None)
    if not callable(function):
        return None
    parameters = inspect.signature(function).parameters.values()
    taken = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    close = _like(keyword, taken, 0.5)
    return Diagnosis(
        f"{name} has no argument {keyword}", "Arguments that are named must be among those of the function.",
        (Fix("did you mean", f"{close[0]}=…") if close else Fix("see what it takes", f"help(torch.{name})"),),
        (given([f"{keyword}=…"], *taken),), ())


# -- what fails late -----------------------------------------------------------------------------------------------


def singular(failure: Failure, f: Fields) -> Diagnosis:
    title = f"{f.x} is singular: it has no inverse"
    cause = "Its rows depend on each other, so that the system has no solution, or many."
    fix = Fix("or find the solution with the least error", f"torch.linalg.pinv({f.x})")
    if f.definite:
        title = f"{f.x} is not positive definite"
        cause = "Cholesky's factors exist for symmetric matrices whose eigenvalues are all greater than 0."
        fix = Fix("look at the eigenvalues", f"torch.linalg.eigvalsh({f.x})")
    return Diagnosis(title, cause, (Fix("add a little to the diagonal", f"{f.x} + 1e-6 * torch.eye({f.x}.shape[-1])"),
                                    fix), (plain(f.x, note=lambda t: ""),))


def pipeline(failure: Failure, f: Fields) -> Diagnosis:
    """An operator that failed when a pipeline ran; ``__init__.explain`` adds why."""
    queue, position = f.queue, f.position
    first = max(0, position - 3)
    steps = [Step("…", f"{first} that ran")] if first else []
    for number, entry in enumerate(queue[first:position + 4], first):
        shapes = ", ".join(text(shape) for shape in entry.shapes)
        state = ("failed", CLASH) if number == position else ("ran", GOOD) if number < position else ("given up", GONE)
        source = linecache.getline(*entry.site[:2]).strip()
        steps.append(Step(entry.op.name, f"line {entry.site[1]}: {source} · {shapes} · {state[0]}", state[1]))
    if len(queue) > position + 4:
        steps.append(Step("…", f"{len(queue) - position - 4} given up", GONE))
    failed, inner = queue[position], failure.error.__cause__
    return Diagnosis(
        f"aten::{failed.op.name}, recorded at line {failed.site[1]}, failed when the pipeline ran",
        "In a pipeline an operator is only recorded; its values come when the queue runs, which is where the error "
        f"shows. What had run before keeps its values; the tensors of the {len(queue) - position} operators from "
        f"there on never get theirs. What went wrong: {type(inner).__name__}: {inner}",
        (Fix("run the cell without the pipeline: the error then comes at its line"),
         Fix("or see what is recorded, and when it runs", "%%pipeline")),
        (Steps(tuple(steps), "The queue, in the order of recording."),))

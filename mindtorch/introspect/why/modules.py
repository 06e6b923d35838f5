"""Why a module, an optimizer or an operator could not be called: arguments, attributes, states, names; pipelines."""
from __future__ import annotations

import ast
import difflib
import inspect
import linecache
import re
import sys
from collections.abc import Iterable
from typing import Any

from ..._dispatch.dispatcher import registry
from ..libraries import library_of
from . import absent
from .explanation import (
    CLASH, GONE, GOOD, Diagnosis, Fields, Fix, Group, Groups, Picture, ShapeRow, Shapes, Step, Steps, cells, given,
    plain, text,
)
from .failure import Failure, is_computed
from .wrote import is_tensor

#: Where a function or a class of the library is looked for.
SPACES = ("mindtorch", "mindtorch.nn", "mindtorch.nn.functional", "mindtorch.optim")
LISTED = 6  #: keys, operators or the like at most that are named


def _few(names: list[str]) -> tuple[str, ...]:
    return (*names[:LISTED], *[f"… {len(names) - LISTED} more"] * (len(names) > LISTED))


def _like(name: str, there: Iterable[str], least: float = 0.6) -> list[str]:
    return difflib.get_close_matches(name, list(there), LISTED, least)


def _names_like(asked: str, close: list[str]) -> Groups:
    """Show a missing name beside similar ones."""
    return Groups((Group("asked for", (asked,), CLASH),
                   Group("names like it", tuple(close) or ("none",), GOOD if close else "")))


# -- modules -------------------------------------------------------------------------------------------------------


def called(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain a module called with other arguments than its forward takes: Python's error, in the library's frame."""
    call = next(iter(failure.outer[::-1]), None)
    if call is None or not hasattr(call.function, "forward"):
        return None
    parameters = list(inspect.signature(call.function.forward).parameters.values())
    kind, taken = type(call.function).__name__, f"({', '.join(str(p.replace(annotation=p.empty)) for p in parameters)})"
    passed = [*(type(value).__name__ for value in call.args), *(f"{name}=…" for name in call.keywords)]
    names = list(inspect.signature(type(call.function).forward).parameters)
    if names[:1] != ["self"] and len(names) == len(call.args):
        right = f"def forward({', '.join(['self', *names])})"
        return Diagnosis(
            f"the forward of {kind} lacks self", "The first parameter of a method is the object that it is called on, "
            f"by custom self; here {names[0] if names else 'nothing'} stands in its place.",
            (Fix("write self first", f"{right}: …"),), (given([f"forward({', '.join(names)})"], right),), ())
    wrote, label = failure.wrote, failure.module_name(call.function)
    written = [text for text, _ in wrote.arguments] if wrote.name == label else []
    most = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)
    if kind == "Sequential":
        return Diagnosis(
            f"Sequential takes one value, and passes it from layer to layer; here {len(passed)} were given",
            "What one layer returns is all that the next one is given. With several inputs, the forward of a module of "
            "your own gives each layer what it takes.",
            (Fix("write that module", "def forward(self, x, y): …"),
             Fix("or, of layers that take several, give one tuple, which the first takes apart")),
            (given(passed, "x"),), ())
    lacks = [p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD][len(call.args):]
    lacks = [name for name in lacks if name not in call.keywords]
    return Diagnosis(
        f"{kind} does not take these arguments: {f.reason}",
        f"Calling a module calls its forward, which takes {taken}.",
        (Fix("give it what forward takes", f"{label or 'module'}({', '.join(written[:most])})")
         if len(written) > most and not call.keywords else None,
         Fix("give what is missing", f"{label or 'module'}({', '.join([*written, *(f'{name}=…' for name in lacks)])})")
         if lacks else None,
         Fix("or change its forward, if it is one of your own")),
        (given(passed or ["nothing"], taken),), ())


def absent_attribute(failure: Failure, f: Fields) -> Diagnosis:
    """Explain an attribute that a module does not have; a module that was never initialised has none."""
    never_made = "_parameters" not in vars(f.module)
    return before_init(failure, f) if never_made else absent.no_attribute(failure, f)


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
    if kind.__name__ in ("ModuleList", "ModuleDict"):
        each = "f" if kind.__name__ == "ModuleList" else "f.values()"
        return Diagnosis(
            f"a {kind.__name__} holds modules, and says nothing of how they are called",
            "It makes its modules known to the one that holds it. A Sequential calls them one after the other.",
            (Fix("call each in forward", "for f in self.layers: x = f(x)"),
             Fix("or, if they follow each other, have them in a Sequential", f"nn.Sequential(*{each})")),
            (Steps((Step(kind.__name__, "holds", GOOD), Step("nn.Sequential", "holds, and calls in turn", GOOD))),), ())
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
               if is_tensor(ours) and not is_tensor(theirs)]
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
        wrote = failure.wrote
        state = wrote.arguments[0][0] if wrote.arguments else "state"
        loads = wrote.name if wrote.name.endswith("load_state_dict") else "model.load_state_dict"
        fixes += _renaming(missing, unexpected, state)
        fixes.append(Fix("to load what fits and leave the rest", f"{loads}({state}, strict=False)"))
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


def _renaming(missing: list[str], unexpected: list[str], state: str) -> list[Fix]:
    """Suggest removing or adding a prefix that only one side has."""
    for theirs, ours in ((unexpected, missing), (missing, unexpected)):
        for long in theirs:
            short = next((key for key in ours if long.endswith(f".{key}")), None)
            if short is None:
                continue
            prefix = long.removesuffix(short)
            if theirs is unexpected:
                return [Fix(f"the saved keys begin with {prefix!r}, the model's do not",
                            f"{{k.removeprefix({prefix!r}): v for k, v in {state}.items()}}")]
            return [Fix(f"the model's keys begin with {prefix!r}, the saved ones do not",
                         f"{{{prefix!r} + k: v for k, v in {state}.items()}}")]
    return []


# -- optimizers ----------------------------------------------------------------------------------------------------


def no_gradient(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain the use of a ``.grad`` that is None, which Python reports in the program's own frame."""
    call = failure.call()
    found = re.search(r"([\w.\[\]]+)\.grad\b(?!_)", call.text) if call else None  # in the program's line
    owner = failure.named.get(found[1]) if found else None
    if found is None or (owner is not None and library_of(owner).grad(owner) is not None):
        return None
    label = found[1]
    computed = owner is not None and is_computed(owner)
    if computed and _reassigned(failure, label):
        return _replaced(failure, label, owner)
    state = ("is of a tensor that is not known here" if owner is None else
             "was computed: only leaves keep theirs" if computed else
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


def _reassigned(failure: Failure, label: str) -> bool:
    """Return True if the program assigns to a name what it computes from it: ``w = w - lr * w.grad``."""
    return any(isinstance(node, ast.Name) and node.id == label
               for value in failure.wrote.assignments(label) for node in ast.walk(value))


def _replaced(failure: Failure, label: str, owner: Any) -> Diagnosis:
    update: Any = next(value for value in failure.wrote.assignments(label)
                  if any(isinstance(node, ast.Name) and node.id == label for node in ast.walk(value)))
    less = isinstance(update, ast.BinOp) and isinstance(update.op, ast.Sub) and ast.unparse(update.left) == label
    step = f"{label} -= {ast.unparse(update.right)}" if less else f"{label}.copy_({ast.unparse(update)})"
    return Diagnosis(
        f"{label} is no longer the leaf that it was: {label} = … computed a new tensor, which keeps no gradient",
        f"The new tensor is a result, with a graph that leads back to the old one and grows with each step. Backward "
        f"leaves gradients in leaves only, so {label}.grad is None.",
        (Fix("change the leaf in place, recording nothing", f"with torch.no_grad(): {step}"),
         Fix("then forget the gradient before the next step", f"{label}.grad = None"),
         Fix("or let an optimizer do both", f"optim.SGD([{label}], lr=0.1)")) if less else (
         Fix(f"give the new tensor another name, so that {label} stays the leaf"),
         Fix("or have the new one keep its gradient, before backward", f"{label}.retain_grad()")),
        (Steps((Step(label, "a leaf: backward leaves a gradient here", GOOD), Step(f"{label} = {ast.unparse(update)}"),
                Step(label, f"a result of {owner.grad_fn.name()}: no gradient", CLASH))),),
        (failure.involved(owner, "tensor"),))


def not_optimized(failure: Failure, f: Fields) -> Diagnosis:
    """Explain an optimizer's parameter that is not a tensor."""
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
    define = Fix("or define it, with a kernel", f'@torch.library.kernel("{f.name}(Tensor self) -> Tensor", "cpu")')
    return Diagnosis(
        f"no operator is called {f.name}",
        "Operators are registered under ATen's names; add.Tensor is the overload Tensor of add.",
        (*[Fix("did you mean", f"torch.ops.aten.{name}") for name in close[:1]],
         define if failure.library == "mindtorch" else None), (_names_like(f.name, close),))


def unknown_argument(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain a keyword that a function of the library does not have."""
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
        (Fix("did you mean", f"{close[0]}=…") if close else
         Fix(f"leave it out; help({_path(function)}) lists what it takes", _without(failure, keyword)),),
        (given([f"{keyword}=…"], *taken),), ())


def _without(failure: Failure, keyword: str) -> str:
    """Return the call that failed without one of its arguments."""
    call = failure.wrote.call
    if call is None:
        return ""
    words = [word for word in call.keywords if word.arg != keyword]
    return ast.unparse(ast.Call(call.func, call.args, words))


def _path(function: Any) -> str:
    """Return how a program writes a function or class of the library: ``torch.optim.Adam``."""
    name = function.__name__
    return next((f"torch{space.removeprefix('mindtorch')}.{name}" for space in SPACES
                 if getattr(sys.modules.get(space), name, None) is function), name)


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
    """Explain an operator that failed when a pipeline ran; ``__init__.explain`` adds the reason."""
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

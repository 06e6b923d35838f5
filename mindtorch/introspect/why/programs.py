"""Why the larger pieces failed: state dicts, optimizers, operators that do not exist, calls, pipelines."""
from __future__ import annotations

import difflib
import inspect
import linecache
import re
import sys
from typing import Any

from ..._dispatch.dispatcher import registry
from .facts import CLASH, GONE, GOOD, Cure, Finding, Group, Groups, Picture, ShapeRow, Shapes, Step, Steps
from .scene import Scene
from .shapes import cells, sizes, text

#: Where a function or a class of the library is looked for.
SPACES = ("mindtorch", "mindtorch.nn", "mindtorch.nn.functional", "mindtorch.optim")
LISTED = 6  #: keys, operators or the like at most that are named


def _few(names: list[str]) -> tuple[str, ...]:
    more = (f"… {len(names) - LISTED} more",) if len(names) > LISTED else ()
    return (*names[:LISTED], *more)


# -- state dicts ---------------------------------------------------------------------------------------------------


def state_dict(scene: Scene, match: re.Match[str]) -> Finding:
    message = scene.message
    missing = _keys(message, r"Missing key\(s\) in state_dict: (.*?)\. (?:\n|$)")
    unexpected = _keys(message, r"Unexpected key\(s\) in state_dict: (.*?)\. (?:\n|$)")
    mismatched = re.findall(r"size mismatch for (.*?): copying a param with shape torch.Size\((.*?)\) from checkpoint, "
                            r"the shape in current model is torch.Size\((.*?)\)", message)  # fmt: skip
    pictures: list[Picture] = []
    cures = []
    if mismatched:
        rows = []
        for key, theirs, ours in mismatched[:LISTED]:
            a, b = sizes(theirs), sizes(ours)
            wrong = [d for d in range(max(len(a), len(b))) if a[d:d + 1] != b[d:d + 1]]
            rows += [ShapeRow(key, cells(a, wrong), "in the state dict"), ShapeRow("", cells(b, wrong), "in the model")]
        pictures.append(Shapes(tuple(rows)))
        if all(sizes(a) == sizes(b)[::-1] for _, a, b in mismatched):
            cures.append(Cure("they are transposed: turn them before loading", f"state['{mismatched[0][0]}'].T"))
        cures.append(Cure("make the model with the sizes that were saved, or leave these keys out: strict=False"))
    if missing or unexpected:
        groups = (Group("only in the model: missing", _few(missing) or ("none",), CLASH if missing else ""),
                  Group("only in the state dict: unexpected", _few(unexpected) or ("none",),
                        CLASH if unexpected else ""))
        pictures.append(Groups(groups))
        cures += _renaming(missing, unexpected)
        cures.append(Cure("to load what fits and leave the rest", "model.load_state_dict(state, strict=False)"))
    strange = re.findall(r'While copying the parameter named "(.*?)", expected torch.Tensor or Tensor-like object from '
                         r"checkpoint but received <class '(.*?)'>", message)  # fmt: skip
    if strange:
        pictures.append(Groups((Group("no tensors", _few([f"{key}: {kind}" for key, kind in strange]), CLASH),)))
        cures.append(Cure("make tensors of them", f"torch.as_tensor(state['{strange[0][0]}'])"))
    parts = [f"{len(strange)} that {'are no tensors' if len(strange) > 1 else 'is no tensor'}"] * bool(strange)
    parts += [f"{len(mismatched)} of other shapes"] * bool(mismatched)
    parts += [f"{len(missing)} missing"] * bool(missing) + [f"{len(unexpected)} unexpected"] * bool(unexpected)
    return Finding(
        f"the state dict does not fit {match[1]}: {', '.join(parts)}",
        "A state dict holds a tensor under the path of every parameter and buffer. Paths and shapes must be those of "
        "the model, so it must be built as it was when it was saved.",
        tuple(cures),
        tuple(pictures),
        (),
    )  # fmt: skip


def _keys(message: str, pattern: str) -> list[str]:
    found = re.search(pattern, message)
    return re.findall(r'"(.*?)"', found[1]) if found else []


def _renaming(missing: list[str], unexpected: list[str]) -> list[Cure]:
    """A prefix that one side has and the other has not."""
    for theirs, ours in ((unexpected, missing), (missing, unexpected)):
        for long in theirs:
            short = next((key for key in ours if long.endswith(f".{key}")), None)
            if short is None:
                continue
            prefix = long.removesuffix(short)
            if theirs is unexpected:
                code = f"{{k.removeprefix({prefix!r}): v for k, v in state.items()}}"
                return [Cure(f"the saved keys begin with {prefix!r}, the model's do not", code)]
            return [Cure(f"the model's keys begin with {prefix!r}, the saved ones do not",
                         f"{{{prefix!r} + k: v for k, v in state.items()}}")]  # fmt: skip
    return []


# -- optimizers ----------------------------------------------------------------------------------------------------


def no_parameters(scene: Scene, match: re.Match[str]) -> Finding:
    return Finding(
        "the optimizer was given no parameters",
        "Either nothing in the model is a parameter, or the iterator was read before: parameters() can be read once.",
        (Cure("modules and parameters must be attributes of the module, and lists of them", "nn.ModuleList([…])"),
         Cure("a tensor of one's own becomes a parameter so", "self.w = nn.Parameter(torch.randn(3))"),
         Cure("ask again instead of using an iterator twice", "model.parameters()")),
        (Steps((Step("model.parameters()", "yields nothing", CLASH), Step("optimizer", "would have nothing to do"))),),
    )  # fmt: skip


def not_a_leaf(scene: Scene, match: re.Match[str]) -> Finding:
    tensor = scene.local("param")
    found = scene.involved(tensor, "param") if tensor is not None else None
    label, node = (found.label, found.node) if found else ("the tensor", "its grad_fn")
    return Finding(
        f"{label} was computed by {node}: an optimizer can only change what the program made",
        "Gradients are kept in the leaves of the graph. A computed tensor is made anew in each forward; changing it "
        "has no effect on what it was computed from.",
        (Cure("optimize what it was computed from"),
         Cure("or make a leaf of its values", f"{label}.detach().requires_grad_()")),
        (Steps((Step("leaf", "has .grad", GOOD), Step(node), Step(label, "computed, no .grad", CLASH))),),
        (found,) if found else None,
    )  # fmt: skip


def no_gradient(scene: Scene, match: re.Match[str]) -> Finding | None:
    """What was done to a ``.grad`` that is None. Python raises this in the program's own frame."""
    call = scene.call()
    found = re.search(r"([\w.\[\]]+)\.grad\b(?!_)", call.text) if call else None
    owner = scene.named.get(found[1]) if found else None
    if found is None or (owner is not None and owner._grad is not None):
        return None
    label = found[1]
    state = "is of a tensor that is not known here" if owner is None else "was computed: only leaves keep theirs" if (
        owner._grad_fn is not None) else "no backward came to it yet" if owner.requires_grad else "does not require grad"
    cures = {
        "was computed: only leaves keep theirs": Cure("keep it, before backward", f"{label}.retain_grad()"),
        "does not require grad": Cure("ask for it, before computing", f"{label}.requires_grad_()"),
    }
    return Finding(
        f"{label}.grad is None: there is no gradient",
        "A gradient is there once backward went through a graph that leads to the tensor; optimizer.zero_grad() and "
        "model.zero_grad() make it None again.",
        (*((cures[state],) if state in cures else ()), Cure("go back first", "loss.backward()"),
         Cure("or leave out what has none", f"if {label}.grad is not None: …")),
        (Steps((Step(label, state), Step("backward", "has brought it no gradient"),
                Step(f"{label}.grad", "is None", CLASH))),),
        () if owner is None else (scene.involved(owner, "tensor"),),
    )  # fmt: skip


def not_optimized(scene: Scene, match: re.Match[str]) -> Finding:
    """What is no tensor among the parameters of an optimizer."""
    given = match[1].rpartition(".")[2]
    cures = {
        "dict": Cure("groups are given alone, not mixed with tensors", "optim.SGD([{'params': [w]}, {'params': [b]}], lr=0.1)"),
        "str": Cure("a state dict yields names: give the parameters", "model.parameters()"),
        "tuple": Cure("named_parameters() alone yields names too; give all of them so, or", "model.parameters()"),
    }
    return Finding(
        f"an optimizer changes tensors, and was given a {given} among them",
        "It goes through what it is given, and each must be a leaf tensor: a parameter.",
        (cures.get(given, Cure("give the parameters of a module, not the module", "model.parameters()")),),
        (Groups((Group("given", (given,), CLASH), Group("taken", ("[w, b]", "model.parameters()"), GOOD))),),
        (),
    )


def not_iterable(scene: Scene, match: re.Match[str]) -> Finding:
    return Finding(
        "an optimizer takes several parameters, and was given one tensor",
        "It would iterate over the tensor's first dimension, whose parts are no leaves.",
        (Cure("put it into a list", "optim.SGD([w], lr=0.1)"),
         Cure("or give a model's", "optim.SGD(model.parameters(), lr=0.1)")),
        (Groups((Group("given", ("a tensor",), CLASH), Group("taken", ("[w, b]", "model.parameters()"), GOOD))),),
    )


# -- operators -----------------------------------------------------------------------------------------------------


def no_kernel(scene: Scene, match: re.Match[str]) -> Finding:
    name, backend, there = match["op"], match["backend"], match["there"]
    backends = tuple(part.strip() for part in there.split(",") if part.strip())
    groups = [Group(f"kernel of {name} for", tuple(backends) or ("no backend",), GOOD if backends else CLASH),
              Group("called for", (backend,), CLASH)]  # fmt: skip
    cures = [Cure("move the operands to where it has one", "x.to('cpu')")] if "CPU" in backends else []
    cures.append(Cure(f"or write one: a function of tensors, for {backend}",
                      f"torch.library.impl({name!r}, {backend.lower()!r}, my_function)"))  # fmt: skip
    return Finding(
        f"{name} has no kernel for {backend}",
        "The dispatcher looks up a kernel by the keys of the operands; the table of this operator has none for theirs.",
        tuple(cures),
        (Groups(tuple(groups)),),
    )


def unknown_operator(scene: Scene, match: re.Match[str]) -> Finding:
    name = match["op"]
    close = difflib.get_close_matches(name.partition(".")[0], registry.packets, LISTED, 0.6)
    groups = (Group("asked for", (name,), CLASH),
              Group("names like it", tuple(close) or ("none",), GOOD if close else ""))
    cures = [Cure("did you mean", f"torch.ops.aten.{close[0]}")] if close else []
    return Finding(
        f"no operator is called {name}",
        f"{len(registry.packets):,} operators are registered, under ATen's names; add.Tensor is the overload Tensor "
        f"of add.",
        (*cures, Cure("or define it, with a kernel", f'@torch.library.kernel("{name}(Tensor self) -> Tensor", "cpu")')),
        (Groups(groups),),
    )


def no_name(scene: Scene, match: re.Match[str]) -> Finding:
    error: Any = scene.error
    name, owner = error.name, error.obj
    what = owner.__name__ if hasattr(owner, "__name__") else f"a {type(owner).__name__}"
    close = difflib.get_close_matches(name, [n for n in dir(owner) if not n.startswith("_")], LISTED, 0.6)
    groups = (Group("asked for", (name,), CLASH),
              Group("names like it", tuple(close) or ("none",), GOOD if close else ""))
    return Finding(
        f"{what} has no {name}",
        "mindtorch has PyTorch's names; either this one is spelt otherwise, or mindtorch does not have it yet.",
        (Cure("did you mean", close[0]),) if close else (Cure(f"list what there is: dir({what.removeprefix('a ')})"),),
        (Groups(groups),),
        tuple([scene.involved(owner, "self")] if hasattr(owner, "_grad_fn") else ()),
    )


def no_module(scene: Scene, match: re.Match[str]) -> Finding:
    """An import of what mindtorch does not have. Python raises this in the program's own frame."""
    space, name = (match["from"], match["name"]) if match["name"] else match["module"].rpartition(".")[::2]
    there = [found for found in dir(sys.modules.get(space)) if not found.startswith("_")]
    close = difflib.get_close_matches(name, there, LISTED, 0.6)
    return Finding(
        f"{space} has no {name}",
        "mindtorch has PyTorch's names; either this one is spelt otherwise, or mindtorch does not have it yet.",
        (Cure("did you mean", f"from {space} import {close[0]}") if close else Cure(f"list what there is: dir({space})"),),
        (Groups((Group("asked for", (f"{space}.{name}",), CLASH),
                 Group("names like it", tuple(close) or ("none",), GOOD if close else ""))),),
        (),
    )  # fmt: skip


def arguments(scene: Scene, match: re.Match[str]) -> Finding:
    forms = tuple(line.strip(" *") for line in scene.message.splitlines()[1:] if line.strip())
    return Finding(
        f"{match['op']} does not take ({match['given']})",
        "No overload of the operator fits these arguments. Each has its own list of parameters, given below.",
        (Cure("convert what does not fit, or name the arguments"),
         Cure("see the signatures", f"help(torch.{match['op']})")),
        (Groups((Group("given", (f"({match['given']})",), CLASH), Group("taken", _few(list(forms)), GOOD))),),
    )


def unknown_argument(scene: Scene, match: re.Match[str]) -> Finding | None:
    """A keyword that a function of the library does not have. Python raises this in the program's own frame."""
    name, keyword = match[1].removesuffix(".__init__").rpartition(".")[2], match[2]
    spaces = [sys.modules[space] for space in SPACES if space in sys.modules]
    function = next((getattr(space, name) for space in spaces if hasattr(space, name)), None)
    if not callable(function):
        return None
    parameters = inspect.signature(function).parameters.values()
    taken = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    close = difflib.get_close_matches(keyword, taken, 1, 0.5)
    return Finding(
        f"{name} has no argument {keyword}",
        "Arguments that are named must be among those of the function.",
        (Cure("did you mean", f"{close[0]}=…") if close else Cure("see what it takes", f"help(torch.{name})"),),
        (Groups((Group("given", (f"{keyword}=…",), CLASH), Group("taken", tuple(taken), GOOD))),),
        (),
    )


def no_tensor(scene: Scene, match: re.Match[str]) -> Finding:
    return Finding(
        f"a list of tensors has {match[2]} at place {match[1]}",
        "The operator joins tensors; numbers and lists must be made tensors first.",
        (Cure("of numbers, make one tensor at once", "torch.tensor([…])"),
         Cure("or make each a tensor", "[torch.as_tensor(x) for x in …]")),
        (Groups((Group("given", (match[2],), CLASH), Group("taken", ("Tensor",), GOOD))),),
        (),
    )  # fmt: skip


def singular(scene: Scene, match: re.Match[str]) -> Finding:
    tensor = scene.of_innermost()[:1]
    label = tensor[0].label if tensor else "the matrix"
    definite = "positive-definite" in scene.message
    title = f"{label} is not positive definite" if definite else f"{label} is singular: it has no inverse"
    cause = "Its rows depend on each other, so that the system has no solution, or many."
    if definite:
        cause = "Cholesky's factors exist for symmetric matrices whose eigenvalues are all greater than 0."
    return Finding(
        title, cause,
        (Cure("add a little to the diagonal", f"{label} + 1e-6 * torch.eye({label}.shape[-1])"),
         Cure("look at the eigenvalues", f"torch.linalg.eigvalsh({label})") if definite else
         Cure("or find the solution with the least error", f"torch.linalg.pinv({label})")),
        tuple(Shapes((ShapeRow(t.label, cells(t.shape)),)) for t in tensor),
    )  # fmt: skip


# -- pipelines -----------------------------------------------------------------------------------------------------


def pipeline(scene: Scene, match: re.Match[str]) -> Finding:
    """An operator that failed when a pipeline ran; ``__init__.explain`` adds why."""
    queue: Any = scene.local("queue", "flush") or []
    position = scene.local("position", "flush") or 0
    first = max(0, position - 3)
    steps = [Step("…", f"{first} that ran")] if first else []
    for number, entry in enumerate(queue[first:position + 4], first):
        shapes = ", ".join(text(shape) for shape in entry.shapes)
        state = ("failed", CLASH) if number == position else ("ran", GOOD) if number < position else ("given up", GONE)
        source = linecache.getline(*entry.site[:2]).strip()
        steps.append(Step(entry.op.name, f"line {entry.site[1]}: {source} · {shapes} · {state[0]}", state[1]))
    if len(queue) > position + 4:
        steps.append(Step("…", f"{len(queue) - position - 4} given up", GONE))
    return Finding(
        f"{match['op']}, recorded at line {match['line']}, failed when the pipeline ran",
        "In a pipeline an operator is only recorded; its values come when the queue runs, which is where the error "
        f"shows. What had run before keeps its values; the tensors of the {len(queue) - position} operators from "
        f"there on never get theirs. What went wrong: {match['inner']}",
        (Cure("run the cell without the pipeline: the error then comes at its line"),
         Cure("or see what is recorded, and when it runs", "%%pipeline")),
        (Steps(tuple(steps), "The queue, in the order of recording."),) if steps else (),
    )  # fmt: skip


def invalid(scene: Scene, match: re.Match[str]) -> Finding:
    tensor = scene.of_innermost()[:1]
    label = tensor[0].label if tensor else "this tensor"
    return Finding(
        f"{label} never got its values: its pipeline failed or was left",
        f"It was recorded in a pipeline that did not run to its operator. The reason: {match[1]}",
        (Cure("compute it again: it stays invalid"),
         Cure("catch errors inside the block, so that the pipeline runs to its end", "with torch.pipeline(): …")),
        (Steps((Step("recorded", "shape and dtype are known", GOOD), Step("failed", match[1][:120], CLASH),
                Step(label, "has no values", GONE))),),
    )  # fmt: skip

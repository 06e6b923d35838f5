"""Silent mistakes that show in a model, its optimizer, and the gradients that are there."""
from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

import numpy as np

from ..libraries import library_of
from ..why.explanation import CLASH, GONE, GOOD, Fix, Group, Groups, Step, Steps
from ..why.wrote import is_module, is_tensor
from .finding import Finding, numbers
from .graph import Graph

HUGE = 1e4  #: of a gradient's norm by parameter
FADING = 1e-7  #: of the mean gradient of a layer, beside that of the layer where it is largest
FADED = 1e-8  #: of the first learning rate: nothing is learnt with that
#: Modules that do something else while they train.
MOODY = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "BatchNorm1d",
         "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm")


def parameters(models: Mapping[str, Any]) -> dict[int, tuple[str, Any]]:
    """Return the models' parameters with their paths, by identity."""
    found: dict[int, tuple[str, Any]] = {}
    for name, model in models.items():
        for path, parameter in model.named_parameters():
            found.setdefault(id(parameter), (f"{name}.{path}" if name else path, parameter))
    return found


def optimized(optimizers: Mapping[str, Any]) -> dict[int, Any]:
    """Return the tensors that optimizers change, by identity."""
    return {id(tensor): tensor for optimizer in optimizers.values() for group in optimizer.param_groups
            for tensor in group["params"]}


def _names(pairs: list[tuple[str, Any]]) -> list[str]:
    return [name for name, _ in pairs]


def of_models(models: Mapping[str, Any]) -> Iterator[Finding]:
    """Find parameters and modules that a module holds without registering them, and weights that are all equal."""
    for name, model in models.items():
        known = {id(part) for part in (*model.modules(), *model.parameters())}
        for path, module in model.named_modules():
            where = ".".join(part for part in (name, path) if part)
            for key, value in vars(module).items():
                if not key.startswith("_"):
                    yield from _unregistered(model, f"{where}.{key}", value, known)
        yield from _repeated(name, model)
    matrices = [(path, p) for path, p in parameters(models).values() if len(p.shape) > 1 and p.shape[0] > 1]
    alike = [(path, p) for path, p in matrices if _alike(p)]
    if any(_alike(p, but_zero=True) for _, p in alike) or (alike and len(alike) == len(matrices)):
        yield Finding(
            "weights alike", f"all rows of {numbers(_names(alike))} are equal",
            "Units with equal weights get equal gradients and stay equal: together they do the work of one. Weights "
            "begin at random for that reason.",
            (Fix("begin at random", f"nn.init.kaiming_uniform_({alike[0][0]})"),
             Fix("zeros are for biases", "nn.init.zeros_(layer.bias)")),
            (Groups((Group("equal rows", tuple(_names(alike)[:4]), CLASH),)),))


def _unregistered(model: Any, where: str, value: Any, known: set[int]) -> Iterator[Finding]:
    """Find modules and parameters in an attribute that the model does not know as its own."""
    items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    hidden = [item for item in items if is_module(item) or (is_tensor(item) and item.requires_grad)]
    if hidden := [item for item in hidden if id(item) not in known]:
        yield _hidden(where, value, hidden)
    elif is_tensor(value) and value.requires_grad and id(value) not in known and value.is_leaf:
        right = f"self.{where.rpartition('.')[2]} = nn.Parameter(torch.randn({list(value.shape)}))"
        yield Finding(
            "plain tensor", f"{where} requires grad, and is no parameter",
            "A module knows nn.Parameter alone as its own: a plain tensor is missing from parameters(), so from the "
            "optimizer, from state_dict(), and stays where it is when the model moves.",
            (Fix("make it a parameter", right),),
            (Groups((Group("a plain tensor", (where,), CLASH),
                     Group("parameters", tuple(n for n, _ in model.named_parameters())[:4] or ("none",), GOOD))),))


def _repeated(name: str, model: Any) -> Iterator[Finding]:
    """``[nn.Linear(8, 8)] * 3``: one layer in several places of a container."""
    for path, holder in model.named_modules():
        places: dict[int, list[str]] = {}
        for key, part in getattr(holder, "_modules", {}).items():
            if key.isdecimal() and next(iter(part.parameters()), None) is not None:
                places.setdefault(id(part), []).append(".".join(filter(None, (name, path, key))))
        for same in (same for same in places.values() if len(same) > 1):
            kind = type(holder._modules[same[0].rpartition(".")[2]]).__name__
            yield Finding(
                "one layer again", f"{numbers(same)} are one {kind}, with one set of weights",
                "A list times a number repeats what is in it, and makes nothing new. What the layer learns in one "
                "place it does in all, and the model has fewer parameters than it seems.",
                (Fix("make a layer for each place", f"[nn.{kind}(…) for _ in range({len(same)})]"),
                 Fix("or copy it", "copy.deepcopy(layer)")),
                (Groups((Group(f"one {kind}", tuple(same[:4]), CLASH),)),))


def _hidden(where: str, value: Any, hidden: list[Any]) -> Finding:
    kind, attribute = type(value).__name__, where.rpartition(".")[2]
    holder = {True: "nn.ModuleDict", False: "nn.ModuleList"}[isinstance(value, dict)] if is_module(hidden[0]) else (
        "nn.ParameterDict" if isinstance(value, dict) else "nn.ParameterList")
    what = "modules" if is_module(hidden[0]) else "tensors"
    return Finding(
        "hidden in a container", f"{where} is a {kind} with {len(hidden)} {what} that the model does not know",
        f"A module finds parameters and modules among its attributes, not inside of a {kind}. These are missing from "
        "parameters(), so no optimizer changes them, and from state_dict().",
        (Fix("use the container that is a module", f"self.{attribute} = {holder}(…)"),),
        (Groups((Group(f"in {where}", tuple(type(item).__name__ for item in hidden[:4]), CLASH),
                 Group("taken", (holder,), GOOD))),))


def _alike(parameter: Any, but_zero: bool = False) -> bool:
    """Return True if all rows of a matrix are equal, and not zero if ``but_zero``: some layers may begin with zeros."""
    if not parameter.requires_grad or parameter.numel() < 4:
        return False
    values = library_of(parameter).values(parameter)
    if values is None:
        return False
    rows = values.reshape(values.shape[0], -1)
    return bool(np.isfinite(rows).all() and (rows == rows[:1]).all() and not (but_zero and not rows.any()))


def of_optimizers(models: Mapping[str, Any], optimizers: Mapping[str, Any], leaves: list[Any] | None,
                  moved: Container[int] = ()) -> Iterator[Finding]:
    """Find parameters that no optimizer has, or that an optimizer has in vain, and learning rates that are amiss. Those
    at the addresses ``moved`` were changed by an optimizer that may be gone."""
    ours, theirs = parameters(models), optimized(optimizers)
    reached = {*ours, *theirs} if leaves is None else {id(leaf) for leaf in leaves}
    strangers = [key for key, tensor in theirs.items() if key not in ours and (leaves is None or key not in reached)
                 and library_of(tensor).grad(tensor) is None]  # one that has a gradient was given it by hand
    if models and strangers:
        yield Finding(
            "other parameters", f"{len(strangers)} of the {len(theirs)} tensors that the optimizer changes are none of "
            "the model's",
            "The model was created anew, or its parameters were replaced, after the optimizer was given them. It still "
            "changes the old ones, which nothing uses.",
            (Fix("make the optimizer after the model, and after what replaces its parameters",
                 "optimizer = optim.SGD(model.parameters(), lr=0.1)"),),
            (Groups((Group("the optimizer has", (f"{len(strangers)} tensors of another model",), CLASH),
                     Group("the model has", tuple(name for name, _ in list(ours.values())[:4]), GOOD))),))
    missing = [name for key, (name, p) in ours.items() if p.requires_grad and key not in theirs and key in reached
               and library_of(p).address(p) not in moved]
    if missing and len(strangers) < len(theirs):
        yield _missing(missing, [name for key, (name, _) in ours.items() if key in theirs])
    if frozen := [name for key, (name, p) in ours.items() if key in theirs and not p.requires_grad]:
        yield Finding(
            "frozen", f"{numbers(frozen)} {'are' if len(frozen) > 1 else 'is'} in the optimizer, and frozen",
            "requires_grad is False, so no gradient comes, and the optimizer passes them over.",
            (Fix("let them learn", f"{frozen[0]}.requires_grad_()"),
             Fix("or leave them out of the optimizer", "[p for p in model.parameters() if p.requires_grad]")),
            (Groups((Group("frozen", tuple(frozen[:4]), CLASH),)),))
    for name, optimizer in optimizers.items():
        yield from _rates(name or "the optimizer", optimizer)


def _missing(names: list[str], there: list[str]) -> Finding:
    """Report parameters that get gradients and that no optimizer has."""
    several = len(names) > 1
    return Finding(
        "not in the optimizer",
        f"no optimizer has {numbers(names)}: {'they' if several else 'it'} will not be trained",
        f"{'They get' if several else 'It gets'} gradients, and no optimizer was given {'them' if several else 'it'}: "
        "the values stay as they are.",
        (Fix("give the optimizer all parameters", "optim.SGD(model.parameters(), lr=0.1)"),
         Fix("or add these", f"optimizer.add_param_group({{'params': [{names[0]}]}})"),
         Fix("or, if they are to stay, say so", f"{names[0]}.requires_grad_(False)")),
        (Groups((Group("in the optimizer", tuple(there[:4]) or ("others",), GOOD),
                 Group("not in it", tuple(names[:4]), CLASH))),))


def _rates(name: str, optimizer: Any) -> Iterator[Finding]:
    """Find learning rates of zero, rates that a scheduler has used up, and rates too large for Adam."""
    kind = type(optimizer).__name__
    rates = [(rate, group.get("initial_lr", 0)) for group in optimizer.param_groups
             if isinstance(rate := group.get("lr"), (int, float))]
    scheduled = any("initial_lr" in group for group in optimizer.param_groups)
    if any(rate == 0 for rate, _ in rates) and not scheduled:  # a scheduler may rightly lower it to 0
        yield Finding("no learning rate", f"the learning rate of {name} is 0",
                      "Each step adds the learning rate times a direction: nothing changes.",
                      (Fix("choose one", "optim.SGD(model.parameters(), lr=0.1)"),),
                      (Groups((Group("lr", ("0",), CLASH), Group("often", ("0.1 (SGD)", "0.001 (Adam)"), GOOD))),))
    for rate, begin in [(rate, begin) for rate, begin in rates if 0 < rate < FADED * begin][:1]:
        yield Finding(
            "learning rate faded", f"the learning rate of {name} has fallen from {begin} to {rate:.0e}",
            "A scheduler multiplies it at each of its steps. Called for each batch instead of each epoch, it takes "
            "as many steps in one epoch as it was meant to take in all: after that nothing changes.",
            (Fix("call it once an epoch, after the loop over the batches", "scheduler.step()"),
             Fix("or give it the number of all batches", "CosineAnnealingLR(optimizer, epochs * len(loader))")),
            (Steps((Step("lr at first", f"{begin}", GOOD), Step("scheduler.step()", "again and again"),
                    Step("lr now", f"{rate:.0e}", CLASH))),))
    largest = max((rate for rate, _ in rates), default=0)
    if largest > 0.3 and "Adam" in kind:
        yield Finding(
            "large learning rate", f"a learning rate of {largest} is much for {kind}",
            "Adam divides by the size of gradients, so each step changes each parameter by about the learning "
            "rate, whatever the loss is like: weights are of the size of 0.1.",
            (Fix("begin with the default", f"optim.{kind}(model.parameters(), lr=0.001)"),),
            (Groups((Group("lr", (str(largest),), CLASH), Group("often", ("0.001",), GOOD))),))


def of_losses(losses: Mapping[str, Any], models: Mapping[str, Any]) -> Iterator[Finding]:
    """Find losses that have no graph or are not a single number."""
    for name, loss in losses.items():
        label = name or "the loss"
        if not loss.requires_grad:
            yield Finding(
                "no graph", f"{label} has no graph: backward has nowhere to go",
                "It was computed under no_grad, or after detach(), .data, argmax or a round through NumPy or numbers "
                "of Python; or nothing that it was computed from requires grad.",
                (Fix("compute it from the model's outputs, with grad mode on", "loss = loss_function(model(x), y)"),),
                (Steps((Step("parameters"), Step("cut", "detach, no_grad, numbers", GONE),
                        Step(label, "requires no grad", CLASH))),))
        values = library_of(loss).values(loss)
        if values is not None and values.size == 1 and not np.isfinite(values).all():
            yield Finding(
                "loss is no number", f"{label} is {values.item()}",
                "From here on every gradient is NaN, and one step with it makes all parameters NaN.",
                (Fix("find the first operator that made it", "%%check"),
                 Fix("take smaller steps, or cut gradients", "nn.utils.clip_grad_norm_(model.parameters(), 1.0)")),
                (Steps((Step(label, str(values.item()), CLASH), Step("backward", "NaN"), Step("step", "NaN"))),))


def unreached(graph: Graph | None, models: Mapping[str, Any], optimizers: Mapping[str, Any]) -> Iterator[Finding]:
    """Find parameters without a path from the loss."""
    if graph is None:
        return
    reached, theirs = {id(leaf) for leaf in graph.leaves}, optimized(optimizers)
    ours = parameters(models)
    chosen = set(theirs) & set(ours) or set(ours)  # what an optimizer was not given may well rest
    lost = [(name, p) for key, (name, p) in ours.items() if p.requires_grad and key not in reached and key in chosen]
    if not lost:
        return
    yield Finding(
        "not reached", f"no path leads from the loss to {numbers(_names(lost))}",
        "They have no part in the loss, or the graph was cut on the way: by detach(), .data, no_grad, .item(), a round "
        "through NumPy, torch.tensor(result), argmax. They get no gradient, and do not learn.",
        (Fix("look for where the graph is cut, and leave that out", "y = layer(x)  # not layer(x).detach()"),
         Fix("or, if they are not used, leave them out", f"{lost[0][0]}.requires_grad_(False)")),
        (Groups((Group("reached", tuple(n for k, (n, _) in ours.items() if k in reached)[:4] or ("none",), GOOD),
                 Group("not reached", tuple(_names(lost)[:4]), CLASH))),))


def of_gradients(models: Mapping[str, Any], skip: frozenset[str] = frozenset()) -> Iterator[Finding]:
    """Find gradients that are no numbers, far too large, or fade away from layer to layer."""
    norms: list[tuple[str, float, float]] = []
    for name, parameter in parameters(models).values():
        grad = library_of(parameter).grad(parameter)
        values = None if grad is None else library_of(grad).values(grad)
        if values is None or not values.size:
            continue
        wide = values.astype(np.float64) if not np.iscomplexobj(values) else np.abs(values)
        norms.append((name, float(np.sqrt((wide * wide).sum())), float(np.abs(wide).mean())))
    bad = [(name, norm) for name, norm, _ in norms if not np.isfinite(norm)]
    if bad and "nan" not in skip:
        yield Finding(
            "gradient is no number", f"the gradients of {numbers(_names(bad))} are {bad[0][1]}",
            "One step with them makes the parameters NaN, and then everything.",
            (Fix("find the first operator that made it", "%%check"),
             Fix("do not take that step", "if loss.isfinite(): optimizer.step()")),
            (Groups((Group("no numbers", tuple(_names(bad)[:4]), CLASH),)),))
        return
    large = [(name, norm) for name, norm, _ in norms if norm > HUGE]
    if large:
        yield Finding(
            "gradients explode", f"the gradient of {large[0][0]} has the norm {large[0][1]:.1e}",
            "A step goes by the learning rate times the gradient: far beyond where the gradient says anything. Inputs "
            "of large numbers, deep or recurrent models, and too large weights lead there.",
            (Fix("bring inputs to the size of 1", "x = (x - x.mean(0)) / x.std(0)"),
             Fix("cut large gradients before the step", "nn.utils.clip_grad_norm_(model.parameters(), 1.0)"),
             Fix("or take a smaller learning rate", "lr=1e-4")),
            (Groups((Group("norm of the gradient", tuple(f"{n}: {v:.1e}" for n, v in large[:4]), CLASH),)),))
    weights = [(name, mean) for name, _, mean in norms if name.endswith("weight")]
    most = max((mean for _, mean in weights), default=0.0)
    faint = [(name, mean) for name, mean in weights if mean < FADING * most]
    if faint and len(weights) > 1:
        yield Finding(
            "gradients vanish", f"the gradient of {faint[0][0]} is {faint[0][1]:.0e}, that of another layer {most:.0e}",
            "Each layer multiplies the gradient by its slope. Many sigmoids or tanhs, whose slopes are small, or units "
            "that are all silent, leave nothing for the first layers.",
            (Fix("use relu between layers", "nn.ReLU()"), Fix("or normalise between them", "nn.BatchNorm1d(…)"),
             Fix("or add what came in to what comes out", "x = x + layer(x)")),
            (Groups((Group("mean gradient", tuple(f"{n}: {v:.0e}" for n, v in weights[:6]), CLASH),)),))


def of_modes(models: Mapping[str, Any], training: bool) -> Iterator[Finding]:
    """Find a model that trains in evaluation mode."""
    for name, model in models.items():
        moody = [path for path, m in model.named_modules() if type(m).__name__ in MOODY and not m.training]
        if training and moody and not model.training:
            yield Finding(
                "eval while training", f"{name or 'the model'} is in evaluation mode, and is trained",
                f"{numbers(moody)} behave{'s' * (len(moody) == 1)} otherwise while the model trains: dropout drops, "
                "batch normalisation takes statistics of the batch, and remembers them.",
                (Fix("before training", f"{name or 'model'}.train()"),),
                (Steps((Step(f"{name or 'model'}.eval()", "called before, and never undone"), Step("training", "as if "
                 "predicting", CLASH))),))


def of_containers(namespace: Mapping[str, Any]) -> Iterator[Finding]:
    """Find lists whose tensors all share one memory that was overwritten."""
    for name, value in namespace.items():
        is_list = isinstance(value, list) and len(value) > 1 and not name.startswith("_")
        if not is_list or not all(map(is_tensor, value[:100])):
            continue
        tensors = value[:100]
        looks = [library_of(t) for t in tensors]
        places = {(looks[i].address(t), tuple(t.shape)) for i, t in enumerate(tensors)}
        version = looks[0].record(tensors[0], 1).version
        of_array = len(tensors) > 2 and len({id(t) for t in tensors}) == len(tensors)  # from_numpy of one, written over
        if len(places) == 1 and looks[0].address(tensors[0]) and (version or of_array):
            yield Finding(
                "one memory",
                f"the {len(value)} tensors in {name} are one memory{f', written over {version} times' * bool(version)}",
                "A view, detach() and a tensor itself keep no values of their own: the list holds the same memory "
                "again and again, and all show what was written last.",
                (Fix("keep a copy", f"{name}.append(x.clone())"),),
                (Steps((Step(f"{name}[0]"), Step("one memory", f"version {version}", CLASH), Step(f"{name}[-1]")),
                       arrow="→"),))

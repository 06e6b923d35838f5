"""Mistakes in the parts of training: groups of parameters, plans of the learning rate, scaled gradients, samplers,
process groups, functions with a backward of their own.
"""
from __future__ import annotations

import ast
import re
from typing import Any

from .explanation import CLASH, GONE, GOOD, Diagnosis, Fields, Fix, Group, Groups, Step, Steps, given
from .failure import Failure
from .rules import on
from .wrote import is_module, is_tensor


@on(r"optimizer got an empty parameter list", ValueError)
def no_parameters(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain an optimizer of a model without parameters, or of an iterator that was read before."""
    wrote = failure.wrote
    name, _ = wrote.arguments[0] if wrote.arguments else ("", None)
    node: Any = wrote.call.args[0] if wrote.call and wrote.call.args else None
    owner = wrote.value(node.func.value) if isinstance(getattr(node, "func", None), ast.Attribute) else None
    if isinstance(node, ast.Name):
        return Diagnosis(
            f"{name} is used up: it is an iterator that was read before, and gives each parameter once",
            "parameters() and filter() give their items one by one while they are read; a second reader finds nothing.",
            (Fix("keep them in a list, which can be read as often as wanted", f"{name} = list(model.parameters())"),
             Fix("or ask the model again", "model.parameters()")),
            (Steps((Step(name, "made", GOOD), Step("read", "all items are given", GONE),
                    Step("optimizer", "finds nothing", CLASH))),))
    if not is_module(owner):
        return None
    kind, label = type(owner), wrote.text(node.func.value)
    listed = {key: value for key, value in vars(owner).items() if isinstance(value, (list, tuple, dict))
              and any(map(is_module, value.values() if isinstance(value, dict) else value))}
    tensors = [key for key, value in vars(owner).items() if is_tensor(value)]
    own = [each for each in vars(kind) if each.strip("_") == "init" and each != "__init__"]
    cause = "An optimizer changes the parameters that it is given; this module knows of none."
    if own:
        return Diagnosis(
            f"{kind.__name__} has no parameters: its {own[0]} is never called, since the method is called __init__",
            "Python calls __init__, with two underscores on each side, when an object is made. Under another name the "
            "layers are never made.", (Fix(f"rename {own[0]} to __init__, also where super() calls it"),),
            (given([own[0]], "__init__"),), ())
    if listed:
        key, value = next(iter(listed.items()))
        wrap = "nn.ModuleDict" if isinstance(value, dict) else "nn.ModuleList"
        return Diagnosis(
            f"{label} has no parameters: it keeps its layers in {key}, a {type(value).__name__} of Python's",
            "A module finds the parameters of modules that are its attributes; into a list or a dictionary of Python's "
            f"it does not look. {wrap} is one that it knows.",
            (Fix(f"keep them in {wrap}", f"{label}.{key} = {wrap}({label}.{key})"),),
            (Groups((Group(f"{label}.{key}", (type(value).__name__,), CLASH), Group("known", (wrap,), GOOD))),), ())
    if tensors:
        return Diagnosis(
            f"{label} has no parameters: {', '.join(tensors)} {'are' if len(tensors) > 1 else 'is'} a plain tensor",
            "Of the tensors that are assigned to a module only those made nn.Parameter are learned.",
            (Fix("make it a parameter", f"{label}.{tensors[0]} = nn.Parameter({label}.{tensors[0]})"),),
            (Groups((Group("plain tensors", tuple(tensors), CLASH), Group("learned", ("nn.Parameter",), GOOD))),), ())
    return Diagnosis(
        f"{label} has no parameters: {kind.__name__} has nothing to learn",
        f"{cause} Losses and activations have none; a model of your own has those of the layers that its __init__ "
        "assigns to self.",
        (Fix("give the parameters of the model that is to learn", "model.parameters()"),
         Fix("or add the layers in __init__", "self.layer = nn.Linear(…, …)")),
        (Groups((Group(label, ("0 parameters",), CLASH),)),), ())


@on(r"some parameters appear in more than one parameter group", ValueError)
def in_two_groups(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain a parameter that stands in two groups of an optimizer."""
    wrote = failure.wrote
    name = wrote.arguments[0][0] if wrote.arguments else "groups"
    seen = "{id(p) for p in special}"
    return Diagnosis(
        "a parameter stands in more than one group of the optimizer",
        "Each group has settings of its own, so that a parameter in two of them would be changed twice in a step, by "
        "two rules. Each parameter belongs into exactly one.",
        (Fix("leave out of the general group what has a group of its own",
             f"[p for p in model.parameters() if id(p) not in {seen}], with …"),
         Fix("if two groups are meant to share a tensor, name it in one of them only")),
        (Groups((Group(f"{name[:40]}", ("the same tensor twice",), CLASH),
                 Group("wanted", ("each tensor once",), GOOD))),), ())


@on(r"Tried to step (\d+) times\. The specified number of total steps is (\d+)", ValueError)
def too_many_steps(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain a ``OneCycleLR`` that is stepped beyond its end."""
    plan = failure.wrote.name.rpartition(".")[0] or "scheduler"
    return Diagnosis(
        f"{plan} was made for {found[2]} steps, and this is step {found[1]}",
        "The cycle is planned from the first step to the last: total_steps, or epochs times steps_per_epoch, counts "
        "the calls of step(), one for each batch.",
        (Fix("make it for as many steps as the loop takes",
             "optim.lr_scheduler.OneCycleLR(…, total_steps=epochs * len(loader))"),
         Fix("or step once in each epoch, not in each batch, if it was made for the number of epochs")),
        (given([f"step {found[1]}"], f"1 … {found[2]}"),), ())


@on(r"step\(\) missing 1 required positional argument: 'metrics'", TypeError)
def no_metric(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain ``ReduceLROnPlateau.step()``."""
    name = failure.wrote.name
    losses = [each for space in (failure.wrote.frame.f_locals,) for each, value in space.items()
              if "loss" in each and (isinstance(value, float) or (is_tensor(value) and value.numel() == 1))
              ] if failure.wrote.frame else []
    best = next((each for each in losses if each.startswith(("val", "valid", "test"))), losses[0] if losses else "…")
    return Diagnosis(
        f"{name} was not given metrics: the number that it watches",
        "ReduceLROnPlateau lowers the learning rate when a number stops to improve, such as the loss of the validation "
        "data; other plans only count their steps.",
        (Fix("give the loss of the validation data", f"{name}({best})"),), (given(["()"], "(validation loss)"),), ())


@on(r"sampler option is mutually exclusive with shuffle", ValueError)
def sampler_and_shuffle(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain ``DataLoader(data, sampler=sampler, shuffle=True)``."""
    return Diagnosis(
        "a sampler says the order of the samples, and so does shuffle: only one of them can",
        "shuffle=True makes a RandomSampler; with a sampler of your own there is nothing left to shuffle.",
        (Fix("leave the order to the sampler", "shuffle=False"),
         Fix("or leave out the sampler", "sampler=None"),
         Fix("a DistributedSampler shuffles by itself, if sampler.set_epoch(epoch) is called in each epoch")),
        (given(["sampler=…, shuffle=True"], "sampler=…", "shuffle=True"),), ())


@on(r"Default process group has not been initialized")
def no_process_group(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain a function of ``torch.distributed`` in a process that belongs to no group."""
    return Diagnosis(
        "this process belongs to no process group yet",
        "Ranks, their number, and messages between them exist within a group of processes, which each process joins "
        "once, before anything else of torch.distributed.",
        (Fix("start the program with torchrun, and join at its beginning", "torch.distributed.init_process_group(…)"),
         Fix("or, in one process alone, ask first",
             "torch.distributed.get_rank() if torch.distributed.is_initialized() else 0")),
        (Steps((Step("torchrun", "starts the processes", GOOD), Step("init_process_group", "was not called", CLASH),
                Step(failure.wrote.name or "get_rank", "asks the group"))),), ())


@on(r"_scale is None|No inf checks were recorded for this optimizer|unscale_\(\) has already been called")
def scaler(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain a ``GradScaler`` whose calls come in another order than scale, backward, step, update."""
    name = failure.wrote.name.rpartition(".")[0] or "scaler"
    fixes: list[Fix | None]
    losses = [each for each, value in failure.named.items() if is_tensor(value) and "loss" in each and "." not in each]
    loss = losses[0] if losses else "loss"
    steps = [("scale", "multiplies the loss"), ("backward", "gives gradients"), ("unscale_", "once, if at all"),
             ("step", "takes the step"), ("update", "begins anew")]
    if "already" in found[0]:
        title = f"the gradients were unscaled twice between two calls of {name}.update()"
        cause = "unscale_ divides the gradients once; step() does it by itself unless it was done before."
        fixes = [Fix(f"call unscale_ once in each iteration, before clipping, and {name}.update() at its end",
                     f"{name}.update()")]
        wrong = "unscale_"
    elif "is None" in found[0]:
        title = f"{name}.step() was called before any backward pass of a scaled loss"
        cause = "The scaler multiplies the loss before backward, so that small gradients survive in half precision."
        fixes = [Fix("scale the loss, and go back, before the step", f"{name}.scale({loss}).backward()")]
        wrong = "scale"
    else:
        title = "no parameter of the optimizer has a gradient: backward did not reach any"
        cause = ("The scaler looks for infinities in the gradients of the optimizer's parameters, and found "
                 "no gradient "
                 "at all: the loss does not depend on them, they are frozen, or belong to another model.")
        made = next(iter(failure.wrote.assignments(loss)), None)
        fixes = [Fix(f"{loss} = {ast.unparse(made)} makes a new tensor, which has lost the graph: use the "
                     f"loss that was "
                     "computed") if made is not None and ".tensor(" in ast.unparse(made) else None,
                 Fix("look which parameters have gradients after backward",
                     "[name for name, p in model.named_parameters() if p.grad is not None]")]
        wrong = "backward"
    return Diagnosis(title, cause, fixes,
                     (Steps(tuple(Step(each, detail, CLASH if each == wrong else "") for each, detail in steps)),), ())


@on(r"must implement .*backward.*custom autograd\.Function", NotImplementedError, RuntimeError)
def no_backward(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain an ``autograd.Function`` that has only a forward."""
    classes = [node.name for node in ast.walk(failure.wrote.source) if isinstance(node, ast.ClassDef)
               and any("Function" in ast.unparse(base) for base in node.bases)
               and not {"backward", "vjp"} & {getattr(part, "name", "") for part in node.body}]
    name = classes[0] if len(classes) == 1 else "the autograd.Function"
    return Diagnosis(
        f"{name} has no backward: nothing says what its gradient is",
        "A function of your own takes its derivative from its static method backward: it is given the gradient with "
        "respect to the output, and returns one for each argument of forward.",
        (Fix("write it, in the class", "@staticmethod\ndef backward(ctx, grad): return …"),
         Fix("or compute with differentiable operators, and without a Function")),
        (Steps((Step("forward", "is there", GOOD), Step("backward", "is missing", CLASH))),), ())


@on(r"autograd\.Function with functorch transforms.*must override the setup_context", RuntimeError)
def no_setup_context(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain a ``Function`` whose forward takes ``ctx``, under a transform of ``torch.func``."""
    return Diagnosis(
        "under grad, vmap and the like a Function saves in setup_context, and its forward takes no ctx",
        "These transforms run forward on tensors of their own, perhaps several times, and save afterwards. So forward "
        "only computes, and setup_context(ctx, inputs, output) saves what backward needs. Such a Function works "
        "without transforms, too; for vmap it also says generate_vmap_rule = True.",
        (Fix("let forward only compute", "@staticmethod\ndef forward(x): …"),
         Fix("and save in a method of its own",
             "@staticmethod\ndef setup_context(ctx, inputs, output): ctx.save_for_backward(*inputs)")),
        (Steps((Step("forward(x)", "computes", GOOD), Step("setup_context", "saves: it is missing", CLASH),
                Step("backward(ctx, grad)", "is there", GOOD))),), ())


def other_number(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain a ``Function`` whose backward returns another number of gradients than forward has arguments."""
    found = re.match(r"function (\w+) returned an incorrect number of gradients \(expected (\d+), got (\d+)\)",
                     failure.message)
    if failure.kind == "gradients returned":
        name, wanted, got = f.function, f.wanted, f.got
    elif found:
        name, wanted, got = found[1], int(found[2]), int(found[3])
    else:
        return None
    name = name.removesuffix("Backward")
    return Diagnosis(
        f"{name}.backward returned {got} gradient{'s' * (got != 1)}, {name}.forward took {wanted} "
        f"argument{'s' * (wanted != 1)}",
        "backward returns one gradient for each argument of forward, in that order, without ctx; None for one that "
        "needs none, such as a number or a flag.",
        (Fix("return as many as forward has arguments", f"return "
                                                        f"{', '.join(['grad', *['None'] * (wanted - 1)])}  # …"),),
        (given([f"{got} returned"], f"{wanted} wanted"),), ())


RECOGNISED = {
    "no parameters at all": no_parameters, "in two groups": in_two_groups, "too many steps": too_many_steps,
    "no metric": no_metric, "sampler and shuffle": sampler_and_shuffle, "no process group": no_process_group,
    "scaler": scaler, "no backward": no_backward,
    "no setup_context": no_setup_context, "gradients returned": other_number,
}

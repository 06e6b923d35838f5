"""Mistakes in what layers, optimizers and schedulers are made from or loaded with. They show in what the program wrote,
as those in ``program.py`` do, and in the values that it gave.
"""
from __future__ import annotations

import inspect
import os
import pickle
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from .explanation import CLASH, GOOD, Diagnosis, Fields, Fix, Group, Groups, Step, Steps, given
from .failure import Failure
from .wrote import is_module, is_module_class, is_optimizer, is_tensor

#: Functions that go through the parameters of a model, which they take first.
OF_PARAMETERS = ("clip_grad_norm_", "clip_grad_value_", "get_total_norm", "parameters_to_vector")


def _settings(failure: Failure) -> dict[str, Any]:
    """Return a class's arguments by parameter."""
    wrote = failure.wrote
    named = {word.arg for word in wrote.call.keywords} if wrote.call else set()
    values = [value for _, value in wrote.arguments[:len(wrote.arguments) - len(named)]]
    try:
        return dict(inspect.signature(wrote.function).bind_partial(*values, **wrote.keywords).arguments)
    except TypeError:
        return {}


def not_divisible(failure: Failure, f: Fields) -> Diagnosis | None:
    """``nn.MultiheadAttention(10, 4)``, ``nn.Conv2d(3, 8, 3, groups=2)``, ``nn.GroupNorm(4, 6)``."""
    found = re.search(r"(\w+) must be divisible by (\w+)", failure.message)
    if found is None or not is_module_class(failure.wrote.function):
        return None
    settings, (whole, parts) = _settings(failure), found.groups()
    size, count = settings.get(whole), settings.get(parts)
    if not (isinstance(size, int) and isinstance(count, int) and count):
        return None
    near = min((n for n in range(1, size + 1) if size % n == 0), key=lambda n: (abs(n - count), n))
    pieces = ", ".join(str(size // count + (i < size % count)) for i in range(min(count, 8)))
    return Diagnosis(
        f"{whole} {size} cannot be cut into {count} equal parts",
        f"The layer gives each of its {count} {parts.removeprefix('num_')} an equal part of the {size}: "
        f"{size} / {count} is no whole number.",
        (Fix("take a number of parts that divides it", f"{parts}={near}"),
         Fix("or make the whole a multiple of the parts", f"{whole}={size + -size % count}")),
        (Groups((Group(f"{count} parts", (pieces,), CLASH),
                 Group(f"{near} part{'s' * (near != 1)}", (", ".join([str(size // near)] * min(near, 8)),), GOOD))),))


def no_probability(failure: Failure, f: Fields) -> Diagnosis | None:
    """``nn.Dropout(50)``."""
    found = re.search(r"dropout.* but got (-?[\d.]+)", failure.message)
    if found is None or not isinstance(failure.error, ValueError):
        return None
    value = float(found[1])
    percent = 1 < value <= 100
    return Diagnosis(
        f"{value:g} is no probability: dropout takes the share of the values that it drops",
        "It lies between 0, which drops nothing, and 1, which drops all.",
        (Fix("if percent are meant", f"{value / 100:g}") if percent else Fix("usual is", "0.5"),),
        (given([f"{value:g}"], "0 … 1"),))


def made_from_a_module(failure: Failure, f: Fields) -> Diagnosis | None:
    """``nn.Linear(conv, 10)``: a layer where a size belongs."""
    wrote = failure.wrote
    if not is_module_class(wrote.function) or not isinstance(failure.error, TypeError):
        return None
    text, value = next(((t, v) for t, v in wrote.arguments if is_module(v)), ("", None))
    if value is None or "size" not in failure.message:
        return None
    features = next((name for name in ("out_features", "out_channels", "hidden_size", "num_features", "embedding_dim")
                     if isinstance(getattr(value, name, None), int)), None)
    return Diagnosis(
        f"{text} is a layer; {wrote.function.__name__} is made from sizes",
        "Layers do not know of each other. Each is made from the sizes of what comes in and goes out, and forward "
        "calls one with what the other returned.",
        (Fix(f"give the size of what {text} returns", f"{text}.{features}") if features else None,
         Fix("and join them where they are called", "nn.Sequential(first, second)")),
        (given([f"{text}: {type(value).__name__}"], "a whole number"),))


def not_through_parameters(failure: Failure, f: Fields) -> Diagnosis | None:
    """``clip_grad_norm_(model, 1.0)``."""
    wrote = failure.wrote
    name = wrote.name.rpartition(".")[2]
    text, value = wrote.arguments[0] if wrote.arguments else ("", None)
    if name not in OF_PARAMETERS or not is_module(value):
        return None
    rest = "".join(f", {part}" for part, _ in wrote.arguments[1:])
    return Diagnosis(
        f"{text} is a module; {name} takes its parameters", "A module is called; what it learns is in parameters().",
        (Fix("give the parameters", f"{wrote.name}({text}.parameters(){rest})"),),
        (given([text], f"{text}.parameters()"),))


def no_optimizer(failure: Failure, f: Fields) -> Diagnosis | None:
    """``StepLR(0.1, 1)``, ``StepLR(model, 1)``."""
    wrote = failure.wrote
    if not isinstance(failure.error, TypeError) or not failure.message.endswith("is not an Optimizer"):
        return None
    text, value = wrote.arguments[0] if wrote.arguments else ("", None)
    if is_optimizer(value):
        return None
    others = "".join(f", {other}" for other, _ in wrote.arguments[1:])
    return Diagnosis(
        f"{text} is no optimizer: a scheduler changes the learning rate of one",
        "It is made after the optimizer, holds it, and sets its learning rate each time that the scheduler's own "
        "step() is called.",
        (Fix("give it the optimizer", f"{wrote.name}(optimizer{others})"),),
        (Steps((Step("optim.SGD(…, lr=0.1)", "takes the steps", GOOD), Step(wrote.name, "sets its lr", GOOD))),))


def rate_as_text(failure: Failure, f: Fields) -> Diagnosis | None:
    """``optim.SGD(…, lr="0.1")``."""
    wrote = failure.wrote
    rate = wrote.keywords.get("lr", wrote.arguments[1][1] if len(wrote.arguments) > 1 else None)
    if not isinstance(rate, str) or not isinstance(failure.error, TypeError) or not hasattr(
            wrote.function, "add_param_group"):
        return None
    return Diagnosis(
        f"the learning rate is the text {rate!r}, and no number",
        "What is read from a command line, a form or a file of settings is text at first. YAML reads 1e-3 as text, "
        "too, and 1.0e-3 as a number.",
        (Fix("make a number of it", f"float({rate!r})"),), (given([repr(rate)], "0.1"),))


def other_groups(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain an optimizer's state that was saved for other parameters."""
    if not isinstance(failure.error, ValueError) or not failure.message.startswith("loaded state dict "):
        return None
    wrote = failure.wrote
    saved = next((v for _, v in wrote.arguments if isinstance(v, dict)), {})
    ours = getattr(getattr(wrote.function, "__self__", None), "param_groups", [])
    counts = [", ".join(str(len(group.get("params", ()))) for group in groups) or "unknown"
              for groups in (saved.get("param_groups", []), ours)]
    return Diagnosis(
        "the state was saved by an optimizer of other parameters: their numbers differ",
        "An optimizer's state is kept by the numbers of its parameters, in the order in which they were given. It fits "
        "an optimizer that was made in the same way, of the same model.",
        (Fix("make the model and the optimizer as they were made when the state was saved",
             "optim.SGD(model.parameters(), …)"),
         Fix("or, if the model has changed since, begin with a new state, and load the model's alone")),
        (Groups((Group("saved, parameters in each group", (counts[0],), CLASH),
                 Group("this optimizer", (counts[1],), GOOD))),))


def whole_object(failure: Failure, f: Fields) -> Diagnosis | None:
    """``torch.load`` of a file that holds more than tensors."""
    if not isinstance(failure.error, pickle.UnpicklingError) or "Weights only load failed" not in failure.message:
        return None
    wrote = failure.wrote
    text = wrote.arguments[0][0] if wrote.arguments else "file"
    held = re.search(r"GLOBAL ([\w.]+)", failure.message)
    return Diagnosis(
        f"the file holds {held[1] if held else 'an object of Python'}, and load reads tensors alone",
        "Pickle can run any code while it reads, so load refuses classes unless it is told to trust the file. What "
        "torch.save(model) writes is the model's class by name, besides its tensors.",
        (Fix("save what the model has learnt, and load it into a model that the program makes",
             "torch.save(model.state_dict(), file)"),
         Fix("of a file that is yours, read all", f"torch.load({text}, weights_only=False)"),
         Fix("or allow that class", f"torch.serialization.add_safe_globals([{held[1].rpartition('.')[2]}])")
         if held else None),
        (Groups((Group("in the file", (held[1] if held else os.path.basename(text.strip("'")),), CLASH),
                 Group("read without trust", ("tensors", "numbers, text", "lists, dicts"), GOOD))),))


def deep_copy(failure: Failure, f: Fields) -> Diagnosis | None:
    """``copy.deepcopy`` of what was computed, or of a model that keeps such a tensor."""
    wrote = failure.wrote
    copied = getattr(wrote.function, "__name__", "") == "deepcopy" and bool(wrote.arguments)
    text, value = wrote.arguments[0] if copied else ("", None)
    name, found = text, failure.involved(value, "self") if _is_computed(value) else None
    if is_module(value):
        name, tensor = next(_computed(text, value), ("", None))
        found = None if tensor is None else replace(failure.involved(tensor, "self"), name=name)
    elif found is None and failure.kind == "deep copy":  # within a function of the library
        name, found = f.x.label, f.x
    if found is None:
        return None
    return Diagnosis(
        f"{name} was computed: a deep copy would need a copy of its graph",
        "Leaves can be deep-copied. A computed tensor belongs to the graph that made it, of which there is only one.",
        (Fix("keep it outside of the graph", f"{name} = {name}.detach()"),
         Fix("or copy what the model has learnt", f"{text}.state_dict()")) if is_module(value) else (
            Fix("copy the values", f"{name}.detach().clone()"), Fix("or copy inside the graph", f"{name}.clone()")),
        (Steps((Step(found.node or "its graph", "cannot be copied", CLASH), Step(name))),), (found,))


def _computed(text: str, module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the computed tensors among the attributes of a module and those below it."""
    for path, part in module.named_modules():
        for key, kept in vars(part).items():
            if _is_computed(kept):
                yield ".".join(filter(None, (text, path, key))), kept


def _is_computed(value: Any) -> bool:
    return is_tensor(value) and not value.is_leaf


#: In the order in which they are asked.
RECOGNISED = {
    "not divisible": not_divisible, "no probability": no_probability, "made from a module": made_from_a_module,
    "not through parameters": not_through_parameters, "no optimizer": no_optimizer, "rate as text": rate_as_text,
    "other groups": other_groups, "whole object": whole_object, "deep copy": deep_copy,
}

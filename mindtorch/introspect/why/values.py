"""Why numbers are refused for what they are: weights to draw by, parameters of distributions, indices under vmap."""
from __future__ import annotations

import sys
from typing import Any

from .explanation import CLASH, GONE, GOOD, Diagnosis, Fields, Fix, Group, Groups, Step, Steps, given
from .failure import Failure
from .rules import arguments, on
from .wrote import is_many, is_tensor


def _first(failure: Failure) -> tuple[str, Any]:
    """Return the tensor that is drawn from: the first argument, or the one whose method was called."""
    wrote = failure.wrote
    owner = getattr(wrote.function, "__self__", None)
    return (wrote.name.rpartition(".")[0], owner) if is_tensor(owner) else (
        wrote.arguments[0] if wrote.arguments else ("weights", None))


@on(r"probability tensor contains either `inf`, `nan` or element < 0|invalid multinomial distribution|"
    r"prob_dist must be 1 or 2 dim|cannot sample n_sample")
def weights(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain ``multinomial`` of scores, of too few classes, of more than two dimensions."""
    name, tensor = _first(failure)
    cause = ("multinomial draws the numbers of classes, each as often as its weight says. Weights are finite, 0 or "
             "more, and not all of them 0.")
    if "dim" in found[0]:
        ndim = tensor.ndim if is_tensor(tensor) else "too many"
        return Diagnosis(
            f"{name} has {ndim} dimensions: weights are one row, or a row for each sample", cause,
            (Fix("draw one for each row, then bring them back into place",
                 f"torch.multinomial({name}.flatten(0, -2), 1).view({name}.shape[:-1])"),
             Fix("or of one place only, such as the last", f"{name}[:, -1]")),
            (given([f"{ndim} dimensions"], "[classes]", "[samples, classes]"),))
    if "n_sample" in found[0]:
        given_ = arguments(failure)
        count = given_.get("1", given_.get("num_samples", ("…", None)))[0]
        classes = tensor.shape[-1] if is_tensor(tensor) and tensor.ndim else 0
        return Diagnosis(
            f"{count} are to be drawn from {classes} classes, and each can be drawn once only",
            "Without replacement a class that was drawn is out; so there are as many draws as classes at most.",
            (Fix("put each back after it was drawn", "replacement=True"),
             Fix("or draw as many as there are", f"num_samples={classes}")), (given([str(count)], f"0 … {classes}"),))
    values = tensor.detach() if is_tensor(tensor) and tensor.device.type == "cpu" else None
    what = ("inf or nan" if values is not None and not bool(values.isfinite().all()) else
            "negative numbers" if values is not None and bool((values < 0).any()) else "no usable weights")
    made = failure.wrote.assignments(name)
    exps = next((node for node in made if failure.wrote.text(node).startswith("torch.exp(")), None)
    scores: Any = exps.args[0] if exps is not None and hasattr(exps, "args") else None
    base = failure.wrote.text(scores) if scores is not None else name
    return Diagnosis(
        f"{name} holds {what}, which cannot be weights", cause +
        (" exp of large scores is inf; softmax divides before that happens." if scores is not None else
         " Scores are turned into weights by softmax."),
        (Fix("of scores make probabilities", f"torch.softmax({base}, -1)") if "nan" not in what or scores is not None
         else None,
         Fix("if they come from a network, look where it became nan: a learning rate that is too high, log of 0, 0 / 0")
         if what == "inf or nan" else None),
        (Steps((Step("scores", "any numbers", GOOD), Step("softmax", "to weights", GOOD), Step(name, what, CLASH))),))


@on(r"Expected parameter (\w+) .*of distribution (\w+)\(.*to satisfy the constraint (\w+)", ValueError)
def parameter(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain a distribution whose parameter is out of its range, such as a negative standard deviation."""
    which, kind, constraint = found.groups()
    given_ = arguments(failure)
    names = [*given_.values()]
    order = {"Normal": ("loc", "scale"), "LogNormal": ("loc", "scale"), "Laplace": ("loc", "scale"),
             "Gamma": ("concentration", "rate"), "Beta": ("concentration1", "concentration0")}.get(kind, ())
    at = order.index(which) if which in order else 0
    value: Any
    text, value = given_.get(which) or (names[at] if at < len(names) else (which, None))
    known = is_tensor(value) and value.device.type == "cpu" and value.is_floating_point()
    if known and bool(value.detach().isnan().any()):
        return Diagnosis(
            f"{text} holds nan, and so there is no {kind}",
            "Something before computed what is no number: 0 / 0, log of a negative number, inf - inf, or "
            "parameters of a "
            "network that became nan in a step that was too large.",
            (Fix("look where it begins: backward names the operator in anomaly mode",
                 "torch.autograd.set_detect_anomaly(True)"), Fix("or see how many there are", f"{text}.isnan().sum()")),
            (given([f"{text}: nan"], "numbers"),))
    if constraint in ("GreaterThan", "GreaterThanEq"):
        return Diagnosis(
            f"{text} is the {which} of {kind}, and must be greater than 0",
            "It is a width: of a standard deviation there is no negative one. What a layer or an optimizer "
            "computes can be "
            "any number, so it is brought above 0 first.",
            (Fix("of any numbers make positive ones", f"F.softplus({text})"),
             Fix("or let the network compute the logarithm", f"{text}.exp()")), (given([f"{text} ≤ 0"], "> 0"),))
    if constraint in ("Simplex", "Interval", "UnitInterval"):
        return Diagnosis(
            f"{text} is the {which} of {kind}, and must hold probabilities, between 0 and 1",
            "What a network computes are scores, which can be any numbers; distributions take them under another name.",
            (Fix("give the scores as such", f"torch.distributions.{kind}(logits={text})"),
             Fix("or make probabilities of them", f"torch.softmax({text}, -1)" if constraint == "Simplex"
                 else f"torch.sigmoid({text})")), (given([text], "0 … 1"),))
    return None


@on(r"vmap: It looks like you're (?:calling \.item\(\)|either|attempting to use a Tensor in "
    r"some)|data-dependent control flow")
def under_vmap(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain a function under ``vmap`` that asks for a number: ``item``, ``if``, a slice whose ends are tensors."""
    line = failure.call().text if failure.call() else ""  # type: ignore[union-attr]
    branches = line.lstrip().startswith(("if ", "while ", "elif ", "assert ")) or "control flow" in found[0]
    slices = ":" in line.partition("[")[2] and not branches
    fixes = [Fix("choose element by element instead of with if", "torch.where(condition, a, b)")] if branches else []
    if slices:
        fixes.append(Fix("take a part of fixed length by indices that are computed",
                         "a[i + torch.arange(2)]" if "2" in line else "a[i + torch.arange(length)]"))
    if ".item()" in line:
        fixes.append(Fix("leave it a tensor: a tensor is an index, and a factor, "
                         "too", line.strip().replace(".item()", "")
                         .removeprefix("return ").rpartition("return ")[2]))
    fixes.append(Fix("or go through the samples one by one", "torch.stack([f(row) for row in rows])"))
    return Diagnosis(
        f"under vmap no single number can be asked for: "
        f"{'if' if branches else 'a slice' if slices else 'item()'} needs one",
        "vmap runs the function once, for all samples together: each tensor in it stands for as many values "
        "as there are "
        "samples. So there is no one number to branch on, to cut by, or to take out.",
        fixes, (Steps((Step("vmap(f)(x)", "one run for all samples", GOOD),
                       Step(line.strip()[:40], "asks for the number of one", GONE))),), ())


@on(r"Input and output must have the same number of spatial dimensions.*spatial dimensions of (\[.*?\]) and "
    r"output size of "
    r"(\(.*?\)|\[.*?\]|\d+)", ValueError)
def sizes_of_interpolate(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain ``F.interpolate`` of an image without samples, or with the channels last."""
    x, tensor = _first(failure)
    wanted = found[2].count(",") + 1
    shape = list(tensor.shape) if is_tensor(tensor) else []
    lacks = len(shape) == wanted + 1
    last = bool(shape) and not lacks and shape[-1] in (1, 3, 4)
    return Diagnosis(
        f"{x} {shape} has sizes {found[1]} behind samples and channels, and {wanted} are asked for",
        "interpolate takes [samples, channels, sizes …] and a new size for each of the sizes.",
        (Fix("add the dimension of samples, and take it away again", f"F.interpolate({x}[None]"
             f"{''.join(f', {_word(failure, w)}' for w in _words(failure))})[0]") if lacks else None,
         Fix("the channels stand last: move them to dimension 1", f"{x}.movedim(-1, 1)") if last else None,
         Fix("or give one size for each of them", f"size={tuple(shape[2:])}") if not lacks and not last else None,
         Fix("look where the additional dimension comes from: an image that is read has height, width, channels")
         if not lacks else None),
        (given([f"sizes {found[1]}"], f"{wanted} sizes"),), (failure.involved(tensor, "input"),) if shape else ())


def of_math(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``math.sqrt(x)`` of a tensor of several numbers."""
    wrote = failure.wrote
    name = getattr(wrote.function, "__name__", "")
    many = [text for text, value in wrote.arguments if is_many(value)]
    if getattr(wrote.function, "__module__", "") != "math" or not many:
        return None
    library = sys.modules.get("torch") or sys.modules["mindtorch"]
    rest = ", ".join(text for text, _ in wrote.arguments)
    return Diagnosis(
        f"math.{name} takes one number, and {many[0]} is a tensor of several",
        "The functions of Python's math compute with single numbers; those of torch, with each element.",
        (Fix("use the function for tensors", f"torch.{name}({rest})") if hasattr(library, name) else
         Fix("compute with tensors"), Fix("or take one of them", f"{many[0]}[0].item()")),
        (given([f"math.{name}({many[0]})"], f"torch.{name}({many[0]})"),))


def of_integers(failure: Failure, f: Fields) -> Diagnosis:
    """Explain gradients that are asked for of integers or bools: ``requires_grad``, ``nn.Parameter``."""
    wrote = failure.wrote
    made = wrote.name.rpartition(".")[2] in ("Parameter", "tensor", "zeros", "ones", "arange", "full", "randint")
    value: Any
    name, value = (wrote.arguments[0] if wrote.arguments else ("x", None)) if made else (wrote.owner or f.x.label, None)
    dtype = str(value.dtype).rpartition(".")[2] if is_tensor(value) else f.x.dtype
    return Diagnosis(
        f"only floats and complex numbers have gradients, and {name} is {dtype or 'of integers or bools'}",
        "A gradient says how a result changes with small changes of a value; integers and bools have no small changes. "
        "Numbers of classes, and what argmax and max(dim) give beside the values, are integers.",
        (Fix("if it is not to be learned, say so", f"{wrote.name}({name}, requires_grad=False)")
         if wrote.name.endswith("Parameter") else None,
         Fix("or make it of floats", f"{wrote.name}({name}.float())") if wrote.name.endswith("Parameter") else
         Fix("make it of floats", "dtype=torch.float32") if made else
         Fix("convert, before asking for gradients", f"{name} = {name}.float()")),
        (Groups((Group("can require grad", ("float16, bfloat16, float32, float64", "complex64, complex128"), GOOD),
                 Group("cannot", (dtype or "an integer or bool dtype",), CLASH))),))


@on(r"[Oo]nly Tensors of floating point and complex dtype can require gradients")
def parameter_of_integers(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain ``nn.Parameter(mask)``."""
    return of_integers(failure, failure.fields()) if failure.wrote.name.endswith("Parameter") else None


def _words(failure: Failure) -> list[Any]:
    return failure.wrote.call.keywords if failure.wrote.call else []


def _word(failure: Failure, word: Any) -> str:
    return f"{word.arg}={failure.wrote.text(word.value)}"


RECOGNISED = {
    "math of tensors": of_math,
    "parameter of integers": parameter_of_integers, "weights to draw by": weights,
    "parameter of a distribution": parameter, "under vmap": under_vmap, "sizes of interpolate": sizes_of_interpolate,
}

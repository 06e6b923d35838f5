"""Mistakes that show in what the program wrote and what its names mean, whoever raises the error, and in what words.

Each function knows one of them by the failing piece of syntax (``wrote.py``), and returns None for everything else.
"""
from __future__ import annotations

import ast
import difflib
import inspect
import os
import re
import sys
from types import MethodType, ModuleType
from typing import Any

from .absent import no_optimizer_attribute
from .explanation import CLASH, GONE, GOOD, Diagnosis, Fields, Fix, Group, Groups, Step, Steps, given
from .failure import Failure
from .wrote import Wrote, is_library, is_loader, is_module, is_module_class, is_optimizer, is_optimizer_class, is_tensor

OF_MODELS = ("eval", "train", "parameters", "named_parameters", "cuda", "cpu", "zero_grad", "forward", "requires_grad_")
IMPORTS = {"nn": "from torch import nn", "F": "import torch.nn.functional as F", "optim": "from torch import optim",
           "torch": "import torch", "np": "import numpy as np", "plt": "import matplotlib.pyplot as plt",
           "DataLoader": "from torch.utils.data import DataLoader",
           "Dataset": "from torch.utils.data import Dataset"}
#: Functions that join several tensors, which they take in a list.
JOINING = ("cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack")


def _many(value: Any) -> bool:
    return is_tensor(value) and value.numel() != 1


def _is_a(failure: Failure, *kinds: type) -> bool:
    return isinstance(failure.error, kinds)


def _size(value: Any) -> str:
    """A value in a picture: of a tensor, its shape."""
    return f"tensor {list(value.shape)}" if is_tensor(value) else type(value).__name__


# -- calls -----------------------------------------------------------------------------------------------------------


def made_with_data(failure: Failure, f: Fields) -> Diagnosis | None:
    """``nn.MSELoss(out, y)``, ``Net(x)``: a module is made with the tensors that it should be called with."""
    pieces = ((wrote, [text for text, value in wrote.arguments if _many(value)]) for wrote in failure.pieces)
    wrote, data = next(((w, data) for w, data in pieces if data and is_module_class(w.function)), (None, []))
    if wrote is None:
        return None
    kind = wrote.function.__name__
    settings = [text for text, value in wrote.arguments if not is_tensor(value)]
    called = f"{wrote.name}({', '.join(settings)})({', '.join(data)})"
    wanted = [p.name for p in inspect.signature(wrote.function).parameters.values() if p.default is p.empty
              and p.kind is p.POSITIONAL_OR_KEYWORD]
    called = f"{wrote.name}({', '.join(wanted)})({', '.join(data)})" if wanted and not settings else called
    return Diagnosis(
        f"{kind} was made with tensors ({', '.join(data)}); it is made first, and called with them then",
        f"{kind}(…) makes a module, from settings. The module is then called like a function, with tensors, as often "
        "as wanted.", (Fix("make it, then call it", called),
                    Fix("or, of a loss, use the function", "F.mse_loss(…), F.cross_entropy(…)")
                    if kind.endswith("Loss") else None),
        (Steps((Step(f"{wrote.name}({', '.join(settings or wanted)})", "makes the module", GOOD),
                Step(f"({', '.join(data)})", "calls it: here the tensors belong", GOOD))),))


def loose_tensors(failure: Failure, f: Fields) -> Diagnosis | None:
    """``torch.cat(a, b)``."""
    wrote = failure.wrote
    first = wrote.arguments[0][1] if wrote.arguments else None
    name = wrote.name.rpartition(".")[2]
    if not _is_a(failure, TypeError) or name not in JOINING or not is_tensor(first):
        return None
    tensors = [text for text, value in wrote.arguments if is_tensor(value)]
    rest = [f", {text}" for text, value in wrote.arguments if not is_tensor(value)]
    return Diagnosis(f"{name} takes the tensors in one list, and was given {tensors[0]} alone as the list",
                     "The second argument says along which dimension they are joined.",
                     (Fix("put them in a list", f"{wrote.name}([{', '.join(tensors)}]{''.join(rest)})"),),
                     (given(tensors, f"[{', '.join(tensors)}]"),))


def not_parameters(failure: Failure, f: Fields) -> Diagnosis | None:
    """``optim.Adam(model.parameters)``, ``optim.Adam(model)``."""
    wrote = failure.wrote
    if not is_optimizer_class(wrote.function) or not wrote.arguments:
        return None
    text, value = wrote.arguments[0]
    if isinstance(value, MethodType):
        title, right = f"{text} is a method that was not called: it yields the parameters when it is", f"{text}()"
    elif is_module(value):
        title, right = f"{text} is a module; an optimizer takes its parameters", f"{text}.parameters()"
    elif (rate := wrote.keywords.get("lr")) is not None and isinstance(rate, (int, float)) and rate < 0:
        return Diagnosis(f"a learning rate of {rate} would climb instead of descend",
                         "Each step goes against the gradient, by the learning rate times it: a number of 0 or more.",
                         (Fix("leave the minus sign out", f"lr={-rate}"),), (given([f"lr={rate}"], "lr=0.1"),))
    else:
        return None
    rest = "".join(f", {word.arg}={wrote.text(word.value)}" for word in wrote.call.keywords) if wrote.call else ""
    return Diagnosis(title, "An optimizer goes through the tensors that it is to change, once, when it is made.",
                     (Fix("give the parameters", f"{wrote.name}({right}{rest})"),), (given([text], right),), ())


def not_modules(failure: Failure, f: Fields) -> Diagnosis | None:
    """``nn.Sequential([…])``, ``nn.Sequential(…, F.relu)``."""
    wrote = failure.wrote
    if not is_module_class(wrote.function) or not _is_a(failure, TypeError) or "Sequential" not in wrote.name:
        return None
    for text, value in wrote.arguments:
        if isinstance(value, list):
            return Diagnosis(
                "Sequential takes modules one by one, and was given a list",
                "Each argument is a module, called in turn with what the one before returned.",
                (Fix("unpack the list", f"{wrote.name}(*{text})"),),
                (given(["[module, module]"], "module, module"),), ())
        if callable(value) and not is_module(value) and not isinstance(value, type):
            name = text.rpartition(".")[2]
            there = [n for n in dir(sys.modules[wrote.function.__module__.partition(".")[0]].nn)
                     if n.lower() == name.replace("_", "").lower()]
            right = f"nn.{there[0]}()" if there else "a module"
            return Diagnosis(
                f"{text} is a function, no module", "Sequential holds modules; most functions have a module that calls "
                "them.", (Fix("use the module", right),
                          Fix("or call the function in the forward of a module of your own")),
                (given([text], right),), ())
        if isinstance(value, type) and is_module_class(value):
            return Diagnosis(
                f"{text} is a class: the module itself is missing", "A module is made by calling its class.",
                (Fix("make it", f"{text}()"),), (given([text], f"{text}()"),), ())
    return None


def fractional_size(failure: Failure, f: Fields) -> Diagnosis | None:
    """``nn.Linear(64 / 2, 10)``, ``torch.rand(n / 2)``, ``torch.zeros("2")``."""
    wrote = failure.wrote
    if not _is_a(failure, TypeError) or not (is_library(wrote.function) or is_module_class(wrote.function)):
        return None
    for text, value in wrote.arguments:
        if isinstance(value, float) and value not in wrote.keywords.values() and "size" in failure.message:
            whole = text.replace(" / ", " // ") if " / " in text else repr(int(value))
            return Diagnosis(
                f"{text} is {value}, a float, and sizes are whole numbers",
                "Division with / gives a float even where it comes out even; // gives a whole number.",
                (Fix("divide whole numbers" if "/" in text else "write a whole number", whole),),
                (given([f"{text} = {value}"], whole),), ())
        if isinstance(value, str) and "size" in failure.message:
            return Diagnosis(
                f"{text} is text, and sizes are whole numbers", "What is read from a file or a form is text at first.",
                (Fix("make a number of it", f"int({text})"),), (given([text], f"int({text})"),), ())
    return None


def dtype_by_name(failure: Failure, f: Fields) -> Diagnosis | None:
    """``dtype="float32"``, ``x.to("float32")``."""
    wrote = failure.wrote
    values = [value for _, value in wrote.arguments if isinstance(value, str)]
    root = sys.modules.get(_root(wrote.function))
    name = next((v for v in values if type(getattr(root, v, None)).__name__.lower() == "dtype"), None)
    if name is None:
        return None
    return Diagnosis(f"a dtype is given as torch.{name}, not by its name", "Text is taken for a device.",
                     (Fix("write the dtype", f"torch.{name}"),), (given([f"'{name}'"], f"torch.{name}"),))


def _root(function: Any) -> str:
    owner = getattr(function, "__self__", function)
    return str(getattr(type(owner) if is_tensor(owner) or is_module(owner) else owner, "__module__", "")
               ).partition(".")[0] or "mindtorch"


def missing_arguments(failure: Failure, f: Fields) -> Diagnosis | None:
    """``x.transpose(1)``, ``nn.Linear(10)``."""
    wrote, error = failure.wrote, failure.error
    found = re.search(r"missing \d+ required positional arguments?: (.+)", failure.message)
    kind = is_module_class(wrote.function) or is_optimizer_class(wrote.function)
    if not isinstance(error, TypeError) or found is None or wrote.call is None or failure.outer:
        return None
    if not (kind or is_library(wrote.function) or is_library(getattr(wrote.function, "__self__", None))):
        return None
    names = re.findall(r"[\w.]+", found[1].replace(" and ", " "))
    written = ", ".join(wrote.text(node) for node in [*wrote.call.args, *wrote.call.keywords])
    taken = _parameters(wrote.function)
    if names == ["dim0"] and not wrote.call.args:
        names = ["dim0", "dim1"]  # only the first is named where both are missing
    lacks = ", ".join(names)
    right = f"{wrote.name}({', '.join([*([written] if written else []), *(f'{name}=…' for name in names)])})"
    example = {"dim1": f"{wrote.name}({written or '0'}, {'0' if written else '1'})", "dim": f"{wrote.name}(dim=-1)",
               "params": f"{wrote.name}(model.parameters(){', ' if written else ''}{written})"}.get(names[-1], "")
    return Diagnosis(
        f"{wrote.name} was not given {lacks}", "An argument without a default must be given, by its place or its name.",
        (Fix("give what is missing", right), Fix("for example", example) if example else None),
        (given([f"({written})"], f"({', '.join(taken)})" if taken else lacks),))


def _parameters(function: Any) -> list[str]:
    try:
        return [str(p.replace(annotation=p.empty)) for p in inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        return []


def not_called(failure: Failure, f: Fields) -> Diagnosis | None:
    """``x(0)``, ``x.shape(0)``, ``x.size[0]``, ``with torch.no_grad:``, ``optim.adam(…)``: parentheses where none
    belong, or none where they do.
    """
    wrote = failure.wrote
    node = wrote.node
    if not _is_a(failure, TypeError) or node is None:
        return None
    if isinstance(node, ast.Call):
        given_ = ", ".join(wrote.text(argument) for argument in node.args)
        if is_tensor(wrote.function):
            return _parentheses(wrote.name, f"{wrote.name}({given_})", f"{wrote.name}[{given_}]",
                                "is a tensor, which cannot be called", "Elements are taken with square brackets; "
                                "parentheses call a function.")
        if type(wrote.function).__name__ == "Size":
            return _parentheses(wrote.name, f"{wrote.name}({given_})", f"{wrote.name}[{given_}]",
                                "is a tuple of sizes, which cannot be called",
                                "shape is an attribute; size() is the method that returns the same.")
        if isinstance(wrote.function, ModuleType):
            name = wrote.name.rpartition(".")[2]
            there = [n for n in dir(sys.modules.get(wrote.function.__name__.rpartition(".")[0])) if
                     n.lower() == name.lower() and n != name] or [
                n for n in dir(wrote.function) if n.lower() == name.lower()]
            if there:
                return _parentheses(wrote.name, f"{wrote.name}(…)", f"{wrote.name[:-len(name)]}{there[0]}({given_})",
                                    "is a module of Python, a file with classes in it", "Classes begin with a capital.")
    if isinstance(node, ast.Subscript) and isinstance(method := wrote.value(node.value), MethodType):
        text, index = wrote.text(node.value), wrote.text(node.slice)
        if is_tensor(method.__self__):
            right = f"{text}({index})" if text.endswith(".size") else f"{text}()[{index}]"
            return _parentheses(text, f"{text}[{index}]", right, "is a method, which must be called first",
                                "Square brackets take a part of what is there; a method gives it when it is called.")
    entered = node.items[0].context_expr if isinstance(node, ast.With) else node
    if isinstance(found := wrote.value(entered), type) and hasattr(found, "__enter__"):
        text = wrote.text(entered)
        return _parentheses(text, f"with {text}:", f"with {text}():", "is a class: the block needs one made of it",
                            "with enters an object; calling the class makes one.")
    return None


def _parentheses(name: str, wrong: str, right: str, what: str, cause: str) -> Diagnosis:
    return Diagnosis(f"{name} {what}", cause, (Fix("write", right),), (given([wrong], right),))


def legacy_function(failure: Failure, f: Fields) -> Diagnosis | None:
    """An ``autograd.Function`` that is made and called instead of applied."""
    wrote = failure.wrote
    made = wrote.call.func if wrote.call is not None else None
    kind = wrote.value(made.func) if isinstance(made, ast.Call) else type(wrote.function)
    is_function = isinstance(kind, type) and hasattr(kind, "apply") and hasattr(kind, "forward")
    if not is_function or is_module_class(kind):
        return None
    given_ = ", ".join(text for text, _ in wrote.arguments)
    return Diagnosis(
        f"{kind.__name__} is an autograd.Function: it is applied, never made or called",
        "Its forward and backward are static methods; apply runs forward and records backward in the graph. What "
        "backward needs goes through ctx, their first argument.",
        (Fix("apply it", f"{kind.__name__}.apply({given_})"),
         Fix("and write both as static methods", "@staticmethod\ndef forward(ctx, x): …")),
        (Steps((Step(f"{kind.__name__}()", "would make an object", CLASH),
                Step(f"{kind.__name__}.apply(…)", "runs forward, records backward", GOOD))),))


# -- what something is -----------------------------------------------------------------------------------------------


def attribute_of(failure: Failure, f: Fields) -> Diagnosis | None:
    """An attribute of what is no tensor, where one was expected: a number, a tuple, None, a state dict, …"""
    error = failure.error
    if not isinstance(error, AttributeError) or is_tensor(error.obj) or is_module(error.obj) or not error.name:
        return None
    name, owner, wrote = error.name, error.obj, failure.wrote
    access = wrote.node.func if isinstance(wrote.node, ast.Call) and not failure.is_ours else wrote.node
    node = access.value if isinstance(access, ast.Attribute) else None
    text = wrote.text(node) or "it"
    if is_optimizer(owner):
        return no_optimizer_attribute(failure, name, type(owner).__name__,
                                      [n for n in dir(owner) if n[0] != "_"])
    if isinstance(owner, bool) and isinstance(node, ast.Compare):
        return _compared(text, node, wrote)
    if isinstance(owner, (int, float)) and name in ("backward", "detach", "item", "grad", "requires_grad"):
        return _number(text, name, node, wrote)
    if owner is None:
        return _nothing(failure, text, name, node)
    if isinstance(owner, tuple):
        return _several(owner, text, name, node)
    if isinstance(owner, dict) and name in OF_MODELS:
        return Diagnosis(
            f"{text} is a state dict, and no model: it has no {name}",
            "A state dict holds the tensors of a model by their names, and not what the model does with them.",
            (Fix("make the model as it was made when it was saved, then load the state into it",
                 f"model.load_state_dict({text})"),),
            (Steps((Step("model = Net(…)", "the class says what is computed", GOOD),
                    Step(f"model.load_state_dict({text})", "puts the numbers in", GOOD),
                    Step(f"model.{name}()"))),))
    if isinstance(owner, MethodType) and is_tensor(owner.__self__):
        return _parentheses(text, f"{text}.{name}", f"{text}().{name}", "is a method that was not called",
                            "Without parentheses the method itself is meant, not what it returns.")
    library = sys.modules.get("torch") or sys.modules["mindtorch"]
    if type(owner).__name__ in ("ndarray", "list") and hasattr(library.Tensor, name):
        make = f"torch.from_numpy({text})" if type(owner).__name__ == "ndarray" else f"torch.tensor({text})"
        return Diagnosis(
            f"{text} is a {type(owner).__name__}, and {name} belongs to tensors",
            "Arrays and lists must be made tensors first; a list of equal tensors is stacked.",
            (Fix("make a tensor of it", make), Fix("or, of a list of tensors", f"torch.stack({text})")
             if isinstance(owner, list) else None), (given([type(owner).__name__], "Tensor"),))
    return None


def _compared(text: str, node: ast.Compare, wrote: Wrote) -> Diagnosis | None:
    left, right = wrote.text(node.left), wrote.text(node.comparators[0])
    return Diagnosis(
        f"({text}) compared two things that are not both tensors, and is one True or False",
        "Two tensors are compared element by element. What max, sort and topk return along a dimension is a tuple of "
        "values and indices, which never equals a tensor.",
        (Fix("of the largest scores take the indices", f"{left.partition('.')[0]}.argmax(1) == {right}"),
         Fix("or take one part of the tuple", f"{left}.indices == {right}")),
        (given([f"{left}: a tuple", right], "Tensor == Tensor"),))


def _number(text: str, name: str, node: Any, wrote: Wrote) -> Diagnosis:
    source = next(iter(wrote.assignments(text)), None) if isinstance(node, ast.Name) else node
    made = wrote.text(source) or text
    tensor = made.removesuffix(".item()") if made.endswith(".item()") else (
        wrote.text(source.args[0]) if isinstance(source, ast.Call) and source.args else "loss")
    return Diagnosis(
        f"{text} is a number of Python's: it has no graph, and no {name}",
        "item(), float() and the like take the number out of the tensor. Only the tensor knows how it was computed.",
        (Fix("keep the tensor for backward, and take the number only to show it", f"{tensor}.{name}()"
             if name in ("backward", "detach", "item") else f"{tensor}.{name}"),),
        (Steps((Step(tensor, "a tensor, with its graph", GOOD), Step(made, "a number: the graph is lost", GONE),
                Step(f".{name}", "", CLASH))),))


def _nothing(failure: Failure, text: str, name: str, node: Any) -> Diagnosis | None:
    """None, where something should have been returned."""
    wrote = failure.wrote
    given_ = wrote.call.args if wrote.call and node is None else [node]  # a function of the library found it in these
    found = next((part for part in given_ if isinstance(part, ast.Call) or (
        isinstance(part, ast.Name) and wrote.value(part) is None)), None)
    call = next(wrote.assignments(found.id), None) if isinstance(found, ast.Name) else found
    if not isinstance(call, ast.Call) or (isinstance(call.func, ast.Attribute) and call.func.attr == "get"):
        return None
    made = wrote.value(call.func.func) if isinstance(call.func, ast.Call) else wrote.value(call.func)
    is_forward = is_module(made) or is_module_class(made)
    kind = made if is_module_class(made) else type(made)
    named, text = kind.__name__ if is_forward else wrote.text(call.func), wrote.text(call)
    return Diagnosis(
        f"{text} is None: {'the forward of ' if is_forward else ''}{named} returned nothing",
        "A function returns None unless a return statement says what. Assigning to a variable inside of it is seen "
        "by nobody outside.",
        (Fix(f"end {'forward' if is_forward else 'it'} with", "return x"),),
        (Steps((Step(f"{named}.forward" if is_forward else named, "computes, and has no return"),
                Step("None", "comes out", CLASH), Step(f".{name}", "is asked of None"))),))


def _several(owner: tuple[Any, ...], text: str, name: str, node: Any) -> Diagnosis | None:
    """Several results, of which one was meant."""
    fields = [n for n in ("values", "indices") if hasattr(owner, n)]
    if not any(is_tensor(item) for item in owner):
        return None
    arguments = name not in dir(owner) and name not in ("shape", "dtype", "T", "grad", "device")
    tail = f".{name}(…)" if arguments else f".{name}"
    rows = tuple(f"{fields[i] if i < len(fields) else f'[{i}]'}: {_size(item)}" for i, item in enumerate(owner))
    first = Fix("the values, or where they are", f"{text}.{fields[-1]}") if fields else Fix(
        "name the results one by one", f"out, {'hidden' if len(owner) == 2 else '*others'} = {text}")
    return Diagnosis(
        f"{text} is {len(owner)} results in a tuple, and {name} belongs to one of them",
        "Recurrent layers return outputs and hidden state, attention outputs and weights; max, min, sort and topk "
        "along a dimension return values and indices.", (first, Fix("or take one", f"{text}[0]{tail}")),
        (Groups((Group(text, rows, CLASH),)),))


def text_and_tensor(failure: Failure, f: Fields) -> Diagnosis | None:
    """``"loss: " + loss``."""
    wrote = failure.wrote
    if not _is_a(failure, TypeError) or not isinstance(wrote.node, ast.BinOp):
        return None
    left, right = wrote.value(wrote.node.left), wrote.value(wrote.node.right)
    if not (isinstance(left, str) and is_tensor(right)):
        return None
    label, text = left.rstrip(), wrote.text(wrote.node.right)
    return Diagnosis(f"text and the tensor {text} cannot be added", "+ joins text with text, and adds tensors to "
                     "tensors and numbers. An f-string writes values into text.",
                     (Fix("write the number into the text", f'f"{label} {{{text}.item():.4f}}"'),
                      Fix("or print both", f"print({left!r}, {text}.item())")),
                     (given(["str + Tensor"], "f-string", "print(text, number)"),))


def formatted(failure: Failure, f: Fields) -> Diagnosis | None:
    """``f"{x:.3f}"`` of a tensor with many elements."""
    wrote = failure.wrote
    if not _is_a(failure, TypeError) or not isinstance(wrote.node, ast.JoinedStr):
        return None
    for part in wrote.node.values:
        value: Any = wrote.value(part.value) if isinstance(part, ast.FormattedValue) else None
        if isinstance(part, ast.FormattedValue) and part.format_spec and _many(value):
            text = wrote.text(part.value)
            spec = "".join(str(piece.value) for piece in getattr(part.format_spec, "values", ())
                           if isinstance(piece, ast.Constant))
            return Diagnosis(
                f"{text} has {value.numel()} elements, and a format such as {spec} is for one number",
                "A tensor of one element is formatted as its number; a larger one has only its own printing.",
                (Fix("reduce it to a number first", f"f'{{{text}.mean():.3f}}'"),
                 Fix("or format each", f"[f'{{v:.3f}}' for v in {text}.tolist()]"),
                 Fix("or print the tensor with fewer digits", "torch.set_printoptions(precision=3)")),
                (given([f"{text}: {_size(value)}"], "one number"),))
    return None


def loader_misused(failure: Failure, f: Fields) -> Diagnosis | None:
    """``next(loader)``, ``loader[0]``, a ``DataLoader`` of data and labels, a dataset that lacks a method."""
    wrote = failure.wrote
    if isinstance(wrote.node, ast.Subscript) and is_loader(wrote.value(wrote.node.value)):
        text, index = wrote.text(wrote.node.value), wrote.text(wrote.node.slice)
        wrong, fixes = f"{text}[{index}]", (Fix("of the samples take one", f"{text}.dataset[{index}]"),
                                            Fix("or the first batch", f"next(iter({text}))"))
    elif wrote.function is next and wrote.arguments and is_loader(wrote.arguments[0][1]):
        text = wrote.arguments[0][0]
        wrong, fixes = f"next({text})", (Fix("begin a pass, and take its first batch", f"next(iter({text}))"),
                                         Fix("or go through all", f"for batch in {text}: …"))
    else:
        return _dataset(failure, wrote)
    return Diagnosis(
        f"{text} is a DataLoader: each loop over it is a new pass over the data",
        "It makes batches while a loop asks for them, in a new order each time if it shuffles; they have no numbers.",
        fixes, (given([wrong], f"for batch in {text}", f"next(iter({text}))"),))


def _dataset(failure: Failure, wrote: Wrote) -> Diagnosis | None:
    name = wrote.name.rpartition(".")[2]
    arguments = wrote.arguments
    if name == "DataLoader" and len(arguments) > 1 and all(is_tensor(value) for _, value in arguments[:2]):
        x, y = (text for text, _ in arguments[:2])
        return Diagnosis(
            f"DataLoader takes one dataset; {y} was taken for the size of the batches",
            "Samples and labels that belong together are first made one dataset.",
            (Fix("pair them", f"torch.utils.data.DataLoader(torch.utils.data.TensorDataset({x}, {y}))"),),
            (given([f"{x}, {y}"], f"TensorDataset({x}, {y})"),))
    if name == "TensorDataset" and len({len(value) for _, value in arguments if _many(value)}) > 1:
        rows = [f"{text}: {len(value)} samples" for text, value in arguments if is_tensor(value)]
        few = min((len(value) for _, value in arguments if is_tensor(value)), default=0)
        return Diagnosis(
            f"the tensors hold different numbers of samples: {', '.join(rows)}",
            "The first dimension counts the samples; element i of each tensor belongs to sample i.",
            (Fix("look where samples went missing; to take those that all have",
                 f"{wrote.name}({', '.join(f'{text}[:{few}]' for text, _ in arguments)})"),),
            (Groups((Group("samples", tuple(rows), CLASH),)),))
    if isinstance(failure.error, (TypeError, NotImplementedError)):
        source = wrote.source
        abstract = isinstance(failure.error, NotImplementedError) and "Dataset" in failure.message
        lacks = "__len__" if "has no len()" in failure.message else "__getitem__" if abstract else ""
        classes = [n for n in ast.walk(source) if isinstance(n, ast.ClassDef)
                   and any("Dataset" in ast.unparse(base) for base in n.bases)]
        if lacks and ("DataLoader" in wrote.text(wrote.node) or classes or failure.is_ours):
            body = "return len(self.data)" if lacks == "__len__" else "return self.data[i]"
            head = "def __len__(self):" if lacks == "__len__" else "def __getitem__(self, i):"
            return Diagnosis(
                f"the dataset has no {lacks}",
                "A loader asks a dataset how many samples there are, with __len__, and for each by its number, with "
                "__getitem__.", (Fix("define it in its class", f"{head} {body}"),),
                (Groups((Group("a dataset has", ("__len__", "__getitem__"), GOOD),
                         Group("missing", (lacks,), CLASH))),))
    return _unpacked(failure, wrote)


def _unpacked(failure: Failure, wrote: Wrote) -> Diagnosis | None:
    """Another number of variables than a batch, or a sample, has parts."""
    if not _is_a(failure, ValueError) or "values to unpack" not in failure.message:
        return None
    target = wrote.text(wrote.node).strip("()")
    loop = next((node for node in ast.walk(wrote.source) if isinstance(node, (ast.For, ast.comprehension))
                 and ast.unparse(node.target).strip("()") == target
                 and (is_loader(wrote.value(node.iter)) or "Loader" in ast.unparse(node.iter))), None)
    if loop is None:
        return None
    names = [ast.unparse(name) for name in getattr(loop.target, "elts", ())]
    got = re.search(r"got (\d+)", failure.message)
    parts = "fewer" if "not enough" in failure.message else "more"
    number = f"{got[1]} parts" if got else f"{parts} parts"
    fixed = ", ".join(names[:int(got[1])]) if got and int(got[1]) <= len(names) else "x, y, *rest"
    return Diagnosis(
        f"the loop takes {len(names)} parts from each batch, which has {number}",
        "A batch has as many parts as a sample of the dataset: what its __getitem__ returns.",
        (Fix("take as many as there are", f"for {fixed} in {ast.unparse(loop.iter)}: …"),
         Fix("or look at one first", f"next(iter({ast.unparse(loop.iter)}))")), (given([", ".join(names)], number),))


def indexed_list(failure: Failure, f: Fields) -> Diagnosis | None:
    """``names[pred]`` of a list, and ``range(tensor)``."""
    wrote = failure.wrote
    if isinstance(wrote.node, ast.Subscript) and isinstance(wrote.value(wrote.node.value), (list, tuple)):
        index = wrote.value(wrote.node.slice)
        text, picked = wrote.text(wrote.node.value), wrote.text(wrote.node.slice)
        if _many(index):
            return Diagnosis(
                f"{text} is a list, and {picked} holds {index.numel()} numbers",
                "A list is indexed by one whole number. Many at once is what tensors and arrays can.",
                (Fix("take them one by one", f"[{text}[i] for i in {picked}]"),
                 Fix("or one of them", f"{text}[{picked}[0]]")), (given([f"{picked}: {_size(index)}"], "one number"),))
    if wrote.function is range:
        found = next(((text, value) for text, value in wrote.arguments if is_tensor(value)), None)
        if found and found[1].numel() == 1 and found[1].is_floating_point():
            return Diagnosis(
                f"{found[0]} is {str(found[1].dtype).rpartition('.')[2]}, and range counts with whole numbers",
                "Of a tensor of one whole number Python makes an int by itself; of a float it does not, for it would "
                "lose the fraction.", (Fix("convert it", f"range(int({found[0]}))"),),
                (given([f"{found[0]}: float"], "int"),))
    return None


def no_array(failure: Failure, f: Fields) -> Diagnosis | None:
    """``from_numpy`` of a list; arrays of objects."""
    wrote = failure.wrote
    name = wrote.name.rpartition(".")[2]
    if not wrote.arguments or not is_library(wrote.function) or not _is_a(failure, TypeError):
        return None
    text, value = wrote.arguments[0]
    if name == "from_numpy" and isinstance(value, (list, tuple)):
        return Diagnosis("from_numpy takes an array of NumPy's, and was given a list",
                         "It shares the array's memory; a list has no memory of that kind, and is copied.",
                         (Fix("copy the list", f"torch.tensor({text})"),), (given(["list"], "numpy.ndarray"),))
    if "object_" in failure.message:
        return Diagnosis(
            "the array is of dtype object: it holds Python's objects, not numbers",
            "NumPy chooses object where the items have no number type in common: text, None, lists of different "
            "lengths. A tensor needs numbers of one dtype.",
            (Fix("if all of them are numbers, convert the array", "array.astype(np.float32)"),
             Fix("else look for what is none: text, None, rows of different lengths"),
             Fix("a table's column of numbers and blanks", "pd.to_numeric(column, errors='coerce')")),
            (given(["dtype object"], "a number's dtype"),))
    return None


def undefined(failure: Failure, f: Fields) -> Diagnosis | None:
    """A name that was never imported, or a name of the library without ``torch.`` before it."""
    error = failure.error
    if not isinstance(error, NameError) or not isinstance(error.name, str):
        return None
    name, root = error.name, sys.modules.get("torch") or sys.modules["mindtorch"]
    if name in IMPORTS:
        code, cause = IMPORTS[name], "A name means something once it was imported or assigned."
    else:
        place = next((path for path, space in (("torch", root), ("nn", root.nn), ("F", root.nn.functional),
                                               ("optim", root.optim)) if name in dir(space) and name[0] != "_"), None)
        if place is None:
            return None
        code, cause = f"{place}.{name}", "The library's names stand behind the name of their module."
    return Diagnosis(f"{name} is not defined here", cause, (Fix("write", code),), (given([name], code),))


def no_file(failure: Failure, f: Fields) -> Diagnosis | None:
    """``torch.load`` of a file that is not there."""
    wrote, error = failure.wrote, failure.error
    if not isinstance(error, FileNotFoundError) or not is_library(wrote.function) or not error.filename:
        return None
    path = os.fspath(error.filename)
    folder = os.path.dirname(path) or "."
    there = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    close = difflib.get_close_matches(os.path.basename(path), there, 3, 0.5)
    return Diagnosis(
        f"there is no file {path!r}", f"It is looked for from the folder {os.getcwd()!r}, where Python runs.",
        (*(Fix("did you mean", repr(os.path.join(os.path.dirname(path), name))) for name in close),
         Fix("see what is there", f"os.listdir({folder!r})"),
         Fix("if it was never saved, save it first", f"torch.save(model.state_dict(), {path!r})")),
        (given([path], *(there[:4] or ["(the folder is empty)"] if os.path.isdir(folder) else ["(no such folder)"])),))


#: In the order in which they are asked.
RECOGNISED = {
    "module made with data": made_with_data, "loose tensors": loose_tensors, "not parameters": not_parameters,
    "not modules": not_modules, "dtype by name": dtype_by_name, "fractional size": fractional_size,
    "legacy function": legacy_function, "missing arguments": missing_arguments, "not called": not_called,
    "attribute of": attribute_of, "text and tensor": text_and_tensor, "formatted": formatted,
    "loader misused": loader_misused, "indexed list": indexed_list, "no array": no_array, "undefined": undefined,
    "no file": no_file,
}

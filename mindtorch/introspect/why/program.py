"""Mistakes in what something is: they show in what the program wrote and what its names mean, whoever raises the error,
and in what words. Each function knows one of them by the failing piece of syntax (``wrote.py``), and returns None for
everything else.
"""
from __future__ import annotations

import ast
import difflib
import os
import sys
from typing import Any

from .absent import no_optimizer_attribute
from .calls import parentheses
from .explanation import CLASH, GONE, GOOD, Diagnosis, Fields, Fix, Group, Groups, Step, Steps, given
from .failure import Failure
from .wrote import Wrote, is_library, is_many, is_method, is_module, is_module_class, is_optimizer, is_tensor

OF_MODELS = ("eval", "train", "parameters", "named_parameters", "cuda", "cpu", "zero_grad", "forward", "requires_grad_")
IMPORTS = {"nn": "from torch import nn", "F": "import torch.nn.functional as F", "optim": "from torch import optim",
           "torch": "import torch", "np": "import numpy as np", "plt": "import matplotlib.pyplot as plt",
           "DataLoader": "from torch.utils.data import DataLoader",
           "Dataset": "from torch.utils.data import Dataset"}


def _size(value: Any) -> str:
    """Describe a value briefly: a tensor by its shape."""
    return f"tensor {list(value.shape)}" if is_tensor(value) else type(value).__name__


def attribute_of(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain an attribute of a number, a tuple, None, a state dict, ..., where a tensor was expected."""
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
    if isinstance(owner, tuple) and type(owner).__name__ == "Size":
        return Diagnosis(f"{text} is itself a shape, {[*owner]}, and no tensor: it has no {name}",
                         "x.shape and x.size() return a tuple of sizes, which holds no elements.",
                         (Fix("the number of dimensions", f"len({text})"), Fix("one of the sizes", f"{text}[0]")),
                         (given(["Size"], "Tensor"),))
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
    source = next(wrote.assignments(text), node) if isinstance(node, ast.Name) else node
    if is_method(owner) or (callable(owner) and isinstance(source, ast.Attribute)
                            and is_tensor(wrote.value(source.value))):
        method = wrote.text(source)
        right = f"{method}().{name}" if method == text else f"{text} = {method}()"
        return parentheses(method, method, right, "is a method that was not called",
                            "Without parentheses the method itself is meant, not what it returns.")
    library = sys.modules.get("torch") or sys.modules["mindtorch"]
    if isinstance(owner, list) and (loop := _numbered(text, wrote)):
        return Diagnosis(
            f"{text} is a whole batch, a list of {len(owner)}: enumerate puts the number of the batch before it",
            f"{ast.unparse(loop.iter)} yields pairs (number, batch), so {ast.unparse(loop.target)} are not the parts "
            "of a batch.",
            (Fix("take the batch apart in parentheses of its own",
                 f"for i, ({ast.unparse(loop.target).strip('()')}) in {ast.unparse(loop.iter)}:"),
             Fix("or do without the number",
                 f"for {ast.unparse(loop.target).strip('()')} in {ast.unparse(loop.iter)[len('enumerate('):-1]}:")),
            (given(["number", "list"], "Tensor"),))
    if type(owner).__name__ in ("ndarray", "list") and hasattr(library.Tensor, name):
        make = f"torch.from_numpy({text})" if type(owner).__name__ == "ndarray" else f"torch.tensor({text})"
        return Diagnosis(
            f"{text} is a {type(owner).__name__}, and {name} belongs to tensors",
            "Arrays and lists must be made tensors first; a list of equal tensors is stacked.",
            (Fix("make a tensor of it", make), Fix("or, of a list of tensors", f"torch.stack({text})")
             if isinstance(owner, list) else None), (given([type(owner).__name__], "Tensor"),))
    return None


def _numbered(text: str, wrote: Wrote) -> ast.For | None:
    """Return the loop over ``enumerate`` whose second name this is."""
    return next((node for node in ast.walk(wrote.source) if isinstance(node, ast.For)
                 and isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "enumerate"
                 and isinstance(node.target, ast.Tuple) and ast.unparse(node.target.elts[-1]) == text), None)


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
    """Several results where one was meant."""
    fields = [n for n in ("values", "indices") if hasattr(owner, n)]
    if not any(is_tensor(item) for item in owner):
        return None
    rows = tuple(f"{fields[i] if i < len(fields) else f'[{i}]'}: {_size(item)}" for i, item in enumerate(owner))
    first = Fix("the values, or where they are", f"{text}.{fields[-1]}") if fields else Fix(
        "name the results one by one", f"out, {'hidden' if len(owner) == 2 else '*others'} = {text}")
    return Diagnosis(
        f"{text} is {len(owner)} results in a tuple, and {name} belongs to one of them",
        "Recurrent layers return outputs and hidden state, attention outputs and weights; max, min, sort and topk "
        "along a dimension return values and indices.", (first, Fix("or take one", f"{text}[0]")),
        (Groups((Group(text, rows, CLASH),)),))


def text_and_tensor(failure: Failure, f: Fields) -> Diagnosis | None:
    """``"loss: " + loss``."""
    wrote = failure.wrote
    if not isinstance(failure.error, TypeError) or not isinstance(wrote.node, ast.BinOp):
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
    if not isinstance(failure.error, TypeError) or not isinstance(wrote.node, ast.JoinedStr):
        return None
    for part in wrote.node.values:
        value: Any = wrote.value(part.value) if isinstance(part, ast.FormattedValue) else None
        if isinstance(part, ast.FormattedValue) and part.format_spec and is_many(value):
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


def indexed_list(failure: Failure, f: Fields) -> Diagnosis | None:
    """``names[pred]`` of a list, and ``range(tensor)``."""
    wrote = failure.wrote
    if isinstance(wrote.node, ast.Subscript) and isinstance(wrote.value(wrote.node.value), (list, tuple)):
        index = wrote.value(wrote.node.slice)
        text, picked = wrote.text(wrote.node.value), wrote.text(wrote.node.slice)
        if is_many(index):
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
    if not wrote.arguments or not is_library(wrote.function) or not isinstance(failure.error, TypeError):
        return None
    text, value = wrote.arguments[0]
    if name == "from_numpy" and isinstance(value, str):
        return Diagnosis(f"from_numpy takes an array of NumPy's, and was given text: {text}",
                         "Text is no memory of numbers; a path must be read first, words must be numbered.",
                         (Fix("read the file that it names", f"torch.from_numpy(np.load({text}))"),
                          Fix("or number what it is made of", f"torch.tensor([ord(c) for c in {text}])")),
                         (given(["str"], "numpy.ndarray"),))
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
    """Explain a name that was never imported, or a library's name without ``torch.`` before it."""
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
    "attribute of": attribute_of, "text and tensor": text_and_tensor, "formatted": formatted,
    "indexed list": indexed_list, "no array": no_array, "undefined": undefined, "no file": no_file,
}

"""Mistakes in what is called, and with what: they show in what the program wrote and what its names mean, whoever
raises the error, and in what words. Each function knows one of them, and returns None for everything else.
"""
from __future__ import annotations

import ast
import inspect
import re
import sys
from types import MethodType, ModuleType
from typing import Any

from ..._tensor import Tensor
from .explanation import CLASH, GOOD, Diagnosis, Fields, Fix, Step, Steps, given
from .failure import Failure
from .wrote import is_library, is_many, is_method, is_module, is_module_class, is_optimizer_class, is_tensor

#: Functions that join several tensors, which they take in a list.
WITH_INDICES = ("max", "min", "sort", "topk", "median", "mode", "kthvalue")  #: return values, and where they are
JOINING = ("cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack")


def made_with_data(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``nn.MSELoss(out, y)``, ``Net(x)``: a module is made with the tensors that it should be called with."""
    pieces = ((wrote, [text for text, value in wrote.arguments if is_many(value)]) for wrote in failure.pieces)
    wrote, data = next(((w, data) for w, data in pieces if data and is_module_class(w.function)), (None, []))
    if wrote is None:
        return None
    kind = wrote.function.__name__
    settings = [text for text, value in wrote.arguments if not is_tensor(value)]
    called = f"{wrote.name}({', '.join(settings)})({', '.join(data)})"
    wanted = [p.name for p in inspect.signature(wrote.function).parameters.values() if p.default is p.empty
              and p.kind is p.POSITIONAL_OR_KEYWORD]
    holes = ", ".join(f"{name}=…" for name in wanted)
    called = f"{wrote.name}({holes})({', '.join(data)})" if wanted and not settings else called
    return Diagnosis(
        f"{kind} was made with tensors ({', '.join(data)}); it is made first, and called with them then",
        f"{kind}(…) makes a module, from settings. The module is then called like a function, with tensors, as often "
        "as wanted.", (Fix("make it, then call it", called),
                    Fix("or, of a loss, use the function", "F.mse_loss(…), F.cross_entropy(…)")
                    if kind.endswith("Loss") else None),
        (Steps((Step(f"{wrote.name}({', '.join(settings or wanted)})", "makes the module", GOOD),
                Step(f"({', '.join(data)})", "calls it: here the tensors belong", GOOD))),))


def loose_tensors(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``torch.cat(a, b)``."""
    wrote = failure.wrote
    first = wrote.arguments[0][1] if wrote.arguments else None
    name = wrote.name.rpartition(".")[2]
    if not isinstance(failure.error, TypeError) or name not in JOINING or not is_tensor(first):
        return None
    tensors = [text for text, value in wrote.arguments if is_tensor(value)]
    rest = [f", {text}" for text, value in wrote.arguments if not is_tensor(value)]
    return Diagnosis(f"{name} takes the tensors in one list, and was given {tensors[0]} alone as the list",
                     "The second argument says along which dimension they are joined.",
                     (Fix("put them in a list", f"{wrote.name}([{', '.join(tensors)}]{''.join(rest)})"),),
                     (given(tensors, f"[{', '.join(tensors)}]"),))


def not_parameters(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``optim.Adam(model.parameters)``, ``optim.Adam(model)``."""
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
                     (Fix("give the parameters", f"{wrote.name}({right}{rest})"),), (given([text], right),))


def not_modules(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``nn.Sequential([…])``, ``nn.Sequential(…, F.relu)``."""
    wrote = failure.wrote
    if not (is_module_class(wrote.function) and isinstance(failure.error, TypeError) and "Sequential" in wrote.name):
        return None
    for text, value in wrote.arguments:
        if isinstance(value, list):
            return Diagnosis(
                "Sequential takes modules one by one, and was given a list",
                "Each argument is a module, called in turn with what the one before returned.",
                (Fix("unpack the list", f"{wrote.name}(*{text})"),),
                (given(["[module, module]"], "module, module"),))
        if callable(value) and not is_module(value) and not isinstance(value, type):
            name = text.rpartition(".")[2]
            there = [n for n in dir(sys.modules[wrote.function.__module__.partition(".")[0]].nn)
                     if n.lower() == name.replace("_", "").lower()]
            right = f"nn.{there[0]}()" if there else "a module"
            return Diagnosis(
                f"{text} is a function, no module", "Sequential holds modules; most functions have a module that calls "
                "them.", (Fix("use the module", right),
                          Fix("or call the function in the forward of a module of your own")),
                (given([text], right),))
        if isinstance(value, type) and is_module_class(value):
            return Diagnosis(
                f"{text} is a class: the module itself is missing", "A module is made by calling its class.",
                (Fix("make it", f"{text}()"),), (given([text], f"{text}()"),))
    return None


def fractional_size(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``nn.Linear(64 / 2, 10)``, ``torch.rand(n / 2)``, ``torch.zeros("2")``."""
    wrote = failure.wrote
    if not isinstance(failure.error, TypeError) or not (is_library(wrote.function) or is_module_class(wrote.function)):
        return None
    for text, value in wrote.arguments:
        if isinstance(value, float) and value not in wrote.keywords.values() and "size" in failure.message:
            whole = text.replace(" / ", " // ") if " / " in text else repr(int(value))
            return Diagnosis(
                f"{text} is {value}, a float, and sizes are whole numbers",
                "Division with / gives a float even where it comes out even; // gives a whole number.",
                (Fix("divide whole numbers" if "/" in text else "write a whole number", whole),),
                (given([f"{text} = {value}"], whole),))
        if isinstance(value, str) and "size" in failure.message:
            return Diagnosis(
                f"{text} is text, and sizes are whole numbers", "What is read from a file or a form is text at first.",
                (Fix("make a number of it", f"int({text})"),), (given([text], f"int({text})"),))
    return None


def dtype_by_name(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``dtype="float32"``, ``x.to("float32")``."""
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
    """Explain ``x.transpose(1)``, ``nn.Linear(10)``."""
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
    ours: Any = getattr(Tensor, getattr(function, "__name__", ""), None)  # PyTorch's, of C, tell nothing
    for known in (function, ours):
        try:
            taken = inspect.signature(known).parameters.values()
        except (TypeError, ValueError):
            continue
        return [str(p.replace(annotation=p.empty)) for p in taken if p.name != "self"]
    return []


def not_called(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain parentheses that are missing or too many: ``x(0)``, ``x.size[0]``, ``with torch.no_grad:``."""
    wrote = failure.wrote
    node = wrote.node
    if not isinstance(failure.error, TypeError) or node is None:
        return None
    if isinstance(node, ast.Call):
        given_ = ", ".join(wrote.text(argument) for argument in node.args)
        if isinstance(node.func, ast.Call) and re.match("'(Tensor|Parameter)' object is not callable", failure.message):
            return parentheses(wrote.name, f"{wrote.name}({given_})", wrote.name,
                               "is already a tensor, which cannot be called", "It is called once; the result of a "
                               "function is a tensor, that of making a module is a module, which is then called.")
        if is_tensor(wrote.function):
            return parentheses(wrote.name, f"{wrote.name}({given_})", f"{wrote.name}[{given_}]",
                                "is a tensor, which cannot be called", "Elements are taken with square brackets; "
                                "parentheses call a function.")
        if type(wrote.function).__name__ == "Size":
            return parentheses(wrote.name, f"{wrote.name}({given_})", f"{wrote.name}[{given_}]",
                                "is a tuple of sizes, which cannot be called",
                                "shape is an attribute; size() is the method that returns the same.")
        if isinstance(wrote.function, ModuleType):
            name = wrote.name.rpartition(".")[2]
            there = [n for n in dir(sys.modules.get(wrote.function.__name__.rpartition(".")[0])) if
                     n.lower() == name.lower() and n != name] or [
                n for n in dir(wrote.function) if n.lower() == name.lower()]
            if there:
                return parentheses(wrote.name, f"{wrote.name}(…)", f"{wrote.name[:-len(name)]}{there[0]}({given_})",
                                    "is a module of Python, a file with classes in it", "Classes begin with a capital.")
    if isinstance(node, ast.Subscript) and is_method(wrote.value(node.value)):
        text, index = wrote.text(node.value), wrote.text(node.slice)
        right = f"{text}({index})" if text.endswith(".size") else f"{text}()[{index}]"
        return parentheses(text, f"{text}[{index}]", right, "is a method, which must be called first",
                           "Square brackets take a part of what is there; a method gives it when it is called.")
    entered = node.items[0].context_expr if isinstance(node, ast.With) else node
    if isinstance(found := wrote.value(entered), type) and hasattr(found, "__enter__"):
        text = wrote.text(entered)
        return parentheses(text, f"with {text}:", f"with {text}():", "is a class: the block needs one made of it",
                            "with enters an object; calling the class makes one.")
    return None


def parentheses(name: str, wrong: str, right: str, what: str, cause: str) -> Diagnosis:
    return Diagnosis(f"{name} {what}", cause, (Fix("write", right),), (given([wrong], right),))


def legacy_function(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain an ``autograd.Function`` that is instantiated and called instead of applied."""
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


def method_for_value(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``round(loss.item, 2)``, ``"%.3f" % loss.item``: a method of a tensor in the place of what it returns."""
    wrote = failure.wrote
    if not isinstance(failure.error, TypeError) or is_module_class(wrote.function):
        return None
    nodes: list[Any] = list(wrote.call.args) if wrote.call else []
    if isinstance(wrote.node, ast.BinOp):
        nodes = [part for side in (wrote.node.left, wrote.node.right)
                 for part in (side.elts if isinstance(side, ast.Tuple) else [side])]
    text = next((wrote.text(node) for node in nodes if is_method(wrote.value(node))), None)
    if text is None:
        return None
    return parentheses(text, text, f"{text}()", "is a method that was not called",
                       "Without parentheses the method itself is meant, not what it returns.")


def several_for_one(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``x.max(dim=1) + 1``: an operator on what returned several results."""
    wrote = failure.wrote
    if not isinstance(failure.error, TypeError) or not isinstance(wrote.node, ast.BinOp):
        return None
    for side in (wrote.node.left, wrote.node.right):
        name = side.func.attr if isinstance(side, ast.Call) and isinstance(side.func, ast.Attribute) else ""
        if name in WITH_INDICES and isinstance(side, ast.Call) and (side.args or side.keywords):
            text = wrote.text(side)
            return Diagnosis(
                f"{text} is two results in a tuple: the values, and where they are",
                f"Without a dimension {name} gives one number; along one it gives values and indices, and a tuple "
                "knows no arithmetic.",
                (Fix("take the values", f"{text}.values"), Fix("or where they are", f"{text}.indices")),
                (given([f"{text}: a tuple"], f"{text}.values"),))
    return None


def assigned_list(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``x[0] = [1, 2, 3]``."""
    found = re.match(r"can't assign an? (.+) to a (.+)", failure.message)
    if not isinstance(failure.error, TypeError) or found is None:
        return None
    node = failure.wrote.node
    line = next((part for part in ast.walk(failure.wrote.source) if isinstance(part, ast.Assign) and node is not None
                 and any(ast.unparse(target) == ast.unparse(node) for target in part.targets)), None)
    value = ast.unparse(line.value) if line else "values"
    place = ast.unparse(line.targets[0]) if line else "x[0]"
    return Diagnosis(
        f"a {found[1]} was to be written into a tensor, which takes tensors and numbers",
        "A part of a tensor is overwritten by a tensor whose shape fits, or by one number for all of its elements.",
        (Fix("make a tensor of it", f"{place} = torch.tensor({value})"),), (given([found[1]], "Tensor", "number"),))


def result_of_loading(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``net = Net().load_state_dict(state)``: what comes out is a report, not the module."""
    wrote = failure.wrote
    owner = wrote.function if wrote.call else wrote.value(getattr(wrote.node, "value", None))
    if type(owner).__name__ != "_IncompatibleKeys":
        return None
    name = wrote.name if wrote.call else wrote.owner
    made = next((node for node in wrote.assignments(name) if isinstance(node, ast.Call)), None)
    model = wrote.text(made.func.value) if made is not None and isinstance(made.func, ast.Attribute) else "Net(…)"
    code = f"{name} = {model}; {name}.{wrote.text(made)[len(model) + 1:]}" if made is not None else ""
    return Diagnosis(
        f"{name} is what load_state_dict returned: a report of the keys, not the module",
        "load_state_dict changes the module that it is called on. It returns which keys were missing or left over.",
        (Fix("keep the module under the name, and load in a statement of its own", code),),
        (given([f"{name} = ….load_state_dict(…)"], f"{name}.load_state_dict(…)"),), ())


def generator_indexed(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``model.parameters()[0]``."""
    wrote = failure.wrote
    if not isinstance(wrote.node, ast.Subscript) or "'generator' object is not subscriptable" not in failure.message:
        return None
    text, index = wrote.text(wrote.node.value), wrote.text(wrote.node.slice)
    return Diagnosis(
        f"{text} gives its items one by one, and has no numbers",
        "parameters(), children() and modules() are generators: they can be gone through, once. A list of them can be "
        "indexed.", (Fix("make a list first", f"list({text})[{index}]"),),
        (given([f"{text}[{index}]"], f"list({text})[{index}]"),), ())


def array_as_data(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``layer.weight.data = array``."""
    if not isinstance(failure.error, TypeError) or "data has to be a tensor" not in failure.message:
        return None
    line = next((node for node in ast.walk(failure.wrote.source) if isinstance(node, ast.Assign)
                 and ast.unparse(node.targets[0]).endswith(".data")), None)
    if line is None:
        return None
    target, value = ast.unparse(line.targets[0]), ast.unparse(line.value)
    owner = target.removesuffix(".data")
    return Diagnosis(
        f"{target} takes a tensor, and was given {value}",
        "Values are copied into a parameter; an array is made a tensor for that. copy_ also converts it to "
        "the dtype of "
        "the parameter.",
        (Fix("copy the values into it", f"with torch.no_grad(): {owner}.copy_(torch.as_tensor({value}))"),),
        (given([value[:40]], "Tensor"),), ())


def opposite_of_floats(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``~x`` of floats."""
    node = failure.wrote.node
    if not isinstance(node, ast.UnaryOp) or not isinstance(node.op, ast.Invert):
        return None
    text = failure.wrote.text(node.operand)
    return Diagnosis(
        f"~ inverts bools, and the bits of integers; {text} is of floats",
        "Masks are bool tensors. One of 0. and 1. is made of floats, and has no opposite in that sense.",
        (Fix("make it a mask first", f"~{text}.bool()"), Fix("or of numbers between 0 and 1", f"1 - {text}")),
        (given([f"~{text}"], f"~{text}.bool()"),))


def nothing_to_stack(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``torch.stack([])``."""
    if "expects a non-empty TensorList" not in failure.message:
        return None
    name = failure.wrote.arguments[0][0] if failure.wrote.arguments else "the list"
    return Diagnosis(
        f"there is nothing to join: {name} is empty", "Without tensors, neither the dtype nor the shape of "
                                                      "the result is "
        "known.", (Fix("look at what fills the list: a loop that never ran, a filter that let nothing through"),),
        (given(["[]"], "[tensor, …]"),), ())


def values_for_mask(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``x[mask] = values`` of another number of values."""
    found = re.match(r"shape mismatch: value tensor of shape \[(.*?)\] cannot be broadcast to indexing result of shape "
                     r"\[(.*?)\]", failure.message)
    node = failure.wrote.node
    if found is None:
        return None
    line = next((part for part in ast.walk(failure.wrote.source) if isinstance(part, ast.Assign) and node is not None
                 and any(ast.unparse(target) == ast.unparse(node) for target in part.targets)), None)
    if line is None or not isinstance(line.targets[0], ast.Subscript):
        return None
    place, value = line.targets[0], ast.unparse(line.value)
    index = ast.unparse(place.slice)
    whole = failure.wrote.value(place.value)
    same = is_tensor(whole) and str(list(whole.shape))[1:-1] == found[1]
    return Diagnosis(
        f"{ast.unparse(place)} picks [{found[2]}] elements, and [{found[1]}] values are to be put there",
        "Each place that a mask or a list of indices picks is given one value: as many as there are, or one for all.",
        (Fix("pick the same places of the values", f"{ast.unparse(place)} = {value}[{index}]") if same else
         Fix("give as many values as the mask has True", f"{ast.unparse(place)} = {value}[:{index}.sum()]")
         if "," not in found[1] and index.isidentifier() else None,
         Fix("or choose everywhere between two tensors of one shape", f"torch.where({index}, …, …)")),
        (given([f"[{found[1]}] values"], f"[{found[2]}] places"),), ())


def detached_view(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``y.detach_()`` of a view."""
    if "Can't detach views in-place" not in failure.message:
        return None
    name = failure.wrote.name.rpartition(".")[0] or "y"
    return Diagnosis(
        f"{name} is a view, which is a part of the graph of the tensor that it shows: it cannot leave it in place",
        "detach_ would cut the view and leave its base in the graph, though both are one memory.",
        (Fix("take a detached view of it", f"{name} = "
                                           f"{name}.detach()"),), (given([f"{name}.detach_()"], f"{name}.detach()"),))


#: In the order in which they are asked.
RECOGNISED = {
    "result of loading": result_of_loading, "generator indexed": generator_indexed, "array as data": array_as_data,
    "opposite of floats": opposite_of_floats, "nothing to "
                                              "stack": nothing_to_stack, "values for a "
                                                                                    "mask": values_for_mask,
    "detached view": detached_view,
    "module made with data": made_with_data, "loose tensors": loose_tensors, "not parameters": not_parameters,
    "not modules": not_modules, "dtype by name": dtype_by_name, "fractional size": fractional_size,
    "legacy function": legacy_function, "missing arguments": missing_arguments, "not called": not_called,
    "method for value": method_for_value, "several for one": several_for_one, "assigned list": assigned_list,
}

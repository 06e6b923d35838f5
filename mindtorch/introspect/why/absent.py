"""Meanings of names that do not exist: the name elsewhere, in other letters, another library's, a slip."""
from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from ..._base.left_out import reason
from ...nn import Module
from .explanation import CLASH, GOOD, Diagnosis, Fields, Fix, Group, Groups
from .failure import Failure
from .wrote import is_module_class, is_tensor

NAMES = "mindtorch has PyTorch's names; either this one is spelt otherwise, or mindtorch does not have it yet."
LISTED = 6  #: names at most that are shown
NEAR = 0.75  #: how like a name another must be spelt to be a slip of it
#: Where functions and classes are, and how programs write that.
SPACES = {"": "torch", "nn": "nn", "nn.functional": "F", "optim": "optim", "optim.lr_scheduler": "optim.lr_scheduler",
          "utils.data": "torch.utils.data", "nn.init": "nn.init", "nn.utils": "nn.utils"}

#: What other libraries call what PyTorch has: of functions, their arguments written as … where they differ.
FUNCTIONS = {
    "array ndarray constant": "torch.tensor(…)", "expand_dims": "x.unsqueeze(dim)", "reduce_mean": "x.mean()",
    "concate concatenation append": "torch.cat([a, b])", "power": "torch.pow(x, 2)", "reduce_sum": "x.sum()",
    "dot_product": "torch.dot(a, b)", "mat_mul matrix_multiply": "torch.matmul(a, b)", "cast": "x.to(torch.float32)",
    "shuffle": "x[torch.randperm(len(x))]", "tile": "x.repeat(2)", "invert inverse_matrix": "torch.linalg.inv(x)",
    "newaxis": "x[:, None]", "random_normal": "torch.randn(2, 3)", "random_uniform": "torch.rand(2, 3)",
    "load_state_dict": "model.load_state_dict(torch.load(path))", "astype": "x.to(torch.float32)",
    "Dense FullyConnected": "nn.Linear(…, …)", "MaxPooling2D": "nn.MaxPool2d(2)",
    "Variable": "torch.tensor(…, requires_grad=True)", "placeholder": "torch.tensor(…)",
}
#: Of methods and attributes of tensors; ``{}`` stands for the tensor.
METHODS = {
    "astype cast as_type": "{}.to(torch.float32)", "copy": "{}.clone()", "append extend": "torch.cat([{}, more])",
    "length len count": "len({})", "to_numpy asnumpy eval": "{}.detach().cpu().numpy()", "int8": "{}.to(torch.int8)",
    "int32": "{}.to(torch.int32)", "int64": "{}.to(torch.int64)", "float32": "{}.to(torch.float32)",
    "float64": "{}.to(torch.float64)", "expand_dims": "{}.unsqueeze(0)", "concat": "torch.cat([{}, more])",
    "ravel_": "{}.flatten()", "value": "{}.item()", "get_shape": "{}.shape", "zero_grad": "{}.grad = None",
    "parameters": "[{}]", "train": "model.train()", "index": "({} == value).nonzero()",
}
#: Of modules: what is meant by a name, and how that is done.
MODULES = {
    "predict": ("a module predicts by being called", "model(x)"),
    "fit": ("training is a loop that the program writes, with a loss and an optimizer",
            "loss = loss_function(model(x), y); loss.backward(); optimizer.step(); optimizer.zero_grad()"),
    "backward": ("backward is a method of the loss, the tensor that came out", "loss = …; loss.backward()"),
    "step": ("parameters are changed by an optimizer", "optimizer.step()"),
    "summary": ("print the module, or show it in a cell", "print(model)"),
    "save": ("save its state", "torch.save(model.state_dict(), path)"),
    "load": ("load its state", "model.load_state_dict(torch.load(path))"),
    "load_weights": ("load its state", "model.load_state_dict(torch.load(path))"),
    "device": ("a module has none of its own: ask a parameter", "next(model.parameters()).device"),
    "dtype": ("a module has none of its own: ask a parameter", "next(model.parameters()).dtype"),
    "evaluate": ("switch to evaluation, and call it", "model.eval()"),
    "get_weights": ("ask for its state", "model.state_dict()"),
}
#: Of optimizers.
OPTIMIZERS = {
    "backward": ("backward is a method of the loss; the optimizer then takes a step", "loss.backward()"),
    "lr": ("each group of parameters has its own", "optimizer.param_groups[0]['lr']"),
    "parameters": ("each group holds its own", "optimizer.param_groups[0]['params']"),
    "update": ("an optimizer takes steps", "optimizer.step()"),
}


def _meant(table: dict[str, Any], name: str) -> Any:
    return next((found for names, found in table.items() if name in names.split()), None)


def like(name: str, there: Iterable[str], least: float = NEAR) -> list[str]:
    """Return names that are spelt almost so, the nearest first."""
    names = list(there)
    turned = [other for other in names if sorted(other.lower()) == sorted(name.lower()) and len(name) > 2]
    return list(dict.fromkeys([*turned, *difflib.get_close_matches(name, names, LISTED, least)]))[:LISTED]


def _asked(name: str, meant: Iterable[str], title: str = "what there is") -> Groups:
    """Show a missing name beside those that may be meant."""
    found = tuple(meant)
    return Groups((Group("asked for", (name,), CLASH), Group(title, found or ("none",), GOOD if found else "")))


def _spaces(root: str) -> dict[str, ModuleType]:
    """Return the library's modules in which names are looked up, by the way programs write them."""
    found = {short: sys.modules.get(f"{root}.{path}" if path else root) for path, short in SPACES.items()}
    return {short: module for short, module in found.items() if module is not None}


def _elsewhere(name: str, owner: ModuleType) -> list[str]:
    """Return where other modules of the library have the name, or one that differs in case only."""
    spaces = _spaces(owner.__name__.partition(".")[0])
    public: dict[str, list[str]] = {short: [n for n in dir(space) if n[0] != "_"] for short, space in spaces.items()}
    own = next((short for short, space in spaces.items() if space is owner), "")
    same = [f"{short}.{name}" for short, names in public.items() if name in names]
    classes = [f"{short}.{n}" for short in public for n in public[short]
               if n.lower() == name.lower() and n != name and isinstance(getattr(spaces[short], n), type)]
    here = [path for path in classes if path.rpartition(".")[0] == own]
    return list(dict.fromkeys([*here, *same, *classes]))[:LISTED]


def no_name(failure: Failure, f: Fields) -> Diagnosis:
    """Explain a name that a module, a tensor or one of their classes does not have."""
    error: Any = failure.error
    name, owner = error.name, error.obj
    what = owner.__name__ if hasattr(owner, "__name__") else f"a {type(owner).__name__}"
    if isinstance(owner, ModuleType):
        return _in_module(what, name, owner)
    found = failure.involved(owner, "self") if is_tensor(owner) else None
    code = _meant(METHODS, name)
    names = [n for n in dir(owner) if not n.startswith("_")]
    close = [] if code else like(name, names) or [n for n in names if n.lower() == name.lower()]
    label = found.label if found else failure.wrote.owner or "x"
    fixes = [Fix("PyTorch writes it so", code.format(label)) if code else Fix("did you mean", close[0]) if close else
             Fix(f"list what there is: dir({what.removeprefix('a ')})")]
    cause = _cause(getattr(owner, "__module__", "") or type(owner).__module__)
    return Diagnosis(f"{what} has no {name}", cause, fixes, (_asked(name, [code.format(label)] if code else close),),
                     (found,) if found else ())


def _cause(space: str) -> str:
    """Why a name may be missing in a module of the library's, or of PyTorch's."""
    return NAMES if space.startswith("mindtorch") else "There is no such name in it, in this release of PyTorch."


def _in_module(space: str, name: str, owner: ModuleType | None, code: str = "{}") -> Diagnosis:
    left_out = reason(f"{space}.{name}".partition(".")[2]) if space.startswith("mindtorch") else None
    if left_out:
        return Diagnosis(left_out.partition(":")[0], f"PyTorch has it, mindtorch has not:{left_out.partition(':')[2]}.",
                         (Fix("leave it out, or do it as the sentence above says"),), (_asked(f"{space}.{name}", ()),))
    meant = _meant(FUNCTIONS, name)
    elsewhere = [] if meant or owner is None else _elsewhere(name, owner)
    close = [] if meant or elsewhere else like(name, (n for n in dir(owner) if not n.startswith("_")))
    there = [meant] if meant else elsewhere or close
    fixes = ([Fix("PyTorch writes it so", meant)] if meant else
             [Fix("it is this one" if len(elsewhere) == 1 else "it is one of these", elsewhere[0]),
              *(Fix("or", path) for path in elsewhere[1:])] if elsewhere else
             [Fix("did you mean", code.format(close[0]))] if close else [Fix(f"list what there is: dir({space})")])
    return Diagnosis(f"{space} has no {name}", _cause(space), fixes, (_asked(f"{space}.{name}", there),), ())


def no_module(failure: Failure, f: Fields) -> Diagnosis:
    """Explain an import that mindtorch does not have."""
    space, name = (f.space, f.name) if f.name else f.module.rpartition(".")[::2]
    return _in_module(space, name, sys.modules.get(space), f"from {space} import {{}}")


def no_attribute(failure: Failure, f: Fields) -> Diagnosis:
    """Explain an attribute that a module does not have."""
    module, kind = f.module, type(f.module).__name__
    inner = [*module._parameters, *module._buffers, *module._modules]
    own = [key for key in vars(module) if not key.startswith("_") and key != "training"]
    picture = Groups((Group("asked for", (f.name,), CLASH),
                      Group(f"{kind} holds", (*inner, *own)[:LISTED] or ("nothing",), GOOD if inner or own else "")))
    if fix := MODULES.get(f.name):
        return Diagnosis(f"this {kind} has no {f.name}", "A module holds parameters and computes with them when it is "
                         "called; what else there is to training is written by the program.", (Fix(*fix),),
                         (picture,), ())
    wrote = failure.wrote
    library = sys.modules["mindtorch" if isinstance(module, Module) else "torch"]
    made: Any = wrote.node.value if wrote.node is not None and hasattr(wrote.node, "value") else None
    if hasattr(library.Tensor, f.name):
        from_class = hasattr(made, "func") and is_module_class(wrote.value(made.func))
        called = f"{wrote.text(made.func)}(…)" if from_class else wrote.text(made) or "module"
        given = ", ".join(wrote.text(a) for a in made.args) if from_class else "x"
        return Diagnosis(
            f"this {kind} is a module, not a tensor: it has not been called",
            f"{f.name} belongs to tensors. {kind}(…) makes a module from its settings; calling that module with "
            "tensors computes.", (Fix("call it with the tensors first", f"{called}({given}).{f.name}"),),
            (picture,), ())
    close = like(f.name, [*inner, *own, *(n for n in dir(type(module)) if n[0] != "_")])
    return Diagnosis(
        f"this {kind} has no {f.name}",
        "An attribute is there once __init__, or what runs later, has assigned it. Parameters, buffers and modules are "
        "found among those assigned to self.",
        (*[Fix("did you mean", f".{name}") for name in close[:1]],
         Fix("or assign it in __init__", f"self.{f.name} = …")), (picture,), ())


def no_optimizer_attribute(failure: Failure, name: str, kind: str, there: list[str]) -> Diagnosis:
    """Explain an attribute that an optimizer does not have."""
    fix, close = OPTIMIZERS.get(name), like(name, there)
    return Diagnosis(
        f"this {kind} has no {name}",
        "An optimizer knows parameters and their gradients, and changes the ones by the others in step().",
        (Fix(*fix),) if fix else (Fix("did you mean", f"optimizer.{close[0]}()"),) if close else
        (Fix("list what there is: dir(optimizer)"),), (_asked(name, close or there[:LISTED], f"{kind} has"),), ())

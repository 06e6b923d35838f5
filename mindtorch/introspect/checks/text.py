"""Silent mistakes that show in the text of the program: what its loops do with losses, parameters and states.

Text alone proves no mistake: the values of its names, once it has run, must confirm it.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from ..libraries import library_of
from ..names import named_tensors
from ..why.explanation import CLASH, GOOD, Fix, Step, Steps
from ..why.wrote import is_module, is_tensor, tree_of
from ..writes import is_cell
from .finding import Finding, line_of
from .watching import Watched


def of_text(record: Watched, namespace: Mapping[str, Any], models: Mapping[str, Any]) -> Iterator[Finding]:
    """Find mistakes in the text of the cells that ran."""
    computed = {name for name, value in named_tensors(namespace) if value.requires_grad and not value.is_leaf
                and "." not in name and "[" not in name}
    if not record.passes:
        return
    for file in sorted(file for file in record.files if is_cell(file) or file.startswith("<")):
        tree = tree_of(file)
        backward = {"backward"} | {part.name for part in ast.walk(tree) if isinstance(part, ast.FunctionDef)
                                   and _calls(part, {"backward"})}
        for loop in ast.walk(tree):
            if isinstance(loop, (ast.For, ast.While, ast.FunctionDef)):
                yield from _clipped(loop, file)
            if not isinstance(loop, (ast.For, ast.While)):
                continue
            if isinstance(loop, ast.For):
                yield from _rebound(loop, file)
            if _calls(loop, backward):  # not over a sequence's steps
                for name, statements in _assigned(loop).items():
                    if name in computed and all(_uses(name, statement) for statement in statements):
                        yield _history(name, ast.unparse(statements[0]), file, statements[0].lineno)
            if record.steps and _calls(loop, backward | {"step"}):
                yield from _kept(loop, namespace, models, file)


def _assigned(loop: ast.AST) -> dict[str, list[Any]]:
    """Return a loop's statements that assign to each name."""
    found: dict[str, list[Any]] = {}
    for inner in ast.walk(loop):
        targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target] if isinstance(
            inner, (ast.AugAssign, ast.For, ast.AnnAssign, ast.NamedExpr)) else []
        for part in (part for target in targets for part in ast.walk(target)):
            if isinstance(part, ast.Name):
                found.setdefault(part.id, []).append(inner)
    return found


def _calls(part: ast.AST, names: set[str]) -> bool:
    functions = (call.func for call in ast.walk(part) if isinstance(call, ast.Call))
    return any(getattr(function, "attr", None) in names or getattr(function, "id", None) in names
               for function in functions)


def _uses(name: str, statement: Any) -> bool:
    """Return True if a statement computes the tensor of this name from the one before, with its history."""
    if isinstance(statement, ast.AugAssign):
        return True
    if isinstance(statement, ast.For):
        return False
    parts = list(ast.walk(statement.value)) if statement.value is not None else []
    return (any(isinstance(part, ast.Name) and part.id == name for part in parts)
            and not any(isinstance(part, ast.Attribute) and part.attr in ("detach", "detach_", "data", "item")
                        for part in parts))


def _history(name: str, statement: str, file: str, line: int) -> Finding:
    updates = any(word in statement for word in ("grad", "lr", " - "))
    fixes = (Fix("change the leaf in place, recording nothing", f"with torch.no_grad(): {name} -= lr * {name}.grad"),
             Fix("or let an optimizer do it", f"optim.SGD([{name}], lr=0.1)")) if updates else (
        Fix("add numbers", f"{statement}.item()"),
        Fix("or cut the history", f"{name} = {name}.detach()"))
    return Finding(
        "growing history", f"{name} carries the graphs of all passes of the loop along",
        f"{statement} computes a new tensor from the old one, and is recorded: the graph grows with each pass, keeps "
        f"all its tensors in memory{', and the new tensor is no leaf, which would get a gradient' * updates}.",
        fixes, (Steps((Step(name, "pass 1", GOOD), Step(name, "pass 2, on top of pass 1"),
                       Step(name, "pass 3, on top of both", CLASH))),), line_of(file, line))


def _rebound(loop: ast.For, file: str) -> Iterator[Finding]:
    """``for p in model.parameters(): p = p - lr * p.grad``."""
    names = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
    if not _calls(loop.iter, {"parameters", "named_parameters"}):
        return
    for part in ast.walk(loop):
        target = part.targets[0] if isinstance(part, ast.Assign) else None
        if isinstance(target, ast.Name) and target.id in names and isinstance(part, ast.Assign) and any(
                isinstance(inner, ast.Name) and inner.id == target.id for inner in ast.walk(part.value)):
            name, statement = target.id, ast.unparse(part)
            yield Finding(
                "parameters stay", f"{statement} leaves the parameter as it is",
                f"It computes a new tensor and calls that {name}; the model keeps the parameter that was called "
                "so before. Only what writes in place changes the parameter itself.",
                (Fix("write into the parameter, recording nothing",
                     f"with torch.no_grad(): {name} -= lr * {name}.grad"),
                 Fix("or let an optimizer do it", "optim.SGD(model.parameters(), lr=0.1)")),
                (Steps((Step("the model's parameter", "as before", CLASH), Step(f"{name} = …", "a new tensor"),
                        Step("end of the loop", "thrown away", CLASH))),), line_of(file, part.lineno))


def _clipped(unit: ast.AST, file: str) -> Iterator[Finding]:
    """Find gradients that are clipped when the step has been taken, or before they are there."""
    calls = sorted((part for part in ast.walk(unit) if isinstance(part, ast.Call)),
                   key=lambda part: (part.end_lineno, part.end_col_offset))
    order = [(what, line) for what, line in (
        (getattr(part.func, "attr", getattr(part.func, "id", "")), part.lineno) for part in calls)
        if what in ("backward", "step", "zero_grad") or what.startswith("clip_grad")]
    names = ["clip" if what.startswith("clip") else what for what, _ in order]
    if [names.count(what) for what in ("backward", "clip", "step")] != [1, 1, 1] or "zero_grad" not in names:
        return
    cut, (what, line) = names.index("clip"), order[names.index("clip")]
    if cut > names.index("step") > names.index("backward"):
        yield Finding(
            "clipped too late", f"gradients are clipped too late: {what} comes after the step, which used them as they "
            "were",
            "Clipping changes gradients. Those of this pass have been used by then, and zero_grad throws them away "
            "before the next.", _order(what),
            (Steps((Step("backward", "gradients come", GOOD), Step("step", "uses them as they are"),
                    Step(what, "changes what is used no more", CLASH))),), line_of(file, line))
    elif cut < names.index("backward") < names.index("step"):
        yield Finding(
            "clipped too early", f"{what} comes before backward, when there are no gradients to clip",
            "Clipping changes the gradients that are there. Backward computes those of this pass afterwards, and the "
            "step takes them at any size.", _order(what),
            (Steps((Step(what, "finds none", CLASH), Step("backward", "gradients come", GOOD),
                    Step("step", "uses them as they are"))),), line_of(file, line))


def _order(clip: str) -> tuple[Fix, ...]:
    return (Fix("clip between backward and step",
                f"loss.backward(); nn.utils.{clip}(model.parameters(), 1.0); optimizer.step()"),)


def _kept(loop: ast.AST, namespace: Mapping[str, Any], models: Mapping[str, Any], file: str) -> Iterator[Finding]:
    """``if better: best = model.state_dict()``, ``if better: best = model``: what goes on learning."""
    saved = {part.id for call in ast.walk(loop) if isinstance(call, ast.Call) and _calls(call, {"save"})
             for part in ast.walk(call) if isinstance(part, ast.Name)}
    learning = {place for model in models.values() for p in model.parameters()
                if (place := library_of(p).address(p))}
    for choice in (part for part in ast.walk(loop) if isinstance(part, ast.If)):
        for name, value, line in _given(choice):
            kept = namespace.get(name)
            is_state = isinstance(value, ast.Call) and getattr(value.func, "attr", "") == "state_dict" and isinstance(
                kept, Mapping) and any(is_tensor(t) and library_of(t).address(t) in learning for t in kept.values())
            model = namespace.get(value.id) if isinstance(value, ast.Name) else None
            is_model = is_module(model) and any(model is m for m in models.values())
            if name in saved or not (is_state or is_model):
                continue
            text = ast.unparse(value)
            yield Finding(
                "kept by reference", f"{name} is kept by reference: it goes on learning, in the model's own memory",
                (f"{text} holds the parameters themselves, not copies of them: each later step writes into what {name} "
                 "holds." if is_state else f"{name} = {text} gives the model a second name; there is one model, and it "
                 "goes on learning.") + " In the end it is the last state, not the best.",
                (Fix("copy it", f"{name} = copy.deepcopy({text})"),
                 Fix("or write it to a file", f"torch.save({text}{'' if is_state else '.state_dict()'}, 'best.pt')")),
                (Steps((Step(name, text), Step("one memory", "", CLASH), Step("optimizer.step()", "writes into it")),
                       arrow="↔"),), line_of(file, line))


def _given(choice: ast.If) -> Iterator[tuple[str, ast.expr, int]]:
    """Yield the names that a branch assigns, with their values: ``a = x``, ``a, b = x, y``."""
    for part in (part for part in ast.walk(choice) if isinstance(part, ast.Assign)):
        for target in part.targets:
            several = isinstance(target, ast.Tuple) and isinstance(part.value, ast.Tuple)
            pairs = zip(target.elts, part.value.elts, strict=False) if several else [(target, part.value)]  # type: ignore[attr-defined]
            yield from ((ast.unparse(name), value, part.lineno) for name, value in pairs)

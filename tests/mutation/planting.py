"""Mutants planted in the library while it is imported: a process has all of them, and at most one is active.

In the place of a changed node stands a choice between the node and what it is changed to, and before it a note that the
place was reached. So one import serves all mutants, and one run of the tests finds out which test reaches which.
"""
from __future__ import annotations

import ast
import builtins
import json
import os
import sys
from collections.abc import Iterable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

from .mutants import Mutant, all_changes

PLAN, ACTIVE, LOG = "MUTATION_PLAN", "MUTATION_ACTIVE", "MUTATION_LOG"  #: in the environment
CHOICE = "__mutant__"


class Planted(MetaPathFinder):
    """Finds the modules of a plan: of each file, which of its mutants to plant, and their numbers."""

    def __init__(self, plan: dict[str, list[tuple[int, int]]]) -> None:
        self.plan = plan
        self._active: int | None = None
        self.reached: set[int] = set()  #: numbers; of a function of the module with the n-th plan, -1 - n

    def choose(self, number: int) -> bool:
        """Note that a mutant is reached, also where another process reads it, and return whether it is active."""
        if number not in self.reached:
            self.reached.add(number)
            if log := os.environ.get(LOG):
                with open(log, "a", encoding="ascii") as file:
                    file.write(f"{number}\n")
        return number == self.active

    @property
    def active(self) -> int | None:
        """The number of the mutant that stands in its node's place."""
        return self._active

    @active.setter
    def active(self, number: int | None) -> None:
        self._active = number
        os.environ[ACTIVE] = "" if number is None else str(number)  # in processes that this one starts, too

    def activate_alone(self, number: int | None) -> None:
        """Activate a mutant, and plant no other from now on, which takes a process its time."""
        self.plan = {file: planted for file, mutants in self.plan.items()
                     if (planted := [(index, each) for index, each in mutants if each == number])}
        self.active = number

    def module(self, path: str) -> int:
        """Return the number that functions of a module note, by the path below the tree's top."""
        return -1 - next(i for i, file in enumerate(self.plan) if file.endswith("/" + path))

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] != "mindtorch":
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.origin not in self.plan:
            return None
        spec.loader = _Loader(name, spec.origin, self)
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, planted: Planted) -> None:
        super().__init__(name, path)
        self.planted = planted

    def get_code(self, fullname: str) -> CodeType:
        numbers, module = dict(self.planted.plan[self.path]), self.planted.module(self.path[1:])
        tree = plant(self.get_source(fullname) or "", numbers, module)
        return compile(tree, self.path, "exec", dont_inherit=True)


def install(plan: str) -> Planted:
    """Plant the mutants of a plan in the modules that this process imports from now on."""
    planted = Planted(json.loads(Path(plan).read_text()))
    if number := os.environ.get(ACTIVE):
        planted.activate_alone(int(number))
    setattr(builtins, CHOICE, planted.choose)
    sys.meta_path.insert(0, planted)
    return planted


def write_plan(top: Path, mutants: Iterable[Mutant], folder: Path) -> str:
    """Write a plan, and what has every Python that is started with ``folder`` in its path follow it."""
    plan: dict[str, list[tuple[int, int]]] = {}
    for number, mutant in enumerate(mutants):
        plan.setdefault(str(top / mutant.path), []).append((mutant.index, number))
    file = folder / "plan.json"
    file.write_text(json.dumps(plan))
    (folder / "sitecustomize.py").write_text(
        f"import os\nfrom tests.mutation.planting import install\ninstall(os.environ[{PLAN!r}])\n")
    return str(file)


def plant(source: str, numbers: dict[int, int], module: int) -> ast.Module:
    """Return the tree of a module with mutants planted, by index and number; its functions note the module's number
    if one of the mutants stands outside of them.
    """
    tree = ast.parse(source)
    found = all_changes(tree)
    choices: dict[ast.AST, list[tuple[int, ast.AST]]] = {}
    for index, number in numbers.items():
        place, other = found[index]
        choices.setdefault(place, []).append((number, other))
    planter = _Planter(choices, module)
    planter.noting = not set(choices) <= {node for function in ast.walk(tree)
                                          if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
                                          for statement in function.body for node in ast.walk(statement)}
    return ast.fix_missing_locations(planter.visit(tree))


class _Planter(ast.NodeTransformer):
    noting: bool

    def __init__(self, choices: dict[ast.AST, list[tuple[int, ast.AST]]], module: int) -> None:
        self.choices, self.module = choices, module

    def visit(self, node: ast.AST) -> Any:
        new: Any = self.generic_visit(node)
        for number, other in self.choices.get(node, ()):
            kind = ast.If if isinstance(node, ast.stmt) else ast.IfExp
            branches = ([other], [new]) if isinstance(node, ast.stmt) else (other, new)
            new = ast.copy_location(kind(_chosen(number), *branches), node)  # type: ignore[arg-type]
        if self.noting and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            text = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
            new.body.insert(int(text), ast.copy_location(ast.Expr(_chosen(self.module)), node.body[0]))
        if self.noting and isinstance(node, ast.Lambda):
            new.body = ast.copy_location(ast.BoolOp(ast.Or(), [_chosen(self.module), new.body]), node.body)
        return new


def _chosen(number: int) -> ast.Call:
    return ast.Call(ast.Name(CHOICE, ast.Load()), [ast.Constant(number)], [])

"""``PassManager``: passes in an order that fulfils constraints (``torch.fx.passes.infra.pass_manager``)."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ....nn.module import Module
from ...graph_module import GraphModule
from .pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]
__dir__ = __all__.copy
Pass = Callable[..., Any]
Constraint = Callable[[Pass, Pass], bool]


def pass_result_wrapper(fn: Pass) -> Pass:
    """Return a pass that returns a ``PassResult``, whatever ``fn`` returns: None stands for the module itself
    (``torch.fx.passes.infra.pass_manager.pass_result_wrapper``).
    """

    @wraps(fn)
    def wrapped(gm: Module) -> PassResult:
        result = fn(gm)
        return result if isinstance(result, PassResult) else PassResult(gm if result is None else result, True)

    wrapped.__name__ = _name(fn)
    return wrapped


def _name(fn: Pass) -> str:
    return fn.__name__ if inspect.isfunction(fn) else type(fn).__name__


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """Return a constraint: ``this`` runs before ``that``
    (``torch.fx.passes.infra.pass_manager.this_before_that_pass_constraint``).
    """
    return lambda a, b: a != that or b != this


def _validate_pass_schedule_constraint(constraint: Constraint, passes: Sequence[Pass]) -> None:
    for i, a in enumerate(passes):
        for j, b in enumerate(passes[i + 1:]):
            if not constraint(a, b):
                raise RuntimeError(f"pass schedule constraint violated. Expected {a} before {b} but found {a} at index "
                                   f"{i} and {b} at index {j} in pass list.")


def _topological_sort_passes(passes: Sequence[Pass], constraints: Sequence[Constraint]) -> list[Pass]:
    """Return passes in an order that fulfils the constraints, otherwise as they are.

    Raises:
        RuntimeError: if there is none.
    """
    left, found = list(passes), []
    while left:
        free = next((a for a in left if all(constraint(a, b) for b in left if b != a for constraint in constraints)),
                    None)
        if free is None:
            raise RuntimeError(f"Circular dependency detected within the following passes: {left}")
        left.remove(free)
        found.append(free)
    return found


class PassManager:
    """Passes that run one after the other, ``steps`` times or until nothing changes
    (``torch.fx.passes.infra.pass_manager.PassManager``).

    Args:
        passes: functions that return a ``PassResult``; see ``pass_result_wrapper``.
        constraints: functions of two passes that return False if the first must not run before the second.
        steps: how often all passes run at most.
        run_checks_after_each_pass: whether ``check`` runs after each pass, and not only at first.
        suppress_check_failures: not used, as in PyTorch.
    """

    def __init__(self, passes: list[Pass] | None = None, constraints: list[Constraint] | None = None,
                 steps: int | None = None, run_checks_after_each_pass: bool = False,
                 suppress_check_failures: bool = False):
        self.passes, self.constraints = passes or [], constraints or []
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False
        self.check: Callable[[Module], Any] = lambda module: None

    def add_pass(self, _pass: Pass) -> None:
        """Add a pass."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Add a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Raise RuntimeError if the passes, as they stand, break a constraint."""
        if not self._validated:
            for constraint in self.constraints:
                _validate_pass_schedule_constraint(constraint, self.passes)
        self._validated = True

    def solve_constraints(self) -> None:
        """Sort the passes so that the constraints hold."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check: Callable[..., Any]) -> None:
        """Have a function of one module check it before the passes.

        Raises:
            TypeError: if it takes other arguments.
        """
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check

    def __call__(self, module: Module) -> PassResult:
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed = False
        for _ in range(self.steps):
            modified = False
            for number, fn in enumerate(self.passes):
                try:
                    result = self._run(fn, module)
                except Exception as error:
                    before = [_name(other) for other in self.passes[:number]]
                    raise Exception(f"An error occurred when running the '{_name(fn)}' pass after the following "
                                    f"passes: {before}") from error
                module, modified = result.graph_module, modified or result.modified
            changed = changed or modified
            if not modified:
                break
        return PassResult(module, changed)

    def _run(self, fn: Pass, module: Module) -> PassResult:
        result = fn(module)
        if not hasattr(result, "graph_module"):
            raise TypeError(f"The result of the pass {_name(fn)} should be type PassResult. Please wrap it with "
                            "pass_result_wrapper()")
        if isinstance(result.graph_module, GraphModule):
            result.graph_module.recompile()
        if self.run_checks_after_each_pass:
            self.check(result.graph_module)
        return result

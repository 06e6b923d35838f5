"""The older manager of passes: functions of a module that return a module (``torch.fx.passes.pass_manager``)."""
from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import unwrap
from typing import Any

from .infra.pass_manager import Constraint, Pass, _validate_pass_schedule_constraint, this_before_that_pass_constraint

__all__ = ["PassManager", "inplace_wrapper", "log_hook", "loop_pass", "these_before_those_pass_constraint",
           "this_before_that_pass_constraint"]
__dir__ = __all__.copy
logger = logging.getLogger(__name__)


def inplace_wrapper(fn: Pass) -> Pass:
    """Return a pass that returns the module that ``fn`` changes (``torch.fx.passes.pass_manager.inplace_wrapper``)."""

    @wraps(fn)
    def wrapped(gm: Any, *args: Any, **kwargs: Any) -> Any:
        fn(gm, *args, **kwargs)
        return gm

    return wrapped


def log_hook(fn: Pass, level: int = logging.INFO) -> Pass:
    """Return a pass that logs its result (``torch.fx.passes.pass_manager.log_hook``)."""

    @wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = fn(*args, **kwargs)
        logger.log(level, "Ran pass %s\t Return value: %s", fn, result)
        return result

    return wrapped


def loop_pass(base_pass: Pass, n_iter: int | None = None, predicate: Callable[[Any], bool] | None = None) -> Pass:
    """Return a pass that runs another ``n_iter`` times, or while ``predicate(module)`` is true
    (``torch.fx.passes.pass_manager.loop_pass``).

    Raises:
        AssertionError: unless exactly one of them is given.
    """
    assert (n_iter is None) != (predicate is None), "Exactly one of `n_iter`or `predicate` must be specified."

    @wraps(base_pass)
    def looped(source: Any) -> Any:
        if predicate is not None:
            while predicate(source):
                source = base_pass(source)
            return source
        for _ in range(n_iter or 0):
            source = base_pass(source)
        return source

    return looped


def these_before_those_pass_constraint(these: Pass, those: Pass) -> Constraint:
    """Return a constraint: ``these``, however wrapped, run before ``those``
    (``torch.fx.passes.pass_manager.these_before_those_pass_constraint``).
    """
    return lambda a, b: unwrap(a) != those or unwrap(b) != these


class PassManager:
    """Functions of a module that run one after the other (``torch.fx.passes.pass_manager.PassManager``)."""

    def __init__(self, passes: list[Pass] | None = None, constraints: list[Constraint] | None = None):
        self.passes, self.constraints = passes or [], constraints or []
        self._validated = False

    @classmethod
    def build_from_passlist(cls, passes: list[Pass]) -> PassManager:
        """Return a manager of these passes."""
        return cls(passes)

    def _change(self, passes: list[Pass]) -> None:
        self.passes, self._validated = passes, False

    def add_pass(self, _pass: Pass) -> None:
        """Add a pass."""
        self._change([*self.passes, _pass])

    def add_constraint(self, constraint: Constraint) -> None:
        """Add a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def remove_pass(self, _passes: Sequence[str]) -> None:
        """Remove the passes of these names."""
        self._change([other for other in self.passes if other.__name__ not in _passes])

    def replace_pass(self, _target: Pass, _replacement: Pass) -> None:
        """Put a pass in the place of another, which is found by its name."""
        self._change([_replacement if other.__name__ == _target.__name__ else other for other in self.passes])

    def validate(self) -> None:
        """Raise RuntimeError if the passes break a constraint."""
        if not self._validated:
            for constraint in self.constraints:
                _validate_pass_schedule_constraint(constraint, self.passes)
        self._validated = True

    def __call__(self, source: Any) -> Any:
        self.validate()
        for fn in self.passes:
            source = fn(source)
        return source

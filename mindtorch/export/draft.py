"""``torch.export.draft_export``: an export that goes on with the example's values where ``export`` has to know more."""
from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from .._base.symbolic import GuardOnDataDependentSymNode
from .._dynamo.exc import UserError
from .._functorch import config
from .._transforms.pytree import tree_map
from ..nn.module import Module
from ._trace import Export, check_arguments
from .dynamic_shapes import AdditionalInputs, Dim, ShapesCollection
from .exported_program import ExportedProgram


class FailureType(IntEnum):
    """Why ``export`` could not make the program."""

    MISSING_FAKE_KERNEL = 1
    DATA_DEPENDENT_ERROR = 2
    GUARD_ADDED = 3
    MISMATCHED_FAKE_KERNEL = 4

    def __str__(self) -> str:
        return self.name


@dataclass
class FailureReport:
    """One reason; ``data`` has the expression, and what it was taken for."""

    failure_type: FailureType
    data: dict[str, Any]
    xfail: bool = False

    def __str__(self) -> str:
        if self.failure_type is FailureType.DATA_DEPENDENT_ERROR:
            return (f"Data dependent error.\n    The value of `{self.data['expr']}` depends on data. It was taken for "
                    f"{self.data['result']}, as for the example, and the program asserts it.\n"
                    "    Please add `torch._check(...)` to the original code to assert it there.")
        return f"Guard added.\n    {self.data['reason']}\n    Sizes that were named are as free as the program allows."


@dataclass
class DraftExportReport:
    """All reasons, as ``ExportedProgram._report``."""

    failures: list[FailureReport]

    def successful(self) -> bool:
        """Return whether ``export`` makes the same program."""
        return not self.failures

    def __str__(self) -> str:
        if self.successful():
            return ("No issues are found during export, and it was able to soundly produce a graph.\n"
                    "You can now change back to torch.export.export()")
        lines = [f"{number}. {one}" for number, one in enumerate(self.failures, 1)]
        return "\n".join([f"{len(lines)} issue(s) found during export, and it was not able to soundly produce a graph.",
                          *lines])


def draft_export(mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *,
                 dynamic_shapes: Any = None, preserve_module_call_signature: tuple[str, ...] = (),
                 strict: bool = False, prefer_deferred_runtime_asserts_over_guards: bool = False) -> ExportedProgram:
    """Export a module as ``torch.export.export`` does; where that needs a value that depends on data, take the
    example's and assert it in the program, and where it would make a named size a number, let it
    (``torch.export.draft_export``). The program's ``_report`` says where, and a warning is logged.

    Raises:
        TypeError, ValueError: as ``export`` does.
    """
    check_arguments(mod, args)
    failures, shapes, real = list[FailureReport](), dynamic_shapes, False
    settings: Any = config
    while True:
        with settings.patch(fake_tensor_propagate_real_tensors=real):
            tracing = Export(mod, args, kwargs or {}, shapes, prefer_deferred_runtime_asserts_over_guards)
            try:
                program = tracing.program()
                break
            except GuardOnDataDependentSymNode:
                if real:
                    raise
                real = True
            except UserError as error:
                if shapes is None or failures or not str(error).startswith("Constraints violated"):
                    raise
                failures.append(FailureReport(FailureType.GUARD_ADDED, {"reason": str(error)}))
                if isinstance(shapes, (AdditionalInputs, ShapesCollection)):
                    shapes = shapes.dynamic_shapes(mod, args, kwargs or {})
                shapes = tree_map(lambda one: Dim.AUTO if isinstance(one, Dim) else one, shapes)
    env = tracing.env
    taken = {said: None for promises in env.deferred_runtime_asserts.values() for promise in promises
             if (said := promise.msg.removeprefix("example value: ")) != promise.msg}
    for said in taken:
        expr, _, result = said.rpartition(" == ")
        failures.append(FailureReport(FailureType.DATA_DEPENDENT_ERROR, {"expr": expr, "result": result}))
    program._report = DraftExportReport(failures)
    if failures:
        logging.getLogger(__name__).warning("%s", program._report)
    return program


__all__ = ["DraftExportReport", "FailureReport", "FailureType", "draft_export"]

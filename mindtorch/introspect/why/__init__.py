"""Explains errors: what they are about comes with them, and each kind of them that is common has a row in a table.

``explain(error)`` looks at an error while it runs, and returns plain data: nothing is kept. Errors of the library are
looked up by their kinds; neither their messages nor the library's frames are read. PyTorch's errors have no kinds:
what failed is done again in mindtorch (``replay.py``), and the same rows explain them.
"""
from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from . import (
    absent, attention, autograd, calls, checkpoints, data, devices, dtypes, indexing, layout, losses, modules, outside,
    program, settings, shapes, training, values,
)
from .explanation import (
    Bars, Call, Cell, Diagnosis, Explanation, Fields, Fix, Group, Groups, Involved, Picture, Places, Ruler, ShapeRow,
    Shapes, Step, Steps, plain,
)
from .failure import Failure
from .layers import refused
from .templates import TEMPLATES
from .trial import carried_out
from .wrote import is_library_module, is_module

__all__ = ["Bars", "Call", "Cell", "Diagnosis", "EXPLANATIONS", "Explanation", "Failure", "Fix", "Group", "Groups",
           "Involved", "Picture", "Places", "Ruler", "ShapeRow", "Shapes", "Step", "Steps", "explain", "last_error"]

Explain = Callable[[Failure, Fields], "Diagnosis | None"]

#: What is told from what the program wrote, in the order in which it is asked.
RECOGNISED: dict[str, Explain] = {
    **training.RECOGNISED, **attention.RECOGNISED, **losses.RECOGNISED, **values.RECOGNISED, **calls.RECOGNISED,
    **checkpoints.RECOGNISED, **outside.RECOGNISED, **program.RECOGNISED, **data.RECOGNISED, **settings.RECOGNISED,
}

#: How to explain each kind of error; a function returns None for an error that it cannot make out.
EXPLANATIONS: dict[str, Explain] = {
    **{kind: lambda failure, fields, row=row: row(fields) for kind, row in TEMPLATES.items()},  # type: ignore[misc]
    "negative strides": outside.backwards, "requires_grad of integers": values.of_integers,
    "in-place broadcast": shapes.grown, "broadcast": shapes.broadcast, "cat shapes": shapes.cat,
    "cat dimensions": shapes.cat_ndim, "numbers to join": shapes.numbers_to_join,
    "stack shapes": shapes.stack, "target shape": shapes.target_shape,
    "batched matmul shapes": shapes.batched, "linear shapes": shapes.linear, "matmul shapes": shapes.matmul,
    "matmul vectors": shapes.vectors, "matrices wanted": shapes.not_matrices,
    "view strides": layout.view_stride, "view elements": layout.view_elements, "expand": layout.expand,
    "overlapping write": layout.overlapping, "dimension": layout.dimension, "permutation": layout.permutation,
    "index": indexing.out_of_range, "select": indexing.out_of_range, "index in self": indexing.out_of_range,
    "target class": indexing.target, "index type": indexing.wrong_type, "one_hot classes": indexing.one_hot,
    "probabilities": indexing.probabilities, "range": indexing.no_range,
    "index dtype": dtypes.expected_index, "matmul dtypes": dtypes.product,
    "convolution dtypes": dtypes.product, "target dtype": dtypes.loss_target,
    "result cast": dtypes.cast, "loss dtype": dtypes.loss_dtype, "assigned dtype": dtypes.assigned_dtype,
    "not for this dtype": dtypes.not_implemented, "minus of bools": dtypes.of_bools, "ragged list": dtypes.ragged,
    "no number": dtypes.no_number, "no tensor": dtypes.no_tensor, "operands": dtypes.unsupported,
    "leaf in place": autograd.leaf, "modified saved tensor": autograd.modified, "backward twice": autograd.twice,
    "no graph": autograd.no_graph, "unused input": autograd.unused, "out of a graph": autograd.out_argument,
    "one of several views": autograd.one_of_views, "no gradient": autograd.needs_grad,
    "assigned gradient": autograd.assigned,
    "mixed devices": devices.mixed, "no such device": devices.absent,
    "truth of many": devices.truth, "out of memory": devices.out_of_memory,
    "late error of a device": devices.late,
    "module arguments": modules.called, "before init": modules.before_init, "no forward": modules.no_forward,
    "no attribute": modules.absent_attribute, "state dict type": modules.state_dict_type,
    "state dict": modules.state_dict,
    "no gradient there": modules.no_gradient, "not a parameter": modules.not_optimized,
    "missing kernel": modules.no_kernel, "unknown operator": modules.unknown_operator, "no such name": absent.no_name,
    "no such module": absent.no_module, "unknown argument": modules.unknown_argument,
    "singular matrix": modules.singular, "pipeline": modules.pipeline, "nan in backward": autograd.nan,
    "refused by a layer": refused, "tensor in a list": dtypes.tensor_in_a_list, "loss shapes": shapes.loss_shapes,
    **RECOGNISED,
}
#: Kinds of errors that mean something else within a call.
WITHIN = {("broadcast", "matmul"): "batched matmul shapes", ("matmul shapes", "linear"): "linear shapes"}
#: Errors that Python raises, most of them in the program's own frame: their messages are all that there is.
PYTHON = {
    "module arguments": r"\w+\.forward\(\) (?P<reason>missing .*|takes .*|got .*)",
    "no gradient there": "'NoneType' object has no attribute|unsupported operand type.*NoneType",
    "no such name": r"(?:type object )?'(?:Tensor|Parameter)' (?:object )?has no attribute",
    "no such module": r"No module named '(?P<module>(?:mind)?torch\.[\w.]*)'|cannot import name '(?P<name>\w+)' from "
                      r"'(?P<space>(?:mind)?torch[\w.]*)'",
    "unknown argument": r"(?P<function>[\w.]+)\(\) got an unexpected keyword argument '(?P<keyword>\w+)'",
    "operands": r"unsupported operand type\(s\) for (?P<sign>\S+): '(?P<left>\w+)' and '(?P<right>\w+)'",
}


def last_error() -> BaseException | None:
    """Return the last error that the interpreter or the notebook has shown, or None."""
    error = getattr(sys, "last_exc", None)
    return getattr(sys, "last_value", None) if error is None else error


def explain(error: BaseException, namespace: Mapping[str, Any] | None = None, try_fixes: bool = True) -> Explanation:
    """Explain an error: cause, cures, and the tensors involved by the program's names or ``namespace``'s.

    Each cure is carried out on a copy of the process first (``trial.py``), unless ``try_fixes`` is False.
    """
    failures = (Failure(part, namespace) for part in _chain(error))
    failure = next((failure for failure in failures if failure.is_ours), None) or Failure(error, namespace)
    chosen = failure.error
    kind, found = _found(failure)
    tensors = found.tensors
    if kind == "pipeline" and isinstance(cause := chosen.__cause__, Exception):
        inner = Failure(cause, failure.named)  # its own frames begin inside the library
        why = _found(inner)[1]
        found = replace(found, fixes=(*why.fixes, *found.fixes), pictures=(*found.pictures, *why.pictures))
        tensors = inner.tensors() if why.tensors is None else why.tensors
    fixes = _listed(found.fixes)
    if try_fixes:
        fixes = carried_out(fixes, chosen, failure.program, failure.namespace, failure.root)
    return Explanation(kind=kind, title=found.title, cause=found.cause, fixes=_alternatives(fixes),
                       error=type(chosen).__name__, message=failure.message, call=failure.call(),
                       tensors=failure.tensors() if tensors is None else tensors, pictures=tuple(found.pictures))


def _listed(fixes: Iterable[Fix | None]) -> tuple[Fix, ...]:
    """Return cures with something to do, their code as written."""
    return tuple(replace(fix, code=_indexed(fix.code)) for fix in fixes if fix and fix.text)


def _alternatives(fixes: Sequence[Fix]) -> tuple[Fix, ...]:
    """Put what was tried first; the first cure loses the word that joins it."""
    found = sorted(fixes, key=lambda fix: not fix.tried)
    first = (replace(fix, text=re.sub("^(?:or|else),? ", "", fix.text)) for fix in found[:1])
    return (*first, *found[1:])


def _indexed(code: str) -> str:
    """Code in which modules are called by their paths, ``model.0.weight``, as it can be run: ``model[0].weight``."""
    before = ""
    while code != before:
        before, code = code, re.sub(r"(?<=[A-Za-z_\]])\.(\d+)(?=[.\[)\],\s]|$)", r"[\1]", code)
    return code


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those that it was raised from."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or following.__context__


def _kinds(failure: Failure) -> Iterator[str]:
    """Yield the kinds that an error may be, the program's text first, adding facts of Python's messages."""
    yield from RECOGNISED
    error = failure.error
    if not failure.kind and isinstance(error, AttributeError) and error.name and is_library_module(error.obj):
        yield "no such name"
    if not failure.kind and isinstance(error, AttributeError) and error.name and is_module(error.obj):
        failure.facts.update(module=error.obj, name=error.name)
        yield "no attribute"
    if failure.kind:
        yield next((kind for (of, name), kind in WITHIN.items() if failure.kind == of and failure.called(name)),
                   failure.kind)
    else:
        for kind, pattern in PYTHON.items():
            if match := next(filter(None, (re.match(pattern, said) for said in failure.said)), None):
                failure.facts.update(match.groupdict())
                yield kind
        yield "refused by a layer"


def _found(failure: Failure) -> tuple[str, Diagnosis]:
    for kind in _kinds(failure):
        try:
            found = EXPLANATIONS[kind](failure, failure.fields())
        except (LookupError, AttributeError, TypeError, ValueError) as unforeseen:
            reason = f" (It looks like {kind!r}, but what is known of it does not suffice: {unforeseen!r}.)"
            return "", _unknown(failure, reason)
        if found is not None:
            return kind, found
    return "", _unknown(failure)


def _unknown(failure: Failure, reason: str = "") -> Diagnosis:
    """Describe an error that no row knows, or that its row could not explain."""
    title = failure.message.strip().partition("\n")[0] or f"{type(failure.error).__name__} without a message"
    if isinstance(failure.error, SyntaxError):
        return Diagnosis(failure.error.msg, "Python could not read this as a program, so nothing of it has run.")
    if not failure.is_ours:
        return Diagnosis(title, "This error did not arise inside mindtorch or PyTorch: its traceback shows which line "
                         "raised it.")
    call, involved = failure.innermost, failure.tensors()
    where = f"in aten::{call.function.name}, with the tensors below" if call else f"inside {failure.library}"
    cause = f"It arose {where}. There is no explanation for this error yet; its message is all that is known.{reason}"
    return Diagnosis(title, cause, pictures=(plain(*involved),) if involved else ())

"""Resume functions: the rest of a function from one instruction on, as a function of its own
(``torch._dynamo.resume_execution``).

It takes the stack and the local variables, puts them in place, and jumps to the instruction.
"""
from __future__ import annotations

import inspect
import types
from collections.abc import Sequence

from .bytecode_analysis import IGNORED


def resume_code(code: types.CodeType, position: int, stack: Sequence[str], names: Sequence[str], line: int
                ) -> types.CodeType:
    """Return the code of a function that goes on at an instruction.

    ``stack`` has for each place of the stack ``value``, ``with`` (a context manager, which is entered) or ``null``;
    each but ``null`` is a parameter, before the local variables ``names``. Variables that functions share are free.
    """
    from bytecode import Bytecode, CellVar, FreeVar, Instr, Label

    found = Bytecode.from_code(code, conserve_exception_block_stackdepth=True)
    free = [*code.co_cellvars, *code.co_freevars]
    parameters = [f"___stack{number}" for number, kind in enumerate(stack) if kind != "null"]
    start: list[object] = [Instr("COPY_FREE_VARS", len(free), lineno=line)] if free else []
    start.append(Instr("RESUME", 0, lineno=line))
    for number, kind in enumerate(stack):
        if kind == "null":
            start.append(Instr("PUSH_NULL", lineno=line))
            continue
        start.append(Instr("LOAD_FAST", f"___stack{number}", lineno=line))
        if kind == "with":
            start += [Instr("BEFORE_WITH", lineno=line), Instr("POP_TOP", lineno=line)]
    there, seen = Label(), 0
    start.append(Instr("JUMP_FORWARD", there, lineno=line))
    rest: list[object] = []
    for one in found:
        if isinstance(one, Instr):
            if one.name in ("RESUME", "MAKE_CELL", "COPY_FREE_VARS"):
                continue
            if seen == position and one.name not in IGNORED:
                rest.append(there)
            seen += one.name not in IGNORED
            if isinstance(one.arg, CellVar):
                one.arg = FreeVar(one.arg.name)
        rest.append(one)
    found[:] = [*start, *rest]
    found.argnames = [*parameters, *names]
    found.argcount = len(found.argnames)
    found.posonlyargcount = found.kwonlyargcount = 0
    found.freevars, found.cellvars = free, []
    found.flags &= ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    found.name = f"torch_dynamo_resume_in_{_plain(code.co_name)}_at_{line}"
    made: types.CodeType = found.to_code(stacksize=code.co_stacksize + len(stack) + 2,
                                         compute_exception_stack_depths=False)
    return made.replace(co_qualname=found.name)


def _plain(name: str) -> str:
    name = name.split("_at_")[0].removeprefix("torch_dynamo_resume_in_") if name.startswith("torch_dynamo") else name
    return "".join(c if c.isalnum() else "_" for c in name)

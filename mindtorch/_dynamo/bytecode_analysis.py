"""Bytecode as the interpreter reads it: instructions by name, jumps by position, handlers of exceptions.

Python 3.11, 3.12 and 3.13 are read through ``dis``, by the names of their opcodes
(``torch._dynamo.bytecode_analysis``).
"""
from __future__ import annotations

import dis
import functools
import sys
from dataclasses import dataclass
from types import CodeType
from typing import Any

#: Instructions that only serve the machine.
IGNORED = frozenset(["CACHE", "EXTENDED_ARG", "NOP", "RESUME", "PRECALL", "MAKE_CELL", "COPY_FREE_VARS"])
SUPPORTED = ((3, 11), (3, 12), (3, 13))


@dataclass(slots=True)
class Instruction:
    """One instruction; ``target`` is the position it jumps to."""

    name: str
    arg: int
    argval: Any
    line: int
    offset: int
    target: int = -1


@dataclass(slots=True)
class Handler:
    """The handler of exceptions in a range of instructions: its position, the height of the stack there, and whether
    the position of the exception is pushed.
    """

    start: int
    end: int
    target: int
    depth: int
    lasti: bool


@dataclass
class Listing:
    """A function's instructions."""

    code: CodeType
    instructions: list[Instruction]
    handlers: list[Handler]

    def handler(self, position: int) -> Handler | None:
        """Return the innermost handler at a position."""
        return next((one for one in self.handlers if one.start <= position < one.end), None)


def check_version() -> None:
    """Refuse a version of Python whose bytecode is not known.

    Raises:
        RuntimeError: if it is not 3.11, 3.12 or 3.13.
    """
    if sys.version_info[:2] not in SUPPORTED or sys.implementation.name != "cpython":
        raise RuntimeError("torch.compile reads the bytecode of CPython 3.11 to 3.13; this is "
                           f"{sys.implementation.name} {sys.version.split()[0]}")


@functools.lru_cache(maxsize=4096)
def listing(code: CodeType) -> Listing:
    """Return the instructions of a function's code, without those that only serve the machine."""
    found: list[Instruction] = []
    positions: dict[int, int] = {}
    line = code.co_firstlineno
    for one in dis.get_instructions(code):
        if one.starts_line and not isinstance(one.starts_line, bool):
            line = one.starts_line
        elif one.positions is not None and one.positions.lineno is not None:
            line = one.positions.lineno
        positions[one.offset] = len(found)
        if one.opname not in IGNORED:
            found.append(Instruction(one.opname, one.arg or 0, one.argval, line, one.offset))
    for each in found:
        if dis.opmap[each.name] in (*dis.hasjrel, *dis.hasjabs):
            each.target = positions[each.argval]
    end = len(found)
    parse: Any = dis._parse_exception_table  # type: ignore[attr-defined]
    handlers = [Handler(positions.get(entry.start, end), positions.get(entry.end, end), positions[entry.target],
                        entry.depth, entry.lasti) for entry in parse(code)]
    return Listing(code, found, [one for one in handlers if one.start < one.end])


_READS = frozenset(["LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_AND_CLEAR", "DELETE_FAST", "LOAD_FAST_LOAD_FAST",
                    "STORE_FAST_LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE"])
_ENDS = frozenset(["RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
                   "JUMP_BACKWARD_NO_INTERRUPT"])


def _effect(one: Instruction) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the local variables that an instruction reads, and those that it writes."""
    if one.name == "STORE_FAST_STORE_FAST":
        return (), one.argval
    if one.name == "STORE_FAST_LOAD_FAST":
        return one.argval[1:], one.argval[:1]
    if one.name in _READS:
        return (one.argval if isinstance(one.argval, tuple) else (one.argval,)), ()
    return (), ((one.argval,) if one.name == "STORE_FAST" else ())


def live_at(found: Listing, position: int) -> set[str]:
    """Return the local variables that may be read from a position on before they are written."""
    live: list[set[str]] = [set() for _ in range(len(found.instructions) + 1)]
    changed = True
    while changed:
        changed = False
        for number in range(len(found.instructions) - 1, -1, -1):
            one = found.instructions[number]
            after = set() if one.name in _ENDS else set(live[number + 1])
            if one.target >= 0:
                after |= live[one.target]
            handler = found.handler(number)
            if handler is not None:
                after |= live[handler.target]
            reads, writes = _effect(one)
            now = (after - set(writes)) | set(reads)
            if now != live[number]:
                live[number], changed = now, True
    return live[position]

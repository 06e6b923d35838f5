"""The code that follows a graph at a break: the instruction itself, and the call of the rest of the function."""
from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable
from typing import Any

from .bytecode_analysis import Instruction, live_at
from .codegen import Codegen
from .resume_execution import resume_code
from .symbolic_convert import BINARY, COMPARISONS, OPERATORS, RootTranslator, WithExit
from .variables.base import NullVariable, Variable
from .variables.functions import FunctionVariable, MethodVariable
from .variables.objects import UserObject

RESULT = "_result"
UNARY = {"UNARY_NEGATIVE": "-", "UNARY_POSITIVE": "+", "UNARY_INVERT": "~", "UNARY_NOT": "not "}


class BreakWriter:
    """Writes what follows the graph; ``resume`` returns the name of a function that runs the rest."""

    def __init__(self, tx: RootTranslator, cg: Codegen, compile_rest: Callable[[types.CodeType, bool], Any],
                 hook: Any) -> None:
        self.tx, self.cg, self.compile_rest, self.hook = tx, cg, compile_rest, hook
        self.after: list[str] = []  #: lines behind the side effects

    def write(self) -> list[str]:
        """Return the lines for the instruction that breaks."""
        tx, inst = self.tx, self.tx.break_inst
        assert inst is not None
        if "JUMP" in inst.name and inst.name.removeprefix("POP_").startswith("JUMP") and inst.name not in (
                "JUMP_FORWARD", "JUMP_BACKWARD") and "NONE" not in inst.name:
            return self._jump(inst)
        height = [*tx.stack]
        text = self._instruction(inst)
        if text is None:
            tx.stack[:] = height
            return [self._resume(tx.current, compiled=False)]
        statement, results = text
        lines = self._within(self._at_its_line(statement, inst.line))
        return [*lines, self._resume(tx.current + 1, results)]

    # -- instructions ----------------------------------------------------------------------------------------------

    def _instruction(self, inst: Instruction) -> tuple[str, list[str]] | None:
        """Return the instruction as a statement, and what it pushes; None if it has to run as bytecode."""
        tx, value, name = self.tx, self.cg.value, inst.name
        if name in ("CALL", "CALL_KW", "CALL_FUNCTION_EX"):
            return self._call(inst)
        if name in UNARY:
            return f"{RESULT} = {UNARY[name]}{value(tx.pop())}", [RESULT]
        if name == "BINARY_OP":
            left, right = tx.popn(2)
            function = self.cg.object(BINARY[OPERATORS[inst.arg]])
            return f"{RESULT} = {function}({value(left)}, {value(right)})", [RESULT]
        if name == "COMPARE_OP":
            left, right = tx.popn(2)
            function = self.cg.object(COMPARISONS[inst.argval.replace("bool(", "").rstrip(")")])
            return f"{RESULT} = {function}({value(left)}, {value(right)})", [RESULT]
        if name == "CONTAINS_OP":
            left, right = tx.popn(2)
            return f"{RESULT} = {value(left)} {'not in' if inst.arg else 'in'} {value(right)}", [RESULT]
        if name == "BINARY_SUBSCR":
            owner, index = tx.popn(2)
            return f"{RESULT} = {value(owner)}[{value(index)}]", [RESULT]
        if name == "STORE_SUBSCR":
            stored, owner, index = tx.popn(3)
            return f"{value(owner)}[{value(index)}] = {value(stored)}", []
        if name == "DELETE_SUBSCR":
            owner, index = tx.popn(2)
            return f"del {value(owner)}[{value(index)}]", []
        if (name == "LOAD_ATTR" and not inst.arg & 1) or name == "LOAD_METHOD":
            found = f"{RESULT} = {self.cg.object(getattr)}({value(tx.pop())}, {inst.argval!r})"
            return found, ["", RESULT] if name == "LOAD_METHOD" else [RESULT]
        if name == "STORE_ATTR":
            stored, owner = tx.popn(2)
            return f"{self.cg.object(setattr)}({value(owner)}, {inst.argval!r}, {value(stored)})", []
        if name == "DELETE_ATTR":
            return f"{self.cg.object(delattr)}({value(tx.pop())}, {inst.argval!r})", []
        if name == "GET_ITER":
            return f"{RESULT} = {self.cg.object(iter)}({value(tx.pop())})", [RESULT]
        if name == "IMPORT_NAME":
            level, names = tx.popn(2)
            return (f"{RESULT} = __import__({inst.argval!r}, _G, None, {value(names)}, {value(level)})", [RESULT])
        return None

    def _call(self, inst: Instruction) -> tuple[str, list[str]]:
        function, args, kwargs = self.tx.call_parts(inst)
        at = self.cg.value(function)
        if isinstance(function, (FunctionVariable, MethodVariable, UserObject)):
            at = f"{self.cg.object(self.hook)}({at})"  # which compiles what the function calls
        given = [*map(self.cg.value, args), *(f"{name}={self.cg.value(one)}" if name.isidentifier() else
                                              f"**{{{name!r}: {self.cg.value(one)}}}" for name, one in kwargs.items())]
        return f"{RESULT} = {at}({', '.join(given)})", [RESULT]

    def _jump(self, inst: Instruction) -> list[str]:
        tx = self.tx
        condition, keeps = self.cg.value(tx.pop()), inst.name.endswith("OR_POP")
        on_true = "TRUE" in inst.name
        lines = self._within(f"{RESULT} = {self.cg.object(bool)}({condition})")
        jump = self._resume(inst.target, [condition] if keeps else [])
        return [*lines, f"if {RESULT if on_true else f'not {RESULT}'}:", f"    {jump}", self._resume(tx.current + 1)]

    def _within(self, statement: str) -> list[str]:
        """Return a statement in the modes that are entered."""
        lines: list[str] = []
        for one in self.tx.stack:
            if isinstance(one, WithExit):
                lines.append(f"{'    ' * len(lines)}with {self.cg.value(one.manager)}:")
        return [*lines, "    " * len(lines) + statement]

    def _at_its_line(self, statement: str, line: int) -> str:
        """Return a statement that runs another one in a frame at the user's line, for tracebacks and warnings."""
        objects, code = self.cg.space.objects, self.tx.code
        result, equals, expression = statement.partition(f"{RESULT} = ")
        body = f"return {expression}" if equals and not result else statement
        taken = [*dict.fromkeys(node.id for node in ast.walk(ast.parse(statement)) if isinstance(node, ast.Name)
                                and node.id not in objects and node.id != RESULT and (
                                    node.id in code.co_varnames or not hasattr(builtins, node.id)))]
        name = code.co_name if code.co_name.isidentifier() else "function"
        tree = ast.parse(f"def {name}({', '.join(taken)}): {body}")
        place = {"lineno": line, "end_lineno": line, "col_offset": 0, "end_col_offset": 0}
        for node in ast.walk(tree):
            vars(node).update(place if "lineno" in node._attributes else {})
        space: dict[str, Any] = {}
        exec(compile(tree, code.co_filename, "exec"), objects, space)
        call = f"{self.cg.object(space[name])}({', '.join(taken)})"
        return f"{RESULT} = {call}" if body is not statement else call

    # -- the rest --------------------------------------------------------------------------------------------------

    def _resume(self, position: int, results: list[str] | None = None, compiled: bool = True) -> str:
        """Return the statement that runs the rest of the function from an instruction on."""
        tx = self.tx
        stack: list[Variable | str] = [*tx.stack, *(results or [])]
        kinds = ["null" if one == "" or isinstance(one, NullVariable) else "with" if isinstance(one, WithExit) else
                 "value" for one in stack]
        given = [one if isinstance(one, str) else self.cg.value(one.manager if isinstance(one, WithExit) else one)
                 for one, kind in zip(stack, kinds, strict=True) if kind != "null"]
        live = live_at(tx.listing, position)
        names = [name for name in tx.locals if name in live and name.isidentifier()]
        given += [self.cg.value(tx.locals[name]) for name in names]
        line = tx.listing.instructions[position].line
        code = resume_code(tx.code, position, kinds, names, line)
        rest = self.cg.object(self.compile_rest(code, compiled))
        cells = "".join(f"{self.cg.value(tx.cells[name])}, " for name in code.co_freevars)
        return f"return {rest}(({cells}), {', '.join(given)})"

"""The interpreter: runs a function's bytecode on variables instead of values (``torch._dynamo.symbolic_convert``).

Each opcode is a method of its name. A call of a function in Python is interpreted by another interpreter; a call of the
library becomes a node of the graph. At an instruction that no graph has, the outermost frame breaks: it is interpreted
again up to there, and the generated code runs the graph, the instruction, and the rest as a function of its own.
"""
from __future__ import annotations

import dis
import inspect
import operator
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

from .._guards import GlobalSource, LocalSource, Source
from .bytecode_analysis import Instruction, listing
from .exc import Break, Raised, Restart
from .output_graph import OutputGraph
from .trace_rules import is_library
from .variables import builder, builtin
from .variables.base import (
    ConstantVariable, ExceptionVariable, NullVariable, Variable, is_exception, specialised, throw,
)
from .variables.containers import DictVariable, FormatVariable, ListVariable, SetVariable, SliceVariable, TupleVariable
from .variables.contexts import ContextVariable
from .variables.functions import CellVariable, GeneratorVariable, MethodVariable, NestedFunction, is_none
from .variables.objects import ClassVariable, UserObject
from .variables.symbols import slice_of
from .variables.tensor import TensorVariable

NULL_LAST = sys.version_info >= (3, 13)  #: where the stack has the NULL of a call behind the callable
MAX_DEPTH = 60
BINARY: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "@": operator.matmul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv,
    "//=": operator.ifloordiv, "%=": operator.imod, "**=": operator.ipow, "@=": operator.imatmul,
    "&=": operator.iand, "|=": operator.ior, "^=": operator.ixor, "<<=": operator.ilshift, ">>=": operator.irshift}
COMPARISONS: dict[str, Callable[..., Any]] = {"<": operator.lt, "<=": operator.le, "==": operator.eq,
                                              "!=": operator.ne, ">": operator.gt, ">=": operator.ge}
#: The names of binary operators by the argument of ``BINARY_OP``.
OPERATORS: list[str] = [symbol for _, symbol in dis._nb_ops]  # type: ignore[attr-defined]


class WithExit(Variable):
    """The exit of a ``with`` block, on the stack until the block ends."""

    def __init__(self, manager: Variable) -> None:
        self.manager = manager

    def call(self, tx: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        return self.manager.method(tx, "__exit__", args, {})


class Lazy(Variable):
    """An argument that the program has not read yet: it has no guards until then."""

    def __init__(self, value: Any, source: Source) -> None:
        self.real, self.source = value, source


def _filling(method: str) -> Callable[[Translator, Instruction], None]:
    """Return the opcode that calls a method of a container on the stack with the value on top."""
    def opcode(self: Translator, inst: Instruction) -> None:
        value = self.pop()
        self.stack[-inst.arg].method(self, method, [value], {})

    return opcode


class Translator:
    """One frame that is interpreted."""

    def __init__(self, output: OutputGraph, code: types.CodeType, space: dict[str, Any],
                 variables: dict[str, Variable], cells: dict[str, CellVariable],
                 parent: Translator | None = None) -> None:
        self.output, self.code, self.globals, self.parent = output, code, space, parent
        self.listing = listing(code)
        self.locals = variables
        self.cells = cells
        for name in code.co_cellvars:
            cells[name] = CellVariable(variables.pop(name, None))
        self.stack: list[Variable] = []
        self.position = self.current = 0
        self.returned: Variable | None = None
        self.yielded: Variable | None = None
        self.started = False
        self.keywords: tuple[str, ...] = ()
        self.exceptions: list[Variable] = []
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.guarded = not is_library(types.ModuleType(space.get("__name__") or ""))

    # -- values ----------------------------------------------------------------------------------------------------

    def made(self, value: Any) -> Variable:
        """Return the variable of a value that the interpreted program made."""
        return builder.made(self, value)

    def wrap(self, value: Any, source: Source) -> Variable:
        """Return the variable of a value that is read from a source."""
        return builder.wrap(self, value, source)

    def binary(self, function: Callable[..., Any], left: Variable, right: Variable) -> Variable:
        """Return the result of an operator."""
        return builtin.binary(self, function, left, right)

    def bound(self, function: Any, owner: Variable) -> Variable:
        """Return a method of an object."""
        return MethodVariable(self.made(function), owner)

    def sorted(self, items: list[Variable], kwargs: dict[str, Variable]) -> list[Variable]:
        """Return ``sorted(items, **kwargs)``."""
        return builtin.sorted_list(self, items, kwargs)

    def super_arguments(self) -> tuple[Variable, Variable]:
        """Return the class and the object of ``super()`` without arguments."""
        name = self.code.co_varnames[0]
        first = self.cells[name].read(self, name) if name in self.cells else self._local(name)
        return self.cells["__class__"].read(self, "__class__"), first

    def push(self, value: Variable) -> None:
        """Push a value."""
        self.stack.append(value)

    def pop(self) -> Variable:
        """Pop a value."""
        return self.stack.pop()

    def popn(self, count: int) -> list[Variable]:
        """Pop values, and return them in the order in which they were pushed."""
        if not count:
            return []
        found = self.stack[-count:]
        del self.stack[-count:]
        return found

    def push_callable(self, function: Variable) -> None:
        """Push a callable with the NULL that stands beside it."""
        self.stack += [function, NullVariable()] if NULL_LAST else [NullVariable(), function]

    # -- running ---------------------------------------------------------------------------------------------------

    def summary(self) -> traceback.FrameSummary:
        """Return where the frame is, as a traceback has it."""
        line = self.listing.instructions[self.current].line
        return traceback.FrameSummary(self.code.co_filename, line, self.code.co_name)

    def frames(self) -> list[traceback.FrameSummary]:
        """Return where the frame and those around it are, the outermost first."""
        return [*(self.parent.frames() if self.parent is not None else []), self.summary()]

    def run(self) -> None:
        """Interpret until the function returns or yields."""
        self.started = True
        instructions = self.listing.instructions
        self.output.line = self.frames
        while self.returned is None and self.yielded is None:
            self.current = self.position
            self.position += 1
            try:
                self.step(instructions[self.current])
            except Raised as raised:
                self.unwind(raised)
            except Break as broken:
                broken.stack = broken.stack or self.frames()
                raise

    def step(self, inst: Instruction) -> None:
        """Interpret one instruction."""
        handler = getattr(self, inst.name, None)
        if handler is None:
            raise Break(f"the instruction {inst.name} is not interpreted", skip=True)
        handler(inst)

    def unwind(self, raised: Raised) -> None:
        """Go to the handler of an exception, or leave the frame."""
        handler = self.listing.handler(self.current)
        if handler is None:
            raise raised
        del self.stack[handler.depth:]
        if handler.lasti:
            self.push(ConstantVariable(self.current))
        self.push(raised.value)
        self.position = handler.target

    def inline(self, function: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        """Interpret a call of a function."""
        code = function.code
        if self.depth > MAX_DEPTH:
            raise Break("the calls are too deep")
        if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
            raise Break(f"{code.co_qualname} is asynchronous")
        cells = dict(zip(code.co_freevars, function.cells(self), strict=True))
        frame = Translator(self.output, code, function.globals, function.bind(self, args, kwargs), cells, self)
        if code.co_flags & inspect.CO_GENERATOR:
            return GeneratorVariable(frame)
        try:
            frame.run()
        finally:
            self.output.line = self.frames
        assert frame.returned is not None
        return frame.returned

    def resume(self, parent: Any, value: Variable, error: Variable | None) -> Variable:
        """Continue a generator until its next ``yield``."""
        self.parent, self.depth = parent, parent.depth + 1
        self.yielded = None
        if self.started:
            self.push(value)
        try:
            if error is not None:
                self.unwind(Raised(error))
            self.run()
        finally:
            parent.output.line = parent.frames
        return self.yielded if self.yielded is not None else ConstantVariable(None)

    # -- variables -------------------------------------------------------------------------------------------------

    def _local(self, name: str) -> Variable:
        found = self.locals.get(name)
        if found is None and name in self.cells:  # from Python 3.13 on, a cell is loaded like a local variable
            return self.cells[name]
        if found is None:
            throw(self, UnboundLocalError, f"cannot access local variable {name!r} where it is not associated with a "
                                           "value")
        if isinstance(found, Lazy):
            assert found.source is not None
            found = self.locals[name] = self.wrap(found.real, found.source)
        return found

    def LOAD_FAST(self, inst: Instruction) -> None:
        self.push(self._local(inst.argval))

    LOAD_FAST_CHECK = LOAD_FAST

    def LOAD_FAST_AND_CLEAR(self, inst: Instruction) -> None:
        self.push(self.locals.pop(inst.argval, NullVariable()))

    def LOAD_FAST_LOAD_FAST(self, inst: Instruction) -> None:
        for name in inst.argval:
            self.push(self._local(name))

    def STORE_FAST(self, inst: Instruction) -> None:
        value = self.pop()
        if isinstance(value, NullVariable):
            self.locals.pop(inst.argval, None)
        else:
            self.locals[inst.argval] = value

    def STORE_FAST_STORE_FAST(self, inst: Instruction) -> None:
        for name in inst.argval:
            self.locals[name] = self.pop()

    def STORE_FAST_LOAD_FAST(self, inst: Instruction) -> None:
        self.locals[inst.argval[0]] = self.pop()
        self.push(self._local(inst.argval[1]))

    def DELETE_FAST(self, inst: Instruction) -> None:
        self._local(inst.argval)
        del self.locals[inst.argval]

    def LOAD_CONST(self, inst: Instruction) -> None:
        self.push(self.made(inst.argval))

    def LOAD_DEREF(self, inst: Instruction) -> None:
        self.push(self.cells[inst.argval].read(self, inst.argval))

    def STORE_DEREF(self, inst: Instruction) -> None:
        self.cells[inst.argval].write(self, self.pop())

    def DELETE_DEREF(self, inst: Instruction) -> None:
        self.cells[inst.argval].write(self, None)

    def LOAD_CLOSURE(self, inst: Instruction) -> None:
        self.push(self.cells[inst.argval])

    def LOAD_CLASSDEREF(self, inst: Instruction) -> None:
        raise Break("a class is defined in the function")

    def _global(self, name: str) -> Variable:
        written = self.output.side_effects.globals.get((id(self.globals), name))
        if written is not None:
            if written[1] is None:
                throw(self, NameError, f"name {name!r} is not defined")
            return written[1]
        if name in self.globals:
            value = self.globals[name]
            if not self.guarded:
                return self.made(value)
            root = self
            while root.parent is not None:
                root = root.parent
            source = GlobalSource(name) if root.globals is self.globals else Source(
                f"[{name!r}]", Source(self.output.object(self.globals), shown="G"))
            return self.wrap(value, source)
        builtins = self.globals.get("__builtins__", __builtins__)
        builtins = builtins if isinstance(builtins, dict) else vars(builtins)
        if name not in builtins:
            throw(self, NameError, f"name {name!r} is not defined")
        return self.made(builtins[name])

    def LOAD_GLOBAL(self, inst: Instruction) -> None:
        value = self._global(inst.argval)
        if inst.arg & 1:
            self.push_callable(value)
        else:
            self.push(value)

    def LOAD_NAME(self, inst: Instruction) -> None:
        self.push(self._global(inst.argval))

    def STORE_GLOBAL(self, inst: Instruction) -> None:
        self.output.side_effects.globals[id(self.globals), inst.argval] = (self.globals, self.pop())

    def DELETE_GLOBAL(self, inst: Instruction) -> None:
        self.output.side_effects.globals[id(self.globals), inst.argval] = (self.globals, None)

    # -- the stack -------------------------------------------------------------------------------------------------

    def POP_TOP(self, inst: Instruction) -> None:
        self.pop()

    def END_FOR(self, inst: Instruction) -> None:
        self.pop()
        if sys.version_info < (3, 13):  # later, an instruction of its own drops the iterator
            self.pop()

    def PUSH_NULL(self, inst: Instruction) -> None:
        self.push(NullVariable())

    def COPY(self, inst: Instruction) -> None:
        self.push(self.stack[-inst.arg])

    def SWAP(self, inst: Instruction) -> None:
        self.stack[-1], self.stack[-inst.arg] = self.stack[-inst.arg], self.stack[-1]

    def KW_NAMES(self, inst: Instruction) -> None:
        self.keywords = self.code.co_consts[inst.arg]

    # -- operators -------------------------------------------------------------------------------------------------

    def BINARY_OP(self, inst: Instruction) -> None:
        left, right = self.popn(2)
        self.push(self.binary(BINARY[OPERATORS[inst.arg]], left, right))

    def BINARY_SUBSCR(self, inst: Instruction) -> None:
        owner, index = self.popn(2)
        self.push(builtin.item(self, owner, index))

    def BINARY_SLICE(self, inst: Instruction) -> None:
        owner, start, stop = self.popn(3)
        self.push(builtin.item(self, owner, self._slice([start, stop])))

    def STORE_SLICE(self, inst: Instruction) -> None:
        value, owner, start, stop = self.popn(4)
        self._store_item(owner, self._slice([start, stop]), value)

    def STORE_SUBSCR(self, inst: Instruction) -> None:
        value, owner, index = self.popn(3)
        self._store_item(owner, index, value)

    def _store_item(self, owner: Variable, index: Variable, value: Variable) -> None:
        if isinstance(owner, TensorVariable):
            self.output.call(self, "call_function", operator.setitem, [owner, index, value], {})
        else:
            owner.method(self, "__setitem__", [index, value], {})

    def DELETE_SUBSCR(self, inst: Instruction) -> None:
        owner, index = self.popn(2)
        owner.method(self, "__delitem__", [index], {})

    def _unary(self, function: Callable[..., Any]) -> None:
        self.push(builtin.unary(self, function, self.pop()))

    def UNARY_NEGATIVE(self, inst: Instruction) -> None:
        self._unary(operator.neg)

    def UNARY_POSITIVE(self, inst: Instruction) -> None:
        self._unary(operator.pos)

    def UNARY_INVERT(self, inst: Instruction) -> None:
        self._unary(operator.invert)

    def UNARY_NOT(self, inst: Instruction) -> None:
        value = self.pop()
        if isinstance(value, TensorVariable):
            raise Break("Data-dependent branching: `not` of a tensor reads data")
        self.push(ConstantVariable(not value.truth(self)))

    def TO_BOOL(self, inst: Instruction) -> None:
        if not isinstance(self.stack[-1], TensorVariable):
            self.push(ConstantVariable(self.pop().truth(self)))

    def COMPARE_OP(self, inst: Instruction) -> None:
        left, right = self.popn(2)
        self.push(self.binary(COMPARISONS[inst.argval.replace("bool(", "").rstrip(")")], left, right))

    def IS_OP(self, inst: Instruction) -> None:
        left, right = self.popn(2)
        self.push(ConstantVariable(builtin.is_same(self, left, right) is not bool(inst.arg)))

    def CONTAINS_OP(self, inst: Instruction) -> None:
        wanted, owner = self.popn(2)
        if owner.is_constant and wanted.is_constant and isinstance(owner, ConstantVariable):
            found = ConstantVariable(bool(wanted.value in owner.value))
        elif isinstance(owner, (GeneratorVariable,)):
            found = ConstantVariable(any(self.binary(operator.eq, one, wanted).truth(self)
                                         for one in owner.items(self)))
        else:
            found = ConstantVariable(owner.method(self, "__contains__", [wanted], {}).truth(self))
        self.push(ConstantVariable(found.value is not bool(inst.arg)))

    # -- attributes ------------------------------------------------------------------------------------------------

    def LOAD_ATTR(self, inst: Instruction) -> None:
        found = self.pop().attribute(self, inst.argval)
        if sys.version_info >= (3, 12) and inst.arg & 1:
            self.push_callable(found)
        else:
            self.push(found)

    def LOAD_METHOD(self, inst: Instruction) -> None:
        self.push_callable(self.pop().attribute(self, inst.argval))

    def LOAD_SUPER_ATTR(self, inst: Instruction) -> None:
        function, kind, owner = self.popn(3)
        found = function.call(self, [kind, owner], {}).attribute(self, inst.argval)
        if inst.arg & 1:
            self.push_callable(found)
        else:
            self.push(found)

    def STORE_ATTR(self, inst: Instruction) -> None:
        value, owner = self.popn(2)
        owner.set_attribute(self, inst.argval, value)

    def DELETE_ATTR(self, inst: Instruction) -> None:
        self.pop().delete_attribute(self, inst.argval)

    def IMPORT_NAME(self, inst: Instruction) -> None:
        level, names = self.popn(2)
        package = self.globals.get("__package__") or ""
        name = inst.argval
        if level.value:
            base = package.rsplit(".", level.value - 1)[0] if level.value > 1 else package
            name = f"{base}.{name}" if name else base
        if name not in sys.modules:
            raise Break(f"the module {name} is imported in the function")
        module = sys.modules[name if level.value or not is_none(names) else name.partition(".")[0]]
        self.push(self.made(module))

    def IMPORT_FROM(self, inst: Instruction) -> None:
        self.push(self.stack[-1].attribute(self, inst.argval))

    # -- containers ------------------------------------------------------------------------------------------------

    def BUILD_TUPLE(self, inst: Instruction) -> None:
        self.push(TupleVariable(self.popn(inst.arg)))

    def BUILD_LIST(self, inst: Instruction) -> None:
        self.push(ListVariable(self.popn(inst.arg)))

    def BUILD_SET(self, inst: Instruction) -> None:
        self.push(SetVariable(self.popn(inst.arg)))

    def BUILD_MAP(self, inst: Instruction) -> None:
        found = self.popn(2 * inst.arg)
        self.push(DictVariable([*zip(found[::2], found[1::2], strict=True)]))

    def BUILD_CONST_KEY_MAP(self, inst: Instruction) -> None:
        keys = self.pop()
        self.push(DictVariable([*zip(keys.items(self), self.popn(inst.arg), strict=True)]))

    def _slice(self, parts: list[Variable]) -> Variable:
        if all(part.is_constant for part in parts):
            return slice_of(parts)
        return SliceVariable(parts)

    def BUILD_SLICE(self, inst: Instruction) -> None:
        self.push(self._slice(self.popn(inst.arg)))

    def LIST_TO_TUPLE(self, inst: Instruction) -> None:
        self.push(TupleVariable(self.pop().items(self)))

    LIST_EXTEND, LIST_APPEND, SET_ADD = map(_filling, ("extend", "append", "add"))
    SET_UPDATE = DICT_UPDATE = DICT_MERGE = _filling("update")

    def MAP_ADD(self, inst: Instruction) -> None:
        key, value = self.popn(2)
        self.stack[-inst.arg].method(self, "__setitem__", [key, value], {})

    def UNPACK_SEQUENCE(self, inst: Instruction) -> None:
        items = self.pop().items(self)
        if len(items) != inst.arg:
            many = f"too many values to unpack (expected {inst.arg})"
            throw(self, ValueError, many if len(items) > inst.arg else
                  f"not enough values to unpack (expected {inst.arg}, got {len(items)})")
        self.stack += reversed(items)

    def UNPACK_EX(self, inst: Instruction) -> None:
        before, after = inst.arg & 0xFF, inst.arg >> 8
        items = self.pop().items(self)
        if len(items) < before + after:
            throw(self, ValueError, f"not enough values to unpack (expected at least {before + after}, got "
                                    f"{len(items)})")
        end = len(items) - after
        self.stack += reversed([*items[:before], ListVariable(items[before:end]), *items[end:]])

    def _formatted(self, value: Variable, conversion: str, spec: Variable | None) -> Variable:
        if spec is not None and not spec.is_constant:
            raise Break("a format that is not a constant")
        form = "" if spec is None else spec.value
        try:
            if value.is_constant and not conversion and not isinstance(value, UserObject):
                return ConstantVariable(format(specialised(value.value), form))
            text = builtin.text(self, value, repr if conversion == "!r" else ascii if conversion == "!a" else str)
            return ConstantVariable(format(text.value, form))
        except Break:
            return FormatVariable([(value, conversion + (f":{form}" if form else ""))])

    def FORMAT_VALUE(self, inst: Instruction) -> None:
        spec = self.pop() if inst.arg & 4 else None
        self.push(self._formatted(self.pop(), ["", "!s", "!r", "!a"][inst.arg & 3], spec))

    def CONVERT_VALUE(self, inst: Instruction) -> None:
        self.push(self._formatted(self.pop(), ["", "!s", "!r", "!a"][inst.arg], None))

    def FORMAT_SIMPLE(self, inst: Instruction) -> None:
        self.push(self._formatted(self.pop(), "", None))

    def FORMAT_WITH_SPEC(self, inst: Instruction) -> None:
        value, spec = self.popn(2)
        self.push(self._formatted(value, "", spec))

    def BUILD_STRING(self, inst: Instruction) -> None:
        parts: list[tuple[Variable, str]] = []
        for part in self.popn(inst.arg):
            parts += part.parts if isinstance(part, FormatVariable) else [(part, "")]
        if all(part.is_constant for part, _ in parts):
            self.push(ConstantVariable("".join(part.value for part, _ in parts)))
        else:
            self.push(FormatVariable(parts))

    # -- jumps -----------------------------------------------------------------------------------------------------

    def JUMP_FORWARD(self, inst: Instruction) -> None:
        self.position = inst.target

    JUMP_BACKWARD = JUMP_BACKWARD_NO_INTERRUPT = JUMP_FORWARD

    def _jump_if(self, inst: Instruction, wanted: bool) -> None:
        value = self.stack[-1]
        if isinstance(value, TensorVariable) and self._assertion(inst, value, wanted):
            return
        if value.truth(self) is wanted:
            self.position = inst.target
        self.pop()

    def _assertion(self, inst: Instruction, value: TensorVariable, wanted: bool) -> bool:
        """Have ``assert`` on data checked behind the graph, which computes the condition."""
        following = self.listing.instructions[self.position]
        if following.name != "LOAD_ASSERTION_ERROR" or not wanted or value.example.numel() != 1:
            return False
        second = self.listing.instructions[self.position + 1]
        message = second.argval if second.name == "LOAD_CONST" and isinstance(second.argval, str) else "assertion error"
        if second.name not in ("LOAD_CONST", "RAISE_VARARGS"):
            return False
        self.output.side_effects.asserted.append((value, message))
        self.pop()
        self.position = inst.target
        return True

    def POP_JUMP_IF_TRUE(self, inst: Instruction) -> None:
        self._jump_if(inst, True)

    def POP_JUMP_IF_FALSE(self, inst: Instruction) -> None:
        self._jump_if(inst, False)

    POP_JUMP_FORWARD_IF_TRUE = POP_JUMP_BACKWARD_IF_TRUE = POP_JUMP_IF_TRUE
    POP_JUMP_FORWARD_IF_FALSE = POP_JUMP_BACKWARD_IF_FALSE = POP_JUMP_IF_FALSE

    def POP_JUMP_IF_NONE(self, inst: Instruction) -> None:
        if is_none(self.pop()):
            self.position = inst.target

    def POP_JUMP_IF_NOT_NONE(self, inst: Instruction) -> None:
        if not is_none(self.pop()):
            self.position = inst.target

    POP_JUMP_FORWARD_IF_NONE = POP_JUMP_BACKWARD_IF_NONE = POP_JUMP_IF_NONE
    POP_JUMP_FORWARD_IF_NOT_NONE = POP_JUMP_BACKWARD_IF_NOT_NONE = POP_JUMP_IF_NOT_NONE

    def JUMP_IF_TRUE_OR_POP(self, inst: Instruction) -> None:
        if self.stack[-1].truth(self):
            self.position = inst.target
        else:
            self.pop()

    def JUMP_IF_FALSE_OR_POP(self, inst: Instruction) -> None:
        if self.stack[-1].truth(self):
            self.pop()
        else:
            self.position = inst.target

    def GET_ITER(self, inst: Instruction) -> None:
        self.push(self.pop().iterator(self))

    def FOR_ITER(self, inst: Instruction) -> None:
        try:
            item = self.stack[-1].next(self)
        except Raised as raised:
            if not is_exception(raised.value, StopIteration):
                raise
            if sys.version_info < (3, 12):
                self.pop()
            else:
                self.push(ConstantVariable(None))
            self.position = inst.target
        else:
            self.push(item)

    def GET_LEN(self, inst: Instruction) -> None:
        self.push(builtin.HANDLERS[len](self, self.stack[-1]))

    # -- calls -----------------------------------------------------------------------------------------------------

    def call_parts(self, inst: Instruction) -> tuple[Variable, list[Variable], dict[str, Variable]]:
        """Pop the callable and the arguments of a call."""
        if inst.name == "CALL_FUNCTION_EX":
            named = self.pop() if inst.arg & 1 else None
            args = self.pop().items(self)
            function = self.pop()
            if isinstance(function, NullVariable):  # behind the callable from Python 3.13 on, before it until then
                function = self.pop()
            elif isinstance(self.stack[-1], NullVariable):
                self.pop()
            found = DictVariable([])
            if named is not None:
                found.update(self, named)
            return function, args, {key.value: value for key, value in found.entries.values()}
        names = self.pop().value if inst.name == "CALL_KW" else self.keywords
        self.keywords = ()
        values = self.popn(inst.arg)
        one, other = self.popn(2)
        function = other if isinstance(one, NullVariable) else one
        if not isinstance(one, NullVariable) and not isinstance(other, NullVariable):
            values.insert(0, other)  # a comprehension's iterator, or a decorated function
        count = len(values) - len(names)
        return function, values[:count], dict(zip(names, values[count:], strict=True))

    def CALL(self, inst: Instruction) -> None:
        function, args, kwargs = self.call_parts(inst)
        self.push(function.call(self, args, kwargs))

    CALL_KW = CALL_FUNCTION_EX = CALL

    def CALL_INTRINSIC_1(self, inst: Instruction) -> None:
        name = inst.argval if isinstance(inst.argval, str) else dis._intrinsic_1_descs[inst.arg]  # type: ignore
        if name == "INTRINSIC_LIST_TO_TUPLE":
            self.LIST_TO_TUPLE(inst)
        elif name == "INTRINSIC_UNARY_POSITIVE":
            self._unary(operator.pos)
        elif name != "INTRINSIC_STOPITERATION_ERROR":
            raise Break(f"the instruction {name} is not interpreted", skip=True)

    def MAKE_FUNCTION(self, inst: Instruction) -> None:
        code = self.pop().value
        cells: Any = self.pop().items(self) if inst.arg & 8 else []
        annotations = self.pop() if inst.arg & 4 else None
        named: Any = self.pop() if inst.arg & 2 else None
        defaults = self.pop().items(self) if inst.arg & 1 else []
        keyword = {} if named is None else {key.value: value for key, value in named.entries.values()}
        self.push(NestedFunction(code, self.globals, defaults, keyword, cells, annotations))

    def SET_FUNCTION_ATTRIBUTE(self, inst: Instruction) -> None:
        value, function = self.popn(2)
        made: Any = function
        if inst.arg == 8:
            made._cells = value.items(self)
        elif inst.arg == 1:
            made.defaults = value.items(self)
        elif inst.arg == 2:
            made.keyword_defaults = {key.value: one for key, one in value.entries.values()}  # type: ignore
        self.push(function)

    def LOAD_BUILD_CLASS(self, inst: Instruction) -> None:
        raise Break("a class is defined in the function")

    def RETURN_VALUE(self, inst: Instruction) -> None:
        self.returned = self.pop()

    def RETURN_CONST(self, inst: Instruction) -> None:
        self.returned = self.made(inst.argval)

    # -- generators ------------------------------------------------------------------------------------------------

    def RETURN_GENERATOR(self, inst: Instruction) -> None:
        self.push(ConstantVariable(None))

    def YIELD_VALUE(self, inst: Instruction) -> None:
        if self.parent is None:
            raise Break("a generator is called", skip=True)
        self.yielded = self.pop()

    def GET_YIELD_FROM_ITER(self, inst: Instruction) -> None:
        self.push(self.pop().iterator(self))

    def SEND(self, inst: Instruction) -> None:
        value = self.pop()
        inner = self.stack[-1]
        try:
            item = inner.next(self) if is_none(value) else inner.method(self, "send", [value], {})
        except Raised as raised:
            if not is_exception(raised.value, StopIteration):
                raise
            result = raised.value.attribute(self, "value")
            if sys.version_info < (3, 12):
                self.pop()
            self.push(result)
            self.position = inst.target
        else:
            self.push(item)

    def END_SEND(self, inst: Instruction) -> None:
        value = self.pop()
        self.pop()
        self.push(value)

    # -- exceptions ------------------------------------------------------------------------------------------------

    def RAISE_VARARGS(self, inst: Instruction) -> None:
        if inst.arg == 0:
            if not self.exceptions:
                throw(self, RuntimeError, "No active exception to reraise")
            raise Raised(self.exceptions[-1])
        cause = self.pop() if inst.arg == 2 else None
        value = self.pop()
        if isinstance(value, ClassVariable):
            value = value.call(self, [], {})
        if not isinstance(value, ExceptionVariable):
            raise Break(f"{value} is raised")
        if cause is not None:
            value.attributes["__cause__"] = cause
        raise Raised(value)

    def PUSH_EXC_INFO(self, inst: Instruction) -> None:
        value = self.pop()
        self.push(self.exceptions[-1] if self.exceptions else ConstantVariable(None))
        self.push(value)
        self.exceptions.append(value)

    def POP_EXCEPT(self, inst: Instruction) -> None:
        self.pop()
        self.exceptions.pop()

    def CHECK_EXC_MATCH(self, inst: Instruction) -> None:
        kinds = self.pop()
        self.push(ConstantVariable(issubclass(self.stack[-1].python_type(), kinds.value)))

    def RERAISE(self, inst: Instruction) -> None:
        value = self.pop()
        raise Raised(value)

    def LOAD_ASSERTION_ERROR(self, inst: Instruction) -> None:
        self.push(ClassVariable(AssertionError))

    def BEFORE_WITH(self, inst: Instruction) -> None:
        manager = self.pop()
        self.push(WithExit(manager))
        self.push(manager.method(self, "__enter__", [], {}))

    def WITH_EXCEPT_START(self, inst: Instruction) -> None:
        value = self.stack[-1]
        found = self.stack[-4] if isinstance(self.stack[-4], WithExit) else self.stack[-5]
        self.push(found.call(self, [self.made(value.python_type()), value, ConstantVariable(None)], {}))

    def SETUP_ANNOTATIONS(self, inst: Instruction) -> None:
        pass

    # -- match -----------------------------------------------------------------------------------------------------

    def MATCH_MAPPING(self, inst: Instruction) -> None:
        self.push(ConstantVariable(isinstance(self.stack[-1], DictVariable)))

    def MATCH_SEQUENCE(self, inst: Instruction) -> None:
        self.push(ConstantVariable(isinstance(self.stack[-1], (ListVariable, TupleVariable))))

    def MATCH_KEYS(self, inst: Instruction) -> None:
        keys, subject = self.stack[-1], self.stack[-2]
        found = [subject.entries.get(key.key()) for key in keys.items(self)]  # type: ignore[attr-defined]
        self.push(ConstantVariable(None) if None in found else TupleVariable([one[1] for one in found if one]))

    def MATCH_CLASS(self, inst: Instruction) -> None:
        subject, kind, names = self.popn(3)
        if not issubclass(subject.python_type(), kind.value):
            self.push(ConstantVariable(None))
            return
        positional = getattr(kind.value, "__match_args__", ())[:inst.arg]
        if len(positional) < inst.arg:
            self.push(TupleVariable([subject]))
            return
        self.push(TupleVariable([subject.attribute(self, name) for name in (*positional, *names.value)]))


class RootTranslator(Translator):
    """The outermost frame: the one that is compiled. It breaks where a run before found that it has to."""

    def __init__(self, output: OutputGraph, function: Any, closure: Any, arguments: dict[str, Any],
                 broken: dict[int, Break]) -> None:
        code = function.__code__
        cells = {name: output.cell(real, Source(f"_C[{number}]", shown=f"L[{name!r}].cell"))
                 for number, (name, real) in enumerate(zip(code.co_freevars, closure, strict=True))}
        variables: dict[str, Variable] = {name: Lazy(value, LocalSource(name)) for name, value in arguments.items()}
        super().__init__(output, code, function.__globals__, {}, cells)
        for name in code.co_cellvars:
            if name in variables:
                one = variables.pop(name)
                assert isinstance(one, Lazy) and one.source is not None
                self.cells[name].content = self.wrap(one.real, one.source)
        self.locals = variables
        self.broken = broken
        self.steps = 0
        self.break_inst: Instruction | None = None

    def step(self, inst: Instruction) -> None:
        """Interpret one instruction, or end before it where the frame breaks."""
        self.steps += 1
        reason = self.broken.get(self.steps)
        if reason is not None:
            self.break_inst = inst
            self.returned = ConstantVariable(None)
            return
        try:
            super().step(inst)
        except Break as broken:
            broken.stack = broken.stack or self.frames()
            if broken.skip:
                raise
            why = self.why_whole(inst)
            if why:
                broken.reason, broken.skip = f"{broken.reason}; {why}", True
                raise
            self.broken[self.steps] = broken
            raise Restart from broken

    def why_whole(self, inst: Instruction) -> str:
        """Return why the frame cannot break here, or an empty string."""
        if self._in_try():
            return "graph break in a try block"
        if any(isinstance(one, WithExit) and not isinstance(one.manager, ContextVariable) for one in self.stack):
            return "graph break under a context manager that is not the library's"
        for one in self.listing.instructions[self.position:]:
            if one.name in ("RETURN_VALUE", "RETURN_CONST"):
                break
            if one.target >= 0 and one.target < self.current:
                return "graph break in a for/while loop"
        return ""

    def _in_try(self) -> bool:
        """Return whether the instruction stands in a ``try`` block, or in a handler."""
        handler, instructions = self.listing.handler(self.current), self.listing.instructions
        while handler is not None:
            first = instructions[handler.target]
            second = instructions[min(handler.target + 1, len(instructions) - 1)]
            if first.name == "PUSH_EXC_INFO" and second.name != "WITH_EXCEPT_START":
                return True
            handler = self.listing.handler(handler.target)
        return bool(self.exceptions)

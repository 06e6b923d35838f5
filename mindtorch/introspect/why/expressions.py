"""Expressions of a program for an operator's arguments: ``x.t()`` in ``x.t().view(12)``."""
from __future__ import annotations

import ast
import linecache
from collections.abc import Mapping, Sequence
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Any

ITERATING = ("sum", "max", "min", "sorted", "any", "all", "map", "filter", "reduce", "accumulate")
CALLING = ("__call__", "_wrapped_call_impl")  #: what runs when a module is called, here and in PyTorch
LONGEST = 28  #: characters at most of an expression that is used as a name


def positions(trace: TracebackType) -> tuple[int | None, int | None, int | None, int | None]:
    """Return the source range that a frame was running: first and last line, and columns in bytes."""
    return list(trace.tb_frame.f_code.co_positions())[trace.tb_lasti // 2]


def instruction_text(trace: TracebackType) -> str:
    """Return the source that a frame of a traceback was running, mostly a call, or ''."""
    code = trace.tb_frame.f_code
    first, last, start, stop = positions(trace)
    if first is None or last is None or start is None or stop is None:
        return ""
    lines = [linecache.getline(code.co_filename, number).encode() for number in range(first, last + 1)]
    if not lines[-1]:
        return ""
    lines[-1] = lines[-1][:stop]  # offsets count bytes
    lines[0] = lines[0][start:]
    return b"".join(lines).decode(errors="replace").strip()


def written(text: str, caller: FrameType, called: CodeType, args: Sequence[Any], named: Mapping[str, Any]
            ) -> dict[int, str]:
    """Map arguments, by identity, to the expressions written for them; ``args``, ``named`` are the operator's."""
    node: Any = parsed(text)
    unnamed = called.co_posonlyargcount if called.co_posonlyargcount > 1 else 0  # an operator's, but for a lone self
    taken = called.co_varnames[unnamed: called.co_argcount]
    rest = args[len(taken):]
    rest = rest[0] if taken and len(rest) == 1 and isinstance(rest[0], (list, tuple)) else rest  # of ``*operands``
    values = [*(named.get(_canonical(name, named)) for name in taken), *rest]
    found = list(zip(_given(node, caller, called.co_name), values, strict=False))
    if isinstance(node, ast.Call):
        found += [(word.value, named.get(_canonical(word.arg, named))) for word in node.keywords if word.arg]
    return {id(value): short for expression, value in found if _may_be(expression, value, caller)
            and (short := _short(expression))}


def _canonical(name: str, named: Mapping[str, Any]) -> str:
    """Return a parameter's name in the operator's schema: a function's ``input`` is ``self``."""
    return "self" if name == "input" and name not in named else name


def parsed(text: str) -> Any:
    """Parse the expression or statement in a piece of source; None if it is neither."""
    for source in (f"({text})", text):  # an expression of several lines stood in brackets that are not part of it
        try:
            node: Any = ast.parse(source).body[0]
        except (SyntaxError, IndexError):
            continue
        return node.value if isinstance(node, (ast.Expr, ast.Assign)) else node
    return None


def is_statement(text: str) -> bool:
    """Return True if a line of source is one complete statement without others in it: it computes, writes or calls."""
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return False
    return len(body) == 1 and isinstance(body[0], (ast.Expr, ast.Assign, ast.AugAssign))


def _may_be(node: ast.expr, value: Any, frame: FrameType) -> bool:
    """Return True if evaluating the expression now would still give this value."""
    if value is None or isinstance(node, (ast.Constant, ast.List, ast.Tuple, ast.Dict)):
        return False
    if isinstance(node, ast.Attribute) and _is_module(node.value, frame):
        return False
    return not isinstance(node, ast.Name) or _value(node, frame) is value


def _given(node: Any, caller: FrameType, called: str) -> list[ast.expr]:
    """Return an operator's operands, or a call's arguments, a method's object first."""
    if called == "__bool__" and not isinstance(node, ast.Call):
        return [node.operand if isinstance(node, ast.UnaryOp) else node]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Subscript):
        return [node.value] if called in ("getitem", "__getitem__", "setitem", "__setitem__") else []
    if isinstance(node, ast.Call) and not _iterates(node.func):
        function, of_module = node.func, called in CALLING
        if isinstance(function, ast.Attribute) and not of_module:
            return [*([] if _is_module(function.value, caller) else [function.value]), *node.args]
        return [*([function] if of_module else []), *node.args]
    return []


def _iterates(function: ast.expr) -> bool:
    """Return True if a built-in function passes parts of its arguments on to other functions, as ``sum(xs)`` does."""
    if isinstance(function, ast.Name):
        return function.id in ITERATING
    return isinstance(function, ast.Attribute) and function.attr in ("reduce", "accumulate")


def _short(node: ast.expr) -> str:
    """Return an expression as a name, or '' if it is too long."""
    text = ast.unparse(node)
    text = text if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({text})"
    return text if len(text) <= LONGEST else ""


def _is_module(node: ast.expr, frame: FrameType) -> bool:
    """Return True if an expression such as ``torch.nn.functional`` means a module."""
    if isinstance(node, ast.Attribute):
        return _is_module(node.value, frame)
    return isinstance(_value(node, frame), ModuleType)


def _value(node: ast.expr, frame: FrameType) -> Any:
    """Return the value of a name in a frame, or None for other expressions."""
    return frame.f_locals.get(node.id, frame.f_globals.get(node.id)) if isinstance(node, ast.Name) else None

"""The program's text where it failed: the piece of syntax, and the values of its names; nothing of it is run.

Things are told by what they can do and not by their class, so that PyTorch's own are known too.
"""
from __future__ import annotations

import ast
import builtins
import linecache
import operator
from collections.abc import Callable, Iterator
from functools import cached_property
from types import MethodType, ModuleType, TracebackType
from typing import Any

from ..libraries import library_of
from ..writes import is_cell
from .expressions import instruction_text, parsed


class Unknown:
    """The value of what would have to be run to be known."""

    def __repr__(self) -> str:
        return "…"


UNKNOWN = Unknown()
NUMBERS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


def is_tensor(value: Any) -> bool:
    """Return True if a value is a tensor."""
    return hasattr(type(value), "requires_grad") and hasattr(type(value), "grad_fn")


def is_many(value: Any) -> bool:
    """Return True if a value is a tensor that is not one number."""
    return is_tensor(value) and value.numel() != 1


def is_method(value: Any) -> bool:
    """Return True if a value is a method of a tensor, of Python or of C."""
    return callable(value) and is_tensor(getattr(value, "__self__", None))


def is_module(value: Any) -> bool:
    """Return True if a value is an ``nn.Module``."""
    return is_module_class(type(value))


def is_module_class(value: Any) -> bool:
    """Return True if a value is a class of modules."""
    return isinstance(value, type) and hasattr(value, "named_parameters") and hasattr(value, "register_buffer")


def is_optimizer(value: Any) -> bool:
    """Return True if a value is an optimizer."""
    return is_optimizer_class(type(value))


def is_optimizer_class(value: Any) -> bool:
    """Return True if a value is a class of optimizers."""
    return isinstance(value, type) and hasattr(value, "add_param_group") and hasattr(value, "zero_grad")


def is_loader(value: Any) -> bool:
    """Return True if a value is a ``DataLoader``."""
    return hasattr(value, "dataset") and hasattr(value, "batch_sampler")


def is_library(value: Any) -> bool:
    """Return True if a value is a function, class or module of the library, or of PyTorch."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return str(name).partition(".")[0] in ("torch", "mindtorch") or type(value).__module__.startswith("mindtorch.")


def is_library_module(value: Any) -> bool:
    """Return True if a value is a Python module of the library or of PyTorch, such as ``torch.nn``."""
    return isinstance(value, ModuleType) and is_library(value)


class Wrote:
    """The piece of the program that failed."""

    def __init__(self, trace: TracebackType | None):
        self.node: Any = None if trace is None else parsed(instruction_text(trace))
        self.frame = None if trace is None else trace.tb_frame
        self._line = 0 if trace is None else trace.tb_lineno
        self.call = self.node if isinstance(self.node, ast.Call) else None
        self.function: Any = self.value(self.call.func) if self.call else UNKNOWN  #: what was called
        self.name = self.text(self.call.func) if self.call else ""

    def value(self, node: Any) -> Any:
        """Evaluate an expression as far as that runs nothing; else return ``UNKNOWN``."""
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._variable(node.id)
            case ast.List() | ast.Tuple():
                items = [self.value(item) for item in node.elts]
                return items if isinstance(node, ast.List) else tuple(items)
            case ast.UnaryOp(op=ast.USub()):
                inner = self.value(node.operand)
                return -inner if isinstance(inner, (int, float)) else UNKNOWN
            case ast.BinOp():
                left, right = self.value(node.left), self.value(node.right)
                known = {type(left), type(right)} <= {int, float} and type(node.op) in NUMBERS and right
                return NUMBERS[type(node.op)](left, right) if known else UNKNOWN
            case ast.Attribute():
                return _attribute(self.value(node.value), node.attr)
        return UNKNOWN

    def _variable(self, name: str) -> Any:
        if self.frame is None:
            return UNKNOWN
        spaces = (self.frame.f_locals, self.frame.f_globals, vars(builtins))
        return next((space[name] for space in spaces if name in space), UNKNOWN)

    @property
    def owner(self) -> str:
        """Of an attribute that was asked for, of what, as it is written."""
        return self.text(self.node.value) if isinstance(self.node, ast.Attribute) else ""

    @cached_property
    def arguments(self) -> list[tuple[str, Any]]:
        """The arguments of the call, those by name last: what was written, and what it stands for."""
        if self.call is None:
            return []
        nodes = [*self.call.args, *(word.value for word in self.call.keywords)]
        return [(self.text(node), self.value(node)) for node in nodes]

    @cached_property
    def keywords(self) -> dict[str, Any]:
        """The arguments by name: what they stand for."""
        return {word.arg: self.value(word.value) for word in self.call.keywords if word.arg} if self.call else {}

    @staticmethod
    def text(node: Any) -> str:
        """Return an expression as written."""
        return "" if node is None else ast.unparse(node)

    @cached_property
    def source(self) -> ast.AST:
        """The file of the line that failed; of a notebook, its cells."""
        others = [name for name in [*linecache.cache] if is_cell(name) and name != self._file
                  ] if is_cell(self._file) else []
        return ast.Module([*self._own.body, *(node for name in others for node in tree_of(name).body)], [])

    @cached_property
    def loops(self) -> list[ast.For | ast.AsyncFor | ast.While]:
        """The loops that were running in the frame, the outermost first."""
        first = self.frame.f_code.co_firstlineno if self.frame else 0
        return [node for node in ast.walk(self._own) if isinstance(node, (ast.For, ast.AsyncFor, ast.While))
                and first <= node.lineno <= self._line <= (node.end_lineno or 0)]

    @property
    def _file(self) -> str:
        return self.frame.f_code.co_filename if self.frame else ""

    @cached_property
    def _own(self) -> ast.Module:
        return tree_of(self._file)

    def assignments(self, name: str) -> Iterator[ast.expr]:
        """Yield the values assigned to a name anywhere in the file or the notebook."""
        for node in ast.walk(self.source):
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                yield node.value


def tree_of(name: str) -> ast.Module:
    """Parse a file or cell; empty if it is neither or no Python."""
    try:
        return ast.parse("".join(linecache.getlines(name)))
    except SyntaxError:
        return ast.Module([], [])


def _attribute(owner: Any, name: str) -> Any:
    """Return an attribute that can be read without running the program's code."""
    if owner is UNKNOWN or name.startswith("__"):
        return UNKNOWN
    if not isinstance(owner, (ModuleType, type)) and not is_tensor(owner):
        if name in getattr(owner, "__dict__", {}):
            return vars(owner)[name]
        found = getattr(type(owner), name, UNKNOWN)
        return MethodType(found, owner) if callable(found) and not isinstance(found, type) else UNKNOWN
    if name == "grad" and is_tensor(owner):  # of a tensor that keeps none, the property warns
        return library_of(owner).grad(owner)
    try:
        return getattr(owner, name, UNKNOWN)
    except Exception:  # a name of the library that raises when it is used
        return UNKNOWN

"""Facts of PyTorch's errors. PyTorch's errors carry a message and nothing else; mindtorch's carry facts.

So what failed is done again in mindtorch, with twins of what the failing frame holds: the piece of syntax that it ran,
or the module that it called. Where mindtorch raises the same type of error with the same numbers in it, its facts and
calls are those of PyTorch's error, of whose tensors they are then told. Of the program's own functions none is called.
"""
from __future__ import annotations

import ast
import builtins
import linecache
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any

from ..._autograd.grad_mode import enable_grad
from ..._backends.random import fork_rng
from ..._base.about import Call, kind_of, strongly
from ..graph import nodes_behind
from ..libraries import is_tensor, library_of
from ..pytorch import library_path
from .expressions import parsed, positions
from .twins import NoTwin, Twins
from .wrote import is_module

#: Functions of Python's that compute, and change nothing.
BUILTINS = {name: getattr(builtins, name) for name in (
    "abs", "bool", "enumerate", "float", "int", "isinstance", "len", "list", "max", "min", "range", "reversed", "slice",
    "sum", "tuple", "zip")}
#: Names of what is not done again: it reads or writes files, or changes settings.
UNREPEATED = re.compile(r"save|load|(manual_)?seed|set_.*|compile|hub|utils|share_memory_|__(?!init__).*")
#: What can be done again: syntax that computes.
COMPUTING = (ast.Call, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Subscript, ast.AugAssign, ast.Assign,
             ast.If, ast.While, ast.Assert, ast.For, ast.Expr, ast.JoinedStr, ast.Attribute)


@dataclass
class Replayed:
    """What was found out of an error of PyTorch's, in terms of its own objects: the kind, the facts, the calls from the
    outermost on. ``error`` is what mindtorch raised for the ``frame`` (None if nothing was done again).
    """

    kind: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    error: BaseException | None = None
    frame: FrameType | None = None
    twins: Twins = field(default_factory=Twins)

    def expressions(self, found: dict[int, str]) -> dict[int, str]:
        """Key the program's expressions by the identities of its own objects instead of their twins."""
        return {self.twins.identity(of): text for of, text in found.items()}


def replayed(error: BaseException, traces: Sequence[TracebackType]) -> Replayed:
    """Find the facts of PyTorch's error; ``traces`` are the frames from the program's innermost outwards."""
    modules = list(_outer_calls(traces))
    for trace in reversed(traces):
        twins = Twins()
        raised = _again(trace, twins)
        found = None if raised is None else raised.__dict__.get("_about")
        if raised is not None and _same(raised, error) and not (twins.elsewhere and kind_of(raised) == "meta data"):
            calls = [] if found is None else [_of_originals(call, twins) for call in found.calls[::-1]]
            named = {id(call.function) for call in calls}
            calls = [call for call in modules if id(call.function) not in named] + calls
            facts = {} if found is None else twins.original(strongly(found.facts))
            return Replayed("" if found is None else found.kind, facts, calls, raised, trace.tb_frame, twins)
    for call in modules:
        if call.function == "backward" and (kind_and_facts := _of_graph(call.args[0], error)):
            return Replayed(*kind_and_facts, modules)
    return Replayed(calls=modules)


# -- doing it again ----------------------------------------------------------------------------------------------------


def _again(trace: TracebackType, twins: Twins) -> BaseException | None:
    """Return mindtorch's error for the failing frame, or None if it cannot be replayed."""
    frame = trace.tb_frame
    try:
        if _is_call_of_module(frame):
            space = {"f": twins.of(frame.f_locals["self"]), "a": twins.of(frame.f_locals["args"]),
                     "k": twins.of(frame.f_locals["kwargs"])}
            code = compile("f(*a, **k)", "<module>", "exec")
        else:
            piece = _piece(trace)
            if piece is None or not isinstance(piece, COMPUTING):
                return None
            space = _space(piece, frame, twins)
            statement = piece if isinstance(piece, ast.stmt) else ast.copy_location(ast.Expr(piece), piece)
            code = compile(ast.Module([statement], []), frame.f_code.co_filename, "exec")
    except (NoTwin, RuntimeError, ValueError, TypeError, SyntaxError):
        return None
    try:
        with fork_rng(), enable_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, space)
    except NoTwin:
        return None
    except Exception as raised:
        return raised
    return None


def _space(piece: ast.AST, frame: FrameType, twins: Twins) -> dict[str, Any]:
    """Return the twins of the names in a piece of syntax."""
    space: dict[str, Any] = {"__builtins__": BUILTINS}
    for node in ast.walk(piece):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if UNREPEATED.fullmatch(name):
            raise NoTwin(name)
        if isinstance(node, ast.Name):
            for names in (frame.f_locals, frame.f_globals):
                if node.id in names:
                    space[node.id] = twins.of(names[node.id])
                    break
    return space


def _piece(trace: TracebackType) -> ast.AST | None:
    """Return the syntax that a frame was running: the whole statement of an assignment to a part, or of a condition."""
    first, last, start, stop = place = positions(trace)
    file = trace.tb_frame.f_code.co_filename
    if first is None or last is None or start is None or stop is None:
        return None
    lines = linecache.getlines(file)
    if not lines or file.startswith(library_path()):  # a long file, of which the line does
        return parsed("".join(lines[first - 1 : last]).encode()[start:_end(lines, first, last, stop)].decode())
    chosen: ast.AST | None = None
    for node in ast.walk(ast.parse("".join(lines))):
        for child in ast.iter_child_nodes(node):
            if _place(child) != place:
                continue
            stored = isinstance(getattr(child, "ctx", None), ast.Store)
            tested = getattr(node, "test", None) is child
            if isinstance(node, (ast.If, ast.While)) and tested:
                return ast.copy_location(ast.If(child, [ast.copy_location(ast.Pass(), child)], []), child)  # type: ignore[arg-type]
            chosen = node if stored else child if chosen is None else chosen
    return chosen


def _end(lines: Sequence[str], first: int, last: int, stop: int) -> int:
    """Where a piece ends, counted in bytes from the beginning of its first line."""
    return sum(len(line.encode()) for line in lines[first - 1 : last - 1]) + stop


def _place(node: Any) -> tuple[Any, ...]:
    return tuple(getattr(node, name, None) for name in ("lineno", "end_lineno", "col_offset", "end_col_offset"))


def _same(raised: BaseException, error: BaseException) -> bool:
    """Return True if mindtorch's error has PyTorch's type and names the same numbers, or more, or fewer."""
    ours, theirs = (set(re.findall(r"(?<![\w.])\d+", str(each))) for each in (raised, error))
    return type(raised).__name__ == type(error).__name__ and (ours <= theirs or theirs <= ours)


def _of_originals(call: Call, twins: Twins) -> Call:
    function, args, keywords = (twins.original(strongly(part)) for part in call[:3])
    return Call(function, args, keywords, call.depth, None)


# -- what the frames of PyTorch's tell ---------------------------------------------------------------------------------


def _is_call_of_module(frame: FrameType) -> bool:
    return frame.f_code.co_name == "_call_impl" and is_module(frame.f_locals.get("self"))


def _outer_calls(traces: Sequence[TracebackType]) -> Iterator[Call]:
    """Yield the calls of modules, ``backward`` and ``grad``, outermost first."""
    for depth, trace in enumerate(traces):
        frame = trace.tb_frame
        held = frame.f_locals
        if _is_call_of_module(frame):
            yield Call(held["self"], tuple(held["args"]), dict(held["kwargs"]), depth, None)
        elif frame.f_code.co_filename.startswith(library_path()):
            if frame.f_code.co_name == "backward" and "tensors" in held:
                tensors = held["tensors"]
                one = len(tensors) == 1 if isinstance(tensors, (list, tuple)) else False
                yield Call("backward", (tensors[0] if one else tensors,), {}, depth, None)
            elif frame.f_code.co_name == "grad" and "outputs" in held:
                yield Call("grad", (held["outputs"], held["inputs"]), {}, depth, None)


def _of_graph(outputs: Any, error: BaseException) -> tuple[str, dict[str, Any]] | None:
    """Find in the outputs' graph why backward failed: a written tensor, a freed node, a NaN gradient."""
    tensors = [outputs] if is_tensor(outputs) else [tensor for tensor in outputs if is_tensor(tensor)]
    looks = [(node, library_of(node).node(node)) for node in nodes_behind(tensors)]
    written = re.search(r"is at version (\d+); expected version (\d+)", str(error))
    if written:
        for node, look in looks:
            for kept in look.kept or ():
                if kept.stale and kept.version == int(written[2]):
                    return "modified saved tensor", {"tensor": kept.tensor, "node": node, "now": int(written[1]),
                                                     "wanted": int(written[2])}
    if "second time" in str(error) and any(look.kept is None for _, look in looks):
        return "backward twice", {"node": None}  # which of the freed nodes was freed before, nothing tells
    if found := re.match(r"Function '(\w+)' returned nan values in its (\d+)th output", str(error)):
        node = next((node for node, look in looks if look.name == found[1]), None)
        return "nan in backward", {"node": node, "number": int(found[2])}
    return None

"""What a traceback still knows: the user's line, the operators that were being called, their tensors, their names.

A ``Scene`` looks at the frames while an error is explained, and nobody keeps it.
"""
from __future__ import annotations

import linecache
import os
import sysconfig
from collections.abc import Iterator, Mapping
from functools import cached_property
from types import FrameType, TracebackType
from typing import Any

from ..._dispatch.dispatcher import TENSOR_TYPES
from ..._dispatch.keys import INFERENCE
from ..._dispatch.registry import Operator
from ..._dispatch.sites import PACKAGE
from ..graph import Names
from ..identity import storage_number
from ..names import named_tensors
from .expressions import instruction_text, is_statement, written
from .facts import Call, Involved

ENTRIES = ("call_one", "call_two", "call_three", "call_any")  #: the dispatcher's functions that a call goes through
INSTALLED = tuple(os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib", "purelib", "platlib"))
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
STATEMENT = 48  #: characters at most of a line that is repeated in a cure
LIMIT = 8  #: tensors at most that are listed


class Called:
    """An operator that was being called: its canonical arguments, by position and by name."""

    def __init__(self, op: Operator, args: tuple[Any, ...]):
        self.op, self.args = op, args
        parameters = op.schema.parameters
        self.named = {parameter.name: value for parameter, value in zip(parameters, args, strict=False)}
        if op.is_out:
            self.named["out"] = args[-1]

    def tensors(self) -> Iterator[tuple[str, Any]]:
        """The tensors among the arguments, with the parameters' names."""
        for name, value in self.named.items():
            if value.__class__ in TENSOR_TYPES:
                yield name, value
            elif isinstance(value, (list, tuple)):
                for i, item in enumerate(value):
                    if item.__class__ in TENSOR_TYPES:
                        yield f"{name}[{i}]", item


    def anew(self, label: str) -> str:
        """The call of an in-place operator on ``label`` as one that makes a new tensor."""
        name = self.op.packet.rstrip("_")
        return f"{label} {SIGNS[name]} …" if name in SIGNS else f"{label}.{name}({'…' * (len(self.args) > 1)})"


class Scene:
    """An error and what its traceback shows."""

    def __init__(self, error: BaseException, namespace: Mapping[str, Any] | None = None):
        self.error, self.message = error, str(error)
        traces = list(_traces(error.__traceback__))
        frames = [(trace.tb_frame, trace.tb_lineno) for trace in traces]
        ours = [i for i, (frame, _) in enumerate(frames) if _is_ours(frame)]
        if any(not _is_installed(frame) for frame, _ in frames[ours[-1] + 1 if ours else 0 :]):
            ours = []  # the library called the program's function, a forward or a hook, and that is what failed
        last = ours[-1] if ours else -1
        theirs = [i for i in range(last) if i not in ours]
        first = theirs[-1] if theirs else -1
        theirs = [i for i in theirs if not _is_installed(frames[i][0])] or theirs
        self.inside = [frame for frame, _ in frames[first + 1 : last + 1]]  #: the library's frames, outermost first
        others = [pair for pair in frames if not _is_ours(pair[0]) and not _is_installed(pair[0])]
        self.users = [frames[i] for i in theirs] if ours else others or frames  #: the program's frames
        self._user = traces[theirs[-1]] if theirs else None
        self.calls = [called for frame in self.inside if (called := _called(frame)) is not None]
        self.namespace = namespace or {}

    # -- where ---------------------------------------------------------------------------------------------------------

    @property
    def is_ours(self) -> bool:
        """Whether the error arose inside the library."""
        return bool(self.inside)

    def local(self, name: str, function: str = "") -> Any:
        """A local variable of the innermost of the library's frames that has it, or of that of a function."""
        for frame in reversed(self.inside):
            if function in ("", frame.f_code.co_name) and name in frame.f_locals:
                return frame.f_locals[name]
        return None

    def called(self, *packets: str) -> Called | None:
        """The innermost call of one of these operators (names without overloads)."""
        return next((call for call in reversed(self.calls) if call.op.packet in packets), None)

    @property
    def innermost(self) -> Called | None:
        return self.calls[-1] if self.calls else None

    @property
    def outermost(self) -> Called | None:
        return self.calls[0] if self.calls else None

    def call(self) -> Call | None:
        """Where the error arose."""
        if isinstance(self.error, SyntaxError) and self.error.filename and self.error.lineno:
            return Call("", self.error.filename, self.error.lineno, "", (self.error.text or "").strip())
        if not self.users:
            return None
        frame, line = self.users[-1]
        code = frame.f_code
        operator = self.outermost.op.name if self.outermost else ""
        return Call(operator, code.co_filename, line, code.co_name, linecache.getline(code.co_filename, line).strip())

    @property
    def is_assignment(self) -> bool:
        """Whether the program assigned to a part of a tensor: ``x[0] = 1``."""
        return any(frame.f_code.co_name == "setitem" for frame in self.inside)

    @property
    def statement(self) -> str:
        """The program's line, if it is a short one that stands for itself; else ''."""
        call = self.call()
        return call.text if call and len(call.text) <= STATEMENT and is_statement(call.text) else ""

    @cached_property
    def expressions(self) -> dict[int, str]:
        """What the program wrote for the arguments of the library's function that it called, by their identities."""
        if self._user is None or not self.inside:
            return {}
        return written(instruction_text(self._user), self._user.tb_frame, self.inside[0])

    # -- what ----------------------------------------------------------------------------------------------------------

    @cached_property
    def named(self) -> dict[str, Any]:
        """The tensors that the program names: the innermost function's variables count first."""
        spaces: list[Mapping[str, Any]] = []
        for frame, _ in reversed(self.users):
            spaces += [frame.f_locals, frame.f_globals]
            if frame.f_code.co_name == "<module>":
                break  # what called this runs the program, and is none of it
        visible: dict[str, Any] = {}
        for space in [*spaces, self.namespace]:
            visible.update({key: value for key, value in space.items() if key not in visible})
        return dict(named_tensors(visible))

    @cached_property
    def names(self) -> Names:
        return Names(self.named)

    def name(self, tensor: Any, role: str = "") -> str:
        """What to call a tensor: its name, or that of the tensor it is a view of, or its role."""
        return self.involved(tensor, role).label

    def involved(self, tensor: Any, role: str = "") -> Involved:
        """What is known of a tensor."""
        base, node = tensor._base, tensor._grad_fn
        counted = not tensor._keys & INFERENCE
        return Involved(
            role=role,
            name=self.names.get(tensor) or self.expressions.get(id(tensor), ""),
            of="" if base is None else self.names.get(base),
            dtype=tensor._dtype.name,
            shape=tuple(tensor.shape),
            stride=tensor._strides(),
            offset=tensor._offset,
            device=str(tensor._device),
            version=(0 if tensor._cell is None else tensor._cell[0]) if counted else None,
            requires_grad=tensor.requires_grad,
            node="" if node is None else node.name(),
            storage=storage_number(tensor),
        )

    def of_call(self, call: Called | None) -> tuple[Involved, ...]:
        """The tensors of a call, each once."""
        found = {id(tensor): (role, tensor) for role, tensor in reversed(list(call.tensors()))} if call else {}
        return tuple(self.involved(tensor, role) for role, tensor in list(found.values())[::-1][:LIMIT])

    def of_innermost(self) -> tuple[Involved, ...]:
        """The tensors of the innermost call; of an error in a method that calls no operator, those of its frames."""
        if self.calls:
            return self.of_call(self.outermost)
        found: dict[int, tuple[str, Any]] = {}
        for frame in self.inside:
            for name, value in frame.f_locals.items():
                if value.__class__ in TENSOR_TYPES:
                    found.setdefault(id(value), (name, value))
        return tuple(self.involved(tensor, role) for role, tensor in list(found.values())[:LIMIT])


def _traces(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(PACKAGE)


def _is_installed(frame: FrameType) -> bool:
    """Whether a frame is of the standard library or of an installed package, which the program called."""
    return frame.f_code.co_filename.startswith(INSTALLED)


def _called(frame: FrameType) -> Called | None:
    """The call that a frame of the dispatcher, or of a pipeline that runs, is about."""
    variables, name = frame.f_locals, frame.f_code.co_name
    if name in ENTRIES and isinstance(op := variables.get("op"), Operator):
        given = [variables[key] for key in ("self", "other", "second", "third") if key in variables]
        args = (*given, *variables["args"]) if name != "call_any" else variables["args"]
        return Called(op, args)
    if name == "_run" and isinstance(op := variables.get("op"), Operator):  # of a pipeline
        return Called(op, variables["args"])
    return None

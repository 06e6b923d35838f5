"""Knowledge of an error: its facts, the calls that it went through, the program's line, and the tensors' names.

A ``Failure`` is made while an error is explained, and is not kept.
"""
from __future__ import annotations

import linecache
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from types import FrameType, TracebackType
from typing import Any

from ..._base.about import About, Call as Noted, strongly
from ..._base.call_site import PACKAGE, line_at
from ..._dispatch.registry import Operator
from ..graph import Names
from ..libraries import is_tensor, library_of
from ..names import named_tensors, storage_number
from ..pytorch import library_path, pytorch
from .explanation import Call, Fields, Involved
from .expressions import instruction_text, is_statement, written
from .replay import Replayed, replayed
from .wrote import Wrote, is_module

INSTALLED = tuple(os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib", "purelib", "platlib"))
GENERATED = "<torch.compile "  #: how the file names of compiled functions and their programs begin
LOOKING_ON = os.path.join(PACKAGE, "introspect", "pytorch", "")
#: What arguments of functions that are no operators are called here.
PARAMETERS = {"getitem": ("self", "index"), "setitem": ("self", "index", "value"), "backward": ("output",),
              "grad": ("outputs", "inputs")}
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
STATEMENT = 48  #: characters at most of a line that is repeated in a fix
LIMIT = 8  #: tensors at most that are listed
UNKNOWN = Involved("", "", "", "", (0,), (), 0, "", None, False, "", 0)  #: a tensor of which nothing is known


class Called:
    """A call that an error went through, of the operator ``op`` if it is one: its arguments by position and name."""

    def __init__(self, call: Noted):
        self.function, self.args, self.keywords = (strongly(part) for part in call[:3])
        self.op: Operator | None = self.function if isinstance(self.function, Operator) else None
        self.name = self.function if isinstance(self.function, str) else ""
        # a call may leave defaults out
        taken = {p.name: p.default for p in self.op.schema.parameters} if self.op else {}
        names = list(taken) or PARAMETERS.get(self.name, ("self",))
        self.named = {**taken, **dict(zip(names, self.args, strict=False)), **self.keywords}
        if self.op and self.op.is_out:
            self.named["out"] = self.args[-1]

    @property
    def packet(self) -> str:
        """The operator's name without its overload."""
        return self.op.packet if self.op else self.name

    def tensors(self) -> Iterator[tuple[str, Any]]:
        """Yield the tensors among the arguments, with the parameters' names."""
        for name, value in self.named.items():
            if is_tensor(value):
                yield name, value
            elif isinstance(value, (list, tuple)):
                for i, item in enumerate(value):
                    if is_tensor(item):
                        yield f"{name}[{i}]", item

    def anew(self, label: str) -> str:
        """Rewrite an in-place operator on ``label`` as one that returns a new tensor."""
        name = self.packet.rstrip("_")
        return f"{label} {SIGNS[name]} …" if name in SIGNS else f"{label}.{name}({'…' * (len(self.args) > 1)})"


class Failure:
    """An error, its facts, and its place in the program. Calls are those of its innermost function, outermost first."""

    def __init__(self, error: BaseException, namespace: Mapping[str, Any] | None = None):
        self.error, self.message, self.namespace = error, str(error), namespace or {}
        traces = list(_traces(error.__traceback__))
        frames = [(trace.tb_frame, trace.tb_lineno) for trace in traces]
        ours = [i for i, (frame, _) in enumerate(frames) if _is_ours(frame)]
        if any(not _is_installed(frame) for frame, _ in frames[ours[-1] + 1 if ours else 0 :]):
            ours = []  # the library called the program's function, a forward or a hook, and that is what failed
        last = ours[-1] if ours else -1
        theirs = [i for i in range(last) if i not in ours]
        first = theirs[-1] if theirs else -1
        theirs = [i for i in theirs if not _is_installed(frames[i][0])] or theirs
        #: Whether the error arose inside the library, or inside PyTorch.
        self.is_ours = bool(ours)
        self._entered = frames[first + 1][0].f_code if ours else None  #: the library's function that the program called
        others = [pair for pair in frames if not _is_ours(pair[0]) and not _is_installed(pair[0])]
        self.users = [frames[i] for i in theirs] if ours else others or frames  #: the program's frames
        self._user = traces[theirs[-1]] if theirs else None
        #: The frame of the compiled program that failed, which the program's frame called.
        self._generated = next((pair for pair in frames[:first:-1] if pair[0].f_code.co_filename.startswith(GENERATED)),
                               None) if ours else None
        known = {id(frame) for frame, _ in self.users}
        self._theirs = [trace for trace in traces if id(trace.tb_frame) in known]
        about = error.__dict__.get("_about") or About()
        self.kind: str = about.kind
        self.facts: dict[str, Any] = strongly(about.facts)
        self._noted = [Called(call) for call in about.calls[::-1] if first < len(frames) - 1 - call.depth <= last]
        self._replayed: Replayed | None = None
        if "_about" not in error.__dict__ and pytorch() is not None and self._theirs:
            begun = traces[traces.index(self._theirs[-1]):]
            if not any(_is_mindtorchs(trace.tb_frame) for trace in begun):
                self._replay(begun)
        self.calls = [call for call in self._noted if call.op]  #: of operators
        self.outer = [call for call in self._noted if not call.op]  #: of modules, of backward, of an index

    def _replay(self, traces: list[TracebackType]) -> None:
        """Find out what an error is about that says nothing of it, but may be PyTorch's."""
        found = self._replayed = replayed(self.error, traces)
        self.kind, self.facts, self._noted = found.kind, found.facts, [Called(call) for call in found.calls]
        self.is_ours = self.is_ours or bool(self.kind or self._noted)
        self._user = self._theirs[-1] if self.is_ours else None

    @property
    def said(self) -> tuple[str, ...]:
        """The error's message, and what mindtorch says in its place."""
        again = None if self._replayed is None else self._replayed.error
        return (self.message,) if again is None else (self.message, str(again))

    @property
    def library(self) -> str:
        """The library that the error is of."""
        return "PyTorch" if self._replayed is not None and self.is_ours else "mindtorch"

    @property
    def root(self) -> Any:
        """The library that the program uses: its root module."""
        return sys.modules["torch" if self.library == "PyTorch" and "torch" in sys.modules else "mindtorch"]

    @cached_property
    def program(self) -> list[TracebackType]:
        """The program's frames, outermost first, from the module or cell that ran on."""
        cells = [i for i, trace in enumerate(self._theirs) if trace.tb_frame.f_code.co_name == "<module>"]
        return self._theirs[cells[-1] if cells else 0:]

    # -- where ---------------------------------------------------------------------------------------------------------

    def called(self, *names: str) -> Called | None:
        """Return the innermost call of one of these operators (without overloads) or functions."""
        return next((call for call in [*self.outer, *self.calls][::-1] if call.packet in names), None)

    @property
    def innermost(self) -> Called | None:
        return self.calls[-1] if self.calls else None

    @property
    def outermost(self) -> Called | None:
        return self.calls[0] if self.calls else None

    @property
    def packet(self) -> str:
        """The operator that the program called."""
        return self.calls[0].packet if self.calls else "the operator"

    def call(self) -> Call | None:
        """Where the error arose."""
        if isinstance(self.error, SyntaxError) and self.error.filename and self.error.lineno:
            return Call("", self.error.filename, self.error.lineno, "", (self.error.text or "").strip())
        if not self.users:
            return None
        frame, line = self.users[-1]
        code = frame.f_code
        operator = self.calls[0].function.name if self.calls else ""
        file, line = self._written_at or (code.co_filename, line)
        return Call(operator, file, line, code.co_name, linecache.getline(file, line).strip())

    @property
    def _written_at(self) -> tuple[str, int] | None:
        """Where the program has the line that a compiled program failed in, which a comment there says."""
        if self._generated is None:
            return None
        frame, line = self._generated
        place = re.search(r"  # (cell \d+, line \d+|[^,]+:\d+)", linecache.getline(frame.f_code.co_filename, line))
        return line_at(place[1]) if place else None

    @property
    def is_assignment(self) -> bool:
        """True if the program assigned to a part of a tensor: ``x[0] = 1``."""
        return self.called("setitem") is not None

    @property
    def statement(self) -> str:
        """The program's line, if it is a short one that stands for itself; else ''."""
        call = self.call()
        return call.text if call and len(call.text) <= STATEMENT and is_statement(call.text) else ""

    @cached_property
    def expressions(self) -> dict[int, str]:
        """The program's expressions for arguments of the library's function that it called, by their identities."""
        again = self._replayed
        if again is not None and again.error is not None and self._user and again.frame is self._user.tb_frame:
            return again.expressions(Failure(again.error).expressions)
        if self._user is None or self._entered is None:
            return {}
        call = next(iter(self._noted), None)
        args, named = (call.args, call.named) if call else ([], self.facts)
        if call and not call.op:  # a function of Python's, whose arguments stand in the order in which it takes them
            args = args if call.name else (call.function, *args)
            named = {**call.keywords, **dict(zip(self._entered.co_varnames, args, strict=False))}
        return written(instruction_text(self._user), self._user.tb_frame, self._entered, args, named)

    @cached_property
    def wrote(self) -> Wrote:
        """The piece of the program that failed."""
        return Wrote(self._theirs[-1] if self._theirs else None)

    @cached_property
    def pieces(self) -> list[Wrote]:
        """The pieces of the program that led there, the outermost first."""
        return [*map(Wrote, self._theirs[:-1]), self.wrote]

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

    def modules(self) -> Iterator[tuple[str, Any]]:
        """Yield the modules that the failing function's variables reach, with their paths."""
        spaces = [space for frame, _ in self.users[-1:] for space in (frame.f_locals, frame.f_globals)]
        for name, value in [item for space in spaces for item in list(space.items())]:
            if is_module(value) and not name.startswith("_"):
                for path, module in value.named_modules():
                    yield re.sub(r"\.(\d+)", r"[\1]", f"{name}.{path}" if path else name), module

    def layer(self, made: str) -> str:
        """Return a new layer as code: assigned to the path of the one that failed, if it is inside another."""
        inner = next((call.function for call in self.outer[::-1] if is_module(call.function)), None)
        path = "" if inner is None else self.module_name(inner)
        return f"{path} = {made}" if not path.isidentifier() and path else made

    def module_name(self, module: Any) -> str:
        """Return the path by which the failing function reaches a module, ``self.layers[2]``; '' if by none."""
        return next((path for path, found in self.modules() if found is module), "")

    @cached_property
    def names(self) -> Names:
        return Names(self.named)

    def name(self, tensor: Any, role: str = "") -> str:
        """Name a tensor: by its name, its base's name, or its role."""
        return self.involved(tensor, role).label

    def involved(self, tensor: Any, role: str = "") -> Involved:
        """Describe a tensor."""
        tensor = tensor if self._replayed is None else self._replayed.twins.original(tensor)
        library = library_of(tensor)
        layout, record = library.layout(tensor), library.record(tensor, 1)
        node = record.history[0] if record.history and isinstance(record.history[0], str) else ""
        base = record.base if self._replayed is None else self._replayed.twins.original(record.base)
        memory = tensor if base is record.base else base
        return Involved(
            role=role, name=self.names.get(tensor) or self.expressions.get(id(tensor), ""),
            of="" if base is None else self.names.get(base), dtype=layout.dtype.name,
            shape=tuple(layout.shape), stride=tuple(layout.stride), offset=layout.offset, device=layout.device,
            version=record.version, requires_grad=record.requires_grad, node=node, storage=storage_number(memory))

    def anew(self, tensor: Involved, outermost: bool = False) -> str:
        """Rewrite the innermost operator, which works in place, as one that returns a new tensor."""
        return self.calls[0 if outermost else -1].anew(tensor.label) if self.calls else ""

    def fields(self) -> Fields:
        """Return the facts and the arguments by name; ``x`` is the first tensor, ``indexed`` the indexed one."""
        calls = [call.named for call in (self.innermost, self.outermost) if call]
        values = {name: value for named in [*calls, self.facts] for name, value in named.items()}
        fields = Fields(**{name: self.involved(value, name) if is_tensor(value) else value
                           for name, value in values.items()})
        fields.kind, fields.message, fields.tensors = self.kind, self.message, self.tensors()
        fields.x = next(iter(fields.tensors), UNKNOWN)
        index, table = self.called("getitem", "setitem"), self.called("embedding")
        fields.indexed = self.involved(index.args[0], "self") if index else fields.weight if table else fields.x
        return fields

    def of_call(self, call: Called | None) -> tuple[Involved, ...]:
        """Return the tensors of a call, each once."""
        return self._each(call.tensors() if call else ())

    def tensors(self) -> tuple[Involved, ...]:
        """Return the tensors of the outermost operator, or those that the error is about if no operator was called."""
        if self.calls:
            return self.of_call(self.calls[0])
        facts = [(name, value) for name, value in self.facts.items() if is_tensor(value)]
        return self._each([*facts, *(pair for call in self.outer for pair in call.tensors())])

    def _each(self, pairs: Iterable[tuple[str, Any]]) -> tuple[Involved, ...]:
        found: dict[int, tuple[str, Any]] = {}
        for role, tensor in pairs:
            found.setdefault(id(tensor), (role, tensor))
        return tuple(self.involved(tensor, role) for role, tensor in list(found.values())[:LIMIT])


def is_computed(tensor: Any) -> bool:
    """Return True if a node computed the tensor, so it is not a leaf."""
    history = library_of(tensor).record(tensor, 1).history
    return bool(history) and isinstance(history[0], str)


def _traces(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith((PACKAGE, GENERATED, library_path()))


def _is_mindtorchs(frame: FrameType) -> bool:
    """Return True if a frame is of mindtorch, but for what only looks on while PyTorch calls an operator."""
    file = frame.f_code.co_filename
    return file.startswith(PACKAGE) and not file.startswith(LOOKING_ON)


def _is_installed(frame: FrameType) -> bool:
    """Return True if a frame is of the standard library or of an installed package, which the program called."""
    return frame.f_code.co_filename.startswith(INSTALLED)

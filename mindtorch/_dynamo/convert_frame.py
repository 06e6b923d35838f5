"""Compiled frames: a function with the programs made for it so far, each with its guards
(``torch._dynamo.convert_frame``).
"""
from __future__ import annotations

import inspect
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any

from .._autograd.grad_mode import modes_before
from .._base import forks
from .._compile import config
from .._compile.logs import log
from .._compile.stance import stance_of_thread
from .._dispatch import dispatcher
from .._dispatch.keys import ADDED, FUNCTION, OBSERVED, THREAD_STATE
from .._dispatch.local import local, shared
from ..fx import GraphModule
from ..nn.module import Module
from . import breaks
from .break_code import BreakWriter
from .bytecode_analysis import check_version
from .codegen import Codegen
from .exc import Break, FailOnRecompileLimitHit, Raised, RecompileError, Restart, Unsupported
from .guards import Guards, missed, run_source
from .output_graph import OutputGraph
from .sizes import History
from .symbolic_convert import RootTranslator
from .trace_rules import why_skipped
from .utils import counters
from .variables.contexts import ENTERING

_numbers = count()
_lock = forks.lock()  # one frame is compiled at a time


@dataclass
class Entry:
    """One program of a frame: one function of the guards and the code behind them, and what it came from, for readers.
    """

    run: Callable[..., Any]  #: returns ``missed`` if the guards do not hold
    source: str
    lines: list[str]  #: the code behind the guards
    name: str
    signature: str
    conditions: Guards
    graph: GraphModule | None
    broken: Break | None
    compiled: Any = None  #: what the backend made of the graph

    @property
    def guards(self) -> list[str]:
        """The guards as they are printed."""
        return [*self.conditions.conditions.values()]

    @property
    def guards_source(self) -> str:
        """The function that checks the guards alone."""
        return self.conditions.alone(self.signature, self.name)

    @cached_property
    def check(self) -> Callable[..., bool]:
        """Return whether the guards hold for a call."""
        return self._function(self.guards_source, "guards of")

    def why_not(self, *args: Any, **kwargs: Any) -> str | None:
        """Return the first guard that fails for a call, as it is printed, or None."""
        function = self._function(self.conditions.explaining(self.signature, self.name), "failing guards of")
        found: str | None = function(*args, **kwargs)
        return found

    def without_guards(self) -> Callable[..., Any]:
        """Return the function of the code behind the guards."""
        made: Callable[..., Any] = self._function(self.conditions.left_out(self.signature, self.name, self.lines),
                                                  "code without guards of")
        return made

    def _function(self, source: str, kind: str) -> Any:
        return run_source(source, self.name, self.conditions.space.objects, f"{kind} {self.name}")


@dataclass
class Compiler:
    """How functions are compiled: the backend, and the frames made so far."""

    backend: Any
    fullgraph: bool = False
    dynamic: bool | None = None
    guard_filter: Callable[..., Any] | None = None  #: which says what guards are kept
    recompile_limit: int | None = None  #: programs of one function; None for the setting of that name
    name: str | None = None  #: of what is compiled, for logs
    frames: dict[Any, Frame] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)  #: of all frames, in the order in which they were made
    on_graph: list[Callable[[Entry], None]] = field(default_factory=list)
    on_break: list[Callable[[Break], None]] = field(default_factory=list)

    def is_whole(self) -> bool:
        """Return True if a graph break is an error here."""
        return self.fullgraph or breaks.is_error()

    def frame(self, function: Any) -> Frame:
        """Return the frame of a function in Python."""
        key = (function.__code__, id(function.__defaults__), id(function.__kwdefaults__))
        found = self.frames.get(key)
        if found is None:
            found = self.frames[key] = Frame(self, function)
        return found

    def hook(self, function: Any) -> Any:
        """Return a function that is compiled if its frame can be: for calls at a graph break."""
        if isinstance(function, Module):
            forward = type(function).forward
            if type(function).__call__ is not Module.__call__ or has_hooks(function) or why_skipped(forward):
                return function
            return types.MethodType(self.hook(forward), function)
        if isinstance(function, types.MethodType):
            return types.MethodType(self.hook(function.__func__), function.__self__)
        if not isinstance(function, types.FunctionType) or why_skipped(function) or hasattr(
                function, "_torchdynamo_orig_callable") or ".0" in function.__code__.co_varnames:  # a comprehension
            return function
        frame, closure = self.frame(function), function.__closure__ or ()
        return lambda *args, **kwargs: frame(closure, *args, **kwargs)


def has_hooks(module: Any) -> bool:
    """Return whether a module has hooks."""
    return bool(module._forward_hooks or module._forward_pre_hooks or module._backward_hooks
                or module._backward_pre_hooks)


class Frame:
    """A function that runs the program whose guards hold, or makes another."""

    def __init__(self, compiler: Compiler, function: Any, compiled: bool = True) -> None:
        self.compiler, self.function = compiler, function
        self.__name__ = function.__code__.co_name
        self.entries: list[Entry] = []
        self.history = History(compiler.dynamic)
        self.skipped = "" if compiled else "the rest of a function runs as it is written"
        self.signature, self.defaults = _signature(function)
        self.warned = False

    def __call__(self, closure: tuple[Any, ...], /, *args: Any, **kwargs: Any) -> Any:
        """Run the program that fits, or make one."""
        mode = dispatcher.mode
        if self.skipped or stance_of_thread.name == "force_eager" or (mode & ~OBSERVED and (
                mode & ~(OBSERVED | THREAD_STATE | FUNCTION | ADDED) or not _plain_thread())):
            return self.plain(closure, args, kwargs)
        try:
            for entry in self.entries:
                result = entry.run(closure, *args, **kwargs)
                if result is not missed:
                    return result
        except TypeError:
            if self._binds(args, kwargs):
                raise
            return self.plain(closure, args, kwargs)  # which raises the error of the function itself
        return self._missed(closure, args, kwargs)

    def _binds(self, args: Any, kwargs: Any) -> bool:
        try:
            inspect.signature(self.function).bind(*args, **kwargs)
        except TypeError:
            return False
        return True

    def plain(self, closure: tuple[Any, ...], args: Any, kwargs: Any) -> Any:
        """Run the function as it is written."""
        function = self.function
        if closure is not function.__closure__ and closure:
            function = types.FunctionType(function.__code__, function.__globals__, function.__name__,
                                          function.__defaults__, closure)
            function.__kwdefaults__ = self.function.__kwdefaults__
        return function(*args, **kwargs)

    def _missed(self, closure: tuple[Any, ...], args: Any, kwargs: Any) -> Any:
        if config.disable:
            return self.plain(closure, args, kwargs)
        with _lock:
            entry = next((one for one in self.entries if one.check(closure, *args, **kwargs)), None)
            if entry is None:
                if not self._may_compile(closure, args, kwargs):
                    return self.plain(closure, args, kwargs)
                entry = self.compile(closure, args, kwargs)
        result = missed if entry is None else entry.run(closure, *args, **kwargs)
        return self.plain(closure, args, kwargs) if result is missed else result

    def _may_compile(self, closure: tuple[Any, ...], args: Any, kwargs: Any) -> bool:
        """Return whether a program may be made, and log why it is if there are others."""
        if stance_of_thread.name == "eager_on_recompile":
            return False
        if stance_of_thread.name == "fail_on_recompile":
            raise RuntimeError("Detected recompile when torch.compile stance is 'fail_on_recompile'")
        limit = self.compiler.recompile_limit
        if not self.entries and (limit is None or limit > 0):
            return True
        reasons = self.reasons(closure, args, kwargs) or ["no program may be made"]
        name = self.__name__ if self.compiler.name is None else f"{self.__name__} of {self.compiler.name}"
        log("recompiles", lambda: f"Recompiling function {name} in {self.function.__code__.co_filename}:"
            f"{self.function.__code__.co_firstlineno}\n    triggered by the following guard failure(s):\n" + "\n".join(
                f"    - {number}/{reason}" for number, reason in enumerate(reasons)))
        if config.error_on_recompile:
            raise RecompileError(f"Recompiling function {name}: {'; '.join(reasons)}")
        limit = config.recompile_limit if limit is None else limit
        if len(self.entries) < limit:
            return True
        message = (f"torch._dynamo hit config.recompile_limit ({limit})\n   function: "
                   f"'{name}' ({self.function.__code__.co_filename}:{self.function.__code__.co_firstlineno})\n"
                   f"   last reason: {reasons[-1]}")
        if self.compiler.fullgraph or config.fail_on_recompile_limit_hit:
            raise FailOnRecompileLimitHit(message)
        if not self.warned:
            self.warned = True
            warnings.warn(message, stacklevel=4)
        return False

    def reasons(self, closure: tuple[Any, ...], args: Any, kwargs: Any) -> list[str]:
        """Return for each program the guard that fails for a call."""
        return [str(entry.why_not(closure, *args, **kwargs)) for entry in self.entries]

    # -- compiling -------------------------------------------------------------------------------------------------

    def compile(self, closure: tuple[Any, ...], args: Any, kwargs: Any) -> Entry | None:
        """Interpret the function for the arguments, and make a program; None if it has to run as it is written.

        Raises:
            Unsupported: if it is not one graph, and ``fullgraph`` forbids that.
        """
        check_version()
        counters["frames"]["total"] += 1
        arguments = run_source(f"def {self.__name__ if self.__name__.isidentifier() else 'function'}"
                               f"(_C, {self.signature}): return {{**locals()}}\n",
                               self.__name__ if self.__name__.isidentifier() else "function", dict(self.defaults),
                               "arguments")(closure, *args, **kwargs)
        del arguments["_C"]
        broken: dict[int, Break] = {}
        grad_mode = local.grad_enabled
        while True:
            output = OutputGraph(self.history)
            output.space.objects.update(self.defaults, _G=self.function.__globals__)
            tx = RootTranslator(output, self.function, closure, arguments, broken)
            output.guards.state()
            try:
                tx.run()
                return self._finish(tx, output, broken)
            except Restart:
                if broken and self.compiler.is_whole():  # empty if a lazy module got its shapes
                    raise self._unsupported([*broken.values()][-1]) from None
            except (Break, Raised) as stopped:
                self._skip(stopped, tx)
                return None
            finally:
                for context in reversed(output.contexts):
                    context.undo()
                local.grad_enabled = grad_mode
                output.forget()

    def _skip(self, stopped: Break | Raised, tx: RootTranslator) -> None:
        if isinstance(stopped, Raised):
            broken = Break(f"Observed exception: {stopped.value}", skip=True)
            broken.stack = tx.frames()
        else:
            broken = stopped
        if self.compiler.is_whole():
            raise self._unsupported(broken) from None
        self.skipped, broken.graph = broken.reason, tx.output.graph
        self._report(broken)

    def _report(self, broken: Break) -> None:
        broken.__traceback__ = broken.__cause__ = broken.__context__ = None  # which hold the call's tensors
        counters["graph_break"][broken.reason] += 1
        where = broken.stack[-1] if broken.stack else None
        log("graph_breaks", lambda: "Graph break in user code at " + (f"{where.filename}:{where.lineno}" if where else
                                                                      "?") + f"\n  Reason: {broken.reason}")
        for observer in self.compiler.on_break:
            observer(broken)

    def _unsupported(self, broken: Break) -> Unsupported:
        lines = "".join(f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}\n    {frame.line}\n'
                        for frame in broken.stack)
        where = "with fullgraph=True" if self.compiler.fullgraph else "in a block of error_on_graph_break(True)"
        return Unsupported(f"{broken.reason}\n  Explanation: {where}, a graph break is an error.\n\n"
                           f"from user code:\n{lines}")

    def _finish(self, tx: RootTranslator, output: OutputGraph, broken: dict[int, Break]) -> Entry:
        """Write the code for what was interpreted."""
        cg, stop = Codegen(output.space), None
        if tx.break_inst is not None:
            stop = broken[tx.steps]
            writer = BreakWriter(tx, cg, self._rest, self.compiler.hook)
            last = writer.write()
        else:
            assert tx.returned is not None
            last = [f"return {cg.value(tx.returned)}"]
        effects = output.side_effects.replay(cg)
        graph = output.finish(cg.outputs)
        first: list[str] = []
        compiled = None
        if graph is not None:
            name = f"__compiled_fn_{next(_numbers)}"
            log("graph_code", lambda: graph.print_readable(print_output=False))
            output.space.objects[name] = compiled = output.call_backend(self.compiler.backend, graph)
            counters["stats"]["unique_graphs"] += 1
            given = ", ".join(output.guards.read(one.source) for one in output.inputs if one.source is not None)
            first = [f"{'_out = ' if cg.outputs else ''}{name}({given})"]
            if any(node.target in ENTERING for node in graph.graph.nodes):
                first = [f"_undo = {output.object(modes_before)}(None)", "try:", f"    {first[0]}",
                         "except BaseException:", "    _undo(None)", "    raise"]
        lines = [*first, *cg.lines, *effects, *last]
        called = self.__name__ if self.__name__.isidentifier() else "function"
        signature, guards = f"_C, {self.signature}", output.guards  # the rest of the capture holds the call's tensors
        output.sizes.guard(guards)
        if self.compiler.guard_filter is not None:
            guards.filter(self.compiler.guard_filter)
        guards.finish()
        source = guards.before(signature, called, lines)
        entry = Entry(run_source(source, called, output.space.objects, f"code of {called}"), source, lines, called,
                      signature, guards, graph, stop, compiled)
        log("guards", lambda: f"guards of {self.__name__}:\n" + "\n".join(f"  {one}" for one in entry.guards))
        log("bytecode", lambda: f"code of {self.__name__}:\n{source}")
        self.entries.append(entry)
        self.compiler.entries.append(entry)
        counters["frames"]["ok"] += 1
        if stop is not None:
            self._report(stop)
        for observer in self.compiler.on_graph:
            observer(entry)
        return entry

    def _rest(self, code: types.CodeType, compiled: bool) -> Frame:
        """Return the frame of the rest of the function."""
        cells = tuple(types.CellType() for _ in code.co_freevars)
        function = types.FunctionType(code, self.function.__globals__, code.co_name, None, cells)
        return Frame(self.compiler, function, compiled)

    def reset(self) -> None:
        """Forget all programs."""
        self.entries, self.skipped, self.warned, self.history = [], "", False, History(self.compiler.dynamic)


def _plain_thread() -> bool:
    """Return whether nothing records, transforms or replaces operators in this thread."""
    return not (local.pipeline is not None or local.dispatch_modes or local.below_autograd or local.function_modes
                or local.added or local.frames or local.saved_tensor_hooks or shared.dual_levels)


def _signature(function: Any) -> tuple[str, dict[str, Any]]:
    """Return the parameters of a function as source, and the objects that are their defaults."""
    code, space = function.__code__, {}
    count, names = code.co_argcount, code.co_varnames
    defaults = function.__defaults__ or ()
    parts = []
    for number, name in enumerate(names[:count]):
        at = number - (count - len(defaults))
        if at >= 0:
            space[f"_default_{at}"] = defaults[at]
        parts.append(name if at < 0 else f"{name}=_default_{at}")
        if number + 1 == code.co_posonlyargcount:
            parts.append("/")
    end = count + code.co_kwonlyargcount
    if code.co_flags & inspect.CO_VARARGS:
        parts.append(f"*{names[end]}")
    elif code.co_kwonlyargcount:
        parts.append("*")
    for name in names[count:end]:
        given = function.__kwdefaults__ or {}
        if name in given:
            space[f"_default_{name}"] = given[name]
        parts.append(f"{name}=_default_{name}" if name in given else name)
    if code.co_flags & inspect.CO_VARKEYWORDS:
        parts.append(f"**{names[end + bool(code.co_flags & inspect.CO_VARARGS)]}")
    return ", ".join(parts), space

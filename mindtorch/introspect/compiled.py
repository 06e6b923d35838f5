"""Results of compiling a call: the facts behind ``%%compile``."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from traceback import walk_tb
from types import CodeType, FunctionType, MethodType
from typing import Any

from .._base.call_site import PACKAGE, cell_of
from .._base.interrupts import contextmanager
from .._compile.stance import stance_of_thread
from .._tensor import Tensor
from ..nn.module import Module
from .capturing import Capturing
from .listing import code_of, is_users_file
from .pytorch import is_pytorchs, library_path, pytorch
from .stages import Stages

LONGEST = 0.2  #: seconds that are spent on timing each
ONCE: Sequence[tuple[tuple[Any, ...], dict[str, Any]]] = (((), {}),)  #: one call without arguments


@dataclass
class CompileFacts:
    """What was compiled, and how long (in seconds of one call) the function takes as it is written and compiled; None
    where that was not measured: with graph breaks, or if a call writes into its inputs, draws random numbers, or
    changes Python state.

    ``is_reached`` says whether the function was called at all. Where something failed, ``failure`` is the error's type
    and message, ``file`` and ``line`` the place ('' and 0 if it is not known), and ``unfinished`` are the operators
    that were captured before the function failed.
    """

    stages: Stages = field(default_factory=Stages)
    value: Any = None
    written: float | None = None
    compiled: float | None = None
    is_reached: bool = False
    failure: str = ""
    file: str = ""
    line: int = 0
    unfinished: tuple[str, ...] = ()


@contextmanager
def watch_compile() -> Iterator[CompileFacts]:
    """Watch a block that calls ``compile_facts``, and note its failure in the facts that it yields."""
    facts = CompileFacts()
    try:
        yield facts
    except BaseException as error:
        said = error.msg if isinstance(error, SyntaxError) else error
        facts.failure = f"{type(error).__name__}: {said}".removesuffix(": ")
        sites = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
        sites += [(error.filename or "", error.lineno or 0)] if isinstance(error, SyntaxError) else []
        of_cells = [site for site in sites if cell_of(site[0]) is not None]
        outside = [site for site in sites if is_users_file(site[0], (PACKAGE, library_path()))]
        in_generated = any("code of " in file for file, _ in sites)  # by TorchDynamo, for what follows a graph break
        at_break = [remark.place for remark in facts.stages.remarks if remark.place[0] and in_generated]
        facts.file, facts.line = (at_break or of_cells or outside or [("", 0)])[-1]
        raise


def compile_facts(function: Callable[..., Any], calls: Sequence[tuple[tuple[Any, ...], dict[str, Any]]] = ONCE,
                  timed: bool = True, facts: CompileFacts | None = None) -> CompileFacts:
    """Compile a function, run each of the calls (arguments, keyword arguments), and time the last one.

    PyTorch's own compiler is used for what is PyTorch's. ``facts`` are filled as far as that comes; their value is
    that of the only call, or the tuple of all.
    """
    facts = CompileFacts() if facts is None else facts
    facts.is_reached = True
    capturing: Any = Capturing()
    if uses_pytorch(function, calls):
        from .pytorch.compiling import Capturing as OfPyTorch

        capturing = OfPyTorch()
    compiled = capturing.compiled(function)
    try:
        values = tuple([compiled(*args, **kwargs) for args, kwargs in calls])
        facts.value = values[0] if len(values) == 1 else values
        if timed and capturing.is_repeatable():
            args, kwargs = calls[-1]
            facts.compiled = _fastest(lambda: compiled(*args, **kwargs))
            facts.written = _fastest(lambda: function(*args, **kwargs), eagerly=True)
    finally:
        facts.stages, facts.unfinished = capturing.stages(), tuple(capturing.unfinished)
    return facts


def uses_pytorch(function: Any, calls: Sequence[tuple[tuple[Any, ...], dict[str, Any]]] = ONCE) -> bool:
    """Return whether the first tensor, module or function of a library that a call names is PyTorch's."""
    torch = pytorch()
    if torch is None:
        return False
    given = [value for args, kwargs in calls for value in (*args, *kwargs.values())]
    stack, seen = [function, *given], set()
    while stack:
        value = stack.pop(0)
        if id(value) in seen:
            continue
        seen.add(id(value))
        home = value.__name__ if isinstance(value, type(torch)) else getattr(type(value), "__module__", "")
        if is_pytorchs(value) or isinstance(value, torch.nn.Module) or home.partition(".")[0] == "torch":
            return True
        if isinstance(value, Tensor) or home.partition(".")[0] == "mindtorch":
            return False
        value = value.__func__ if isinstance(value, MethodType) else value
        if isinstance(value, FunctionType):
            stack += [cell.cell_contents for cell in value.__closure__ or () if cell.cell_contents is not function]
            stack += [value.__globals__[name] for name in _names(value.__code__) if name in value.__globals__]
        elif isinstance(value, (list, tuple)):
            stack += value
    return False


def is_users(function: Any) -> bool:
    """Return whether a function, method or module runs Python of the user's, not a library's alone."""
    torch = pytorch()
    if isinstance(function, Module) or (torch is not None and isinstance(function, torch.nn.Module)):
        return True
    code = code_of(getattr(function, "_torchdynamo_orig_callable", function)) if isinstance(
        function, (FunctionType, MethodType)) else None
    return code is not None and not code.co_filename.startswith((PACKAGE, library_path()))


def is_compiled(function: Any) -> bool:
    """Return whether a function or module is what ``torch.compile`` returned, of either library."""
    return hasattr(function, "_torchdynamo_orig_callable") or "_orig_mod" in getattr(function, "_modules", ())


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _fastest(function: Callable[[], Any], eagerly: bool = False) -> float:
    """Return the seconds of the fastest call; ``eagerly`` runs compiled functions inside as they are written."""
    before, stance_of_thread.name = stance_of_thread.name, "force_eager" if eagerly else stance_of_thread.name
    try:
        function()
        end, best, count = perf_counter() + LONGEST, float("inf"), 1
        while perf_counter() < end:
            start = perf_counter()
            for _ in range(count):
                function()
            spent = perf_counter() - start
            best = min(best, spent / count)
            count = count * 2 if spent < 0.002 else count
        return best
    finally:
        stance_of_thread.name = before


__all__ = ["CompileFacts", "compile_facts", "is_compiled", "is_users", "uses_pytorch", "watch_compile"]

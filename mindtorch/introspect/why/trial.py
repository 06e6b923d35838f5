"""Carries cures out before they are offered: each is tried in a forked process, which has a copy of everything.

What is tried is the program's failing statement with the cure in place (``edits.py``), in the failing frame. The copy
cannot write files, start processes or open connections, prints nothing, and ends after ``SECONDS``; it takes all that
it did with it. First the statement is repeated as it stands: where that does not fail as it did, nothing can be judged.
A cure that raises an error is not offered. One that cannot be tried here is offered as untried: it has a hole (…),
names something that the program does not have, needs a device, or asks for more than the copy may do.
"""
from __future__ import annotations

import ast
import gc
import io
import json
import os
import re
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import FrameType, ModuleType, TracebackType
from typing import Any, NamedTuple

from ..libraries import is_tensor, library_of
from .edits import Edit, Place, edits, parse
from .explanation import Fix
from .reruns import Cell
from .wrote import is_loader, is_module, is_optimizer

SECONDS = 2.0  #: that one trial may take
BUDGET = 6.0  #: that all trials of an explanation may take together
#: What a copy may not do: events of ``sys.addaudithook``, by their beginnings. Opening a file to read is allowed.
FORBIDDEN = ("os.", "shutil.", "socket.", "subprocess.", "ftplib.", "http.", "smtplib.", "urllib.", "sqlite3.",
             "pty.", "signal.pthread_kill", "tempfile.", "webbrowser.", "winreg.")
READING = ("os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.getxattr", "os.listxattr")
#: Names that cures use for what the program may call otherwise, and how it is recognised.
STANDING_FOR: dict[str, Callable[[Any], bool]] = {
    "model": is_module, "module": is_module, "optimizer": is_optimizer, "loader": is_loader}
FAILED, UNTRIED, HELPED = RANK = ("failed", "untried", "helped")  #: what is known of a cure, from the least
#: Where nothing is computed: a tensor on the meta device stands for one on a device that a fork cannot use.
NO_DATA = re.compile("meta tensor|[Mm]eta device|no data|device meta")


class Refused(BaseException):
    """The copy was about to do what it may not."""


class Outcome(NamedTuple):
    """The outcome of one edit: of the cure ``number``, -1 for the statement as it stands."""

    number: int
    state: str
    same: bool = False  #: whether it failed with the error that is to be cured
    notes: Sequence[tuple[str, str]] = ()
    text: str = ""
    ends: bool = False


def carried_out(fixes: Iterable[Fix], error: BaseException, traces: Sequence[TracebackType], names: Mapping[str, Any],
                library: ModuleType) -> tuple[Fix, ...]:
    """Return the cures that help, with what ran, and those that cannot be tried; the ones that fail are left out.

    ``traces`` are the program's frames, the failing one last; ``names`` are what else the program may use.
    """
    listed = tuple(fixes)
    if not traces or not hasattr(os, "fork") or not any(parse(fix.code) for fix in listed):
        return listed
    space = _space([trace.tb_frame for trace in traces], names, library)
    trial = Trial(space, error)
    listed = tuple(map(trial.named, listed))
    place, cell = Place.of(traces[-1], space), Cell.of(traces[0], traces[0].tb_frame.f_globals)
    ways: list[tuple[Edit, Callable[[ast.Module, str], Iterator[Edit]]]] = []
    ways += [(place.again, partial(edits, place))] if place else []
    ways += [(cell.again, cell.edits)] if cell else []
    for again, change in ways:
        trial.run(again, [(number, edit) for number, fix in enumerate(listed) if (tree := parse(fix.code))
                          and not trial.helped(number) for edit in change(tree, fix.code)])
    return tuple(kept for number, fix in enumerate(listed) if (kept := trial.kept(number, fix)))


def _space(frames: Sequence[FrameType], names: Mapping[str, Any], library: Any) -> dict[str, Any]:
    """Return the names that the failing statement sees, those of outer frames, and the library's usual ones."""
    own = {"torch": library, "nn": library.nn, "F": library.nn.functional, "optim": library.optim}
    found: dict[str, Any] = {**own, **names}
    for frame in frames:
        found |= frame.f_globals
    for frame in frames:
        found |= frame.f_locals
    return found


class Trial:
    """Trials of the cures of one error, in one namespace."""

    def __init__(self, space: dict[str, Any], error: BaseException):
        self.space, self.error = space, error
        self.end = time.monotonic() + BUDGET
        self.found: dict[int, Outcome] = {}  #: by the number of the cure

    def helped(self, number: int) -> bool:
        """Return True if a cure has helped."""
        return number in self.found and self.found[number].state == HELPED

    def kept(self, number: int, fix: Fix) -> Fix | None:
        """Return a cure as it is to be shown, or None if it does not help."""
        outcome = self.found.get(number)
        if outcome is None or outcome.state == UNTRIED:
            return fix
        if outcome.state == FAILED:
            return None
        notes = [note for word, note in outcome.notes if not re.search(word, f"{fix.text} {fix.code}")]
        return replace(fix, text=", ".join([fix.text, *notes]), tried=outcome.text)

    def run(self, again: Edit, plan: Sequence[tuple[int, Edit]]) -> None:
        """Try cures in turn. A copy goes on until one helps or fails in its own way, for it may have changed what the
        next begins with; then another copy does. ``again`` is what failed: where it fails otherwise, nothing is known.
        """
        steps, first = [(-1, again), *plan], True
        while len(steps) > first:
            outcomes = self._copy(steps)
            if first and not (outcomes and outcomes[0].same):
                return
            for outcome in outcomes[first:]:
                known = self.found.get(outcome.number)
                if known is None or RANK.index(outcome.state) > RANK.index(known.state):
                    self.found[outcome.number] = outcome
            steps = [step for step in steps[len(outcomes):] if not self.helped(step[0])]
            first = False

    def named(self, fix: Fix) -> Fix:
        """Write the program's own name for ``model`` and the like, where there is one of its kind."""
        code, tree = fix.code, parse(fix.code)
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} if tree else set()
        for word in used & set(STANDING_FOR) - set(self.space):
            names = {id(value): name for name, value in self.space.items()
                     if name[0] != "_" and STANDING_FOR[word](value)}
            if len(names) == 1:
                code = re.sub(rf"(?<![\w.]){word}\b", next(iter(names.values())), code)
        return replace(fix, code=code)

    def _copy(self, plan: Sequence[tuple[int, Edit]]) -> list[Outcome]:
        """Fork, try edits in turn in the copy, and return what became of those that it came to."""
        reader, writer = os.pipe()
        with warnings.catch_warnings():  # that other threads are running: the copy needs none of them
            warnings.simplefilter("ignore")
            child = os.fork()
        if not child:
            try:
                os.close(reader)
                self._in_copy(plan, lambda outcome: os.write(writer, f"{json.dumps(outcome)}\n".encode()))
            finally:
                os._exit(0)
        os.close(writer)
        said = b""
        try:
            until = min(self.end, time.monotonic() + SECONDS)
            while select.select([reader], [], [], max(0.0, until - time.monotonic()))[0]:
                part = os.read(reader, 65536)
                if not part:
                    break
                until = min(self.end, time.monotonic() + SECONDS)
                said += part
        finally:
            os.close(reader)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        lines = said.decode().split("\n")[:-1]
        outcomes = [Outcome(number, *json.loads(line)) for (number, _), line in zip(plan, lines, strict=False)]
        if len(outcomes) < len(plan) and not (outcomes and (outcomes[-1].state == HELPED or outcomes[-1].ends)):
            outcomes.append(Outcome(plan[len(outcomes)][0], UNTRIED))  # too late, or the copy died
        return outcomes

    # -- in the copy ---------------------------------------------------------------------------------------------------

    def _in_copy(self, plan: Sequence[tuple[int, Edit]], tell: Callable[[Any], Any]) -> None:
        gc.disable()
        _silence()
        _keep_off_devices(self.space)
        sys.addaudithook(_audit)
        for _, edit in plan:
            outcome = self._tried(edit, dict(self.space))
            ends = not outcome[1] or len(edit.body) > 1
            tell((*outcome, edit.text, ends))
            if ends:
                return

    def _tried(self, edit: Edit, space: dict[str, Any]) -> tuple[str, bool, list[tuple[str, str]]]:
        """Run an edit; return what became of it, whether it failed as the program did, and what it changed besides."""
        try:
            result = edit.run(space)
        except Refused:
            return UNTRIED, False, []
        except BaseException as raised:
            same = type(raised) is type(self.error) and _about(raised) == _about(self.error)
            unknown = isinstance(raised, NameError) and not isinstance(self.error, NameError)
            no_data = NO_DATA.search(str(raised)) and not NO_DATA.search(str(self.error))
            return UNTRIED if unknown or no_data else FAILED, same, []
        return FAILED if _loads_nothing(result, edit, space) else HELPED, False, _changed(result, edit, space)


def _loads_nothing(result: Any, edit: Edit, space: dict[str, Any]) -> bool:
    """Return True for the result of a ``load_state_dict`` that left everything as it was."""
    loads = [node.func.value for node in ast.walk(edit.body[-1]) if isinstance(node, ast.Call)
             and isinstance(node.func, ast.Attribute) and node.func.attr == "load_state_dict"]
    if not loads or not hasattr(result, "missing_keys"):
        return False
    return set(result.missing_keys) >= set(eval(ast.unparse(loads[0]), space).state_dict())


def _audit(event: str, args: tuple[Any, ...]) -> None:
    """Refuse what a copy may not do."""
    writes = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if writes or (event.startswith(FORBIDDEN) and event not in READING):
        raise Refused(event)


def _about(error: BaseException) -> str:
    """Return an error's message without what differs in a copy: addresses, and the names of devices."""
    return re.sub(r"0x[0-9a-f]+|object at \S+|\b(?:npu|cuda|meta)(?::\d+)?\b", "", str(error))[:200]


def _silence() -> None:
    """Let the copy print and show nothing, and read nothing that is typed."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    sys.stdin, sys.stdout, sys.stderr = io.StringIO(), io.StringIO(), io.StringIO()
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:
        shell.display_pub.publish = lambda *args, **kwargs: None
    for library in filter(None, map(sys.modules.get, ("torch", "mindtorch"))):
        library.set_num_threads(1)  # the threads that computed are not in the copy
    warnings.simplefilter("ignore")


def _keep_off_devices(space: dict[str, Any]) -> None:
    """Put tensors of the meta device in the place of those on other devices than the CPU: a copy cannot use these."""

    def to_meta(tensor: Any) -> Any:
        layout = library_of(tensor).layout(tensor)
        if layout.device in ("cpu", "meta"):
            return tensor
        root = sys.modules[type(tensor).__module__.partition(".")[0]]
        made = root.empty_strided(tuple(tensor.shape), tensor.stride(), dtype=tensor.dtype, device="meta")
        return made.requires_grad_(tensor.requires_grad)

    for name, value in list(space.items()):
        if is_tensor(value):
            space[name] = to_meta(value)
        elif is_module(value) and "_parameters" in vars(value):
            for module in value.modules():
                for held in (module._parameters, module._buffers):
                    for key, tensor in list(held.items()):
                        if tensor is not None and (moved := to_meta(tensor)) is not tensor:
                            held[key] = type(tensor)(moved) if held is module._parameters else moved


def _changed(result: Any, edit: Edit, space: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the side effects of a cure: pairs of the word that mentions one, and the note."""
    notes = []
    if is_tensor(result) and not result.requires_grad and (result.is_floating_point() or result.is_complex()):
        given: list[Any] = [space.get(node.id) for node in ast.walk(edit.body[-1]) if isinstance(node, ast.Name)]
        if any(is_tensor(value) and value.requires_grad for value in given):
            notes.append((r"grad|graph|detach|record|show|plot", "through which no gradient flows"))
    return notes

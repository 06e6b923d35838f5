"""Tracebacks on one screen: the libraries' frames are folded to a line, and an error that ``%why`` explains is marked.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from types import TracebackType
from typing import Any

import IPython
from IPython.core.ultratb import AutoFormattedTB, FrameInfo, SyntaxTB

from ... import introspect
from ..._base.call_site import PACKAGE

LIBRARIES = {__name__.partition(".")[0], "torch"}  #: mindtorch's, and PyTorch's
#: What a library calls: its frames belong to the library's that called them.
CALLED = {"numpy", "scipy", "ml_dtypes", *sys.stdlib_module_names}
INSIDE = PACKAGE, os.path.join(os.path.dirname(IPython.__file__), "")  #: files of mindtorch's and of IPython's
HINT = "%why explains this error"


class Folded(FrameInfo):
    """Stands among the frames of a traceback for a run of frames inside a library."""

    def __init__(self, library: str, run: list[TracebackType]):
        frame = run[-1].tb_frame
        super().__init__(None, frame.f_code.co_filename, run[-1].tb_lineno, frame, frame.f_code, sd=run)
        self.line = _folded_line(library, len(run))


class FoldingTB(AutoFormattedTB):
    """The traceback of an error raised just now, folded; ``%tb`` shows an earlier error whole."""

    def structured_traceback(self, etype: Any, evalue: BaseException | None, etb: Any = None, *args: Any,
                             **options: Any) -> list[str]:
        lines: list[str] = super().structured_traceback(etype, evalue, etb, *args, **options)
        is_cause = isinstance(etb, tuple)  # in plain mode, IPython calls this method for the cause of an error too
        if evalue is not None and not is_cause and self.mode != "Doctest" and _is_new() and _is_explained(evalue):
            lines.append(HINT)
        return lines

    def get_records(self, etb: TracebackType, context: int, tb_offset: int) -> list[FrameInfo]:
        """Return the frames of a traceback with their source; frames inside the libraries need none."""
        if not _is_new():
            return super().get_records(etb, context, tb_offset)
        records: list[FrameInfo] = []
        for library, run in _runs(etb):
            found = [Folded(library, run)] if library else super().get_records(_chained(run), context, tb_offset)
            records += found
            tb_offset = 0  # counts from the beginning of the traceback
        return records

    def format_record(self, frame_info: FrameInfo) -> str:
        return frame_info.line if isinstance(frame_info, Folded) else super().format_record(frame_info)

    def _extract_tb(self, tb: TracebackType | None) -> Any:
        """Return the frames of a traceback in plain mode: a line of text stands for each run inside a library."""
        entries = super()._extract_tb(tb)
        if not entries or not _is_new():
            return entries
        rest = iter(entries)
        parts: list[Any] = []
        for library, run in _runs(tb):
            found = [next(rest) for _ in run]
            parts += [_folded_line(library, len(run))] if library else found
        return parts

    def _format_list(self, extracted_list: list[Any]) -> list[str]:
        written = iter(super()._format_list([entry for entry in extracted_list if not isinstance(entry, str)]))
        return [entry if isinstance(entry, str) else next(written) for entry in extracted_list]


class FoldingSyntaxTB(SyntaxTB):
    """The traceback of a program that cannot be parsed: only the program's own part of a magic's calls."""

    def structured_traceback(self, etype: Any, evalue: BaseException | None, etb: Any = None, *args: Any,
                             **options: Any) -> list[str]:
        if isinstance(etb, list) and any(entry.filename.startswith(PACKAGE) for entry in etb):
            etb = [entry for entry in etb if not entry.filename.startswith(INSIDE)]
        return super().structured_traceback(etype, evalue, etb, *args, **options)


#: What writes a shell's tracebacks, by the shell's names for it.
FOLDING: dict[str, tuple[type, type]] = {"InteractiveTB": (AutoFormattedTB, FoldingTB),
                                         "SyntaxTB": (SyntaxTB, FoldingSyntaxTB)}


def fold_tracebacks(ip: Any) -> None:
    """Fold a shell's tracebacks; its formatter stays, with its mode and its class's own methods."""
    for name, (known, folding) in FOLDING.items():
        writer = getattr(ip, name, None)
        own = type(writer)
        if issubclass(own, known):
            writer.__class__ = type(own.__name__, (folding, own), {})


def unfold_tracebacks(ip: Any) -> None:
    """Leave a shell's tracebacks to its own class again."""
    for name, (_, folding) in FOLDING.items():
        writer = getattr(ip, name, None)
        if isinstance(writer, folding):
            writer.__class__ = type(writer).__bases__[1]


def _folded_line(library: str, count: int) -> str:
    frames, them = ("frame", "it") if count == 1 else ("frames", "them")
    return f"    {count} {frames} inside {library}, %tb shows {them}\n"


def _is_new() -> bool:
    return sys.exc_info()[1] is not None


def _is_explained(error: BaseException) -> bool:
    found = introspect.explain(error, try_fixes=False)
    return bool(found.kind) and any((type(part).__name__, str(part)) == (found.error, found.message)
                                    for part in _causes(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and the errors that a traceback shows before it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _runs(trace: TracebackType | None) -> Iterator[tuple[str, list[TracebackType]]]:
    """Yield a traceback in runs: the library that a run is inside ('' outside both), and its links."""
    for library, pairs in groupby(_links(trace), key=lambda pair: pair[0]):
        yield library, [link for _, link in pairs]


def _links(trace: TracebackType | None) -> Iterator[tuple[str, TracebackType]]:
    library = ""
    while trace is not None:
        package = str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0]
        library = package if package in LIBRARIES else library if package in CALLED else ""
        yield library, trace
        trace = trace.tb_next


def _chained(links: Iterable[TracebackType]) -> TracebackType:
    """Join these links to a traceback of their own."""
    chain: TracebackType | None = None
    for link in reversed(list(links)):
        chain = TracebackType(chain, link.tb_frame, link.tb_lasti, link.tb_lineno)
    assert chain is not None
    return chain

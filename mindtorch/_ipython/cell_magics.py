"""The magics that run a cell or a statement and show what happened: dispatch, profile, pipeline."""
from __future__ import annotations

from typing import Any

from IPython.core.magic import line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments
from IPython.display import display

from ..introspect import PipelineFacts, Profile, Trace, observe, profile, watch_pipeline
from ..viz import (
    dispatch_page, dispatch_text, pipeline_page, pipeline_text, profile_page, profile_text,
)  # fmt: skip
from .base import MagicGroup, Picture, with_help


@magics_class
class CellMagics(MagicGroup):
    """``%%dispatch``, ``%%profile``, ``%%pipeline``."""

    @with_help
    @line_cell_magic
    @magic_arguments()
    @argument("--top", action="store_true", help="only operators that the cell calls, not those inside them")
    @argument("statement", nargs="*", help="what to run, where there is no cell")
    def dispatch(self, line: str, cell: str | None = None) -> Any:
        """Run a cell or statement, and show each operator: keys, kernel with file and line, output, time."""
        options, code = self._code(self.dispatch, line, cell)
        trace = Trace()
        try:
            with observe() as trace:
                return self._run(code)
        finally:
            events = [event for event in trace.events if not (options.top and event.depth)]
            display(Picture(dispatch_page(events), dispatch_text(events)))

    @with_help
    @line_cell_magic
    @magic_arguments()
    @argument("statement", nargs="*", help="what to run, where there is no cell")
    def profile(self, line: str, cell: str | None = None) -> Any:
        """Run a cell or statement, and show where its time went: operators, lines, modules, kernels, and Python outside
        of them."""
        _, code = self._code(self.profile, line, cell)
        found = Profile()
        try:
            with profile(self.shell.user_ns) as found:
                return self._run(code)
        finally:
            display(Picture(profile_page(found), profile_text(found)))

    @with_help
    @line_cell_magic
    @magic_arguments()
    @argument("statement", nargs="*", help="what to run, where there is no cell")
    def pipeline(self, line: str, cell: str | None = None) -> Any:
        """Run a cell or statement inside torch.pipeline(), and show what was recorded, when the queue ran and why."""
        _, code = self._code(self.pipeline, line, cell)
        facts = PipelineFacts()
        try:
            with watch_pipeline() as facts:
                return self._run(code)
        finally:
            display(Picture(pipeline_page(facts), pipeline_text(facts)))

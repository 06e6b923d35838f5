"""The magics that run a cell or a statement and show what happened: dispatch, profile, pipeline."""
from __future__ import annotations

from typing import Any

from IPython.core.magic import line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments
from IPython.display import display

from .. import introspect, viz
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
        trace = introspect.Trace()
        try:
            with introspect.observe() as trace:
                return self._run(code)
        finally:
            events = [event for event in trace.events if not (options.top and event.depth)]
            display(Picture(viz.dispatch_page(events)))

    @with_help
    @line_cell_magic
    @magic_arguments()
    @argument("statement", nargs="*", help="what to run, where there is no cell")
    def profile(self, line: str, cell: str | None = None) -> Any:
        """Run a cell or statement, and show where its time went: operators, lines, modules, kernels, and Python outside
        of them."""
        _, code = self._code(self.profile, line, cell)
        found = introspect.Profile()
        try:
            with introspect.profile(self.shell.user_ns) as found:
                return self._run(code)
        finally:
            display(Picture(viz.profile_page(found)))

    @with_help
    @line_cell_magic
    @magic_arguments()
    @argument("statement", nargs="*", help="what to run, where there is no cell")
    def pipeline(self, line: str, cell: str | None = None) -> Any:
        """Run a cell or statement inside torch.pipeline(), and show what was recorded, when the queue ran and why."""
        _, code = self._code(self.pipeline, line, cell)
        facts = introspect.PipelineFacts()
        try:
            with introspect.watch_pipeline() as facts:
                return self._run(code)
        finally:
            display(Picture(viz.pipeline_page(facts)))

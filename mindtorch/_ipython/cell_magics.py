"""The magics that run a cell or a statement and show what happened: dispatch, profile, pipeline."""
from __future__ import annotations

from typing import Any

from IPython.core.magic import line_cell_magic, magics_class
from IPython.core.magic_arguments import argument

from .. import introspect, viz
from .base import MagicGroup, magic


@magics_class
class CellMagics(MagicGroup):
    """``%%dispatch``, ``%%profile``, ``%%pipeline``."""

    @magic(line_cell_magic,
           argument("--top", action="store_true", help="only operators that the cell calls, not those inside them"),
           argument("statement", nargs="*", help="what to run, where there is no cell"))
    def dispatch(self, line: str, cell: str | None = None) -> Any:
        """Run a cell or statement, and show each operator: keys, kernel with file and line, output, time."""
        options, code = self._code(self.dispatch, line, cell)
        return self._watch(introspect.observe(), introspect.Trace(), code, lambda trace: viz.dispatch_page(
            [event for event in trace.events if not (options.top and event.depth)]))

    @magic(line_cell_magic, argument("statement", nargs="*", help="what to run, where there is no cell"))
    def profile(self, line: str, cell: str | None = None) -> Any:
        """Run a cell or statement, and show where its time went: operators, lines, modules, kernels, and Python outside
        of them."""
        _, code = self._code(self.profile, line, cell)
        return self._watch(introspect.profile(self.shell.user_ns), introspect.Profile(), code, viz.profile_page)

    @magic(line_cell_magic, argument("statement", nargs="*", help="what to run, where there is no cell"))
    def pipeline(self, line: str, cell: str | None = None) -> Any:
        """Run a cell or statement inside torch.pipeline(), and show what was recorded, when the queue ran and why."""
        _, code = self._code(self.pipeline, line, cell)
        return self._watch(introspect.watch_pipeline(), introspect.PipelineFacts(), code, viz.pipeline_page)

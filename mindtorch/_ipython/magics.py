"""The magics. Each is a plain function of ``introspect`` and ``viz`` with a notebook's namespace for its names."""
from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, needs_local_scope
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from .._device import get_default_device, set_default_device
from ..introspect import Trace, graph_facts, named_tensors, names_of, observe, storage_facts, tensors_facts
from .._tensor import Tensor
from ..viz import dispatch_page, dispatch_text, graph_page, graph_text, storage_page, storage_text, tensors_page, tensors_text


class Picture:
    """Something to display: HTML where it can be shown, text elsewhere."""

    def __init__(self, html: str, text: str):
        self.html, self.text = html, text

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


@magics_class
class MindtorchMagics(Magics):
    """``%tensors``, ``%storage``, ``%graph``, ``%%dispatch``, ``%device``."""

    def _tensor(self, expression: str, magic: str) -> Any:
        """The tensor that a magic's argument means.

        Raises:
            UsageError: if it is missing, cannot be evaluated, or is no tensor.
        """
        if not expression:
            raise UsageError(f"%{magic} needs a tensor: %{magic} x")
        try:
            value = self.shell.ev(expression)
        except Exception as error:
            raise UsageError(f"%{magic}: cannot evaluate {expression!r}: {type(error).__name__}: {error}") from None
        if not isinstance(value, Tensor):
            raise UsageError(f"%{magic}: {expression!r} is a {type(value).__name__}, not a tensor")
        return value

    @magic_arguments()
    @argument("--device", help="only tensors on this device")
    @line_magic
    def tensors(self, line: str) -> Picture:
        """All tensors in the notebook: storages by colour, views, versions, gradients, what is pending."""
        options = parse_argstring(self.tensors, line)
        rows = [r for r in tensors_facts(self.shell.user_ns) if options.device in (None, r.device, r.device.partition(":")[0])]
        return Picture(tensors_page(rows), tensors_text(rows))

    @magic_arguments()
    @argument("tensor", nargs="*", help="the tensor: a name or an expression")
    @line_magic
    def storage(self, line: str) -> Picture:
        """Who shares this tensor's storage, and which elements each covers."""
        tensor = self._tensor(" ".join(parse_argstring(self.storage, line).tensor), "storage")
        facts = storage_facts(tensor, names_of(self.shell.user_ns))
        return Picture(storage_page(facts, id(tensor)), storage_text(facts))

    @magic_arguments()
    @argument("tensor", nargs="*", help="the tensor whose history is shown: a name or an expression")
    @line_magic
    def graph(self, line: str) -> Picture:
        """The autograd graph behind a tensor: operators, shapes, saved tensors, hooks, leaves and their names."""
        tensor = self._tensor(" ".join(parse_argstring(self.graph, line).tensor), "graph")
        known = {id(t): t for _, t in named_tensors(self.shell.user_ns)}
        try:
            facts = graph_facts(tensor, names_of(self.shell.user_ns), known)
        except ValueError as error:
            raise UsageError(f"%graph: {error}") from None
        return Picture(graph_page(facts), graph_text(facts))

    @magic_arguments()
    @argument("--top", action="store_true", help="only the operators that the cell calls, not those inside composites")
    @needs_local_scope
    @cell_magic
    def dispatch(self, line: str, cell: str, local_ns: Any = None) -> None:
        """Run the cell, and show each operator: key set, path, kernel and its file and line, output, time."""
        options = parse_argstring(self.dispatch, line)
        trace: Trace
        with observe() as trace:
            result = self.shell.run_cell(cell, store_history=False)
        events = [e for e in trace.events if e.depth == 0] if options.top else trace.events
        display(Picture(dispatch_page(events), dispatch_text(events)))
        if not result.success:
            return

    @magic_arguments()
    @argument("device", nargs="?", help="the device for new tensors; without it, the current one is shown")
    @line_magic
    def device(self, line: str) -> Any:
        """Show or set the default device."""
        wanted = parse_argstring(self.device, line).device
        if wanted is not None:
            try:
                set_default_device(wanted)
            except RuntimeError as error:
                raise UsageError(f"%device: {error}") from None
        return get_default_device()

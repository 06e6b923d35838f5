"""The magics of tensors: all of them, one's storage, one's graph, and where new ones are made."""
from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import line_magic, magics_class
from IPython.core.magic_arguments import argument, parse_argstring

from .. import introspect, viz
from .._device import get_default_device, set_default_device
from .base import MagicGroup, Picture, magic


@magics_class
class MindtorchMagics(MagicGroup):
    """``%tensors``, ``%storage``, ``%graph``, ``%device``."""

    @magic(line_magic, argument("--device", help="only tensors on this device"))
    def tensors(self, line: str) -> Picture:
        """All tensors in the notebook: storages by colour, views, versions, gradients, what is pending."""
        wanted = parse_argstring(self.tensors, line).device
        rows = introspect.tensors_facts(self.shell.user_ns)
        rows = [row for row in rows if wanted in (None, row.device, row.device.partition(":")[0])]
        return Picture(viz.tensors_page(rows))

    @magic(line_magic, argument("tensor", nargs="*", help="the tensor: a name or an expression"))
    def storage(self, line: str) -> Picture:
        """Who shares this tensor's storage, and which elements each covers."""
        facts = introspect.storage_facts(self._tensor(line.strip(), "storage"), introspect.names_of(self.shell.user_ns))
        return Picture(viz.storage_page(facts), viz.storage_text(facts))

    @magic(line_magic, argument("tensor", nargs="*", help="the tensor whose history is shown: a name or an expression"))
    def graph(self, line: str) -> Picture:
        """The autograd graph behind a tensor: operators, shapes, saved tensors, hooks, named leaves."""
        tensor = self._tensor(line.strip(), "graph")
        try:
            facts = introspect.graph_facts(tensor, dict(introspect.named_tensors(self.shell.user_ns)))
        except ValueError as error:
            raise UsageError(f"%graph: {error}") from None
        return Picture(viz.graph_page(facts), viz.graph_text(facts))

    @magic(line_magic,
           argument("device", nargs="?", help="the device for new tensors; without it, the current one is shown"))
    def device(self, line: str) -> Any:
        """Show or set the default device."""
        wanted = parse_argstring(self.device, line).device
        if wanted is not None:
            try:
                set_default_device(wanted)
            except RuntimeError as error:
                raise UsageError(f"%device: {error}") from None
        return get_default_device()

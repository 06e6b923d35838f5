"""The magics of devices: when what ran where, and what is in their memory."""
from __future__ import annotations

from pathlib import Path
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import line_cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, parse_argstring
from IPython.display import display

from .. import introspect, viz
from .._device import device as Device
from .base import MagicGroup, Picture, magic


@magics_class
class DeviceMagics(MagicGroup):
    """``%%timeline``, ``%memory``."""

    @magic(line_cell_magic,
           argument("--save", metavar="FILE", help="also write a Chrome trace to this file, for chrome://tracing "
                    "or Perfetto; before a statement: --save=FILE"))
    def timeline(self, line: str, cell: str | None = None) -> Any:
        """Run a cell or statement, and show when the host and every stream did what."""
        options, code = self._code(self.timeline, line, cell)
        save = options.save
        target = None if save is None else Path(save.strip("'\"")).expanduser()  # IPython leaves quotes where they are
        if target is not None and not target.parent.is_dir():
            raise UsageError(f"%%timeline: there is no folder {str(target.parent)!r} to save {target.name!r} in")
        found = introspect.Timeline()
        try:
            with introspect.timeline() as found:
                return self._run(code)
        finally:
            display(Picture(viz.timeline_page(found), viz.timeline_text(found)))
            if target is not None:
                print(f"Chrome trace: {introspect.save_chrome_trace(found, target)}")

    @magic(line_magic, argument("--device", help="only this device: cpu, npu, npu:0, ..."))
    def memory(self, line: str) -> Picture:
        """The memory of every device: live storages, the allocator's blocks, deferred frees."""
        wanted = parse_argstring(self.memory, line).device
        devices = introspect.memory_facts(introspect.names_of(self.shell.user_ns))
        if wanted is not None:
            try:
                Device(wanted)
            except RuntimeError as error:
                raise UsageError(f"%memory: {error}") from None
            known = ", ".join(facts.device for facts in devices)
            devices = tuple(facts for facts in devices if wanted in (facts.device, facts.device.partition(":")[0]))
            if not devices:
                raise UsageError(f"%memory: nothing is known of the memory of {wanted}: in use are {known}")
        return Picture(viz.memory_page(devices), viz.memory_text(devices))

"""Ranks of a notebook: engines of ipyparallel that MPI connects, and ``%%px`` with their outputs side by side.

``python -m mindtorch launch`` starts the engines, as it starts the ranks of a script: one that dies is an error in all
the others, and none is left behind. Needs the extra ``distributed``.
"""
from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

from ipyparallel import Cluster
from ipyparallel.client.magics import ParallelMagics
from IPython.core.error import UsageError
from IPython.display import display
from traitlets.config import Config

from ... import viz
from ...introspect import RankOutput
from ...viz.ranks import listed
from .base import Picture

#: What a notebook has in every rank from the start.
PREPARE = """\
import os
get_ipython().run_line_magic("load_ext", "mindtorch")
import torch
import torch.distributed as dist
from torch import nn
dist.init_process_group("mpi")
"""
START = 60.0  #: seconds that ranks may take to find each other
POLL, REDRAW = 0.05, 0.5  #: seconds between looks at a cell that runs, and between pictures of it
PATIENCE = 10.0  #: seconds in which the others end a cell after a rank has died
OUTPUT = 2.0  #: seconds that output may take to arrive after a cell's end


class RanksFailed(RuntimeError):
    """A cell failed in some ranks; the picture has said how."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Ranks:
    """Processes in which a notebook runs cells."""

    def __init__(self, shell: Any, count: int):
        self.count = count
        config = Config()
        config.MPIEngineSetLauncher.mpi_cmd = [sys.executable, "-m", "mindtorch", "launch"]
        config.MPIEngineSetLauncher.engine_cmd = [str(Path(__file__).with_name("engine.py"))]
        self.cluster = Cluster(n=count, engines="mpi", log_level=logging.ERROR, config=config, parent=None)
        self.cluster.start_cluster_sync()
        self.client = self.cluster.connect_client_sync()
        self.client.wait_for_engines(count, timeout=START, interactive=False)
        self.view = self.client[list(range(count))]  # of engines, numbers are ranks
        self.view.block = True
        shell.register_magics(SideBySide(shell, self))
        try:
            self.view.execute(PREPARE, block=False).get(START)
            self.pids = self.view.apply_async(os.getpid).get(START)
        except BaseException:
            self.stop()
            raise

    def dead(self) -> list[int]:
        """Return the ranks whose processes are gone."""
        return [rank for rank, pid in enumerate(self.pids) if not _is_alive(pid)]

    def stop(self) -> None:
        """End the processes."""
        self.client.close()
        self.cluster.stop_cluster_sync()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class SideBySide(ParallelMagics):
    """``%px`` and ``%%px``, with the ranks' output side by side, while the cell runs and after it."""

    def __init__(self, shell: Any, ranks: Ranks):
        super().__init__(shell, ranks.view)
        self.ranks = ranks

    def parallel_execute(self, cell: str, block: bool | None = None, groupby: str = "type",
                         save_name: str | None = None, stream_output: bool | None = None,
                         progress_after: float | None = None, signal_on_interrupt: Any = None) -> Any:
        """Run a cell in all ranks; how to group outputs and when to show progress is not asked for here."""
        if dead := self.ranks.dead():
            raise RanksFailed(f"{listed(dead)} ended, and so did the group: %ranks {self.ranks.count} starts new ones")
        everyone = list(range(self.ranks.count))
        targets = everyone if self.view.targets == "all" else self.view.targets
        targets = [targets] if isinstance(targets, int) else list(targets)
        if unknown := [rank for rank in targets if rank not in everyone]:
            raise UsageError(f"%px: there is no {listed(unknown)}, but {listed(everyone)}")
        result = self.view.execute(cell, silent=False, block=False)
        self.last_result = result
        if save_name:
            self.shell.user_ns[save_name] = result
        if not (self.view.block if block is None else block):
            return result
        found = self._watch(result, targets)
        if failed := [output.rank for output in found if output.error]:
            raise RanksFailed(f"{listed(failed)} of {self.ranks.count} failed")
        return None

    def _watch(self, result: Any, targets: list[int]) -> list[RankOutput]:
        """Draw the ranks' output until all are done."""
        parts = list(zip(targets, result.split(), strict=True))
        shown: list[RankOutput] = []
        handle, since, died = None, monotonic(), None
        while True:
            dead = self.ranks.dead()
            died = died or (monotonic() if dead else None)
            open_ = [rank for rank, part in parts if not part.ready() and rank not in dead]
            is_over = not open_ or (died is not None and monotonic() > died + PATIENCE)
            if is_over:
                for rank, part in parts:
                    if rank not in dead:
                        part.wait_for_output(OUTPUT)
            found = [_output(rank, part, rank in dead) for rank, part in parts]
            if found != shown and (is_over or monotonic() > since + REDRAW):
                picture = Picture(viz.ranks_page(found), viz.ranks_text(found))
                if handle is None:
                    handle = display(picture, display_id=True)
                else:
                    handle.update(picture)
                shown, since = found, monotonic()
            if is_over:
                return found
            try:
                result.wait(POLL)
            except KeyboardInterrupt:
                with suppress(Exception):
                    self.view.client.send_signal("SIGINT", targets=targets, block=False)


def _output(rank: int, part: Any, is_dead: bool) -> RankOutput:
    """Return a rank's output so far."""
    said = part.metadata[0] if isinstance(part.metadata, list) else part.metadata
    shown = [output["data"] for output in said["outputs"]]
    if said["execute_result"] is not None:
        shown.append(said["execute_result"]["data"])
    error = said["error"]
    trace = "" if error is None else error.traceback or ""
    text = "" if error is None else f"{error.ename}: {error.evalue}"
    if is_dead and error is None:
        text = "this rank was killed, or ended without a word"
    return RankOutput(rank, said["stdout"], said["stderr"], tuple(shown), text, trace, part.ready() or is_dead)

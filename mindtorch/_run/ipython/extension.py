"""Registers formatters, magics, their completion and short tracebacks, and takes every trace of them away."""
from __future__ import annotations

import sys
from asyncio import get_running_loop
from collections.abc import Callable
from dataclasses import is_dataclass
from types import GeneratorType
from typing import Any

from IPython.display import display
from IPython.utils.dir2 import get_real_method

from ... import introspect, viz
from ..._autograd.node import Node
from ..._backends.random.generator import Generator
from ..._storage import StorageBase
from ..._tensor import Tensor
from .base import help_alone, suggest_magic
from .inspection import hide_operators, show_operators
from .magics import MindtorchMagics, watch_writes
from .tracebacks import fold_tracebacks, unfold_tracebacks

PACKAGE = f"{__name__.partition('.')[0]}."


class AfterCells:
    """A callback that runs after each cell: it corrects a mistyped magic and serves ``%autoreload``.

    Where IPython knows the source of a module, it puts new code into functions whose text was edited and does not
    execute the module, so that rows that a function made would stay as they are. This has it execute whole modules.
    """

    def __init__(self, ip: Any):
        self.ip = ip

    def __call__(self, result: Any = None) -> None:
        if correction := suggest_magic(self.ip, getattr(result, "error_in_exec", None)):
            print(correction)
        magics = self.ip.magics_manager.registry.get("AutoreloadMagics")
        if magics is not None and magics._reloader.enabled and hasattr(magics._reloader, "deduper_reloader"):
            sources = magics._reloader.deduper_reloader.source_by_modname  # since IPython 9
            sources.update({name: "" for name in sys.modules if name.startswith(PACKAGE)})


#: Classes by their names, for what is loaded when a program uses it: those that are drawn as trees of what they hold.
#: PyTorch's are there by their names, too, so that a program may import it later, or never.
TENSOR = "torch", "Tensor"
MODULES = [("mindtorch.nn.module", "Module"), ("torch.nn.modules.module", "Module")]
CHECKS = [("mindtorch.introspect.checks.finding", "CheckFacts")]
STORAGES = [("torch.storage", "UntypedStorage"), ("torch.storage", "TypedStorage")]
HOLDERS = [("mindtorch.optim.optimizer", "Optimizer"), ("mindtorch.utils.data.dataloader", "DataLoader"),
           ("mindtorch.utils.data.dataset", "Dataset"), ("torch.optim.optimizer", "Optimizer"),
           ("torch.utils.data.dataloader", "DataLoader"), ("torch.utils.data.dataset", "Dataset"),
           ("torch._C", "Generator")]
SCHEDULES = [("mindtorch.optim.lr_scheduler.base", "LRScheduler"), ("torch.optim.lr_scheduler", "LRScheduler")]
WELCOME = ("mindtorch: a tensor or a model on the last line of a cell is drawn; %why explains the last error, "
           "%mindtorch lists what else there is")
CONTAINERS = (list, tuple, dict, GeneratorType)  #: drawn where tensors are in them


def load(ip: Any) -> None:
    """Load the extension: ``%load_ext mindtorch``."""

    def card(tensor: Any) -> str:
        return viz.copyable(viz.picture(tensor, ip.user_ns, compact=magics.is_compact))

    def both(tensor: Any) -> dict[str, str]:
        # The card first: it never waits, and shows what is pending. The text waits, as PyTorch's does.
        html = card(tensor)
        try:
            return {"text/html": html, "text/plain": repr(tensor)}
        except RuntimeError as error:  # the pipeline failed: the card says so too
            return {"text/html": card(tensor), "text/plain": f"<no values: {error}>"}

    def tree(module: Any) -> str:
        return viz.copyable(viz.picture(module, ip.user_ns))

    def name_of(value: Any) -> str:
        return next((name for name, known in ip.user_ns.items() if known is value and not name.startswith("_")), "")

    def contents(value: Any) -> str:
        return viz.copyable(viz.container_page(introspect.container_facts(value, ip.user_ns, name_of(value))))

    def schedule(value: Any) -> str:
        return viz.copyable(viz.schedule_page(introspect.schedule_facts(value, name_of(value))))

    def contents_if_tensors(value: Any) -> str | None:
        return contents(value) if introspect.holds_tensors(value) else None

    def anything(value: Any) -> Any:
        # Dataclasses, and PyTorch's nodes, have no class in common, and IPython asks for the method only where nothing
        # is registered.
        if is_dataclass(value) and introspect.holds_tensors(value):
            return contents(value)
        if introspect.is_node(value):
            return graph(value)
        method = None if isinstance(value, Tensor) else get_real_method(value, "_repr_html_")  # ``both`` drew its card
        return None if method is None else method()

    def graph(node: Any) -> str:
        return viz.copyable(viz.graph_page(introspect.graph_facts(node, dict(introspect.named_tensors(ip.user_ns)))))

    def memory(storage: Any) -> str:
        names = introspect.names_of(ip.user_ns)
        seen_by = introspect.library_of(storage).seen_by(storage, names)
        if not seen_by:
            return contents(storage)
        return viz.copyable(viz.storage_page(introspect.storage_facts(seen_by[0], names)))

    def check(facts: Any) -> str:
        return viz.copyable(viz.check_page(facts))

    unload(ip)
    magics = MindtorchMagics(ip)
    html = ip.display_formatter.formatters["text/html"]
    for container in CONTAINERS:
        html.for_type(container, contents_if_tensors)
    for draw_it, classes in ((contents, HOLDERS), (memory, STORAGES), (tree, MODULES), (check, CHECKS),
                             (schedule, SCHEDULES)):
        for names in classes:
            html.for_type_by_name(*names, draw_it)
    pictures: dict[type, Callable[[Any], Any]] = {Generator: contents, Node: graph, StorageBase: memory,
                                                  object: anything}
    for kind, draw in pictures.items():
        html.for_type(kind, draw)
    ip.display_formatter.mimebundle_formatter.for_type(Tensor, both)
    ip.display_formatter.mimebundle_formatter.for_type_by_name(*TENSOR, both)
    ip.register_magics(magics)
    ip.Completer.custom_matchers.append(magics.complete)
    ip.events.register("post_run_cell", AfterCells(ip))
    ip.input_transformers_cleanup.append(help_alone)
    fold_tracebacks(ip)
    show_operators(ip)
    _load_cards_when_idle()
    display({"text/html": str(viz.copying_page(WELCOME)), "text/plain": WELCOME}, raw=True)


def _load_cards_when_idle() -> None:
    """Load the modules that draw cards once the notebook is idle, so that the first card is as fast as later ones."""
    try:
        idle = get_running_loop()
    except RuntimeError:  # no notebook: cards are loaded when one is drawn
        return
    idle.call_soon(getattr, viz, "tensor_card")


def unload(ip: Any) -> None:
    """Unload the extension: ``%unload_ext mindtorch``."""
    watch_writes(ip, False)
    unfold_tracebacks(ip)
    for callback in [found for found in ip.events.callbacks["post_run_cell"] if isinstance(found, AfterCells)]:
        ip.events.unregister("post_run_cell", callback)
    hide_operators(ip)
    if help_alone in ip.input_transformers_cleanup:
        ip.input_transformers_cleanup.remove(help_alone)
    for tensor in (Tensor, ".".join(TENSOR)):
        ip.display_formatter.mimebundle_formatter.pop(tensor, None)
    html = ip.display_formatter.formatters["text/html"]
    by_name = (".".join(names) for names in (*MODULES, *STORAGES, *HOLDERS, *CHECKS, *SCHEDULES))
    for kind in (*CONTAINERS, Generator, Node, StorageBase, object, *by_name):
        html.pop(kind, None)
    magics = ip.magics_manager.registry.pop(MindtorchMagics.__name__, None)
    if magics is None:
        return
    if magics.started is not None:
        magics.started.stop()
    for kind, names in magics.magics.items():
        for name in names:
            ip.magics_manager.magics[kind].pop(name, None)
    ip.configurables.remove(magics)
    ip.Completer.custom_matchers.remove(magics.complete)

"""The name of the graph that is being compiled, for compilers (``torch._functorch._aot_autograd.logging_utils``)."""
from __future__ import annotations

from collections.abc import Iterator

from ..._base.interrupts import contextmanager
from .schemas import AOTConfig

graph_being_compiled: list[str] = []
nth_graph = 0
model_name = "model"


def set_model_name(name: str) -> None:
    """Set the name that graphs' names begin with (``functorch.compile.set_model_name``)."""
    global model_name
    model_name = name


def get_aot_compilation_context() -> tuple[list[str], str, int]:
    """Return the graph that is being compiled, the model's name, and the number of graphs before
    (``functorch.compile.get_aot_compilation_context``).
    """
    return list(graph_being_compiled), model_name, nth_graph


def get_aot_graph_name() -> str:
    """Return the name of the graph that is being compiled (``functorch.compile.get_aot_graph_name``)."""
    return f"{model_name}__{'_'.join(graph_being_compiled)}_{nth_graph}"


get_graph_being_compiled = get_aot_graph_name


@contextmanager
def track_graph_compiling(aot_config: AOTConfig, graph_name: str) -> Iterator[None]:
    """Run a block that compiles a function's 'forward', 'backward' or 'inference' graph."""
    global graph_being_compiled, nth_graph
    graph_being_compiled = [f"{aot_config.aot_id}_{graph_name}"]
    try:
        yield
    finally:
        graph_being_compiled, nth_graph = [], nth_graph + 1

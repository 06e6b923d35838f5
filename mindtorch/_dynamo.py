"""``torch._dynamo``: the names under which programs spoke to the compiler before there was ``torch.compiler``."""
from types import SimpleNamespace

from .compiler import allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset

__all__ = ["allow_in_graph", "assume_constant_result", "config", "disable", "graph_break", "is_compiling",
           "list_backends", "reset"]
__dir__ = __all__.copy

config = SimpleNamespace(suppress_errors=False, verbose=False)  #: what programs set before they compile


def graph_break(msg: str = "") -> None:
    """Divide the program for the compiler, which there is none of (``torch._dynamo.graph_break``)."""

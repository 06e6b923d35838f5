"""A graph of ``torch.fx``, as plain data: of this library, or of PyTorch."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class CallFacts:
    """A node of a graph: what it calls in ``target``, the names of the nodes among its arguments, in order, in
    ``inputs``, and its arguments as text. ``value`` is the type of its value if a pass has recorded it (``f32[2, 3]``),
    ``module`` the path of the module whose ``forward`` it stands in, ``line`` its line of the generated code.
    """

    name: str
    op: str
    target: str
    inputs: tuple[str, ...]
    arguments: str
    users: int
    value: str
    module: str
    line: str


@dataclass(frozen=True)
class TracedFacts:
    """A graph: the class of its module, its nodes in the order of execution, and the code of ``forward``."""

    name: str
    steps: tuple[CallFacts, ...]
    code: str


def is_graph(value: Any) -> bool:
    """Return True for a graph of ``torch.fx``, of either library."""
    return type(value).__name__ == "Graph" and type(value).__module__.endswith("torch.fx.graph")


def graph_of(value: Any) -> Any:
    """Return the graph of a ``GraphModule``, or a graph itself; None for another value."""
    found = value if is_graph(value) else getattr(value, "graph", None)
    return found if is_graph(found) else None


def traced_facts(value: Any) -> TracedFacts:
    """Describe a ``Graph`` or a ``GraphModule`` of either library. Raises ValueError for another value."""
    graph = graph_of(value)
    if graph is None:
        raise ValueError(f"a torch.fx.Graph or GraphModule is expected, not {type(value).__name__}")
    code = graph.python_code("self")
    lines = code.src.splitlines()
    by_number: dict[int, str] = {}
    for at, number in (code._lineno_map or {}).items():
        line = at + code._prologue_start - 1
        if number is not None and line < len(lines) and lines[line].strip():
            by_number.setdefault(number, lines[line].strip())
    name = "Graph" if graph is value else type(value).__name__
    return TracedFacts(name, tuple(_step(node, by_number.get(at, "")) for at, node in enumerate(graph.nodes)),
                       code.src.strip())


def _step(node: Any, line: str) -> CallFacts:
    inputs: list[str] = []
    _collect((node.args, node.kwargs), type(node), inputs)
    stack = [str(path) for path, _ in (node.meta.get("nn_module_stack") or {}).values()]
    module = ["", *(stack[:-1] if node.op == "call_module" else stack)][-1]  # the called one is the last
    arguments = ", ".join([*map(str, node.args), *(f"{key}={value}" for key, value in node.kwargs.items())])
    return CallFacts(node.name, node.op, node._pretty_print_target(node.target), tuple(inputs), arguments,
                     len(node.users), _value(node), module, line)


def _collect(value: Any, kind: type, found: list[str]) -> None:
    """Add the names of the nodes in an argument, each as often as it is used."""
    if isinstance(value, kind):
        found.append(value.name)  # type: ignore[attr-defined]
    elif isinstance(value, (list, tuple)):
        for item in value:
            _collect(item, kind, found)
    elif isinstance(value, dict):
        _collect(list(value.values()), kind, found)
    elif isinstance(value, slice):
        _collect((value.start, value.stop, value.step), kind, found)


def _value(node: Any) -> str:
    """Return the type of a node's value, if ``ShapeProp`` or a tracer has recorded it."""
    found = node.meta.get("val", node.meta.get("tensor_meta", node.meta.get("example_value")))
    if hasattr(found, "dtype") and hasattr(found, "shape"):
        dtype = str(found.dtype).rpartition(".")[2]
        return f"{dtype} [{', '.join(map(str, found.shape))}]"
    return "" if found is None or isinstance(found, (list, tuple)) else str(found)

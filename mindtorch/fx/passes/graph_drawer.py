"""``FxGraphDrawer``: a graph as a picture, without Graphviz, and as text that Graphviz reads
(``torch.fx.passes.graph_drawer``).
"""
from __future__ import annotations

from pathlib import Path
from typing import Any

from ..._base.files import replace_text
from ..._creation import conversion as _conversion
from .._names import torch
from ..graph_module import GraphModule
from ..node import Node

__all__ = ["FxGraphDrawer"]
__dir__ = __all__.copy
#: The colours of kinds of nodes in Graphviz's text, as in PyTorch.
COLOURS = {"placeholder": "AliceBlue", "call_module": "LemonChiffon1", "get_attr": "LightGrey",
           "output": "PowderBlue", "call_function": "CadetBlue", "call_method": "Peru"}


class Drawing:
    """A picture of a graph: notebooks show it, ``write_svg`` saves it."""

    def __init__(self, module: GraphModule, name: str):
        self.module, self.name = module, name

    def _repr_html_(self) -> str:
        return _conversion.draw(self.module.graph)

    def write_svg(self, path: str | Path) -> Path:
        """Save the picture as an SVG file."""
        drawn = torch.viz.traced_svg(torch.introspect.traced_facts(self.module))
        replace_text(path, drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))
        return Path(path)

    def to_string(self) -> str:
        """Return the graph in the language of Graphviz."""
        lines = [f"digraph {self.name} {{", "rankdir=TB;"]
        for node in self.module.graph.nodes:
            label = "|".join(_escaped(line) for line in _label(node))
            lines.append(f'{node.name} [label="{{{label}}}", shape=record, style="filled,rounded", '
                         f"fillcolor={COLOURS[node.op]}];")
        lines += [f"{node.name} -> {user.name};" for node in self.module.graph.nodes for user in node.users]
        return "\n".join([*lines, "}\n"])

    def write(self, path: str | Path) -> Path:
        """Save the graph in the language of Graphviz."""
        replace_text(path, self.to_string())
        return Path(path)


class FxGraphDrawer:
    """Draws a module's graph, and those of the graph modules in it (``torch.fx.passes.graph_drawer.FxGraphDrawer``).

    Args:
        graph_module: the module.
        name: the name of the drawing.
    """

    def __init__(self, graph_module: GraphModule, name: str):
        self._drawings = {name: Drawing(graph_module, name)}
        for path, module in graph_module.named_modules():
            if path and isinstance(module, GraphModule):
                inner = f"{name}_{path.replace('.', '_')}"
                self._drawings[inner] = Drawing(module, inner)
        self._name = name

    def get_dot_graph(self, submod_name: str | None = None) -> Drawing:
        """Return the drawing of the module, or of one in it."""
        return self._drawings[self._name if submod_name is None else submod_name]

    def get_main_dot_graph(self) -> Drawing:
        """Return the drawing of the module."""
        return self.get_dot_graph()

    def get_submod_dot_graph(self, submod_name: str) -> Drawing:
        """Return the drawing of a module in it, by its name: that of the drawing and the path, joined by ``_``."""
        return self.get_dot_graph(submod_name)

    def get_all_dot_graphs(self) -> dict[str, Drawing]:
        """Return all drawings by name."""
        return dict(self._drawings)


def _label(node: Node) -> list[str]:
    lines = [f"name=%{node.name}", f"op_code={node.op}", f"target={node._pretty_print_target(node.target)}"]
    meta: Any = node.meta.get("tensor_meta")
    if hasattr(meta, "shape"):
        lines += [f"dtype={meta.dtype}", f"shape={tuple(meta.shape)}"]
    return [*lines, f"num_users={len(node.users)}"]


def _escaped(text: str) -> str:
    return "".join(f"\\{sign}" if sign in '\\"{}|<>[]' else sign for sign in text)

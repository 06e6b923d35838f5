"""Pictures of facts: HTML, CSS and SVG, without IPython, without scripts, without anything from outside."""
from .card import tensor_card, tensor_line
from .graph import graph_page, graph_svg, graph_text
from .module import module_page, module_text
from .storage import storage_page, storage_text
from .tables import dispatch_page, dispatch_text, tensors_page, tensors_text

__all__ = [
    "dispatch_page", "dispatch_text", "graph_page", "graph_svg", "graph_text", "module_page", "module_text",
    "storage_page", "storage_text", "tensor_card", "tensor_line", "tensors_page", "tensors_text",
]  # fmt: skip

"""Pictures of facts: HTML, CSS and SVG, without IPython, without scripts, without anything from outside."""
from .broadcast import broadcast_page, broadcast_text
from .card import tensor_card, tensor_line
from .graph import graph_page, graph_svg, graph_text
from .memory import memory_page, memory_text
from .module import module_page, module_text
from .monitor import monitor_page, monitor_text, progress_page, progress_text
from .pipeline import pipeline_page, pipeline_text
from .profile import profile_page, profile_text
from .stepper import stepper_page, stepper_text
from .storage import storage_page, storage_text
from .strides import strides_page, strides_text
from .tables import dispatch_page, dispatch_text, tensors_page, tensors_text
from .timeline import timeline_page, timeline_text
from .why import why_page
from .why_text import why_text

__all__ = [
    "broadcast_page", "broadcast_text", "dispatch_page", "dispatch_text", "graph_page", "graph_svg", "graph_text",
    "memory_page", "memory_text", "module_page", "module_text", "monitor_page", "monitor_text", "pipeline_page",
    "pipeline_text", "profile_page", "profile_text", "progress_page", "progress_text", "stepper_page", "stepper_text",
    "storage_page", "storage_text", "strides_page", "strides_text", "tensor_card", "tensor_line", "tensors_page",
    "tensors_text", "timeline_page", "timeline_text", "why_page", "why_text",
]  # fmt: skip

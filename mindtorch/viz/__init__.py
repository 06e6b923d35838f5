"""Pictures of facts: HTML, CSS and SVG, without IPython, without scripts, without anything from outside. ``copyable``
adds buttons, which the script of a ``copying_page`` serves.
"""
from typing import TYPE_CHECKING

from .._base.lazy import lazily

if TYPE_CHECKING:
    from .broadcast import broadcast_page, broadcast_text
    from .card import tensor_card, tensor_line
    from .compile import compile_page, compile_text
    from .container import container_page, container_text
    from .copying import copyable, copying_page, without_buttons
    from .dispatch import dispatch_page, dispatch_text
    from .files import save_picture
    from .graph import graph_page, graph_svg, graph_text
    from .memory import memory_page, memory_text
    from .model import model_page, model_svg, model_text
    from .module import module_page, module_text, picture
    from .monitor import monitor_page, monitor_text, progress_page, progress_text
    from .pipeline import pipeline_page, pipeline_text
    from .profile import profile_page, profile_text
    from .ranks import ranks_page, ranks_text
    from .schedule import schedule_page, schedule_text
    from .stepper import stepper_page, stepper_text
    from .storage import storage_page, storage_text
    from .strides import strides_page, strides_text
    from .tables import glossary_page, glossary_text, magics_page, tensors_page, tensors_text
    from .timeline import timeline_page, timeline_text
    from .traced import traced_page, traced_svg, traced_text
    from .why import check_page, check_text, why_page, why_text
else:
    __getattr__, __dir__ = lazily(__name__, __file__)

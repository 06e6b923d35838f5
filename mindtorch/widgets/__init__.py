"""Pictures that move: explorers with controls (ipywidgets), a training monitor, progress bars.

State is in Python, pictures come from ``viz``. Each leaves a still picture where widgets cannot run. ipywidgets is
imported when a widget is first made in a notebook, not before.
"""
from typing import TYPE_CHECKING

from .._base.lazy import lazily

if TYPE_CHECKING:
    from .broadcast import BroadcastExplorer, broadcast_explorer
    from .monitor import TrainingMonitor, progress
    from .stepper import BackwardStepper, backward_stepper
    from .strides import StrideExplorer, stride_explorer
    from .timeline import TimelineScrubber, timeline_scrubber
else:
    __getattr__, __dir__ = lazily(__name__, __file__)
    __all__ = __dir__()

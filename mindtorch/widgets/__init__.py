"""Pictures that move: explorers with controls (ipywidgets), a training monitor, progress bars.

State is in Python, pictures come from ``viz``. Each leaves a still picture where widgets cannot run. ipywidgets is
imported when a widget is first made in a notebook, not before.
"""
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .broadcast import BroadcastExplorer as BroadcastExplorer, broadcast_explorer as broadcast_explorer
    from .monitor import TrainingMonitor as TrainingMonitor, progress as progress
    from .stepper import BackwardStepper as BackwardStepper, backward_stepper as backward_stepper
    from .strides import StrideExplorer as StrideExplorer, stride_explorer as stride_explorer
    from .timeline import TimelineScrubber as TimelineScrubber, timeline_scrubber as timeline_scrubber

_PLACES = {
    "stride_explorer": "strides", "StrideExplorer": "strides",
    "broadcast_explorer": "broadcast", "BroadcastExplorer": "broadcast",
    "backward_stepper": "stepper", "BackwardStepper": "stepper",
    "timeline_scrubber": "timeline", "TimelineScrubber": "timeline",
    "TrainingMonitor": "monitor", "progress": "monitor",
}
__all__ = list(_PLACES)
__dir__ = __all__.copy
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _PLACES:
            raise AttributeError(f"module 'mindtorch.widgets' has no attribute {name!r}")
        return getattr(import_module(f".{_PLACES[name]}", __name__), name)

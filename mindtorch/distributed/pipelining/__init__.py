"""``torch.distributed.pipelining``: a model's stages in several processes, through which microbatches pass.

The stages are modules of the program's own: models are not split by tracing here.
"""
from .schedules import Schedule1F1B, ScheduleGPipe
from .stage import PipelineStage

__all__ = ["PipelineStage", "Schedule1F1B", "ScheduleGPipe"]

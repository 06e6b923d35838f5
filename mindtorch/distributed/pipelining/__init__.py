"""``torch.distributed.pipelining``: a model's stages in several processes, through which microbatches pass.

The stages are modules of the program's own, or parts into which ``pipeline`` divides a model.
"""
from .pipe import Pipe, SplitPoint, pipe_split, pipeline
from .schedules import Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B, ScheduleLoopedBFS
from .stage import PipelineStage

__all__ = ["Pipe", "PipelineStage", "Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B", "ScheduleLoopedBFS",
           "SplitPoint", "pipe_split", "pipeline"]

"""Facts about what the library does, as plain dataclasses: no HTML, no IPython. ``viz`` draws them."""
from .._dispatch.observers import DispatchEvent, TensorMeta, Trace, observe
from .broadcast import BroadcastFacts, Dimension, broadcast_facts, parse_shape
from .chrome_trace import save_chrome_trace, to_chrome_trace
from .folding import Fold, folded, unfolded
from .graph import GraphFacts, NodeFacts, Saved, graph_facts
from .identity import storage_number
from .memory import BlockFacts, DeferredFree, MemoryFacts, SegmentFacts, StorageUse, memory_facts
from .module import MemberFacts, ModuleFacts, module_facts
from .names import module_name, named_tensors, names_of
from .npu import NpuSource
from .pipeline import Flush, PipelineFacts, Recorded, watch_pipeline
from .profile import Profile, Share, profile
from .repeats import repeats, span
from .stepper import BackwardSteps, GradientFacts, StepFacts
from .storage import Sharer, StorageFacts, storage_facts
from .strides import StrideFacts, stride_facts
from .tensor import (
    Cell, Pending, Source, Statistics, TensorFacts, cells, pending_of, sources, tensor_facts, values_without_waiting,
)  # fmt: skip
from .tensors import tensors_facts
from .timeline import Span, Timeline, timeline
from .training import Series, TrainingFacts, TrainingRecord, gradient_norms
from .why import Explanation, explain, last_error
from .writes import Write, watch_writes, watching_writes

__all__ = [
    "BackwardSteps", "BlockFacts", "BroadcastFacts", "Cell", "DeferredFree", "Dimension", "DispatchEvent",
    "Explanation", "Flush", "Fold", "GradientFacts", "GraphFacts", "MemberFacts", "MemoryFacts", "ModuleFacts",
    "NodeFacts", "NpuSource", "Pending", "PipelineFacts", "Profile", "Recorded", "Saved", "SegmentFacts", "Series",
    "Share", "Sharer", "Source", "Span", "Statistics", "StepFacts", "StorageFacts", "StorageUse", "StrideFacts",
    "TensorFacts", "TensorMeta", "Timeline", "Trace", "TrainingFacts", "TrainingRecord", "Write", "broadcast_facts",
    "cells", "explain", "folded", "gradient_norms", "graph_facts", "last_error", "memory_facts", "module_facts",
    "module_name", "named_tensors", "names_of", "observe", "parse_shape", "pending_of", "profile", "repeats",
    "save_chrome_trace", "sources", "span", "storage_facts", "storage_number", "stride_facts", "tensor_facts",
    "tensors_facts", "timeline", "to_chrome_trace", "unfolded", "values_without_waiting", "watch_pipeline",
    "watch_writes", "watching_writes",
]  # fmt: skip

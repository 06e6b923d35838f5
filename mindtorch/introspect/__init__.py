"""Facts about what the library does, as plain dataclasses: no HTML, no IPython. ``viz`` draws them."""
from .._dispatch.observers import DispatchEvent, TensorMeta, Trace, observe
from .broadcast import BroadcastFacts, Dimension, broadcast_facts, parse_shape
from .folding import Fold, folded, unfolded
from .graph import GraphFacts, NodeFacts, Saved, graph_facts
from .identity import storage_number
from .module import MemberFacts, ModuleFacts, module_facts
from .names import module_name, named_tensors, names_of
from .repeats import repeats, span
from .stepper import BackwardSteps, GradientFacts, StepFacts
from .storage import Sharer, StorageFacts, storage_facts
from .strides import StrideFacts, stride_facts
from .tensor import (
    Cell, Pending, Source, Statistics, TensorFacts, cells, pending_of, sources, tensor_facts, values_without_waiting,
)  # fmt: skip
from .tensors import tensors_facts
from .timeline import Span, Timeline
from .training import Series, TrainingFacts, TrainingRecord, gradient_norms

__all__ = [
    "BackwardSteps", "BroadcastFacts", "Cell", "Dimension", "DispatchEvent", "Fold", "GradientFacts", "GraphFacts",
    "MemberFacts", "ModuleFacts", "NodeFacts", "Pending", "Saved", "Series", "Sharer", "Source", "Span", "Statistics",
    "StepFacts", "StorageFacts", "StrideFacts", "TensorFacts", "TensorMeta", "Timeline", "Trace", "TrainingFacts",
    "TrainingRecord", "broadcast_facts", "cells", "folded", "gradient_norms", "graph_facts", "module_facts",
    "module_name", "named_tensors", "names_of", "observe", "parse_shape", "pending_of", "repeats", "sources", "span",
    "storage_facts", "storage_number", "stride_facts", "tensor_facts", "tensors_facts", "unfolded",
    "values_without_waiting",
]  # fmt: skip

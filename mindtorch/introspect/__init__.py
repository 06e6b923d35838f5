"""Facts about what the library does, as plain dataclasses: no HTML, no IPython. ``viz`` draws them."""
from .._dispatch.observers import DispatchEvent, TensorMeta, Trace, observe
from .graph import GraphFacts, NodeFacts, Saved, graph_facts
from .identity import storage_number
from .names import named_tensors, names_of
from .storage import Sharer, StorageFacts, storage_facts
from .tensor import Cell, Pending, Statistics, TensorFacts, cells, tensor_facts
from .tensors import tensors_facts

__all__ = [
    "Cell", "DispatchEvent", "GraphFacts", "NodeFacts", "Pending", "Saved", "Sharer", "Statistics",
    "StorageFacts", "TensorFacts", "TensorMeta", "Trace", "cells", "graph_facts", "named_tensors", "names_of",
    "observe", "storage_facts", "storage_number", "tensor_facts", "tensors_facts",
]  # fmt: skip

"""Facts about what the library does, as plain dataclasses: no HTML, no IPython. ``viz`` draws them."""
from .._dispatch.observers import DispatchEvent, TensorMeta, Trace, observe
from .folding import Fold, folded, unfolded
from .graph import GraphFacts, NodeFacts, Saved, graph_facts
from .identity import storage_number
from .module import MemberFacts, ModuleFacts, module_facts
from .names import module_name, named_tensors, names_of
from .repeats import repeats, span
from .storage import Sharer, StorageFacts, storage_facts
from .tensor import (
    Cell, Pending, Source, Statistics, TensorFacts, cells, pending_of, sources, tensor_facts, values_without_waiting,
)  # fmt: skip
from .tensors import tensors_facts

__all__ = [
    "Cell", "DispatchEvent", "Fold", "GraphFacts", "MemberFacts", "ModuleFacts", "NodeFacts", "Pending", "Saved",
    "Sharer", "Source", "Statistics", "StorageFacts", "TensorFacts", "TensorMeta", "Trace", "cells", "folded",
    "graph_facts", "module_facts", "module_name", "named_tensors", "names_of", "observe", "pending_of", "repeats",
    "sources", "span", "storage_facts", "storage_number", "tensor_facts", "tensors_facts", "unfolded",
    "values_without_waiting",
]  # fmt: skip

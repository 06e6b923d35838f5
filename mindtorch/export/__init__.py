"""``torch.export``: a module's program as one graph of ATen operators, ahead of time."""
from __future__ import annotations

from ..utils._pytree import register_dataclass as register_dataclass
from . import decomp_utils as decomp_utils, dynamic_shapes as dynamic_shapes, graph_signature as graph_signature
from ._trace import export as export
from .archive import load as load, save as save
from .decompose import default_decompositions as default_decompositions, run_decompositions as _run_decompositions
from .draft import draft_export as draft_export
from .dynamic_shapes import (
    AdditionalInputs as AdditionalInputs, Dim as Dim, ShapesCollection as ShapesCollection, dims as dims,
)
from .exported_program import (
    ExportedProgram as ExportedProgram, ModuleCallEntry as ModuleCallEntry, ModuleCallSignature as ModuleCallSignature,
)
from .graph_signature import ExportGraphSignature as ExportGraphSignature
from .unflatten import (
    FlatArgsAdapter as FlatArgsAdapter, UnflattenedModule as UnflattenedModule, unflatten as unflatten,
)
from .unlift import module as _module

ExportedProgram.module, ExportedProgram.run_decompositions = _module, _run_decompositions
__all__ = ["AdditionalInputs", "Dim", "ExportGraphSignature", "ExportedProgram", "FlatArgsAdapter",
           "ModuleCallEntry", "ModuleCallSignature", "ShapesCollection", "UnflattenedModule",
           "default_decompositions", "dims", "draft_export", "export", "load", "register_dataclass", "save",
           "unflatten"]

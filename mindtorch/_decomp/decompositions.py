"""All rows by their names (``torch._decomp.decompositions``)."""
from __future__ import annotations

from types import FunctionType, ModuleType

from . import activations, arithmetic, losses, normalization, shapes
from .rows import aten as aten, reduced as apply_loss_reduction

#: PyTorch's names of rows that this package has under other ones.
__all__ = ["apply_loss_reduction"]


def _export(*modules: ModuleType) -> None:
    """Put the rows of modules among the names of this one."""
    for module in modules:
        for name, function in vars(module).items():
            if isinstance(function, FunctionType) and function.__module__ == module.__name__:
                globals()[name] = function
                __all__.append(name)


_export(activations, arithmetic, losses, normalization, shapes)

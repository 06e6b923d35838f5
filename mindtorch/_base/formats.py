"""``torch.memory_format``, ``torch.layout`` and the named constants of the namespace."""
from __future__ import annotations

import math


class _Named:
    """A constant that is its name."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class memory_format(_Named):
    """In which order a tensor's elements lie (``torch.memory_format``)."""

    __module__ = "mindtorch"  # where pickles find its constants


class layout(_Named):
    """A tensor's kind of storage (``torch.layout``): one piece of memory, or several tensors."""

    __module__ = "mindtorch"


class qscheme(_Named):
    """How the numbers of a quantised tensor become integers (``torch.qscheme``)."""

    __module__ = "mindtorch"


#: With a scale and a zero point for the tensor, or for each index of one of its dimensions.
QSCHEMES = {name: qscheme(name) for name in (
    "per_tensor_affine", "per_channel_affine", "per_tensor_symmetric", "per_channel_symmetric",
    "per_channel_affine_float_qparams")}
contiguous_format, preserve_format, channels_last, channels_last_3d = map(
    memory_format, ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
)
LAYOUTS = {name: layout(name) for name in (
    "strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged", "_mkldnn")}
strided, sparse_coo = LAYOUTS["strided"], LAYOUTS["sparse_coo"]


def layout_name(of: layout) -> str:
    """Return the name that PyTorch's errors have for a layout: ``Strided``, ``Sparse``, ``SparseCsr``."""
    return "".join(part.title() for part in of.name.removesuffix("_coo").split("_"))


pi, e, inf, nan = math.pi, math.e, math.inf, math.nan
newaxis = None

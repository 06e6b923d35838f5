"""Histograms of several dimensions."""
from __future__ import annotations

from typing import Any

from .._base.errors import check
from .._dispatch.aten import _histogramdd_bin_edges as bin_edges, _histogramdd_from_bin_tensors as from_bin_tensors
from .._dispatch.return_types import named_tuple
from . import COMPOSITES


def histogramdd(self: Any, bins: Any, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    """``torch.histogramdd`` of points along the last dimension; ``bins``: how many, or their edges, by coordinate."""
    if isinstance(bins, int):
        check(self.ndim >= 2, "torch.histogramdd: input tensor should have at least 2 dimensions")
        bins = (bins,) * self.shape[-1]
    if not isinstance(bins, list):
        bins = bin_edges(self, bins, range, weight, density)
    hist = from_bin_tensors(self, bins, weight, density)
    return named_tuple("histogramdd", ("hist", "bin_edges"))(hist, tuple(bins))


COMPOSITES.update({
    "histogramdd": histogramdd,
    "histogramdd.int_bins": histogramdd,
    "histogramdd.TensorList_bins": histogramdd,
})

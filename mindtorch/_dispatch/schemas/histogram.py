"""Counting: how often each value, or each range of values, appears."""

SCHEMAS = """
function, method:
    bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor  # How often each of 0, 1, 2, ... occurs in `self`, or the sum of the `weights` where it does, for at least `minlength` values.
function, method, out, exact dtype:
    histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor  # How many elements of `self` lie in each of `bins` equal intervals between `min` and `max`, or between its least and greatest element if both are 0.
    histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)  # How many elements of `self`, or how much of `weight`, lie between each two neighbours in `bins`, and these edges; with `density`, divided by the total and by the interval's width.
    histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)
function:
    histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)  # How many rows of `self`, or how much of `weight`, lie in each cell of a grid with as many intervals along each column as `bins` says, and the edges of the grid.
    histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)
    histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)
operator only:
    _histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor[]  # The edges of the grid in which `histogramdd` counts: `bins` intervals a column.
    _histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> Tensor  # How many rows of `self`, or how much of `weight`, lie in each cell of the grid whose edges are `bins`.
"""

"""Scans: running sums, products and extrema along a dimension, and what is made of neighbours' differences."""

SCHEMAS = """
fmiod cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
fmiod cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
fmoe  logcumsumexp(Tensor self, int dim) -> Tensor
fmoe  cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)
fmoe  cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)
fmo   diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor
f     trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor
f     trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor
f     trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor
f     trapz.dx(Tensor y, *, float dx=1, int dim=-1) -> Tensor
f     cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor
f     cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor
f     gradient(Tensor self, *, Any spacing=None, Any dim=None, int edge_order=1) -> Tensor[]
"""

"""Scans: running sums, products and extrema along a dimension, and what is made of neighbours' differences."""

SCHEMAS = """
function, method, in-place, out, dtype of out:
    cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor  # The sum of each element of `self` and those before it along `dim`.
    cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor  # The product of each element of `self` and those before it along `dim`.
function, method, out:
    diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor  # The differences between neighbours along `dim` in `self`, between `prepend` and `append`, taken `n` times.
function, method, out, exact dtype:
    logcumsumexp(Tensor self, int dim) -> Tensor  # The logarithm of the sum of the exponentials of each element of `self` and those before it along `dim`.
    cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)  # The greatest of each element of `self` and those before it along `dim`, and its position.
    cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)  # The least of each element of `self` and those before it along `dim`, and its position.
function:
    trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor  # The integral along `dim` of the values `y` at the points `x`, or in distances of `dx`, by the trapezoidal rule.
    trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor
    trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor  # The integral along `dim` of the values `y` at the points `x`, or in distances of `dx`, by the trapezoidal rule; another name for `trapezoid`.
    trapz.dx(Tensor y, *, float dx=1, int dim=-1) -> Tensor
    cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor  # The integrals, up to each point but the first along `dim`, of the values `y` at the points `x`, or in distances of `dx`, by the trapezoidal rule.
    cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor
    gradient(Tensor self, *, Any spacing=None, Any dim=None, int edge_order=1) -> Tensor[]  # The derivative of the function whose values are `self`, along each of `dim`, from differences between neighbours at distances of `spacing`.
"""

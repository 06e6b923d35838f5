"""Scans: running sums, products and extrema along a dimension, and what is made of neighbours' differences."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._backends.common.inplace_and_out import write_out
from .._base.errors import NAMES, check, check_takes
from .._base.layout import Spec, wrap_dim, wrap_dims
from .._dispatch.aten import cat, div_Scalar, mul_Scalar, scatter_add, where_self as where, zeros
from .._dispatch.schemas import registry
from .._dtype import COMPLEX, FLOATING, DType, bool_, finfo, int64, uint8
from .._tensor import Tensor
from .._transforms.batching.rules import along_dimensions
from . import composites, differentiates, operator, schemas
from .reduction import only, summed

schemas("""
function, method, in-place, out, dtype of out:
    cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor  # The sum of each element of `self` and those before it along `dim`.
    cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor  # The product of each element of `self` and those before it along `dim`.
function, method, out, exact dtype:
    logcumsumexp(Tensor self, int dim) -> Tensor  # The logarithm of the sum of the exponentials of each element of `self` and those before it along `dim`.
""")  # noqa: E501


def accumulated(kernel: str) -> Callable[..., Spec]:
    """Return the meta kernel of ``op(self, dim, dtype)``: dtypes as for sums, but there are no running bools."""

    def meta(self: Tensor, dim: int, dtype: DType | None = None) -> Spec:
        wrap_dim(dim, self.ndim)
        check_takes(dtype is not bool_ or not self.ndim or not self.numel(), kernel, bool_)
        return Spec(tuple(self.shape), summed(self, dtype))

    return meta


def meta_logcumsumexp(self: Tensor, dim: int) -> Spec:
    wrap_dim(dim, self.ndim)
    check_takes(self._dtype.category >= FLOATING, "logcumsumexp_out_cpu", self._dtype)
    return Spec(tuple(self.shape), self._dtype)


def backwards(scan: Any, x: Any, dim: int) -> Any:
    """Scan from the other end."""
    return scan(x.flip(dim), dim).flip(dim) if x.ndim else scan(x, dim)


def cumsum(x: Any, dim: int) -> Any:
    return x.cumsum(dim)


def logcumsumexp(x: Any, dim: int) -> Any:
    return x.logcumsumexp(dim)


def cumprod_grad(grad: Tensor, self: Tensor, result: Any, dim: int) -> Any:
    """Return the sum of results from element k on over element k; with zeros, without dividing by them."""
    if not self.ndim or not self.numel():
        return grad
    dim = wrap_dim(dim, self.ndim)
    size = self.shape[dim]
    if size == 1:
        return grad
    factors, output = self.conj(), result.conj()
    products, is_zero = output * grad, self == 0
    if not self.is_meta and not is_zero.any():
        return backwards(cumsum, products, dim) / factors
    if differentiates(grad, self):
        return cumprod_grad_in_graph(grad, factors, dim)
    zeros = is_zero.cumsum(dim)
    before, upto = zeros == 0, zeros == 1
    quotients = backwards(cumsum, products.masked_fill(~before, 0), dim) / factors
    first = upto.max(dim, True)[1]
    is_first = upto.new_zeros(upto.shape).scatter_(dim, first, True).logical_and_(upto)
    behind = factors.masked_fill(~upto | is_first, 1).cumprod(dim) * grad.masked_fill(~upto, 0)
    ahead = output.gather(dim, (first - 1).relu_()).masked_fill(first == 0, 1)
    return where(before, quotients, where(is_first, behind.sum(dim, True) * ahead, 0))


def cumprod_grad_in_graph(grad: Tensor, factors: Tensor, dim: int) -> Tensor:
    """Sum the products of all factors but one, for each in turn: in steps that can be differentiated."""
    result, size = grad.new_zeros(factors.shape), factors.shape[dim]
    for k in range(size):
        others = factors.narrow(dim, k + 1, size - k - 1).cumprod(dim)
        ahead = factors.narrow(dim, 0, k).prod(dim, True) if k else factors.new_ones(others.narrow(dim, 0, 1).shape)
        omitted = cat([ahead, ahead.expand_as(others) * others if k else others], dim) if k < size - 1 else ahead
        result.select(dim, k).copy_((grad.narrow(dim, k, size - k) * omitted).sum(dim))
    return result


def logcumsumexp_grad(grad: Tensor, self: Tensor, result: Any, dim: int) -> Any:
    """Return the gradient in logarithms, computed apart for the positive and the negative incoming gradients."""
    if not self.ndim or not self.numel():
        return grad
    if grad.is_complex():
        return (backwards(logcumsumexp, grad.conj().log() - result, dim) + self).exp().conj()
    logarithm, lowest = grad.abs().log(), finfo(grad.dtype).min
    positive, negative = (
        (backwards(logcumsumexp, logarithm.where(sign, lowest) - result, dim) + self).exp()
        for sign in (grad > 0, grad < 0)  # a gradient of NaN has neither
    )
    return positive - negative


operator("cumsum", accumulated("cumsum_out_cpu"), batching=along_dimensions, autocast="npu float32",
         self=lambda grad, dim: backwards(cumsum, grad, dim))
operator("cumprod", accumulated("cumprod_out_cpu"), batching=along_dimensions, autocast="npu float32",
         self=cumprod_grad)
operator("logcumsumexp", meta_logcumsumexp, batching=along_dimensions, self=logcumsumexp_grad)

schemas("""
function, method, out:
    diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor  # The differences between neighbours along `dim` in `self`, between `prepend` and `append`, taken `n` times.
function, method, out, exact dtype:
    cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)  # The greatest of each element of `self` and those before it along `dim`, and its position.
    cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)  # The least of each element of `self` and those before it along `dim`, and its position.
""")  # noqa: E501


def selection(kernel: str) -> Callable[..., tuple[Spec, Spec]]:
    """Return the meta kernel of ``op(self, dim)`` that gives values and their indices."""
    supported = only(kernel, range(COMPLEX))

    def meta(self: Tensor, dim: int) -> tuple[Spec, Spec]:
        if self.numel():
            wrap_dim(dim, self.ndim)
        dtype = supported(self) if self.ndim else self._dtype  # a single element is its own extremum
        return Spec(tuple(self.shape), dtype), Spec(tuple(self.shape), int64)

    return meta


def diff(self: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """``torch.diff``: the n-th differences along a dimension."""
    check(self.ndim >= 1, "diff expects input to be at least one-dimensional")
    check(n >= 0, lambda: f"order must be non-negative but got {n}")
    if n == 0 and prepend is None and append is None:
        return self.clone()
    axis = wrap_dim(dim, self.ndim)
    for other in (prepend, append):
        if other is not None:
            have, wanted = list(self.shape), list(other.shape)
            check(len(have) == len(wanted), "diff expects prepend or append to be the same dimension as input")
            have[axis] = wanted[axis]
            if have != wanted:
                raise RuntimeError("diff expects the shape of tensor to prepend or append to match that of input "
                                   f"except along the differencing dimension; input.size() = {list(self.shape)}, but "
                                   f"got {wanted}")
    if n == 0:
        return self.clone()
    parts = [part for part in (prepend, self, append) if part is not None]
    out = cat(parts, axis) if len(parts) > 1 else self
    for _ in range(min(n, out.shape[axis])):
        size = out.shape[axis] - 1
        later, earlier = out.narrow(axis, 1, size), out.narrow(axis, 0, size)
        out = later.logical_xor(earlier) if out._dtype is bool_ else later - earlier
    return out


def diff_out(self: Any, n: int, dim: int, prepend: Any, append: Any, out: Any) -> Any:
    """``torch.diff`` into ``out``, whose dtype must be that of a mere copy."""
    check(n or out._dtype is self._dtype, lambda: f"expected scalar_type {NAMES[self._dtype.name]} but found "
          f"{NAMES[out._dtype.name]}")
    return write_out(registry["diff.out"], diff(self, n, dim, prepend, append), out)


composites(diff)
operator("diff.out", composite=diff_out)
operator("cummax", selection("cummax_cpu"), batching=along_dimensions,
         self=lambda grad, self_shape, indices, dim: (
             scatter_add(zeros(self_shape, grad._dtype, None, grad._device), dim, indices, grad)))
operator("cummin", selection("cummin_cpu"), batching=along_dimensions,
         self=lambda grad, self_shape, indices, dim: (
             scatter_add(zeros(self_shape, grad._dtype, None, grad._device), dim, indices, grad)))

schemas("""
function:
    trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor  # The integral along `dim` of the values `y` at the points `x`, or in distances of `dx`, by the trapezoidal rule.
    trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor
    trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor  # The integral along `dim` of the values `y` at the points `x`, or in distances of `dx`, by the trapezoidal rule; another name for `trapezoid`.
    trapz.dx(Tensor y, *, float dx=1, int dim=-1) -> Tensor
    cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor  # The integrals, up to each point but the first along `dim`, of the values `y` at the points `x`, or in distances of `dx`, by the trapezoidal rule.
    cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor
""")  # noqa: E501


def check_not_bool(name: str, y: Any, x: Any = None) -> None:
    which = "`y`" if x is None else "`x` or `y`"
    check(y._dtype is not bool_ and (x is None or x._dtype is not bool_),
          lambda: f"{name}: received a bool input for {which}, but bool is not supported")


def check_real_number(name: str, dx: Any) -> None:
    check(isinstance(dx, int | float) and not isinstance(dx, bool),
          lambda: f"{name}: Currently, we only support dx as a real number.")


def neighbours(name: str, y: Any, dim: int, x: Any = None) -> tuple[Any, Any]:
    """Return the elements along a dimension without the last, and without the first."""
    check_not_bool(name, y, x)
    size = y.size(dim)
    return y.narrow(dim, 0, max(size - 1, 0)), y.narrow(dim, min(size, 1), max(size - 1, 0))


def steps(name: str, y: Any, x: Any, dim: int) -> Any:
    """Return the distances of the points ``x`` along a dimension, in a shape that broadcasts with ``y``."""
    if x.ndim == 1:
        check(x.shape[0] == y.size(dim), lambda: f"{name}: There must be one `x` value for each sample point")
        x = x.view([x.shape[0] if d == dim else 1 for d in range(y.ndim)])
    elif x.ndim < y.ndim:
        x = x.view([1] * (y.ndim - x.ndim) + list(x.shape))
    before, behind = neighbours(name, x, dim)
    return behind - before


def integrals_of_nothing(y: Any, dim: int) -> Any:
    """Return zeros, outside the graph, in the shape of a tensor without one of its dimensions."""
    return zeros([n for d, n in enumerate(y.shape) if d != wrap_dim(dim, y.ndim)], y._dtype, None, y._device)


def trapezoid_x(y: Any, x: Any, dim: int = -1) -> Any:
    """``torch.trapezoid`` over the points ``x``."""
    dim = wrap_dim(dim, y.ndim)
    if not y.size(dim):
        return integrals_of_nothing(y, dim)
    widths = steps("trapezoid", y, x, dim)
    left, right = neighbours("trapezoid", y, dim, x)
    return div_Scalar(((left + right) * widths).sum(dim), 2.0)


def trapezoid_dx(y: Any, dx: Any = 1, dim: int = -1) -> Any:
    """``torch.trapezoid`` over points at a distance of ``dx``."""
    if not y.size(dim):
        return integrals_of_nothing(y, dim)
    check_not_bool("trapezoid", y)
    check_real_number("trapezoid", dx)
    ends = mul_Scalar(y.select(dim, 0) + y.select(dim, -1), 0.5)
    return mul_Scalar(y.sum(dim) - ends, dx)


def cumulative_trapezoid_x(y: Any, x: Any, dim: int = -1) -> Any:
    """``torch.cumulative_trapezoid`` over the points ``x``."""
    dim = wrap_dim(dim, y.ndim)
    widths = steps("cumulative_trapezoid", y, x, dim)
    left, right = neighbours("cumulative_trapezoid", y, dim, x)
    return div_Scalar(((left + right) * widths).cumsum(dim), 2.0)


def cumulative_trapezoid_dx(y: Any, dx: Any = 1, dim: int = -1) -> Any:
    """``torch.cumulative_trapezoid`` over points at a distance of ``dx``."""
    check_not_bool("cumulative_trapezoid", y)
    check_real_number("cumulative_trapezoid", dx)
    left, right = neighbours("cumulative_trapezoid", y, dim)
    return mul_Scalar(left + right, dx / 2.0).cumsum(dim)


operator("trapezoid.x trapz.x", composite=trapezoid_x)
operator("trapezoid.dx trapz.dx", composite=trapezoid_dx)
operator("cumulative_trapezoid.x", composite=cumulative_trapezoid_x)
operator("cumulative_trapezoid.dx", composite=cumulative_trapezoid_dx)

schemas("""
function:
    gradient(Tensor self, *, Any spacing=None, Any dim=None, int edge_order=1) -> Tensor[]  # The derivative of the function whose values are `self`, along each of `dim`, from differences between neighbours at distances of `spacing`.
""")  # noqa: E501


def gradient(self: Tensor, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> tuple[Any, ...]:
    """``torch.gradient``: central differences, one-sided at the edges; ``spacing`` of all, each, or coordinates."""
    if dim is not None and not all(type(d) is int for d in (dim if isinstance(dim, list | tuple) else (dim,))):
        raise TypeError(f"gradient(): argument 'dim' must be int or tuple of ints, not {dim!r}")
    check(self._dtype is not uint8, "torch.gradient does not support uint8 input.")
    check(edge_order in (1, 2), "torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = range(self.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    dims = [wrap_dim(d, self.ndim) for d in dims]
    wrap_dims(dims, self.ndim)
    if not isinstance(spacing, (list, tuple)):
        spacing = [1 if spacing is None else spacing] * len(dims)
    check(len(spacing) == len(dims), lambda: "torch.gradient expected spacing to be unspecified, a scalar, or a list "
          f"as long as there are dimensions ({len(dims)}), but got a list of length {len(spacing)}")
    for d in dims:
        check(self.shape[d] > edge_order, "torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple([gradient_along(self, d, step, edge_order) for d, step in zip(dims, spacing, strict=True)])


def gradient_along(f: Any, dim: int, distance: Any, edge_order: int) -> Any:
    n = f.shape[dim]
    if getattr(distance, "ndim", 0):
        along = distance.diff().view([-1 if d == dim else 1 for d in range(f.ndim)])
        first, second, before_last, last = (along.narrow(dim, i, 1) for i in (0, min(1, n - 2), max(n - 3, 0), n - 2))
        left, right = along.narrow(dim, 0, n - 2), along.narrow(dim, 1, n - 2)
    else:
        first = second = before_last = last = left = right = distance
    if edge_order == 1:
        start = (f.narrow(dim, 1, 1) - f.narrow(dim, 0, 1)) / first
        end = (f.narrow(dim, n - 1, 1) - f.narrow(dim, n - 2, 1)) / last
    elif left is distance:
        start = weighted(f, dim, (0, 1, 2), 1, (-1.5, 2, -0.5)) / distance
        end = weighted(f, dim, (n - 1, n - 2, n - 3), 1, (1.5, -2, 0.5)) / distance
    else:
        start = weighted(f, dim, (0, 1, 2), 1, one_sided(first, second))
        end = weighted(f, dim, (n - 1, n - 2, n - 3), 1, one_sided(-last, -before_last))
    if left is distance:
        inner = (f.narrow(dim, 2, n - 2) - f.narrow(dim, 0, n - 2)) / (2 * distance)
    else:
        inner = weighted(f, dim, (0, 1, 2), n - 2, (
            -right / (left * (left + right)), (right - left) / (left * right), left / (right * (left + right))))
    return cat([start, inner, end], dim)


def one_sided(near: Any, far: Any) -> tuple[Any, Any, Any]:
    """Return the weights of three points for the derivative at the first, by their distances."""
    both = near + far
    return -(near + both) / (near * both), both / (near * far), -near / (far * both)


def weighted(f: Any, dim: int, starts: tuple[int, ...], length: int, weights: tuple[Any, ...]) -> Any:
    """Return the weighted sum of pieces along a dimension; pieces of weight 0 do not count."""
    parts = [weight * f.narrow(dim, start, length) for start, weight in zip(starts, weights, strict=True)
             if getattr(weight, "ndim", 0) or weight != 0]
    return sum(parts[1:], parts[0])


composites(gradient)

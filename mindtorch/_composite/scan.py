"""Differences of neighbours, and integrals by the trapezoidal rule."""
from __future__ import annotations

from typing import Any

from .._base.errors import check
from .._base.layout import wrap_dim, wrap_dims
from .._dispatch.aten import cat
from .._dtype import bool_, uint8
from . import COMPOSITES


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


def check_not_bool(name: str, y: Any, x: Any = None) -> None:
    which = "`y`" if x is None else "`x` or `y`"
    check(y._dtype is not bool_ and (x is None or x._dtype is not bool_),
          lambda: f"{name}: received a bool input for {which}, but bool is not supported")


def check_real_number(name: str, dx: Any) -> None:
    check(isinstance(dx, int | float) and not isinstance(dx, bool),
          lambda: f"{name}: Currently, we only support dx as a real number.")


def neighbours(name: str, y: Any, dim: int, x: Any = None) -> tuple[Any, Any]:
    """The elements along a dimension but the last, and but the first."""
    check_not_bool(name, y, x)
    size = y.size(dim)
    return y.narrow(dim, 0, max(size - 1, 0)), y.narrow(dim, min(size, 1), max(size - 1, 0))


def steps(name: str, y: Any, x: Any, dim: int) -> Any:
    """The distances of the points ``x`` along a dimension, in a shape that goes with ``y``."""
    if x.ndim == 1:
        check(x.shape[0] == y.size(dim), lambda: f"{name}: There must be one `x` value for each sample point")
        x = x.view([x.shape[0] if d == dim else 1 for d in range(y.ndim)])
    elif x.ndim < y.ndim:
        x = x.view([1] * (y.ndim - x.ndim) + list(x.shape))
    before, behind = neighbours(name, x, dim)
    return behind - before


def trapezoid_x(y: Any, x: Any, dim: int = -1) -> Any:
    """``torch.trapezoid`` over the points ``x``."""
    dim = wrap_dim(dim, y.ndim)
    if not y.size(dim):
        return y.sum(dim, dtype=y.dtype)
    left, right = neighbours("trapezoid", y, dim, x)
    return ((left + right) * steps("trapezoid", y, x, dim)).sum(dim) / 2.0


def trapezoid_dx(y: Any, dx: Any = 1, dim: int = -1) -> Any:
    """``torch.trapezoid`` over points at a distance of ``dx``."""
    if not y.size(dim):
        return y.sum(dim, dtype=y.dtype)
    check_not_bool("trapezoid", y)
    check_real_number("trapezoid", dx)
    return (y.sum(dim) - (y.select(dim, 0) + y.select(dim, -1)) * 0.5) * dx


def cumulative_trapezoid_x(y: Any, x: Any, dim: int = -1) -> Any:
    """``torch.cumulative_trapezoid`` over the points ``x``."""
    dim = wrap_dim(dim, y.ndim)
    left, right = neighbours("cumulative_trapezoid", y, dim, x)
    return (steps("cumulative_trapezoid", y, x, dim) * (left + right)).cumsum(dim) / 2.0


def cumulative_trapezoid_dx(y: Any, dx: Any = 1, dim: int = -1) -> Any:
    """``torch.cumulative_trapezoid`` over points at a distance of ``dx``."""
    check_not_bool("cumulative_trapezoid", y)
    check_real_number("cumulative_trapezoid", dx)
    left, right = neighbours("cumulative_trapezoid", y, dim)
    return (dx / 2.0 * (left + right)).cumsum(dim)


def gradient(self: Any, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> tuple[Any, ...]:
    """``torch.gradient``: the derivative along each dimension from central differences, and one-sided ones at
    the edges. ``spacing`` is a distance for all dimensions, or for each a distance or the coordinates.
    """
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
    """The weights of three points for the derivative at the first, by their distances."""
    both = near + far
    return -(near + both) / (near * both), both / (near * far), -near / (far * both)


def weighted(f: Any, dim: int, starts: tuple[int, ...], length: int, weights: tuple[Any, ...]) -> Any:
    """The weighted sum of pieces along a dimension; those of weight 0 do not count."""
    parts = [weight * f.narrow(dim, start, length) for start, weight in zip(starts, weights, strict=True)
             if getattr(weight, "ndim", 0) or weight != 0]
    return sum(parts[1:], parts[0])


COMPOSITES.add(diff, gradient)
COMPOSITES.update({
    "trapezoid.x": trapezoid_x,
    "trapezoid.dx": trapezoid_dx,
    "trapz.x": trapezoid_x,
    "trapz.dx": trapezoid_dx,
    "cumulative_trapezoid.x": cumulative_trapezoid_x,
    "cumulative_trapezoid.dx": cumulative_trapezoid_dx,
})

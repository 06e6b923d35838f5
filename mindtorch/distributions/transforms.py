"""Invertible functions with the logarithm of their Jacobian's determinant; ``torch.distributions.transforms``."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import add, mul
from typing import Any, ClassVar

from .._base.size import Size
from .._creation import eye, full_like, zeros_like
from .._dtype import finfo
from .._methods.functions import cat, sigmoid, stack
from .._tensor import Tensor
from ..functional import broadcast_shapes
from ..linalg import cholesky
from ..nn.functional import logsigmoid, pad, softplus
from . import constraints
from .constraints import _expect
from .utils import _sum_rightmost, broadcast_all, lazy_property, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]


class Transform:
    """The abstract base class of transforms (``torch.distributions.Transform``): ``y = t(x)``, ``x = t.inv(y)``.

    A subclass defines ``_call`` or ``_inverse``, ``log_abs_det_jacobian`` if it is ``bijective``, and ``sign`` if it is
    monotonic. ``domain`` and ``codomain`` are constraints. With ``cache_size=1`` the last x and y are kept, so that the
    inverse of the y that came out is the x that went in. Raises ValueError for a cache size other than 0 and 1.
    """

    bijective: Any = False
    domain: Any
    codomain: Any
    #: The arguments of ``__init__`` besides ``cache_size``, which are attributes, too.
    _arguments: ClassVar[tuple[str, ...]] = ()
    #: What makes two transforms of a class equal; None if nothing does but identity.
    _compared: ClassVar[tuple[str, ...] | None] = None

    def __init__(self, cache_size: int = 0):
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = None, None
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """The number of dimensions of an event, if the transform does not change it."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Any:
        """The inverse; its inverse is this transform."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """1 if the transform increases, -1 if it decreases."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Any:
        """Return the transform with a cache of this size. Raises NotImplementedError for a subclass that has its own
        ``__init__``, but no ``with_cache``.
        """
        if self._cache_size == cache_size:
            return self
        owner = next(cls for cls in type(self).__mro__ if "__init__" in vars(cls))
        if "_arguments" not in vars(owner):
            raise NotImplementedError(f"{type(self)}.with_cache is not implemented")
        return type(self)(*(getattr(self, name) for name in self._arguments), cache_size=cache_size)  # type: ignore[misc]

    def __eq__(self, other: object) -> bool:
        if self._compared is None or type(self) is not type(other):
            return self is other
        return all(_equal(getattr(self, name), getattr(other, name)) for name in self._compared)

    def __call__(self, x: Tensor) -> Any:
        """Return y."""
        if self._cache_size == 0:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Tensor) -> Any:
        if self._cache_size == 0:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return log |dy/dx|, of the shape of x without the event's dimensions."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """Return the shape of y, given that of x."""
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """Return the shape of x, given that of y."""
        return shape


def _equal(a: Tensor, b: Tensor) -> bool:
    return bool((a == b).all()) if isinstance(a, Tensor) or isinstance(b, Tensor) else a == b


def _need_dims(shape: Sequence[int], count: int) -> None:
    if len(shape) < count:
        raise ValueError("Too few dimensions on input")


# -- transforms of transforms --------------------------------------------------------------------------------


class _InverseTransform(Transform):
    """The inverse of a transform, which it shares the cache of."""

    def __init__(self, transform: Transform):
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    domain = constraints.dependent_property(lambda self: self._inv.codomain, is_discrete=False)
    codomain = constraints.dependent_property(lambda self: self._inv.domain, is_discrete=False)
    bijective = property(lambda self: self._inv.bijective)
    sign = property(lambda self: self._inv.sign)
    inv = property(lambda self: self._inv)
    _compared = ("_inv",)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._inv.with_cache(cache_size).inv

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Tensor) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self._inv.forward_shape(shape)


def _widened(constraint: Any, event_dim: int) -> Any:
    """Return a constraint of events of more dimensions."""
    _expect(event_dim >= constraint.event_dim, f"event_dim {event_dim} must be >= {constraint.event_dim}")
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more else constraint


class ComposeTransform(Transform):
    """Transforms one after the other (``torch.distributions.ComposeTransform``)."""

    _arguments = ("parts",)
    _compared = ("parts",)

    def __init__(self, parts: list[Transform], cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim = max(event_dim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _widened(self.parts[0].domain, event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim = max(event_dim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _widened(self.parts[-1].codomain, event_dim)

    bijective = property(lambda self: all(part.bijective for part in self.parts))
    sign = property(lambda self: reduce(mul, (part.sign for part in self.parts), 1))

    @property
    def inv(self) -> Any:
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def __call__(self, x: Tensor) -> Any:
        return reduce(lambda value, part: part(value), self.parts, x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        terms, event_dim = [], self.domain.event_dim
        for part, before, after in zip(self.parts, values, [*values[1:], y], strict=True):
            terms.append(_sum_rightmost(part.log_abs_det_jacobian(before, after), event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return reduce(add, terms)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return reduce(lambda value, part: part.forward_shape(value), self.parts, shape)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return reduce(lambda value, part: part.inverse_shape(value), reversed(self.parts), shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last batch dimensions are taken as dimensions of the event (``torch.distributions``)."""

    _arguments = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def _call(self, x: Tensor) -> Tensor:
        _need_dims(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        _need_dims(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self.base_transform.inverse_shape(shape)


class _PartsTransform(Transform):
    """Transforms of the parts of a value along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        _expect(all(isinstance(t, Transform) for t in tseq), "All elements of tseq must be Transform instances")
        self.transforms = [t.with_cache(cache_size) if cache_size else t for t in tseq]
        self.dim = dim

    bijective = property(lambda self: all(t.bijective for t in self.transforms))

    def _parts(self, **values: Any) -> Iterator[tuple[Any, ...]]:
        """Yield each transform with its part of every value."""
        length, what = self._length()
        for name, value in values.items():
            _expect(-value.dim() <= self.dim < value.dim(),
                    f"dim {self.dim} out of range for {name} with {value.dim()} dimensions")
            _expect(value.size(self.dim) == length,
                    f"{name}.size({self.dim}) = {value.size(self.dim)} must equal {what} {length}")
        return zip(self.transforms, *map(self._split, values.values()), strict=True)

    def _length(self) -> tuple[int, str]:
        raise NotImplementedError

    def _split(self, value: Tensor) -> Any:
        raise NotImplementedError

    def _joined(self, parts: list[Any]) -> Any:
        raise NotImplementedError

    def _call(self, x: Tensor) -> Tensor:
        return self._joined([t(part) for t, part in self._parts(x=x)])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._joined([t.inv(part) for t, part in self._parts(y=y)])


class CatTransform(_PartsTransform):
    """Transforms of slices of the given lengths along a dimension (``torch.distributions.CatTransform``)."""

    _arguments = ("transforms", "dim", "lengths")

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None,
                 cache_size: int = 0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        _expect(len(self.lengths) == len(self.transforms),
                f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    event_dim = property(lambda self: max(t.event_dim for t in self.transforms))
    length = property(lambda self: sum(self.lengths))

    def _length(self) -> tuple[int, str]:
        return self.length, "length"

    def _split(self, value: Tensor) -> Any:
        return value.split(self.lengths, self.dim)

    def _joined(self, parts: list[Any]) -> Any:
        return cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        terms = [_sum_rightmost(t.log_abs_det_jacobian(x_part, y_part), self.event_dim - t.event_dim)
                 for t, x_part, y_part in self._parts(x=x, y=y)]
        dim = (self.dim if self.dim < 0 else self.dim - x.dim()) + self.event_dim
        return cat(terms, dim) if dim < 0 else sum(terms)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_PartsTransform):
    """Transforms of the values along a dimension, which is that of ``torch.stack`` (``torch.distributions``)."""

    _arguments = ("transforms", "dim")

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0):
        super().__init__(tseq, dim, cache_size)

    def _length(self) -> tuple[int, str]:
        return len(self.transforms), "len(transforms)"

    def _split(self, value: Tensor) -> Any:
        return value.unbind(self.dim)

    def _joined(self, parts: list[Any]) -> Any:
        return stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self._joined([t.log_abs_det_jacobian(*parts) for t, *parts in self._parts(x=x, y=y)])

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


class CumulativeDistributionTransform(Transform):
    """The cumulative distribution function of a distribution (``torch.distributions``)."""

    bijective = True
    codomain = constraints.unit_interval
    sign = +1
    _arguments = ("distribution",)

    def __init__(self, distribution: Any, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    domain = property(lambda self: self.distribution.support)

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)


# -- of shapes -----------------------------------------------------------------------------------------------


class ReshapeTransform(Transform):
    """Another shape for the event (``torch.distributions.ReshapeTransform``). Raises ValueError if the shapes differ in
    their number of elements, or a value does not have the shape.
    """

    bijective = True
    _arguments = ("in_shape", "out_shape")

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0):
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return _replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return _replaced(shape, self.out_shape, self.in_shape)


def _replaced(shape: Sequence[int], old: Any, new: Any) -> Any:
    """Return a shape with other last dimensions."""
    _need_dims(shape, len(old))
    cut = len(shape) - len(old)
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new


# -- of numbers ----------------------------------------------------------------------------------------------


class _Increasing(Transform):
    """A bijection of numbers that increases, and has no parameters."""

    domain = constraints.real
    codomain: Any = constraints.positive
    bijective = True
    sign = +1
    _compared = ()


class ExpTransform(_Increasing):
    """y = exp(x) (``torch.distributions.ExpTransform``)."""

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class SoftplusTransform(_Increasing):
    """y = log(1 + exp(x)) (``torch.distributions.SoftplusTransform``)."""

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class SigmoidTransform(_Increasing):
    """y = 1 / (1 + exp(-x)), kept off 0 and 1 (``torch.distributions.SigmoidTransform``)."""

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        y = _within_unit(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


def _clipped_sigmoid(x: Tensor) -> Any:
    return _within_unit(sigmoid(x))


def _within_unit(y: Tensor) -> Any:
    info = finfo(y.dtype)
    return y.clamp(info.tiny, 1.0 - info.eps)


class TanhTransform(_Increasing):
    """y = tanh(x) (``torch.distributions.TanhTransform``)."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Transform):
    """y = |x|; the inverse returns y (``torch.distributions.AbsTransform``)."""

    domain = constraints.real
    codomain = constraints.positive
    _compared = ()

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class _Broadcasting(Transform):
    """A transform whose parameters are broadcast with the value."""

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return broadcast_shapes(shape, *(getattr(getattr(self, name), "shape", ()) for name in self._compared or ()))

    inverse_shape = forward_shape


class PowerTransform(_Broadcasting):
    """y = x ** exponent (``torch.distributions.PowerTransform``)."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True
    _arguments = _compared = ("exponent",)

    def __init__(self, exponent: Tensor | float, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @lazy_property
    def sign(self) -> Any:
        return self.exponent.sign()

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()


class AffineTransform(_Broadcasting):
    """y = loc + scale x, for events of ``event_dim`` dimensions (``torch.distributions.AffineTransform``)."""

    bijective = True
    event_dim = 0
    _arguments = ("loc", "scale", "event_dim")
    _compared = ("loc", "scale")

    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.loc, self.scale = loc, scale
        self.event_dim = event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return _widened(constraints.real, self.event_dim)

    codomain = domain

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        shape, scale = x.shape, self.scale
        result = scale.abs().log() if isinstance(scale, Tensor) else full_like(x, math.log(abs(scale)))
        if self.event_dim:
            result = result.view((*result.shape[:-self.event_dim], -1)).sum(-1)
            shape = shape[:-self.event_dim]
        return result.expand(shape)


# -- of vectors ----------------------------------------------------------------------------------------------


class SoftmaxTransform(Transform):
    """Probabilities in proportion to exponentials; the inverse takes logarithms (``torch.distributions``)."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    _compared = ()

    def _call(self, x: Tensor) -> Tensor:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        _need_dims(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """K numbers to K + 1 probabilities: each number's sigmoid is a share of the remainder of 1
    (``torch.distributions.StickBreakingTransform``). Zeros become equal probabilities.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True
    _compared = ()

    def _call(self, x: Tensor) -> Tensor:
        share = _clipped_sigmoid(x - _log_remaining(x))
        return pad(share, [0, 1], value=1) * pad((1 - share).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        kept = y[..., :-1]
        left = (1 - kept.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return kept.log() - left.log() + _log_remaining(kept)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - _log_remaining(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        _need_dims(shape, 1)
        return shape[:-1] + Size((shape[-1] + 1,))

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        _need_dims(shape, 1)
        return shape[:-1] + Size((shape[-1] - 1,))


def _log_remaining(x: Tensor) -> Any:
    """Return the logarithm of how many probabilities come after each of K."""
    size = x.shape[-1]
    return (size + 1 - x.new_ones(size).cumsum(-1)).log()


# -- of matrices ---------------------------------------------------------------------------------------------


class CorrCholeskyTransform(Transform):
    """D (D - 1) / 2 numbers to the Cholesky factor of a D x D correlation matrix, by breaking sticks with signs
    (``torch.distributions.CorrCholeskyTransform``).
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(-1 + eps, 1 - eps), diag=-1)
        left = (1 - partial**2).sqrt().cumprod(-1)
        partial = partial + eye(partial.shape[-1], dtype=partial.dtype, device=partial.device)
        return partial * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (partial.log1p() - partial.neg().log1p()) / 2  # atanh

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        return 0.5 * left.log().sum(-1) - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        _need_dims(shape, 1)
        count = shape[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + Size((size, size))

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        _need_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return shape[:-2] + Size((shape[-1] * (shape[-1] - 1) // 2,))


def _of_diagonal(function: Callable[[Any], Any], x: Tensor) -> Any:
    """Return the lower triangle, with a function of the diagonal in its place."""
    return x.tril(-1) + function(x.diagonal(dim1=-2, dim2=-1)).diag_embed()


class LowerCholeskyTransform(Transform):
    """The lower triangle of a matrix, with the exponential of its diagonal (``torch.distributions``)."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky
    _compared = ()

    def _call(self, x: Tensor) -> Tensor:
        return _of_diagonal(Tensor.exp, x)

    def _inverse(self, y: Tensor) -> Tensor:
        return _of_diagonal(Tensor.log, y)


class PositiveDefiniteTransform(Transform):
    """The matrix whose Cholesky factor ``LowerCholeskyTransform`` makes (``torch.distributions``)."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite
    _compared = ()

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(cholesky(y))
